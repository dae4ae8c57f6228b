#include "io/dns_rate.h"

#include <string.h>

#include "io/address.h"

enum { ONE = 1000, NETWORK_OCTETS = 8 };

bool dns_bucket_take(struct dns_bucket *bucket, const struct dns_rate_limit *limit, int64_t mono_ms)
{
    int64_t full_after_ms = (int64_t)limit->burst * ONE / limit->per_s + 1;
    int64_t passed_ms = mono_ms - bucket->at_ms;
    if (passed_ms > full_after_ms)
        bucket->spent = 0;
    else if (passed_ms > 0)
        bucket->spent -= passed_ms * limit->per_s;
    if (bucket->spent < 0)
        bucket->spent = 0;
    bucket->at_ms = mono_ms;
    if (bucket->spent + ONE > (int64_t)limit->burst * ONE)
        return false;
    bucket->spent += ONE;
    return true;
}

static uint64_t mix(uint64_t a)
{
    a = (a ^ (a >> 33)) * 0xff51afd7ed558ccdU;
    a = (a ^ (a >> 33)) * 0xc4ceb9fe1a85ec53U;
    return a ^ (a >> 33);
}

bool dns_rate_take(struct dns_rate *rate, const uint8_t address[16], int64_t mono_ms)
{
    uint64_t halves[2] = {0};
    memcpy(halves, address, address_is_ipv4(address) ? sizeof halves : NETWORK_OCTETS);
    uint64_t hash = mix(mix(halves[0] ^ rate->seed) ^ halves[1]);
    return dns_bucket_take(&rate->buckets[hash % DNS_RATE_BUCKETS], &rate->limit, mono_ms);
}
