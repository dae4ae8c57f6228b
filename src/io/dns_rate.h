#pragma once

#include <stdbool.h>
#include <stdint.h>

// How many requests an address may send: token buckets in tables of a fixed size, so that a flood
// from any number of addresses costs bounded memory. Addresses whose hash is the same share a
// bucket, and so do those of one IPv6 network of 64 bits; `seed` keeps others from aiming at one.

struct dns_rate_limit {
    unsigned per_s;
    unsigned burst;
};

// {0} is full.
struct dns_bucket {
    int64_t at_ms;
    int64_t spent; // in thousandths of a request
};
// False: over the limit, and nothing is taken.
bool dns_bucket_take(struct dns_bucket *bucket, const struct dns_rate_limit *limit,
                     int64_t mono_ms);

enum { DNS_RATE_BUCKETS = 1024 };
struct dns_rate {
    struct dns_rate_limit limit;
    uint64_t seed;
    struct dns_bucket buckets[DNS_RATE_BUCKETS];
};
bool dns_rate_take(struct dns_rate *rate, const uint8_t address[16], int64_t mono_ms);
