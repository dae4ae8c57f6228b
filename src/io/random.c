#include "io/random.h"

#include <limits.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/rand.h>

#include "base/must.h"

static void system_fill(struct random *random, void *out, size_t len)
{
    (void)random;
    must(len <= INT_MAX);
    must(RAND_bytes(out, (int)len) == 1);
}

struct random *random_system(void)
{
    static struct random system = {.fill = system_fill};
    return &system;
}

void random_early(void *out, size_t len)
{
    must(getrandom(out, len, 0) == (ssize_t)len);
}

uint16_t random_u16(struct random *random)
{
    uint16_t number;
    random_fill(random, &number, sizeof number);
    return number;
}

// Draws below the largest multiple of limit only, so that no number is likelier than another.
uint64_t random_below(struct random *random, uint64_t limit)
{
    must(limit > 0);
    uint64_t surplus = -limit % limit; // 2^64 mod limit
    uint64_t number;
    do
        random_fill(random, &number, sizeof number);
    while (number < surplus);
    return number % limit;
}

void random_uuid(struct random *random, char out[37])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t octets[16];
    random_fill(random, octets, sizeof octets);
    octets[6] = (octets[6] & 0x0f) | 0x40;
    octets[8] = (octets[8] & 0x3f) | 0x80;
    for (size_t i = 0; i < sizeof octets; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[octets[i] >> 4];
        *out++ = digits[octets[i] & 15];
    }
    *out = '\0';
}
