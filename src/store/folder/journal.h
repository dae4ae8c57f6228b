#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "io/disk.h"

// `.signpost/journal`: the write-ahead. JSON lines, each the whole state of one object, without its
// status unless that is written ahead (ours.h); one append and one fdatasync per batch. What it
// covers is copied to checkpoints from time to time (checkpoint.h), then it begins anew.

enum { JOURNAL_OCTETS_MAX = 8 * 1024 * 1024 }; // beyond: time for a checkpoint

struct journal {
    struct disk *disk;
    char *path;
    struct disk_file *file;  // NULL: not open
    struct disk_stat opened; // what lay at the path then
    size_t octets;
    struct error fault; // why it is suspect
};

void journal_init(struct journal *journal, struct disk *disk, const char *path);
void journal_done(struct journal *journal);
// An append failed, so what stands on the disk is not known: journal_renew before the next one,
// which fails for the same reason until then.
bool journal_is_suspect(const struct journal *journal);
// Whole lines. True: they are on the disk to stay. Fails too when the file was removed or replaced
// since it was opened.
bool journal_append(struct journal *journal, struct text lines, struct error *err);
// Begins anew, keeping what stands behind the first `covered` octets.
bool journal_renew(struct journal *journal, size_t covered, struct error *err);

// The last line of each object.
struct journal_item {
    uint64_t hash; // of the key
    uint64_t version;
    struct text key;
    struct text path; // manifest beside which the status lies
    struct text line;
    bool is_gone;
};
struct journal_index {
    struct buffer text;
    struct arena *arena;        // of texts with escapes
    struct journal_item *items; // by path, then key
    size_t count;
    size_t capacity;
    size_t unreadable; // lines; a torn last one is not counted
};
// NULL when the journal exists and cannot be read.
struct journal_index *journal_index_new(const char *path, struct error *err);
// Of this text, which it takes over.
struct journal_index *journal_index_of(struct buffer *text);
void journal_index_free(struct journal_index *index);
// The first item of that path; the others follow. NULL when there is none.
const struct journal_item *journal_index_find(const struct journal_index *index, const char *path);
