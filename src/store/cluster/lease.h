#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/election.h"

// Which of several processes may write elsewhere: a Lease of coordination.k8s.io/v1, held with a
// fence. The lease counts from the sending of its last renewal that succeeded. From there: after
// the renew deadline nothing new begins; 2 s before its end all that is in flight is broken off.
// Who lost it stands by and goes on trying.

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
    bool is_elected;        // false: we lead, and another holder is warned of
    const char *owner_id;   // as given; NULL: what the Lease carries, or derived
    const char *namespaces; // watched ones, sorted, joined by commas; "": all
};

// Not called from within a call into the lease, but for lease_release. None of them may free it.
struct lease_sink {
    void (*leading)(void *context, bool is_leading); // false: begin nothing more
    void (*fenced)(void *context); // break off what is in flight; leading (false) came before
    // The owner id is known (kept in the Lease by the first leader); once, before leading (true).
    // Or it cannot be, or is another by now: err, and nothing follows.
    void (*owner)(void *context, const char *owner_id, const struct error *err);
    void *context;
};

struct lease *lease_new(const struct lease_options *options, const struct lease_sink *sink);
void lease_start(struct lease *lease);
// Gives the lease back, when all that is in flight elsewhere has ended, and calls `done` (after 5 s
// at most, perhaps from within); nothing is tried any more.
void lease_release(struct lease *lease, void (*done)(void *context), void *context);
void lease_free(struct lease *lease);
// By the clock that runs on while the machine sleeps: may a new outside write begin now? Asked
// before each, for after a long stop what arrived meanwhile is handled before any timer.
bool lease_may_write(const struct lease *lease);
// The same for the next request of what began before.
bool lease_may_go_on(const struct lease *lease);
const char *lease_holder(const struct lease *lease); // identity of who holds it; "" none
int64_t lease_margin_ms(const struct lease *lease);  // until nothing new may begin; 0: now
// For /healthz: we lead by our own word, but the lease ran out over 20 s ago.
bool lease_is_stuck(const struct lease *lease);
struct store_check lease_check(const struct lease *lease);
// The Lease as it was seen last, for Events about it; NULL: it was not. The caller's.
struct object *lease_object(const struct lease *lease);
// leader_election_*, signpost_lease_margin_seconds.
void lease_write_metrics(const struct lease *lease, struct buffer *out);

// What it takes; the first are for the Lease of that name.
extern const struct kube_right lease_rights[];
extern const struct kube_right lease_event_rights[];   // for Events about it
const char *lease_owner_id(const struct lease *lease); // NULL: not known
extern const struct kube_right lease_owner_rights[];   // without an owner id that is given
