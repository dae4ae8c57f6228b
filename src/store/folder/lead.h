#pragma once

#include "store/folder/inside.h"

// Who may write, also elsewhere: who holds two locks. `.signpost/lock` guards the state, the lock
// of the folder itself the manifests: a process with another --state-dir knows nothing of the
// state's lock, and the folder may be read-only, so no file in it can do. A second process is a
// warm standby: it watches, writes nothing, and tries again each second. The kernel lets go of a
// dead one's locks.
//
// A lock belongs to an inode, so a state folder that is removed or replaced under a leader would
// let a second one lead beside it, and the state would grow where nobody finds it. A leader that
// notices this stops: nothing is written or sent, and readiness says why. Once the very same folder
// lies there again it goes on, as nobody else can have locked it. A new one is not begun in its
// place: the last good state of secrets is nowhere else, so that is left to a restart, which says
// what it cannot find.

// Fails when the lock cannot even be tried.
bool lead_open(struct folder *folder, struct error *err);
// On a standby: goes on trying.
void lead_start(struct folder *folder);
void lead_done(struct folder *folder);
// Before anything is written: do the locks of a leader still guard what lies there? On a standby
// true.
bool lead_look(struct folder *folder);
// Who holds the lock that we lack.
void lead_write_holder(struct buffer *out, const struct folder *folder);
// What is on the disk has been read since we hold the lock: says so.
void lead_report(struct folder *folder);
