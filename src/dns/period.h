#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// Seconds as zone files have them: "3600" (RFC 1035 5.1), or with units as BIND reads them:
// "1h30m", w d h m s in any case, a number before each. Over 4294967295: 4294967296.
bool period_read(struct text text, uint64_t *seconds);
