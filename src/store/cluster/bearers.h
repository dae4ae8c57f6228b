#pragma once

#include <stdint.h>

#include "base/right.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Who bears this token, and may they `get` this path? The API server is asked with a TokenReview
// and then a SubjectAccessReview; what it says of a token is good for 60 s. Of tokens only the
// SHA-256 is kept, of 64 at most. Of eight that were never allowed is asked at a time, of two for
// one source, and of two a second for it; those that were (the last 32) wait for none of them.
//
//     struct bearers *bearers = bearers_new(world, api, "/metrics");
//     bearers_ask(bearers, &(struct bearer){token, source}, judged, exchange);

extern const struct kube_right bearers_rights[];

enum bearer_result {
    BEARER_ALLOWED,
    BEARER_UNKNOWN,   // no token of this cluster
    BEARER_FORBIDDEN, // known, and may not
    BEARER_UNSURE,    // the API server did not say, or too many ask: try again
};
struct bearer {
    struct text token;
    uint8_t source[16]; // its address; IPv4 mapped
};
typedef void bearer_judged(void *asker, enum bearer_result result);

struct bearers;
struct bearers *bearers_new(const struct world *world, struct api *api, const char *path);
void bearers_free(struct bearers *bearers); // accepts NULL; who waits is not called
// Calls `judged` once: at once with what is known, or later.
void bearers_ask(struct bearers *bearers, const struct bearer *bearer, bearer_judged *judged,
                 void *asker);
// Does not wait any more.
void bearers_forget(struct bearers *bearers, const void *asker);
