#pragma once

#include "store/folder/inside.h"

// Who may write, also elsewhere: who holds two locks. `.signpost/lock` guards the state, the lock of
// the folder itself the manifests: a process with another --state-dir knows nothing of the state's
// lock, and the folder may be read-only, so no file in it can do. A second process is a warm
// standby: it watches, writes nothing, and tries again each second. The kernel lets go of a dead
// one's locks.

// Fails when the lock cannot even be tried.
bool lead_open(struct folder *folder, struct error *err);
// On a standby: goes on trying.
void lead_start(struct folder *folder);
void lead_done(struct folder *folder);
// What is on the disk has been read since we hold the lock: says so.
void lead_tell(struct folder *folder);
