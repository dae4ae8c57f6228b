#pragma once

#include <stdbool.h>

#include "base/kind.h"
#include "base/secret.h"

// Core Secret: only what is referred to is read. `data` is base64, `stringData` plain (folder
// store); stringData wins, as in Kubernetes.
extern const struct kind secret_kind;

// The value of `key` as a new secret (caller unrefs), or NULL when it is absent. `spec` is the
// cached body.
struct secret *secret_kind_get(struct text spec, struct text key);
// Calls for each key whose value is not empty and secret_is_short. `object` is a manifest.
void secret_kind_each_short(const struct value *object,
                            void (*call)(void *context, const struct value *item), void *context);
