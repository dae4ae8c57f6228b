#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/loop.h"
#include "store/store.h"

// A small model of an API server, and stores that talk to it, on a virtual loop. The server keeps
// objects as a cluster does: uid, resourceVersion, generation, conflicts, finalizers, a status
// apart. It outlives its stores: freeing one and opening another is a crash and a restart.
//
//     struct model_server *server = model_server_new(loop, kinds, kind_count);
//     model_server_apply_yaml(server, TEXT("apiVersion: ..."), &err);
//     struct store *store = model_store_new(server);

struct model_server;

struct model_server *model_server_new(struct loop *loop, const struct store_kind *kinds,
                                      size_t kind_count);
void model_server_free(struct model_server *server); // all of its stores are freed before

// ---- what people do -----------------------------------------------------------------------------

// As `kubectl apply` with each document of the text; a namespace that is missing is `default`.
// Refused by the shape of the kind's table alone, as a cluster without admission webhook would.
bool model_server_apply_yaml(struct model_server *server, struct text yaml, struct error *err);
// One object, as read.
bool model_server_apply(struct model_server *server, const struct value *object, struct error *err);
// As `kubectl delete --wait=false`. False when it is not there.
bool model_server_delete(struct model_server *server, const struct object_ref_key *key);
// The object goes at once and its last state still shows our finalizer, without deletionTimestamp:
// what a real server does now and then to one that is deleted while a finalizer is added.
bool model_server_lose(struct model_server *server, const struct object_ref_key *key);
// Someone else writes the annotation; NULL removes it.
bool model_server_annotate(struct model_server *server, const struct object_ref_key *key,
                           const char *annotation, const char *value);
// Another controller adds a condition; false: there is no status yet.
bool model_server_judge(struct model_server *server, const struct object_ref_key *key,
                        const char *type, const char *condition);

// ---- looking in ---------------------------------------------------------------------------------

// The whole object, or NULL.
struct value *model_server_find(struct model_server *server, struct arena *arena,
                                const struct object_ref_key *key);
size_t model_server_count(const struct model_server *server, const struct kind *kind);
uint64_t model_server_writes(const struct model_server *server); // calls that could write, so far

// ---- how it behaves -----------------------------------------------------------------------------

// How long replies and watch events are under way. Events before replies when watch_ms is smaller.
void model_server_set_delays(struct model_server *server, int64_t reply_ms, int64_t watch_ms);

enum model_write { MODEL_ANY_WRITE, MODEL_APPLY, MODEL_PATCH_STATUS, MODEL_REMOVE_FINALIZER };
enum model_fault {
    MODEL_FAILS,    // 500, nothing done
    MODEL_LOSES,    // done, but the reply is lost: fault AGAIN
    MODEL_CONFLICT, // 409, nothing done
    MODEL_LIMIT,    // 429 with Retry-After 2 s, nothing done
    MODEL_MISSING,  // done, no reply; stops the loop: the process dies here
};
// The write after `skip` further ones of that sort meets the fault, once. Several may be set.
void model_server_fault(struct model_server *server, enum model_write write, unsigned skip,
                        enum model_fault fault);

// ---- one Signpost's side ------------------------------------------------------------------------

struct store *model_store_new(struct model_server *server);
// The lease goes, or comes back.
void model_store_set_leading(struct store *store, bool is_leading);
// The watch of a kind is lost, or complete again.
void model_store_set_synced(struct store *store, const struct kind *kind, bool is_synced);
