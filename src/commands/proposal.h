#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/value.h"
#include "dns/record.h"
#include "engine/engine.h"

// A plan as data: every change that would be sent, what is in the way of others, and a checksum by
// which somebody can approve exactly these changes. The order is always the same.

// What changes in a zone that we serve ourselves, in the order in which it is told.
enum proposal_part { PROPOSAL_ZONE, PROPOSAL_MEMBER, PROPOSAL_RECORDS };
struct proposal_zone {
    enum proposal_part part;
    const char *apex;    // "shop.example"
    const char *servers; // the group; NULL: none, or not known
    const char *name;    // owner name
    const char *type;    // RECORDS: "A"
    uint32_t ttl_s;      // RECORDS, as the values: of a deletion it does not count
    const char **values; // rdata
    size_t value_count;
    const char *catalog; // MEMBER: of which it is one
    int64_t records;     // ZONE: how many it has then, and had before; -1: none, or as many
    int64_t records_before;
    const char *note; // ZONE, for people; or NULL
    const char *hash; // ZONE, where it is not told which records change: what they come to; or NULL
};

struct proposal_change {
    enum engine_act act;
    const char *backend;    // "class-home"
    const char *class_name; // "home"
    const char *server;
    const char *name; // owner name
    struct record_set set;
    const struct proposal_zone *zone; // in place of class, server and set; or NULL
    // We write an object that asks for it; whoever reads that object carries it out.
    bool is_written;
    const char *replaces;    // what it overwrites that is not ours, for people; or NULL
    const struct kind *kind; // of the object for which it is; NULL: nobody wants it any more
    const char *namespace_;  // "" when cluster-scoped
    const char *object;
    size_t order; // in which it was added
};

struct proposal_obstacle {
    const struct kind *kind;
    const char *namespace_;
    const char *object;
    const char *reason;
    const char *message;
};

// A backend that cannot be worked with now.
struct proposal_trouble {
    const char *class_name; // as of a change
    const char *server;
    const char *reason; // "" where there is none
    const char *message;
    bool is_unread; // what would be changed there is not known
};

enum { PROPOSAL_SUM_MAX = 64, PROPOSAL_ACTS = 3 };

// Texts live in the arena. {.arena = arena} is ready for use.
struct proposal {
    struct arena *arena;
    struct proposal_change *changes;
    size_t count;
    size_t capacity;
    struct proposal_obstacle *obstacles;
    size_t obstacle_count;
    size_t obstacle_capacity;
    struct proposal_trouble *troubles;
    size_t trouble_count;
    size_t trouble_capacity;
    const char **refused; // documents: "web.yaml:7:3: ..."
    size_t refused_count;
    size_t refused_capacity;
    size_t counts[PROPOSAL_ACTS];
    char checksum[PROPOSAL_SUM_MAX + 1];
};

void proposal_done(struct proposal *proposal);
void proposal_add(struct proposal *proposal, const struct engine_change *change);
// Adds a change that somebody else carries out when he reads an object that we write (is_written).
void proposal_add_written(struct proposal *proposal, const struct engine_change *change);
// The texts of `zone` live as long as the proposal's arena.
void proposal_add_zone(struct proposal *proposal, enum engine_act act,
                       const struct proposal_zone *zone, const struct kind *kind,
                       const char *namespace_, const char *object);
void proposal_add_obstacle(struct proposal *proposal, const struct engine_obstacle *obstacle);
void proposal_add_trouble(struct proposal *proposal, const struct engine_degraded_backend *trouble);
void proposal_add_refused(struct proposal *proposal, const char *text);
// All is added: puts it in order, counts, and takes the SHA-256 of its changes as JSON.
void proposal_close(struct proposal *proposal);
// The change of a closed one that does the same, or NULL.
const struct proposal_change *proposal_match(const struct proposal *proposal,
                                             const struct proposal_change *change);
// The change of a closed one that does the same to the same record set of the same backend for the
// same object, or NULL. Whether it is thought to create or to update does not matter.
const struct proposal_change *proposal_find(const struct proposal *proposal,
                                            const struct engine_change *change);
// The first backend that could not be read (of that backend, when `backend` is not NULL), or NULL.
const struct proposal_trouble *proposal_unread(const struct proposal *proposal,
                                               const char *backend);

// ---- of zones (proposal_zone.c) -----------------------------------------------------------------

// "zone", "member", or the type of the records.
const char *proposal_zone_type(const struct proposal_zone *zone);
// What there is to tell beside name, TTL and type; nothing for records that go.
void proposal_zone_write_values(struct buffer *out, const struct proposal_zone *zone);
void proposal_zone_put(struct arena *arena, struct value *map, const struct proposal_zone *zone,
                       bool is_deletion);
int proposal_zone_compare(const struct proposal_zone *a, const struct proposal_zone *b);
bool proposal_zone_equal(const struct proposal_zone *a, const struct proposal_zone *b);

// ---- as text (proposal_text.c) ------------------------------------------------------------------

void proposal_write_text(struct buffer *out, const struct proposal *proposal);
void proposal_write_json(struct buffer *out, const struct proposal *proposal);
void proposal_write_markdown(struct buffer *out, const struct proposal *proposal);
// The changes alone, as one JSON list: what the checksum is taken of.
void proposal_write_changes(struct buffer *out, const struct proposal *proposal);
// "+ www.example.com 300 A 192.0.2.1"
void proposal_write_change(struct buffer *out, const struct proposal_change *change);
// "DNSRecord/default/web"
void proposal_write_object(struct buffer *out, const struct kind *kind, const char *namespace_,
                           const char *name);
