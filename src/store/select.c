#include "base/labels.h"
#include "store/store.h"

bool store_selects(const struct store_kind *type, const struct value *tree)
{
    for (size_t i = 0; i < STORE_SELECTORS_MAX && type->selectors[i]; i++)
        if (labels_match_object(type->selectors[i], tree))
            return true;
    return !type->selectors[0];
}
