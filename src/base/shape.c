#include "base/shape.h"

#include <string.h>

#include "base/digest.h"
#include "base/must.h"

// How the members of one type are written and read. `at` is where the member is in its struct.
struct writing {
    void *context;
    struct arena *arena;
    const struct shape_member *member;
    const char *at;
    size_t count; // of what is counted by another member
};
struct reading {
    void *context;
    struct arena *arena;
    const struct shape_member *member;
    char *at;
    char *count_at; // where the number goes
    const struct value *value;
};

static bool is_counted(enum shape_type type)
{
    return type == SHAPE_STRINGS || type == SHAPE_TEXTS || type == SHAPE_ARRAY ||
           type == SHAPE_LIST || type == SHAPE_POINTERS || type == SHAPE_OTHERS;
}

// The pointer that is the member.
static const void *pointer_at(const char *at)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static void put_pointer(char *at, const void *pointer)
{
    memcpy(at, &pointer, sizeof pointer);
}

static bool fail(const struct reading *in, struct error *err)
{
    return error_set(err, FAULT_SPEC, "", "%s: a %s is not expected there", in->member->name,
                     value_type_name(in->value->type));
}

// Two members that one number counts are of the same length. None was written of an empty one: it
// would pass for as long as the other.
static bool put_count(const struct reading *in, size_t count, struct error *err)
{
    size_t before;
    if (in->value->type != VALUE_LIST)
        return fail(in, err);
    if (!count)
        return error_set(err, FAULT_SPEC, "", "%s: an empty list is not expected there",
                         in->member->name);
    memcpy(&before, in->count_at, sizeof before);
    memcpy(in->count_at, &count, sizeof count);
    return !before || before == count ||
           error_set(err, FAULT_SPEC, "", "%s: %zu are expected there, not %zu", in->member->name,
                     before, count);
}

// ---- numbers ------------------------------------------------------------------------------------

static struct value *write_bool(const struct writing *out)
{
    bool flag;
    memcpy(&flag, out->at, sizeof flag);
    return flag ? value_make_bool(out->arena, true) : NULL;
}

static bool read_bool(const struct reading *in, struct error *err)
{
    if (in->value->type != VALUE_BOOL)
        return fail(in, err);
    memcpy(in->at, &in->value->boolean, sizeof(bool));
    return true;
}

static struct value *write_integer(const struct writing *out, int64_t integer)
{
    return integer ? value_make_int(out->arena, integer) : NULL;
}

static struct value *write_int(const struct writing *out)
{
    int integer;
    memcpy(&integer, out->at, sizeof integer);
    return write_integer(out, integer);
}

static struct value *write_unsigned(const struct writing *out)
{
    unsigned integer;
    memcpy(&integer, out->at, sizeof integer);
    return write_integer(out, integer);
}

// 64 bits without sign are written as those with.
static struct value *write_int64(const struct writing *out)
{
    int64_t integer;
    memcpy(&integer, out->at, sizeof integer);
    return write_integer(out, integer);
}

static bool read_int(const struct reading *in, struct error *err)
{
    if (in->value->type != VALUE_INT)
        return fail(in, err);
    unsigned integer = (unsigned)in->value->integer;
    memcpy(in->at, &integer, sizeof integer);
    return true;
}

static bool read_enum(const struct reading *in, struct error *err)
{
    if (in->value->type != VALUE_INT || in->value->integer < 0 ||
        in->value->integer > in->member->max)
        return fail(in, err);
    return read_int(in, err);
}

static bool read_int64(const struct reading *in, struct error *err)
{
    if (in->value->type != VALUE_INT)
        return fail(in, err);
    memcpy(in->at, &in->value->integer, sizeof in->value->integer);
    return true;
}

// ---- texts --------------------------------------------------------------------------------------

static struct value *write_chars(const struct writing *out)
{
    return *out->at ? value_make_text(out->arena, text_of(arena_copy_text(out->arena, out->at)))
                    : NULL;
}

static bool read_chars(const struct reading *in, struct error *err)
{
    struct text text = value_text(in->value);
    if (!text.at || text.len >= in->member->size)
        return fail(in, err);
    memcpy(in->at, text.at, text.len);
    return true;
}

static struct value *write_hex(const struct writing *out, const void *octets, size_t len)
{
    char *digits = arena_alloc(out->arena, 2 * len + 1, 1);
    hex_encode(octets, len, digits);
    return value_make_text(out->arena, (struct text){digits, 2 * len});
}

static struct value *write_octets(const struct writing *out)
{
    for (size_t i = 0; i < out->member->size; i++)
        if (out->at[i])
            return write_hex(out, out->at, out->member->size);
    return NULL;
}

static bool read_octets(const struct reading *in, struct error *err)
{
    uint8_t *octets = arena_alloc(in->arena, in->member->size + 1, 1);
    if (!hex_decode(value_text(in->value), octets, in->member->size))
        return fail(in, err);
    memcpy(in->at, octets, in->member->size);
    return true;
}

static struct value *write_string(const struct writing *out)
{
    const char *string = pointer_at(out->at);
    return string ? value_make_text(out->arena, text_of(string)) : NULL;
}

static const char *read_one_string(const struct reading *in, const struct value *value)
{
    struct text text = value_text(value);
    return text.at ? arena_copy(in->arena, text.at, text.len) : NULL;
}

static bool read_string(const struct reading *in, struct error *err)
{
    const char *string = read_one_string(in, in->value);
    put_pointer(in->at, string);
    return string || fail(in, err);
}

static struct value *write_strings(const struct writing *out)
{
    const char *const *strings = pointer_at(out->at);
    struct value *list = out->count ? value_make(out->arena, VALUE_LIST) : NULL;
    for (size_t i = 0; i < out->count; i++)
        value_append(list, value_make_text(out->arena, text_of(strings[i])));
    return list;
}

static bool read_strings(const struct reading *in, struct error *err)
{
    size_t count = 0;
    const char **strings = arena_new_array(in->arena, const char *, value_count(in->value) + 1);
    value_each (item, in->value) {
        strings[count] = read_one_string(in, item);
        if (!strings[count++])
            return fail(in, err);
    }
    put_pointer(in->at, strings);
    return put_count(in, count, err);
}

static struct value *write_text(const struct writing *out)
{
    struct text text;
    memcpy(&text, out->at, sizeof text);
    return text.at ? value_make_text(out->arena, text) : NULL;
}

static bool read_text(const struct reading *in, struct error *err)
{
    struct text text = value_text(in->value);
    memcpy(in->at, &text, sizeof text);
    return text.at || fail(in, err);
}

static struct value *write_texts(const struct writing *out)
{
    const struct text *texts = pointer_at(out->at);
    struct value *list = out->count ? value_make(out->arena, VALUE_LIST) : NULL;
    for (size_t i = 0; i < out->count; i++)
        value_append(list, value_make_text(out->arena, texts[i]));
    return list;
}

static bool read_texts(const struct reading *in, struct error *err)
{
    size_t count = 0;
    struct text *texts = arena_new_array(in->arena, struct text, value_count(in->value) + 1);
    value_each (item, in->value) {
        texts[count] = value_text(item);
        if (!texts[count++].at)
            return fail(in, err);
    }
    put_pointer(in->at, texts);
    return put_count(in, count, err);
}

// ---- trees and structs --------------------------------------------------------------------------

static struct value *write_value(const struct writing *out)
{
    const struct value *value = pointer_at(out->at);
    return value ? value_copy(out->arena, value) : NULL;
}

static bool read_value(const struct reading *in, struct error *err)
{
    (void)err;
    put_pointer(in->at, in->value);
    return true;
}

static struct value *write_struct(const struct writing *out)
{
    struct value *map = shape_write(out->context, out->arena, out->member->shape, out->at);
    return map->count ? map : NULL;
}

static bool read_struct(const struct reading *in, struct error *err)
{
    return shape_read(in->context, in->arena, in->member->shape, in->value, in->at, err);
}

static struct value *write_pointer(const struct writing *out)
{
    const void *at = pointer_at(out->at);
    return at ? shape_write(out->context, out->arena, out->member->shape, at) : NULL;
}

static bool read_pointer(const struct reading *in, struct error *err)
{
    void *at = arena_alloc(in->arena, 1, in->member->shape->size);
    put_pointer(in->at, at);
    return shape_read(in->context, in->arena, in->member->shape, in->value, at, err);
}

static struct value *write_items(const struct writing *out, const void *items)
{
    return out->count
               ? shape_write_list(out->context, out->arena, out->member->shape, items, out->count)
               : NULL;
}

static struct value *write_array(const struct writing *out)
{
    return write_items(out, out->at);
}

static bool read_array(const struct reading *in, struct error *err)
{
    const void *items;
    size_t count;
    if (!shape_read_list(in->context, in->arena, in->member->shape, in->value, &items, &count, err))
        return false;
    if (count * in->member->shape->size > in->member->size)
        return fail(in, err);
    memcpy(in->at, items, count * in->member->shape->size);
    return put_count(in, count, err);
}

static struct value *write_list(const struct writing *out)
{
    return write_items(out, pointer_at(out->at));
}

static bool read_list(const struct reading *in, struct error *err)
{
    const void *items;
    size_t count;
    if (!shape_read_list(in->context, in->arena, in->member->shape, in->value, &items, &count, err))
        return false;
    put_pointer(in->at, items);
    return put_count(in, count, err);
}

static struct value *write_pointers(const struct writing *out)
{
    const void *const *items = pointer_at(out->at);
    struct value *list = out->count ? value_make(out->arena, VALUE_LIST) : NULL;
    for (size_t i = 0; i < out->count; i++)
        value_append(list, items[i]
                               ? shape_write(out->context, out->arena, out->member->shape, items[i])
                               : value_make(out->arena, VALUE_NULL));
    return list;
}

static bool read_pointers(const struct reading *in, struct error *err)
{
    size_t count = 0;
    void **items = arena_new_array(in->arena, void *, value_count(in->value) + 1);
    value_each (item, in->value) {
        void **at = &items[count++];
        if (item->type == VALUE_NULL)
            continue;
        *at = arena_alloc(in->arena, 1, in->member->shape->size);
        if (!shape_read(in->context, in->arena, in->member->shape, item, *at, err))
            return false;
    }
    put_pointer(in->at, items);
    return put_count(in, count, err);
}

static struct value *write_other(const struct writing *out)
{
    return out->member->other->write(out->context, out->arena, out->at);
}

static bool read_other(const struct reading *in, struct error *err)
{
    return !in->member->other->read ||
           in->member->other->read(in->context, in->arena, in->value, in->at, err);
}

static struct value *write_others(const struct writing *out)
{
    const char *items = pointer_at(out->at);
    struct value *list = out->count ? value_make(out->arena, VALUE_LIST) : NULL;
    for (size_t i = 0; i < out->count; i++)
        value_append(
            list, out->member->other->write(out->context, out->arena, items + i * sizeof(void *)));
    return list;
}

static bool read_others(const struct reading *in, struct error *err)
{
    size_t count = 0;
    void **items = arena_new_array(in->arena, void *, value_count(in->value) + 1);
    value_each (item, in->value)
        if (!in->member->other->read(in->context, in->arena, item, &items[count++], err))
            return false;
    put_pointer(in->at, items);
    return put_count(in, count, err);
}

// ---- all types ----------------------------------------------------------------------------------

static const struct {
    struct value *(*write)(const struct writing *out);
    bool (*read)(const struct reading *in, struct error *err);
} types[] = {
    [SHAPE_BOOL] = {write_bool, read_bool},
    [SHAPE_INT] = {write_int, read_int},
    [SHAPE_ENUM] = {write_int, read_enum},
    [SHAPE_UNSIGNED] = {write_unsigned, read_int},
    [SHAPE_INT64] = {write_int64, read_int64},
    [SHAPE_UINT64] = {write_int64, read_int64},
    [SHAPE_CHARS] = {write_chars, read_chars},
    [SHAPE_OCTETS] = {write_octets, read_octets},
    [SHAPE_STRING] = {write_string, read_string},
    [SHAPE_STRINGS] = {write_strings, read_strings},
    [SHAPE_TEXT] = {write_text, read_text},
    [SHAPE_TEXTS] = {write_texts, read_texts},
    [SHAPE_VALUE] = {write_value, read_value},
    [SHAPE_STRUCT] = {write_struct, read_struct},
    [SHAPE_POINTER] = {write_pointer, read_pointer},
    [SHAPE_ARRAY] = {write_array, read_array},
    [SHAPE_LIST] = {write_list, read_list},
    [SHAPE_POINTERS] = {write_pointers, read_pointers},
    [SHAPE_OTHER] = {write_other, read_other},
    [SHAPE_OTHERS] = {write_others, read_others},
};

struct value *shape_write(void *context, struct arena *arena, const struct shape *shape,
                          const void *at)
{
    struct value *map = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_member *member = &shape->members[i];
        struct writing out = {context, arena, member, (const char *)at + member->offset, 0};
        if (is_counted(member->type))
            memcpy(&out.count, (const char *)at + member->count_offset, sizeof out.count);
        struct value *value = types[member->type].write(&out);
        if (value)
            value_set(map, text_of(member->name), value);
    }
    return map;
}

bool shape_read(void *context, struct arena *arena, const struct shape *shape,
                const struct value *tree, void *at, struct error *err)
{
    memset(at, 0, shape->size);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_member *member = &shape->members[i];
        const struct value *value = value_find(tree, member->name);
        const struct reading in = {
            context, arena, member, (char *)at + member->offset, (char *)at + member->count_offset,
            value};
        if (!value && member->is_needed)
            return error_set(err, FAULT_SPEC, "", "%s is missing", member->name);
        if (value && !types[member->type].read(&in, err))
            return false;
    }
    return true;
}

struct value *shape_write_list(void *context, struct arena *arena, const struct shape *shape,
                               const void *items, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list,
                     shape_write(context, arena, shape, (const char *)items + i * shape->size));
    return list;
}

bool shape_read_list(void *context, struct arena *arena, const struct shape *shape,
                     const struct value *list, const void **items, size_t *count, struct error *err)
{
    size_t read = 0;
    char *out = arena_alloc(arena, value_count(list) + 1, shape->size);
    value_each (item, list)
        if (!shape_read(context, arena, shape, item, out + read++ * shape->size, err))
            return false;
    *items = out;
    *count = read;
    return true;
}
