#include "providers/provider.h"

#include <string.h>

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < provider_count; i++)
        if (!strcmp(providers[i]->name, name))
            return providers[i];
    return NULL;
}
