#pragma once

#include <stdbool.h>

#include "commands/option.h"
#include "commands/process.h"
#include "store/cluster/kubeconfig.h"
#include "store/store.h"

// Where objects live: the options of every command that looks at the store, and the store that they
// mean: a folder of manifests or a cluster.

// Who only looks at what is stored has no use for the last row.
enum { PLACE_LOOK_OPTION_COUNT = 7, PLACE_OPTION_COUNT = 8 };
enum { LEASE_OPTION_COUNT = 2, WRITER_OPTION_COUNT = 7 };
extern const struct option place_options[PLACE_OPTION_COUNT];   // both
extern const struct option lease_options[LEASE_OPTION_COUNT];   // which Lease it is
extern const struct option writer_options[WRITER_OPTION_COUNT]; // of those that write to a cluster

// What the options say; texts are borrowed from the invocation and the environment.
struct place {
    const struct invocation *invocation;
    bool is_cluster;
    struct kube_source source;
    const char *own_namespace; // cluster; NULL or "" until place_access()
    const char *instance;      // name of this process: the pod's, else the host's
    char host[256];
    const char *const *only; // what alone may be read of all namespaces (look.h); or NULL
};

// Can the folder that the options name be looked at? Faults are the user's (exit 2), and name the
// option.
bool place_check_folder(const struct invocation *invocation, struct error *err);
// Finds out which. Faults as above.
bool place_find(struct place *place, const struct invocation *invocation, struct error *err);
// How to reach the cluster. NULL: err says what is wrong with the kubeconfig.
struct kube_access *place_access(struct place *place, struct error *err);
// Of all namespaces, and no fewer (-A).
bool place_wants_all(const struct place *place);
// Namespaces that are watched, NULL-terminated in the invocation's arena; NULL: all.
const char *const *place_namespaces(const struct place *place);
// Do the times of the Lease leave room for its fence?
bool writer_options_check(const struct invocation *invocation, struct error *err);
