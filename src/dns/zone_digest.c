#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "dns/zone_private.h"

enum {
    CLASS_IN = 1,
    RR_OCTETS_MAX = DNAME_MAX + 10 + UINT16_MAX,
    FEED_ENOUGH = 16 << 10, // much for the digest, little for the processor's cache
    FEED_OCTETS = FEED_ENOUGH + RR_OCTETS_MAX,
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
    if (feed->len > FEED_ENOUGH) {
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

// ---- marks --------------------------------------------------------------------------------------

static void mark_unref(struct zone_mark *mark)
{
    if (--mark->refs)
        return;
    digest_free(mark->state);
    free(mark);
}

void zone_digest_done(struct zone *zone)
{
    for (size_t i = 0; i < zone->mark_count; i++)
        mark_unref(zone->marks[i]);
    free(zone->marks);
}

static bool differ_in_serial_only(const struct rrset *a, const struct rrset *b)
{
    size_t front = a->octets - SERIAL_FROM_END;
    size_t rest = front + sizeof(uint32_t);
    return a->ttl_s == b->ttl_s && a->octets == b->octets && !memcmp(a->data, b->data, front) &&
           !memcmp(a->data + rest, b->data + rest, a->octets - rest);
}

static size_t common_chunks(const struct zone *a, const struct zone *b)
{
    size_t count = 0;
    while (count < a->chunk_count && count < b->chunk_count && a->chunks[count] == b->chunks[count])
        count++;
    return count;
}

void zone_digest_inherit(struct zone *zone, const struct zone *old)
{
    if (!differ_in_serial_only(zone->soa, old->soa))
        return;
    size_t common = common_chunks(zone, old);
    size_t count = common / CHUNKS_PER_MARK;
    if (count > old->mark_count)
        count = old->mark_count;
    zone->marks = mem_new_array(struct zone_mark *, count);
    for (; zone->mark_count < count; zone->mark_count++) {
        zone->marks[zone->mark_count] = old->marks[zone->mark_count];
        zone->marks[zone->mark_count]->refs++;
    }
    zone->has_digest = old->has_digest && common == zone->chunk_count && common == old->chunk_count;
    memcpy(zone->digest, old->digest, sizeof zone->digest);
}

static bool is_at_mark(const struct zone *zone, const struct zone_walk *walk)
{
    return !walk->item && walk->chunk == (zone->mark_count + 1) * CHUNKS_PER_MARK;
}

static void keep_mark(struct zone *zone, struct feed *feed)
{
    struct zone_mark *mark = mem_new_of(struct zone_mark);
    digest_add(feed->state, feed->octets, feed->len);
    feed->len = 0;
    *mark = (struct zone_mark){.refs = 1, .state = digest_copy(feed->state)};
    zone->marks[zone->mark_count++] = mark;
}

// From the last mark on. The SOA's place is long before the first.
static void compute(struct zone *zone)
{
    autofree uint8_t *octets = mem_resize(NULL, 1, FEED_OCTETS);
    size_t marks = zone->mark_count;
    struct feed feed = {.octets = octets};
    struct zone_walk walk = {
        .zone = zone, .chunk = marks * CHUNKS_PER_MARK, .is_past_soa = marks > 0};
    const struct rrset *set;
    feed.state = marks ? digest_copy(zone->marks[marks - 1]->state) : digest_begin(DIGEST_SHA256);
    zone->marks = mem_resize(zone->marks, zone->chunk_count / CHUNKS_PER_MARK, sizeof *zone->marks);
    while ((set = zone_walk(&walk))) {
        if (set == zone->soa)
            feed_soa(&feed, set);
        else
            feed_set(&feed, set);
        if (is_at_mark(zone, &walk))
            keep_mark(zone, &feed);
    }
    digest_add(feed.state, feed.octets, feed.len);
    digest_end(feed.state, zone->digest);
    zone->has_digest = true;
}

void zone_digest(const struct zone *zone, uint8_t out[32])
{
    struct zone *own = (struct zone *)(uintptr_t)zone;
    if (!own->has_digest)
        compute(own);
    memcpy(out, own->digest, sizeof own->digest);
}

void zone_write_hash(const struct zone *zone, char out[21])
{
    uint8_t digest[32];
    uint64_t hash;
    zone_digest(zone, digest);
    memcpy(&hash, digest, sizeof hash);
    snprintf(out, 21, "%" PRIu64, be64toh(hash));
}
