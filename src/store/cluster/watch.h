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
// A streaming list where the server has it, else a list by pages, or a GET of the single object;
// then a watch that is opened again each time it ends, with bookmarks as its heartbeat. What comes
// goes to the sink; the watch keeps no object.
//
// There is one call at a time. In DOWN there is none: the next one opens at once, or after a
// back-off. STREAMING_LIST, LIST and GET make a pass, which is a complete listing:
//
//     DOWN, a pass is needed:  -> STREAMING_LIST -- end mark --> LIVE
//                              -> LIST, a page after the other --> DOWN
//                              -> GET --> DOWN
//     DOWN, none is needed:    -> LIVE, from the position
//                              -> FOLLOW, while none is known -- change or bookmark --> LIVE
//     any call that is over:   -> DOWN; whether a pass is needed depends on how it ended

struct watch;

struct watch_sink {
    // A pass begins: an object that it has not brought by its end does not exist. `has_gone_back`:
    // the server's resourceVersions went back (it was restored from a backup), so that an older one
    // may be the newer state. A pass need not end: one that fails does not, nor does the one that
    // a watch from "0" begins, unless the server marks the end of its list. The next begins anew.
    void (*pass_begin)(void *context, bool has_gone_back);
    // The pass is complete. `may_sweep` is false when an object of it was skipped: then what it did
    // not bring may exist all the same.
    void (*pass_end)(void *context, bool may_sweep);
    // ADDED or MODIFIED (no difference is made), or DELETED with the last state. The tree lives for
    // the call; nothing is in its managedFields, and items of core lists lack apiVersion and kind.
    void (*object)(void *context, bool is_deleted, const struct value *tree);
    void (*batch_end)(void *context); // what arrived together has been reported
    // A kind that is not required is not installed, by several answers in a row. Objects that were
    // reported of it stay. Called again after each further try. NULL: nobody wants to know.
    void (*missing)(void *context);
    // The right to read it is missing, by several answers in a row; watch_refusal() says which.
    // Called again after each further try. NULL: nobody wants to know.
    void (*forbidden)(void *context);
    void *context;
};

// Borrowed until watch_free(), but for namespace_ and name, which are copied.
struct watch_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const struct kind *kind;
    const char *namespace_; // NULL: all, or the kind has none
    const char *name;       // NULL: all; else only that one (needs no right to list)
    const char *labels;     // only objects that this label selector matches; NULL: all
    bool is_required;       // that the kind is not installed is a fault. Else it is waited for,
                            // in silence unless it was synced before
    bool is_dispensable;    // that it may not be read is logged once, and no fault
    bool is_once;           // one pass and no watch; the first refusal is believed
    struct watch_memory *memory; // shared by all watches of a server
};

// What was learned of a server.
struct watch_memory {
    int64_t no_streaming_list_until_ms; // it has none; asked again after that
    struct api_versions api_versions;
};

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink);
void watch_start(struct watch *watch);
void watch_free(struct watch *watch); // accepts NULL; not from within a call of the sink
// Which right is missing by the server's last answers, several in a row, and what to do about it;
// else NULL. Borrowed until the next step of the loop.
const char *watch_refusal(const struct watch *watch);
// It brought a complete pass once, and does not follow changes now: it failed and no call has been
// accepted since, or it has to list all again. Not so of a kind that is known to be gone, nor of
// one that may not be read for a minute, or that may be left unread: nobody else reads it either.
bool watch_is_behind(const struct watch *watch);
// A watch whose connection died without a word still counts as up: unless something came since
// then (by the loop's monotonic clock), it is opened again, and is behind until it is accepted.
void watch_prove(struct watch *watch, int64_t since_ms);
// Ends a back-off: the next try is made at once, or as soon as the server's Retry-After lets it.
void watch_hurry(struct watch *watch);
// The resourceVersion up to which all changes were reported; empty while none is known. Borrowed
// until the next step of the loop.
struct text watch_position(const struct watch *watch);
// One line of /readyz, named "watch-<plural>.<group>": ok, or what keeps it from watching and what
// to do ("forbidden: cannot watch zones at cluster scope; add verb watch to role
// signpost"). Borrowed until the next call.
struct store_check watch_check(struct watch *watch);

// Why there was another pass through all objects.
enum watch_relist {
    RELIST_EXPIRED,    // the server does not know our position any more
    RELIST_TOO_LARGE,  // its resourceVersions went back
    RELIST_FALLBACK,   // it has no streaming list
    RELIST_UNREADABLE, // what it sent was no JSON, no event, or half of one
    RELIST_REFUSED,    // an ERROR event of another kind, a deletion too large to be read, or a kind
                       // that was missing for a while
    RELIST_COUNT,
};
// How a call ended otherwise than in time.
enum watch_death {
    DEATH_SILENT,  // nothing was heard for long, or it outlasted its time
    DEATH_RESET,   // its connection broke
    DEATH_ENDED,   // the server ended it at once, or before its list was complete
    DEATH_GARBAGE, // what came could not be read
    DEATH_COUNT
};
struct watch_counts {
    uint64_t relists[RELIST_COUNT];
    uint64_t deaths[DEATH_COUNT];
    uint64_t skipped;      // objects too large or too deep, and items that cannot be read
    int64_t last_event_ms; // by the loop's monotonic clock; 0: never
};
const char *watch_relist_name(enum watch_relist reason); // "expired", ...
const char *watch_death_name(enum watch_death how);
const struct watch_counts *watch_counts(const struct watch *watch);
