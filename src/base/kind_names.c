#include "base/kind.h"
#include "base/memory.h"

struct kind_name *kind_names_add(struct kind_names *names, enum kind_name_role role,
                                 struct text name)
{
    arena_reserve(names->arena, &names->items, &names->capacity, names->count + 1);
    struct kind_name *added = &names->items[names->count++];
    *added = (struct kind_name){.role = role, .name = name};
    return added;
}

struct text kind_names_join(struct arena *arena, const struct value *list)
{
    AUTO_BUFFER out = {0};
    value_each (item, list && list->type == VALUE_LIST ? list : NULL) {
        struct text text = value_text(item);
        buffer_add_text(&out, out.len ? ", " : "");
        buffer_add(&out, text.at, text.len);
    }
    return (struct text){arena_copy(arena, buffer_text(&out).at, out.len), out.len};
}
