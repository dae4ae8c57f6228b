#pragma once

#include <stdint.h>

#include "base/right.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Checks bearer tokens: whether their user may `get` a path. The API server answers a TokenReview
// and then a SubjectAccessReview; its answer counts for 60 s. Only the SHA-256 of a token is kept,
// of 64 tokens at most. Tokens that were never allowed are limited: eight checks at a time, two of
// them for one source address, and two a second for it. The last 32 that were allowed never wait
// for those.
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
struct bearer {
    struct text token;
    uint8_t source[16]; // its address; IPv4 mapped
};
typedef void bearer_judged(void *asker, enum bearer_result result);

struct bearers;
struct bearers *bearers_new(const struct world *world, struct api *api, const char *path);
void bearers_free(struct bearers *bearers); // accepts NULL; waiting callbacks are dropped
// Calls `judged` once: from within if the answer is known, else later.
void bearers_ask(struct bearers *bearers, const struct bearer *bearer, bearer_judged *judged,
                 void *asker);
// Drops a waiting callback.
void bearers_forget(struct bearers *bearers, const void *asker);
