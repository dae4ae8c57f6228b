#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dns/record.h"

// What to do at one owner name of one backend, from everything that is claimed there. Pure, and
// independent of the order in which claims came. Rules: the oldest claim wins a type (CNAME claims
// all types); claims that lose and REMOVEs beat nobody; the loser sends nothing; a REMOVE of a type
// and split that another claim wants is not sent, but inherited by that claim; where claims share,
// one that wants what the winner wants loses nothing; what excludes a wanted set (a CNAME beside
// other data, the same type under another split) is removed before it, whoever claims it.

enum plan_want {
    PLAN_KEEP,   // ours; leave whatever stands there
    PLAN_LOOK,   // the same, and find out what that is
    PLAN_SET,    // this content shall stand there
    PLAN_REMOVE, // nothing of ours shall stand there
};

struct plan_claim {
    // Claims of one owner never conflict with each other, but a SET waits for its owner's REMOVE
    // as for any other: do not suspend a REMOVE for a SET of the same name that it excludes.
    const void *owner;
    enum record_type type;
    struct text domain; // the split: by-name servers keep one record under both paths
    struct text subdomain;
    enum plan_want want;
    bool is_suspended; // competes, but must not be sent yet
    bool is_satisfied; // what stands there is known to be what is wanted
    // A SET of a backend where claims with the same content stand together: a digest of that
    // content. 0: it does not share.
    uint64_t content;
};

enum plan_act {
    PLAN_SETTLED, // nothing to do
    PLAN_SEND,    // send the SET, REMOVE or LOOK now
    PLAN_SUSPEND, // would be sent, but is suspended
    // A SET: the REMOVE `other` comes first, and may remove what stands there of it. A REMOVE:
    // `other`, of the same type and split, will inherit it once it may be sent and wants to.
    PLAN_WAIT,
    PLAN_LOST,      // `other` holds the name
    PLAN_SHARED,    // `other` holds it, with the very content that this one wants
    PLAN_INHERITED, // a REMOVE that ends when `other`, of the same type and split, is satisfied
};

struct plan_step {
    enum plan_act act;
    size_t other; // index of a claim; meaningful for WAIT, LOST, SHARED, INHERITED
};

// `claims` are all claims at the name, oldest first (creation, group/kind, namespace/name). steps
// has room for `count`.
void plan_name(const struct plan_claim *claims, size_t count, struct plan_step *steps);
// Do two sets exclude each other at one name as claims of different owners?
bool plan_excludes(enum record_type a, enum record_type b);
