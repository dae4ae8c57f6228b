#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "dns/dname.h"
#include "engine/controller.h"
#include "io/world.h"
#include "providers/provider.h"
#include "store/store.h"

// The engine moves all data: an event of the store wakes keys; a key gets a reconciliation; its
// decision makes claims; claims become exchanges with backends; their outcomes become receipts, and
// those a status. There is one engine in a process, and everything runs on one loop.

struct engine;

// One change at a backend, as it is sent.
enum engine_act { ENGINE_CREATE, ENGINE_UPDATE, ENGINE_DELETE };
struct engine_change {
    enum engine_act act;          // judged by what is known to stand there
    const char *backend;          // "class-home"
    const char *server;           // normalised URL of the backend
    const struct record_set *set; // DELETE: type, domain and subdomain count
    const struct object *object;  // whose claim it is; NULL: it is ours, and no object claims it
    const char *replaces;         // what it overwrites that is not ours, for people; or NULL
};

struct engine_options {
    const struct world *world;
    struct log *log;     // may be NULL
    struct store *store; // NULL: frontends only (signpost provider). Not owned
    const struct controller *const *controllers;
    const void *const *settings; // one per controller, may hold NULL
    size_t controller_count;
    const struct provider *const *providers;
    size_t provider_count;
    int64_t
        sync_period_ms; // every key has a reconciliation that often, +-10 %; 0: never by time alone
    bool renews_models; // make shared models anew before each use (tests)
    struct recorder *recorder; // engine/recorder.h; NULL: nothing is recorded. Not owned
    size_t crowd; // a name with more claims is planned with a delay, once for many; 0: 64
    const char *zone_file_dir; // zones are written there as files, too; NULL: they are not
    bool keeps_states;         // for frontends that show them (engine/inspection.h)
    // A dry run: the same reconciliations and claims, but exchanges count as done and never begin,
    // and questions are not asked; engine_plan() reports what would have been sent. The store is
    // one that writes nothing (store/dry.h).
    bool is_dry;
    // Called when this replica begins or ceases to lead, for others that write only then. May be
    // NULL, as may the following.
    void (*leading)(void *context, bool is_leading);
    // May this change be sent? One that may not waits. For the others, back-off from before this
    // process does not count.
    bool (*may_send)(void *context, const struct engine_change *change);
    // What came of a change that was sent.
    void (*ended)(void *context, const struct engine_change *change, const struct outcome *outcome);
    // Called when every key has been decided once and nothing is due, in flight or being written:
    // what is left waits for time to pass, for people, or for a backend that can't be worked with.
    // Called at the end of each slice of work that leaves it so.
    void (*rested)(void *context);
    void *context;
};
struct engine *engine_new(const struct engine_options *options);
// Ends every exchange; nothing is written any more. The store goes next, before the loop turns
// again.
void engine_free(struct engine *engine);
// Starts the store; reconciliations begin when it is synced and (for writes and exchanges) leading.
bool engine_start(struct engine *engine, struct error *err);
// No exchange begins any more, but for the last ones of sessions; those in flight finish, and
// reconciliations go on. `stopped` is called when the last receipt has become status, or after
// deadline_ms.
void engine_stop(struct engine *engine, int64_t deadline_ms, void (*stopped)(void *context),
                 void *context);
// Appends what a stop at the deadline cuts off ("class-home: 2 exchanges, 1 write to the store"),
// or nothing.
void engine_write_cut(const struct engine *engine, struct buffer *out);
bool engine_is_synced(const struct engine *engine); // all kinds, first pass decided
bool engine_is_leading(const struct engine *engine);

// ---- zones that are served ----------------------------------------------------------------------

// For the frontend that serves them.
struct published;
struct published *engine_published(struct engine *engine);
// The zones' configuration has changed: takes over its servers, and makes shared models anew.
struct zones_config;
void engine_set_zones(struct engine *engine, const struct zones_config *config);

// ---- backends that stand in settings ------------------------------------------------------------

// The settings of the controller of that name have changed: opens, changes and releases its
// backends accordingly, and wakes its keys.
void engine_set_backends(struct engine *engine, const char *controller);

// ---- backends and change requests of frontends --------------------------------------------------

// Opens or changes a backend that no controller owns. False: its settings are refused.
bool engine_open_backend(struct engine *engine, const struct backend_want *want, struct error *err);
// NULL: there is none of that name. Borrowed until the next turn of the loop.
const struct backend_view *engine_backend(const struct engine *engine, const char *name);

// A change request is one change that no object claims: those of one name are carried out in order
// of arrival, then forgotten; what they wrote stays. `done` is called once, never from within this
// call. The change is copied. deadline_ms is how long the frontend waits.
struct change_request_result {
    const struct outcome
        *outcome; // borrowed; error has fault AGAIN, reason Timeout past the deadline
};
typedef void change_request_done(void *context, const struct change_request_result *result);
void engine_change_request(struct engine *engine, const char *backend, const struct change *change,
                           const char *trace, int64_t deadline_ms, change_request_done *done,
                           void *context);
// Asks for the health of a backend, now.
void engine_ask(struct engine *engine, const char *backend, const char *trace,
                change_request_done *done, void *context);

// ---- objects that frontends read and write ------------------------------------------------------

// As the cache has it, of a kind that a controller here reads; NULL: there is none, or it is not
// read yet (engine_is_synced). Borrowed until the next turn of the loop.
const struct object *engine_find_object(const struct engine *engine,
                                        const struct object_ref_key *key);
// Calls back for each object of a kind, in no order.
void engine_each_object(const struct engine *engine, const struct kind *kind,
                        void (*call)(void *context, const struct object *object), void *context);
// The whole object as a tree, its status in it, as store_get() answers.
void engine_get_object(struct engine *engine, const struct object_ref_key *key, store_done *done,
                       void *context);

// The status that a reconciliation would give an object now, with all that its controller lists
// beyond what an object can hold (snapshot.shows_all). Writes, claims and asks nothing. NULL: no
// controller here has the object, or it has no status to give yet. Borrowed until the next turn of
// the loop. Must not be called from within a reconciliation.
const struct value *engine_decide_status(struct engine *engine, const struct object_ref_key *key);

// One object that a frontend creates, changes or removes, of its own accord: no key of a controller
// wants it, and nothing keeps it as it is. It is copied.
struct engine_object_write {
    struct object_ref_key key;
    const struct value *tree;  // as store_object_write has it; NULL: the object goes
    const struct object *seen; // the state that is changed or removed; NULL: it is created
    bool is_dry_run;           // nothing is stored: would the store take it? (store_object_write)
    bool is_unread;            // nobody here reads objects of that kind
    const struct value *kept;  // of an unread one: names of `data` that stay as they are, or NULL
    int64_t deadline_ms;       // how long the frontend waits
};
struct engine_write_result {
    bool is_ok;
    struct error error;          // fault RACE, status 409: another state than the one that was seen
    const struct object *object; // as the cache shows it then; NULL: gone, or not read. Borrowed
};
typedef void engine_write_done(void *context, const struct engine_write_result *result);
// `done` is called once, never from within this call: when the store has it and
// engine_find_object() shows it, when the store refuses, or past the deadline with fault AGAIN,
// reason Timeout; then it may still take effect, unless the store had no room for it before. Any
// replica may write; writes of one object are carried out one by one, in the order of arrival.
void engine_write_object(struct engine *engine, const struct engine_object_write *wanted,
                         engine_write_done *done, void *context);

// ---- what an object would come to ---------------------------------------------------------------

// Adds to `findings` what the conditions of an object would say that somebody is about to write
// (complete with metadata, its shape checked): what its controller finds in the object itself, as
// errors and warnings, and, at `level`, what depends on other objects, such as a class that is
// missing or a name that another holds. Reads snapshots and claim registries, changes nothing and
// sends nothing. Adds nothing for a kind that no controller here has, and nothing about other
// objects before all kinds are synced. Must not be called from within a reconciliation.
void engine_admit(struct engine *engine, const struct kind *kind, const struct value *tree,
                  enum finding_level level, struct findings *findings);

// ---- what would be done -------------------------------------------------------------------------

// An object that is not Ready, and would not be after all changes either.
struct engine_obstacle {
    const struct object *object;
    const char *reason; // of its condition Ready, or of the obstacle that its decision names
    const char *message;
};
// A backend where changes would wait, or cannot be known, as it is not read.
struct engine_degraded_backend {
    const char *backend;
    const char *server;
    const struct error *error; // NULL: it has not answered yet
    bool is_unread;            // what would be changed there is not, or not all, known
};
// An object that would be made, changed or removed in the store.
struct engine_object_change {
    const struct object *owner;  // of whose decision it is; NULL: that is gone
    const struct object *before; // NULL: it is made
    const struct object *after;  // what is ours of it; NULL: it is removed
};
// What the calls get is borrowed until they return.
struct engine_plan_calls {
    void (*change)(void *context, const struct engine_change *change);
    void (*object)(void *context, const struct engine_object_change *change); // may be NULL
    void (*obstacle)(void *context, const struct engine_obstacle *obstacle);
    void (*degraded)(void *context, const struct engine_degraded_backend *backend); // may be NULL
    void *context;
};
// Reports every change of a dry run that rests, or whose time is over, in the order in which they
// would be sent; a change that waits for another one comes after it. Then the writes of objects, in
// their order; one object may be written more than once.
void engine_plan(const struct engine *engine, const struct engine_plan_calls *calls);
// A zone that would be served. Borrowed until the call returns.
struct engine_zone {
    const struct object *object;
    struct dname apex;
    const char *group;       // of servers; NULL: none
    const struct zone *zone; // NULL: what was served last stays
};
// Reports each zone of a dry run that rests, in no order.
void engine_plan_zones(const struct engine *engine,
                       void (*zone)(void *context, const struct engine_zone *zone), void *context);

// ---- looking in ---------------------------------------------------------------------------------

// Prometheus text 0.0.4 of all engine metrics, appended.
void engine_write_metrics(struct engine *engine, struct buffer *out);
// Alerts about what each process has metrics of, whichever controllers run.
enum { ENGINE_ALERTS = 5 };
extern const struct controller_alert engine_alerts[ENGINE_ALERTS];
size_t engine_checks(struct engine *engine, struct store_check *out, size_t capacity);
