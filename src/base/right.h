#pragma once

#include <stdbool.h>

// What we may ask of an API server: one row of an RBAC rule, as const data. Whoever talks to a
// server says in such a table what that takes; the rules that people apply are printed from the
// same rows that are checked at the start.
//
//     const struct kube_right lease_rights[] = {
//         {.group = "coordination.k8s.io", .resource = "leases",
//          .verbs = (const char *const[]){"get", "watch", "update", NULL}, ...},
//         {0},
//     };

enum kube_scope {
    RIGHT_CLUSTER,       // the whole cluster, or what has no namespace
    RIGHT_OWN_NAMESPACE, // where we run
    RIGHT_LEASE,         // where the Lease is: the same, unless users say otherwise
    RIGHT_OBJECTS,       // where the objects are: all watched namespaces
    RIGHT_EVENTS,        // the same, and `default`, which has the events of what has no namespace
    RIGHT_REFERENCED,    // where objects are that ours name: any namespace, or a given few
};

// Lists of rows end with one whose resource is NULL.
struct kube_right {
    const char *group;        // "" for core
    const char *resource;     // plural, with its subresource: "dnsrecords/status"
    const char *const *verbs; // NULL-terminated
    enum kube_scope scope;
    const char *const *names; // only these objects (NULL-terminated); NULL: any
    bool is_dispensable;      // we do without, if less comfortably
    // By the settings of the controller whose row it is; NULL: always.
    bool (*is_needed)(const void *settings);
    const char *why; // one sentence, as a comment in what is printed
};
