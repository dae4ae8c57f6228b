#pragma once

#include "store/folder/inside.h"

// Stores ledger shards as files, `.signpost/ledger/<name>`. Each file is replaced as a whole and
// synced before the write counts. A shard's version is a hash of its text, so an edit by hand is
// another state.

struct shard_list;                             // shards that were read, with their texts
void shard_list_free(struct shard_list *list); // NULL is fine
const struct store_shard *shard_list_items(const struct shard_list *list, size_t *count);

enum { SHARD_VERSION_MAX = 34 };

// Returns NULL when they cannot be read.
struct shard_list *shard_files_read(const struct folder *folder, const char *prefix,
                                    struct error *err);
bool shard_files_put(struct folder *folder, const struct store_shard_put *put,
                     char version[SHARD_VERSION_MAX], struct error *err);
bool shard_files_drop(struct folder *folder, const char *name, const char *version,
                      struct error *err);
