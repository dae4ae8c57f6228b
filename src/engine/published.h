#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "dns/dname.h"
#include "dns/zone_history.h"

// The zones that are served: frontends answer from here and from nowhere else, and tell here what
// servers have fetched. Resident, owned by the engine.

enum published_state {
    PUBLISHED_WITHHELD, // known, but nothing of it may be answered: no version is good, or not yet
    PUBLISHED_SERVED,
    PUBLISHED_FROZEN, // served as it was when it was good
};

// What one server heard from us of one zone.
struct published_fetch {
    char *server;
    bool has_asked;
    bool has_fetched;
    uint32_t asked_serial;   // told last, or of the transfer begun last
    uint32_t fetched_serial; // of the last transfer that it had to the end
    int64_t fetched_ms;      // mono
    bool is_stuck;           // it could not load that
};
enum { PUBLISHED_FETCHES_MAX = 64 }; // for one zone; beyond, the oldest is forgotten

struct published_zone {
    struct dname apex;
    const char *group; // of servers; NULL: none
    enum published_state state;
    const struct zone_history *history; // what was published last, also of one that is held
    const struct published_fetch *fetches;
    size_t fetch_count;
};

// What a server did last, told whether it is news or not: it is alive.
struct published_sign {
    struct dname apex;
    const char *server;
    bool has_fetched; // to the end; else it asked
};
struct published;
// `heard` is called from within published_asked and published_fetched; may be NULL.
struct published *published_new(void (*reported)(void *context, const struct published_sign *sign),
                                void *context);
void published_free(struct published *published); // accepts NULL
DEFINE_CLEANUP(published, published_free)

// The version to be served from now on, of a zone that may be there or not; takes a reference of
// its own. With another group (NULL: none) what was fetched is forgotten.
void published_serve(struct published *published, const char *group, const struct zone *zone);
// Known, and what was published last goes on being served, or nothing of it is: HELD or FROZEN.
// FROZEN without a version comes to HELD.
void published_withhold(struct published *published, struct dname apex, const char *group,
                        enum published_state state);
bool published_remove(struct published *published, struct dname apex); // false: was not there

// From now on what is not here is none of our zones; until then, nobody knows.
void published_complete(struct published *published);
bool published_is_complete(const struct published *published);

// Borrowed until the next change of that zone. NULL: not known.
const struct published_zone *published_find(const struct published *published, struct dname apex);
// All of them in no order that means anything; *cursor starts at 0. NULL: that was the last.
const struct published_zone *published_next(const struct published *published, size_t *cursor);

// A server was told a serial, or has begun to fetch it; of a zone that is not known nothing is
// kept.
void published_asked(struct published *published, struct dname apex, const char *server,
                     uint32_t serial);
// It has fetched it to the end.
void published_fetched(struct published *published, struct dname apex, const char *server,
                       uint32_t serial, int64_t now_ms);
// A server has that serial. Is it older than what it fetched PUBLISHED_STUCK_MS ago or earlier, so
// that it could not load that? Then differences, which lead through what it could not load, are of
// no use to it, until it has a serial that it fetched.
enum { PUBLISHED_STUCK_MS = 10000 };
bool published_is_stuck(struct published *published, struct dname apex, const char *server,
                        uint32_t serial, int64_t now_ms);
