#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/zone_compiler.h"
#include "kinds/condition.h"
#include "store/object.h"

// All Zones and Records as one: which zone lies below which, which of several with one name is
// live, which record belongs to which zone and may be there, and what each zone comes to. Resident.
// It is told of each object that came, changed or went, and settles what that changes; what it then
// says is the same as that of a new zone tree that was given all objects at once.

// Who may own zones that lie in no other (the zones configuration).
struct zone_tree_claim {
    const char *const *patterns; // "example.org.", "*.example.org."
    size_t pattern_count;
    const char *const *namespaces; // none: every one
    size_t namespace_count;
};
struct zone_tree_settings {
    bool is_open; // every zone is live and every sub-zone may be, as in Kubizone
    const struct zone_tree_claim *claims; // NULL: anybody
    size_t claim_count;
    const struct zone_nameserver *fallbacks; // of zones that have none
    size_t fallback_count;
    // Is there a server group of that name (absent: of a zone that names none), and what do its
    // servers take at one name?
    bool (*find_group)(const void *context, struct text name, struct zone_limits *limits);
    // The group whose catalog has that name; NULL: none has. May be NULL.
    const char *(*catalog_of)(const void *context, struct dname name);
    const void *context;
};

enum { ZONE_TREE_WARNINGS_MAX = 24 }; // of more the first are told
struct zone_tree_warning {
    enum reason reason;
    const char *text;
};

// What one Zone comes to. Texts and lists live in the arena that was handed in.
struct zone_tree_zone {
    const struct object *object;
    bool has_fqdn;
    struct dname fqdn; // borrowed from the zone tree, until it is settled again
    bool is_live;
    const struct object *parent; // whose label it gets; or NULL
    enum reason accepted;        // REASON_ACCEPTED, else why not
    const char *accepted_text;
    enum reason ready; // REASON_COMPILED, else why not
    const char *ready_text;
    struct zone_tree_warning warnings[ZONE_TREE_WARNINGS_MAX];
    size_t warning_count;
    // Of live ones. Settled.
    struct zone_compiler *compiler;
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
// A Zone or Record; takes a reference of its own. An earlier state is replaced.
void zone_tree_put(struct zone_tree *zone_tree, const struct object *object);
// The same, but told of only if the spec is another: a state that we wrote ourselves.
void zone_tree_refresh(struct zone_tree *zone_tree, const struct object *object);
void zone_tree_remove(struct zone_tree *zone_tree, const struct object *object);
// The settings are others now: all is worked out again.
void zone_tree_set_settings(struct zone_tree *zone_tree, const struct zone_tree_settings *settings);

// Works out what came. `changed` is called once for each object whose outcome may be another now:
// Zones and Records, in no order; for those put since the last time always. It may not call back.
// `content` for each live zone whose content may be another, and `gone` for each that is no longer.
struct zone_tree_told {
    void (*changed)(void *context, const struct object *object);
    void (*content)(void *context, const struct object *zone);
    void (*gone)(void *context, const struct object *zone, struct dname fqdn);
    void *context;
};
void zone_tree_settle(struct zone_tree *zone_tree, const struct zone_tree_told *told);

// After a settle. False: it is not there.
bool zone_tree_zone(const struct zone_tree *zone_tree, struct arena *arena,
                    const struct object *object, struct zone_tree_zone *out);
// What zone_tree_zone() tells as `ready`, at no cost that grows with the zone.
enum reason zone_tree_zone_ready(const struct zone_tree *zone_tree, const struct object *object);
bool zone_tree_record(const struct zone_tree *zone_tree, struct arena *arena,
                      const struct object *object, struct zone_tree_record *out);
// Whose record it is, at no cost; NULL: no zone's.
const struct object *zone_tree_home(const struct zone_tree *zone_tree, const struct object *record);
// Why it is kept out of that zone; ZONE_FINE: it is not.
enum zone_reason zone_tree_excluded(const struct zone_tree *zone_tree, const struct object *record);
