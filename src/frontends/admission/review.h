#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/memory.h"
#include "base/text.h"

// AdmissionReview of admission.k8s.io/v1: the text of a request in, the text of the reply out. The
// same validators as check and the reconciliations; every fault of the object is told at once, each
// with its field. What cannot be judged is allowed with a warning, and so is all that is not
// written by a user: nobody is kept from editing or deleting because of us.

enum { REVIEW_OCTETS_MAX = 7 << 20 };

struct review_rules {
    struct kind_patterns *patterns; // borrowed; may be NULL
    // What other objects say to one whose own content is in order; adds to `findings`. Or NULL.
    void (*judge)(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings);
    void *context;
};

// `kind` is what the path names; NULL: whatever comes is allowed. The reply is appended: with the
// request's uid, and for a denial code 403, reason Invalid, all faults joined by "; ". Warnings are
// cut to 256 characters each when all together have over 4,096, and end there: that is what the API
// server hands on. False (SPEC, status 400, `out` untouched) when the body is no such review. The
// arena is the caller's to reset.
bool review_answer(struct arena *arena, const struct review_rules *rules, const struct kind *kind,
                   struct text body, struct buffer *out, struct error *err);
