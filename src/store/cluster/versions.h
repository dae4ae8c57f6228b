#pragma once

#include <stddef.h>

#include "base/kind.h"

// Which version of a kind a server has, where there are several: learned by trying, and until then
// the kind's own. Zeroed, nothing is known yet.

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
// The server does not have that one: the next is it, and behind the last the first.
void versions_try_behind(struct versions *versions, const struct kind *kind, const char *version);
