#pragma once

#include "dns/zone.h"

// A zone's inside: a list of chunks of sets, so that a version shares all chunks but those in which
// it differs from the one before. No chunk is empty.

enum {
    CHUNK_SETS_MAX = 256,
    CHUNK_SETS_FILL = 192, // when there is much to spread
    CHUNK_SETS_MIN = 64,   // fewer go with the neighbour, so only the one chunk of a zone has fewer
    CHUNKS_PER_MARK = 8,
};

struct zone_chunk {
    uint32_t refs;
    uint32_t count;
    size_t record_count;
    size_t octets; // as transferred without compression
    struct rrset *sets[];
};

// The digest of a zone's beginning, for all versions that begin so.
struct zone_mark {
    uint32_t refs;
    struct digest_state *state;
};

struct zone {
    uint32_t refs;
    bool has_digest;
    uint8_t digest[32];       // once somebody asked for it
    struct zone_mark **marks; // after each CHUNKS_PER_MARK chunks; as many as are known
    size_t mark_count;
    struct rrset *soa;
    struct zone_chunk **chunks;
    size_t chunk_count;
    size_t set_count; // these with the SOA's
    size_t record_count;
    size_t octets;
};

// Where a set stands in the order.
struct rrset_key {
    struct dname owner;
    uint16_t type;
};
static inline struct rrset_key rrset_key(const struct rrset *set)
{
    return (struct rrset_key){rrset_owner(set), set->type};
}
static inline bool rrset_has_key(const struct rrset *set, struct rrset_key key)
{
    return set->type == key.type && dname_equal(rrset_owner(set), key.owner);
}

// A copy in canonical order, in which equal ones keep theirs; caller frees the array.
struct rrset **rrset_sorted(struct rrset *const *sets, size_t count);
// One set of all their RRs under the lowest TTL; they have one name and type. Takes nothing.
struct rrset *rrset_merged(struct rrset *const *sets, size_t count);

// The last chunk from `at` on that does not begin after `key`, or else `at`.
size_t zone_find_chunk(const struct zone *zone, size_t at, struct rrset_key key);
// The first set from `at` on that is not before `key`, or else how many there are.
size_t zone_chunk_find(const struct zone_chunk *chunk, size_t at, struct rrset_key key);

// Makes a zone, in order: of chunks, shared as they are, and of sets.
struct zone_builder {
    struct zone_chunk **chunks;
    size_t chunk_count;
    size_t chunk_capacity;
    struct rrset **sets; // that wait to become chunks
    size_t set_count;
    size_t set_capacity;
};
void zone_builder_add(struct zone_builder *builder, struct rrset *set); // takes the reference
void zone_builder_share(struct zone_builder *builder, struct rrset *const *sets, size_t count);
void zone_builder_share_chunk(struct zone_builder *builder, struct zone_chunk *chunk);
// A good place to end a chunk, if it is large enough.
void zone_builder_cut(struct zone_builder *builder);
// The zone, whose SOA's reference it takes. Frees what the builder holds.
struct zone *zone_builder_end(struct zone_builder *builder, struct rrset *soa);
void zone_chunk_unref(struct zone_chunk *chunk);

// Takes over what the version before knows of the digest, as far as the two begin alike.
void zone_digest_inherit(struct zone *zone, const struct zone *old);
void zone_digest_done(struct zone *zone);
