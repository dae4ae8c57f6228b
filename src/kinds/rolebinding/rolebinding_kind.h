#pragma once

#include "base/kind.h"

// RoleBinding (rbac.authorization.k8s.io/v1): who bears a role in its namespace. The body begins
// with its labels.
extern const struct kind rolebinding_kind;

struct rolebinding {
    struct text role;     // roleRef as JSON, which nobody can change; absent: there is none
    struct text subjects; // as JSON; absent: there are none
};
// `spec` is the cached body, from which the texts are borrowed.
void rolebinding_unpack(struct text spec, struct rolebinding *out);
