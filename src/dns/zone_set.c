#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/rr_type.h"
#include "dns/zone_private.h"

enum {
    RDATA_LEN_MAX = UINT16_MAX,
    SOA_NUMBERS = 5,
    SOA_RDATA_MAX = 2 * DNAME_MAX + SOA_NUMBERS * 4,
};

// ---- one set ------------------------------------------------------------------------------------

static int compare_rdatas(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

static bool is_in_order(const struct text *rdatas, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (text_compare(rdatas[i - 1], rdatas[i]) >= 0)
            return false;
    return true;
}

// Sorted and without equal ones; returns how many are left.
static size_t put_in_order(struct text *rdatas, size_t count)
{
    size_t kept = 0;
    qsort(rdatas, count, sizeof *rdatas, compare_rdatas);
    for (size_t i = 0; i < count; i++)
        if (!kept || !text_equal(rdatas[kept - 1], rdatas[i]))
            rdatas[kept++] = rdatas[i];
    return kept;
}

static uint8_t *put_rdata(uint8_t *at, struct text rdata)
{
    uint16_t len = (uint16_t)rdata.len;
    memcpy(at, &len, sizeof len);
    memcpy(at + sizeof len, rdata.at, rdata.len);
    return at + sizeof len + rdata.len;
}

static size_t data_octets(struct dname owner, const struct text *rdatas, size_t count)
{
    size_t octets = owner.len;
    for (size_t i = 0; i < count; i++) {
        must(rdatas[i].len <= RDATA_LEN_MAX);
        octets += sizeof(uint16_t) + rdatas[i].len;
    }
    must(octets <= UINT32_MAX && count <= UINT32_MAX);
    return octets;
}

static struct rrset *new_in_order(struct dname owner, uint16_t type, uint32_t ttl_s,
                                  const struct text *rdatas, size_t count)
{
    size_t octets = data_octets(owner, rdatas, count);
    struct rrset *set = mem_resize(NULL, 1, offsetof(struct rrset, data) + octets);
    set->refs = 1;
    set->ttl_s = ttl_s;
    set->octets = (uint32_t)octets;
    set->count = (uint32_t)count;
    set->type = type;
    set->owner_len = (uint8_t)owner.len;
    memcpy(set->data, owner.at, owner.len);
    uint8_t *at = set->data + owner.len;
    for (size_t i = 0; i < count; i++)
        at = put_rdata(at, rdatas[i]);
    return set;
}

struct rrset *rrset_new(struct dname owner, uint16_t type, uint32_t ttl_s,
                        const struct text *rdatas, size_t count)
{
    must(owner.len && owner.len <= DNAME_MAX);
    if (is_in_order(rdatas, count))
        return new_in_order(owner, type, ttl_s, rdatas, count);
    autofree struct text *ordered = mem_copy(rdatas, count * sizeof *rdatas);
    return new_in_order(owner, type, ttl_s, ordered, put_in_order(ordered, count));
}

struct rrset *rrset_merged(struct rrset *const *sets, size_t count)
{
    size_t rdata_count = 0;
    uint32_t ttl_s = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        rdata_count += sets[i]->count;
        if (sets[i]->count && sets[i]->ttl_s < ttl_s)
            ttl_s = sets[i]->ttl_s;
    }
    autofree struct text *rdatas = mem_new_array(struct text, rdata_count);
    struct text *at = rdatas;
    for (size_t i = 0; i < count; i++)
        for (size_t cursor = 0; rrset_next(sets[i], &cursor, at);)
            at++;
    return rrset_new(rrset_owner(sets[0]), sets[0]->type, ttl_s, rdatas, rdata_count);
}

struct rrset *rrset_ref(const struct rrset *set)
{
    struct rrset *own = (struct rrset *)(uintptr_t)set;
    own->refs++;
    return own;
}

void rrset_unref(const struct rrset *set)
{
    struct rrset *own = (struct rrset *)(uintptr_t)set;
    if (!own)
        return;
    must(own->refs);
    if (!--own->refs)
        free(own);
}

bool rrset_equal(const struct rrset *a, const struct rrset *b)
{
    return a == b || (a->type == b->type && a->ttl_s == b->ttl_s && a->octets == b->octets &&
                      a->owner_len == b->owner_len && !memcmp(a->data, b->data, a->octets));
}

int rrset_compare(const struct rrset *a, const struct rrset *b)
{
    struct dname left = rrset_owner(a);
    struct dname right = rrset_owner(b);
    int order = dname_equal(left, right) ? 0 : dname_compare(left, right);
    return order ? order : (a->type > b->type) - (a->type < b->type);
}

// ---- SOA ----------------------------------------------------------------------------------------

struct rrset *zone_soa_set(struct dname apex, uint32_t ttl_s, const struct zone_soa *soa)
{
    uint8_t octets[SOA_RDATA_MAX];
    uint32_t numbers[SOA_NUMBERS] = {htobe32(soa->serial), htobe32(soa->refresh_s),
                                     htobe32(soa->retry_s), htobe32(soa->expire_s),
                                     htobe32(soa->minimum_s)};
    size_t names = soa->mname.len + soa->rname.len;
    must(soa->mname.len <= DNAME_MAX && soa->rname.len <= DNAME_MAX);
    memcpy(octets, soa->mname.at, soa->mname.len);
    memcpy(octets + soa->mname.len, soa->rname.at, soa->rname.len);
    memcpy(octets + names, numbers, sizeof numbers);
    struct text rdata = {(const char *)octets, names + sizeof numbers};
    return rrset_new(apex, RR_SOA, ttl_s, &rdata, 1);
}

static struct dname name_at(const uint8_t *at)
{
    size_t len = 0;
    while (at[len])
        len += at[len] + 1u;
    return (struct dname){at, len + 1};
}

void zone_soa_read(const struct rrset *set, struct zone_soa *out)
{
    struct text rdata;
    size_t cursor = 0;
    uint32_t numbers[SOA_NUMBERS];
    must(set->type == RR_SOA && rrset_next(set, &cursor, &rdata));
    const uint8_t *at = (const uint8_t *)rdata.at;
    struct dname mname = name_at(at);
    struct dname rname = name_at(at + mname.len);
    must(rdata.len == mname.len + rname.len + sizeof numbers);
    memcpy(numbers, rname.at + rname.len, sizeof numbers);
    *out = (struct zone_soa){
        .mname = mname,
        .rname = rname,
        .serial = be32toh(numbers[0]),
        .refresh_s = be32toh(numbers[1]),
        .retry_s = be32toh(numbers[2]),
        .expire_s = be32toh(numbers[3]),
        .minimum_s = be32toh(numbers[4]),
    };
}
