#pragma once

#include "controllers/ingress/problems.h"
#include "controllers/ingress/targets.h"
#include "kinds/pihole_annotations.h"

// What an object asks for, read from its annotations and names alone: pure, and the same for every
// kind that names hosts.

enum {
    WANTS_NAMES_MAX = 1000, // of one object
    WANTS_LOOKED_MAX = 4 * WANTS_NAMES_MAX,
};

// An object as its kind's input fills it in; texts as written.
struct source {
    const char *word;         // "ingress": what log lines call its kind
    const char *skipped;      // "ingress skipped (no hosts)"
    const struct text *hosts; // of its spec
    size_t host_count;
    const struct text *addresses; // of its status, or of what it is reached through
    size_t address_count;
    const char *no_hosts;     // for users, when there are none
    const char *no_addresses; // the same
    struct pihole_annotations annotations;
    struct pihole_managed ours;
};

// At one Pi-hole.
struct want_target {
    const struct pihole_target *target;
    bool is_in_reach; // it serves the namespace, and the object did not choose others
    // Why the names have no addresses there: what stands there stays. Else NULL.
    const char *missing;
    const struct pihole_addresses *addresses;
};
struct wants {
    bool is_registered;
    // An annotation is at fault so that nobody knows what is meant: all that stands there stays.
    bool is_frozen;
    const struct text *names; // canonical, each once, in the order of the object
    size_t name_count;
    struct text cname; // their target; absent: addresses
    uint32_t cname_ttl_s;
    struct want_target *targets; // one for each Pi-hole
    size_t target_count;
};

// Lower-case A-labels without final dot, as Pi-hole takes them; no wildcards, no addresses, and
// none of the names that mean something else to those who ask (localhost, pi.hole). Error texts are
// the explanation alone.
bool wants_name(struct arena *arena, struct text host, struct text *out, struct error *err);
// targets->count 0: what depends on Pi-holes is not looked at. What is wrong goes to `problems`.
void wants_read(struct arena *arena, const struct source *source,
                const struct pihole_targets *targets, struct text namespace_, struct wants *out,
                struct problems *problems);
