#pragma once

#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"

// What Pods, the templates of workloads and Services have in common, read from their trees.

// The container of that name, or else the first; NULL: there is none. `spec` is that of a Pod or of
// a template; so is it below, and NULL is taken for one that is empty. `name` may be NULL.
const struct value *pod_spec_container(const struct value *spec, const char *name);
struct text pod_spec_image(const struct value *spec, const char *name);
