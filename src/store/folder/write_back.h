#pragma once

#include "store/folder/inside.h"

// What follows behind: status files (at most one write per file and 50 ms, many objects in one),
// Events. Nothing of it is waited for.

// The status file of that manifest holds a change.
void write_back_mark(struct folder *folder, uint32_t file);
// The document of that key has come from beside one manifest to beside another: it goes there only
// when it is written here.
void write_back_move(struct folder *folder, uint32_t from, uint32_t to, struct text key,
                     uint64_t version);
// There are Events to write.
void write_back_wake(struct folder *folder);
// Writes everything now.
void write_back_flush(struct folder *folder);
// The loaded status file of a manifest; one that got lost since is made again.
struct status_file *folder_open_status(struct folder *folder, uint32_t file, struct error *err);

// Adds to a loaded one what the state knows newer.
bool folder_recover_status(struct folder *folder, uint32_t file, struct status_file *status,
                           struct error *err);

// The state could not be written: finds out when it can be.
void write_back_probe_state(struct folder *folder);

void write_back_init(struct folder *folder);
void write_back_done(struct folder *folder);
