#pragma once

#include "store/folder/draft.h"
#include "store/folder/pass.h"

// What earlier runs left: every document of the status files lies dormant until a manifest claims
// it. Steps of the work WORK_LOAD (settle.h), in this order around the scan and the pass.

// The state.
enum step load_begin(struct folder *folder, int64_t until_ms);
// A status file was found beside that manifest.
void load_note(struct folder *folder, const char *manifest);
enum step load_index(struct folder *folder, int64_t until_ms);
enum step load_merge(struct folder *folder, int64_t until_ms);
// The dormant state of the draft's subject (draft_skim), from beside *from. False when there is
// none, or (err set) when it cannot be read.
bool load_take(struct folder *folder, struct draft *draft, uint32_t *from, struct error *err);
// Whatever no manifest claimed: objects whose documents are gone.
enum step load_orphans(struct folder *folder, int64_t until_ms);
// Calls with what no manifest has claimed, as its status document has it. False when a status file
// cannot be read.
typedef void load_orphan_call(void *context, struct draft *draft, uint32_t file);
bool load_each_orphan(struct folder *folder, load_orphan_call *call, void *context,
                      struct error *err);

// Between load.c and orphans.c.
// The newest of the first `count`, which are sorted, with that hash of the key; others follow.
struct dormant *load_find(const struct load *load, uint64_t hash, size_t count);
void load_drop_doubles(struct id_list *list);
void load_done(struct folder *folder);
