#pragma once

#include "base/kind.h"

// Pod (v1), as far as we look at those of CoreDNS.

extern const struct kind pod_kind;

struct pod {
    struct text pod_ip; // absent: none yet
    struct text phase;  // "Running"
    struct text node_name;
    bool is_ready;
    // Its first container ended, now or the time before it was started again.
    bool is_terminated;
    int64_t exit_code;
    struct text message; // what it wrote last
};
// From a cached body (object_spec); texts are borrowed from it.
void pod_unpack(struct text spec, struct pod *out);
