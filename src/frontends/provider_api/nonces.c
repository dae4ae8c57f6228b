#include "frontends/provider_api/nonces.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/slots.h"
#include "base/table.h"

enum { LIFE_S = 300, BUCKETS = 1024 };

struct entry {
    int64_t stamp_s;
    uint8_t digest[16];
    uint32_t next; // of its bucket
};

struct nonces {
    struct entry *entries;
    size_t capacity;
    struct slots slots;
    size_t limit;
    struct table by_digest;
    uint32_t buckets[BUCKETS]; // by the second in which they expire
    int64_t swept_s;
    struct spans forgotten; // stamps whose nonces may be gone
};

static uint64_t digest_hash(const uint8_t digest[16])
{
    uint64_t hash;
    memcpy(&hash, digest, sizeof hash);
    return hash;
}

static bool entry_matches(const void *context, uint32_t id, const void *digest)
{
    const struct nonces *nonces = context;
    return !memcmp(nonces->entries[id].digest, digest, 16);
}

static uint64_t entry_hash(const void *context, uint32_t id)
{
    const struct nonces *nonces = context;
    return digest_hash(nonces->entries[id].digest);
}

static const struct table_ops entry_ops = {entry_matches, entry_hash};

struct nonces *nonces_new(size_t limit)
{
    struct nonces *nonces = mem_new_of(struct nonces);
    nonces->limit = limit;
    nonces->by_digest.ops = &entry_ops;
    nonces->by_digest.context = nonces;
    for (size_t i = 0; i < BUCKETS; i++)
        nonces->buckets[i] = TABLE_NONE;
    return nonces;
}

void nonces_free(struct nonces *nonces)
{
    if (!nonces)
        return;
    free(nonces->entries);
    slots_done(&nonces->slots);
    table_done(&nonces->by_digest);
    free(nonces);
}

static uint32_t *bucket_of(struct nonces *nonces, int64_t expiry_s)
{
    return &nonces->buckets[(uint64_t)expiry_s % BUCKETS];
}

static void forget(struct nonces *nonces, int64_t stamp_s)
{
    spans_add(&nonces->forgotten, (struct span){stamp_s, stamp_s});
}

// A clock that was set back leaves entries of a later age among the others: they stay.
static void drop_expired(struct nonces *nonces, int64_t second, int64_t now_s)
{
    uint32_t *link = bucket_of(nonces, second);
    while (*link != TABLE_NONE) {
        uint32_t id = *link;
        struct entry *entry = &nonces->entries[id];
        if (entry->stamp_s + LIFE_S >= now_s) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        forget(nonces, entry->stamp_s);
        table_remove(&nonces->by_digest, digest_hash(entry->digest), id);
        slots_give(&nonces->slots, id);
    }
}

static void sweep(struct nonces *nonces, int64_t now_s)
{
    int64_t from = nonces->swept_s;
    if (now_s - from > BUCKETS || now_s < from)
        from = now_s - BUCKETS;
    for (int64_t second = from; second < now_s; second++)
        drop_expired(nonces, second, now_s);
    nonces->swept_s = now_s;
}

void nonces_digest(struct text nonce, uint8_t out[16])
{
    uint8_t full[DIGEST_MAX];
    digest_of(DIGEST_SHA256, nonce, full);
    memcpy(out, full, 16);
}

static void add(struct nonces *nonces, const uint8_t digest[16], int64_t stamp_s)
{
    uint32_t id = slots_take(&nonces->slots);
    uint32_t *head = bucket_of(nonces, stamp_s + LIFE_S);
    mem_reserve(&nonces->entries, &nonces->capacity, nonces->slots.end);
    struct entry *entry = &nonces->entries[id];
    *entry = (struct entry){.stamp_s = stamp_s, .next = *head};
    memcpy(entry->digest, digest, 16);
    *head = id;
    table_add(&nonces->by_digest, digest_hash(digest), id);
}

enum nonce_result nonces_use(struct nonces *nonces, struct text nonce, int64_t stamp_s,
                             int64_t now_s)
{
    uint8_t digest[16];
    nonces_digest(nonce, digest);
    sweep(nonces, now_s);
    if (table_find(&nonces->by_digest, digest_hash(digest), digest) != TABLE_NONE)
        return NONCE_USED;
    if (spans_have(&nonces->forgotten, stamp_s))
        return NONCE_FORGOTTEN;
    if (slots_taken(&nonces->slots) >= nonces->limit)
        return NONCE_FULL;
    add(nonces, digest, stamp_s);
    return NONCE_NEW;
}

void nonces_restore(struct nonces *nonces, const uint8_t digest[16], int64_t stamp_s, int64_t now_s)
{
    sweep(nonces, now_s);
    if (table_find(&nonces->by_digest, digest_hash(digest), digest) != TABLE_NONE)
        return;
    bool is_live = stamp_s >= now_s - LIFE_S && stamp_s <= now_s + LIFE_S;
    if (is_live && slots_taken(&nonces->slots) < nonces->limit)
        add(nonces, digest, stamp_s);
    else
        forget(nonces, stamp_s);
}

void nonces_restore_forgotten(struct nonces *nonces, struct span span)
{
    spans_add(&nonces->forgotten, span);
}

size_t nonces_count(const struct nonces *nonces)
{
    return slots_taken(&nonces->slots);
}

void nonces_each(const struct nonces *nonces,
                 void (*call)(void *context, const uint8_t digest[16], int64_t stamp_s),
                 void *context)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        for (uint32_t id = nonces->buckets[bucket]; id != TABLE_NONE; id = nonces->entries[id].next)
            call(context, nonces->entries[id].digest, nonces->entries[id].stamp_s);
}

void nonces_each_forgotten(const struct nonces *nonces,
                           void (*call)(void *context, struct span span), void *context)
{
    for (size_t i = 0; i < nonces->forgotten.count; i++)
        call(context, nonces->forgotten.at[i]);
}
