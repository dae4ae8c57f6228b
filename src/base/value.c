#include "base/value.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/value_private.h"

const struct value_limits value_manifest_limits = {.octets = 16u << 20, .depth = 64, .aliases = 64};
const struct value_limits value_reply_limits = {.octets = 1u << 20, .depth = 16};
const struct value_limits value_own_limits = {
    .octets = SIZE_MAX, .depth = VALUE_DEPTH_MAX, .nodes = UINT_MAX};

const char *value_type_name(enum value_type type)
{
    static const char *const names[] = {
        [VALUE_NULL] = "null",    [VALUE_BOOL] = "boolean", [VALUE_INT] = "number",
        [VALUE_FLOAT] = "number", [VALUE_TEXT] = "text",    [VALUE_LIST] = "list",
        [VALUE_MAP] = "map",
    };
    return names[type];
}

static bool has_children(const struct value *value)
{
    return value && (value->type == VALUE_LIST || value->type == VALUE_MAP);
}

struct value *value_make(struct arena *arena, enum value_type type)
{
    struct value *value = arena_new_of(arena, struct value);
    value->type = type;
    return value;
}

struct value *value_make_text(struct arena *arena, struct text text)
{
    struct value *value = value_make(arena, VALUE_TEXT);
    value->text = text.at ? text : TEXT("");
    return value;
}

struct value *value_make_int(struct arena *arena, int64_t integer)
{
    struct value *value = value_make(arena, VALUE_INT);
    value->integer = integer;
    return value;
}

struct value *value_make_bool(struct arena *arena, bool boolean)
{
    struct value *value = value_make(arena, VALUE_BOOL);
    value->boolean = boolean;
    return value;
}

void value_link(struct value *parent, struct value *item)
{
    item->next = NULL;
    if (parent->last)
        parent->last->next = item;
    else
        parent->first = item;
    parent->last = item;
    parent->count++;
}

void value_append(struct value *list, struct value *item)
{
    must(list->type == VALUE_LIST);
    value_link(list, item);
}

static struct value **find_link(struct value *map, struct text key, struct value **before)
{
    struct value **link = &map->first;
    *before = NULL;
    while (*link && !text_equal((*link)->key, key)) {
        *before = *link;
        link = &(*link)->next;
    }
    return link;
}

void value_set(struct value *map, struct text key, struct value *item)
{
    must(map->type == VALUE_MAP);
    struct value *before;
    struct value **link = find_link(map, key, &before);
    struct value *old = *link;
    item->key = key;
    if (!old) {
        value_link(map, item);
        return;
    }
    if (old == item)
        return;
    item->next = old->next;
    *link = item;
    if (map->last == old)
        map->last = item;
}

static bool remove_key(struct value *map, struct text key)
{
    must(map->type == VALUE_MAP);
    struct value *before;
    struct value **link = find_link(map, key, &before);
    struct value *old = *link;
    if (!old)
        return false;
    *link = old->next;
    if (map->last == old)
        map->last = before;
    map->count--;
    return true;
}

bool value_remove(struct value *map, const char *key)
{
    return remove_key(map, text_of(key));
}

static struct text copy_text(struct arena *arena, struct text text)
{
    if (!text.at)
        return text;
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

static struct value *clone_node(struct arena *arena, const struct value *value)
{
    struct value *clone = arena_new_of(arena, struct value);
    *clone = *value;
    clone->next = NULL;
    return clone;
}

struct value *value_copy(struct arena *arena, const struct value *value)
{
    if (!value)
        return NULL;
    struct value *copy = clone_node(arena, value);
    copy->text = copy_text(arena, value->text);
    copy->key = copy_text(arena, value->key);
    if (!has_children(value))
        return copy;
    copy->first = copy->last = NULL;
    copy->count = 0;
    value_each (item, value)
        value_link(copy, value_copy(arena, item));
    return copy;
}

struct value *value_find_text(const struct value *map, struct text key)
{
    if (!map || map->type != VALUE_MAP)
        return NULL;
    value_each (item, map) {
        if (text_equal(item->key, key))
            return item;
    }
    return NULL;
}

struct value *value_find(const struct value *map, const char *key)
{
    return value_find_text(map, text_of(key));
}

static struct value *find_index(const struct value *list, struct text digits)
{
    int64_t index;
    if (!list || list->type != VALUE_LIST || !text_to_int64(digits, &index) || index < 0)
        return NULL;
    value_each (item, list) {
        if (index-- == 0)
            return item;
    }
    return NULL;
}

// Takes the next step off the path: "name", "[2]" or "[key.with/dots]".
static struct value *step(const struct value *from, const char **path)
{
    const char *at = *path;
    if (*at == '[') {
        size_t len = strcspn(++at, "]");
        struct text inside = {at, len};
        *path = at + len + (at[len] == ']');
        return from && from->type == VALUE_MAP ? value_find_text(from, inside)
                                               : find_index(from, inside);
    }
    at += *at == '.';
    size_t len = strcspn(at, ".[");
    *path = at + len;
    return value_find_text(from, (struct text){at, len});
}

struct value *value_at(const struct value *root, const char *path, const struct value **nearest)
{
    if (nearest)
        *nearest = root;
    if (!root || !*path)
        return (struct value *)(uintptr_t)root;
    const struct value *at = root;
    struct value *found = NULL;
    while (*path && (found = step(at, &path))) {
        at = found;
        if (nearest)
            *nearest = at;
    }
    return found;
}

const struct value *value_list_at(const struct value *root, const char *path)
{
    const struct value *list = value_at(root, path, NULL);
    return list && list->type == VALUE_LIST ? list : NULL;
}

struct text value_text(const struct value *value)
{
    return value && value->type == VALUE_TEXT ? value->text : (struct text){0};
}

struct text value_text_at(const struct value *map, const char *path)
{
    return value_text(value_at(map, path, NULL));
}

int64_t value_int_at(const struct value *map, const char *path, int64_t fallback)
{
    const struct value *value = value_at(map, path, NULL);
    return value && value->type == VALUE_INT ? value->integer : fallback;
}

bool value_bool_at(const struct value *map, const char *path, bool fallback)
{
    const struct value *value = value_at(map, path, NULL);
    return value && value->type == VALUE_BOOL ? value->boolean : fallback;
}

bool value_lists_text(const struct value *list, struct text text)
{
    value_each (item, has_children(list) ? list : NULL)
        if (text_equal(value_text(item), text))
            return true;
    return false;
}

size_t value_count(const struct value *value)
{
    return has_children(value) ? value->count : 0;
}

// A map of its own with the target's entries, so that the target stays as it was.
static struct value *clone_map(struct arena *arena, const struct value *target)
{
    if (!target || target->type != VALUE_MAP)
        return value_make(arena, VALUE_MAP);
    struct value *map = clone_node(arena, target);
    map->first = map->last = NULL;
    map->count = 0;
    value_each (item, target)
        value_link(map, clone_node(arena, item));
    return map;
}

struct value *value_merge_patch(struct arena *arena, struct value *target,
                                const struct value *patch)
{
    if (patch->type != VALUE_MAP)
        return clone_node(arena, patch);
    struct value *map = clone_map(arena, target);
    value_each (item, patch) {
        if (item->type == VALUE_NULL)
            remove_key(map, item->key);
        else
            value_set(map, item->key,
                      value_merge_patch(arena, value_find_text(map, item->key), item));
    }
    return map;
}

void value_position(struct text text, size_t offset, unsigned *line, unsigned *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset && i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '\n') {
            (*line)++;
            *column = 1;
        } else if ((c & 0xc0) != 0x80) {
            (*column)++;
        }
    }
}
