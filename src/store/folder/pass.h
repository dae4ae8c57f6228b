#pragma once

#include "store/folder/inside.h"

// One pass reads the changed manifests in the byte order of their paths, turns their documents into
// objects, and then handles the objects that are gone.

enum step { STEP_AGAIN, STEP_DONE, STEP_FAILED };

// Begins to collect files for the next pass.
void pass_begin(struct folder *folder, bool is_load);
// Adds the file to this pass.
void pass_queue(struct folder *folder, uint32_t file);
// Adds files that have to be read again because others changed.
void pass_queue_doubtful(struct folder *folder);
// Sorts the queue by the bytes of the paths.
void pass_sort(struct folder *folder);
// Reads queued files until the clock says `until_ms`. A file may be half read then; the next call
// goes on there.
enum step pass_read(struct folder *folder, int64_t until_ms);
// Handles deletions after all files were read, and ends the batch. FAILED: a write of the state has
// to be tried again later. An object whose status file cannot be read is put off alone.
enum step pass_finish(struct folder *folder, int64_t until_ms);
void pass_done(struct folder *folder);
// Something of the file could not be read or kept: it is read again a second later.
void pass_read_again(struct folder *folder, uint32_t file, const struct error *err);
// Records that the entry was seen in this pass.
void pass_mark(struct folder *folder, uint32_t entry);
// Records that the entry's document is gone; pass_finish() acts on it once the folder is quiet.
void pass_miss(struct folder *folder, uint32_t entry);
// Forgets what was missing in an earlier pass and has come back.
void pass_drop_found(struct folder *folder);

// Reports all kinds as synced or not: whether the absence of an object proves anything. `why` may
// be NULL.
void folder_set_synced(struct folder *folder, bool is_synced, const char *why);
