#pragma once

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "dns/rr_type.h"
#include "dns/zone_private.h"

// Zones for tests, all of shop.example.

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

// "" is the apex.
static inline struct dname name_of(const char *label, uint8_t out[DNAME_MAX])
{
    size_t len = strlen(label);
    size_t at = len ? len + 1 : 0;
    out[0] = (uint8_t)len;
    for (size_t i = 0; i < len; i++)
        out[i + 1] = (uint8_t)label[i];
    memcpy(out + at, shop.at, shop.len);
    return (struct dname){out, at + shop.len};
}

static inline struct rrset *set_of(const char *label, uint16_t type, uint32_t ttl_s,
                                   const struct text *rdatas, size_t count)
{
    uint8_t owner[DNAME_MAX];
    return rrset_new(name_of(label, owner), type, ttl_s, rdatas, count);
}

// One A record: 10.x.x.x.
static inline struct rrset *host(const char *label, uint32_t number)
{
    uint8_t octets[4] = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    return set_of(label, RR_A, 300, &(struct text){(const char *)octets, 4}, 1);
}

static inline struct rrset *host_number(uint32_t name, uint32_t number)
{
    char label[DNAME_LABEL_MAX + 1];
    snprintf(label, sizeof label, "host-%u", name);
    return host(label, number);
}

static inline struct rrset *nothing_at(const char *label, uint16_t type)
{
    return set_of(label, type, 0, NULL, 0);
}

static inline struct rrset *shop_soa(uint32_t serial)
{
    static const struct dname mname = {(const uint8_t *)"\3ns1\4shop\7example", 18};
    static const struct dname rname = {(const uint8_t *)"\12hostmaster\4shop\7example", 25};
    return zone_soa_set(shop, 3600,
                        &(struct zone_soa){mname, rname, serial, 86400, 7200, 3600000, 360});
}

// The zone of the vector for hashes; caller unrefs.
static inline struct zone *shop_zone(uint32_t serial)
{
    static const struct text ns = {"\3ns1\4shop\7example", 18};
    static const struct text hello = {"\5hello", 6};
    static const struct text first = {"\300\0\2\65", 4};
    static const struct text addresses[] = {{"\300\0\2\12", 4}, {"\300\0\2\7", 4}};
    struct rrset *sets[] = {
        set_of("www", RR_A, 300, addresses, 2),
        set_of("*", RR_TXT, 360, &hello, 1),
        set_of("", RR_NS, 3600, &ns, 1),
        set_of("ns1", RR_A, 3600, &first, 1),
    };
    return zone_new(shop_soa(serial), sets, COUNT_OF(sets));
}

// A zone of `count` hosts; caller unrefs.
static inline struct zone *zone_of_hosts(uint32_t serial, uint32_t count)
{
    autofree struct rrset **sets = mem_new_array(struct rrset *, count);
    for (uint32_t i = 0; i < count; i++)
        sets[i] = host_number(i, i);
    return zone_new(shop_soa(serial), sets, count);
}

// The version after it, in which one host has another address.
static inline struct zone *with_host(const struct zone *zone, uint32_t serial, uint32_t name,
                                     uint32_t number)
{
    struct rrset *put = host_number(name, number);
    return zone_next(zone, shop_soa(serial), &put, 1);
}

// The same content with nothing shared but the sets.
static inline struct zone *made_anew(const struct zone *zone)
{
    autofree struct rrset **sets = mem_new_array(struct rrset *, zone->set_count);
    const struct rrset *set;
    size_t count = 0;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));)
        if (set->type != RR_SOA)
            sets[count++] = rrset_ref(set);
    return zone_new(rrset_ref(zone_soa(zone)), sets, count);
}
