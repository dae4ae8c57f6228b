#include "store/owner.h"

#include <stddef.h>

#include "base/digest.h"
#include "base/memory.h"

enum { HASH_SHOWN = 4 };

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_owner_id(struct text id)
{
    if (id.len == 0 || id.len > OWNER_ID_MAX || !is_plain(id.at[0]) || !is_plain(id.at[id.len - 1]))
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!is_plain(id.at[i]) && id.at[i] != '-')
            return false;
    return true;
}

bool owner_id_check(struct text id, struct error *err)
{
    if (is_owner_id(id))
        return true;
    return error_set(err, FAULT_SPEC, "",
                     "an owner id has 1 to %d characters of a-z, 0-9 and -, and no - at its ends",
                     OWNER_ID_MAX);
}

void owner_id_derive(struct text uid, const char *namespaces, char out[OWNER_ID_MAX + 1])
{
    AUTO_BUFFER basis = {0};
    uint8_t hash[DIGEST_MAX];
    buffer_printf(&basis, "%.*s/%s", TEXT_ARGS(uid), namespaces);
    digest_of(DIGEST_SHA256, buffer_text(&basis), hash);
    hex_encode(hash, HASH_SHOWN, out);
}
