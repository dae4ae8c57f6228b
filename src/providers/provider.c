#include "providers/provider.h"

#include <stdio.h>
#include <string.h>

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < provider_count; i++)
        if (!strcmp(providers[i]->name, name))
            return providers[i];
    return NULL;
}

bool provider_refuse_key(struct error *err, const char *key)
{
    error_prefix(err, "%s: ", key);
    if (err)
        snprintf(err->reason, sizeof err->reason, "%s", INVALID_CONFIGURATION);
    return false;
}
