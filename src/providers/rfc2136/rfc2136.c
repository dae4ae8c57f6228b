#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "providers/rfc2136/session.h"

static void rfc2136_close(void *at)
{
    struct rfc2136_session *session = at;
    tsig_key_done(&session->key);
    txt_registry_done(&session->registry);
    free(session->address);
    free(session->zone);
    free(session);
}

static bool require(const struct value *config, const char *key, struct text *out,
                    struct error *err)
{
    *out = value_text_at(config, key);
    return out->len || error_set(err, FAULT_SPEC, INVALID_CONFIGURATION, "%s is required", key);
}

static bool take_server(struct rfc2136_session *session, const struct value *config,
                        struct error *err)
{
    struct buffer out = {0};
    struct text server;
    if (!require(config, "server", &server, err))
        return false;
    if (!hostport_parse(&session->server, server, 53, false, err))
        return provider_refuse_key(err, "server");
    if (!*session->server.host || !session->server.port)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "server: write the primary's address as IP:port");
    hostport_write(&out, &session->server);
    session->address = buffer_steal(&out);
    return true;
}

static bool take_zone(struct rfc2136_session *session, const struct value *config,
                      struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text text, zone;
    if (!require(config, "zone", &text, err))
        return false;
    if (!domain_normalise(arena, text, &zone, err))
        return provider_refuse_key(err, "zone");
    session->zone = mem_copy_text(arena_copy(arena, zone.at, zone.len));
    return true;
}

static bool take_key(struct rfc2136_session *session, const struct session_setup *setup,
                     struct error *err)
{
    struct text name;
    struct text algorithm = value_text_at(setup->config, "tsigAlgorithm");
    if (!require(setup->config, "tsigName", &name, err))
        return false;
    if (!setup->secret)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "TSIG key %.*s has no secret: updates are never sent unsigned",
                         TEXT_ARGS(name));
    if (!algorithm.len)
        algorithm = TEXT("hmac-sha256");
    if (!tsig_key_init(&session->key, name, algorithm, secret_expose(setup->secret), err))
        return provider_refuse_key(err, "tsig");
    return true;
}

static bool rfc2136_open(const struct session_setup *setup, void **out, struct error *err)
{
    struct rfc2136_session *session = mem_new_of(struct rfc2136_session);
    if (!take_server(session, setup->config, err) || !take_zone(session, setup->config, err) ||
        !take_key(session, setup, err) ||
        !txt_registry_init(&session->registry, setup->config, err)) {
        rfc2136_close(session);
        return false;
    }
    *out = session;
    return true;
}

static void rfc2136_fingerprint(const void *at, const struct record_set *set,
                                uint8_t out[FINGERPRINT_OCTETS])
{
    const struct rfc2136_session *session = at;
    uint8_t full[DIGEST_MAX];
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    const int32_t numbers[] = {(int32_t)set->type, (int32_t)set->ttl_s, set->priority, set->weight,
                               set->port};
    digest_add(state, session->address, strlen(session->address) + 1);
    digest_add(state, session->zone, strlen(session->zone) + 1);
    txt_registry_add_digest(&session->registry, state);
    digest_add(state, numbers, sizeof numbers);
    for (size_t i = 0; i < set->value_count; i++) {
        digest_add(state, set->values[i].at, set->values[i].len);
        digest_add(state, "\n", 1);
    }
    digest_end(state, full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

const struct provider rfc2136_provider = {
    .name = "rfc2136",
    .max_changes = 1000,
    .collect_ms = 5,
    .open = rfc2136_open,
    .close = rfc2136_close,
    .fingerprint = rfc2136_fingerprint,
    .begin = rfc2136_begin,
    .ask = rfc2136_ask,
    .handle_reply = rfc2136_handle_reply,
    .end = rfc2136_end,
};
