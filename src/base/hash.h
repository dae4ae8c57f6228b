#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// Hashes of what comes from outside, for tables and to tell content apart. They are keyed
// (SipHash, Aumasson and Bernstein 2012): without the process's key nobody can write two texts that
// meet. So they are good within one process only; what is stored or compared with others is a
// digest (base/digest.h).

// Once, at the start, before anything is hashed. Without it the key is zero: tests repeat.
void hash_key_set(const uint8_t key[16]);

// SipHash-1-3, for hash tables: whoever finds something by it compares the content as well.
uint64_t hash_octets(const void *at, size_t len);

// A content_id stands for content whose octets are not kept: it is their SipHash-2-4 of 128 bits.
// Two contents with equal ids are taken for the same.
struct content_id {
    uint64_t words[2];
};
struct content_id content_id_of(const void *at, size_t len);
static inline bool content_id_equal(struct content_id a, struct content_id b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

// A content_hash makes the id of content that is no single run of octets, from words and texts that
// are added one after another. The length of a text is hashed with it, so that two sequences of
// additions that differ are told apart as reliably as two texts.
//     struct content_hash hash = content_hash_new();
//     content_hash_add(&hash, 7);
//     struct content_id id = content_hash_end(&hash);
struct sip {
    uint64_t v[4];
};
struct content_hash {
    struct sip sip;
    uint64_t count; // words so far
};
struct content_hash content_hash_new(void);
void content_hash_add(struct content_hash *hash, uint64_t word);
void content_hash_add_text(struct content_hash *hash, struct text text);
struct content_id content_hash_end(const struct content_hash *hash);
