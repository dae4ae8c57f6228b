#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/value_private.h"

static bool is_number(const struct value *value)
{
    return value->type == VALUE_INT || value->type == VALUE_FLOAT;
}

// A FLOAT that is a whole number of int64 is that INT to equality and hash.
static struct value number_of(const struct value *value)
{
    struct value number = {.type = value->type};
    if (value->type == VALUE_INT)
        number.integer = value->integer;
    else
        number.real = value->real;
    bool is_whole = value->type == VALUE_FLOAT && value->real >= -0x1p63 && value->real < 0x1p63 &&
                    (double)(int64_t)value->real == value->real;
    if (is_whole) {
        number.type = VALUE_INT;
        number.integer = (int64_t)value->real;
    }
    return number;
}

static bool number_equal(const struct value *a, const struct value *b)
{
    struct value x = number_of(a);
    struct value y = number_of(b);
    if (x.type != y.type)
        return false;
    return x.type == VALUE_INT ? x.integer == y.integer : !(x.real < y.real || x.real > y.real);
}

int value_compare_keys(const void *a, const void *b)
{
    const struct value *const *x = a;
    const struct value *const *y = b;
    return text_compare((*x)->key, (*y)->key);
}

const struct value **value_sort(const struct value *first, size_t count)
{
    const struct value **entries = mem_new(count, sizeof *entries);
    size_t n = 0;
    for (; first; first = first->next)
        entries[n++] = first;
    qsort(entries, count, sizeof *entries, value_compare_keys);
    return entries;
}

static bool entries_equal(const struct value *a, const struct value *b, size_t count)
{
    autofree const struct value **x = value_sort(a, count);
    autofree const struct value **y = value_sort(b, count);
    for (size_t i = 0; i < count; i++) {
        if (!text_equal(x[i]->key, y[i]->key) || !value_equal(x[i], y[i]))
            return false;
    }
    return true;
}

// Most maps that are compared have the same order; only what is left over gets sorted.
static bool map_equal(const struct value *a, const struct value *b)
{
    const struct value *x = a->first;
    const struct value *y = b->first;
    size_t left = a->count;
    for (; x && text_equal(x->key, y->key); x = x->next, y = y->next, left--) {
        if (!value_equal(x, y))
            return false;
    }
    return left == 0 || entries_equal(x, y, left);
}

static bool list_equal(const struct value *a, const struct value *b)
{
    const struct value *y = b->first;
    for (const struct value *x = a->first; x; x = x->next, y = y->next) {
        if (!value_equal(x, y))
            return false;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (!a || !b)
        return a == b;
    if (is_number(a) && is_number(b))
        return number_equal(a, b);
    if (a->type != b->type)
        return false;
    if (a->type == VALUE_TEXT)
        return text_equal(a->text, b->text);
    if (a->type == VALUE_BOOL)
        return a->boolean == b->boolean;
    if (a->type == VALUE_NULL)
        return true;
    if (a->count != b->count)
        return false;
    return a->type == VALUE_LIST ? list_equal(a, b) : map_equal(a, b);
}

static bool list_covers(const struct value *there, const struct value *wanted)
{
    const struct value *y = wanted->first;
    if (there->count != wanted->count)
        return false;
    for (const struct value *x = there->first; x; x = x->next, y = y->next) {
        if (!value_covers(x, y))
            return false;
    }
    return true;
}

static bool map_covers(const struct value *there, const struct value *wanted)
{
    value_each (member, wanted) {
        if (!value_covers(value_find_text(there, member->key), member))
            return false;
    }
    return true;
}

bool value_covers(const struct value *there, const struct value *wanted)
{
    bool is_tree = wanted->type == VALUE_LIST || wanted->type == VALUE_MAP;
    if (!there)
        return wanted->type == VALUE_NULL || (is_tree && !wanted->count) ||
               (wanted->type == VALUE_TEXT && !wanted->text.len);
    if (!is_tree || there->type != wanted->type)
        return value_equal(there, wanted);
    return wanted->type == VALUE_LIST ? list_covers(there, wanted) : map_covers(there, wanted);
}

static void add_number(struct content_hash *hash, const struct value *value)
{
    struct value number = number_of(value);
    uint64_t bits = (uint64_t)number.integer;
    if (number.type == VALUE_FLOAT)
        memcpy(&bits, &number.real, sizeof bits);
    content_hash_add(hash, number.type);
    content_hash_add(hash, bits);
}

static void add_value(struct content_hash *hash, const struct value *value);

static struct content_id id_of_member(const struct value *member)
{
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, member->key);
    add_value(&hash, member);
    return content_hash_end(&hash);
}

// A sum does not depend on the order.
static void add_members(struct content_hash *hash, const struct value *map)
{
    struct content_id sum = {0};
    value_each (member, map) {
        struct content_id id = id_of_member(member);
        sum.words[0] += id.words[0];
        sum.words[1] += id.words[1];
    }
    content_hash_add(hash, sum.words[0]);
    content_hash_add(hash, sum.words[1]);
}

static void add_collection(struct content_hash *hash, const struct value *value)
{
    content_hash_add(hash, value->type);
    content_hash_add(hash, value->count);
    if (value->type == VALUE_MAP) {
        add_members(hash, value);
        return;
    }
    value_each (item, value)
        add_value(hash, item);
}

static void add_value(struct content_hash *hash, const struct value *value)
{
    if (is_number(value)) {
        add_number(hash, value);
    } else if (value->type == VALUE_LIST || value->type == VALUE_MAP) {
        add_collection(hash, value);
    } else {
        content_hash_add(hash, value->type);
        if (value->type == VALUE_BOOL)
            content_hash_add(hash, value->boolean);
        if (value->type == VALUE_TEXT)
            content_hash_add_text(hash, value->text);
    }
}

struct content_id value_content_id(const struct value *value)
{
    static const struct value null = {.type = VALUE_NULL};
    struct content_hash hash = content_hash_new();
    add_value(&hash, value ? value : &null);
    return content_hash_end(&hash);
}
