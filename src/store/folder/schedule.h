#pragma once

#include "store/folder/inside.h"

// When to look at the folder, and the work that follows in slices: 100 ms after the last change (1
// s after the first at the latest) at what inotify named, every 60 s at everything.

void schedule_init(struct folder *folder);
void schedule_done(struct folder *folder);
// Begins with everything that earlier runs left.
void schedule_start(struct folder *folder);
// Paths were named: they are looked at once the folder is quiet.
void schedule_soon(struct folder *folder);
// That file is to be read again after so much time.
void schedule_again(struct folder *folder, uint32_t file, int64_t delay_ms);
// What is not settled is looked at again after so much time.
void schedule_retry(struct folder *folder, int64_t delay_ms);
// Without a start and at once: finds all manifests (queued for the pass) and what earlier runs
// left.
bool schedule_collect(struct folder *folder);
// All that is known is to be read again: what lies on the disk became ours to write.
void schedule_reload(struct folder *folder);
// Looks at everything again.
void schedule_scan(struct folder *folder);
