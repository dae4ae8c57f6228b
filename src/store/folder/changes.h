#pragma once

#include "store/folder/pass.h"

// What changed in the folder, as inotify names it: which paths concern us, and what each comes to.
// A manifest is read in the next pass; what can't be told from a path alone is found by a full
// scan.

// Without inotify everything is found by the scan every 60 s.
void changes_start(struct folder *folder);
void changes_done(struct folder *folder);
// Changes in that folder are told from now on. `context` is the store; `path` is absolute.
void changes_watch_folder(void *context, const char *path);
// One of our own files that are read like manifests was written or removed.
void changes_report_child(void *context, const char *path, bool is_there);
// Queues for the pass what the paths named so far come to, or asks for a full scan.
enum step changes_take(struct folder *folder, int64_t until_ms);
// A status file is gone. It is written as it was where that is still in memory; else its manifest
// is read as if it had changed.
void changes_miss_status(struct folder *folder, uint32_t id);
