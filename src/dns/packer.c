#include "dns/packer.h"

#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "dns/rdata.h"
#include "dns/wire.h"

enum {
    POINTER_MARK = 0xc000,
    POINTER_END = 0x4000, // what stands from here on cannot be pointed at
    RR_FIXED = 10,        // type, class, TTL, length
    RDATA_NAMES_MAX = 2,
};
#define PARENT_FACTOR UINT32_C(0x9e3779b1)

void packer_set_u16(struct buffer *out, size_t at, unsigned number)
{
    out->at[at] = (char)(number >> 8);
    out->at[at + 1] = (char)number;
}

static unsigned u16_at(const struct buffer *out, size_t at)
{
    const uint8_t *octets = (const uint8_t *)out->at + at;
    return (unsigned)octets[0] << 8 | octets[1];
}

void packer_begin(struct packer *packer, struct buffer *out, uint16_t id, unsigned flags)
{
    static const uint8_t header[WIRE_HEADER];
    must(!out->len);
    packer->out = out;
    packer->set = NULL;
    packer->is_full = false;
    packer->suffix_count = 0;
    memset(packer->slots, 0, sizeof packer->slots);
    buffer_add(out, header, sizeof header);
    packer_set_u16(out, 0, id);
    packer_set_u16(out, 2, flags);
}

size_t packer_count(const struct packer *packer, enum packer_section section)
{
    return u16_at(packer->out, section);
}

static void count_one(struct packer *packer, size_t section)
{
    packer_set_u16(packer->out, section, u16_at(packer->out, section) + 1);
}

// ---- names --------------------------------------------------------------------------------------

static void put_u16(struct buffer *out, unsigned number)
{
    packer_set_u16(out, out->len, number);
    out->len += 2;
}

static void put(struct buffer *out, const void *at, size_t len)
{
    memcpy(out->at + out->len, at, len);
    out->len += len;
}

static uint32_t hash_of(const uint8_t *label, uint16_t parent)
{
    return (uint32_t)hash_octets(label, 1u + *label) ^ parent * PARENT_FACTOR;
}

// The slot where that suffix is, or where it would be.
static uint16_t *slot_of(struct packer *packer, const uint8_t *label, uint32_t hash,
                         uint16_t parent)
{
    const uint8_t *octets = (const uint8_t *)packer->out->at;
    for (size_t i = hash;; i++) {
        uint16_t *slot = &packer->slots[i % PACKER_SLOTS];
        if (!*slot)
            return slot;
        const struct packer_suffix *suffix = &packer->suffixes[*slot - 1];
        if (suffix->hash == hash && suffix->parent == parent && octets[suffix->at] == *label &&
            !memcmp(octets + suffix->at + 1, label + 1, *label))
            return slot;
    }
}

static void remember(struct packer *packer, const uint8_t *label, uint16_t at, uint16_t parent)
{
    if (packer->suffix_count == PACKER_SUFFIXES)
        return;
    uint32_t hash = hash_of(label, parent);
    packer->suffixes[packer->suffix_count] = (struct packer_suffix){hash, at, parent};
    *slot_of(packer, label, hash, parent) = ++packer->suffix_count;
}

// Labels from `known` on are there already, at `parent`: the rest is written before a pointer to
// them, and remembered from its end to its front.
static uint16_t put_new_labels(struct packer *packer, struct dname name, const uint8_t **labels,
                               size_t known, uint16_t parent)
{
    struct buffer *out = packer->out;
    size_t at = out->len;
    size_t len = (size_t)(labels[known] - name.at);
    put(out, name.at, len);
    if (parent)
        put_u16(out, POINTER_MARK | parent);
    else
        put(out, "", 1);
    for (size_t i = known; i-- > 0;) {
        size_t label_at = at + (size_t)(labels[i] - name.at);
        if (label_at >= POINTER_END)
            break;
        remember(packer, labels[i], (uint16_t)label_at, parent);
        parent = (uint16_t)label_at;
    }
    return at < POINTER_END ? (uint16_t)at : 0;
}

// Returns where the name stands; 0: it cannot be pointed at. There is room for all of it.
static uint16_t put_name(struct packer *packer, struct dname name)
{
    const uint8_t *labels[DNAME_LABELS_MAX + 1];
    size_t known = dname_labels(name, labels);
    uint16_t parent = 0;
    labels[known] = name.at + name.len - 1;
    for (; known; known--) {
        const uint8_t *label = labels[known - 1];
        uint16_t slot = *slot_of(packer, label, hash_of(label, parent), parent);
        if (!slot)
            return put_new_labels(packer, name, labels, known, parent);
        parent = packer->suffixes[slot - 1].at;
    }
    if (parent)
        put_u16(packer->out, POINTER_MARK | parent);
    else
        put(packer->out, "", 1);
    return parent;
}

// ---- records ------------------------------------------------------------------------------------

void packer_question(struct packer *packer, struct dname name, uint16_t type, uint16_t class)
{
    buffer_reserve(packer->out, name.len + 4);
    put_name(packer, name);
    put_u16(packer->out, type);
    put_u16(packer->out, class);
    packer->out->at[packer->out->len] = '\0';
    count_one(packer, 4);
}

static void put_owner(struct packer *packer, const struct rrset *set)
{
    if (packer->set == set && packer->owner_at) {
        put_u16(packer->out, POINTER_MARK | packer->owner_at);
        return;
    }
    if (packer->set != set)
        packer->is_compressible = rdata_is_compressible(set->type);
    packer->owner_at = put_name(packer, rrset_owner(set));
    packer->set = set;
}

static size_t name_len(const char *at)
{
    const uint8_t *label = (const uint8_t *)at;
    while (*label)
        label += *label + 1;
    return (size_t)(label + 1 - (const uint8_t *)at);
}

static void put_rdata_with_names(struct packer *packer, uint16_t type, struct text rdata)
{
    uint16_t offsets[RDATA_NAMES_MAX];
    size_t count = rdata_names(type, rdata, offsets, COUNT_OF(offsets));
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        struct dname name = {(const uint8_t *)rdata.at + offsets[i],
                             name_len(rdata.at + offsets[i])};
        put(packer->out, rdata.at + done, offsets[i] - done);
        put_name(packer, name);
        done = offsets[i] + name.len;
    }
    put(packer->out, rdata.at + done, rdata.len - done);
}

static void put_fixed(struct buffer *out, const struct rrset *set)
{
    put_u16(out, set->type);
    put_u16(out, CLASS_IN);
    put_u16(out, set->ttl_s >> 16);
    put_u16(out, set->ttl_s & UINT16_MAX);
}

static void put_record(struct packer *packer, const struct rrset *set, struct text rdata)
{
    struct buffer *out = packer->out;
    put_owner(packer, set);
    put_fixed(out, set);
    size_t len_at = out->len;
    put_u16(out, 0);
    if (packer->is_compressible)
        put_rdata_with_names(packer, set->type, rdata);
    else
        put(out, rdata.at, rdata.len);
    packer_set_u16(out, len_at, (unsigned)(out->len - len_at - 2));
}

bool packer_record(struct packer *packer, enum packer_section section, const struct rrset *set,
                   struct text rdata, size_t limit)
{
    struct buffer *out = packer->out;
    size_t before = out->len;
    if (packer->is_full)
        return false;
    // A name that cannot be compressed has at most as many octets as it has in the set.
    buffer_reserve(out, (size_t)set->owner_len + RR_FIXED + rdata.len);
    put_record(packer, set, rdata);
    packer->is_full = out->len > limit;
    if (packer->is_full)
        out->len = before;
    else
        count_one(packer, section);
    out->at[out->len] = '\0';
    return !packer->is_full;
}
