#pragma once

#include "controllers/zone/forest.h"
#include "controllers/zone/zone_controller.h"
#include "controllers/zone/zonefiles.h"
#include "kinds/zone/zone_kind.h"

// The overview of the zone controller: the forest, and of each zone which of its contents is being
// written, served, and answered by its servers. Contents are counted: a record is answered when the
// servers of its zone have the content that it came about with, or a later one.

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
    uint64_t number;             // of what the forest says now
    struct zone_content built;   // the last one that was asked for
    struct zone_content pending; // handed to the store, until that says so
    struct zone_content stored;  // the store has its hash and serial: it may be served
    struct zone_content published;
    int64_t published_ms; // Unix; 0: not yet settled
    uint64_t answered;    // all servers have had that; a server that goes down takes nothing back
    struct server_view *servers;
    size_t server_count;
    struct zone_mark marks[ZONE_MARKS_MAX]; // the newest last
    size_t mark_count;
    struct zone_wait *waits; // records that the servers do not have yet; the longest waiting first
    size_t wait_count;
    size_t wait_capacity;
    size_t wait_first;
    size_t wait_told; // those before it were woken when their second was over
    bool is_due;      // to be looked at by the next settle
    bool is_new;      // its numbers began here: servers may have them of another primary
};

// How long servers may take before it is said that they do not answer a change yet.
enum { ZONE_PATIENCE_MS = 1000 };

struct zones;
struct forest *zones_forest(struct zones *zones);
const struct zone_settings *zones_settings(const struct zones *zones);
// NULL: there is none of that name.
const struct zones_group *zones_group(const struct zones *zones, struct text name);
struct zone_life *zones_life(struct zones *zones, const struct object *zone);
struct zone_life *zones_life_named(struct zones *zones, struct zone_ref ref); // NULL: not there
struct zonefiles *zones_files(const struct zones *zones);
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
// What servers fetched before this process began is known from the status alone.
void zones_recall_fetches(const struct zone_status *ours, struct server_view *servers,
                          size_t count);
// Do all servers of its zone have what the record came to last? *since_ms: since when it waits.
bool zones_is_answered(const struct zones *zones, const struct object *record, int64_t *since_ms);

extern const struct overview zones_overview;
