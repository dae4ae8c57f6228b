#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controllers/intent/resolve.h"
#include "kinds/service/service_kind.h"

// What a cluster says of the addresses of its Services and Nodes: the cluster that we run in by its
// objects, another one by the answer of its API server to a question. It is looked at only where
// nobody has written an address, so that no cluster is asked in vain. Everything lives in the
// arena.

struct cluster_view {
    struct model_reader *reader;
    const struct snapshot *in;
    const struct resolved *resolved;
    const struct resolved_cluster *cluster;
    bool is_looked_at;          // since when the two below are known
    const struct value *answer; // of another cluster; NULL: there is no good one
    const char *unreadable;     // why nothing is known, for people; NULL: it is
};
// One for each cluster of the publication's logical cloud, in its order.
struct cluster_view *cluster_views_make(struct model_reader *reader, const struct snapshot *in,
                                        const struct resolved *resolved);

// Why nothing is known of the cluster, which may have any addresses then, for people. NULL: all
// that is not found is not there.
const char *cluster_view_unreadable(struct cluster_view *view);
// A Service in the namespace of the logical cloud. False: there is none.
bool cluster_view_service(struct cluster_view *view, struct text name,
                          struct service_addresses *out);
// Addresses of that type ("ExternalIP", "InternalIP") of the Nodes that are ready and take pods.
// *unreadable: why they are not known, for people; NULL: they are.
const struct text *cluster_view_nodes(struct cluster_view *view, const char *type, size_t *count,
                                      const char **unreadable);

// Asks the clusters that were looked at and are not the one that we run in.
void cluster_views_ask(const struct cluster_view *views, size_t count, struct decision *out);
