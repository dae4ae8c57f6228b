#pragma once

#include "engine/claim_life.h"
#include "engine/state.h"

// What the files of claims know of each other (claim*.c, receipt.c).

// claim.c
void claim_clear_failure(struct engine *engine, uint32_t id);
struct pending *claim_pending(struct engine *engine, struct claim *claim);
const uint8_t *claim_wanted_hash(const struct claim *claim);
// Notes what stands at the backend; the claim goes on wanting what it wanted.
void claim_set_there(struct engine *engine, struct claim *claim,
                     const uint8_t hash[FINGERPRINT_OCTETS]);
void pending_set_content(struct engine *engine, struct pending *pending,
                         const struct record_set *set);
void claim_leave_backend(struct engine *engine, struct claim *claim);
bool claim_is_match(const struct claim *claim);
bool claim_is_satisfied(const struct claim *claim);
const struct object *claim_object(const struct engine *engine, const struct claim *claim);
// What it lost to, or shares with. NO_ID: nothing, or that is gone and the name not planned since.
uint32_t claim_holder(const struct engine *engine, const struct claim *claim);
// What its receipt shows of it, but for failures: another one is news to its key.
uint32_t claim_face(const struct claim *claim);
// Gives it another standing by the plan of its name. `holder`: of one that lost or shares, else
// NO_ID. Its key is woken when either is another than before.
void claim_stand(struct engine *engine, uint32_t id, enum claim_move move, uint32_t holder);
void claim_land(struct engine *engine, uint32_t id);
// It is tried again then. Not of one in flight.
void claim_back_off(struct engine *engine, uint32_t id, int64_t delay_ms);
void claim_end_back_off(struct engine *engine, uint32_t id); // if it does
// Nothing is to be done for it. One in flight goes on.
void claim_rest(struct engine *engine, uint32_t id);
bool claim_has_content(const struct claim *claim, enum claim_intent sends);
// What goes first may take our content along: a by-name server holds one record under both splits.
void claim_doubt(struct claim *claim);
// Of two claims at one name.
bool claim_is_same_key(const struct claim *a, const struct claim *b);
void claim_wake_if_other(struct engine *engine, uint32_t id, uint32_t face);

// claim_move.c
// Carries a move out and proves the state that it leads to; aborts where there is no such move from
// the state at hand.
void claim_move(struct engine *engine, uint32_t id, enum claim_move move);
void pending_free(struct pending *pending);

// claim_registry.c
uint32_t claim_first_of_name(struct engine *engine, const struct claim *claim);
uint32_t claim_make(struct engine *engine, uint32_t key, const struct claim_want *want);
// Another claim at the same name, or NO_ID.
uint32_t claim_neighbour(struct engine *engine, uint32_t id);
void claim_unchain_key(struct engine *engine, uint32_t id);
void claim_release(struct engine *engine, uint32_t id);
uint32_t claim_first_of_want(struct engine *engine, const struct claim_want *want);
// A name may have many claims, and so may a key: whichever chain ends first tells it.
uint32_t claim_of_key(struct engine *engine, uint32_t key, const struct claim_want *want);

// claim_plan.c
bool claim_is_crowded(struct engine *engine, uint32_t id);
// No key names it any more and it is not in flight. Where its name is planned later it stays until
// then, for those that lost to it. Returns a claim whose name is to be planned now, or NO_ID.
uint32_t claim_drop(struct engine *engine, uint32_t id);
void claim_bury(struct engine *engine, uint32_t id);
// The key does not name it any more. One in flight stays as a zombie until its receipt.
void claim_forget(struct engine *engine, uint32_t id);

// receipt.c
// One that shares fares as its holder does.
const struct claim *claim_shown(const struct engine *engine, const struct claim *claim);
