#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

// Where external-dns's registry "txt" notes who owns a record set: in a TXT record whose name is
// made of the owner name and the type.

struct registry_affix {
    struct text prefix; // txt-prefix and txt-suffix; %{record_type} in one of them is the type
    struct text suffix;
    struct text wildcard; // txt-wildcard-replacement: stands for a first label "*"; empty: nothing
};

// Appends the name of that TXT record, without a final dot. `name` is a whole owner name in lower
// case without a final dot, `type` is "A", "CNAME" and so on. Affixes are written in lower case, as
// external-dns does.
void registry_name_write(struct buffer *out, struct text name, struct text type,
                         const struct registry_affix *affix);
// Can there be a record of that name? If not, external-dns leaves the record set out without a
// word. Errors have reason "NameTooLongForRegistry".
bool registry_name_fits(struct text name, struct text type, const struct registry_affix *affix,
                        struct error *err);
// Would that record be in the zone? Beside the apex, without a fitting prefix, it is not. The
// zone's name has no final dot. Errors have reason "InvalidConfiguration".
bool registry_name_is_within(struct text name, struct text type, const struct registry_affix *affix,
                             struct text zone, struct error *err);
