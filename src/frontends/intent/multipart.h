#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// A body of multipart/form-data (RFC 7578) as EMCO's clients post clusters: a part `metadata` with
// JSON and at most one part `file` with a kubeconfig. Any other part is refused by its name.

enum { MULTIPART_FILE_MAX = 256 * 1024 };

struct multipart {
    struct text metadata; // borrowed from the body, as is `file`
    struct text file;     // absent: there is none
};
// `content_type` may be NULL.
bool multipart_is(const char *content_type);
// False with status 400: it has no boundary, or ends too early, or has no metadata; 413: the file
// is too large.
bool multipart_read(struct arena *arena, const char *content_type, struct text octets,
                    struct multipart *out, struct error *err);
