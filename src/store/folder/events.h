#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/disk.h"
#include "store/store.h"

// Writes Events as JSON lines to `.signpost/events.jsonl`. At 1 MiB the file becomes
// `events.jsonl.1`, and a new one begins. Events gather in memory until events_write(); beyond
// 1,000 of them Normal ones are dropped and a Warning replaces the oldest Normal one. A failing
// disk loses Events and nothing else.

struct event_line {
    char *text;
    bool is_warning;
};
struct events {
    struct disk *disk;
    char *path;
    struct disk_file *file;
    struct event_line *lines;
    size_t count;
    size_t capacity;
    size_t octets;    // of the file, as far as known
    uint64_t dropped; // since the start
    bool is_failing;  // events_write() did the last time
};

void events_init(struct events *events, struct disk *disk, const char *path);
void events_done(struct events *events); // what was not written is lost
void events_add(struct events *events, const struct kube_event *event, int64_t now_ms);
// Adds an Event about a manifest that defines no object; it names `path` in place of the object.
void events_add_manifest(struct events *events, const char *path, const char *reason,
                         const char *text, int64_t now_ms);
// False: they stay in memory, and the next call tries again.
bool events_write(struct events *events, struct error *err);
