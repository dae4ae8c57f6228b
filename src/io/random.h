#pragma once

#include <stddef.h>
#include <stdint.h>

// Randomness is handed in, so that a test can repeat a run. The real source is OpenSSL's.
struct random {
    void (*fill)(struct random *random, void *out, size_t len);
};
struct random *random_system(void); // static; never fails (ends the process if OpenSSL does)
// From the kernel, before anything else is set up.
void random_early(void *out, size_t len);
static inline void random_fill(struct random *random, void *out, size_t len)
{
    random->fill(random, out, len);
}
uint16_t random_u16(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit); // uniform in [0, limit)
// UUID version 4 (RFC 9562), 36 characters and NUL.
void random_uuid(struct random *random, char out[37]);
