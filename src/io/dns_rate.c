#include "io/dns_rate.h"

#include <string.h>

#include "base/hash.h"
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

bool dns_rate_take(struct dns_rate *rate, const uint8_t address[16], int64_t mono_ms)
{
    uint64_t hashed[3] = {rate->seed};
    memcpy(hashed + 1, address, address_is_ipv4(address) ? 16 : NETWORK_OCTETS);
    uint64_t hash = hash_octets(hashed, sizeof hashed);
    return dns_bucket_take(&rate->buckets[hash % DNS_RATE_BUCKETS], &rate->limit, mono_ms);
}
