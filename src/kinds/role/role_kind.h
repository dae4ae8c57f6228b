#pragma once

#include "base/kind.h"

// Role (rbac.authorization.k8s.io/v1): what its bearers may do in its namespace. The body begins
// with its labels.
extern const struct kind role_kind;

// Its rules as JSON; absent: it has none. `spec` is the cached body, from which it is borrowed.
struct text role_rules(struct text spec);
