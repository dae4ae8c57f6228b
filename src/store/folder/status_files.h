#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/table.h"
#include "io/disk.h"
#include "store/folder/state.h"
#include "store/folder/status_file.h"

// All status files of a store. A file with unwritten changes stays in memory until it is written;
// others are released when the texts together exceed a megabyte.
//
// Status files are written without sync and lie where people tidy up; a torn or missing one is made
// again from the rows of the state.

enum { STATUS_FILES_OCTETS_MAX = 1024 * 1024, STATUS_WRITE_MS = 50 };

struct status_files {
    struct disk *disk;
    char *root;                 // status files: <root>/<manifest>.status
    bool is_shared;             // the root is the users' folder: no folder is made there
    struct state *state;        // whose rows stand in for what is lost
    struct status_file **files; // in memory
    size_t count;
    size_t capacity;
    struct table by_id;
    size_t octets; // of texts, about
};

void status_files_init(struct status_files *status_files, struct disk *disk, const char *root,
                       struct state *state);
void status_files_done(struct status_files *status_files); // loses what was not written
// Forgets everything in memory, changes too.
void status_files_reset(struct status_files *status_files);

// Returns false when a folder stands where the status file would lie, or its name would be too
// long. What that file held counts as lost.
bool status_files_has_place(const struct status_files *status_files, const char *manifest,
                            struct error *err);
// Returns the loaded status file of manifest `id`; one that does not exist is empty (is_absent).
// NULL: it cannot be read. Valid until the next call of status_files_open or _tidy.
struct status_file *status_files_open(struct status_files *status_files, uint32_t id,
                                      const char *manifest, struct error *err);
// Returns it only if it is in memory; else NULL.
struct status_file *status_files_find(const struct status_files *status_files, uint32_t id);
// Writes the changes, if there are any; removes a file without documents. Not synced. Where the
// folder was removed by its users, lies behind a link now, or does not take the file (is_refused),
// its documents are kept as rows of the state alone (is_homeless).
bool status_files_write(struct status_files *status_files, struct status_file *file,
                        const char *manifest, int64_t now_ms, struct error *err);
// When a changed file may be written at the earliest: at once, and then at most once per 50 ms
// (large files more seldom, so that writing never takes more than a part of the time).
int64_t status_files_due_ms(const struct status_file *file);
// Releases files that have no changes and were not written a moment ago.
void status_files_tidy(struct status_files *status_files, int64_t now_ms);

// Adds what only the state has, or has in a newer version: of one row, of a manifest, of a key.
void status_files_merge_row(struct status_file *file, const struct state_row *row);
bool status_files_merge(struct status_files *status_files, struct status_file *file,
                        const char *manifest, struct error *err);
bool status_files_merge_key(struct status_files *status_files, struct status_file *file,
                            struct text key, struct error *err);
