#pragma once

#include "engine/claim_life.h"
#include "engine/state.h"

// What only the files of claims (claim*.c, receipt.c) know.

// The last failure, in one allocation.
struct failure {
    enum fault fault;
    int status;
    int64_t at_ms;
    const char *reason;
    const char *code;
    const char *text;
    char trace[33];
    char octets[];
};

// The part of a claim that exists only while something is to be done for it, or while the content
// that it wants differs from what stands at the backend.
struct pending {
    struct content *content;                 // SET: what shall stand there; LOOK: what was found
    uint8_t wanted_hash[FINGERPRINT_OCTETS]; // of a SET that wants something else than stands there
    char *replaces; // SET: what stands there and is not ours, for people; or NULL
    struct failure *failure;
    int64_t next_unix_ms;
    int64_t since_ms;          // mono: when it became due first
    int64_t sendable_since_ms; // Unix ms: since when its key lets it be sent; 0: it does not yet
    struct exchange *exchange;
    unsigned attempts;
    struct due_link due_link; // in the queue of its backend
    bool may_adopt;
    bool is_shown; // LOOK: a dry run asks, too
};

// OPEN: a change was sent, and nobody knows whether it was made.
enum claim_there { THERE_UNKNOWN, THERE_NOTHING, THERE_SET, THERE_OPEN };

// Packed: there is one for each record.
struct claim {
    char *name; // owner name: subdomain (with its length below) and domain; NULL: the slot is free
    struct pending *pending;
    uint32_t key;
    uint32_t next_of_key;
    uint32_t next_of_name;
    union {
        uint32_t previous_of_name;
        uint32_t count_of_name; // of the first: how many there are
    };
    uint32_t settled_s;   // SETTLED: Unix seconds
    uint32_t name_holder; // LOST, or shared: the claim that holds the name
    uint32_t epoch;
    uint16_t registry;
    uint16_t backend; // number, see claim_backend()
    enum record_type type : 4;
    enum claim_intent intent : 2;
    enum claim_there there : 2;
    enum claim_standing standing : 4;
    enum claim_work work : 3;
    bool is_first : 1; // of its name: the one in the table of names
    bool is_suspended : 1;
    bool is_guarded : 1;   // REMOVE: the guard may hold it back,
    bool is_let_go : 1;    // but not any more: the name was wanted, or it has let the removal go
    bool shares : 1;       // stands together with others that do and want the same
    bool is_unplanned : 1; // plans of its name are delayed, and it is new or changed since the last
    bool was_looked : 1;   // LOOK: answered
    bool was_created : 1;
    bool was_sent : 1;
    bool is_inherited : 1;
    bool is_uncertain : 1;
    bool has_wanted : 1;   // the fingerprint of the wanted content is known
    bool wants_there : 1;  // has_wanted: it is there_hash; otherwise it is in `pending`
    bool is_foreign : 1;   // SET: what stands there was made by somebody else
    bool is_recalled : 1;  // its attempts include some from before this process
    bool is_doubted : 1;   // what the status remembers may have been removed with another's
    uint8_t subdomain_len; // 0: "@"
    uint8_t there_hash[FINGERPRINT_OCTETS];
};
_Static_assert(sizeof(struct claim) <= 72, "a claim grew");

// claim.c
// Forgets its failures and ends its back-off.
void claim_clear_failure(struct engine *engine, uint32_t id);
// Makes its pending part, unless it has one. It is READY then, unless more is being done for it.
struct pending *claim_pending(struct engine *engine, struct claim *claim);
void claim_set_wanted(struct engine *engine, struct claim *claim,
                      const uint8_t hash[FINGERPRINT_OCTETS]);
// Only of a claim with has_wanted.
const uint8_t *claim_wanted_hash(const struct claim *claim);
// Remembers what stands at the server; what the claim wants stays as it is.
void claim_set_there(struct engine *engine, struct claim *claim,
                     const uint8_t hash[FINGERPRINT_OCTETS]);
// Copies the set. NULL: the claim has no content.
void pending_set_content(struct engine *engine, struct pending *pending,
                         const struct record_set *set);
// It does not go through its backend any more.
void claim_leave_backend(struct engine *engine, struct claim *claim);
// True if it wants what stood at the server last.
bool claim_is_match(const struct claim *claim);
// True if nothing is to be sent for it.
bool claim_is_satisfied(const struct claim *claim);
// The claim that it lost to or shares with. NO_ID: there is none, or it is gone and the name was
// not planned since.
uint32_t claim_holder(const struct engine *engine, const struct claim *claim);
// What its receipt shows, but for failures, in one number: when it changes, the key is woken.
uint32_t claim_receipt_bits(const struct claim *claim);
// Makes the move that the plan of its name decided. `holder` is the claim that it lost to or shares
// with, else NO_ID. Wakes the key if the standing or the holder has changed.
void claim_set_standing(struct engine *engine, uint32_t id, enum claim_move move, uint32_t holder);
// Must be called when its exchange has ended.
void claim_end_exchange(struct engine *engine, uint32_t id);
// Sends it again after the delay. Not for a claim in flight.
void claim_back_off(struct engine *engine, uint32_t id, int64_t delay_ms);
void claim_end_back_off(struct engine *engine, uint32_t id); // if it does
// Nothing is to be sent for it: takes it out of the queue, ends its back-off and frees what it has
// in memory but the fingerprint that it wants. A LOOK keeps what it found. An exchange in flight
// goes on.
void claim_stop(struct engine *engine, uint32_t id);
// True if it has the content that such a change needs.
bool claim_has_content(const struct claim *claim, enum claim_intent sends);
// The REMOVE that must go first may remove the content of this claim, too, as some servers keep one
// record for both splits: what stands there is not certain any more.
void claim_doubt(struct claim *claim);
// True if two claims at one name have the same type and the same split of the name into domain and
// subdomain.
bool claim_is_same_type_and_split(const struct claim *a, const struct claim *b);
// Wakes its key if claim_receipt_bits() has changed from `bits`.
void claim_wake_if_changed(struct engine *engine, uint32_t id, uint32_t bits);

// claim_move.c
// Carries a move out and proves the invariants of the state that it leads to. Aborts if the table
// (claim_life.h) has no such move from the present state.
void claim_move(struct engine *engine, uint32_t id, enum claim_move move);
void pending_free(struct pending *pending);

// claim_registry.c
// Returns TABLE_NONE if nobody claims that name.
uint32_t claim_first_of_name(struct engine *engine, const struct claim *claim);
// Makes a claim of that key and files it under its name.
uint32_t claim_make(struct engine *engine, uint32_t key, const struct claim_want *want);
// Another claim at the same name, or NO_ID.
uint32_t claim_neighbour(struct engine *engine, uint32_t id);
// Takes it out of the list of its key's claims.
void claim_unchain_key(struct engine *engine, uint32_t id);
// Frees the slot of a claim that its key has forgotten. If plans of its name are delayed and it was
// the first, the next one stands for it from then on.
void claim_free(struct engine *engine, uint32_t id);
// The first claim at the name of such a want, or NO_ID.
uint32_t claim_first_of_want(struct engine *engine, const struct claim_want *want);
// The claim of that key for such a want, or NO_ID. Follows the claims of the key and those of the
// name at once, as either may be many, and stops where the shorter list ends.
uint32_t claim_of_key(struct engine *engine, uint32_t key, const struct claim_want *want);

// claim_plan.c
// True if there are so many claims of its name that plans of the name are delayed.
bool claim_name_is_crowded(struct engine *engine, uint32_t id);
// Removes a claim that its key has forgotten and that is not in flight. Returns another claim of
// its name, which is to be planned now, or NO_ID. If plans of the name are delayed, the claim only
// leaves its backend, and is freed before the next plan: until then others may have lost to it.
uint32_t claim_remove(struct engine *engine, uint32_t id);
// The same, and plans the name, if that is to be planned now.
void claim_remove_and_plan(struct engine *engine, uint32_t id);
// Its key does not want it any more. A claim in flight stays, without a key, until its exchange
// ends.
void claim_forget(struct engine *engine, uint32_t id);

// receipt.c
// The claim whose failures its receipt shows: itself, or its holder if it shares.
const struct claim *claim_shown(const struct engine *engine, const struct claim *claim);

// guarded_claims.c
// True if it is a removal that the guard of its backend has yet to let go.
bool claim_is_held_back(struct engine *engine, const struct claim *claim);
