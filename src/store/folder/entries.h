#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slots.h"
#include "base/table.h"
#include "io/disk.h"
#include "store/object.h"

// The tables of manifest files and of the objects in them. Rows are small, as there may be a
// hundred thousand of either: no tree and no text of a document stays in memory.

#define ENTRY_NONE UINT32_MAX
#define FILE_NONE UINT32_MAX

enum entry_flag {
    ENTRY_HAS_FAULT = 1 << 0,    // its document is refused; the status document says why
    ENTRY_IS_MISSING = 1 << 1,   // its document is gone, and that is not yet acted upon
    ENTRY_IS_REDEFINED = 1 << 2, // it is in deletion and a document defines it: made anew after it
    ENTRY_IS_BUSY = 1 << 3,      // a write of it is under way
    ENTRY_IS_PUT_OFF = 1 << 4,   // another file defines it too, and could not take it in that pass
};

// One object of the cache. `file` is the manifest that has, or last had, its document; the status
// lies beside that file.
struct entry {
    const struct object *object; // borrowed from the cache; NULL: a free slot
    struct content_id body;      // managed_body_id: a change of it makes a generation
    uint32_t file;
    uint32_t next; // of the same file
    uint32_t previous;
    uint32_t flags : 8;
    uint32_t pass : 24; // the pass that saw it last
};

enum file_flag {
    FILE_IS_PRESENT = 1 << 0,
    FILE_IS_QUEUED = 1 << 1,        // to be read in this pass
    FILE_HAS_DUPLICATES = 1 << 2,   // some of its objects stand in another file too
    FILE_WAS_WARNED = 1 << 3,       // secrets in a file that others may read
    FILE_IS_DUE = 1 << 4,           // its status file is to be written
    FILE_KEEPS_MISSING = 1 << 6,    // at its last reading objects stayed that it seemed to lack
    FILE_IS_UNSETTLED = 1 << 7,     // to be read again, whatever its times say
    FILE_HAS_BROKEN = 1 << 8,       // the status file names refused documents without an object
    FILE_IS_HOMELESS = 1 << 9,      // its status documents are rows of the state alone
    FILE_HAS_LOST_STATUS = 1 << 10, // its status file was removed, and is to be made again
};

struct file {
    char *path; // relative to the folder; NULL: a free slot
    uint64_t inode;
    int64_t mtime_ns;
    struct content_id content;
    uint32_t size;
    uint32_t mode;
    uint32_t first;     // entry
    uint32_t documents; // at the last reading
    uint32_t flags;
    uint32_t scan;              // in which it was seen last
    uint32_t status_scan;       // the same of its status file
    uint32_t empty_since_s;     // on the loop's clock, when it was found empty; 0: it was not
    struct file_faults *faults; // refused documents; NULL: none
};

struct entries {
    struct entry *items;
    size_t capacity;
    struct slots slots;
    struct table by_name;

    struct file *files;
    size_t file_capacity;
    struct slots file_slots;
    uint64_t documents; // of all files that users write
    struct table by_path;
};

void entries_init(struct entries *entries);
void entries_done(struct entries *entries);

uint32_t entries_find(const struct entries *entries, const struct object_ref_key *key);
// `object` must not be known yet.
uint32_t entries_add(struct entries *entries, const struct object *object, uint32_t file);
// Replaces the object by another state of it.
void entries_set_object(struct entries *entries, uint32_t id, const struct object *object);
void entries_move(struct entries *entries, uint32_t id, uint32_t file);
// Must be called while the entry's object still lives.
void entries_remove(struct entries *entries, uint32_t id);

uint32_t files_find(const struct entries *entries, const char *path);
// Finds or adds the file. name_is_path() must accept `path`.
uint32_t files_need(struct entries *entries, const char *path);
void files_set_documents(struct entries *entries, uint32_t id, uint32_t documents);
// Forgets a file that is not present and has no entries.
void files_forget(struct entries *entries, uint32_t id);
// Do inode, size and time say that it is as it was?
bool files_is_same(const struct file *file, const struct disk_stat *found);
