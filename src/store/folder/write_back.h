#pragma once

#include "store/folder/inside.h"

// Writes status files and Events with a delay; nobody waits for them. A status file is written at
// most once in 50 ms, with the changes of all its objects.

// Has the status file of that manifest written, which holds a change.
void write_back_mark(struct folder *folder, uint32_t file);
// The object of that key has moved to another manifest. Its document leaves the old status file
// only once the new one is written.
void write_back_move(struct folder *folder, uint32_t from, uint32_t to, struct text key,
                     uint64_t version);
// Has what waits (status files, Events) written; when nothing fails, the store can write again.
void write_back_wake(struct folder *folder);
// Writes everything now.
void write_back_flush(struct folder *folder);
// Returns the loaded status file of a manifest; one that somebody removed is restored.
struct status_file *folder_open_status(struct folder *folder, uint32_t file, struct error *err);

// Adds what the state knows in a newer version to a loaded status file.
bool folder_recover_status(struct folder *folder, uint32_t file, struct status_file *status,
                           struct error *err);

// Called when the state could not be written: tries again until it can be.
void write_back_probe_state(struct folder *folder);
// Called when a file of so many octets could not be written or removed in `dir`. Unless another one
// can be written there, the store counts as one that cannot write, for the reason of `err`, until
// it can. `context` is the folder.
void write_back_probe_files(void *context, const char *dir, size_t octets, const struct error *err);

void write_back_init(struct folder *folder);
void write_back_done(struct folder *folder);
