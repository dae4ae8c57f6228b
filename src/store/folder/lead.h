#pragma once

#include "store/folder/inside.h"

// `.signpost/lock`: who holds it may write, also elsewhere. A second process is a warm standby: it
// watches, writes nothing, and tries again each second. The kernel lets go of a dead one's lock.

// Fails when the lock cannot even be tried.
bool lead_open(struct folder *folder, struct error *err);
// On a standby: goes on trying.
void lead_start(struct folder *folder);
void lead_done(struct folder *folder);
// What is on the disk has been read since we hold the lock: says so.
void lead_tell(struct folder *folder);
