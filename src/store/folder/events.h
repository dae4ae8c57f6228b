#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/disk.h"
#include "store/store.h"

// `.signpost/events.jsonl`: Events as JSON lines, 1 MiB, one old file kept (`events.jsonl.1`). They
// gather in memory until events_write; beyond 1,000 of them plain ones are dropped and a Warning
// takes the place of the oldest plain one. A failing disk loses events and nothing else.

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
};

void events_init(struct events *events, struct disk *disk, const char *path);
void events_done(struct events *events); // what was not written is lost
void events_add(struct events *events, const struct kube_event *note, int64_t now_ms);
// About a manifest that gives no object: `path` stands in place of the object.
void events_add_manifest(struct events *events, const char *path, const char *reason,
                         const char *text, int64_t now_ms);
void events_write(struct events *events);
