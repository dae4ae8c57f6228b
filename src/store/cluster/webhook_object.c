#include "store/cluster/webhook_object.h"

#include <string.h>

#include "base/digest.h"
#include "base/url.h"

#define GROUP "dns.homelab.mortenolsen.pro/"
#define INJECTED "cert-manager.io/inject-ca-from"
#define MANAGED_BY "app.kubernetes.io/managed-by"

enum { BODY_OCTETS = 64 * 1024 }; // two CAs and a leaf take 8 KiB

// ---- the Secret ---------------------------------------------------------------------------------

static struct secret *read_key(const struct value *data, const char *key)
{
    struct error err;
    struct text text = value_text(value_find(data, key));
    if (!text.len)
        return NULL;
    struct buffer octets = {0};
    buffer_reserve(&octets, text.len);
    struct secret *out =
        base64_decode(&octets, text, &err) ? secret_new(buffer_text(&octets).at, octets.len) : NULL;
    secret_wipe(octets.at, octets.capacity);
    buffer_done(&octets);
    return out;
}

static char *read_certificate(const struct value *data, const char *key)
{
    struct error err;
    struct buffer octets = {0};
    struct text text = value_text(value_find(data, key));
    if (text.len && base64_decode(&octets, text, &err) && octets.len &&
        !memchr(octets.at, '\0', octets.len))
        return buffer_steal(&octets);
    buffer_done(&octets);
    return NULL;
}

static char *read_annotation(const struct value *secret, const char *key)
{
    const struct value *annotations = value_at(secret, "metadata.annotations", NULL);
    struct text text = value_text(value_find(annotations, key));
    return text.at ? mem_copy_text(text.at) : NULL;
}

static struct x509_pair read_pair(const struct value *data, const char *certificate,
                                  const char *key)
{
    return (struct x509_pair){read_certificate(data, certificate), read_key(data, key)};
}

void webhook_keys_read(const struct value *secret, struct webhook_keys *out)
{
    const struct value *data = value_find(secret, "data");
    *out = (struct webhook_keys){
        .ca = read_pair(data, "ca.crt", "ca.key"),
        .next = read_pair(data, "ca-next.crt", "ca-next.key"),
        .leaf = read_pair(data, "tls.crt", "tls.key"),
        .rotate = read_annotation(secret, GROUP "rotate-ca"),
        .rotated = read_annotation(secret, GROUP "ca-rotated"),
    };
}

bool webhook_secret_is_ours(const struct value *secret)
{
    const struct value *labels = value_at(secret, "metadata.labels", NULL);
    return text_is(value_text(value_find(labels, MANAGED_BY)), "signpost") ||
           !value_count(value_find(secret, "data"));
}

static void write_octets(struct buffer *out, const char *key, struct text octets, bool is_patch)
{
    if (!octets.len && !is_patch)
        return;
    buffer_printf(out, "\"%s\":", key);
    if (octets.len) {
        buffer_add_char(out, '"');
        base64_encode(out, octets.at, octets.len);
        buffer_add_text(out, "\",");
    } else {
        buffer_add_text(out, "null,");
    }
}

static void write_pair(struct buffer *out, const char *certificate, const char *key,
                       const struct x509_pair *pair, bool is_patch)
{
    struct text secret = pair->key_pem ? secret_expose(pair->key_pem) : TEXT("");
    write_octets(out, certificate, text_of(pair->certificate_pem), is_patch);
    write_octets(out, key, secret, is_patch);
}

static void write_data(struct buffer *out, const struct webhook_keys *keys, bool is_patch)
{
    buffer_add_text(out, "\"data\":{");
    write_pair(out, "ca.crt", "ca.key", &keys->ca, is_patch);
    write_pair(out, "ca-next.crt", "ca-next.key", &keys->next, is_patch);
    write_pair(out, "tls.crt", "tls.key", &keys->leaf, is_patch);
    out->len--; // the last comma
    out->at[out->len] = '\0';
    buffer_add_text(out, "}}");
}

static void write_annotations(struct buffer *out, const struct webhook_keys *keys)
{
    if (!keys->rotated)
        return;
    buffer_add_text(out, ",\"annotations\":{\"" GROUP "ca-rotated\":");
    value_write_json_text(out, text_of(keys->rotated));
    buffer_add_char(out, '}');
}

void webhook_keys_write_new(struct buffer *out, const char *namespace_, const char *name,
                            const struct webhook_keys *keys)
{
    buffer_reserve(out, BODY_OCTETS);
    buffer_printf(out,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"kubernetes.io/tls\","
                  "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                  "\"labels\":{\"" MANAGED_BY "\":\"signpost\"}",
                  name, namespace_);
    write_annotations(out, keys);
    buffer_add_text(out, "},");
    write_data(out, keys, false);
}

void webhook_keys_write_patch(struct buffer *out, const char *version,
                              const struct webhook_keys *keys)
{
    buffer_reserve(out, BODY_OCTETS);
    buffer_add_text(out, "{\"metadata\":{\"resourceVersion\":");
    value_write_json_text(out, text_of(version));
    // One that was prepared for us has no label yet: without it we would not know it again.
    buffer_add_text(out, ",\"labels\":{\"" MANAGED_BY "\":\"signpost\"}");
    write_annotations(out, keys);
    buffer_add_text(out, "},");
    write_data(out, keys, true);
}

// ---- the configuration --------------------------------------------------------------------------

static const struct value *webhooks_of(const struct value *configuration)
{
    const struct value *list = value_find(configuration, "webhooks");
    return list && list->type == VALUE_LIST ? list : NULL;
}

static struct text bundle_of(const struct value *webhook)
{
    return value_text_at(webhook, "clientConfig.caBundle");
}

static struct text decoded(struct arena *arena, struct text base64)
{
    struct error err;
    AUTO_BUFFER octets = {0};
    if (!base64.len || !base64_decode(&octets, base64, &err))
        return base64;
    return (struct text){arena_copy(arena, octets.at, octets.len), octets.len};
}

static bool is_host(const struct webhook_hosts *hosts, const char *host)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (!strcmp(hosts->items[i], host))
            return true;
    return false;
}

static bool is_ours(const struct value *webhook, const struct webhook_hosts *hosts)
{
    AUTO_BUFFER host = {0};
    struct url url;
    const struct value *client = value_find(webhook, "clientConfig");
    struct text address = value_text_at(client, "url");
    if (address.len)
        return url_parse(&url, address, NULL) && is_host(hosts, url.host);
    buffer_printf(&host, "%.*s.%.*s.svc", TEXT_ARGS(value_text_at(client, "service.name")),
                  TEXT_ARGS(value_text_at(client, "service.namespace")));
    return is_host(hosts, host.at);
}

static const struct value *first_of_ours(const struct value *webhooks,
                                         const struct webhook_hosts *hosts)
{
    value_each (webhook, webhooks)
        if (is_ours(webhook, hosts))
            return webhook;
    return NULL;
}

void webhook_bundle_read(struct arena *arena, const struct value *configuration,
                         const struct webhook_hosts *hosts, struct webhook_bundle *out)
{
    const struct value *annotations = value_at(configuration, "metadata.annotations", NULL);
    const struct value *webhooks = webhooks_of(configuration);
    const struct value *ours = first_of_ours(webhooks, hosts);
    struct text first = bundle_of(ours);
    *out = (struct webhook_bundle){
        .is_there = ours != NULL,
        .is_left = value_text(value_find(annotations, INJECTED)).len > 0,
        .pem = decoded(arena, first),
    };
    value_each (webhook, webhooks)
        out->is_mixed |= is_ours(webhook, hosts) && !text_equal(bundle_of(webhook), first);
}

static void write_operation(struct buffer *out, const char *operation, size_t at, const char *path,
                            struct text text)
{
    buffer_printf(out, "%s{\"op\":\"%s\",\"path\":\"/webhooks/%zu/%s\",\"value\":",
                  out->at[out->len - 1] == '[' ? "" : ",", operation, at, path);
    value_write_json_text(out, text);
    buffer_add_char(out, '}');
}

static void write_bundle(struct buffer *out, const struct value *webhook, size_t at,
                         struct text base64)
{
    struct text old = bundle_of(webhook);
    write_operation(out, "test", at, "name", value_text_at(webhook, "name"));
    if (old.len)
        write_operation(out, "test", at, "clientConfig/caBundle", old);
    write_operation(out, "add", at, "clientConfig/caBundle", base64);
}

void webhook_bundle_write_patch(struct buffer *out, const struct value *configuration,
                                const struct webhook_hosts *hosts, const char *pem)
{
    size_t at = 0;
    AUTO_BUFFER base64 = {0};
    base64_encode(&base64, pem, strlen(pem));
    buffer_add_char(out, '[');
    value_each (webhook, webhooks_of(configuration)) {
        if (is_ours(webhook, hosts))
            write_bundle(out, webhook, at, buffer_text(&base64));
        at++;
    }
    buffer_add_char(out, ']');
}
