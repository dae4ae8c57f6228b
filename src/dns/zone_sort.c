#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/zone_private.h"

enum {
    DIGITS = 8, // octets of a front
    DIGIT_VALUES = 256,
    FEW = 32,
    KEY_MAX = DNAME_KEY_MAX + 3,
};

// A set with its key at hand: the canonical key of its owner, 0 and the type. So no key is the
// front of another, and their octets alone give the order.
struct item {
    uint64_t front; // of the rest, big-endian
    uint32_t at;    // where the rest of its key stands: all the others in its run begin as it does
    uint32_t len;
    struct rrset *set;
};

struct sorter {
    struct item *items;
    struct item *spare; // as many
    size_t count;
    struct buffer keys;
};

static const char *key_of(const struct sorter *sorter, const struct item *item)
{
    return sorter->keys.at + item->at;
}

static size_t write_key(const struct rrset *set, uint8_t key[KEY_MAX])
{
    size_t len = dname_write_key(rrset_owner(set), key);
    key[len++] = 0;
    key[len++] = (uint8_t)(set->type >> 8);
    key[len++] = (uint8_t)set->type;
    return len;
}

static void add_item(struct sorter *sorter, struct rrset *set)
{
    uint8_t key[KEY_MAX];
    size_t len = write_key(set, key);
    must(sorter->keys.len + len <= UINT32_MAX);
    sorter->items[sorter->count++] =
        (struct item){.at = (uint32_t)sorter->keys.len, .len = (uint32_t)len, .set = set};
    buffer_add(&sorter->keys, key, len);
}

static bool is_after(const struct sorter *sorter, const struct item *a, const struct item *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    return memcmp(key_of(sorter, a), key_of(sorter, b), len) > 0;
}

static void sort_few(struct sorter *sorter, size_t from, size_t end)
{
    struct item *items = sorter->items;
    for (size_t i = from + 1; i < end; i++) {
        struct item item = items[i];
        size_t at = i;
        for (; at > from && is_after(sorter, &items[at - 1], &item); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static size_t common_octets(const struct sorter *sorter, size_t from, size_t end)
{
    const struct item *first = &sorter->items[from];
    const char *key = key_of(sorter, first);
    size_t common = first->len;
    for (size_t i = from + 1; i < end; i++) {
        const struct item *item = &sorter->items[i];
        const char *other = key_of(sorter, item);
        size_t len = item->len < common ? item->len : common;
        if (len == common && !memcmp(key, other, len))
            continue;
        for (common = 0; common < len && key[common] == other[common];)
            common++;
    }
    return common;
}

static uint64_t front_of(const char *key, size_t len)
{
    uint64_t front = 0;
    memcpy(&front, key, len < sizeof front ? len : sizeof front);
    return be64toh(front);
}

static void cut_common(struct sorter *sorter, size_t from, size_t end, size_t common)
{
    for (size_t i = from; i < end; i++) {
        struct item *item = &sorter->items[i];
        item->at += (uint32_t)common;
        item->len -= (uint32_t)common;
        item->front = front_of(key_of(sorter, item), item->len);
    }
}

static uint8_t digit_of(const struct item *item, size_t digit)
{
    return (uint8_t)(item->front >> 8 * digit);
}

// Where the items of each value go.
static void sum_up(uint32_t counts[DIGIT_VALUES])
{
    uint32_t before = 0;
    for (size_t i = 0; i < DIGIT_VALUES; i++) {
        uint32_t count = counts[i];
        counts[i] = before;
        before += count;
    }
}

// A radix sort by the fronts, from their last octet to their first.
static void sort_by_front(struct sorter *sorter, size_t from, size_t end)
{
    uint32_t places[DIGITS][DIGIT_VALUES] = {0};
    struct item *items = sorter->items + from;
    struct item *spare = sorter->spare + from;
    size_t count = end - from;
    for (size_t i = 0; i < count; i++)
        for (size_t digit = 0; digit < DIGITS; digit++)
            places[digit][digit_of(&items[i], digit)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        if (places[digit][digit_of(items, digit)] == count)
            continue;
        sum_up(places[digit]);
        for (size_t i = 0; i < count; i++)
            spare[places[digit][digit_of(&items[i], digit)]++] = items[i];
        struct item *sorted = spare;
        spare = items;
        items = sorted;
    }
    if (items != sorter->items + from)
        memcpy(sorter->items + from, items, count * sizeof *items);
}

static void sort_run(struct sorter *sorter, size_t from, size_t end)
{
    if (end - from <= FEW) {
        sort_few(sorter, from, end);
        return;
    }
    size_t common = common_octets(sorter, from, end);
    if (common == sorter->items[from].len)
        return; // they are all the same
    cut_common(sorter, from, end, common);
    sort_by_front(sorter, from, end);
    for (size_t at = from; at < end; from = at) {
        while (at < end && sorter->items[at].front == sorter->items[from].front)
            at++;
        sort_run(sorter, from, at);
    }
}

static void sort_sets(struct rrset **sets, size_t count)
{
    struct sorter sorter = {.items = mem_resize(NULL, count, sizeof *sorter.items),
                            .spare = mem_resize(NULL, count, sizeof *sorter.spare)};
    for (size_t i = 0; i < count; i++)
        add_item(&sorter, sets[i]);
    sort_run(&sorter, 0, count);
    for (size_t i = 0; i < count; i++)
        sets[i] = sorter.items[i].set;
    free(sorter.items);
    free(sorter.spare);
    buffer_done(&sorter.keys);
}

static bool are_in_order(struct rrset *const *sets, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rrset_compare(sets[i - 1], sets[i]) > 0)
            return false;
    return true;
}

struct rrset **rrset_sorted(struct rrset *const *sets, size_t count)
{
    struct rrset **sorted = mem_resize(NULL, count, sizeof(struct rrset *));
    if (count)
        memcpy(sorted, sets, count * sizeof(struct rrset *));
    if (!are_in_order(sorted, count))
        sort_sets(sorted, count);
    return sorted;
}
