#include "base/hash.h"

#include <endian.h>
#include <string.h>

enum { BLOCK = 8 };

// The process's own, set once at the start.
static uint64_t process_key[2];

void hash_key_set(const uint8_t key[16])
{
    memcpy(process_key, key, sizeof process_key);
}

static uint64_t rotate(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

static inline __attribute__((always_inline)) void sip_round(struct sip *sip)
{
    uint64_t *v = sip->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void sip_end(struct sip *sip, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        sip_round(sip);
}

static uint64_t load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

// The last octets, with the length's lowest octet on top.
static uint64_t load_rest(const uint8_t *at, size_t left, size_t len)
{
    uint8_t octets[BLOCK] = {0};
    if (left)
        memcpy(octets, at, left);
    octets[BLOCK - 1] = (uint8_t)len;
    return load(octets);
}

static struct sip sip_new(bool is_wide)
{
    return (struct sip){{process_key[0] ^ 0x736f6d6570736575,
                         process_key[1] ^ 0x646f72616e646f6d ^ (is_wide ? 0xee : 0),
                         process_key[0] ^ 0x6c7967656e657261, process_key[1] ^ 0x7465646279746573}};
}

static void sip_block_once(struct sip *sip, uint64_t block)
{
    sip->v[3] ^= block;
    sip_round(sip);
    sip->v[0] ^= block;
}

static inline __attribute__((always_inline)) void sip_block_twice(struct sip *sip, uint64_t block)
{
    sip->v[3] ^= block;
    sip_round(sip);
    sip_round(sip);
    sip->v[0] ^= block;
}

static uint64_t sip_word(const struct sip *sip)
{
    return sip->v[0] ^ sip->v[1] ^ sip->v[2] ^ sip->v[3];
}

uint64_t hash_octets(const void *at, size_t len)
{
    struct sip sip = sip_new(false);
    const uint8_t *octets = at;
    size_t left = len;
    for (; left >= BLOCK; left -= BLOCK, octets += BLOCK)
        sip_block_once(&sip, load(octets));
    sip_block_once(&sip, load_rest(octets, left, len));
    sip.v[2] ^= 0xff;
    sip_end(&sip, 3);
    return sip_word(&sip);
}

static struct content_id content_id_from(struct sip sip)
{
    struct content_id id;
    sip.v[2] ^= 0xee;
    sip_end(&sip, 4);
    id.words[0] = sip_word(&sip);
    sip.v[1] ^= 0xdd;
    sip_end(&sip, 4);
    id.words[1] = sip_word(&sip);
    return id;
}

static const uint8_t *add_blocks(struct sip *sip, const uint8_t *octets, size_t len)
{
    for (; len >= BLOCK; len -= BLOCK, octets += BLOCK)
        sip_block_twice(sip, load(octets));
    return octets;
}

struct content_id content_id_of(const void *at, size_t len)
{
    struct sip sip = sip_new(true);
    const uint8_t *rest = add_blocks(&sip, at, len);
    sip_block_twice(&sip, load_rest(rest, len % BLOCK, len));
    return content_id_from(sip);
}

struct content_hash content_hash_new(void)
{
    return (struct content_hash){.sip = sip_new(true)};
}

void content_hash_add(struct content_hash *hash, uint64_t word)
{
    hash->count++;
    sip_block_twice(&hash->sip, word);
}

void content_hash_add_text(struct content_hash *hash, struct text text)
{
    struct sip sip = hash->sip; // stays in registers
    sip_block_twice(&sip, text.len);
    const uint8_t *rest = add_blocks(&sip, (const uint8_t *)text.at, text.len);
    if (text.len % BLOCK)
        sip_block_twice(&sip, load_rest(rest, text.len % BLOCK, 0));
    hash->sip = sip;
    hash->count += 1 + (text.len + BLOCK - 1) / BLOCK;
}

struct content_id content_hash_end(const struct content_hash *hash)
{
    struct sip sip = hash->sip;
    sip_block_twice(&sip, hash->count * BLOCK << 56);
    return content_id_from(sip);
}
