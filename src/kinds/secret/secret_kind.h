#pragma once

#include <stdbool.h>

#include "base/kind.h"
#include "base/secret.h"

// Core Secret: only what is referred to is read. `data` is base64, `stringData` plain (folder
// store); stringData wins, as in Kubernetes.
extern const struct kind secret_kind;

// The value of `key` as a new secret, or NULL when it is absent. *has_keys tells an empty Secret.
struct secret *secret_kind_get(struct text spec, struct text key);
