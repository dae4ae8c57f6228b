#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kind.h"
#include "store/object.h"

// Where objects live: one interface with several implementations (a folder of manifests, a
// Kubernetes API server). Every store refuses what an API server would refuse: conflicts, another
// uid, changed immutable fields, breaches of the schema; finalizers delay a deletion. All calls
// return at once; replies come by callback, never from within the call, in any order.

enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_event {
    enum store_event_type type;
    const struct object *object; // new state; DELETED: the last one. Borrowed
    const struct object *old;    // state before, or NULL. Borrowed
    bool is_initial;             // part of the first complete listing
    bool is_inferred;            // DELETED: a listing lacked it; no watch reported the deletion
};

// The callbacks of the store's one listener. Events come in batches, which may last over many steps
// of the loop: what arrived together is reported together. A batch_end follows each event.
struct store_sink {
    void (*event)(void *context, const struct store_event *event);
    void (*batch_end)(void *context);
    // A kind is synced after its first complete listing, and unsynced again when the source
    // vanished
    // (`why` says so). Only while it is synced does an absent object count as gone. A dispensable
    // kind that may not be read counts as synced at once; then `why` says why absence proves
    // nothing all the same.
    void (*synced)(void *context, const struct kind *kind, bool is_synced, const char *why);
    // Whether the server has a kind, before that kind is synced and at each change. It has one of
    // which nothing is said. NULL: nobody wants to know.
    void (*installed)(void *context, const struct kind *kind, bool is_installed);
    // An object that store_want() asked for is known now: an event brought it before, or it does
    // not exist. Also called when it turns out that it cannot be read (store_unreadable).
    void (*known)(void *context, const struct object_ref_key *key);
    // This process became the leader, or ceased to be it. Then nothing new may be sent elsewhere.
    void (*leading)(void *context, bool is_leading);
    // The lease ran out: exchanges in flight are to be aborted. `leading` (false) came before.
    void (*fenced)(void *context);
    // Writes that failed (a full disk, for instance) work again: those that wait may be retried.
    void (*writable)(void *context);
    // store_is_full() became false, perhaps for urgent writes only.
    void (*room)(void *context);
    void *context;
};

// A shard of a ledger: a text that we keep beside the objects, in a cluster in a ConfigMap of our
// own namespace. It is not an object of the store.
#define STORE_SHARD_LABEL "dns.homelab.mortenolsen.pro/backend"
#define STORE_SHARD_KEY "ledger.json"
enum { STORE_SHARD_OCTETS_MAX = 1024 * 1024 };
struct store_shard {
    struct text name;    // one that kind_is_name() takes
    struct text version; // of this state, as the store counts
    struct text text;
};
struct store_shard_put {
    const char *label; // value of the label by which its ledger is found
    const char *name;
    const char *version; // of the state that it replaces; NULL: nothing has that name
    struct text text;    // at most STORE_SHARD_OCTETS_MAX
};

struct store_reply {
    bool is_ok;
    struct error error;
    const struct object *object;      // state after the write, already filed in the cache
    const struct value *tree;         // get: the whole object; lives for the callback
    const struct store_shard *shards; // read_shards; as `tree`
    size_t shard_count;
    const char *version; // put_shard: of the state after it; as `tree`
};
typedef void store_done(void *context, const struct store_reply *reply);

// A label or an annotation.
struct metadata_change {
    const char *key;
    const char *value; // NULL removes it
    bool is_label;
};

// The finalizer with its labels and annotations, in one guarded write (write-ahead): the API
// server's 200, or the folder's entry on disk, confirms it.
struct store_apply {
    const struct object *object; // the state that we saw: its uid guards
    bool add_finalizer;
    const struct metadata_change *metadata_changes; // all labels and annotations that we keep there
    size_t metadata_change_count;
};

// An object that we make, change or remove ourselves.
struct store_object_write {
    struct object_ref_key key; // names that kind_is_name() takes
    const struct value *tree;  // all that is ours: metadata (labels, ownerReferences) and content.
                               // NULL: the object that was seen goes
    const struct object *seen; // the state that is changed or removed; NULL: no object has the name
    // Nobody reads objects of that kind, so `seen` is NULL and says nothing: the store looks at
    // what stands there, and never touches an object that is not ours (put_is_ours). Its kind need
    // not be one of those that the store was opened with.
    bool is_unread;
    // Nothing is stored: the answer says whether the store would take what is created or changed,
    // as far as it knows before. Not of an unread object.
    bool is_dry_run;
    // A replica that does not lead writes it, too: somebody asked for it there. (A folder has one
    // process that writes.)
    bool is_of_any_replica;
    // Of an unread object:
    const struct value *kept; // names of `data` that stay as they stand there; list, or NULL
    const struct metadata_change *grant; // the annotation by which somebody hands it over; or NULL
};

// An Event.
struct kube_event {
    const struct object *regarding; // NULL: ourselves; in a cluster our Lease, on a folder nothing
    const struct object *related;   // whose doings brought it about, if that is another; or NULL
    bool is_warning;
    const char *reason;
    const char *action;
    const char *text;
};

struct store_check { // one line of /readyz
    const char *name;
    bool is_ok;
    bool is_advice; // shown by ?verbose, but never makes the whole unready
    const char *text;
};

struct store;
struct store_ops {
    bool (*start)(struct store *store, const struct store_sink *sink, struct error *err);
    void (*get)(struct store *store, const struct object_ref_key *key, store_done *done,
                void *context);
    void (*apply)(struct store *store, const struct store_apply *apply, store_done *done,
                  void *context);
    void (*patch_status)(struct store *store, const struct object *object,
                         const struct value *status, store_done *done, void *context);
    void (*remove_finalizer)(struct store *store, const struct object *object, store_done *done,
                             void *context);
    void (*write_object)(struct store *store, const struct store_object_write *write,
                         store_done *done, void *context);
    void (*read_shards)(struct store *store, const char *label, const char *prefix,
                        store_done *done, void *context);
    void (*put_shard)(struct store *store, const struct store_shard_put *put, store_done *done,
                      void *context);
    void (*drop_shard)(struct store *store, const char *name, const char *version, store_done *done,
                       void *context);
    void (*publish_event)(struct store *store, const struct kube_event *event);
    size_t (*checks)(struct store *store, struct store_check *out, size_t capacity);
    void (*flush)(struct store *store);
    void (*free)(struct store *store);
    // The rest may be NULL: all objects are there without being asked for, and readable, a lease
    // can't run out, there is always room, nothing to give back, no metrics.
    void (*want)(struct store *store, const struct object_ref_key *key, bool is_wanted);
    bool (*knows)(const struct store *store, const struct object_ref_key *key);
    const char *(*unreadable)(const struct store *store, const struct object_ref_key *key);
    bool (*may_write)(const struct store *store);
    bool (*is_full)(const struct store *store, bool is_urgent);
    void (*leave)(struct store *store, void (*left)(void *context), void *context);
    void (*write_metrics)(const struct store *store, struct buffer *out);
    const char *(*owner_id)(const struct store *store);
    const char *(*owner_fault)(const struct store *store);
};

struct cache;
struct store {
    const struct store_ops *ops;
    struct cache *cache; // owned by the store; read by the engine while it fills a snapshot
    int64_t debounce_ms; // how long nothing must have come before a batch ends
    bool runs_workloads; // what Deployments and their like ask for is run; else they are only kept
};

// What a store has to know of a kind beside its table.
enum { STORE_SELECTORS_MAX = 7 };
struct store_kind {
    const struct kind *kind;
    // Label selectors (base/labels.h), behind the last NULL: only objects that match one of them
    // are objects of the store. None: all are.
    const char *selectors[STORE_SELECTORS_MAX + 1];
    const char *finalizer; // or NULL
    bool is_by_name;       // caches only objects that store_want() names, if the store can choose
    bool is_dispensable;   // counts as synced where it may not be read
    bool is_required;      // a server without the kind is an error; else it may be installed later
};

// Is that object one of the store, by its labels?
bool store_selects(const struct store_kind *type, const struct value *tree);

// Begins list and watch of all kinds that it was opened with.
static inline bool store_start(struct store *store, const struct store_sink *sink,
                               struct error *err)
{
    return store->ops->start(store, sink, err);
}
// The whole object as a tree. Absent: fault RACE, status 404.
static inline void store_get(struct store *store, const struct object_ref_key *key,
                             store_done *done, void *context)
{
    store->ops->get(store, key, done, context);
}
// Guarded by the uid of the seen state: an object deleted and made again answers RACE, status 409.
// After a deletionTimestamp a new finalizer is refused (SPEC, 422).
static inline void store_apply(struct store *store, const struct store_apply *apply,
                               store_done *done, void *context)
{
    store->ops->apply(store, apply, done, context);
}
// Merge patch of the status: top-level fields of `status` replace, JSON null removes, others stay;
// so do conditions of types that are not the kind's own.
// Guarded by resourceVersion: a stale one answers RACE, status 409. `status` may die on return.
static inline void store_patch_status(struct store *store, const struct object *object,
                                      const struct value *status, store_done *done, void *context)
{
    store->ops->patch_status(store, object, status, done, context);
}
// Removes the kind's own finalizer, guarded by resourceVersion. The last finalizer of an object in
// deletion lets it go: a DELETED event follows.
static inline void store_remove_finalizer(struct store *store, const struct object *object,
                                          store_done *done, void *context)
{
    store->ops->remove_finalizer(store, object, done, context);
}
// Creates the object if it is absent; else sets our fields in it, removes those that `tree` has as
// null, and leaves all others. What was not seen is never overwritten or removed: a name that is
// taken, or another state than `seen`, answers RACE, status 409. From an object that we made for a
// controller somebody may have taken labels off, so that it is not seen: these are put back
// (put_labels_back), and nothing else is changed. In a cluster a name that another object has which
// no selector of its kind matches answers SPEC, reason NotOurs, and so does an unread object that
// exists and is not ours; of one that is ours the fields go that an earlier write set and this one
// does not name; it cannot be removed. Removing an object that is gone already is no failure.
// `write` may be freed on return; the reply names no object: where the kind is read, an event
// follows the reply or came before it.
static inline void store_write_object(struct store *store, const struct store_object_write *write,
                                      store_done *done, void *context)
{
    store->ops->write_object(store, write, done, context);
}
// All ledger shards with that label (NULL: with any) whose names begin with `prefix`, as they stand
// now. The texts may be freed on return, as may those of the following.
static inline void store_read_shards(struct store *store, const char *label, const char *prefix,
                                     store_done *done, void *context)
{
    store->ops->read_shards(store, label, prefix, done, context);
}
// A state other than the one that was seen answers RACE, status 404 or 409, and so does a name that
// is taken. When it is unknown whether the write took effect (AGAIN), read it back.
static inline void store_put_shard(struct store *store, const struct store_shard_put *put,
                                   store_done *done, void *context)
{
    store->ops->put_shard(store, put, done, context);
}
// Guarded as above. One that is gone is no failure.
static inline void store_drop_shard(struct store *store, const char *name, const char *version,
                                    store_done *done, void *context)
{
    store->ops->drop_shard(store, name, version, done, context);
}
// An Event about an object. Never fails, never delays; too many are dropped and counted.
static inline void store_publish_event(struct store *store, const struct kube_event *event)
{
    store->ops->publish_event(store, event);
}
// Fills at most `capacity` checks; texts live until the next turn of the loop.
static inline size_t store_checks(struct store *store, struct store_check *out, size_t capacity)
{
    return store->ops->checks(store, out, capacity);
}
// For kinds that are cached by name: begins, or ceases, to watch and cache that object.
static inline void store_want(struct store *store, const struct object_ref_key *key, bool is_wanted)
{
    if (store->ops->want)
        store->ops->want(store, key, is_wanted);
}
// True when its absence from the cache proves that it does not exist, provided that its kind is
// synced.
static inline bool store_knows(const struct store *store, const struct object_ref_key *key)
{
    return !store->ops->knows || store->ops->knows(store, key);
}
// Why an object that was asked for and is not known cannot be read: the right that is missing, for
// users. NULL: it is known, or still under way. Borrowed until the next turn of the loop.
static inline const char *store_unreadable(const struct store *store,
                                           const struct object_ref_key *key)
{
    return store->ops->unreadable ? store->ops->unreadable(store, key) : NULL;
}
// True while the lease holds, by a clock that runs on while the machine sleeps. Asked right before
// each write elsewhere.
static inline bool store_may_write(const struct store *store)
{
    return !store->ops->may_write || store->ops->may_write(store);
}
// True while many writes wait: reconciliations that lead to more should wait for sink.room. Urgent
// writes, statuses of kinds that are written ahead, wait only for each other.
static inline bool store_is_full(const struct store *store, bool is_urgent)
{
    return store->ops->is_full && store->ops->is_full(store, is_urgent);
}
// Releases the lease, so that the next leader need not wait. All exchanges must have ended before.
// `left` is called once, perhaps from within the call.
static inline void store_leave(struct store *store, void (*left)(void *context), void *context)
{
    if (store->ops->leave)
        store->ops->leave(store, left, context);
    else
        left(context);
}
// The owner id, which marks what this installation writes elsewhere (store/owner.h). NULL: not
// known yet; it is always known while we lead.
static inline const char *store_owner_id(const struct store *store)
{
    return store->ops->owner_id ? store->ops->owner_id(store) : NULL;
}
// Why a store that is only read cannot learn the owner id: the missing right, and what to do
// instead. NULL: nothing prevents it. Borrowed from the store.
static inline const char *store_owner_fault(const struct store *store)
{
    return store->ops->owner_fault ? store->ops->owner_fault(store) : NULL;
}
static inline void store_write_metrics(const struct store *store, struct buffer *out)
{
    if (store->ops->write_metrics)
        store->ops->write_metrics(store, out);
}
// Writes at once what is otherwise written with a delay (status files). Called before the end.
static inline void store_flush(struct store *store)
{
    store->ops->flush(store);
}
static inline void store_free(struct store *store)
{
    if (store)
        store->ops->free(store);
}
