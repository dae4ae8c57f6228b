#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// The owner id: whose is what we write elsewhere. Derived once, then kept in the store.

enum { OWNER_ID_MAX = 24 };

// [a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?
bool owner_id_check(struct text id, struct error *err);
// In a cluster: from its UID (of namespace kube-system) and the namespaces that are watched, sorted
// and joined by commas.
void owner_id_derive(struct text uid, const char *namespaces, char out[OWNER_ID_MAX + 1]);
