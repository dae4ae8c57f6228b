#pragma once

#include "controllers/intent/endpoint.h"
#include "controllers/intent/publication.h"

// Inside the controller of publications: what one reconciliation knows, and its parts.

// A DNS update record that the publication uses, or whose provider may still have names of it.
struct publication_record {
    const struct object *object; // NULL: it is gone, and so are the two below
    const struct update_record *spec;
    const struct update_record_status *status;
    struct published_record written; // as the status is to have it
    bool was_written;                // as the status has it already
    bool is_wanted;                  // some name is to be published by it
    size_t endpoints;                // DNSEndpoints of ours for it that stand
    bool is_drained;                 // nothing of ours is at its provider any more
    // How the drain goes, or ended.
    enum reason reason;
    const char *message;
};
// A record set that is claimed at a backend of ours (native.h).
struct native_claim {
    const struct publication_record *record;
    struct text name;
    struct text type;
    const struct text *targets;
    size_t target_count;
    int64_t ttl_s;
    bool is_wanted;                // otherwise it is to go
    bool is_guarded;               // and nobody asked for that in so many words
    bool is_suspended;             // nothing is to be sent for it yet
    bool is_shared;                // with other publications of its share group
    bool is_standing;              // a DNSEndpoint has it, which remembers it
    const struct receipt *receipt; // NULL: nothing was claimed yet
    // Another record of the same zone, from which the set has to go ahead; NULL: there is none.
    const struct publication_record *left_by;
};
struct publication_reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct model_reader reader;
    struct resolved resolved;
    struct endpoint_context context;
    struct dnspublication_status before;
    struct standing_endpoint *shared; // DNSEndpoints of its share group, its own among them
    size_t shared_count;
    bool is_wanted;     // the names are to be published
    bool has_endpoints; // the API server has DNSEndpoints
    struct intent_endpoint *endpoints;
    size_t endpoint_count;
    struct publication_record *records;
    size_t record_count;
    // Behind those stand the records whose drain has ended in this reconciliation. Their claims
    // stay until the status has forgotten them, so that the same status gives the same decision.
    size_t ended_count;
    struct native_claim *natives; // by record, name and type
    size_t native_count;
    bool has_drained; // a record is since now:
    struct publication_record drained;
    struct published_record *retained; // as the status is to have them
    size_t retained_count;
    size_t verify_questions; // so far
    size_t drain_count;      // drains that ended now with the names gone,
    int64_t drain_s;         // and how long they took together
    size_t writes;           // objects of the decision
};

// Which records are used, and how far those are drained that are not any more, and at whose
// providers names stay (publication_records.c).
void publication_records(struct publication_reconcile *reconcile);
// NULL: the publication neither uses nor used it.
struct publication_record *publication_find_record(const struct publication_reconcile *reconcile,
                                                   const struct object *record);
// That which a DNSEndpoint is for; NULL: it is not known any more.
struct publication_record *publication_record_of(const struct publication_reconcile *reconcile,
                                                 const struct standing_endpoint *standing);
// For each service, whether some record publishes it (arena).
const bool *publication_published_services(const struct publication_reconcile *reconcile);
// "a.example.org, b.example.org and 7 more" (arena).
const char *publication_list_names(struct arena *arena, const struct published_record *written);

// Judges whether the names of a record that is not used any more are gone (publication_drain.c):
// fills in reason, message, is_drained and the proof so far.
void publication_drain(struct publication_reconcile *reconcile, struct publication_record *record);
// Have names been carried to its provider, and does nobody carry them now who could remove them?
// Their DNSEndpoints stay, so that they are removed when somebody can.
bool publication_is_stranded(const struct publication_record *record);

// Has the status of before the name in that record, as one that may stand at its provider? One that
// is another's there (Conflict) has our claim for it, behind its DNSEndpoint, and is none of ours.
bool publication_remembers(struct publication_reconcile *reconcile,
                           const struct published_name *name,
                           const struct publication_record *record);

// Claims what native records are to publish, and what is to go there (publication_native.c).
void publication_claim_natives(struct publication_reconcile *reconcile);
// Is all gone of what a DNSEndpoint remembers, so that it may go? Those of other records may at
// once.
bool publication_is_released(const struct publication_reconcile *reconcile,
                             const struct standing_endpoint *standing);
// The claim of that set of an endpoint; NULL: its record is not native.
const struct native_claim *publication_find_native(const struct publication_reconcile *reconcile,
                                                   const struct intent_endpoint *endpoint,
                                                   const struct endpoint *set);
// Are all names of a native record that the status remembers proven to be gone? `may_fail`: those
// that its server was seen not to remove count as well.
bool publication_natives_are_gone(struct publication_reconcile *reconcile,
                                  const struct publication_record *record, bool may_fail);
// The claim by which such a name is being removed; NULL: there is none.
const struct native_claim *publication_find_removal(struct publication_reconcile *reconcile,
                                                    const struct published_name *name);
// The claim of that name and type at the record; NULL: there is none.
struct native_claim *publication_native_of(const struct publication_reconcile *reconcile,
                                           const struct publication_record *record,
                                           const struct endpoint *set);
// Puts more targets among those that it has, each once.
void native_add_targets(struct arena *arena, struct native_claim *claim, const struct text *more,
                        size_t count);
// Gives up names that older publications of its share group have as something that ours cannot
// stand beside (publication_share.c).
void publication_yield_to_shared(struct publication_reconcile *reconcile);
// Gives up names that another native record of it has in the same zone (publication_twins.c).
void publication_yield_to_twins(struct publication_reconcile *reconcile);
// Puts the targets of its share group to those of its claims.
void publication_share_natives(struct publication_reconcile *reconcile);
// Has the holder, "DNSPublication namespace/name", the claim's name in its record as one of the
// share group?
bool publication_shares_with(const struct publication_reconcile *reconcile,
                             const struct native_claim *claim, struct text holder);
bool native_claim_is_settled(const struct native_claim *claim);
// Shows what the server said of a written name that goes out through a backend of ours, or why that
// sends nothing. True: the name is not carried out, and its reason says why. `claim` may be NULL,
// as may `before`: how the status has the name so far.
bool native_show(const struct publication_reconcile *reconcile, const struct native_claim *claim,
                 const struct published_name *before, struct published_name *name);
// Shows why a name is still there that such a claim removes, if that is known.
void native_show_removal(const struct publication_reconcile *reconcile,
                         const struct native_claim *claim, struct published_name *name);
// Are the names known? While the cloud that they come from is not there, what stands stays.
bool publication_is_known(const struct publication_reconcile *reconcile);
// Is the endpoint to stand as a DNSEndpoint?
bool publication_writes(const struct publication_reconcile *reconcile,
                        const struct intent_endpoint *endpoint);
// A name of the status, to be verified.
struct verified_name {
    struct published_name *name;
    const struct intent_endpoint *endpoint;
    const struct published_name *before; // how the status has it so far; NULL: it has it not
};
// Asks the records' name servers for names that may be there (publication_verify.c). A name is
// Verified when all answer with the targets that the endpoints of the record have for it, or, in a
// share group, with these among others; the reason why not is given when that takes longer than the
// record allows, and at once where the name is another owner's. Of more names than may be asked for
// in one decision, each has its turn.
void publication_verify_names(struct publication_reconcile *reconcile,
                              const struct verified_name *names, size_t count);
// Asks them for the names of a record that is drained, and drops those that are gone or that others
// publish by now. Why some may still be there (arena); NULL: none is, or nothing is verified.
const char *publication_verify_gone(struct publication_reconcile *reconcile,
                                    struct publication_record *record);
// Status and events (publication_report.c).
void publication_report(struct publication_reconcile *reconcile);
// The event of a publication that goes while names of it stay.
void publication_report_retained(struct publication_reconcile *reconcile);
// Metrics (publication_metrics.c): of names by their state, and of drains that ended now.
void publication_count_names(const struct publication_reconcile *reconcile,
                             const struct published_name *names, size_t count);
void publication_count_drains(const struct publication_reconcile *reconcile);
