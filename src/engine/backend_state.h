#pragma once

#include "engine/state.h"

// A backend as its own files see it, and those that carry out what it does (exchanges, guarded
// removals, listings, metrics, dry runs). Claims see backend.h alone.

// Answers by HTTP status class; [0]: no answer came.
struct counts {
    uint64_t by_class[6];
};

struct line_of_claims {
    uint32_t first;
    uint32_t last;
};

// Changes that are due and wait for more to come, by what they mean to a backend that collects.
enum collecting_class { COLLECT_ADDRESSES, COLLECT_OTHERS, COLLECT_CLASSES };
struct collecting {
    size_t count;
    int64_t first_ms; // mono
    int64_t last_ms;
};

// BATCH: one exchange with changes of several operations. The changes are counted one by one, too.
enum backend_operation {
    OPERATION_UPSERT,
    OPERATION_DELETE,
    OPERATION_GET,
    OPERATION_HEALTH,
    OPERATION_QUESTION,
    OPERATION_BATCH,
    BACKEND_OPERATIONS,
};

struct backend {
    struct engine *engine;
    struct backend *next;
    uint16_t number;          // from 1
    bool is_released;         // its owner is gone: it is freed when nothing needs it any more
    uint32_t claim_count;     // that go through it
    struct backend_view view; // as decisions see it; its strings are below
    char *name;
    char *registry;
    const struct provider *provider;
    struct session *session;
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
    struct loop_timer learn_timer; // ends that wait
    uint32_t owner;
    // the queue
    struct line_of_claims due[2]; // user, background
    size_t due_count;
    LIST_OF(struct change_request) change_requests;
    size_t change_request_count;
    size_t in_flight; // jobs but these:
    size_t reading;   // health jobs
    int64_t idle_since_ms;
    int64_t collect_until_ms; // 0: not collecting
    struct collecting collecting[COLLECT_CLASSES];
    // of a provider that has one exchange at a time
    size_t controller; // whose settings name the backend; NO_CONTROLLER: none
    bool is_fresh;     // listed for the first time, and no change sent since: changes don't collect
    bool wants_owner;  // its session waits for the owner id
    struct session *leaving; // the previous session, whose last exchange is still to come
    bool has_left;
    bool is_stale;                // not named any more by the settings at hand
    struct ledger_keeper *ledger; // or NULL
    bool is_ledger_degraded;      // it can be neither read nor written, and that was reported
    struct exchange *write_ahead; // waits for the ledger to be stored
    bool is_unread_reported;      // that strays stay, as objects that may claim them can't be read
    size_t owned;                 // record sets of ours there, by the last listing or by claims
    struct guard guard;
    bool is_guard_recalled;    // from the ledger
    bool are_claims_unjudged;  // claims that the guard may hold back may have come or gone
    bool has_claims_held_back; // only while they are judged
    struct guarded *guarded;   // the removals that it holds back, and the approved ones; or NULL
    int64_t unavailable_reported_ms; // mono
    unsigned failures_unreported;    // while it is unavailable, since the last log line
    uint64_t repaired;
    int64_t blocked_until_ms; // mono: the server asked us to wait until then
    unsigned transport_failures;
    struct loop_timer timer; // collecting, blocked, learning
    // health
    LIST_OF(struct question_state) questions_due;
    struct asking asking; // the questions of its settings
    bool has_asked;       // the last exchange that began was a question
    struct loop_timer linger_timer;
    struct arena *answer_arena;
    struct content_id answer_id;
    struct arena *known_arena;
    LIST_OF(struct exchange) exchanges; // all of this backend
    // counters
    struct counts requests[BACKEND_OPERATIONS];
    struct histogram request_seconds[BACKEND_OPERATIONS];
};

// What goes into one exchange: claims and change requests, whose names are marked busy already.
enum { BATCH_MAX = 4096 };
struct batch {
    uint32_t claims[BATCH_MAX]; // NO_ID where it is a change request
    struct change_request *change_requests[BATCH_MAX];
    uint32_t busy[BATCH_MAX]; // NO_ID: by another of the batch
    size_t count;
    size_t limit;
};

// write_ahead.c: the ledger of what the backend cannot mark as ours itself.
void write_ahead_open(struct backend *backend); // its session was opened
// Why it can be neither read nor written, or NULL.
const struct error *write_ahead_why_degraded(const struct backend *backend);

// backend_queue.c
void backend_timer(void *context);
