#include "frontends/intent/patch.h"

static struct value *patch_member(struct arena *arena, const struct value *now,
                                  const struct value *next)
{
    if (now && now->type == VALUE_MAP && next->type == VALUE_MAP)
        return patch_between(arena, now, next);
    return now && value_equal(now, next) ? NULL : value_copy(arena, next);
}

struct value *patch_between(struct arena *arena, const struct value *now, const struct value *next)
{
    struct value *patch = value_make(arena, VALUE_MAP);
    value_each (item, next) {
        struct value *change = patch_member(arena, value_find_text(now, item->key), item);
        if (change)
            value_set(patch, item->key, change);
    }
    value_each (item, now)
        if (!value_find_text(next, item->key))
            value_set(patch, item->key, value_make(arena, VALUE_NULL));
    return patch->first ? patch : NULL;
}
