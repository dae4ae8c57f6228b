#pragma once

#include "store/folder/inside.h"

// Decides when to read the folder, and does that work in slices. Paths that inotify named are read
// 100 ms after the last change, 1 s after the first at the latest; a full scan runs every 60 s.

void schedule_init(struct folder *folder);
void schedule_done(struct folder *folder);
// Begins: loads what earlier runs left, then scans the folder.
void schedule_start(struct folder *folder);
// Called when inotify named paths: they are read once the folder is quiet.
void schedule_soon(struct folder *folder);
// Reads that file again after `delay_ms`.
void schedule_again(struct folder *folder, uint32_t file, int64_t delay_ms);
// Tries again after `delay_ms` what could not be finished.
void schedule_retry(struct folder *folder, int64_t delay_ms);
// For a store that is only read: loads at once what earlier runs left, and queues all manifests
// for the pass.
bool schedule_collect(struct folder *folder);
// Reads everything again. Called when this process becomes the leader, as another may have written
// the state since.
void schedule_reload(struct folder *folder);
// Scans the whole folder again.
void schedule_scan(struct folder *folder);
