#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "dns/dname.h"

// One version of a zone: immutable, shared by reference, its RRsets in canonical order (RFC 4034
// 6.1: owner name, then type, then rdata). Versions share what they have in common, so a new one
// costs what changed.

// One allocation, shared by reference. RRs in canonical order, none twice.
struct rrset {
    uint32_t refs;
    uint32_t ttl_s;
    uint32_t octets; // of `data`
    uint32_t count;  // of RRs; 0 only says, to zone_next, that there are none any more
    uint16_t type;
    uint8_t owner_len;
    uint8_t data[]; // owner name; then each RR: 16 bits length, in host order, unaligned; rdata
};
// `rdatas` in any order, canonical each; equal ones are merged.
struct rrset *rrset_new(struct dname owner, uint16_t type, uint32_t ttl_s,
                        const struct text *rdatas, size_t count);
struct rrset *rrset_ref(const struct rrset *set);
void rrset_unref(const struct rrset *set); // accepts NULL
static inline struct dname rrset_owner(const struct rrset *set)
{
    return (struct dname){set->data, set->owner_len};
}
// The next rdata; *cursor starts at 0. False: that was the last.
static inline bool rrset_next(const struct rrset *set, size_t *cursor, struct text *rdata)
{
    const uint8_t *at = set->data + set->owner_len + *cursor;
    uint16_t len;
    if (at == set->data + set->octets)
        return false;
    memcpy(&len, at, sizeof len);
    *rdata = (struct text){(const char *)at + sizeof len, len};
    *cursor += sizeof len + len;
    return true;
}
// All of its RRs as transferred without compression.
static inline size_t rrset_wire_octets(const struct rrset *set)
{
    // Each length stands for itself; type, class and TTL are the eight octets more.
    return set->octets - set->owner_len + (size_t)set->count * (set->owner_len + 8u);
}
bool rrset_equal(const struct rrset *a, const struct rrset *b); // in all, their TTL as well
// In canonical order: owner, type.
int rrset_compare(const struct rrset *a, const struct rrset *b);

struct zone_soa {
    struct dname mname;
    struct dname rname;
    uint32_t serial;
    uint32_t refresh_s;
    uint32_t retry_s;
    uint32_t expire_s;
    uint32_t minimum_s;
};
struct rrset *zone_soa_set(struct dname apex, uint32_t ttl_s, const struct zone_soa *soa);
void zone_soa_read(const struct rrset *set, struct zone_soa *out); // names are borrowed

struct zone;
// Takes the references of `soa` and of all sets, which may come in any order and more than once for
// a name and type: those are merged under the lowest TTL. Empty ones are left out. None may be an
// SOA, all must be within the apex.
struct zone *zone_new(struct rrset *soa, struct rrset **sets, size_t count);
struct zone *zone_ref(const struct zone *zone);
void zone_unref(const struct zone *zone); // accepts NULL
DEFINE_CLEANUP(zone, zone_unref)

// The version that follows: `puts`, in any order and once at most for a name and type, replace the
// sets of their name and type; an empty one (count 0) removes it. Takes the references of `soa` and
// of the sets. NULL soa: the old one.
struct zone *zone_next(const struct zone *old, struct rrset *soa, struct rrset **puts,
                       size_t count);

struct dname zone_apex(const struct zone *zone);
uint32_t zone_serial(const struct zone *zone);
const struct rrset *zone_soa(const struct zone *zone);
size_t zone_record_count(const struct zone *zone); // with the SOA
size_t zone_octets(const struct zone *zone);       // as transferred without compression
const struct rrset *zone_find(const struct zone *zone, struct dname owner, uint16_t type);

// All sets in canonical order, the SOA at its place. {.zone = zone} is at the first.
struct zone_walk {
    const struct zone *zone;
    size_t chunk;
    size_t item;
    bool is_past_soa;
};
const struct rrset *zone_walk(struct zone_walk *walk); // NULL: that was the last

// SHA-256 over all RRs in canonical form and order (RFC 4034 6) with the serial as 0: the same
// content has the same hash under every serial.
void zone_digest(const struct zone *zone, uint8_t out[32]);
// Its first 8 octets, big-endian, in decimal.
void zone_write_hash(const struct zone *zone, char out[21]);

// What is in one and not in the other, RR by RR, without the SOA; both have one apex. What versions
// share is passed over at no cost. The sets hold just the RRs that differ (a changed TTL: all of
// the set).
struct zone_delta {
    struct rrset **removed; // in canonical order; owned
    size_t removed_count;
    struct rrset **added;
    size_t added_count;
    size_t record_count; // removed and added
    size_t octets;       // as transferred without compression
};
void zone_compare(const struct zone *old, const struct zone *new_, struct zone_delta *out);
void zone_delta_done(struct zone_delta *delta);

// ---- text ---------------------------------------------------------------------------------------

// Master file (RFC 1035 5) that every server loads: $ORIGIN, then the SOA, then all others in
// canonical order, owners relative, TTL and class on each line.
void zone_write_file(struct buffer *out, const struct zone *zone);
// To the octet as Kubizone's zonefile program wrote it: without a line feed at its end.
void zone_write_kubizone(struct buffer *out, const struct zone *zone);
// Only the SOA's rdata, as it stands there: "ns1.shop.example. noc.shop.example. (7 86400 7200
// 3600000 360)".
void zone_write_kubizone_soa(struct buffer *out, const struct rrset *soa);
// One RR: "www.shop.example. 300 IN A 192.0.2.7".
void zone_write_record(struct buffer *out, const struct rrset *set, struct text rdata);
