#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "dns/record.h"
#include "dns/tsig.h"

#define REASON "InvalidConfiguration"

enum { SECRET_OCTETS_MAX = 1024 };

static const struct {
    enum digest digest;
    const char *name;
} algorithms[] = {
    {DIGEST_SHA256, "hmac-sha256."}, {DIGEST_SHA512, "hmac-sha512."},
    {DIGEST_SHA384, "hmac-sha384."}, {DIGEST_SHA224, "hmac-sha224."},
    {DIGEST_SHA1, "hmac-sha1."},
};

const char *tsig_algorithm_name(enum digest algorithm)
{
    for (size_t i = 0; i < COUNT_OF(algorithms); i++) {
        if (algorithms[i].digest == algorithm)
            return algorithms[i].name;
    }
    must(!"an algorithm of TSIG");
    return "";
}

static bool algorithm_parse(struct text text, enum digest *out, struct error *err)
{
    struct text name = text_ends(text, ".") ? (struct text){text.at, text.len - 1} : text;
    for (size_t i = 0; i < COUNT_OF(algorithms); i++) {
        struct text known = text_of(algorithms[i].name);
        known.len--;
        if (text_equal_nocase(name, known)) {
            *out = algorithms[i].digest;
            return true;
        }
    }
    if (text_equal_nocase(name, TEXT("hmac-md5")) ||
        text_equal_nocase(name, TEXT("hmac-md5.sig-alg.reg.int")))
        return error_set(err, FAULT_SPEC, REASON,
                         "TSIG algorithm hmac-md5 is refused, it is too weak: use hmac-sha256");
    return error_set(err, FAULT_SPEC, REASON,
                     "unknown TSIG algorithm '%.*s': use hmac-sha256 (or hmac-sha512, -sha384, "
                     "-sha224, -sha1)",
                     TEXT_ARGS(text));
}

static bool secret_decode(struct text text, struct secret **out, struct error *err)
{
    struct text trimmed = text_trim(text);
    AUTO_BUFFER octets = {0};
    // Room at once: growing would leave parts of the secret in freed memory.
    if (trimmed.len <= 2 * SECRET_OCTETS_MAX)
        buffer_reserve(&octets, trimmed.len + 4);
    bool is_good = trimmed.len <= 2 * SECRET_OCTETS_MAX && base64_decode(&octets, trimmed, NULL) &&
                   octets.len > 0 && octets.len <= SECRET_OCTETS_MAX;
    if (is_good)
        *out = secret_new(octets.at, octets.len);
    if (octets.at)
        secret_wipe(octets.at, octets.capacity);
    return is_good || error_set(err, FAULT_SPEC, REASON,
                                "TSIG secret is not base64 of 1 to %d octets: copy it from the "
                                "server's key as it stands",
                                SECRET_OCTETS_MAX);
}

void tsig_key_done(struct tsig_key *key)
{
    secret_unref(key->secret);
    key->secret = NULL;
}

bool tsig_key_init(struct tsig_key *key, struct text name, struct text algorithm,
                   struct text secret_base64, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct tsig_key made = {0};
    struct text normalised;
    if (!domain_normalise(arena, name, &normalised, err))
        return error_prefix(err, "TSIG key name: ");
    must(normalised.len + 2 <= sizeof made.name);
    memcpy(made.name, normalised.at, normalised.len);
    made.name[normalised.len] = '.';
    if (!algorithm_parse(algorithm, &made.algorithm, err) ||
        !secret_decode(secret_base64, &made.secret, err))
        return error_prefix(err, "TSIG key %.*s: ", TEXT_ARGS(normalised));
    *key = made;
    return true;
}

struct text tsig_key_shown(const struct tsig_key *key)
{
    return (struct text){key->name, strlen(key->name) - 1};
}
