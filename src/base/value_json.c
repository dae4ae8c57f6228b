#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/value_private.h"

struct tree {
    struct arena *arena;
    size_t members;
};

static struct value *value_from(struct tree *tree, struct json_object *object);

static struct text copy_text(struct arena *arena, const char *at, size_t len)
{
    return (struct text){arena_copy(arena, at, len), len};
}

static void fill_map(struct tree *tree, struct value *map, struct json_object *object)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        struct value *item = value_from(tree, json_object_iter_peek_value(&at));
        item->key = copy_text(tree->arena, name, strlen(name));
        value_link(map, item);
        tree->members++;
    }
}

static void fill_list(struct tree *tree, struct value *list, struct json_object *object)
{
    size_t count = json_object_array_length(object);
    for (size_t i = 0; i < count; i++)
        value_append(list, value_from(tree, json_object_array_get_idx(object, i)));
}

static struct value *value_from(struct tree *tree, struct json_object *object)
{
    struct arena *arena = tree->arena;
    struct value *value = value_make(arena, VALUE_NULL);
    switch (json_object_get_type(object)) {
    case json_type_null:
        break;
    case json_type_boolean:
        value->type = VALUE_BOOL;
        value->boolean = json_object_get_boolean(object);
        break;
    case json_type_int:
        value->type = VALUE_INT;
        value->integer = json_object_get_int64(object);
        break;
    case json_type_double:
        scalar_set_real(value, json_object_get_double(object));
        break;
    case json_type_string:
        value->type = VALUE_TEXT;
        value->text = copy_text(arena, json_object_get_string(object),
                                (size_t)json_object_get_string_len(object));
        break;
    case json_type_array:
        value->type = VALUE_LIST;
        fill_list(tree, value, object);
        break;
    case json_type_object:
        value->type = VALUE_MAP;
        fill_map(tree, value, object);
        break;
    }
    return value;
}

static bool parse(struct text text, unsigned depth, struct json_object **out, struct error *err)
{
    struct json_tokener *tokener = json_tokener_new_ex((int)depth + 2);
    must(tokener);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    *out = json_tokener_parse_ex(tokener, text.at, (int)text.len);
    if (json_tokener_get_error(tokener) == json_tokener_continue)
        *out = json_tokener_parse_ex(tokener, "", 1); // a bare number ends with the text
    enum json_tokener_error fault = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    return fault == json_tokener_success ||
           error_set(err, FAULT_SPEC, "InvalidJSON", "1:1: %s", json_tokener_error_desc(fault));
}

struct value *value_read_json(struct arena *arena, struct text text,
                              const struct value_limits *limits, struct error *err)
{
    must(limits->octets <= INT_MAX / 2);
    AUTO_BUFFER wider = {0};
    struct json_check check = {.wider = &wider};
    struct json_object *object;
    if (!json_check_text(&check, text, limits, err) ||
        !parse(wider.len ? buffer_text(&wider) : text, limits->depth, &object, err))
        return NULL;
    struct tree tree = {.arena = arena};
    struct value *value = value_from(&tree, object);
    json_object_put(object);
    if (tree.members < check.members) {
        json_fail_duplicate(text, err);
        return NULL;
    }
    return value;
}
