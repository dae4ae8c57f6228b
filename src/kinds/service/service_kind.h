#pragma once

#include "base/kind.h"

// Core Service: the address under which pods are reached. The body begins with its labels.
extern const struct kind service_kind;

struct service {
    struct text cluster_ip; // "None": it is headless
    struct text spec;       // spec as JSON; absent: there is none
};
// `spec` is the cached body, from which the texts are borrowed.
void service_unpack(struct text spec, struct service *out);
