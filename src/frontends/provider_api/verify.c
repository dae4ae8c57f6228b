#include "frontends/provider_api/verify.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/when.h"
#include "providers/webhook/sign.h"

enum { WINDOW_MS = 300000, NONCE_OCTETS_MAX = 128 };

static bool refuse(struct error *err, int status, const char *code, const char *text)
{
    if (status == 429)
        error_set(err, FAULT_LIMIT, "RateLimited", "%s", text);
    else
        error_set(err, FAULT_AUTH, "AuthenticationFailed", "%s", text);
    if (err) {
        err->status = status;
        snprintf(err->code, sizeof err->code, "%s", code);
    }
    return false;
}

static bool headers_are_there(const struct verify_input *input)
{
    return !input->has_doubles && input->timestamp && input->nonce && input->signature &&
           *input->nonce && strlen(input->nonce) <= NONCE_OCTETS_MAX;
}

static bool stamp_is_fresh(const struct verifier *verifier, const struct verify_input *input,
                           const struct verify_time *now, int64_t *stamp_s, struct error *err)
{
    int64_t stamp_ms;
    if (!when_parse(text_of(input->timestamp), &stamp_ms, NULL))
        return refuse(err, 401, "TIMESTAMP_STALE", "timestamp is stale");
    int64_t age_ms = now->unix_ms - stamp_ms;
    if (age_ms >= WINDOW_MS || age_ms <= -WINDOW_MS)
        return refuse(err, 401, "TIMESTAMP_STALE", "timestamp is stale");
    *stamp_s = stamp_ms / 1000;
    int64_t young_ms = verifier->young_until_ms - now->mono_ms;
    if (young_ms > 0 && *stamp_s < verifier->start_s) {
        int64_t wait_ms = 1000 * (verifier->start_s - *stamp_s + 1);
        refuse(err, 401, "TIMESTAMP_STALE", "timestamp is stale");
        if (err)
            err->retry_ms = wait_ms < young_ms ? wait_ms : young_ms;
        return false;
    }
    return true;
}

static bool signature_is_by(const struct verifier *verifier, const struct hmac_key *key,
                            const struct verify_input *input, const char *path)
{
    char expected[SIGNATURE_MAX];
    const struct sign_input signed_input = {.method = input->method,
                                            .path = text_of(path),
                                            .timestamp = text_of(input->timestamp),
                                            .nonce = text_of(input->nonce),
                                            .body = input->body};
    sign_request(key, verifier->algorithm, &signed_input, expected);
    return strlen(input->signature) == strlen(expected) &&
           octets_equal(input->signature, expected, strlen(expected));
}

// The same path without the base path if it has it, else with it.
static const char *other_form(const char *base_path, const char *path, struct buffer *out)
{
    size_t base = strlen(base_path);
    if (!base)
        return NULL;
    if (!strncmp(path, base_path, base) && path[base] == '/')
        return path + base;
    buffer_printf(out, "%s%s", base_path, path);
    return out->at;
}

// The path as received and as decoded, each with and without the base path. All are tried, so that
// the time tells nothing.
static bool signature_holds(const struct verifier *verifier, const struct verify_input *input)
{
    AUTO_BUFFER received = {0};
    AUTO_BUFFER decoded = {0};
    const char *paths[4] = {input->path, other_form(verifier->base_path, input->path, &received)};
    if (strcmp(input->path, input->decoded)) {
        paths[2] = input->decoded;
        paths[3] = other_form(verifier->base_path, input->decoded, &decoded);
    }
    bool is_good = false;
    for (size_t k = 0; k < verifier->key_count; k++)
        for (size_t p = 0; p < COUNT_OF(paths); p++)
            if (paths[p])
                is_good |= signature_is_by(verifier, verifier->keys[k], input, paths[p]);
    return is_good;
}

bool verify_request(const struct verifier *verifier, const struct verify_input *input,
                    const struct verify_time *now, int64_t *stamp_s, struct error *err)
{
    if (!headers_are_there(input))
        return refuse(err, 401, "AUTH_FAILED", "missing HMAC headers");
    if (!stamp_is_fresh(verifier, input, now, stamp_s, err))
        return false;
    if (!signature_holds(verifier, input))
        return refuse(err, 401, "AUTH_FAILED", "signature verification failed");
    switch (nonces_use(verifier->nonces, text_of(input->nonce), *stamp_s, now->unix_ms / 1000)) {
    case NONCE_NEW:
        return true;
    case NONCE_USED:
        return refuse(err, 401, "NONCE_REUSED", "nonce has been reused");
    case NONCE_FORGOTTEN:
        return refuse(err, 401, "TIMESTAMP_STALE", "timestamp is stale");
    case NONCE_FULL:
        break;
    }
    refuse(err, 429, "RATE_LIMITED", "too many live nonces; slow down");
    if (err)
        err->retry_ms = 10000;
    return false;
}

// The one before may have let in what lies within the window.
void verifier_start(struct verifier *verifier, const struct verify_time *now)
{
    verifier->start_s = now->unix_ms / 1000;
    verifier->young_until_ms = now->mono_ms + WINDOW_MS;
    nonces_restore_forgotten(
        verifier->nonces,
        (struct span){verifier->start_s - 2 * WINDOW_MS / 1000, verifier->start_s - 1});
}
