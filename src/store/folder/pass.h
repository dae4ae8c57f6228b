#pragma once

#include "store/folder/inside.h"

// One pass over changed manifests: files in byte order, documents to objects, then what is gone.

enum step { STEP_AGAIN, STEP_DONE, STEP_FAILED };

// Begins to gather files for the next pass.
void pass_begin(struct folder *folder, bool is_load);
// The file is to be read in this pass.
void pass_queue(struct folder *folder, uint32_t file);
// Files that have to be read again because others were changed.
void pass_queue_doubtful(struct folder *folder);
// In byte order of their paths.
void pass_sort(struct folder *folder);
// Reads queued files until the clock says `until_ms`, which may be amid one: it goes on there.
enum step pass_read(struct folder *folder, int64_t until_ms);
// Deletions, once all files were read; then the batch ends. FAILED: a write of the state has to be
// tried again later.
enum step pass_finish(struct folder *folder, int64_t until_ms);
void pass_done(struct folder *folder);
// Was seen in this pass.
void pass_mark(struct folder *folder, uint32_t entry);
// Its document is gone: pass_finish acts upon it, once the folder is quiet.
void pass_miss(struct folder *folder, uint32_t entry);
// Forgets what was missing in an earlier pass and has come back.
void pass_drop_found(struct folder *folder);

// Says to all kinds whether absence is evidence. `why` may be NULL.
void folder_set_synced(struct folder *folder, bool is_synced, const char *why);
