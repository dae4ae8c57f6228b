#pragma once

#include <stdbool.h>

#include "base/text.h"

// Does the text have a certificate in PEM form (RFC 7468) that can be read? Programs that trust
// such a bundle pass over what else stands in it.
bool certificates_has_any(struct text pem);
