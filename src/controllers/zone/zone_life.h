#pragma once

#include "dns/zone_compiler.h"
#include "engine/controller.h"
#include "kinds/zone/zone_kind.h"
#include "store/object.h"

// The versions of one zone over time: which is compiled, which the store is writing, which is
// served, and which the zone's servers answer. The contents that a zone has had are numbered, so
// that it is known which of two is newer. Kept in memory and owned by the shared model (zones.h).
// What the zone_life_note functions are told is true already: they write nothing to the store.

// One version of a zone: a content with a serial.
struct zone_content {
    struct zone *zone; // owned; NULL: none
    uint64_t number;
    char hash[21];
};

// Which serial has which content.
struct zone_mark {
    uint32_t serial;
    uint64_t number;
};
enum { ZONE_MARKS_MAX = 64 };

struct zone_life {
    const struct object *object;
    uint64_t number;             // of the content that the zone tree has now
    struct zone_content built;   // the last one that was compiled
    struct zone_content pending; // its hash and serial are being written to the store
    struct zone_content stored;  // the store has its hash and serial: it may be served
    struct zone_content published;
    int64_t published_ms; // Unix; 0: not yet settled
    uint64_t answered;    // the newest content that all servers have had, even if one is down now
    struct server_view *servers;
    size_t server_count;
    char *servers_group;                    // the group of servers that those belong to; NULL: none
    char *group;                            // the group that the zone is to have; NULL: none
    bool is_moved;                          // the group changed: its records have to say so
    struct zone_mark marks[ZONE_MARKS_MAX]; // the newest last
    size_t mark_count;
    struct zone_wait *waits; // records that not all servers answer yet, by how long they wait
    size_t wait_count;
    size_t wait_capacity;
    size_t wait_first;
    size_t wait_reported; // those before it were woken because they wait longer than a second
    bool is_due;          // the next settle looks at it
    bool is_new;          // our first version of it: a serial at a server may be another primary's
};

void zone_life_free(struct zone_life *life); // accepts NULL
// Compiles the zone as it is now, with that serial. Borrowed until the next call for that zone.
const struct zone_content *zone_life_build(struct zone_life *life, struct zone_compiler *compiler,
                                           uint32_t serial);
// The version that was built last is being written to the store: it becomes `pending`.
void zone_life_note_pending(struct zone_life *life);
// The store has this hash and serial: the version that has them becomes `stored`. False: none has.
bool zone_life_note_stored(struct zone_life *life, struct text hash, uint32_t serial);
// Takes over a version from before this process that was read from the store; it becomes `pending`,
// and zone_life_note_stored() then finds it.
void zone_life_recall(struct zone_life *life, struct zone *zone);
// True if the server has the serial that is published, but never fetched it from us, and the zone
// is new: then what it answers comes from another primary.
bool zone_life_is_foreign(const struct zone_life *life, const struct server_view *server);
// How far the server is with what is published.
enum zone_server_state zone_life_state(const struct zone_life *life,
                                       const struct server_view *server);
// The version that is stored is served now: it becomes `published`.
void zone_life_note_published(struct zone_life *life);
bool zone_life_is_group(const char *a, const char *b); // the same group; NULL: none
// The number of the newest published content that all servers of the group have, or a newer one.
uint64_t zone_life_answered(const struct zone_life *life);
// Adds to servers of that group, where they fetched nothing from this process, what the status says
// that they fetched from one before it.
void zone_life_recall_fetches(const struct zone_status *ours, const char *group,
                              struct server_view *servers, size_t count);
// The same for the servers in `life`.
void zone_life_complete(struct zone_life *life);
