#include "store/cluster/plugin.h"

#include "base/digest.h"
#include "base/value.h"
#include "base/when.h"

// ---- what it is told ----------------------------------------------------------------------------

static void set_text(struct arena *arena, struct value *map, const char *key, const char *text)
{
    if (text)
        value_set(map, text_of(key), value_make_text(arena, text_of(text)));
}

static const char *write_server(struct arena *arena, const struct url *server)
{
    AUTO_BUFFER text = {0};
    url_write(&text, server);
    return arena_copy(arena, text.at, text.len);
}

static const char *encode(struct arena *arena, const struct secret *octets)
{
    AUTO_BUFFER base64 = {0};
    struct text plain = secret_expose(octets);
    base64_encode(&base64, plain.at, plain.len);
    return arena_copy(arena, base64.at, base64.len);
}

static struct value *make_cluster(struct arena *arena, const struct kube_access *access,
                                  const struct secret *ca)
{
    struct value *cluster = value_make(arena, VALUE_MAP);
    set_text(arena, cluster, "server", write_server(arena, &access->server));
    set_text(arena, cluster, "tls-server-name", access->tls_server_name);
    if (access->is_unverified)
        value_set(cluster, TEXT("insecure-skip-tls-verify"), value_make_bool(arena, true));
    if (ca)
        set_text(arena, cluster, "certificate-authority-data", encode(arena, ca));
    set_text(arena, cluster, "proxy-url", access->proxy);
    struct value *config = access->exec.cluster_config
                               ? value_read_json(arena, text_of(access->exec.cluster_config),
                                                 &value_manifest_limits, NULL)
                               : NULL;
    if (config)
        value_set(cluster, TEXT("config"), config);
    return cluster;
}

void plugin_write_info(struct buffer *out, const struct kube_access *access,
                       const struct secret *ca)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *info = value_make(arena, VALUE_MAP);
    struct value *spec = value_make(arena, VALUE_MAP);
    set_text(arena, info, "apiVersion", access->exec.api_version);
    set_text(arena, info, "kind", "ExecCredential");
    if (access->exec.provides_cluster_info)
        value_set(spec, TEXT("cluster"), make_cluster(arena, access, ca));
    value_set(spec, TEXT("interactive"), value_make_bool(arena, false));
    value_set(info, TEXT("spec"), spec);
    value_write_json(out, info);
}

// ---- what it answers ----------------------------------------------------------------------------

static bool refuse(struct error *err, const char *why)
{
    return error_set(err, FAULT_AUTH, "AuthenticationFailed", "its output %s", why);
}

// The tree is ours alone and dies with its arena; the cast only takes its const away.
static void wipe(struct text text)
{
    secret_wipe((void *)(uintptr_t)text.at, text.len);
}

static struct secret *take_secret(const struct value *status, const char *key)
{
    struct text text = value_text_at(status, key);
    if (text.len == 0)
        return NULL;
    struct secret *secret = secret_new(text.at, text.len);
    wipe(text);
    return secret;
}

static bool read_expiry(const struct value *status, int64_t *expires_ms, struct error *err)
{
    struct text text = value_text_at(status, "expirationTimestamp");
    if (text.len == 0 || when_parse(text, expires_ms, NULL))
        return true;
    return refuse(err, "has a status.expirationTimestamp that is not a time of RFC 3339");
}

// A header ends at a line feed: what follows would be another one.
static bool is_header_text(const struct secret *token)
{
    struct text text = secret_expose(token);
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f)
            return false;
    return true;
}

static bool check_credential(const struct plugin_credential *credential, struct error *err)
{
    if (!credential->certificate != !credential->key)
        return refuse(err, "has one of status.clientCertificateData and status.clientKeyData: "
                           "they belong together");
    if (!credential->token && !credential->certificate)
        return refuse(err, "has neither status.token nor status.clientCertificateData");
    if (credential->token && !is_header_text(credential->token))
        return refuse(err, "has a status.token with control characters");
    return true;
}

static bool check_envelope(const struct value *reply, const char *api_version, struct error *err)
{
    if (!text_is(value_text_at(reply, "kind"), "ExecCredential"))
        return refuse(err, "is no ExecCredential");
    if (!text_is(value_text_at(reply, "apiVersion"), api_version))
        return error_set(err, FAULT_AUTH, "AuthenticationFailed",
                         "its output has another apiVersion than %s", api_version);
    return true;
}

bool plugin_read_reply(struct plugin_credential *out, struct text output, const char *api_version,
                       struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *reply = value_read_json(arena, output, &value_reply_limits, NULL);
    if (!reply)
        return refuse(err, "is not JSON");
    if (!check_envelope(reply, api_version, err))
        return false;
    const struct value *status = value_find(reply, "status");
    struct plugin_credential read = {
        .token = take_secret(status, "token"),
        .certificate = take_secret(status, "clientCertificateData"),
        .key = take_secret(status, "clientKeyData"),
    };
    if (check_credential(&read, err) && read_expiry(status, &read.expires_ms, err)) {
        *out = read;
        return true;
    }
    plugin_credential_done(&read);
    return false;
}

void plugin_credential_done(struct plugin_credential *credential)
{
    secret_unref(steal(credential->token));
    secret_unref(steal(credential->certificate));
    secret_unref(steal(credential->key));
    credential->expires_ms = 0;
}
