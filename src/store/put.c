#include "store/put.h"

#include "base/must.h"

static void add_entries(struct arena *arena, struct value *map, const struct value *more)
{
    value_each (item, more)
        value_set(map, item->key, value_copy(arena, item));
}

struct value *put_tree(struct arena *arena, const struct object_ref_key *key,
                       const struct value *ours)
{
    AUTO_BUFFER version = {0};
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *metadata = value_make(arena, VALUE_MAP);
    must(kind_is_name(key->name) && (!key->namespace_.len || kind_is_name(key->namespace_)));
    kind_api_version(&version, key->kind);
    value_put_text(arena, tree, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, tree, "kind", key->kind->name);
    value_set(metadata, TEXT("name"), value_make_text(arena, key->name));
    if (key->namespace_.len)
        value_set(metadata, TEXT("namespace"), value_make_text(arena, key->namespace_));
    add_entries(arena, metadata, value_find(ours, "metadata"));
    add_entries(arena, tree, ours);
    value_set(tree, TEXT("metadata"), metadata);
    return tree;
}

void put_keep(struct arena *arena, struct value *tree, const struct value *kept,
              const struct value *now)
{
    const struct value *there = value_find(now, "data");
    struct value *data = value_find(tree, "data");
    if (!data || !there || there->type != VALUE_MAP)
        return;
    value_each (item, kept) {
        const struct value *text = value_find_text(there, value_text(item));
        if (text && !value_find_text(data, value_text(item)))
            value_set(data, value_text(item), value_copy(arena, text));
    }
}
