#pragma once

#include "store/folder/draft.h"
#include "store/folder/pass.h"

// Loads what earlier runs left. Every document of the status files is dormant until a manifest that
// defines its object is read. These are the steps of WORK_LOAD (schedule.h), in this order around
// the scan and the pass.

// Opens the state.
enum step load_begin(struct folder *folder, int64_t until_ms);
// Called for each status file that is found, with its manifest.
void load_note(struct folder *folder, const char *manifest);
enum step load_index(struct folder *folder, int64_t until_ms);
enum step load_merge(struct folder *folder, int64_t until_ms);
// Takes the dormant document of the draft's subject (draft_skim); *from is the manifest beside
// which it lay. load_put_back() undoes it where the manifest cannot be taken yet. Returns false
// when there is none, also when it is unusable (a log line says so), or, with err set, when the
// status file cannot be read.
bool load_take(struct folder *folder, struct draft *draft, uint32_t *from, struct error *err);
void load_put_back(const struct draft *draft);
// Handles the documents that are still dormant: their objects have no manifest any more.
enum step load_orphans(struct folder *folder, int64_t until_ms);
// Calls `call` for each document that is still dormant. Returns false when a status file cannot be
// read.
typedef void load_orphan_call(void *context, struct draft *draft, uint32_t file);
bool load_each_orphan(struct folder *folder, load_orphan_call *call, void *context,
                      struct error *err);

// Shared by load.c and orphans.c: the newest of the first `count`, sorted documents with that hash
// of their key; older ones follow it.
struct dormant *load_find(const struct load *load, uint64_t hash, size_t count);
void load_drop_doubles(struct id_list *list);
void load_done(struct folder *folder);
