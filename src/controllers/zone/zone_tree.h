#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/zone_compiler.h"
#include "kinds/condition.h"
#include "store/object.h"

// All Zones and Records in one resident model: which zone lies below which, which of several zones
// with one name is live, which zone adopts a record, and what each compiled zone contains. The
// caller reports each object that is added, changed or deleted; zone_tree_settle() works out what
// follows. The result is the same as that of a new zone tree that is given all objects at once.

// Which namespaces may own zones that lie below no other zone (from the zones configuration).
struct zone_tree_claim {
    const char *const *patterns; // "example.org.", "*.example.org."
    size_t pattern_count;
    const char *const *namespaces; // none: every one
    size_t namespace_count;
};
struct zone_tree_settings {
    bool is_open; // no claim is needed: any namespace may own a zone, as in Kubizone
    const struct zone_tree_claim *claims; // NULL: anybody
    size_t claim_count;
    const struct zone_nameserver *fallbacks; // of zones that have none
    size_t fallback_count;
    // Whether a server group of that name exists (absent: the group of a zone that names none), and
    // how many records its servers accept at one name.
    bool (*find_group)(const void *context, struct text name, struct zone_limits *limits);
    // The group whose catalog zone has that name; NULL: none. The member may be NULL.
    const char *(*catalog_of)(const void *context, struct dname name);
    const void *context;
};

enum { ZONE_TREE_WARNINGS_MAX = 24 }; // further ones are left out
struct zone_tree_warning {
    enum reason reason;
    const char *text;
};

// The outcome of one Zone. Texts and lists live in the arena that was handed in.
struct zone_tree_zone {
    const struct object *object;
    bool has_fqdn;
    struct dname fqdn; // borrowed from the zone tree, until it is settled again
    bool is_live;
    const struct object *parent; // the zone above it, which its label names; or NULL
    enum reason accepted;        // REASON_ACCEPTED, else why not
    const char *accepted_text;
    enum reason ready; // REASON_COMPILED, else why not
    const char *ready_text;
    struct zone_tree_warning warnings[ZONE_TREE_WARNINGS_MAX];
    size_t warning_count;
    struct zone_compiler *compiler; // settled; NULL: the zone is not live
};
struct zone_tree_record {
    const struct object *object;
    bool has_fqdn;
    struct dname fqdn;         // in the arena
    const struct object *zone; // that adopted it; or NULL
    enum reason accepted;      // REASON_ADOPTED, else why not
    const char *accepted_text;
    enum reason conflicted; // REASON_NO_CONFLICT, else why
    const char *conflicted_text;
    bool is_in; // it is part of its zone's content
    struct zone_tree_warning warnings[ZONE_TREE_WARNINGS_MAX];
    size_t warning_count;
};

struct zone_tree;
struct zone_tree *
zone_tree_new(const struct zone_tree_settings *settings); // borrowed, while it lives
void zone_tree_free(struct zone_tree *zone_tree);
// Adds a Zone or Record, or replaces its earlier state. Takes a reference of its own.
void zone_tree_put(struct zone_tree *zone_tree, const struct object *object);
// The same for a state that we wrote ourselves: it counts as changed only if its spec differs.
void zone_tree_refresh(struct zone_tree *zone_tree, const struct object *object);
void zone_tree_remove(struct zone_tree *zone_tree, const struct object *object);
// Replaces the settings; everything is worked out again.
void zone_tree_set_settings(struct zone_tree *zone_tree, const struct zone_tree_settings *settings);

// Works out what follows from all calls since the last one. `changed` is called once for each Zone
// and Record whose outcome may differ now, in no order, and always for those that were put;
// Records come after all Zones. `content` is called for each live zone whose content may differ,
// `gone` for each zone that is live no more. The callbacks may read the zone tree, not change it.
struct zone_tree_reported {
    void (*changed)(void *context, const struct object *object);
    void (*content)(void *context, const struct object *zone);
    void (*gone)(void *context, const struct object *zone, struct dname fqdn);
    void *context;
};
void zone_tree_settle(struct zone_tree *zone_tree, const struct zone_tree_reported *reported);

// The outcome of one object, after zone_tree_settle(). False: the zone tree does not have it.
bool zone_tree_zone(const struct zone_tree *zone_tree, struct arena *arena,
                    const struct object *object, struct zone_tree_zone *out);
// The same as `ready` of zone_tree_zone(), at a cost that does not grow with the zone.
enum reason zone_tree_zone_ready(const struct zone_tree *zone_tree, const struct object *object);
bool zone_tree_record(const struct zone_tree *zone_tree, struct arena *arena,
                      const struct object *object, struct zone_tree_record *out);
// The zone that adopted the record, at no cost; NULL: none.
const struct object *zone_tree_home(const struct zone_tree *zone_tree, const struct object *record);
// Why the record is left out of its zone; ZONE_FINE: it is not.
enum zone_reason zone_tree_excluded(const struct zone_tree *zone_tree, const struct object *record);
