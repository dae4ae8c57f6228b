#pragma once

#include "engine/claim.h"
#include "engine/engine.h"
#include "engine/followers.h"
#include "engine/ledgers.h"
#include "engine/published.h"

#include "base/metric.h"
#include "base/slab.h"
#include "base/table.h"
#include "dns/guard.h"
#include "dns/plan.h"
#include "store/queue.h"

// The engine's own state, shared by the files of this room. Ids index slabs: a key is one object of
// one controller, a claim is one record set that a key claims in a book, a wish is a door's.

#define NO_ID UINT32_MAX
#define NO_CONTROLLER SIZE_MAX

struct lane;
struct flight;
struct write;
struct catalog;

// ---- metrics ------------------------------------------------------------------------------------

// Answers by HTTP status class; [0] none came.
struct counts {
    uint64_t by_class[6];
};

// How metrics count the keys of one controller: a row for each class and reason that was seen.
struct tally_row {
    char *class_label; // NULL: the row is free
    char *reason_label;
    uint32_t keys;
    uint32_t retries;
};
struct tally {
    struct tally_row *rows;
    size_t capacity;
    uint32_t used;
    uint32_t idle; // rows without keys, free ones too
    uint32_t hand; // where the search for an idle row goes on
    struct table by_labels;
};

// ---- keys ---------------------------------------------------------------------------------------

// A zone that a key has served.
struct served {
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    uint32_t key;
    const struct zone *zone; // as the key wants it; NULL: nothing yet
    char *group;             // of servers; NULL: none
    bool is_member;          // its servers shall have it: a catalog lists it
    bool is_file_due;
};

// What only few keys have.
struct key_extra {
    struct served *served;
    struct children *children;     // or NULL
    uint64_t told;                 // notes and lines without a write, the last; 0: none
    struct content_id made;        // object that was made last, of this state; {0}: none
    char *whole;                   // the object as JSON, for the next turn
    bool was_read;                 // it was asked for
    const struct object *previous; // when its claims were settled last, if it differs now
    struct lane *lane;             // that this key keeps open
    unsigned write_failures;       // in a row, of one kind:
    enum fault write_failure;      // this one
    int64_t write_not_before_ms;   // mono: the store told us to slow down
    struct error *refused;         // the last write-ahead, for a reason that waiting does not mend
    int64_t refused_until_ms;      // mono: it is tried again then
    bool is_refusal_untold;        // the next turn tells it, and tries nothing else
};

struct key {
    const struct object *object; // NULL: the slot is free
    struct key_extra *extra;
    uint32_t first_claim;
    uint16_t tally_row; // of its controller, from 1; 0: counted nowhere
    uint8_t controller;
    bool is_writing : 1; // a store call is under way
    bool is_dirty : 1;   // wants a turn when that ends
    bool is_racing : 1;  // somebody wrote first: the next event gives a turn
    bool is_seen : 1;    // had its first turn
    bool is_gone : 1;    // the object was deleted: forgotten as soon as its verdict is empty
    bool is_missed : 1;  // and nobody saw that
    bool is_told : 1;    // an event concerns it: its turn waits for the end of the batch
};

// ---- joins: who wants which string --------------------------------------------------------------

// Entries are hints: a key that ceased to want stays until the list is looked through again.
struct join_value {
    char *text;
    uint32_t *keys;
    size_t key_count;
    size_t key_capacity;
    size_t live; // keys that want it now
    const struct object **offers;
    size_t offer_count;
    size_t offer_capacity;
    uint32_t next_free; // text NULL: the slot is free; number + 1 of the next, 0: none
};
struct join {
    struct join_value *values;
    uint32_t first_free; // number + 1
    size_t value_count;
    size_t value_capacity;
    struct table by_text;
};

// ---- claims and books ---------------------------------------------------------------------------

// The last failure, in one allocation.
struct failure {
    enum fault fault;
    int status;
    int64_t at_ms;
    const char *reason;
    const char *code;
    const char *text;
    char trace[33];
    char octets[];
};

// The part of a claim that exists only while something is to be done for it, or while the content
// that it wants differs from what stands at the backend.
struct pending {
    struct content *content;                 // SET: what shall stand there; LOOK: what was found
    uint8_t wanted_hash[FINGERPRINT_OCTETS]; // of a SET that wants something else than stands there
    char *replaces; // SET: what stands there and is not ours, for people; or NULL
    struct failure *failure;
    int64_t next_unix_ms;
    int64_t since_ms;  // mono: when it became due first
    int64_t let_go_ms; // Unix ms: since when nothing here holds it back; 0: it is held
    struct flight *flight;
    unsigned attempts;
    uint32_t next_due; // lane's line
    uint32_t previous_due;
    bool is_resting; // nothing is to be done: only wanted_hash counts
    bool is_due;     // stands in the lane's line
    bool may_adopt;
    bool is_shown; // LOOK: a dry run asks, too
    bool is_background;
};

// A backend by its normalised URL. Without claims and names in flight its slot is free.
struct book {
    char *url;
    uint32_t refs;
};

// OPEN: a change was sent, and nobody knows whether it was made.
enum claim_there { THERE_UNKNOWN, THERE_NOTHING, THERE_SET, THERE_OPEN };

// Packed: there is one for each record.
struct claim {
    char *name; // owner name: subdomain (with its length below) and domain; NULL: the slot is free
    struct pending *pending;
    uint32_t key;
    uint32_t next_of_key;
    uint32_t next_of_name;
    union {
        uint32_t previous_of_name;
        uint32_t count_of_name; // of the first: how many there are
    };
    uint32_t settled_s; // SETTLED: Unix seconds
    uint32_t loser_to;  // LOST, or shared: the claim that holds the name
    uint32_t epoch;
    uint16_t book;
    uint16_t lane; // number, see claim_lane()
    enum record_type type : 4;
    enum claim_intent intent : 2;
    enum claim_there there : 2;
    enum receipt_state state : 3;
    bool is_first : 1; // of its name: the table leads to it
    bool is_held : 1;
    bool is_forgotten : 1; // by its key, but in flight, or others wait to hear of it
    bool is_undecided : 1; // its name is to be planned with it: its key hears of it then
    bool was_looked : 1;   // LOOK: answered
    bool was_created : 1;
    bool was_sent : 1;
    bool is_inherited : 1;
    bool is_uncertain : 1;
    bool has_wanted : 1;   // the provider told what the wanted content looks like there
    bool wants_there : 1;  // has_wanted: as there_hash is; else its pending tells
    bool is_foreign : 1;   // SET: what stands there was made by somebody else
    bool is_evicted : 1;   // LOST, and what stands there must go first
    bool is_recalled : 1;  // attempts of before this process were taken over
    bool is_doubted : 1;   // what the status remembers may have gone with another's removal
    uint8_t subdomain_len; // 0: "@"
    uint8_t there_hash[FINGERPRINT_OCTETS];
};
_Static_assert(sizeof(struct claim) <= 72, "a claim grew");

// ---- wishes -------------------------------------------------------------------------------------

struct wish {
    enum change_op op;
    struct record_set *content; // one allocation
    struct lane *lane;
    struct wish *next;
    wish_done *done;
    void *context;
    struct flight *flight;
    struct loop_timer timer; // its deadline
    bool is_answered;
    bool is_stray;    // of what stands there as ours and nobody claims
    bool is_approved; // by a person: the guard does not count it
    char trace[33];
};

// ---- lanes --------------------------------------------------------------------------------------

struct line_of_claims {
    uint32_t first;
    uint32_t last;
};

// Changes that are due and wait for more to come, by what they mean to a backend that gathers.
enum gathering_class { GATHER_ADDRESSES, GATHER_OTHERS, GATHER_CLASSES };
struct gathering {
    size_t count;
    int64_t first_ms; // mono
    int64_t last_ms;
};

// A provider's place at a backend, kept until the last talk that began with it ends.
struct seat {
    const struct provider *provider;
    void *at;
    unsigned refs;
    bool is_elsewhere; // the lane has moved to another backend since
};

// BATCH: changes of more than one sort in one talk; they are counted one by one all the same.
enum lane_operation {
    OPERATION_UPSERT,
    OPERATION_DELETE,
    OPERATION_GET,
    OPERATION_HEALTH,
    OPERATION_BATCH,
    LANE_OPERATIONS,
};

struct lane {
    struct engine *engine;
    struct lane *next;
    uint16_t number;       // from 1
    bool is_released;      // its owner is gone: it goes with the last that needs it
    uint32_t claim_count;  // that go through it
    struct lane_view view; // as told to others; strings below
    char *name;
    char *book;
    const struct provider *provider;
    struct seat *seat;
    char *config;     // JSON, to see a change
    bool has_refused; // the provider refused this config
    struct secret *secret;
    struct secret *previous_secret;
    int64_t previous_until_ms;
    unsigned max_in_flight;
    int64_t retry_base_ms;
    int64_t retry_max_ms;
    unsigned retry_attempts;
    int64_t retry_slow_ms;
    int64_t linger_ms;
    int64_t learn_ms;
    int64_t opened_ms;
    bool was_well;                 // before this process
    bool is_learning;              // waits for the first health answer
    struct loop_timer learn_timer; // what was waiting for that answer does without
    uint32_t owner;
    // the line
    struct line_of_claims due[2]; // user, background
    size_t due_count;
    struct wish *first_wish;
    struct wish *last_wish;
    size_t wish_count;
    size_t in_flight; // jobs
    size_t reading;   // health jobs
    int64_t idle_since_ms;
    int64_t collect_until_ms; // 0: not collecting
    struct gathering gathering[GATHER_CLASSES];
    // of a provider that has one talk at a time
    size_t controller;    // whose settings name the lane; NO_CONTROLLER: none
    bool is_question_due; // asked as soon as nothing is in flight
    bool is_fresh;        // no change was sent since
    bool wants_owner;     // its seat waits for the owner id
    struct seat *leaving; // the seat before, that has its last talk to hold
    bool has_left;
    bool is_stale;                // not named any more by the settings at hand
    struct ledger_keeper *ledger; // or NULL
    bool is_ledger_troubled;      // it can be neither read nor written, and that was told
    struct flight *ahead;         // waits for the ledger to be stored
    bool is_unread_told; // that strays are kept, as some who could want them may not be read
    size_t owned;        // record sets of ours there, by the last list
    struct guard guard;
    bool is_guard_recalled;  // from the ledger
    struct hold *hold;       // what it holds back, and what of that was approved; or NULL
    int64_t trouble_told_ms; // mono
    unsigned troubles_untold;
    uint64_t repaired;
    int64_t blocked_until_ms; // told to slow down
    unsigned transport_failures;
    struct loop_timer timer; // collecting, blocked, learning
    // health
    bool has_question;
    int64_t good_for_ms;
    uint64_t question_epoch;
    int64_t asked_ms; // mono; 0 never
    struct loop_timer question_timer;
    struct loop_timer linger_timer;
    struct arena *answer_arena;
    struct content_id answer_id;
    struct arena *known_arena;
    struct flight *flights; // all of this lane
    // counters
    struct counts requests[LANE_OPERATIONS];
    struct histogram request_seconds[LANE_OPERATIONS];
};

// What goes into one talk: claims and wishes, their names taken already.
enum { BATCH_MAX = 4096 };
struct batch {
    uint32_t claims[BATCH_MAX]; // NO_ID where it is a wish
    struct wish *wishes[BATCH_MAX];
    uint32_t busy[BATCH_MAX]; // NO_ID: by another of the batch
    size_t count;
    size_t limit;
};

// One talk under way.
struct flight {
    struct engine *engine;
    struct lane *lane;
    struct flight *next;
    struct job job;
    void *talk;
    struct http_call *http;
    struct dns_call *dns;
    struct loop_timer timer;
    int64_t begun_ms;
    int64_t told_ms; // its progress
    size_t failures; // that the log was to tell
    struct seat *seat;
    uint32_t *claims; // per change; NO_ID where it is a wish
    struct wish **wishes;
    uint8_t (*hashes)[FINGERPRINT_OCTETS]; // what a SET will have put there
    uint32_t *busy;                        // names taken
    bool is_waiting;                       // nothing of it is under way
    bool is_outdated;                      // it waited, and something else is wanted by now
    struct listing *listing;               // of a health talk that tells what stands there
    struct ahead *aheads;                  // per change: what the ledger said of it before; or NULL
    struct table by_name;                  // of those
    struct ledger_view ledger;
    char trace[33];
};

// As controller-runtime names them.
enum turn_result { TURN_SUCCESS, TURN_ERROR, TURN_REQUEUE_AFTER, TURN_RESULTS };

// An overview and its controllers.
struct overview_state {
    const struct overview *overview;
    const void *settings;
    void *state;
    bool is_dirty;
    bool is_stale; // objects have changed since it was made
    struct loop_timer timer;
    struct engine *engine;
    struct histogram settle_seconds;
};

struct controller_state {
    const struct controller *controller;
    struct overview_state *overview; // or NULL
    bool is_synced;                  // all kinds that it reads
    bool is_newly_synced;
    const void *settings;
    size_t opener;      // whose opened lanes it has: itself, or the one that it shares them with
    struct table keys;  // by namespace and name
    struct join *joins; // one per gather
    struct join lane_join;
    struct tally tally;
    uint64_t turns[TURN_RESULTS];
    uint64_t turns_terminal; // failed ones that wait for an edit
    struct histogram turn_seconds;
    struct histogram programmed_seconds;
};

// A round through all keys.
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
    int64_t clock_ahead_ms;  // of the wall clock before the monotonic one, as seen last
    struct arena *arena;     // of the turn
    struct arena *scratch;   // within one function
    struct controller_state *controllers;
    struct published *published;
    struct followers *followers;
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
    struct error zone_file_fault; // of the last write, told once
    bool are_zone_files_untidy;
    struct overview_state *overviews;
    size_t overview_count;
    bool *kind_synced;  // per controller kind and gather kind, see kinds
    char **kind_unread; // the same: why nobody waits for it although it may not be read; or NULL
    const struct kind **kinds;
    size_t kind_count;
    bool is_leading;
    bool is_started;
    bool is_stopping;
    bool is_first_pass_due;
    bool is_first_pass_done;

    struct key *keys;
    size_t key_capacity;
    uint32_t key_used;
    uint32_t free_key; // chained through first_claim
    struct queue *queue;
    struct resync resync;
    struct histogram queue_seconds;
    struct histogram work_seconds;
    uint64_t write_retries;
    struct loop_timer timer;
    bool is_turning; // a slice is scheduled

    struct claim *claims;
    size_t claim_capacity;
    uint32_t claim_used;
    uint32_t free_claim;
    struct slab *claim_slab; // names, pendings and contents
    struct table by_name;    // first claim of each (book, name)
    struct book *books;
    size_t book_count;
    size_t book_capacity;
    struct queue *due; // claims whose back-off ends
    struct loop_timer due_timer;
    struct queue *crowded; // first claims of names that are planned later
    struct loop_timer crowded_timer;

    struct lane *lanes;
    struct lane **lanes_by_number; // NULL: free
    size_t lane_count;
    size_t lane_capacity;
    struct table busy_names; // names in flight: ids of `busy`
    struct busy_name *busy;
    size_t busy_capacity;
    uint32_t busy_used;
    uint32_t free_busy;

    bool is_batch_open;
    int64_t batch_since_ms;        // mono: when it was opened
    struct loop_timer batch_timer; // it is late
    uint32_t *batch;               // keys of the event batch under way
    size_t batch_count;
    size_t batch_capacity;

    struct write *writes; // store calls under way
    struct ledger_calls ledger_calls;
    struct child_write *child_writes;
    uint16_t asking;     // number of the lane about whose hold people are being asked; 0: none
    bool is_asking_anew; // what is under way makes room for it
    struct loop_timer ask_timer;
    size_t writes_in_flight;
    size_t flights_in_air;
    void (*stopped)(void *context);
    void *stopped_context;
    struct loop_timer stop_timer;
    struct loop_timer leave_timer;

    struct dry_run *dry_run; // NULL: none

    unsigned turns_since_release; // of memory
    struct loop_timer release_timer;
};

struct busy_name {
    uint16_t book;
    uint32_t next_free;
    char *name;
};

// engine.c
// The state that a write of ours brought back; the store tells no event of it.
void engine_file_written(struct engine *engine, const struct object *old,
                         const struct object *new_);

// keys.c
uint32_t key_find(struct engine *engine, size_t controller, struct text namespace_,
                  struct text name);
uint32_t key_make(struct engine *engine, size_t controller, const struct object *object);
void key_set_object(struct engine *engine, uint32_t id, const struct object *object);
void key_forget(struct engine *engine, uint32_t id);
struct key_extra *key_extra(struct key *key);
void key_forget_refusal(struct key *key);
// What a turn sees of the object: NULL when it is gone, unless its finalizer was lost.
const struct object *key_subject(const struct key *key);
// Of an urgent controller's key better than that of others.
enum queue_level key_level(const struct engine *engine, uint32_t id, enum queue_level level);
void key_wake(struct engine *engine, uint32_t id, enum queue_level level);
const char *engine_owner_id(const struct engine *engine); // NULL: not known yet
void keys_wake_all(struct engine *engine, size_t controller);
void key_after(struct engine *engine, uint32_t id, int64_t at_ms); // a turn then, on loop_mono_ms()
void keys_free(struct engine *engine);

// turn.c: a write failed. `is_ahead`: of talks, or of the status that is to tell it.
void turn_write_failed(struct engine *engine, uint32_t id, const struct error *error,
                       bool is_ahead);

// children.c
// Makes, changes and drops those of the verdict that were not done yet. False: nothing was sent.
bool children_write(struct engine *engine, uint32_t id, const struct verdict *verdict);
void children_forget(struct children *children); // accepts NULL
void children_free(struct engine *engine);       // those under way

// publish.c
void publish_new(struct engine *engine);
void publish_free(struct engine *engine);
void publish_verdict(struct engine *engine, uint32_t key, const struct publication *publication);
void publish_fill_snapshot(struct engine *engine, uint32_t key, struct snapshot *snapshot);
// Its key is going away.
void publish_forget(struct engine *engine, uint32_t key);
// An overview was made anew: it learns what is served and answered.
void publish_tell_overview(struct engine *engine, uint32_t key);

const struct served *publish_find(const struct engine *engine, struct dname apex); // or NULL
// A catalog has that name from now on: the zone is not served.
void publish_give_way(struct engine *engine, struct dname apex);
void publish_write_metrics(const struct engine *engine, struct buffer *out);

// zone_files.c
void zone_files_new(struct engine *engine);
void zone_files_free(struct engine *engine);
// A version of it is served.
void zone_files_want(struct engine *engine, struct served *served);
// Zones may have gone since their files were written: those files go soon, once the first pass has
// told which zones there are.
void zone_files_tidy(struct engine *engine);

// catalogs.c
void catalogs_new(struct engine *engine);
// The groups of the configuration are others now.
void catalogs_set(struct engine *engine);
void catalogs_free(struct engine *engine);
// A zone became or ceased to be a member of its group's catalog. `was_seen`: its Zone was deleted
// before our eyes.
void catalogs_lose(struct engine *engine, const struct served *served, bool was_seen);
// A Zone was deleted: what was kept of it for the guard's sake goes.
void catalogs_forget(struct engine *engine, const struct object *zone);
// Publishes what has changed, once all zones are known.
void catalogs_update(struct engine *engine);
bool catalogs_have(const struct engine *engine, struct dname apex); // one of that name
void catalogs_write_metrics(const struct engine *engine, struct buffer *out);

// overview.c
size_t overview_kind_count(const struct overview *overview); // NULL: 0
void overviews_new(struct engine *engine);
void overviews_free(struct engine *engine);
void overview_event(struct engine *engine, const struct object *object, bool is_gone);
// Nothing is left that was told of and not worked out, where all of it is synced.
void overviews_settle(struct engine *engine);
bool overviews_are_settled(const struct engine *engine);
// Settings changed: it is made anew from all objects.
void overview_renew(struct engine *engine, struct overview_state *state);
void overviews_write_metrics(const struct engine *engine, struct buffer *out);
bool overview_is_synced(const struct engine *engine, const struct overview *overview);
// NULL: the controller has none.
void *overview_of(const struct engine *engine, uint32_t key);

// gather.c
void join_done(struct join *join);
void gather_index_key(struct engine *engine, uint32_t id, const struct object *old,
                      const struct object *new_);
void gather_index_offer(struct engine *engine, const struct object *old, const struct object *new_);
// Wakes every key whose gathers meet the object (old or new state). `is_ours_alone`: it differs in
// what we wrote ourselves.
void gather_wake(struct engine *engine, const struct object *old, const struct object *new_,
                 bool is_ours_alone);
void gather_wake_identity(struct engine *engine, const struct object_ref_key *key);
// Whoever looks at that lane.
void gather_wake_lane(const struct lane *lane);
// Whoever gathers that lane.
void gather_wake_watchers(const struct lane *lane);
// What the snapshot's subject gathers as a key of that controller.
void gather_fill(struct engine *engine, size_t at, struct snapshot *snapshot);
// Why a kind that counts as synced may not be read, or NULL.
const char *gather_why_unread(const struct engine *engine, const struct kind *kind);
bool gather_is_synced(const struct engine *engine, const struct controller *controller);
// Does the store know all that the subject wants by identity, or why it never will?
bool gather_is_told(struct engine *engine, const struct controller *controller,
                    const struct object *subject);
// Does it know all of that?
bool gather_is_known(struct engine *engine, const struct controller *controller,
                     const struct object *subject);

// lane.c
struct lane *lane_find(const struct engine *engine, const char *name);
bool lane_set(struct engine *engine, const struct lane_want *want, uint32_t owner,
              struct lane **out, struct error *err);
void lane_release(struct lane *lane); // its owner is gone
void lane_ask(struct lane *lane, const struct question *question);
void lane_ask_anew(struct lane *lane); // soon, however good the last answer is for
bool lane_can_send(const struct lane *lane, enum claim_intent intent);
bool lane_has_sendable(const struct lane *lane); // something due that it can send
bool lane_is_unread(const struct lane *lane);    // that, or what stands there is not known yet
// It was told what is wrong with the backend, and waits before it tries again.
bool lane_rests_in_trouble(const struct lane *lane);
void lane_queue(struct lane *lane, uint32_t claim); // due now
void lane_unqueue(struct lane *lane, uint32_t claim);
void lane_pump(struct lane *lane);
void lane_clear_backoff(struct lane *lane);
void lane_answered(struct lane *lane, const struct flight *flight);
// An answer that came along with changes: the next question comes when it would.
void lane_take_answer(struct lane *lane, const struct flight *flight);
// What the talk learned is known from now on.
void lane_learn(struct lane *lane, const struct flight *flight);
void seat_unref(struct seat *seat);
void batch_put(struct lane *lane, struct batch *batch, uint32_t claim, struct wish *wish,
               uint16_t book, const char *name);
void batch_take_wishes(struct lane *lane, struct batch *batch);
void lanes_sweep(struct engine *engine); // frees those that nobody needs any more
void lanes_free(struct engine *engine);
// The backend as a whole can't be worked with (NULL: it can): who uses it is told, and it `rests`.
void lane_hear_trouble(struct lane *lane, const struct error *trouble, bool rests);
// We lead, or lead no more.
void lanes_lead(struct engine *engine, bool is_leading);
// Seats hold their last talks. False: none is left to be held.
bool lanes_leave(struct engine *engine);
// What stands at those of that controller's settings is asked for again.
void lanes_list_anew(struct engine *engine, size_t controller);
// Those that leave have had their time: their talks are broken off, whatever they are at.
void lanes_leave_late(struct engine *engine);

// serial.c: lanes that have one talk at a time.
void serial_pump(struct lane *lane);
void serial_gather(struct lane *lane, enum record_type type); // one more is due
void serial_ungather(struct lane *lane, enum record_type type);
// Nothing is known yet of what stands there, and it will be.
bool serial_is_awaited(const struct lane *lane);

// ahead.c: what the ledger of a lane remembers, before a talk and behind it.
// True: the talk begins when it is stored.
bool ahead_write(struct flight *flight);
void ahead_look(struct flight *flight);   // it changes nothing, but may read and keep facts
void ahead_settle(struct flight *flight); // the talk has ended
void ahead_abort(struct flight *flight);  // without an end
void ahead_open(struct lane *lane);       // its seat was opened
const struct error *ahead_trouble(const struct lane *lane);

// opened.c: lanes that stand in settings.
void lanes_open(struct engine *engine);
// Of those who open that lane, or share it: does each have all that it reads?
bool lane_openers_are_synced(const struct lane *lane);
// And may each read it?
bool lane_openers_may_read(const struct lane *lane);

// holds.c: what of ours stands at a backend and nobody claims: it goes, unless that is too much at
// once. Then a person is asked.
// Of a whole list, in any order: may they go? They are held back else.
bool holds_judge(struct lane *lane, const struct record_set *strays, size_t count);
bool hold_is_approved(const struct hold *hold); // NULL: false
size_t hold_count(const struct hold *hold);     // that are held back
void hold_free(struct hold *hold);              // NULL is fine
// A talk has ended: what the guard counts of it is stored with what else the ledger learns.
void holds_count(const struct flight *flight);
void holds_forget(struct lane *lane); // it is another backend now
void holds_approve(struct engine *engine, const struct approval *approval); // NULL is fine
// For /readyz: what is held; advice, as all else goes on. Texts live until the next turn.
size_t holds_checks(const struct engine *engine, struct store_check *out, size_t capacity);
// Objects that ask people are made.
void holds_ask(struct engine *engine);

// listing.c: what stands at a backend, against what is claimed there.
struct listing *listing_new(struct engine *engine);
void listing_free(struct listing *listing); // NULL is fine
void listing_hold(void *flight, const struct holding *holding);
// All was told: claims know what stands, and what of ours nobody claims is to go.
void listing_end(struct flight *flight);

// flight.c
uint32_t busy_add(struct engine *engine, uint16_t book, const char *name);
bool busy_has(struct engine *engine, uint16_t book, const char *name);
void busy_free(struct engine *engine);
void flight_begin(struct lane *lane, const struct batch *batch);
void flight_begin_health(struct lane *lane, struct wish *wish);
void flight_begin_leave(struct lane *lane, struct seat *seat);
void flight_abort(struct flight *flight);
// Aborts those of the lane that only wait: there is nothing to be heard of them.
void flights_end_waiting(struct lane *lane);
void flight_talk(struct flight *flight); // begins, with all written ahead

// dry.c
struct dry_run *dry_run_new(void);
void dry_run_free(struct dry_run *run); // NULL is fine
// A claim that was just made: what is known to stand there is what counts, not what the dry run
// itself takes as sent.
void dry_run_claim(struct dry_run *run, uint32_t claim, bool may_stand);
void dry_run_add(struct dry_run *run, const struct engine_change *change);
// What the last verdict of the key tells.
void dry_run_note(struct dry_run *run, uint32_t key, const struct verdict *verdict);
// The change of a claim; `set` is borrowed.
struct engine_change engine_change_of(const struct engine *engine, uint32_t claim,
                                      enum change_op op, const struct record_set *set);

// content.c
// A copy of the set with all its texts in one allocation; free() it.
struct record_set *content_new_set(const struct record_set *set);

// What is to stand at a name that is known: packed, as a hundred thousand of them may wait.
struct content;
struct content *content_new(struct slab *slab, const struct record_set *set);
void content_free(struct content *content); // NULL is fine
struct record_set *content_make_set(struct arena *arena, const struct content *content,
                                    struct text domain, struct text subdomain);

// told.c
// Notes and log lines of a verdict, copied to be told when its write succeeded.
struct told {
    size_t note_count;
    size_t line_count;
    struct verdict_note *notes;
    struct verdict_line *lines;
};
struct told *told_new(const struct verdict *verdict); // NULL when there is nothing; free() it
void told_tell(struct engine *engine, const struct told *told, const struct object *object);

// words.c: log lines of changes, in the words of the controller whose claims they are.
// `object`: NULL: it is not known. `failures` counts those of one talk: only the first of them have
// lines.
void words_tell_change(const struct lane *lane, const struct controller *controller,
                       const struct object *object, const struct change *change, size_t *failures);
void words_tell_failures(const struct lane *lane, size_t failures); // how many had none
void words_tell_progress(const struct lane *lane, const struct job *job);
void words_tell_held(const struct lane *lane);
void words_tell_approved(const struct lane *lane);
// So many stay, as some who could want them may not be read.
void words_tell_unread(const struct lane *lane, size_t count);
void words_tell_stall(const struct lane *lane, const struct error *error);
// `is_news`: it was another before.
void words_tell_trouble(const struct lane *lane, const struct error *error, unsigned count,
                        bool is_news);

// resync.c
void resync_start(struct engine *engine);
void resync_stop(struct engine *engine);

// tally.c
void tally_key(struct engine *engine, uint32_t key, const struct verdict *verdict);
void tally_forget(struct engine *engine, uint32_t key); // it is counted nowhere any more
void tally_retry(struct engine *engine, uint32_t key);
void tally_done(struct tally *tally);

// wish.c
void wish_write_name(const struct wish *wish, char *out, size_t size);
void wish_answer(struct wish *wish, const struct outcome *outcome); // frees it
void wish_free(struct wish *wish);
void wish_unlink(struct wish *wish); // from its lane's line
// Removes what stands there as ours and nobody claims.
void wish_add_stray(struct lane *lane, const struct record_set *set, bool is_approved);
void wishes_drop_strays(struct lane *lane);
// Somebody claims it by now.
bool wish_is_void(const struct wish *wish);

// turn.c
void engine_schedule(struct engine *engine);
// The key gets its turn when the batch is over, or late.
void engine_batch_add(struct engine *engine, uint32_t id);
bool engine_awaits_batch(const struct engine *engine);
void engine_give_up_batch(struct engine *engine); // if it is late
// All that the store told is decided, and claimed.
bool engine_is_decided(const struct engine *engine);
// We lead, by a lease that has not run out: asked before everything that is sent elsewhere.
bool engine_may_write(const struct engine *engine);
void turn_take(struct engine *engine, uint32_t key);
void writes_free(struct engine *engine);
void engine_trace(struct engine *engine, char out[33]);
// Gives memory back to the system.
void engine_release(void *engine);
void engine_release_soon(struct engine *engine); // after a talk that took much
void engine_maybe_stopped(struct engine *engine);
void engine_maybe_rested(struct engine *engine);
