#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/loop.h"
#include "store/store.h"

// A small model of an API server on a virtual loop. It keeps objects as a cluster does: uid,
// resourceVersion, generation, conflicts, finalizers, a status apart, who wrote what, and what
// happened so far. model_api.h lets it be reached by HTTP. It outlives who talks to it.
//
//     struct model_server *server = model_server_new(loop, kinds, kind_count);
//     model_server_apply_yaml(server, TEXT("apiVersion: ..."), &err);

struct model_server;

// One that it has beside those that it is made with.
extern const struct kind model_config_map_kind;

struct model_server *model_server_new(struct loop *loop, const struct store_kind *kinds,
                                      size_t kind_count);
void model_server_free(struct model_server *server); // all who talk to it have left

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
// Someone else writes a text into a field of it ("spec.approve").
bool model_server_edit(struct model_server *server, const struct object_ref_key *key,
                       const char *path, const char *value);
// Another controller adds a condition; false: there is no status yet.
bool model_server_judge(struct model_server *server, const struct object_ref_key *key,
                        const char *type, const char *condition);
// The status is another one again, as after a restore from a backup: a merge patch of it.
bool model_server_restore(struct model_server *server, const struct object_ref_key *key,
                          const struct value *status);

// ---- looking in ---------------------------------------------------------------------------------

// The whole object, or NULL.
struct value *model_server_find(struct model_server *server, struct arena *arena,
                                const struct object_ref_key *key);
size_t model_server_count(const struct model_server *server, const struct kind *kind);
// Calls over the API that wrote the object since it was made, those that changed nothing too.
size_t model_server_written(struct model_server *server, const struct object_ref_key *key);
uint64_t model_server_writes(const struct model_server *server); // calls that could write, so far

// ---- how it behaves -----------------------------------------------------------------------------

// How long replies and watch events are under way. Events before replies when watch_ms is smaller.
void model_server_set_delays(struct model_server *server, int64_t reply_ms, int64_t watch_ms);

// How many events of a kind the server remembers at least, for those who watch from a version.
void model_server_set_window(struct model_server *server, size_t events);

// Calls by what they do. Any write is one of those up to MODEL_OTHER_WRITE; only they are counted.
enum model_write {
    MODEL_ANY_WRITE,
    MODEL_APPLY,
    MODEL_PATCH_STATUS,
    MODEL_REMOVE_FINALIZER, // merge patch of an object
    MODEL_OTHER_WRITE,
    MODEL_LEASE, // writes of Leases
    MODEL_EVENT, // of Events
    MODEL_REVIEW,
    MODEL_GET,
    MODEL_LIST,
    MODEL_WATCH,
};
enum model_fault {
    MODEL_FAILS,    // 500, nothing done
    MODEL_LOSES,    // done, but the reply is lost: fault AGAIN
    MODEL_CONFLICT, // 409, nothing done
    MODEL_LIMIT,    // 429 with Retry-After 2 s, nothing done
    MODEL_MISSING,  // done, no reply; stops the loop: the process dies here
    // The API over HTTP only; nothing is done:
    MODEL_UNREACHABLE,  // no connection
    MODEL_SILENT,       // no reply, ever
    MODEL_UNAVAILABLE,  // 503 with Retry-After 1 s
    MODEL_STARTING,     // 429 as Status, with Retry-After 1 s
    MODEL_UNAUTHORIZED, // 401
    MODEL_FORBIDDEN,    // 403
    MODEL_EXPIRED,      // 410; on a watch as 200 with one ERROR event
};
// The call after `skip` further ones of that sort meets the fault, once. Several may be set.
void model_server_fault(struct model_server *server, enum model_write write, unsigned skip,
                        enum model_fault fault);
