#pragma once

#include "controllers/ingress/wants.h"
#include "engine/controller.h"

// Inside this folder: one reconciliation of one object, whatever its kind. reconcile_claim() says
// what is claimed at each Pi-hole, reconcile_report() what is written into the annotations, and
// reported in Events and log lines.
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
    bool is_going;               // it is being deleted
    struct wants wants;
    struct problems problems;
    struct standing *standing; // by name, Pi-hole and type
    size_t standing_count;
    const struct text *managed; // names in managed-hosts, sorted
    size_t managed_count;
    bool is_marked;   // we wrote them, as managed-by says
    bool was_foreign; // a predecessor wrote them: there is no managed-by
};

// The decision for an object of any kind; `source` is NULL when the object is gone.
void reconcile_decide(const struct snapshot *snapshot, const struct source *source,
                      struct decision *out);

// ---- reconcile.c --------------------------------------------------------------------------------

bool reconcile_wants(const struct reconcile *reconcile, struct text name); // the object asks for it
bool reconcile_manages(const struct reconcile *reconcile, struct text name); // managed-hosts has it
// The receipts of a name, one behind the other.
struct standing *reconcile_find(const struct reconcile *reconcile, struct text name, size_t *count);
// By its URL; NULL: that Pi-hole is not configured.
const struct pihole_target *reconcile_target(const struct reconcile *reconcile,
                                             const char *registry);
// NULL: it is not open.
const struct backend_view *reconcile_backend(const struct reconcile *reconcile,
                                             const struct pihole_target *target);
// True if what that intent asks for has been done.
bool reconcile_is_settled(const struct receipt *receipt, enum claim_intent intent);

// ---- claims.c, report.c -------------------------------------------------------------------------

void reconcile_claim(struct reconcile *reconcile);
void reconcile_report(struct reconcile *reconcile);
