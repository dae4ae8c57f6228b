#include "base/must.h"
#include "frontends/provider_api/request.h"
#include "frontends/provider_api/verify.h"
#include "providers/webhook/body.h"
#include "providers/webhook/sign.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { NOW_S = 1767088800 }; // 2025-12-30T10:00:00Z

// A request as its first four lines and the rest: path, time stamp, nonce, signature, body.
struct request {
    const char *path;
    const char *timestamp;
    const char *nonce;
    const char *signature;
    struct text body;
};

static const char *cut_line(struct arena *arena, struct text *rest)
{
    struct text line = TEXT("");
    text_cut(rest, '\n', &line);
    return arena_copy(arena, line.at, line.len);
}

static struct request request_cut(struct arena *arena, struct text rest)
{
    struct request request = {.path = cut_line(arena, &rest),
                              .timestamp = cut_line(arena, &rest),
                              .nonce = cut_line(arena, &rest),
                              .signature = cut_line(arena, &rest)};
    request.body = rest;
    return request;
}

static bool verify(struct verifier *verifier, const struct request *request, const char *signature,
                   struct error *err)
{
    int64_t stamp_s = 0;
    const struct verify_input input = {.method = TEXT("POST"),
                                       .path = request->path,
                                       .decoded = request->path,
                                       .timestamp = request->timestamp,
                                       .nonce = request->nonce,
                                       .signature = signature,
                                       .body = request->body};
    const struct verify_time now = {(int64_t)NOW_S * 1000, 0};
    bool is_good = verify_request(verifier, &input, &now, &stamp_s, err);
    must(!is_good || (stamp_s > NOW_S - 301 && stamp_s < NOW_S + 301));
    return is_good;
}

// Nobody without the key gets in; who has it gets in once, when time stamp and nonce are in order.
static void check_verify(const struct request *request)
{
    char signature[SIGNATURE_MAX];
    struct error err = {0};
    CLEANUP(secret) struct secret *secret = secret_new("fuzz-secret", 11);
    CLEANUP(hmac_key) struct hmac_key *key = hmac_key_new(DIGEST_SHA256, secret);
    struct verifier verifier = {.algorithm = DIGEST_SHA256,
                                .keys = &key,
                                .key_count = 1,
                                .base_path = "/api",
                                .nonces = nonces_new(4)};
    must(!verify(&verifier, request, request->signature, &err) && err.status == 401);
    must(nonces_count(verifier.nonces) == 0);
    const struct sign_input input = {.method = TEXT("POST"),
                                     .path = text_of(request->path),
                                     .timestamp = text_of(request->timestamp),
                                     .nonce = text_of(request->nonce),
                                     .body = request->body};
    sign_request(key, DIGEST_SHA256, &input, signature);
    if (verify(&verifier, request, signature, &err))
        must(!verify(&verifier, request, signature, &err) &&
             text_is(text_of(err.code), "NONCE_REUSED"));
    nonces_free(verifier.nonces);
}

// A record that was taken is taken again as we would send it, and is the same.
static void check_taken(struct arena *arena, const struct request_scope *scope,
                        const struct record_set *set, bool is_inline)
{
    AUTO_BUFFER body = {0};
    struct change again = {0};
    body_write_upsert(&body, set, is_inline);
    must(request_read_upsert(arena, scope, buffer_text(&body), &again, NULL));
    must(record_set_equal(set, &again.set) && text_equal(set->domain, again.set.domain) &&
         text_equal(set->subdomain, again.set.subdomain));
}

static void check_refused(const struct error *err)
{
    must(err->fault == FAULT_SPEC && err->status == 400 && err->code[0] && err->text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct request_scope scope = {0};
    struct change change = {0};
    struct error err = {0};
    struct request request = request_cut(arena, (struct text){(const char *)at, len});
    for (size_t i = 0; i < RECORD_TYPES; i++)
        scope.has_type[i] = true;
    check_verify(&request);
    if (!request_read_path(arena, &scope, request.path, &change, &err))
        check_refused(&err);
    if (!request_read_upsert(arena, &scope, request.body, &change, &err)) {
        check_refused(&err);
        return 0;
    }
    check_taken(arena, &scope, &change.set, false);
    check_taken(arena, &scope, &change.set, true);
    return 0;
}
