#pragma once

#include "store/folder/pass.h"

// What changed in the folder, as inotify names it: which paths concern us, and what each comes to.
// A manifest is read in the next pass; what can't be told from a path alone is found by a full
// scan.

// Without inotify everything is found by the scan every 60 s.
void changes_start(struct folder *folder);
void changes_done(struct folder *folder);
// Watches that folder from now on. `context` is the store; `path` is absolute.
void changes_watch_folder(void *context, const char *path);
// Called after Signpost wrote or removed the file of an owned object, which is read like a
// manifest.
void changes_report_child(void *context, const char *path, bool is_there);
// Queues the manifests that the paths named so far stand for, or asks for a full scan.
enum step changes_take(struct folder *folder, int64_t until_ms);
// Called when somebody removed a status file. If its content is still in memory, the file is
// written again; otherwise its manifest is read as if it had changed.
void changes_miss_status(struct folder *folder, uint32_t id);
