#pragma once

#include "dns/plan.h"
#include "engine/engine.h"

// Claims: a claim is one record set that a key wants at a backend (or wants gone, or looked at).
// It lies in the claim registry of the server's URL, where several claims on one name are settled
// by plan, and lives from the first submit that names it until a submit names it no more and
// nothing of it is in flight.

struct engine;
struct claim;
struct backend;
struct snapshot;
struct change;
struct exchange;

// A place in the line of what is due at a backend.
struct due_link {
    uint32_t next;
    uint32_t previous;
    bool is_background;
};

// claim.c
// Borrowed until the next claim is made. Slots may be free.
const struct claim *claim_get(const struct engine *engine, uint32_t id);
bool claim_is_free(const struct claim *claim);
enum record_type claim_type(const struct claim *claim);
const char *claim_name(const struct claim *claim);  // the owner name
uint16_t claim_registry(const struct claim *claim); // the number of its registry
uint32_t claim_key(const struct claim *claim);      // NO_ID: its key forgot it
uint32_t claim_next_of_name(const struct claim *claim);
const char *claim_replaces(const struct claim *claim); // what is not ours and goes for it; or NULL
bool claim_is_shown(const struct claim *claim);        // LOOK: a dry run asks, too
// A SET that stands as wanted and was made by somebody else.
bool claim_is_satisfied_by_others(const struct claim *claim);
bool claim_is_refused(const struct claim *claim); // its content is wrong, said the backend
const struct object *claim_object(const struct engine *engine, const struct claim *claim);
// Only of a claim that has a pending part.
struct due_link *claim_due_link(const struct engine *engine, uint32_t id);
struct backend *claim_backend(const struct engine *engine, const struct claim *claim); // NULL: none
struct text claim_domain(const struct claim *claim);
struct text claim_subdomain(const struct claim *claim);
// Is `hash` what this SET wants to stand there? False, too, when that is not known.
bool claim_wants(const struct claim *claim, const uint8_t hash[FINGERPRINT_OCTETS]);
// What looked like `before` would look like `now`: if it wants that, it goes on wanting it.
void claim_learn(struct engine *engine, uint32_t id, const uint8_t before[FINGERPRINT_OCTETS],
                 const uint8_t now[FINGERPRINT_OCTETS]);
// What an exchange is to do for it; texts live in the arena.
void claim_fill_change(const struct engine *engine, uint32_t id, struct arena *arena,
                       struct change *change);
bool claim_may_stand(const struct claim *claim);          // something of ours stands there, or may
enum claim_intent claim_sends(const struct claim *claim); // SET, REMOVE, LOOK, as an exchange would
enum change_op claim_op(const struct claim *claim);       // of that exchange

enum receipt_state claim_state(const struct claim *claim); // what its key hears
bool claim_is_forgotten(const struct claim *claim);        // by its key
// Takes a claim out of its backend's line. It must depart with an exchange at once, or fail.
void claim_unqueue(struct engine *engine, uint32_t id);
bool claim_has_failed(const struct claim *claim); // since it was settled last
void claim_depart(struct engine *engine, uint32_t id, struct exchange *exchange);

// claim_registry.c
// The number is good until the next call, unless a reference is taken.
uint16_t registry_get(struct engine *engine, const char *registry);
// The first claim at that name of the registry, or NO_ID.
uint32_t claims_at(struct engine *engine, uint16_t registry, const char *name);
void registries_free(struct engine *engine);

// claim_submit.c
// Replaces all claims of the key. True when its receipts changed by it.
bool registry_submit(struct engine *engine, uint32_t key, const struct claim_want *wants,
                     size_t count);

// claim_plan.c
// Plans the claim's name: at once where few claim it, soon where many do.
void registry_replan(struct engine *engine, uint32_t claim);
void registry_plan_crowded(struct engine *engine); // one of the names that are due
// Has the key claims whose names are still to be planned, as they are new or changed, or as the
// claim that they lost to is gone? Then there is nothing to report of them yet; planning wakes the
// key.
bool registry_awaits_plan(const struct engine *engine, uint32_t key);
// The object whose claim would hold the name against such a claim of the subject; NULL: none.
// Claims of `key` (NO_ID: none) are left out: they are the subject's own. The registry stays as it
// is.
const struct object *registry_holder(struct engine *engine, uint32_t key,
                                     const struct object *subject, const struct claim_want *want);

// claim_outcome.c
void claim_finish(struct engine *engine, uint32_t id, const struct change *change,
                  const uint8_t hash[FINGERPRINT_OCTETS], const char *trace);
// Its exchange ended and nobody knows whether the change was made: what stood there counts no more.
// A claim that its key forgot is released.
void claim_unanswered(struct engine *engine, uint32_t id, enum change_op op);
// Its exchange came to nothing, for a reason that lies with the backend as a whole: it is due
// again.
void claim_put_back(struct engine *engine, uint32_t id, enum change_op op);
void claim_fail(struct engine *engine, uint32_t id, const struct error *error, const char *trace);
void claim_retry(struct engine *engine, uint32_t id); // its back-off is over
void claims_retry(struct engine *engine,
                  const struct backend *backend); // of all that go through it
// The keys of those that go through it and are not settled.
void claims_wake_unsettled(struct engine *engine, const struct backend *backend);
// Reports what a list has shown at the claim's name. `ours` and `theirs` are digests of the content
// with our mark and of somebody else's, or NULL. is_blocked: somebody else has data there, as a
// CNAME, that nothing may stand beside.
void claim_found(struct engine *engine, uint32_t id, const uint8_t *ours, const uint8_t *theirs,
                 bool is_blocked);

// receipt.c
void registry_fill_receipts(struct engine *engine, uint32_t key, struct snapshot *snapshot);
bool registry_is_settled(const struct engine *engine, uint32_t key);
