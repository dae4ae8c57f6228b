#pragma once

#include "frontends/intent/intent_api.h"
#include "frontends/intent/route.h"

// Inside this folder: counting answers. `route` NULL: the path was none. `counts` may be NULL.
void intent_counts_add(struct intent_counts *counts, const struct route *route, int status);
