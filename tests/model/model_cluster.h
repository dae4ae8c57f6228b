#pragma once

#include "base/log.h"
#include "io/world.h"
#include "model/model_api.h"
#include "store/store.h"

// The product's own store of a cluster, opened on a model_api at MODEL_CLUSTER_URL. Freeing it and
// opening another is a crash and a restart.
//
//     model_cluster_prepare(server);
//     struct store *store = model_cluster_new(&world, kinds, kind_count, NULL, log);

#define MODEL_CLUSTER_URL "https://api.test"

// What stands in every cluster before we come: the namespace kube-system.
void model_cluster_prepare(struct model_server *server);
// `world`, whose HTTP is that of the model_api, lives longer. Kinds of secrets are held by name.
// The owner id may be NULL in a cluster that was prepared.
// One that reads and never leads.
struct store *model_cluster_reader(const struct world *world, const struct store_kind *kinds,
                                   size_t kind_count);
struct store *model_cluster_new(const struct world *world, const struct store_kind *kinds,
                                size_t kind_count, const char *owner_id, struct log *log);
// Another process takes the lease and keeps it for good.
void model_cluster_take_lease(struct model_server *server);
// Whoever has it, gives it back: the next one need not wait until it has run out.
void model_cluster_free_lease(struct model_server *server);

// For stores whose events nobody needs: hears all and does nothing.
extern const struct store_sink model_deaf_sink;
// The source of a `struct random` whose octets are all the same.
void model_fill_even(struct random *random, void *out, size_t len);
