#include "base/hash.h"

#include <endian.h>
#include <string.h>

enum { BLOCK = 8 };

struct sip {
    uint64_t v[4];
};

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

static void sip_round(struct sip *sip)
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

static void sip_rounds(struct sip *sip, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
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

static void sip_block(struct sip *sip, uint64_t block, unsigned rounds)
{
    sip->v[3] ^= block;
    sip_rounds(sip, rounds);
    sip->v[0] ^= block;
}

static struct sip sip_of(const void *at, size_t len, unsigned rounds, bool is_wide)
{
    struct sip sip = {{process_key[0] ^ 0x736f6d6570736575, process_key[1] ^ 0x646f72616e646f6d,
                       process_key[0] ^ 0x6c7967656e657261, process_key[1] ^ 0x7465646279746573}};
    const uint8_t *octets = at;
    size_t left = len;
    sip.v[1] ^= is_wide ? 0xee : 0;
    for (; left >= BLOCK; left -= BLOCK, octets += BLOCK)
        sip_block(&sip, load(octets), rounds);
    sip_block(&sip, load_rest(octets, left, len), rounds);
    return sip;
}

static uint64_t sip_word(const struct sip *sip)
{
    return sip->v[0] ^ sip->v[1] ^ sip->v[2] ^ sip->v[3];
}

uint64_t hash_octets(const void *at, size_t len)
{
    struct sip sip = sip_of(at, len, 1, false);
    sip.v[2] ^= 0xff;
    sip_rounds(&sip, 3);
    return sip_word(&sip);
}

struct content_id content_id_of(const void *at, size_t len)
{
    struct content_id id;
    struct sip sip = sip_of(at, len, 2, true);
    sip.v[2] ^= 0xee;
    sip_rounds(&sip, 4);
    id.words[0] = sip_word(&sip);
    sip.v[1] ^= 0xdd;
    sip_rounds(&sip, 4);
    id.words[1] = sip_word(&sip);
    return id;
}
