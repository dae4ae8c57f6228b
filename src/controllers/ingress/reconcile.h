#pragma once

#include "controllers/ingress/wants.h"
#include "engine/controller.h"

// Inside this folder: one reconciliation of one object, whatever its kind. reconcile_claim() says
// what is claimed at each Pi-hole, reconcile_report() what is written into the annotations and
// told.
//
// Everything is decided from the snapshot: what the object asks for, what became of the claims so
// far (receipts), and, after a restart, the names that it had (managed-hosts).

// A receipt, and whether this decision names its claim again.
struct standing {
    const struct receipt *receipt;
    bool is_named;
};

struct reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    const struct pihole_targets *targets;
    const struct source *source; // NULL: the object is gone, or all that counts of it
    uint64_t epoch;              // of its spec
    bool is_going;               // in deletion
    struct wants wants;
    struct problems problems;
    struct standing *standing; // by name, Pi-hole and type
    size_t standing_count;
    const struct text *managed; // names in managed-hosts, sorted
    size_t managed_count;
    bool is_marked;   // they are what we wrote there
    bool was_foreign; // they are what a predecessor wrote
};

// Whatever it is: `source` NULL when the object is gone.
void reconcile_decide(const struct snapshot *snapshot, const struct source *source,
                      struct decision *out);

// ---- reconcile.c --------------------------------------------------------------------------------

bool reconcile_wants(const struct reconcile *reconcile, struct text name);
bool reconcile_manages(const struct reconcile *reconcile, struct text name);
// The receipts of a name.
struct standing *reconcile_find(const struct reconcile *reconcile, struct text name, size_t *count);
const struct pihole_target *reconcile_target(const struct reconcile *reconcile,
                                             const char *registry);
const struct backend_view *reconcile_backend(const struct reconcile *reconcile,
                                             const struct pihole_target *target);
bool reconcile_is_settled(const struct receipt *receipt, enum claim_intent intent);

// ---- claims.c, report.c -------------------------------------------------------------------------

void reconcile_claim(struct reconcile *reconcile);
void reconcile_report(struct reconcile *reconcile);
