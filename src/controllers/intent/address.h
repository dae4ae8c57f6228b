#pragma once

#include "controllers/intent/cluster_view.h"
#include "controllers/intent/resolve.h"

// Under which addresses a service is reached in one cluster: what an operator wrote comes first,
// what the cluster itself says comes last. Everything lives in the reader's arena.

enum address_scope { ADDRESS_PUBLIC, ADDRESS_LOCAL };

struct addresses {
    const struct text *items; // IP addresses and host names, in the order of their source
    size_t count;
    struct text doubted; // one of them: private, and an operator wrote it for the public
    const char *pending; // there is none: why, for people
    // The cluster could not be asked: that there is none proves nothing.
    bool is_unknown;
};
// `allows_private`: private addresses that the cluster says are public ones, too.
void addresses_find(struct cluster_view *view, const struct resolved_service *service,
                    enum address_scope scope, bool allows_private, struct addresses *out);
