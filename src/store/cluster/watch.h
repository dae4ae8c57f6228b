#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/log.h"
#include "base/value.h"
#include "io/world.h"
#include "store/cluster/api.h"

// One list and watch: the objects of a kind, everywhere, in a namespace, or a single one by name.
// Streaming list where the server has it, else paged; then a watch that is renewed, with bookmarks
// as its heartbeat. What comes goes to the sink; what may be kept of it is not known here.
//
//     DOWN -> STREAM or LIST -> LIVE -> { REWATCH | RELIST | BACKOFF } -> LIVE

struct watch;

struct watch_sink {
    // A pass through all objects begins: what it does not bring until its end is not there.
    // `is_back`: the server's versions went back (it was restored), so that an older one may be the
    // newer state.
    void (*pass_begin)(void *context, bool is_back);
    // It is complete. `may_sweep` is false when an object in it could not be read.
    void (*pass_end)(void *context, bool may_sweep);
    // ADDED or MODIFIED (no difference is made), or DELETED with the last state. The tree lives for
    // the call.
    void (*object)(void *context, bool is_deleted, const struct value *tree);
    void (*batch_end)(void *context); // what arrived together is over
    void *context;
};

struct watch_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const struct kind *kind;
    const char *namespace_;      // NULL: all, or the kind has none
    const char *name;            // NULL: all; else only that one (needs no right to list)
    bool is_required;            // a missing CRD is a fault; else it is waited for in silence
    struct watch_memory *memory; // shared by all watches of a server: what it can do
};

// What was learned of a server: it refuses streaming lists until then.
struct watch_memory {
    int64_t no_stream_until_ms;
};

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink);
void watch_start(struct watch *watch);
void watch_free(struct watch *watch);
bool watch_is_synced(const struct watch *watch); // a complete pass was seen once
// The stream's position; empty while none is known. Borrowed until the next event.
struct text watch_position(const struct watch *watch);
// One line of /readyz, named "watch-<plural>.<group>": ok, or what keeps it from watching and what
// to do ("forbidden: cannot watch dnsrecords.… at cluster scope; add verb watch ...").
struct store_check watch_check(struct watch *watch);

struct watch_counts {
    uint64_t relists[4]; // by enum watch_relist
    uint64_t deaths[4];  // by enum watch_death
    uint64_t oversized;
    int64_t last_event_ms; // mono; 0: never
};
enum watch_relist { RELIST_EXPIRED, RELIST_TOO_LARGE, RELIST_FALLBACK, RELIST_UNREADABLE };
enum watch_death { DEATH_SILENT, DEATH_RESET, DEATH_ENDED, DEATH_GARBAGE };
const char *watch_relist_name(enum watch_relist reason); // "expired", ...
const char *watch_death_name(enum watch_death how);
const struct watch_counts *watch_counts(const struct watch *watch);
