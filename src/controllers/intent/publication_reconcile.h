#pragma once

#include "controllers/intent/endpoint.h"
#include "controllers/intent/publication.h"

// Inside the controller of publications: what one reconciliation knows, and its parts.

// A DNS update record that the publication uses, or whose provider may still have names of it.
struct publication_record {
    const struct object *object;     // NULL: it is gone
    struct published_record written; // as the status is to have it
    bool was_written;                // as the status has it already
    bool is_wanted;                  // some name is to be published by it
    size_t endpoints;                // DNSEndpoints of ours for it that stand
    bool is_drained;                 // nothing of ours is at its provider any more
    // How the drain goes, or ended.
    enum reason reason;
    const char *message;
};
struct publication_reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct model_reader reader;
    struct resolved resolved;
    struct endpoint_context context;
    struct dnspublication_status before;
    bool is_wanted;     // the names are to be published
    bool has_endpoints; // the API server has DNSEndpoints
    struct intent_endpoint *endpoints;
    size_t endpoint_count;
    struct publication_record *records;
    size_t record_count;
    bool has_drained; // a record is since now:
    struct publication_record drained;
    size_t writes; // objects of the decision
};

// Which records are used, and how far those are drained that are not any more
// (publication_drain.c).
void publication_records(struct publication_reconcile *reconcile);
// NULL: the publication neither uses nor used it.
struct publication_record *publication_find_record(const struct publication_reconcile *reconcile,
                                                   const struct object *record);
// Is the endpoint to stand as a DNSEndpoint?
bool publication_writes(const struct publication_reconcile *reconcile,
                        const struct intent_endpoint *endpoint);
// Status and events (publication_report.c).
void publication_report(struct publication_reconcile *reconcile);
