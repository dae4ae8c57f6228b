#pragma once

#include "store/folder/inside.h"

// Implements the writes and the read of store.h. Write-ahead calls (apply, remove_finalizer) gather
// until the next step of the loop and share one commit; their replies follow it.

void write_apply(struct folder *folder, const struct store_apply *apply, store_done *done,
                 void *context);
void write_remove_finalizer(struct folder *folder, const struct object *object, store_done *done,
                            void *context);
void write_patch_status(struct folder *folder, const struct object *object,
                        const struct value *status, store_done *done, void *context);
void write_object(struct folder *folder, const struct store_object_write *write, store_done *done,
                  void *context);
void write_get(struct folder *folder, const struct object_ref_key *key, store_done *done,
               void *context);
void write_read_shards(struct folder *folder, const char *prefix, store_done *done, void *context);
void write_put_shard(struct folder *folder, const struct store_shard_put *put, store_done *done,
                     void *context);
void write_drop_shard(struct folder *folder, const char *name, const char *version,
                      store_done *done, void *context);

void write_init(struct folder *folder);
void write_done(struct folder *folder); // drops what waits, without a reply
