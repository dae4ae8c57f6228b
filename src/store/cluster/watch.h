#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/log.h"
#include "base/value.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/api_versions.h"

// One list and watch: the objects of a kind, everywhere, in a namespace, or a single one by name.
// Streaming list where the server has it, else paged; then a watch that is renewed, with bookmarks
// as its heartbeat. What comes goes to the sink; what may be kept of it is not known here.
//
//     DOWN -> STREAM or LIST -> LIVE -> { REWATCH | RELIST | BACKOFF } -> LIVE

struct watch;

struct watch_sink {
    // A pass through all objects begins: what it does not bring until its end is not there.
    // `has_gone_back`: the server's versions went back (it was restored), so that an older one may
    // be the newer state. One that fails half-way has no end; the next begins anew.
    void (*pass_begin)(void *context, bool has_gone_back);
    // It is complete. `may_sweep` is false when an object in it could not be read.
    void (*pass_end)(void *context, bool may_sweep);
    // ADDED or MODIFIED (no difference is made), or DELETED with the last state. The tree lives for
    // the call; its managedFields are empty, and items of core lists lack apiVersion and kind.
    void (*object)(void *context, bool is_deleted, const struct value *tree);
    void (*batch_end)(void *context); // what arrived together is over
    // A kind that is not required is not installed, by several answers in a row: there is nothing
    // of it. NULL: nobody wants to know.
    void (*missing)(void *context);
    // The right to read it is missing, by several answers in a row; watch_refusal() says which.
    // NULL: nobody wants to know.
    void (*forbidden)(void *context);
    void *context;
};

struct watch_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const struct kind *kind;
    const char *namespace_;      // NULL: all, or the kind has none
    const char *name;            // NULL: all; else only that one (needs no right to list)
    const char *labels;          // only objects that this label selector matches; NULL: all
    bool is_required;            // a missing CRD is a fault; else it is waited for in silence
    bool is_dispensable;         // that it may not be read is told once, and no fault either
    bool is_once;                // one list, and no watch; what is refused is believed at once
    struct watch_memory *memory; // shared by all watches of a server: what it can do
};

// What was learned of a server: it refuses streaming lists until then; its versions of kinds.
struct watch_memory {
    int64_t no_streaming_list_until_ms;
    struct api_versions api_versions;
};

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink);
void watch_start(struct watch *watch);
void watch_free(struct watch *watch); // accepts NULL; not from within a call of the sink
// By its last words the server does not let us: what to do, for users; else NULL. Borrowed until
// the next event.
const char *watch_refusal(const struct watch *watch);
// The stream's position; empty while none is known. Borrowed until the next event.
struct text watch_position(const struct watch *watch);
// One line of /readyz, named "watch-<plural>.<group>": ok, or what keeps it from watching and what
// to do ("forbidden: cannot watch zones at cluster scope; add verb watch to role
// signpost"). Borrowed until the next call.
struct store_check watch_check(struct watch *watch);

// Why there was another pass through all objects.
enum watch_relist {
    RELIST_EXPIRED,    // the server does not know our position any more
    RELIST_TOO_LARGE,  // its versions went back
    RELIST_FALLBACK,   // it has no streaming list
    RELIST_UNREADABLE, // what it sent was no JSON, no event, or half of one
    RELIST_REFUSED,    // an ERROR event of another kind
    RELIST_COUNT,
};
// How a watch ended otherwise than in time.
enum watch_death { DEATH_SILENT, DEATH_RESET, DEATH_ENDED, DEATH_GARBAGE, DEATH_COUNT };
struct watch_counts {
    uint64_t relists[RELIST_COUNT];
    uint64_t deaths[DEATH_COUNT];
    uint64_t skipped;      // objects too large or too deep, and items that cannot be read
    int64_t last_event_ms; // mono; 0: never
};
const char *watch_relist_name(enum watch_relist reason); // "expired", ...
const char *watch_death_name(enum watch_death how);
const struct watch_counts *watch_counts(const struct watch *watch);
