#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// The names under which services are published.

enum { EXTERNAL_NAME_MAX = 253 };

// Appends the name as it is published: in lower case, without a final dot, labels of other scripts
// as A-labels (IDNA2008, non-transitional). Labels have 1 to 63 letters, digits, "-" or "_", the
// first may be "*". On failure nothing is appended, and err->text is a sentence for people.
bool external_name_write(struct buffer *out, struct text name, struct error *err);
