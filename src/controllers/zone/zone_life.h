#pragma once

#include "dns/zone_compiler.h"
#include "engine/controller.h"
#include "kinds/zone/zone_kind.h"
#include "store/object.h"

// What becomes of one zone over time: which of its contents is built, being written, served, and
// answered by its servers. Contents are counted, so that of two it is known which came later.
// Resident, owned by the shared model (zones.h).

// A content of a zone under one serial.
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
    uint64_t number;             // of what the zone tree says now
    struct zone_content built;   // the last one that was asked for
    struct zone_content pending; // handed to the store, until that says so
    struct zone_content stored;  // the store has its hash and serial: it may be served
    struct zone_content published;
    int64_t published_ms; // Unix; 0: not yet settled
    uint64_t answered;    // all servers have had that; a server that goes down takes nothing back
    struct server_view *servers;
    size_t server_count;
    char *secondaries; // the group whose servers those are; NULL: none
    char *group;       // that it is to have; NULL: none
    bool is_moved;     // to such a group, or out of one: its records have to say so
    struct zone_mark marks[ZONE_MARKS_MAX]; // the newest last
    size_t mark_count;
    struct zone_wait *waits; // records that the servers do not have yet; the longest waiting first
    size_t wait_count;
    size_t wait_capacity;
    size_t wait_first;
    size_t wait_reported; // those before it were woken when their second was over
    bool is_due;          // to be looked at by the next settle
    bool is_new;          // its numbers began here: servers may have them of another primary
};

void zone_life_free(struct zone_life *life); // accepts NULL
// The content as it is now under that serial. Borrowed until the next call for that zone.
const struct zone_content *zone_life_build(struct zone_life *life, struct zone_compiler *compiler,
                                           uint32_t serial);
// What was built last goes to the store.
void zone_life_pend(struct zone_life *life);
// The store has this hash and serial: what is known to have them becomes `stored`. False: nothing
// is.
bool zone_life_store(struct zone_life *life, struct text hash, uint32_t serial);
// A content of before this process, found in the store: it is what is to be published.
void zone_life_recall(struct zone_life *life, struct zone *zone);
// Has the server the serial that is published, though never from us, and of a zone that is new?
// Then its content is somebody else's.
bool zone_life_is_foreign(const struct zone_life *life, const struct server_view *server);
// Which state of what is published the server has.
enum zone_server_state zone_life_state(const struct zone_life *life,
                                       const struct server_view *server);
// What is stored is served now.
void zone_life_publish(struct zone_life *life);
bool zone_life_is_group(const char *a, const char *b); // NULL: none
// Of what is published, the number of the content that all servers of its group have at least.
uint64_t zone_life_answered(const struct zone_life *life);
// What the servers of that group fetched before this process began is known from the status alone.
void zone_life_recall_fetches(const struct zone_status *ours, const char *group,
                              struct server_view *servers, size_t count);
// The same for all that the life knows of its servers.
void zone_life_complete(struct zone_life *life);
