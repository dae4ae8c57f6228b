#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/kubeconfig.h"
#include "store/cluster/lease.h"
#include "store/store.h"

// A Kubernetes API server as a store: a list and watch for each kind, writes with a limit of
// requests in flight, the Lease that elects the process that may write to servers, and Events.

struct cluster_options {
    struct kube_access *access;    // owned by the store, also when opening fails
    const char *const *namespaces; // that are watched, NULL-terminated; NULL: all
    const char *own_namespace;     // the namespace of this pod
    const char *lease_namespace;   // where the Lease is
    const char *instance;          // name of this process, for events and the Lease: the pod's
    const struct store_kind *kinds;
    size_t kind_count;
    // The store only reads, and never leads. The name of the Lease is still used, to find the owner
    // id; NULL: the owner id is not needed.
    bool is_reading;
    const char *lease_name;
    int64_t lease_duration_ms;
    int64_t lease_renew_deadline_ms;
    int64_t lease_retry_ms;
    bool is_elected;        // --leader-elect
    const char *owner_id;   // as given, or NULL
    unsigned max_in_flight; // of writes
    unsigned rate;          // writes a second; 0: no limit
    unsigned burst;
    // Checked at the start, and when a request is refused; their texts outlive it. NULL: none.
    const struct kube_right *rights;
    // Called when the store cannot go on; the process should end.
    void (*failed)(void *context, const struct error *err);
    void *context;
};

enum { CLUSTER_NAMESPACES_MAX = 8 }; // with a watch of their own; more: one watch and a filter

struct store *cluster_new(const struct world *world, const struct cluster_options *options,
                          struct log *log);
const char *cluster_address(const struct store *store); // the server's URL
// The client, for others that send requests to the same server.
struct api *cluster_api(struct store *store);
const struct lease *cluster_lease(const struct store *store);
// Reads the credentials again (SIGHUP).
void cluster_reload(struct store *store);
