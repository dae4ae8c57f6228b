#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/value.h"

// The next part of a path, which moves behind it: "a.b" or "[a.b/c].d".
static struct text cut_part(const char **path)
{
    const char *at = *path;
    struct text part = {at, strcspn(at, ".[")};
    const char *behind = at + part.len;
    if (*at == '[') {
        part = (struct text){at + 1, strcspn(at + 1, "]")};
        behind = part.at + part.len + 1;
        must(behind[-1] == ']');
    }
    must(part.len > 0);
    *path = *behind == '.' ? behind + 1 : behind;
    return part;
}

struct value *value_put(struct arena *arena, struct value *root, const char *path,
                        struct value *item)
{
    struct value *map = root;
    struct text part = cut_part(&path);
    while (*path) {
        struct value *child = value_find_text(map, part);
        if (!child) {
            child = value_make(arena, VALUE_MAP);
            value_set(map, part, child);
        }
        map = child;
        part = cut_part(&path);
    }
    value_set(map, part, item);
    return item;
}

struct value *value_put_text(struct arena *arena, struct value *root, const char *path,
                             const char *text)
{
    return value_put(arena, root, path, value_make_text(arena, text_of(text)));
}

struct value *value_put_int(struct arena *arena, struct value *root, const char *path,
                            int64_t integer)
{
    return value_put(arena, root, path, value_make_int(arena, integer));
}

struct value *value_put_bool(struct arena *arena, struct value *root, const char *path,
                             bool boolean)
{
    return value_put(arena, root, path, value_make_bool(arena, boolean));
}

struct value *value_put_texts(struct arena *arena, struct value *root, const char *path,
                              const char *const *texts)
{
    struct value *list = value_put(arena, root, path, value_make(arena, VALUE_LIST));
    for (; *texts; texts++)
        value_append(list, value_make_text(arena, text_of(*texts)));
    return list;
}
