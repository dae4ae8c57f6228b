#pragma once

#include <stddef.h>

#include "base/kind.h"

// Which version of a kind a server has, where there may be several. It is found by trying; until
// then it is the one of the kind's table. {0} is ready for use.

enum { API_VERSIONS_KINDS_MAX = 64 };

struct api_versions {
    struct {
        const struct kind *kind;
        size_t at;
    } items[API_VERSIONS_KINDS_MAX];
    size_t count;
};
const char *api_versions_find(const struct api_versions *versions, const struct kind *kind); // "v1"
void api_versions_write(struct buffer *out, const struct api_versions *versions,
                        const struct kind *kind); // "apps/v1"
// Called when the server does not have the version: goes on to the next one, and from the last to
// the first.
void api_versions_try_next(struct api_versions *versions, const struct kind *kind,
                           const char *version);
