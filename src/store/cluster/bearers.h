#pragma once

#include <stdint.h>

#include "base/kind.h"
#include "base/right.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Checks bearer tokens: whether their user may `get` a path, or do something with objects of a
// kind. The API server answers a TokenReview and then a SubjectAccessReview; its answer counts for
// 60 s, or as long as the limits say. Only the SHA-256 of a token is kept,
// of 64 tokens at most. Tokens that were never allowed are limited: eight checks at a time, two of
// them for one source address, and two a second for it. The last 32 that were allowed never wait
// for those.
//
//     struct bearers *bearers = bearers_new(world, api, "/metrics", &bearers_strict_limits);
//     bearers_ask(bearers, &(struct bearer){token, source, NULL}, judged, exchange);

extern const struct kube_right bearers_rights[];

enum bearer_result {
    BEARER_ALLOWED,
    BEARER_UNKNOWN,   // not a token of this cluster
    BEARER_FORBIDDEN, // the user is known, and may not
    BEARER_UNSURE,    // the API server did not answer, or too many checks wait: try again
};
// What is to be done with objects.
struct bearer_access {
    const char *verb; // "create"
    const struct kind *kind;
    struct text namespace_; // empty: all, or the kind has none
};
struct bearer {
    struct text token;
    uint8_t source[16];                 // its address; IPv4 mapped
    const struct bearer_access *access; // NULL: `get` of the path
};
// A token counts once for each thing that is asked about it.
struct bearers_limits {
    int64_t good_ms;        // how long an answer counts
    unsigned per_s;         // checks a second of strangers' tokens, for one address
    unsigned burst;         // so many of them at once
    unsigned asking;        // under way together, at most
    unsigned asking_of_one; // of them for one address
};
extern const struct bearers_limits bearers_strict_limits; // those above, for one path
typedef void bearer_judged(void *asker, enum bearer_result result);

struct bearers;
// `path` may be NULL if every bearer has an access.
struct bearers *bearers_new(const struct world *world, struct api *api, const char *path,
                            const struct bearers_limits *limits);
void bearers_free(struct bearers *bearers); // accepts NULL; waiting callbacks are dropped
// Calls `judged` once: from within if the answer is known, else later.
void bearers_ask(struct bearers *bearers, const struct bearer *bearer, bearer_judged *judged,
                 void *asker);
// Drops a waiting callback.
void bearers_forget(struct bearers *bearers, const void *asker);
