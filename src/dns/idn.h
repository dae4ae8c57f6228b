#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// Labels of other scripts (RFC 5890), by libidn2. Private to dns.

// Appends the A-label of a U-label, lower case; not checked for length. Errors have fault SPEC and
// that reason and name the label.
bool idn_add_label(struct buffer *out, struct text label, const char *reason, struct error *err);
// Is what stands behind "xn--" Punycode? What it means is not judged: names with emoji exist.
bool idn_is_punycode(struct text label);
