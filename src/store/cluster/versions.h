#pragma once

#include <stddef.h>

#include "base/kind.h"

// Which version of a kind a server has, where there may be several. It is found by trying; until
// then it is the one of the kind's table. {0} is ready for use.

enum { VERSIONS_KINDS_MAX = 64 };

struct versions {
    struct {
        const struct kind *kind;
        size_t at;
    } items[VERSIONS_KINDS_MAX];
    size_t count;
};
const char *versions_find(const struct versions *versions, const struct kind *kind); // "v1"
void versions_write(struct buffer *out, const struct versions *versions,
                    const struct kind *kind); // "apps/v1"
// Called when the server does not have the version: goes on to the next one, and from the last to
// the first.
void versions_try_behind(struct versions *versions, const struct kind *kind, const char *version);
