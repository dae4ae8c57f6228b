#include "kinds/tree_body.h"

#include "base/must.h"
#include "kinds/group.h"
#include "kinds/text_map.h"

void tree_pack(struct pack_writer *out, const struct value *tree)
{
    AUTO_BUFFER json = {0};
    if (tree)
        value_write_json(&json, tree);
    pack_text(out, tree ? buffer_text(&json) : (struct text){0});
}

const struct value *tree_unpack(struct arena *arena, struct pack_reader *in)
{
    struct error err;
    struct text json = unpack_text(in);
    if (!json.at)
        return NULL;
    const struct value *tree = value_read_json(arena, json, &value_own_limits, &err);
    must(tree);
    return tree;
}

static struct value *own_annotations(struct arena *arena, const struct value *object)
{
    struct value *own = value_make(arena, VALUE_MAP);
    const struct value *all = value_at(object, "metadata.annotations", NULL);
    value_each (item, all && all->type == VALUE_MAP ? all : NULL)
        if (text_map_is_key_of(item->key, DNS_GROUP))
            value_set(own, item->key, value_copy(arena, item));
    return own;
}

void object_tree_pack(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = value_make(arena, VALUE_MAP);
    const struct value *spec = value_find(object, "spec");
    value_put(arena, tree, "metadata.name",
              value_make_text(arena, value_text_at(object, "metadata.name")));
    value_put(arena, tree, "metadata.annotations", own_annotations(arena, object));
    if (spec)
        value_set(tree, TEXT("spec"), value_copy(arena, spec));
    tree_pack(out, tree);
}
