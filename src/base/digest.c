#include "base/digest.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/memory.h"
#include "base/must.h"

struct digest_state {
    EVP_MD_CTX *context;
};

struct hmac_key {
    EVP_MAC_CTX *context; // keyed, no message yet
};

static const EVP_MD *algorithm_of(enum digest digest)
{
    static const EVP_MD *(*const algorithms[])(void) = {
        [DIGEST_SHA1] = EVP_sha1,     [DIGEST_SHA224] = EVP_sha224, [DIGEST_SHA256] = EVP_sha256,
        [DIGEST_SHA384] = EVP_sha384, [DIGEST_SHA512] = EVP_sha512,
    };
    must((size_t)digest < COUNT_OF(algorithms));
    return algorithms[digest]();
}

size_t digest_len(enum digest digest)
{
    return (size_t)EVP_MD_get_size(algorithm_of(digest));
}

void digest_of(enum digest digest, struct text message, uint8_t *out)
{
    must(EVP_Digest(message.at, message.len, out, NULL, algorithm_of(digest), NULL));
}

uint64_t digest_word(const void *at, size_t len)
{
    uint8_t out[DIGEST_MAX];
    uint64_t word;
    digest_of(DIGEST_SHA256, (struct text){at, len}, out);
    memcpy(&word, out, sizeof word);
    return le64toh(word);
}

struct digest_state *digest_begin(enum digest digest)
{
    struct digest_state *state = mem_new_of(struct digest_state);
    state->context = EVP_MD_CTX_new();
    must(state->context && EVP_DigestInit_ex2(state->context, algorithm_of(digest), NULL));
    return state;
}

void digest_add(struct digest_state *state, const void *at, size_t len)
{
    if (len)
        must(EVP_DigestUpdate(state->context, at, len));
}

void digest_end(struct digest_state *state, uint8_t *out)
{
    must(EVP_DigestFinal_ex(state->context, out, NULL));
    digest_free(state);
}

struct digest_state *digest_copy(const struct digest_state *state)
{
    struct digest_state *copy = mem_new_of(struct digest_state);
    copy->context = EVP_MD_CTX_new();
    must(copy->context && EVP_MD_CTX_copy_ex(copy->context, state->context));
    return copy;
}

void digest_free(struct digest_state *state)
{
    if (!state)
        return;
    EVP_MD_CTX_free(state->context);
    free(state);
}

struct hmac_key *hmac_key_new(enum digest digest, const struct secret *key)
{
    char name[16] = "";
    strncpy(name, EVP_MD_get0_name(algorithm_of(digest)), sizeof name - 1);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    must(mac);
    struct hmac_key *made = mem_new_of(struct hmac_key);
    made->context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    struct text octets = secret_expose(key);
    must(made->context &&
         EVP_MAC_init(made->context, (const unsigned char *)octets.at, octets.len, params));
    return made;
}

void hmac_key_free(struct hmac_key *key)
{
    if (!key)
        return;
    EVP_MAC_CTX_free(key->context);
    free(key);
}

void hmac_with(const struct hmac_key *key, const struct text *pieces, size_t count, uint8_t *out)
{
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(key->context);
    must(context);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].len)
            must(EVP_MAC_update(context, (const unsigned char *)pieces[i].at, pieces[i].len));
    size_t len;
    must(EVP_MAC_final(context, out, &len, DIGEST_MAX));
    EVP_MAC_CTX_free(context);
}

void hmac(enum digest digest, const struct secret *key, const struct text *pieces, size_t count,
          uint8_t *out)
{
    struct hmac_key *prepared = hmac_key_new(digest, key);
    hmac_with(prepared, pieces, count, out);
    hmac_key_free(prepared);
}

bool octets_equal(const void *a, const void *b, size_t len)
{
    return len == 0 || CRYPTO_memcmp(a, b, len) == 0;
}

void hex_encode(const void *at, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *octets = at;
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[octets[i] >> 4];
        out[2 * i + 1] = digits[octets[i] & 15];
    }
    out[2 * len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hex_decode(struct text text, uint8_t *out, size_t len)
{
    if (text.len % 2 || text.len / 2 != len)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (hex_digit(text.at[i]) < 0)
            return false;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(16 * hex_digit(text.at[2 * i]) + hex_digit(text.at[2 * i + 1]));
    return true;
}

void base64_encode(struct buffer *out, const void *at, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *octets = at;
    buffer_reserve(out, (len / 3 + 1) * 4);
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = (uint32_t)octets[i] << 16;
        bits |= left > 1 ? (uint32_t)octets[i + 1] << 8 : 0;
        bits |= left > 2 ? octets[i + 2] : 0;
        char group[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                         left > 1 ? digits[bits >> 6 & 63] : '=',
                         left > 2 ? digits[bits & 63] : '='};
        buffer_add(out, group, sizeof group);
    }
}

enum { BASE64_PAD = 64, BASE64_BLANK, BASE64_WRONG };

static unsigned base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0' + 52);
    switch (c) {
    case '+':
        return 62;
    case '/':
        return 63;
    case '=':
        return BASE64_PAD;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return BASE64_BLANK;
    default:
        return BASE64_WRONG;
    }
}

struct base64_reader {
    uint32_t bits;
    unsigned digits; // of the open group, padding included
    unsigned pads;
};

// What is wrong with taking this digit now, or NULL. No text shows content: it is often a key.
static const char *base64_fault(const struct base64_reader *reader, unsigned digit)
{
    if (digit == BASE64_WRONG)
        return "is not in the alphabet";
    if (digit == BASE64_PAD)
        return reader->digits < 2 || reader->pads >= 2 ? "is a misplaced \"=\"" : NULL;
    return reader->pads ? "stands behind the padding" : NULL;
}

static void base64_take(struct base64_reader *reader, unsigned digit, struct buffer *out)
{
    reader->bits = reader->bits << 6 | (digit & 63);
    reader->pads += digit == BASE64_PAD;
    if (++reader->digits < 4)
        return;
    char octets[3] = {(char)(reader->bits >> 16), (char)(reader->bits >> 8), (char)reader->bits};
    buffer_add(out, octets, 3 - reader->pads);
    // A padded group is the last: pads stays, so that anything behind it is refused.
    reader->digits = 0;
    reader->bits = 0;
}

static bool base64_read(struct buffer *out, struct text text, struct error *err)
{
    struct base64_reader reader = {0};
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = base64_digit(text.at[i]);
        if (digit == BASE64_BLANK)
            continue;
        const char *fault = base64_fault(&reader, digit);
        if (fault)
            return error_set(err, FAULT_SPEC, "InvalidBase64", "invalid base64: character %zu %s",
                             i + 1, fault);
        base64_take(&reader, digit, out);
    }
    if (reader.digits)
        return error_set(err, FAULT_SPEC, "InvalidBase64",
                         "invalid base64: the last group is incomplete, pad it with \"=\"");
    return true;
}

bool base64_decode(struct buffer *out, struct text text, struct error *err)
{
    size_t before = out->len;
    // All at once: growing in between would leave copies of a secret behind.
    buffer_reserve(out, text.len / 4 * 3 + 3);
    if (base64_read(out, text, err))
        return true;
    secret_wipe(out->at + before, out->len - before);
    out->len = before;
    return false;
}
