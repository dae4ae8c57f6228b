#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
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

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    a *= 0xff51afd7ed558ccdu;
    return a ^ (a >> 33);
}

static uint64_t hash_number(const struct value *value)
{
    struct value number = number_of(value);
    if (number.type == VALUE_INT)
        return mix(VALUE_INT, (uint64_t)number.integer);
    uint64_t bits;
    memcpy(&bits, &number.real, sizeof bits);
    return mix(VALUE_FLOAT, bits);
}

static uint64_t hash_list(const struct value *list)
{
    uint64_t hash = mix(VALUE_LIST, list->count);
    value_each (item, list)
        hash = mix(hash, value_hash(item));
    return hash;
}

// A sum does not depend on the order.
static uint64_t hash_map(const struct value *map)
{
    uint64_t sum = 0;
    value_each (item, map)
        sum += mix(hash_octets(item->key.at, item->key.len), value_hash(item));
    return mix(mix(VALUE_MAP, map->count), sum);
}

uint64_t value_hash(const struct value *value)
{
    if (!value || value->type == VALUE_NULL)
        return mix(VALUE_NULL, 0);
    if (is_number(value))
        return hash_number(value);
    if (value->type == VALUE_BOOL)
        return mix(VALUE_BOOL, value->boolean);
    if (value->type == VALUE_TEXT)
        return mix(VALUE_TEXT, hash_octets(value->text.at, value->text.len));
    return value->type == VALUE_LIST ? hash_list(value) : hash_map(value);
}
