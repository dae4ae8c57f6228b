#pragma once

#include "base/list.h"
#include "store/cache.h"
#include "store/cluster/cluster.h"
#include "store/cluster/kube_events.h"
#include "store/cluster/watch.h"

// The cluster store from within.
//
//     cluster.c      opens the store; operations, checks, metrics
//     feed.c         files what watches bring in the cache, and reports it
//     named_watch.c  watches single objects by name
//     write.c, write_window.c, write_body.c, write_exchange.c
//                    apply, remove_finalizer, patch_status, put, owned objects, get: a queue and a
//                    window of requests in flight
//     shards.c       reads ledger shards, and makes the bodies of their writes
//     api.c, watch.c, lease.c, kube_events.c
//                    exchanges with the API server that do not know the store

// One watch whose objects go to the cache.
struct feed {
    struct cluster *cluster;
    const struct store_kind *type;
    char *namespace_; // NULL: all
    struct watch *watch;
    bool was_synced;
    bool is_unread;     // it counts as synced although it may not be read
    bool is_missing;    // the server does not have the kind
    bool has_gone_back; // resourceVersions did, before the pass under way
};

// An object that is watched by name.
struct named_watch {
    struct link link;
    struct cluster *cluster;
    const struct store_kind *type;
    char *namespace_; // "" without
    char *name;
    unsigned wants;
    bool is_known;
    struct watch *watch; // NULL: it is looked at now and then
    bool is_met;         // seen in the listing under way
    bool has_gone_back;
    struct api_call *call;   // reads it once
    struct loop_timer timer; // until the next reading
    struct error fault;      // of the last reading
};

struct write;
struct shard_read;

// Writes that wait, in order of arrival.
struct write_line {
    LIST_OF(struct write) list;
    size_t count;
    unsigned row; // sent since a write of a lower rank was let through
    bool is_full;
};

// Ranks of writes, the first sent first: those that a zone's servers wait for, those that an
// exchange with a provider waits for, and those that only report.
enum write_rank { RANK_URGENT, RANK_AHEAD, RANK_BEHIND, RANK_COUNT };

struct writes {
    struct write_line waiting[RANK_COUNT];
    LIST_OF(struct write) in_flight;
    size_t in_flight_count;
    unsigned window;    // at most so many in flight
    unsigned successes; // since the window grew
    bool is_pumping;
    double tokens;
    int64_t filled_ms;
    int64_t held_since_ms;   // the first that waits has no token since then; 0: it has not asked
    struct loop_timer timer; // sends what waits, or fails it
};

struct cluster {
    struct store store;
    struct world world;
    struct log *log;
    struct cluster_options options; // what it points to is not kept
    struct store_sink sink;
    bool is_started;
    struct api *api;
    struct lease *lease;
    char *owner_id;                // as given; of a reader, as the Lease has it; or NULL
    struct owner_look *owner_look; // of a reader, until it is known
    struct error owner_fault;      // why it is not
    struct kube_events *kube_events;
    struct access *access; // or NULL
    struct watch_memory memory;
    char **namespaces; // NULL-terminated; NULL: all
    size_t namespace_count;
    struct store_kind *types;
    size_t kind_count;
    struct feed *feeds;
    size_t feed_count;
    LIST_OF(struct named_watch) named;
    LIST_OF(struct named_watch) dropped;
    struct loop_timer dropped_timer;
    struct loop_timer started_timer; // kinds that are watched by name are synced from then on
    struct writes writes;
    LIST_OF(struct shard_read) shard_reads;
    char *own_namespace;
    char *address;
    char *holder;
    char *lease_name; // of a reader that asks for the owner id; or NULL
    char *lease_namespace;
    char *scope;                 // namespaces, joined
    void (*left)(void *context); // called when the lease was released
    void *left_context;
};

bool cluster_may_write_now(const struct cluster *cluster);
const struct store_kind *cluster_type(const struct cluster *cluster, const struct kind *kind);

// feed.c
void feed_open(struct cluster *cluster, struct feed *feed, const struct store_kind *type,
               const char *namespace_);
void feed_done(struct feed *feed);
struct filing {
    bool is_initial;  // of the kind's first pass
    bool may_go_back; // an older version may be the newer state
    bool is_reply;    // of a write: it proves nothing to a pass that is under way
    bool is_silent;   // the engine learns of it by the reply
};
// Files a state from any source in the cache and reports it, unless the cache has one as new.
void file_object(struct cluster *cluster, const struct store_kind *type, const struct value *tree,
                 const struct filing *how);
void file_deleted(struct cluster *cluster, const struct store_kind *type, const struct value *tree);
void file_gone(struct cluster *cluster, const struct object *object); // its deletion was not seen
// Has the watch of its kind passed this state? Then the cache has a newer one.
bool feed_has_reported(const struct cluster *cluster, const struct store_kind *type,
                       const struct value *tree);

// named_watch.c
void named_watch_want(struct cluster *cluster, const struct object_ref_key *key, bool is_wanted);
bool named_watch_knows(const struct cluster *cluster, const struct object_ref_key *key);
const char *named_watch_unreadable(const struct cluster *cluster, const struct object_ref_key *key);
struct store_check named_watch_check(struct named_watch *named);
void named_watch_start(struct cluster *cluster);
void named_watch_sweep(void *context);
void named_watch_done(struct cluster *cluster);

// write.c, write_window.c
void writes_apply(struct cluster *cluster, const struct store_apply *apply, store_done *done,
                  void *context);
void writes_patch_status(struct cluster *cluster, const struct object *object,
                         const struct value *status, store_done *done, void *context);
bool writes_are_full(const struct cluster *cluster, bool is_urgent);
void writes_remove_finalizer(struct cluster *cluster, const struct object *object, store_done *done,
                             void *context);
void writes_write_object(struct cluster *cluster, const struct store_object_write *wanted,
                         store_done *done, void *context);
void writes_get(struct cluster *cluster, const struct object_ref_key *key, store_done *done,
                void *context);
void writes_put_shard(struct cluster *cluster, const struct store_shard_put *put, store_done *done,
                      void *context);
void writes_drop_shard(struct cluster *cluster, const char *name, const char *version,
                       store_done *done, void *context);
void writes_fence(struct cluster *cluster); // all that is under way is broken off
void writes_done(struct cluster *cluster);  // dropped without a reply

// shards.c
extern const struct kind shard_kind; // ConfigMap, only to name it
void shards_read(struct cluster *cluster, const char *label, const char *prefix, store_done *done,
                 void *context);
// The body of its creation, or of the patch that replaces the state that was seen.
struct value *shard_body(struct arena *arena, const char *own_namespace,
                         const struct store_shard_put *put);
void shards_done(struct cluster *cluster); // dropped without a reply
