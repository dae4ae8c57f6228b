#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "dns/dname.h"
#include "dns/zone_history.h"

// The zones that the process serves. Frontends answer from here and from nowhere else, and report
// here what the servers that follow us have fetched. Kept in memory and owned by the engine.

enum published_state {
    PUBLISHED_WITHHELD, // we know the zone, but have no valid version (yet): SERVFAIL
    PUBLISHED_SERVED,
    PUBLISHED_FROZEN, // the last valid version is served; what is wanted now is not valid
};

// What one server learned from us about one zone.
struct published_fetch {
    char *server;
    bool has_asked;
    bool has_fetched;
    uint32_t asked_serial;   // of our last answer, or of the transfer that it began last
    uint32_t fetched_serial; // of the last transfer that it completed
    int64_t fetched_ms;      // mono: when it completed that
    bool is_stuck;           // it did not load what it fetched
};
enum { PUBLISHED_FETCHES_MAX = 64 }; // for one zone; beyond, the oldest is forgotten

struct published_zone {
    struct dname apex;
    const char *group; // of servers; NULL: none
    enum published_state state;
    const struct zone_history *history; // the last published versions, also while it is withheld
    const struct published_fetch *fetches;
    size_t fetch_count;
};

// What a server has just done. It is reported each time, as a sign that the server is alive.
struct published_sign {
    struct dname apex;
    const char *server;
    bool has_fetched; // it completed a transfer; otherwise it asked for the SOA or began a transfer
};
struct published;
// `reported` is called from within published_asked and published_fetched; may be NULL.
struct published *published_new(void (*reported)(void *context, const struct published_sign *sign),
                                void *context);
void published_free(struct published *published); // accepts NULL
DEFINE_CLEANUP(published, published_free)

// Serves this version from now on, of a zone that is known already or new. Takes a reference of its
// own. When the group (NULL: none) is another one than before, it forgets what servers fetched.
void published_serve(struct published *published, const char *group, const struct zone *zone);
// The zone is known, but has no valid version now. PUBLISHED_FROZEN: the last published version
// goes on being served, and where there is none, this is the same as PUBLISHED_WITHHELD.
void published_withhold(struct published *published, struct dname apex, const char *group,
                        enum published_state state);
bool published_remove(struct published *published, struct dname apex); // false: it was not known

// All zones have been added: from now on a name outside them is refused. Before that, nobody can
// tell whether a zone is ours.
void published_complete(struct published *published);
bool published_is_complete(const struct published *published);

// Borrowed until the next change of that zone. NULL: not known.
const struct published_zone *published_find(const struct published *published, struct dname apex);
// All of them in no order that means anything; *cursor starts at 0. NULL: that was the last.
const struct published_zone *published_next(const struct published *published, size_t *cursor);

// We answered a server with this serial, or it has begun to fetch that version. Without effect for
// a zone that is not known.
void published_asked(struct published *published, struct dname apex, const char *server,
                     uint32_t serial);
// The server has completed the transfer of that version.
void published_fetched(struct published *published, struct dname apex, const char *server,
                       uint32_t serial, int64_t now_ms);
// A server says that it has that serial. True if it completed the transfer of a newer one more than
// PUBLISHED_STUCK_MS ago: then it could not load that one, and an IXFR, which leads through it,
// would fail again. It counts as stuck until it has a serial that it fetched.
enum { PUBLISHED_STUCK_MS = 10000 };
bool published_is_stuck(struct published *published, struct dname apex, const char *server,
                        uint32_t serial, int64_t now_ms);
