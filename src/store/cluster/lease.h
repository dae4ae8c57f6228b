#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/election.h"

// Leader election with a fence, by a Lease (coordination.k8s.io/v1): only the holder may write to
// servers. The lease counts from the sending of the last renewal that succeeded. After the renew
// deadline nothing new begins; 2 s before the end of the lease all exchanges in flight are aborted.
// A process that lost the lease becomes a standby and goes on trying.

struct lease;
struct lease_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const char *namespace_;
    const char *name;
    const char *holder; // "<host>_<uuid>", new at each start
    // Checked: election_times_check.
    int64_t duration_ms;
    int64_t renew_deadline_ms;
    int64_t retry_ms;
    bool is_elected;        // false: this process leads in any case, and warns of another holder
    const char *owner_id;   // as given; NULL: the one in the Lease, or a derived one
    const char *namespaces; // watched ones, sorted, joined by commas; "": all
};

// Never called from within a call into the lease, except lease_release(). None may free the lease.
struct lease_sink {
    void (*leading)(void *context, bool is_leading); // false: nothing new may begin
    // Exchanges in flight must be aborted; leading (false) came before.
    void (*fenced)(void *context);
    // The owner id is known (the first leader stores it in the Lease). Called once, before leading
    // (true). If it cannot be known, or is another one by now, err says so and no call follows.
    void (*owner)(void *context, const char *owner_id, const struct error *err);
    // May a lease be taken that this process does not hold? `free_ms` is since when no other holds
    // it, or when this process last wrote it, whichever is later, by the loop's monotonic clock; 0:
    // it never did, and no other was seen. Asked before each try; after the first "no" the next try
    // is 250 ms later, then a retry period. NULL: always.
    bool (*may_take)(void *context, int64_t free_ms);
    void *context;
};

struct lease *lease_new(const struct lease_options *options, const struct lease_sink *sink);
void lease_start(struct lease *lease);
// Releases the lease and calls `done`, perhaps from within and after 5 s at the latest. All
// exchanges must have ended before. The lease is not tried again.
void lease_release(struct lease *lease, void (*done)(void *context), void *context);
void lease_free(struct lease *lease);
// May a new exchange begin now, by the clock that runs on while the machine sleeps? Checked before
// each, as events that arrived during a long stop are handled before any timer.
bool lease_may_write(const struct lease *lease);
// May the next request of an exchange that began before be sent?
bool lease_may_go_on(const struct lease *lease);
const char *lease_holder(const struct lease *lease); // identity of the holder; "": none
// Time until nothing new may begin; 0: that is so now.
int64_t lease_margin_ms(const struct lease *lease);
// For /healthz: this process believes that it leads, but the lease ended over 20 s ago.
bool lease_is_stuck(const struct lease *lease);
struct store_check lease_check(const struct lease *lease);
// The Lease as it was seen last, for Events about it; NULL: it was never seen. The caller frees it.
struct object *lease_object(const struct lease *lease);
// leader_election_*, signpost_lease_margin_seconds.
void lease_write_metrics(const struct lease *lease, struct buffer *out);

// The rights that it needs; the first are for the Lease of that name.
extern const struct kube_right lease_rights[];
extern const struct kube_right lease_event_rights[];   // for Events about it
const char *lease_owner_id(const struct lease *lease); // NULL: not known
extern const struct kube_right lease_owner_rights[];   // without an owner id that is given
