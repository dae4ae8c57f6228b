#pragma once

#include "controllers/intent/events.def"
#include "controllers/intent/model.h"
#include "controllers/intent/update_record.h"
#include "kinds/deployment/deployment_kind.h"
#include "kinds/dnsupdaterecord/external_dns_objects.h"
#include "kinds/pod/pod_kind.h"

// Inside the controller of DNSUpdateRecords: what one reconciliation knows, and its parts.

// Why something is not as it shall be; reason NONE: it is.
struct update_record_fault {
    enum reason reason;
    const char *text;
};

// What external-dns itself says.
struct update_record_sync {
    const struct object *pod; // that is ready and asked; NULL: none is
    const struct answer_view *answer;
    size_t names;
    size_t wanted_endpoints; // record sets that external-dns makes of the DNSEndpoints
    bool is_fresh;           // DNSEndpoints have changed since the last synchronization
    int64_t last_sync_s;     // 0: none is known
};

struct update_record_reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct update_record record; // with what the settings say where it says nothing
    struct findings findings;
    struct update_record_status before;
    struct record_view view;
    unsigned minor;
    struct external_dns_pinned pinned; // in force
    bool has_pinned;                   // false: it can't be made yet
    bool is_native;                    // the engine in force: there is no external-dns
    bool has_start;                    // the record is valid, so that this could be made of it:
    struct external_dns_start start;
    struct update_record_fault fault; // condition Accepted
    struct update_record_fault credentials;
    const char *checksum;  // of the Secrets; "": there are none
    bool is_moving;        // it is to be drained, and goes to another place then
    bool may_stand;        // something of it may stand at its provider
    const char *name;      // of the Deployment and what belongs to it
    size_t endpoint_count; // record sets in its DNSEndpoints
    const struct object *seen[EXTERNAL_DNS_OBJECTS];
    struct deployment deployment; // of seen[EXTERNAL_DNS_DEPLOYMENT]
    bool wants_deployment;
    bool is_held; // the Deployment stays as it is, or is not made
    struct update_record_sync sync;
};

// ---- update_record_check.c ----------------------------------------------------------------------
// Says whether the record can be used: fills fault, pinned, is_native, start and is_moving.
void update_record_accept(struct update_record_reconcile *reconcile);
// Looks at the Secrets: fills credentials and checksum.
void update_record_read_secrets(struct update_record_reconcile *reconcile);
// The secret under a target of secretRefs, or NULL (caller unrefs).
struct secret *update_record_secret(const struct update_record_reconcile *reconcile,
                                    const struct update_record_ref *ref);
// A foreign text without the record's secrets: its last line, cleaned and cut.
const char *update_record_mask(const struct update_record_reconcile *reconcile, struct text text);

// ---- update_record_workload.c -------------------------------------------------------------------
// Makes, changes and removes Deployment, account, role and binding.
void update_record_write_workload(struct update_record_reconcile *reconcile);
// True while one of them is there.
bool update_record_has_workload(const struct update_record_reconcile *reconcile);

// ---- update_record_sync.c -----------------------------------------------------------------------
// Asks the external-dns that runs for its metrics.
void update_record_ask(struct update_record_reconcile *reconcile);
struct condition update_record_synced(const struct update_record_reconcile *reconcile);
// Does external-dns still read more than the DNSEndpoints that there are?
bool update_record_reads_gone(const struct update_record_reconcile *reconcile);
// What a container that ended said last, if none runs now; NULL: none ended.
const char *update_record_crash(const struct update_record_reconcile *reconcile);

// ---- update_record_report.c ---------------------------------------------------------------------
extern const struct controller_metric update_record_metric;
void update_record_report(struct update_record_reconcile *reconcile);
