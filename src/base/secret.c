#include "base/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <openssl/crypto.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/must.h"

struct secret {
    size_t refs;
    size_t len;
    char octets[]; // with a NUL behind, for parsers that want one
};

struct secret *secret_new(const void *octets, size_t len)
{
    size_t size;
    must(!__builtin_add_overflow(len, sizeof(struct secret) + 1, &size));
    struct secret *secret = mem_new(1, size);
    secret->refs = 1;
    secret->len = len;
    if (len)
        memcpy(secret->octets, octets, len);
    return secret;
}

struct secret *secret_ref(struct secret *secret)
{
    if (secret)
        secret->refs++;
    return secret;
}

void secret_unref(struct secret *secret)
{
    if (!secret || --secret->refs > 0)
        return;
    secret_wipe(secret->octets, secret->len);
    free(secret);
}

size_t secret_len(const struct secret *secret)
{
    return secret->len;
}

bool secret_equal(const struct secret *a, const struct secret *b)
{
    if (!a || !b)
        return a == b;
    return a->len == b->len && octets_equal(a->octets, b->octets, a->len);
}

bool secret_ends_with_newline(const struct secret *secret)
{
    return secret->len && secret->octets[secret->len - 1] == '\n';
}

bool secret_is_short(const struct secret *secret)
{
    return secret->len && secret->len < SECRET_OCTETS_GOOD;
}

void secret_keep_from_dumps(void)
{
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    must(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == 0);
}

void secret_fingerprint(const struct secret *secret, uint8_t *out, size_t len)
{
    uint8_t full[DIGEST_MAX];
    must(len <= digest_len(DIGEST_SHA256));
    digest_of(DIGEST_SHA256, secret_expose(secret), full);
    memcpy(out, full, len);
    secret_wipe(full, sizeof full);
}

struct text secret_expose(const struct secret *secret)
{
    return (struct text){secret->octets, secret->len};
}

void secret_wipe(void *at, size_t len)
{
    if (len)
        OPENSSL_cleanse(at, len);
}
