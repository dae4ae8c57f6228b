#include <stdlib.h>

#include "base/hash.h"
#include "base/table.h"
#include "kinds/dns/dns_kind.h"

struct row {
    struct text zone;
    const char *owner;
};
struct dns_owners {
    struct table by_zone;
    struct row *rows;
    size_t count;
    size_t capacity;
};

static bool matches(const void *context, uint32_t id, const void *key)
{
    const struct dns_owners *owners = context;
    return text_equal(owners->rows[id].zone, *(const struct text *)key);
}

static uint64_t hash_of(const void *context, uint32_t id)
{
    const struct dns_owners *owners = context;
    return hash_octets(owners->rows[id].zone.at, owners->rows[id].zone.len);
}

static const struct table_ops ops = {matches, hash_of};

struct dns_owners *dns_owners_new(void)
{
    struct dns_owners *owners = mem_new_of(struct dns_owners);
    owners->by_zone = (struct table){.ops = &ops, .context = owners};
    return owners;
}

void dns_owners_free(struct dns_owners *owners)
{
    if (!owners)
        return;
    table_done(&owners->by_zone);
    free(owners->rows);
    free(owners);
}

const char *dns_owners_find(const struct dns_owners *owners, struct text zone)
{
    uint32_t id = table_find(&owners->by_zone, hash_octets(zone.at, zone.len), &zone);
    return id == TABLE_NONE ? NULL : owners->rows[id].owner;
}

const char *dns_owners_add(struct dns_owners *owners, struct text zone, const char *owner)
{
    const char *earlier = dns_owners_find(owners, zone);
    if (earlier)
        return earlier;
    mem_reserve(&owners->rows, &owners->capacity, owners->count + 1);
    owners->rows[owners->count] = (struct row){zone, owner};
    table_add(&owners->by_zone, hash_octets(zone.at, zone.len), (uint32_t)owners->count++);
    return NULL;
}
