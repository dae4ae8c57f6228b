#include <endian.h>
#include <string.h>

#include "base/digest.h"
#include "dns/zone_private.h"

enum {
    CLASS_IN = 1,
    RR_OCTETS_MAX = DNAME_MAX + 10 + UINT16_MAX,
    FEED_OCTETS = 2 * RR_OCTETS_MAX,
    SERIAL_FROM_END = 20,
};

// Octets on their way into the digest, in pieces so large that their number does not matter.
struct feed {
    struct digest_state *state;
    uint8_t *octets;
    size_t len;
};

static uint8_t *put_16(uint8_t *at, uint16_t number)
{
    uint16_t octets = htobe16(number);
    memcpy(at, &octets, sizeof octets);
    return at + sizeof octets;
}

static uint8_t *put_32(uint8_t *at, uint32_t number)
{
    uint32_t octets = htobe32(number);
    memcpy(at, &octets, sizeof octets);
    return at + sizeof octets;
}

static uint8_t *put_octets(uint8_t *at, const void *octets, size_t len)
{
    memcpy(at, octets, len);
    return at + len;
}

static uint8_t *room_for_rr(struct feed *feed)
{
    if (feed->len > FEED_OCTETS - RR_OCTETS_MAX) {
        digest_add(feed->state, feed->octets, feed->len);
        feed->len = 0;
    }
    return feed->octets + feed->len;
}

static void feed_set(struct feed *feed, const struct rrset *set)
{
    struct text rdata;
    for (size_t cursor = 0; rrset_next(set, &cursor, &rdata);) {
        uint8_t *at = room_for_rr(feed);
        at = put_octets(at, set->data, set->owner_len);
        at = put_16(at, set->type);
        at = put_16(at, CLASS_IN);
        at = put_32(at, set->ttl_s);
        at = put_16(at, (uint16_t)rdata.len);
        at = put_octets(at, rdata.at, rdata.len);
        feed->len = (size_t)(at - feed->octets);
    }
}

static void feed_soa(struct feed *feed, const struct rrset *soa)
{
    feed_set(feed, soa);
    memset(feed->octets + feed->len - SERIAL_FROM_END, 0, sizeof(uint32_t));
}

static void compute(const struct zone *zone, uint8_t out[32])
{
    autofree uint8_t *octets = mem_resize(NULL, 1, FEED_OCTETS);
    struct feed feed = {.state = digest_begin(DIGEST_SHA256), .octets = octets};
    const struct rrset *set;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));) {
        if (set == zone->soa)
            feed_soa(&feed, set);
        else
            feed_set(&feed, set);
    }
    digest_add(feed.state, feed.octets, feed.len);
    digest_end(feed.state, out);
}

void zone_digest(const struct zone *zone, uint8_t out[32])
{
    struct zone *own = (struct zone *)(uintptr_t)zone;
    if (!own->has_digest)
        compute(zone, own->digest);
    own->has_digest = true;
    memcpy(out, own->digest, sizeof own->digest);
}

void zone_write_hash(const struct zone *zone, char out[21])
{
    uint8_t digest[32];
    uint64_t hash;
    char digits[20];
    size_t count = 0;
    zone_digest(zone, digest);
    memcpy(&hash, digest, sizeof hash);
    hash = be64toh(hash);
    do
        digits[count++] = (char)('0' + hash % 10);
    while (hash /= 10);
    for (size_t i = 0; i < count; i++)
        out[i] = digits[count - 1 - i];
    out[count] = '\0';
}
