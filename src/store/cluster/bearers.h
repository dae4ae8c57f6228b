#pragma once

#include <stdint.h>

#include "base/right.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Checks bearer tokens: whether their user may `get` a path, or do something to an object. The API
// server answers a TokenReview and then a SubjectAccessReview; its answer counts for 60 s, about an
// object for 10 s. Only the SHA-256 of a token and of what is asked is kept, of 64 such pairs at
// most. Tokens that were never allowed anything are limited: eight checks at a time, two of them
// for one source address, and two a second for it. The last 32 pairs that were allowed never wait
// for those, and no pair of a token of which the API server knows the user does.
//
//     struct bearers *bearers = bearers_new(world, api, "/metrics");
//     bearers_ask(bearers, &(struct bearer){token, source}, judged, exchange);

extern const struct kube_right bearers_rights[];

enum bearer_result {
    BEARER_ALLOWED,
    BEARER_UNKNOWN,   // not a token of this cluster
    BEARER_FORBIDDEN, // the user is known, and may not
    BEARER_UNSURE,    // the API server did not answer, or too many checks wait: try again
};
// Of objects of the API server.
struct bearer_access {
    const char *verb;
    const char *group; // "" for core
    const char *resource;
    struct text namespace_; // empty: the kind has none
    struct text name;       // empty: all
};
struct bearer {
    struct text token;
    uint8_t source[16];          // its address; IPv4 mapped
    struct bearer_access access; // verb NULL: to get the path
};
typedef void bearer_judged(void *asker, enum bearer_result result);

struct bearers;
// `path` NULL: each bearer says what it is about.
struct bearers *bearers_new(const struct world *world, struct api *api, const char *path);
void bearers_free(struct bearers *bearers); // accepts NULL; waiting callbacks are dropped
// Calls `judged` once: from within if the answer is known, else later.
void bearers_ask(struct bearers *bearers, const struct bearer *bearer, bearer_judged *judged,
                 void *asker);
// Drops a waiting callback.
void bearers_forget(struct bearers *bearers, const void *asker);
