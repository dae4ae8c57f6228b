#pragma once

#include "base/list.h"
#include "base/slots.h"
#include "engine/backend.h"
#include "engine/claim.h"
#include "engine/engine.h"
#include "engine/exchange.h"
#include "engine/ledgers.h"
#include "engine/object_states.h"
#include "engine/published.h"
#include "engine/questions.h"
#include "engine/recent_changes.h"
#include "engine/secondaries.h"

#include "base/metric.h"
#include "base/slab.h"
#include "base/table.h"
#include "dns/guard.h"
#include "dns/plan.h"
#include "store/queue.h"

// The engine's own state, shared by the files of this room. Keys and claims are named by ids, which
// index arrays: a key is one object of one controller, a claim is one record set that a key claims
// in a registry. A change request is made by a frontend.

#define NO_ID UINT32_MAX
#define NO_CONTROLLER SIZE_MAX

struct backend;
struct guarded;
struct exchange;
struct write;
struct catalog;

// ---- metrics ------------------------------------------------------------------------------------

// The keys of one controller as metrics count them: a row for each pair of class and reason.
struct key_metrics_row {
    char *class_label; // NULL: the row is free
    char *reason_label;
    uint32_t keys;
    uint32_t retries;
};
struct key_metrics {
    struct key_metrics_row *rows;
    size_t capacity;
    uint32_t used;
    uint32_t idle; // rows without keys, free ones too
    uint32_t hand; // where the search for an idle row goes on
    struct table by_labels;
};

// ---- keys ---------------------------------------------------------------------------------------

// A zone that a key publishes.
struct served {
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    uint32_t key;
    const struct zone *zone; // as the key wants it; NULL: nothing yet
    char *group;             // of servers; NULL: none
    bool is_member;          // it is a member of its group's catalog
    bool is_file_due;
};

// The part of a key that only few keys have.
struct key_extra {
    struct served *served;
    struct owned_objects *owned_objects; // or NULL
    uint64_t report;                     // hash of the last report without a write; 0: none
    char *whole;                         // the object as JSON, for the next reconciliation
    bool was_read;                       // the whole object was asked for, and read or not found
    const struct object *previous;       // see snapshot.previous
    struct backend **backends;           // that this key keeps open
    size_t backend_count;
    struct asking asking;
    unsigned write_failures;     // in a row, of one kind:
    enum fault write_failure;    // this one
    int64_t write_not_before_ms; // mono: the store asked us to slow down
    struct error *refused;      // why the last write-ahead was refused, if waiting does not mend it
    int64_t refused_until_ms;   // mono: when it is tried again
    bool is_refusal_unreported; // the next reconciliation reports it, and writes nothing else
};

struct key {
    const struct object *object; // NULL: the slot is free
    struct key_extra *extra;
    uint32_t first_claim;
    uint16_t key_metrics_row; // of its controller, from 1; 0: counted nowhere
    uint8_t controller;
    bool is_writing : 1; // a store call is under way
    bool is_dirty : 1;   // wants a reconciliation when that ends
    bool is_racing : 1;  // somebody wrote first: the next event gives a reconciliation
    bool is_seen : 1;    // had its first reconciliation
    bool is_gone : 1;    // the object was deleted: forgotten as soon as its decision is empty
    bool
        is_deletion_inferred : 1; // the same, and no watch reported it: a listing lacked the object
    bool is_in_event_batch : 1;   // an event of the batch under way concerns it
};

// ---- joins: which keys look up which string -----------------------------------------------------

// Entries may be stale: a key that does not look a string up any more stays in the list until it is
// gone through again.
struct join_value {
    char *text; // NULL: the slot is free
    uint32_t *keys;
    size_t key_count;
    size_t key_capacity;
    size_t live; // keys that look it up now
    const struct object **objects;
    size_t object_count;
    size_t object_capacity;
};
struct join {
    struct join_value *values;
    struct slots slots;
    size_t value_capacity;
    struct table by_text;
};

// ---- claims and registries ----------------------------------------------------------------------

// All claims on one server, known by its normalised URL. Without claims and names in flight its
// slot is free.
struct registry {
    char *url;
    uint32_t refs;
};

// ---- change requests ----------------------------------------------------------------------------

struct change_request {
    struct link link; // in the queue of its backend
    enum change_op op;
    struct record_set *content; // one allocation
    struct backend *backend;
    change_request_done *done;
    void *context;
    struct exchange *exchange;
    struct loop_timer timer; // its deadline
    bool is_answered;
    bool is_stray;    // removes a record set of ours that no object claims
    bool is_approved; // by a person: the guard does not count it
    char trace[33];
};

// As controller-runtime names them.
enum reconcile_result {
    RECONCILE_SUCCESS,
    RECONCILE_ERROR,
    RECONCILE_REQUEUE_AFTER,
    RECONCILE_RESULTS
};

// A shared model and its controllers.
struct shared_model_state {
    const struct shared_model *shared_model;
    size_t place; // of the first of its controllers
    const void *settings;
    void *state;
    bool is_dirty;
    bool is_stale; // objects have changed since it was made
    struct loop_timer timer;
    struct engine *engine;
    struct histogram settle_seconds;
};

// A value that a decision gave a metric of its controller. A gauge has a sample for each key, a
// counter has one for all keys.
struct sample {
    const struct controller_metric *metric;
    const char *label; // static; or NULL
    int64_t value;
    uint64_t times; // SECONDS
    uint32_t key;   // NO_ID: of all
};
struct samples {
    struct sample *items;
    size_t count;
    size_t capacity;
};

struct controller_state {
    const struct controller *controller;
    struct shared_model_state *shared_model; // or NULL
    bool is_synced;                          // all kinds that it reads
    bool is_due;                             // its keys are about to be queued
    const void *settings;
    size_t opener;      // the controller whose settings open its backends: itself or another
    struct table keys;  // by namespace and name
    struct join *joins; // one per input
    struct join backend_join;
    struct key_metrics key_metrics;
    struct samples samples;
    uint64_t reconciles[RECONCILE_RESULTS];
    uint64_t reconciles_terminal; // failed ones that wait for an edit
    struct histogram reconcile_seconds;
    struct histogram programmed_seconds;
};

// The periodic reconciliation of all keys, spread over the period.
struct resync {
    struct loop_timer timer;
    uint32_t next_key;
    uint32_t step;
    uint32_t steps;
    int64_t step_ms;
};

struct engine {
    struct engine_options options;
    struct loop *loop;
    struct log *log;
    int64_t started_unix_ms; // or since when the clock runs without a leap ahead
    int64_t clock_ahead_ms;  // wall clock minus monotonic clock, when it was last compared
    struct arena *arena;     // of the reconciliation
    struct arena *scratch;   // within one function
    struct controller_state *controllers;
    struct published *published;
    struct secondaries *secondaries;
    struct served **served; // NULL: free
    size_t served_capacity;
    uint32_t served_used;
    struct table served_by_apex;
    const struct zones_config *zones_config; // or NULL
    struct catalog *catalogs;
    size_t catalog_count;
    bool are_catalogs_dirty;
    struct loop_timer catalog_timer;
    int64_t led_since_s;  // Unix
    int64_t led_since_ms; // mono
    struct loop_timer zone_file_timer;
    struct error zone_file_fault; // of the last write, logged once
    bool are_zone_files_untidy;
    struct shared_model_state *shared_models;
    size_t shared_model_count;
    bool *kind_synced;  // per controller kind and input kind, see kinds
    char **kind_unread; // the same: why it can't be read and counts as synced all the same; or NULL
    bool *kind_missing; // the same: the server does not have it
    const struct kind **kinds;
    size_t kind_count;
    bool is_leading;
    bool is_started;
    bool is_stopping;
    bool is_first_pass_due;
    bool is_first_pass_done;

    uint32_t submitting; // the key whose claims are being submitted, or NO_ID
    bool has_woken_itself;
    struct key *keys;
    size_t key_capacity;
    struct slots key_slots;
    struct queue *queue;
    struct resync resync;
    struct histogram queue_seconds;
    struct histogram work_seconds;
    uint64_t write_retries;
    struct loop_timer timer;
    bool is_slice_scheduled; // a slice is scheduled

    struct claim *claims;
    size_t claim_capacity;
    struct slots claim_slots;
    struct slab *claim_slab; // names, pendings and contents
    struct table by_name;    // first claim of each (registry, name)
    struct registry *registries;
    size_t registry_count;
    size_t registry_capacity;
    struct queue *back_offs; // claims whose back-off ends
    struct loop_timer back_off_timer;
    struct queue *crowded; // first claims of names that are planned later
    struct loop_timer crowded_timer;

    struct questions *questions;
    struct backend *backends;
    struct backend **backends_by_number; // NULL: free
    size_t backend_count;
    size_t backend_capacity;
    struct table busy_names; // names in flight: ids of `busy`
    struct busy_name *busy;
    size_t busy_capacity;
    struct slots busy_slots;

    bool is_event_batch_open;
    int64_t event_batch_since_ms;        // mono: when it was opened
    struct loop_timer event_batch_timer; // it is late
    uint32_t *event_batch;               // keys of the event batch under way
    size_t event_batch_count;
    size_t event_batch_capacity;

    LIST_OF(struct write) writes; // store calls under way
    struct ledger_calls ledger_calls;
    LIST_OF(struct object_write) object_writes;
    LIST_OF(struct frontend_write) frontend_writes;
    // The number of the backend for whose removals an approval object is written; 0: none.
    uint16_t approval_backend;
    bool is_approval_renewed; // that write removes the previous object
    struct loop_timer approval_timer;
    size_t writes_in_flight;
    size_t exchange_count_all;
    void (*stopped)(void *context);
    void *stopped_context;
    struct loop_timer stop_timer;
    struct loop_timer leave_timer;

    struct dry_run *dry_run;               // NULL: none
    struct object_states *object_states;   // NULL: not kept, as are
    struct recent_changes *recent_changes; // those

    unsigned reconciles_since_release; // of memory
    struct loop_timer release_timer;
};

struct busy_name {
    uint16_t registry;
    char *name;
};

// engine.c
// Takes over the object that our own write returned; the store sends no event for it.
void engine_file_written(struct engine *engine, const struct object *old,
                         const struct object *new_);
// The key is reconciled when the batch of events under way is over, or takes too long.
void event_batch_add(struct engine *engine, uint32_t id);
// True while a batch is under way that does not take too long.
bool event_batch_is_awaited(const struct engine *engine);
// Queues the keys of a batch that takes too long.
void event_batch_give_up(struct engine *engine);
// True if we lead by a lease that has not run out. Must be asked before anything is sent elsewhere.
bool engine_may_write(const struct engine *engine);
// Calls what engine_stop() was given, if nothing is left to wait for.
void engine_maybe_stopped(struct engine *engine);
// Calls engine_options.rested, if nothing is due.
void engine_maybe_rested(struct engine *engine);

// keys.c
// TABLE_NONE: there is no such key.
uint32_t key_find(struct engine *engine, size_t controller, struct text namespace_,
                  struct text name);
uint32_t key_make(struct engine *engine, size_t controller, const struct object *object);
// Takes a reference of its own.
void key_set_object(struct engine *engine, uint32_t id, const struct object *object);
// Frees its slot. It has no claims, backends or questions any more.
void key_forget(struct engine *engine, uint32_t id);
struct key_extra *key_extra(struct key *key); // makes it, unless the key has one
void key_forget_refusal(struct key *key);     // snapshots do not show it any more
// What a reconciliation sees of the object: NULL when it is gone, unless its finalizer was lost.
const struct object *key_subject(const struct key *key);
// The level at which a key is queued: a higher one for keys of an urgent controller.
enum queue_level key_level(const struct engine *engine, uint32_t id, enum queue_level level);
// Queues the key; while a store call of it is under way, it is queued when that ends. While its own
// claims are submitted it is not queued: decide() looks again.
void key_wake(struct engine *engine, uint32_t id, enum queue_level level);
const char *engine_owner_id(const struct engine *engine); // NULL: not known yet
void keys_wake_all(struct engine *engine, size_t controller);
// Wakes the key at that time (mono).
void key_after(struct engine *engine, uint32_t id, int64_t at_ms);
void keys_free(struct engine *engine);

// owned_objects.c
// Writes those objects of the decision that are not written yet, several at a time. False: nothing
// was sent.
bool owned_objects_write(struct engine *engine, uint32_t id, const struct decision *decision);
void owned_objects_forget(struct owned_objects *owned_objects); // accepts NULL
void owned_objects_free(struct engine *engine);                 // ends the writes under way

// frontend_objects.c
void frontend_writes_send(struct engine *engine); // those that waited for room
// An event has shown the object: answers the writes that waited for it.
void frontend_writes_show(struct engine *engine, const struct object *object);
void frontend_writes_free(struct engine *engine); // nobody is answered any more

// publish.c
void publish_new(struct engine *engine);
void publish_free(struct engine *engine);
// Standbys do so, too: their zones are warm when they lead.
void publish_decision(struct engine *engine, uint32_t key, const struct publication *publication);
void publish_fill_snapshot(struct engine *engine, uint32_t key, struct snapshot *snapshot);
// Its key is going away.
void publish_forget(struct engine *engine, uint32_t key);
// Gives a shared model that was made anew what is served and what servers answered.
void publish_to_shared_model(struct engine *engine, uint32_t key);

const struct served *publish_find(const struct engine *engine, struct dname apex); // or NULL
// A catalog has that name from now on: a zone of the same name is not served.
void publish_give_way(struct engine *engine, struct dname apex);
void publish_write_metrics(const struct engine *engine, struct buffer *out);

// zone_files.c
void zone_files_new(struct engine *engine);
void zone_files_free(struct engine *engine);
// Writes the file of a zone of which a version is served.
void zone_files_want(struct engine *engine, struct served *served);
// Removes the files of zones that are gone, soon, when the first pass has shown which zones there
// are.
void zone_files_tidy(struct engine *engine);

// catalogs.c
void catalogs_new(struct engine *engine);
// The groups of the configuration have changed.
void catalogs_set(struct engine *engine);
void catalogs_free(struct engine *engine);
// A zone ceases to be a member of its group's catalog. `was_seen`: an event said that its Zone was
// deleted; otherwise the catalog's guard may keep the member.
void catalogs_lose(struct engine *engine, const struct served *served, bool was_seen);
// A Zone was deleted: its catalog forgets the member that the guard kept.
void catalogs_forget(struct engine *engine, const struct object *zone);
// Publishes what has changed, once all zones are known.
void catalogs_update(struct engine *engine);
bool catalogs_have(const struct engine *engine, struct dname apex); // one of that name
void catalogs_write_metrics(const struct engine *engine, struct buffer *out);

// shared_model.c
size_t shared_model_kind_count(const struct shared_model *shared_model); // NULL: 0
void shared_models_new(struct engine *engine);
void shared_models_free(struct engine *engine);
void shared_model_event(struct engine *engine, const struct object *object, bool is_gone);
// Settles the shared models that are dirty and whose kinds are all synced.
void shared_models_settle(struct engine *engine);
bool shared_models_are_settled(const struct engine *engine);
// Makes the shared model anew from all objects, because its settings changed.
void shared_model_renew(struct engine *engine, struct shared_model_state *state);
void shared_models_write_metrics(const struct engine *engine, struct buffer *out);
bool shared_model_is_synced(const struct engine *engine, const struct shared_model *shared_model);
// NULL: the controller has none.
void *shared_model_of(const struct engine *engine, uint32_t key);

// input.c
void join_done(struct join *join);
void input_index_key(struct engine *engine, uint32_t id, const struct object *old,
                     const struct object *new_);
void input_index_object(struct engine *engine, const struct object *old, const struct object *new_);
// Wakes every key whose inputs select the object in its old or new state. `is_ours_alone`: the two
// differ only in what we wrote ourselves.
void input_wake(struct engine *engine, const struct object *old, const struct object *new_,
                bool is_ours_alone);
void input_wake_identity(struct engine *engine, const struct object_ref_key *key);
// Wakes the keys whose snapshots show the backend.
void input_wake_backend(const struct backend *backend);
// Wakes the keys whose backend inputs name the backend.
void input_wake_watchers(const struct backend *backend);
// Only those that ask people (ask_approval).
void input_wake_askers(const struct backend *backend);
// Fills in what the snapshot's subject reads as a key of controller number `at`.
void input_fill(struct engine *engine, size_t at, struct snapshot *snapshot);
// Why a kind that counts as synced may not be read, or NULL.
const char *input_why_unread(const struct engine *engine, const struct kind *kind);
// Does the server have that kind?
bool input_is_installed(const struct engine *engine, const struct kind *kind);
bool input_is_synced(const struct engine *engine, const struct controller *controller);
// True if the store has read each object that the subject looks up by identity, or has a reason why
// it can't.
bool input_is_resolved(struct engine *engine, const struct controller_state *state,
                       const struct object *subject);
// True if the store has read each object that the subject looks up by identity.
bool input_is_known(struct engine *engine, const struct controller_state *state,
                    const struct object *subject);

// configured_backends.c: backends that stand in settings.
void backends_open(struct engine *engine);
// True if all kinds that the controllers read that open or reuse the backend are synced.
bool backend_openers_are_synced(const struct backend *backend);
// True if those controllers may read all of those kinds.
bool backend_openers_may_read(const struct backend *backend);

// guarded_removals.c: record sets of ours at a backend that no object claims (strays) are removed,
// unless they are too many at once; then a person has to approve that. True: all strays of a whole
// listing, in any order, may be removed. False: they are held back.
bool engine_guard_judge(struct backend *backend, const struct record_set *strays, size_t count);
// Holds them back in any case.
void engine_guard_keep(struct backend *backend, const struct record_set *sets, size_t count);
bool guarded_is_approved(const struct guarded *guarded); // NULL: false
size_t guarded_count(const struct guarded *guarded);     // that are held back
void guarded_free(struct guarded *guarded);              // NULL is fine
// Is a record set of that name and type among them?
bool guarded_has(const struct guarded *guarded, enum record_type type, struct text domain,
                 struct text subdomain);
// An exchange has removed so many strays: the guard's count is stored with the ledger.
void engine_guard_count(struct backend *backend, size_t count);
void engine_guard_forget(struct backend *backend); // it has another server now
void engine_guard_approve(struct engine *engine, const struct approval *approval); // NULL is fine
// For /readyz: the removals that are held back, as advice, since everything else goes on. Texts
// live until the next reconciliation.
size_t engine_guard_checks(const struct engine *engine, struct store_check *out, size_t capacity);
// Writes the objects by which people can approve removals.
void engine_guard_ask_approval(struct engine *engine);
// Is there a controller that asks people, and is what they let go to be sent at all?
bool engine_guard_can_ask(const struct engine *engine);

// guarded_claims.c: removals that keys claim though nobody asked for them (claim_want.is_guarded).
// Claims of the backend that the guard may hold back may have come or gone. NULL is fine.
void engine_guard_mark(struct backend *backend);
// Such a removal has ended. NULL is fine.
void engine_guard_note_removal(struct backend *backend);
// Lets those go that are not too many, once all keys have decided for the first time.
void engine_guard_judge_claims(struct engine *engine);
// A person has approved what is guarded: lets those claims go.
void engine_guard_let_approved_go(struct backend *backend);

// listing.c: compares what stands at a backend with what is claimed there.
struct listing *listing_new(struct engine *engine);
void listing_free(struct listing *listing); // NULL is fine
void listing_add_existing(void *exchange, const struct existing_set *existing);
// The listing is complete: reports it to the claims, and lets strays be removed.
void listing_end(struct exchange *exchange);

// dry.c
struct dry_run *dry_run_new(void);
void dry_run_free(struct dry_run *run); // NULL is fine
// For a claim that was just made: its change is shown against what is known to stand there, not
// against what the dry run took as sent.
void dry_run_claim(struct dry_run *run, uint32_t claim, bool may_stand);
void dry_run_add(struct dry_run *run, const struct engine_change *change);
// An object of the decision of the key, which is being written.
void dry_run_write(struct engine *engine, uint32_t key, const struct object_want *want);
// Has it made an object for that key? A claim that then says that its record set may stand at the
// backend says so of what a dry run has not sent.
bool dry_run_has_made(const struct dry_run *run, uint32_t key);
// Remembers the obstacle and the zone of the key's last decision.
void dry_run_remember(struct dry_run *run, uint32_t key, const struct decision *decision);
// The change of a claim; `set` is borrowed.
struct engine_change engine_change_of(const struct engine *engine, uint32_t claim,
                                      enum change_op op, const struct record_set *set);

// content.c
// A copy of the set with all its texts in one allocation; free() it.
struct record_set *content_new_set(const struct record_set *set);

// The content of a record set whose name is known, packed, as there may be a hundred thousand.
struct content;
struct content *content_new(struct slab *slab, const struct record_set *set);
void content_free(struct content *content); // NULL is fine
struct record_set *content_make_set(struct arena *arena, const struct content *content,
                                    struct text domain, struct text subdomain);

// report.c
// Events and log lines of a decision, copied until its write has succeeded.
struct report {
    size_t event_count;
    size_t line_count;
    struct decision_event *events;
    struct decision_line *lines;
    size_t count_count;
    struct decision_sample *counts; // of metrics that add up
    int64_t programmed_ms;
};
struct report *report_new(const struct decision *decision); // NULL when there is nothing
void report_free(struct report *report);
DEFINE_CLEANUP(report, report_free)
void report_send(struct engine *engine, uint32_t key, const struct report *report,
                 const struct object *object);

// change_log.c: log lines of changes, with the messages of the controller whose claims they are.
// `object` NULL: it is not known. `failures` counts those of one exchange: only the first ones are
// logged one by one. `claim` is not told yet what came of it; NULL: nobody claims it.
void change_log_change(const struct backend *backend, const struct controller *controller,
                       const struct object *object, const struct change *change,
                       const struct claim *claim, size_t *failures);
// What the object wants has arrived at all servers.
void change_log_arrival(const struct engine *engine, const struct object *object, int64_t took_ms);
// Logs how many more failed.
void change_log_failures(const struct backend *backend, size_t failures);
void change_log_progress(const struct backend *backend, const struct job *job);
void change_log_guarded(const struct backend *backend);
void change_log_approved(const struct backend *backend);
// Logs that so many strays stay, because objects that may claim them can't be read.
void change_log_unread(const struct backend *backend, size_t count);
void change_log_stall(const struct backend *backend, const struct error *error);
// Logs why nothing can be done at the backend. `is_changed`: for another reason than before; then
// an Event says so, too.
void change_log_unavailable(const struct backend *backend, const struct error *error,
                            unsigned count, bool is_changed);

// resync.c
void resync_start(struct engine *engine);
void resync_stop(struct engine *engine);

// key_metrics.c
void key_metrics_count(struct engine *engine, uint32_t key, const struct decision *decision);
void key_metrics_forget(struct engine *engine, uint32_t key); // it is counted nowhere any more
void key_metrics_retry(struct engine *engine, uint32_t key);
void key_metrics_done(struct key_metrics *key_metrics);

// samples.c
// The gauges of this decision replace those of the key's last one.
void samples_replace(struct engine *engine, uint32_t key, const struct decision *decision);
void samples_forget(struct engine *engine, uint32_t key); // its gauges count nowhere any more
void samples_count(struct engine *engine, uint32_t key, const struct decision_sample *count);
void samples_write(const struct samples *samples, const struct controller_metric *metric,
                   struct buffer *out);
void samples_done(struct samples *samples);

// change_request.c
void change_request_write_name(const struct change_request *change_request, char *out, size_t size);
void change_request_answer(struct change_request *change_request,
                           const struct outcome *outcome); // frees it
void change_request_free(struct change_request *change_request);
void change_request_unlink(struct change_request *change_request); // from its backend's queue
// Removes a stray.
void change_request_add_stray(struct backend *backend, const struct record_set *set,
                              bool is_approved);
void change_requests_drop_strays(struct backend *backend);
// True if an object claims the stray by now.
bool change_request_is_void(const struct change_request *change_request);

// reconcile.c
// A slice of work is done soon, from the loop. May be called at any time.
void engine_schedule(struct engine *engine);
// True if all events of the store have been decided and their claims made.
bool engine_is_decided(const struct engine *engine);
// Reconciles the key now, or does nothing if that must wait: for a kind to be read, an object that
// it looks up, or a delayed plan of its claims. Each of these wakes the key. No write of the key
// may be under way.
void reconcile_key(struct engine *engine, uint32_t key);
// Draws a new trace id: 32 hex digits.
void engine_draw_trace(struct engine *engine, char out[33]);
// Gives memory back to the system.
void engine_release_memory(void *engine);
void engine_release_memory_soon(struct engine *engine); // after an exchange that took much
