#include "kinds/text_map.h"

#include <string.h>

// (1, key, value) ..., ended by 0.

static const struct value *map_or_null(const struct value *map)
{
    return map && map->type == VALUE_MAP ? map : NULL;
}

static void pack_entry(struct pack_writer *out, const struct value *item)
{
    pack_number(out, 1);
    pack_text(out, item->key);
    pack_text(out, item->text);
}

void text_map_pack(struct pack_writer *out, const struct value *map)
{
    value_each (item, map_or_null(map))
        if (item->type == VALUE_TEXT)
            pack_entry(out, item);
    pack_number(out, 0);
}

bool text_map_is_key_of(struct text key, const char *domain)
{
    struct text rest = key;
    struct text prefix;
    if (!text_cut(&rest, '/', &prefix) || !rest.at || !text_ends(prefix, domain))
        return false;
    size_t behind = prefix.len - strlen(domain);
    return behind == 0 || prefix.at[behind - 1] == '.';
}

void text_map_pack_of(struct pack_writer *out, const struct value *map, const char *domain)
{
    value_each (item, map_or_null(map))
        if (item->type == VALUE_TEXT && text_map_is_key_of(item->key, domain))
            pack_entry(out, item);
    pack_number(out, 0);
}

void text_map_skip(struct pack_reader *in)
{
    while (unpack_number(in)) {
        unpack_text(in);
        unpack_text(in);
    }
}

const struct text_pair *text_map_unpack(struct arena *arena, struct pack_reader *in, size_t *count)
{
    struct pack_reader counting = *in;
    for (*count = 0; unpack_number(&counting); ++*count) {
        unpack_text(&counting);
        unpack_text(&counting);
    }
    struct text_pair *pairs = arena_new_array(arena, struct text_pair, *count + 1);
    for (size_t i = 0; unpack_number(in); i++) {
        pairs[i].key = unpack_text(in);
        pairs[i].value = unpack_text(in);
    }
    return pairs;
}

const struct text_pair *text_map_make(struct arena *arena, const struct value *map, size_t *count)
{
    struct text_pair *pairs = arena_new_array(arena, struct text_pair, value_count(map) + 1);
    *count = 0;
    value_each (item, map_or_null(map))
        if (item->type == VALUE_TEXT)
            pairs[(*count)++] = (struct text_pair){item->key, item->text};
    return pairs;
}

struct text text_map_find(const struct text_pair *pairs, size_t count, struct text key)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(pairs[i].key, key))
            return pairs[i].value;
    return (struct text){0};
}
