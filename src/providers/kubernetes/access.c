#include "providers/kubernetes/access.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/section.h"
#include "base/url.h"
#include "providers/provider.h"

#define FILE_NAME "kubeconfig" // of the text, for people

static const struct value_limits limits = {.octets = 1 << 20, .depth = 16, .nodes = 1 << 16};

void access_done(struct access *access)
{
    secret_unref(access->ca);
    secret_unref(access->certificate);
    secret_unref(access->key);
    secret_unref(access->authorization);
    secret_unref(access->credential);
    free(access->server);
    free(access->tls_server_name);
    free(access->proxy);
}

// ---- the document -------------------------------------------------------------------------------

// Ours alone; the cast only takes its const away.
static void wipe_tree(const struct value *value)
{
    if (!value)
        return;
    if (value->type == VALUE_TEXT)
        secret_wipe((void *)(uintptr_t)value->text.at, value->text.len);
    if (value->type == VALUE_LIST || value->type == VALUE_MAP)
        value_each (item, value)
            wipe_tree(item);
}

// Of what the parser says only the place is shown: it may repeat what stands there.
static bool refuse_text(const struct error *why, struct error *err)
{
    struct text rest = text_of(why->text), line, column;
    int64_t number;
    if (text_cut(&rest, ':', &line) && text_cut(&rest, ':', &column) &&
        text_to_int64(line, &number) && text_to_int64(column, &number))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         FILE_NAME ":%.*s:%.*s: this is not YAML", TEXT_ARGS(line),
                         TEXT_ARGS(column));
    return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION, FILE_NAME ": this is not YAML");
}

static bool parse(struct section *top, struct text text, struct error *err)
{
    struct error why = {0};
    struct value *root = NULL;
    bool has = false;
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(text, &limits);
    if (!yaml_reader_next(reader, top->arena, &root, &has, &why))
        return refuse_text(&why, err);
    top->map = root;
    if (!root || root->type != VALUE_MAP)
        return section_fail(top, root, "", err, "this is no kubeconfig: expected a map");
    return true;
}

// ---- entries by name ----------------------------------------------------------------------------

static bool look_at_entry(const struct section *entry, const char *wanted, bool *is_wanted,
                          struct error *err)
{
    const char *name;
    if (entry->map->type != VALUE_MAP)
        return section_fail(entry, entry->map, "", err, "expected a map");
    if (!section_text(entry, "name", &name, err))
        return false;
    *is_wanted = name && !strcmp(name, wanted);
    return true;
}

// Finds the map `key` of the entry of that name in a list, such as "cluster" in "clusters".
static bool find_entry(const struct section *top, const char *list, const char *key,
                       const char *wanted, struct section *out, struct error *err)
{
    size_t index = 0;
    const struct value *entries = value_find(top->map, list);
    if (entries && entries->type != VALUE_LIST)
        return section_fail(top, entries, list, err, "expected a list");
    value_each (item, entries) {
        bool is_wanted = false;
        struct section entry = *top;
        entry.at = arena_printf(top->arena, "%s[%zu]", list, index++);
        entry.map = item;
        if (!look_at_entry(&entry, wanted, &is_wanted, err))
            return false;
        if (is_wanted)
            return section_map(&entry, key, out, err);
    }
    return section_fail(top, entries, list, err, "there is no entry of the name %s", wanted);
}

// ---- the server ---------------------------------------------------------------------------------

// What names something outside of the kubeconfig; `inline_key` stands beside it and wins.
struct outside {
    const char *key;
    const char *inline_key; // NULL: none
    const char *text;
};

static bool is_given(const struct section *section, const char *key)
{
    const struct value *value = key ? value_find(section->map, key) : NULL;
    return value && value->type != VALUE_NULL;
}

static bool refuse_outside(const struct section *section, const struct outside *rows, size_t count,
                           struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (is_given(section, rows[i].key) && !is_given(section, rows[i].inline_key))
            return section_fail(section, value_find(section->map, rows[i].key), rows[i].key, err,
                                "%s", rows[i].text);
    return true;
}

static bool read_url(struct access *access, const struct section *cluster, struct error *err)
{
    struct url url;
    struct error why;
    const char *server;
    AUTO_BUFFER out = {0};
    if (!section_text(cluster, "server", &server, err))
        return false;
    if (!server)
        return section_fail(cluster, NULL, "server", err, "is not set: give the API server's URL");
    if (!url_parse(&url, text_of(server), &why))
        return section_fail(cluster, value_find(cluster->map, "server"), "server", err, "%s",
                            why.text);
    url_write(&out, &url);
    access->server = buffer_steal(&out);
    return true;
}

// The URL may hold a password, so no part of it is shown.
static bool read_proxy(struct access *access, const struct section *cluster, struct error *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const char *proxy;
    if (!section_text(cluster, "proxy-url", &proxy, err) ||
        !section_check_plain(cluster, "proxy-url", proxy, err))
        return false;
    for (size_t i = 0; proxy && i < COUNT_OF(schemes); i++)
        if (text_starts(text_of(proxy), schemes[i]))
            access->proxy = mem_copy_text(proxy);
    if (proxy && !access->proxy)
        return section_fail(cluster, value_find(cluster->map, "proxy-url"), "proxy-url", err,
                            "must start with http://, https:// or socks5://");
    return true;
}

static bool read_verification(struct access *access, const struct section *cluster,
                              struct error *err)
{
    const char *name;
    if (!section_text(cluster, "tls-server-name", &name, err) ||
        !section_check_plain(cluster, "tls-server-name", name, err) ||
        !section_bool(cluster, "insecure-skip-tls-verify", &access->is_unverified, err) ||
        !section_pem(cluster, "certificate-authority-data", &access->ca, err))
        return false;
    access->tls_server_name = name ? mem_copy_text(name) : NULL;
    if (access->is_unverified && access->ca)
        return section_fail(cluster, value_find(cluster->map, "insecure-skip-tls-verify"),
                            "insecure-skip-tls-verify", err,
                            "cannot be combined with a certificate authority: remove one of them");
    return true;
}

static bool read_cluster(struct access *access, const struct section *cluster, struct error *err)
{
    static const struct outside rows[] = {
        {"certificate-authority", "certificate-authority-data",
         "files are not read: put the base64 of its content under certificate-authority-data"},
    };
    return refuse_outside(cluster, rows, COUNT_OF(rows), err) && read_url(access, cluster, err) &&
           read_verification(access, cluster, err) && read_proxy(access, cluster, err);
}

// ---- the user -----------------------------------------------------------------------------------

static const struct outside users_outside[] = {
    {"exec", NULL,
     "programs are not run for the cluster of a Secret: give the token, or the client certificate, "
     "of a service account"},
    {"auth-provider", NULL,
     "auth providers are not supported: give the token, or the client certificate, of a service "
     "account"},
    {"tokenFile", NULL, "files are not read: put its content under token"},
    {"client-certificate", "client-certificate-data",
     "files are not read: put the base64 of its content under client-certificate-data"},
    {"client-key", "client-key-data",
     "files are not read: put the base64 of its content under client-key-data"},
    {"as", NULL, "acting as somebody else is not supported: give the credentials of that user"},
    {"as-uid", NULL, "acting as somebody else is not supported: give the credentials of that user"},
    {"as-groups", NULL,
     "acting as somebody else is not supported: give the credentials of that user"},
    {"as-user-extra", NULL,
     "acting as somebody else is not supported: give the credentials of that user"},
};

static bool read_certificate(struct access *access, const struct section *user, struct error *err)
{
    if (!section_pem(user, "client-certificate-data", &access->certificate, err) ||
        !section_pem(user, "client-key-data", &access->key, err))
        return false;
    if (!access->certificate == !access->key)
        return true;
    return section_fail(user, NULL, access->key ? "client-certificate-data" : "client-key-data",
                        err, "is not set: certificate and key belong together");
}

// Makes the header's value in memory that does not move, so that no copy is left behind.
static void set_authorization(struct access *access, const char *scheme, struct text credential)
{
    struct buffer value = {0};
    buffer_reserve(&value, strlen(scheme) + credential.len + 1);
    buffer_add_text(&value, scheme);
    buffer_add(&value, credential.at, credential.len);
    access->authorization = secret_new(value.at, value.len);
    secret_wipe(value.at, value.capacity);
    buffer_done(&value);
}

static bool read_token(struct access *access, const struct section *user, struct error *err)
{
    if (!section_secret(user, "token", &access->credential, err))
        return false;
    if (!access->credential)
        return true;
    struct text token = secret_expose(access->credential);
    if (!section_check_plain(user, "token", token.at, err))
        return false;
    set_authorization(access, "Bearer ", token);
    return true;
}

static void set_basic(struct access *access, const char *name)
{
    struct buffer pair = {0};
    struct buffer encoded = {0};
    struct text password = access->credential ? secret_expose(access->credential) : TEXT("");
    size_t len = strlen(name) + 1 + password.len;
    buffer_reserve(&pair, len + 1);
    buffer_reserve(&encoded, 4 * (len / 3 + 1) + 1);
    buffer_add_text(&pair, name);
    buffer_add_char(&pair, ':');
    buffer_add(&pair, password.at, password.len);
    base64_encode(&encoded, pair.at, pair.len);
    set_authorization(access, "Basic ", buffer_text(&encoded));
    secret_wipe(pair.at, pair.capacity);
    secret_wipe(encoded.at, encoded.capacity);
    buffer_done(&pair);
    buffer_done(&encoded);
}

static bool read_basic(struct access *access, const struct section *user, struct error *err)
{
    const char *name;
    if (!section_text(user, "username", &name, err))
        return false;
    if (name && access->authorization)
        return section_fail(user, value_find(user->map, "username"), "username", err,
                            "cannot be combined with a token: remove one of them");
    if (name && strchr(name, ':'))
        return section_fail(user, value_find(user->map, "username"), "username", err,
                            "a colon is not allowed");
    if (!name)
        return !is_given(user, "password") || access->authorization ||
               section_fail(user, NULL, "username", err, "is not set, but a password is");
    if (!section_secret(user, "password", &access->credential, err))
        return false;
    set_basic(access, name);
    return true;
}

static bool read_user(struct access *access, const struct section *user, struct error *err)
{
    return refuse_outside(user, users_outside, COUNT_OF(users_outside), err) &&
           read_certificate(access, user, err) && read_token(access, user, err) &&
           read_basic(access, user, err);
}

// ---- the context --------------------------------------------------------------------------------

static bool read_context(struct access *access, const struct section *top, struct error *err)
{
    struct section context, cluster, user;
    const char *name, *cluster_name, *user_name;
    if (!section_text(top, "current-context", &name, err))
        return false;
    if (!name)
        return section_fail(top, NULL, "current-context", err, "is not set: name a context");
    if (!find_entry(top, "contexts", "context", name, &context, err) ||
        !section_text(&context, "cluster", &cluster_name, err) ||
        !section_text(&context, "user", &user_name, err))
        return false;
    if (!cluster_name)
        return section_fail(&context, NULL, "cluster", err, "is not set");
    if (!find_entry(top, "clusters", "cluster", cluster_name, &cluster, err) ||
        !read_cluster(access, &cluster, err))
        return false;
    return !user_name || (find_entry(top, "users", "user", user_name, &user, err) &&
                          read_user(access, &user, err));
}

bool access_read(struct access *out, const struct secret *kubeconfig, struct error *err)
{
    struct access access = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct section top = {.arena = arena, .file = FILE_NAME, .folder = "", .at = ""};
    bool is_ok = parse(&top, secret_expose(kubeconfig), err) && read_context(&access, &top, err);
    wipe_tree(top.map);
    if (!is_ok) {
        access_done(&access);
        return false;
    }
    *out = access;
    return true;
}
