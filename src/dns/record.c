#include "dns/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"

static const struct {
    const char *name;
    uint16_t number;
} types[RECORD_TYPES] = {
    [RECORD_A] = {"A", 1},      [RECORD_AAAA] = {"AAAA", 28}, [RECORD_CNAME] = {"CNAME", 5},
    [RECORD_TXT] = {"TXT", 16}, [RECORD_MX] = {"MX", 15},     [RECORD_SRV] = {"SRV", 33},
    [RECORD_NS] = {"NS", 2},    [RECORD_PTR] = {"PTR", 12},
};

const char *record_type_name(enum record_type type)
{
    must(type < RECORD_TYPES);
    return types[type].name;
}

uint16_t record_type_number(enum record_type type)
{
    must(type < RECORD_TYPES);
    return types[type].number;
}

bool record_type_parse(struct text text, enum record_type *type)
{
    for (size_t i = 0; i < RECORD_TYPES; i++) {
        if (text_is(text, types[i].name)) {
            *type = (enum record_type)i;
            return true;
        }
    }
    return false;
}

static int compare_values(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

// Canonical, sorted, each once.
static size_t canonical_values(struct arena *arena, const struct record_set *set, struct text **out)
{
    struct text *values = arena_new_array(arena, struct text, set->value_count);
    for (size_t i = 0; i < set->value_count; i++)
        values[i] = record_value_canonical(arena, set->type, set->values[i]);
    if (set->value_count > 1)
        qsort(values, set->value_count, sizeof *values, compare_values);
    size_t count = 0;
    for (size_t i = 0; i < set->value_count; i++) {
        if (count == 0 || !text_equal(values[i], values[count - 1]))
            values[count++] = values[i];
    }
    *out = values;
    return count;
}

static bool values_are_identical(const struct record_set *a, const struct record_set *b)
{
    if (a->value_count != b->value_count)
        return false;
    for (size_t i = 0; i < a->value_count; i++) {
        if (!text_equal(a->values[i], b->values[i]))
            return false;
    }
    return true;
}

static bool values_are_equal(const struct record_set *a, const struct record_set *b)
{
    if (values_are_identical(a, b))
        return true;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text *left, *right;
    size_t count = canonical_values(arena, a, &left);
    if (canonical_values(arena, b, &right) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!text_equal(left[i], right[i]))
            return false;
    }
    return true;
}

static bool numbers_are_equal(const struct record_set *a, const struct record_set *b)
{
    if (a->type == RECORD_MX)
        return a->priority == b->priority;
    if (a->type == RECORD_SRV)
        return a->priority == b->priority && a->weight == b->weight && a->port == b->port;
    return true;
}

bool record_set_equal(const struct record_set *a, const struct record_set *b)
{
    return a->type == b->type && a->ttl_s == b->ttl_s && numbers_are_equal(a, b) &&
           values_are_equal(a, b);
}

static struct text copy_text(struct arena *arena, struct text text)
{
    if (!text.at)
        return text;
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

// The octets before the domain: "www.", or none.
static size_t prefix_len(const struct record_set *set)
{
    return text_is(set->subdomain, "@") ? 0 : set->subdomain.len + 1;
}

static char name_octet(const struct record_set *set, size_t at)
{
    size_t prefix = prefix_len(set);
    if (at >= prefix)
        return set->domain.at[at - prefix];
    return at + 1 == prefix ? '.' : set->subdomain.at[at];
}

bool record_set_is_same_key(const struct record_set *a, const struct record_set *b)
{
    size_t len = prefix_len(a) + a->domain.len;
    if (a->type != b->type || len != prefix_len(b) + b->domain.len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (name_octet(a, i) != name_octet(b, i))
            return false;
    return true;
}

uint64_t record_set_key_hash(const struct record_set *set)
{
    uint8_t block[sizeof(uint64_t) + 64];
    size_t len = prefix_len(set) + set->domain.len;
    size_t used = sizeof(uint64_t);
    uint64_t hash = (uint64_t)set->type;
    for (size_t i = 0; i < len; i++) {
        block[used++] = (uint8_t)name_octet(set, i);
        if (used < sizeof block && i + 1 < len)
            continue;
        memcpy(block, &hash, sizeof hash);
        hash = hash_octets(block, used);
        used = sizeof hash;
    }
    return hash;
}

struct record_set record_set_copy(struct arena *arena, const struct record_set *set)
{
    struct record_set copy = *set;
    struct text *values = arena_new_array(arena, struct text, set->value_count);
    for (size_t i = 0; i < set->value_count; i++)
        values[i] = copy_text(arena, set->values[i]);
    copy.domain = copy_text(arena, set->domain);
    copy.subdomain = copy_text(arena, set->subdomain);
    copy.values = values;
    return copy;
}

size_t txt_string_count(struct text value)
{
    return value.len == 0 ? 1 : (value.len + 254) / 255;
}
