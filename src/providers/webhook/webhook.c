#include "providers/webhook/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/webhook/body.h"

enum { TIMEOUT_DEFAULT_S = 30, TIMEOUT_MAX_S = 300 };

static void webhook_close(void *at)
{
    struct webhook_session *session = at;
    hmac_key_free(session->key);
    hmac_key_free(session->previous);
    free(session->base);
    free(session->ca_pem);
    free(session->server_name);
    free(session);
}

static int64_t timeout_of(const struct value *config)
{
    int64_t timeout_s = value_int_at(config, "timeoutSeconds", TIMEOUT_DEFAULT_S);
    if (timeout_s < 1)
        return 1000 * TIMEOUT_DEFAULT_S;
    return 1000 * (timeout_s < TIMEOUT_MAX_S ? timeout_s : TIMEOUT_MAX_S);
}

static bool take_server(struct webhook_session *session, const struct value *config,
                        struct error *err)
{
    struct buffer out = {0};
    if (!url_parse(&session->url, value_text_at(config, "server"), err))
        return provider_refuse_key(err, "spec.server");
    url_write(&out, &session->url);
    session->base = buffer_steal(&out);
    session->timeout_ms = timeout_of(config);
    return true;
}

static bool take_keys(struct webhook_session *session, const struct session_setup *setup,
                      struct error *err)
{
    if (setup->secret && !secret_len(setup->secret))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "the secret of spec.hmacAuth is empty: requests are never sent unsigned");
    bool is_long = text_is(value_text_at(setup->config, "algorithm"), "SHA512");
    session->algorithm = is_long ? DIGEST_SHA512 : DIGEST_SHA256;
    if (setup->secret)
        session->key = hmac_key_new(session->algorithm, setup->secret);
    if (setup->secret && setup->previous && secret_len(setup->previous)) {
        session->previous = hmac_key_new(session->algorithm, setup->previous);
        session->previous_until_ms = setup->previous_until_ms;
    }
    return true;
}

static void take_path_form(struct webhook_session *session, const struct session_setup *setup)
{
    struct text wanted = value_text_at(setup->config, "signedPath");
    struct text known = value_text_at(setup->known, KNOWN_PATH);
    bool is_auto = !text_is(wanted, "Relative") && !text_is(wanted, "Full");
    if (!known.at)
        known = value_text_at(setup->known, KNOWN_TRIED);
    session->is_path_fixed = !is_auto || !*session->url.path || !session->key;
    session->path_form = text_is(is_auto ? known : wanted, "Relative") ? PATH_RELATIVE : PATH_FULL;
}

static void take_style(struct webhook_session *session, const struct session_setup *setup)
{
    const struct value *capabilities = value_find(setup->known, KNOWN_CAPABILITIES);
    session->is_inline = text_is(value_text_at(setup->config, "metadataStyle"), "Inline") ||
                         !value_bool_at(capabilities, "metadata", true);
}

static bool take_tls(struct webhook_session *session, const struct value *config, struct error *err)
{
    struct text bundle = value_text_at(config, "caBundle");
    struct text name = value_text_at(config, "serverName");
    if (bundle.at) {
        AUTO_BUFFER pem = {0};
        if (!base64_decode(&pem, bundle, err))
            return provider_refuse_key(err, "spec.tls.caBundle");
        if (!pem.at || !strstr(pem.at, "-----BEGIN CERTIFICATE-----"))
            return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                             "spec.tls.caBundle: no PEM certificate in it");
        session->ca_pem = buffer_steal(&pem);
    }
    if (name.at) {
        struct buffer out = {0};
        buffer_add(&out, name.at, name.len);
        session->server_name = buffer_steal(&out);
    }
    return true;
}

static bool webhook_open(const struct session_setup *setup, void **out, struct error *err)
{
    struct webhook_session *session = mem_new_of(struct webhook_session);
    if (!take_server(session, setup->config, err) || !take_tls(session, setup->config, err) ||
        !take_keys(session, setup, err)) {
        webhook_close(session);
        return false;
    }
    take_path_form(session, setup);
    take_style(session, setup);
    *out = session;
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

// Values are a set: in an order of their own, each in the form in which they are compared.
static struct record_set canonical_set(struct arena *arena, const struct record_set *set)
{
    struct record_set canonical = *set;
    struct text *values = arena_new_array(arena, struct text, set->value_count + 1);
    for (size_t i = 0; i < set->value_count; i++)
        values[i] = record_value_canonical(arena, set->type, set->values[i]);
    qsort(values, set->value_count, sizeof *values, compare_texts);
    canonical.values = values;
    return canonical;
}

// Body and server URL: what is sent, and where to.
static void webhook_fingerprint(const void *at, const struct record_set *set,
                                uint8_t out[FINGERPRINT_OCTETS])
{
    const struct webhook_session *session = at;
    uint8_t full[DIGEST_MAX];
    AUTO_BUFFER body = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct record_set canonical = canonical_set(arena, set);
    body_write_upsert(&body, &canonical, session->is_inline);
    buffer_add_char(&body, '\n');
    buffer_add_text(&body, session->base);
    digest_of(DIGEST_SHA256, buffer_text(&body), full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

const struct provider webhook_provider = {
    .name = "webhook",
    .max_changes = 1,
    .collect_ms = 0,
    .open = webhook_open,
    .close = webhook_close,
    .fingerprint = webhook_fingerprint,
    .begin = webhook_begin,
    .ask = webhook_ask,
    .handle_reply = webhook_handle_reply,
    .end = webhook_end,
};
