#include "base/memory.h"
#include "base/metric.h"
#include "store/cluster/lease_private.h"
#include "store/store.h"

enum { MS_PER_S = 1000 };

// ---- check --------------------------------------------------------------------------------------

// One renewal that fails is no trouble yet; a refusal is.
static bool is_degraded(const struct lease *lease)
{
    int64_t patience_ms = lease->election.times.deadline_ms / 2;
    if (lease->trouble.fault == FAULT_NONE)
        return false;
    return lease->trouble.fault == FAULT_AUTH || lease_now(lease) - lease->trouble_ms > patience_ms;
}

static const char *text_of_state(const struct lease *lease)
{
    if (lease->is_leading)
        return lease->is_elected ? "leading" : "leading without an election";
    if (lease->held_back)
        return "standing by until all watches are up";
    return lease->is_elected ? "standing by" : "looking for the owner id";
}

struct store_check lease_check(const struct lease *lease)
{
    bool is_ok = !is_degraded(lease);
    return (struct store_check){
        .name = "lease",
        .is_ok = is_ok,
        .is_advice = !lease->is_elected,
        .text = is_ok ? text_of_state(lease) : lease->trouble.text,
    };
}

struct object *lease_object(const struct lease *lease)
{
    return lease->seen ? object_new(&lease_kind, NULL, lease->seen) : NULL;
}

// ---- metrics ------------------------------------------------------------------------------------

static void write_named(struct buffer *out, const struct lease *lease, const char *metric,
                        uint64_t number)
{
    buffer_printf(out, "%s{name=\"", metric);
    metric_write_label(out, lease->name);
    buffer_printf(out, "\"} %llu\n", (unsigned long long)number);
}

void lease_write_metrics(const struct lease *lease, struct buffer *out)
{
    int64_t margin_ms = lease_margin_ms(lease);
    metric_write_head(out, "leader_election_master_status", "gauge", "1 while this process leads.");
    write_named(out, lease, "leader_election_master_status", lease->is_leading);
    if (!lease->is_elected)
        return;
    metric_write_head(out, "leader_election_slowpath_total", "counter",
                      "Renewals that had to read the lease first.");
    write_named(out, lease, "leader_election_slowpath_total", lease->slow_paths);
    metric_write_head(out, "signpost_lease_margin_seconds", "gauge",
                      "Time left in which something new may begin elsewhere; 0 without the lease.");
    buffer_printf(out, "signpost_lease_margin_seconds %lld.%03lld\n",
                  (long long)(margin_ms / MS_PER_S), (long long)(margin_ms % MS_PER_S));
}

// ---- rights -------------------------------------------------------------------------------------

const struct kube_right lease_rights[] = {
    {
        .group = "coordination.k8s.io",
        .resource = "leases",
        .verbs = (const char *const[]){"get", "watch", "update", NULL},
        .scope = RIGHT_LEASE,
        .names = (const char *const[]){"signpost", NULL},
        .why = "Which replica writes elsewhere, and the owner id.",
    },
    {
        .group = "coordination.k8s.io",
        .resource = "leases",
        .verbs = (const char *const[]){"create", NULL},
        .scope = RIGHT_LEASE,
        .why = "To make that Lease; creating cannot be restricted to a name.",
    },
    {0},
};

const struct kube_right lease_event_rights[] = {
    {
        .group = "events.k8s.io",
        .resource = "events",
        .verbs = (const char *const[]){"create", "patch", NULL},
        .scope = RIGHT_LEASE,
        .is_dispensable = true,
        .why = "What happens to a backend as a whole, beside our Lease.",
    },
    {0},
};

const struct kube_right lease_owner_rights[] = {
    {
        .group = "",
        .resource = "namespaces",
        .verbs = (const char *const[]){"get", NULL},
        .scope = RIGHT_CLUSTER,
        .names = (const char *const[]){"kube-system", NULL},
        .why = "Its UID is what the owner id is derived from.",
    },
    {0},
};
