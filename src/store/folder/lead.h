#pragma once

#include "store/folder/inside.h"

// Leader election of folder stores: the process that holds two locks may write, here and at
// servers. `.signpost/lock` guards the state. The lock of the folder itself guards the manifests,
// as a process with another --state-dir does not see the state's lock; it is no file, as the folder
// may be read-only. A second process is a warm standby: it watches, writes nothing, and tries again
// each second. The kernel releases the locks of a process that died.
//
// A lock belongs to an inode. If somebody removes or replaces the state folder of a leader, a
// second process could lead beside it, and the first would write to a folder that nobody finds. So
// a leader that notices this stops: it writes and sends nothing, and readiness says why. It goes on
// once the same folder is back, which nobody else can have locked. It does not create a new one, as
// the last good documents of secrets are stored nowhere else; a restart does, and says what is
// missing.

// Tries to take both locks. Fails only when that is not possible at all.
bool lead_open(struct folder *folder, struct error *err);
// Has a standby try again each second.
void lead_start(struct folder *folder);
void lead_done(struct folder *folder);
// Called before each write: do the locks of a leader still guard the folders that are there? Always
// true on a standby.
bool lead_look(struct folder *folder);
// Appends who holds the lock that this process lacks.
void lead_write_holder(struct buffer *out, const struct folder *folder);
// Reports that this process leads, once the state was read under the lock.
void lead_report(struct folder *folder);
