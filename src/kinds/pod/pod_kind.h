#pragma once

#include "base/kind.h"

// Core Pod: where it runs, whether it is ready, and how its first container fares. The body begins
// with its labels.
extern const struct kind pod_kind;

// How a container ended.
struct pod_end {
    bool is_known;
    int64_t exit_code;
    int64_t finished_s;  // Unix; 0: not known
    struct text reason;  // "Error", "Completed", ...
    struct text message; // termination message
};
struct pod {
    struct text ip;    // absent: none yet
    struct text phase; // "Pending", "Running", "Succeeded", "Failed", "Unknown"; absent: none yet
    struct text node;  // absent: not scheduled
    bool is_ready;     // condition Ready is True
    struct text config_id; // annotation CONFIG_ID_ANNOTATION; absent: none
    // Of the first container.
    struct pod_end end;      // it does not run, and ended so
    struct pod_end last_end; // it was started again since it ended so
};
// `spec` is the cached body, from which the texts are borrowed.
void pod_unpack(struct text spec, struct pod *out);
