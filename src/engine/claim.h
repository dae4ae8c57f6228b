#pragma once

#include "dns/plan.h"
#include "engine/engine.h"

// A claim is one record set that a key wants at a backend, wants removed there, or wants to look
// at. It belongs to the claim registry of the server's URL. Where several claims want one name, a
// plan of the name (dns/plan.h) decides which of them holds it. A claim exists from the first
// submit that names it until a submit does not name it any more and nothing of it is in flight; at
// a name whose plans are delayed, until the next plan.

struct engine;
struct claim;
struct backend;
struct snapshot;
struct change;
struct exchange;

// A place in the queue of a backend.
struct due_link {
    uint32_t next;
    uint32_t previous;
    bool is_background;
    bool goes_first; // it stood in line before, for the look that this change follows
};

// claim.c
// Borrowed until the next claim is made. Slots may be free.
const struct claim *claim_get(const struct engine *engine, uint32_t id);
bool claim_is_free(const struct claim *claim);
enum record_type claim_type(const struct claim *claim);
const char *claim_name(const struct claim *claim);  // the owner name
uint16_t claim_registry(const struct claim *claim); // the number of its registry
uint32_t claim_key(const struct claim *claim);      // NO_ID: its key does not want it any more
uint32_t claim_next_of_name(const struct claim *claim);
const char *
claim_replaces(const struct claim *claim);      // what it overwrites that is not ours; or NULL
bool claim_is_shown(const struct claim *claim); // LOOK: a dry run asks for it, too
// A SET that stands as wanted and was made by somebody else.
bool claim_is_satisfied_by_others(const struct claim *claim);
bool claim_is_refused(const struct claim *claim); // the backend says that its content is wrong
const struct object *claim_object(const struct engine *engine, const struct claim *claim);
// Only of a claim that has a pending part.
struct due_link *claim_due_link(const struct engine *engine, uint32_t id);
struct backend *claim_backend(const struct engine *engine, const struct claim *claim); // NULL: none
struct text claim_domain(const struct claim *claim);
struct text claim_subdomain(const struct claim *claim);
// True if this SET wants the content with that fingerprint. False also when that is not known.
bool claim_wants(const struct claim *claim, const uint8_t hash[FINGERPRINT_OCTETS]);
// The provider fingerprints the same content as `now` that it fingerprinted as `before`: takes that
// over if it is what the claim wants.
void claim_learn(struct engine *engine, uint32_t id, const uint8_t before[FINGERPRINT_OCTETS],
                 const uint8_t now[FINGERPRINT_OCTETS]);
// Fills in what an exchange is to do for it; texts live in the arena.
void claim_fill_change(const struct engine *engine, uint32_t id, struct arena *arena,
                       struct change *change);
bool claim_stands(const struct claim *claim);             // something of ours is known to stand
bool claim_may_stand(const struct claim *claim);          // something of ours stands there, or may
enum claim_intent claim_sends(const struct claim *claim); // SET, REMOVE or LOOK: what is to be sent
enum change_op claim_op(const struct claim *claim);       // the same, as an exchange names it

enum receipt_state claim_state(const struct claim *claim); // what its key sees in the receipt
bool claim_is_forgotten(const struct claim *claim);        // its key does not want it any more
// Takes a claim out of its backend's queue, if it is there. Nothing is sent for it until a plan of
// its name queues it again, unless the caller puts it into an exchange.
void claim_unqueue(struct engine *engine, uint32_t id);
bool claim_has_failed(const struct claim *claim); // since it was settled last
// The exchange carries it out. The claim is not queued, and what it sends is in memory.
void claim_begin_exchange(struct engine *engine, uint32_t id, struct exchange *exchange);

// claim_registry.c
// The number is valid until the next call, unless a reference is taken.
uint16_t registry_get(struct engine *engine, const char *registry);
// The first claim at that name of the registry, or NO_ID.
uint32_t claims_at(struct engine *engine, uint16_t registry, const char *name);
void registries_free(struct engine *engine);

// claim_submit.c
// Replaces all claims of the key. True when that changed its receipts. What changes them later
// (a plan that was delayed, an exchange) wakes the key.
bool registry_submit(struct engine *engine, uint32_t key, const struct claim_want *wants,
                     size_t count);

// claim_plan.c
// Plans the claim's name: at once where there are few claims of it, a little later where there are
// many.
void registry_replan(struct engine *engine, uint32_t claim);
// Plans one of the names with many claims whose time has come.
void registry_plan_crowded(struct engine *engine);
// True if the key has new or changed claims of a name whose plans are delayed, or claims that lost
// to one that is gone since. There is nothing to report of them yet; the plan wakes the key.
bool registry_awaits_plan(const struct engine *engine, uint32_t key);
// The object whose claim would hold the name if the subject made such a claim; NULL: the subject's
// would, or would share with the holder. Claims of `key` (NO_ID: none) are left out, as they are
// the subject's own, and so are claims that lost. The registry is not changed.
const struct object *registry_holder(struct engine *engine, uint32_t key,
                                     const struct object *subject, const struct claim_want *want);

// claim_outcome.c
// Its exchange ended with the outcome in `change`. `hash` is the fingerprint of what a SET put
// there. Plans the name; a claim that its key does not want any more is removed.
void claim_finish(struct engine *engine, uint32_t id, const struct change *change,
                  const uint8_t hash[FINGERPRINT_OCTETS], const char *trace);
// Its exchange ended and nobody knows whether the change was made: what stood there is not known
// any more. A claim that its key does not want any more is removed.
void claim_unanswered(struct engine *engine, uint32_t id, enum change_op op);
// Its exchange did nothing, for a reason that lies with the backend as a whole: the claim is due
// again.
void claim_put_back(struct engine *engine, uint32_t id, enum change_op op);
// Counts a failed attempt, and lets the claim back off. Wakes its key and those that share with it.
void claim_fail(struct engine *engine, uint32_t id, const struct error *error, const char *trace);
void claim_retry(struct engine *engine, uint32_t id); // its back-off is over
// The same for all claims that go through the backend.
void claims_retry(struct engine *engine, const struct backend *backend);
// How many back off, by the number of their backend, and when (Unix ms) the first is tried again.
struct back_offs {
    size_t count;
    int64_t next_ms; // 0: never
};
void claims_count_back_offs(const struct engine *engine, struct back_offs *by_number);
// For how long what is to be sent for it has been due; -1: nothing is.
int64_t claim_due_ms(const struct engine *engine, const struct claim *claim);
// Wakes the keys of the claims that go through the backend and are not settled.
void claims_wake_unsettled(struct engine *engine, const struct backend *backend);
// Reports what a listing has shown at the claim's name. `ours` and `theirs` are fingerprints of the
// content with our mark and of somebody else's, or NULL. is_blocked: somebody else has data there,
// such as a CNAME, beside which nothing else may stand.
void claim_found(struct engine *engine, uint32_t id, const uint8_t *ours, const uint8_t *theirs,
                 bool is_blocked);

// receipt.c
// All texts of the receipts are copies in the arena: they outlive the claims.
void registry_fill_receipts(struct engine *engine, uint32_t key, struct snapshot *snapshot);
// True if the key has claims, and all of them are settled.
bool registry_is_settled(const struct engine *engine, uint32_t key);
