#pragma once

#include <stdbool.h>

#include "commands/option.h"
#include "commands/process.h"
#include "store/cluster/kubeconfig.h"
#include "store/store.h"

// Where objects live: the options of every command that looks at the store, and the store that they
// mean: a folder of manifests or a cluster.

// How many rows of store_options a command offers: all; all but the last, for one that only reads;
// all but the last three, for one that knows the namespace.
enum { STORE_PLACE_OPTION_COUNT = 5, STORE_LOOK_OPTION_COUNT = 7, STORE_OPTION_COUNT = 8 };
enum { LEASE_OPTION_COUNT = 2, WRITER_OPTION_COUNT = 7 };
extern const struct option store_options[STORE_OPTION_COUNT];   // both
extern const struct option lease_options[LEASE_OPTION_COUNT];   // which Lease it is
extern const struct option writer_options[WRITER_OPTION_COUNT]; // of those that write to a cluster

// What the options say; texts are borrowed from the invocation and the environment.
struct configured_store {
    const struct invocation *invocation;
    bool is_cluster;
    struct kube_source source;
    const char *own_namespace; // cluster; NULL or "" until configured_store_access()
    const char *instance;      // name of this process: the pod's, else the host's
    char host[256];
    const char *const *only; // what alone may be read of all namespaces (look.h); or NULL
};

// Can the folder that the options name be looked at? Faults are the user's (exit 2), and name the
// option.
bool configured_store_check_folder(const struct invocation *invocation, struct error *err);
// Finds out which. Faults as above.
bool configured_store_find(struct configured_store *place, const struct invocation *invocation,
                           struct error *err);
// How to reach the cluster. NULL: err says what is wrong with the kubeconfig.
struct kube_access *configured_store_access(struct configured_store *place, struct error *err);
// Of all namespaces, and no fewer (-A).
bool configured_store_wants_all(const struct configured_store *place);
// Namespaces that are watched, NULL-terminated in the invocation's arena; NULL: all.
const char *const *configured_store_namespaces(const struct configured_store *place);
// Do the times of the Lease leave room for its fence?
bool writer_options_check(const struct invocation *invocation, struct error *err);
