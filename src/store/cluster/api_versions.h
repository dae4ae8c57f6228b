#pragma once

#include <stddef.h>

#include "base/kind.h"

// In which API version ("v1", "v1alpha2") a server has each kind, where there may be several. It is
// found by trying; until then it is the first one of the kind's table. {0} is ready for use.

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
// Called when the server does not have the kind in `version`: goes on to the next one of its table,
// and from the last to the first. Nothing happens if another watch has gone on already.
void api_versions_try_next(struct api_versions *versions, const struct kind *kind,
                           const char *version);
