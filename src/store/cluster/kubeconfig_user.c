#include "store/cluster/kubeconfig_user.h"

#include <string.h>

#include "store/cluster/kubeconfig_read.h"

enum { LIST_MAX = 1000 };

static bool fail_key(const struct section *section, const char *key, struct error *err,
                     const char *why)
{
    return section_fail(section, value_find(section->map, key), key, err, "%s", why);
}

static bool check_file(const struct section *section, const char *key, const char *path,
                       struct error *err)
{
    return !path || kubeconfig_check_file(path, err) ||
           section_prefix(section, value_find(section->map, key), key, err);
}

// Either inline or a file; inline wins.
static bool read_pem(const struct section *section, const char *key, const char *data_key,
                     struct secret **data, const char **file, struct error *err)
{
    if (!section_pem(section, data_key, data, err) || !section_path(section, key, file, err))
        return false;
    if (*data)
        *file = NULL;
    return check_file(section, key, *file, err);
}

// ---- clusters -----------------------------------------------------------------------------------

static bool read_server(struct kube_access *access, const struct section *cluster,
                        struct error *err)
{
    const char *server;
    if (!section_text(cluster, "server", &server, err))
        return false;
    if (!server)
        return fail_key(cluster, "server", err, "is not set: give the API server's URL");
    return url_parse(&access->server, text_of(server), err) ||
           section_prefix(cluster, value_find(cluster->map, "server"), "server", err);
}

// The URL may hold a password, so no part of it is shown.
static bool read_proxy(struct kube_access *access, const struct section *cluster, struct error *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const char *proxy;
    if (!section_text(cluster, "proxy-url", &proxy, err) ||
        !section_check_plain(cluster, "proxy-url", proxy, err))
        return false;
    for (size_t i = 0; proxy && i < COUNT_OF(schemes); i++)
        if (text_starts(text_of(proxy), schemes[i]) && proxy[strlen(schemes[i])])
            access->proxy = proxy;
    if (proxy && !access->proxy)
        return fail_key(cluster, "proxy-url", err,
                        "must start with http://, https:// or socks5://");
    return true;
}

static bool read_ca(struct kube_access *access, const struct section *cluster, struct error *err)
{
    if (!section_bool(cluster, "insecure-skip-tls-verify", &access->is_unverified, err) ||
        !read_pem(cluster, "certificate-authority", "certificate-authority-data", &access->ca,
                  &access->ca_file, err))
        return false;
    if (access->is_unverified && (access->ca || access->ca_file))
        return fail_key(cluster, "insecure-skip-tls-verify", err,
                        "cannot be combined with a certificate authority: remove one of them");
    return true;
}

// What a plugin that asks for it is told beside the cluster itself.
static bool read_plugin_config(struct kube_access *access, const struct section *cluster,
                               struct error *err)
{
    const struct value *extensions = value_find(cluster->map, "extensions");
    if (extensions && extensions->type != VALUE_LIST && extensions->type != VALUE_NULL)
        return fail_key(cluster, "extensions", err, "expected a list");
    value_each (item, extensions && extensions->type == VALUE_LIST ? extensions : NULL) {
        const struct value *extension = value_find(item, "extension");
        if (!extension ||
            !text_is(value_text_at(item, "name"), "client.authentication.k8s.io/exec"))
            continue;
        AUTO_BUFFER json = {0};
        value_write_json(&json, extension);
        access->exec.cluster_config = arena_copy(access->arena, json.at, json.len);
    }
    return true;
}

bool kubeconfig_read_cluster(struct kube_access *access, const struct section *cluster,
                             struct error *err)
{
    bool is_uncompressed; // nothing is compressed anyway
    return read_server(access, cluster, err) &&
           section_text(cluster, "tls-server-name", &access->tls_server_name, err) &&
           section_check_plain(cluster, "tls-server-name", access->tls_server_name, err) &&
           read_ca(access, cluster, err) && read_proxy(access, cluster, err) &&
           section_bool(cluster, "disable-compression", &is_uncompressed, err) &&
           read_plugin_config(access, cluster, err);
}

// ---- users: what they are known by --------------------------------------------------------------

static bool read_certificate(struct kube_access *access, const struct section *user,
                             struct error *err)
{
    if (!read_pem(user, "client-certificate", "client-certificate-data", &access->certificate,
                  &access->certificate_file, err) ||
        !read_pem(user, "client-key", "client-key-data", &access->key, &access->key_file, err))
        return false;
    bool has_certificate = access->certificate || access->certificate_file;
    bool has_key = access->key || access->key_file;
    if (has_certificate == has_key)
        return true;
    return section_fail(user, NULL, has_key ? "client-certificate" : "client-key", err,
                        "is not set: certificate and key belong together");
}

static bool check_token(const struct section *user, const struct secret *token, struct error *err)
{
    return !token || section_check_plain(user, "token", secret_expose(token).at, err);
}

static bool read_token(struct kube_access *access, const struct section *user, struct error *err)
{
    if (!section_secret(user, "token", &access->token, err) ||
        !check_token(user, access->token, err) ||
        !section_path(user, "tokenFile", &access->token_file, err))
        return false;
    // The token beside it serves until the file can be read.
    return access->token || check_file(user, "tokenFile", access->token_file, err);
}

static bool read_basic(struct kube_access *access, const struct section *user, struct error *err)
{
    if (!section_text(user, "username", &access->username, err) ||
        !section_secret(user, "password", &access->password, err))
        return false;
    if (access->password && !access->username)
        return section_fail(user, NULL, "username", err, "is not set, but a password is");
    if (access->username && strchr(access->username, ':'))
        return fail_key(user, "username", err, "a colon is not allowed");
    if (access->username && (access->token || access->token_file))
        return fail_key(user, "username", err,
                        "cannot be combined with a token: remove one of them");
    return true;
}

// ---- users: as whom they act --------------------------------------------------------------------

static bool check_all_plain(const struct section *user, const char *key, const char *const *texts,
                            struct error *err)
{
    for (; texts && *texts; texts++)
        if (!section_check_plain(user, key, *texts, err))
            return false;
    return true;
}

static size_t count_extra(const struct value *map)
{
    size_t count = 0;
    value_each (item, map)
        count += value_count(item);
    return count;
}

static bool read_extra(struct kube_access *access, const struct section *user, struct error *err)
{
    struct section extra;
    if (!section_map(user, "as-user-extra", &extra, err))
        return false;
    const char **pairs =
        arena_new_array(access->arena, const char *, 2 * count_extra(extra.map) + 1);
    size_t at = 0;
    value_each (item, extra.map) {
        const char **values;
        const char *key = arena_copy(access->arena, item->key.at, item->key.len);
        if (strlen(key) != item->key.len)
            return section_fail(&extra, item, key, err, "a NUL is not allowed");
        if (!section_list(&extra, key, LIST_MAX, &values, err) ||
            !check_all_plain(&extra, key, values, err))
            return false;
        for (; values && *values; values++) {
            pairs[at++] = key;
            pairs[at++] = *values;
        }
    }
    access->as_extra = at ? pairs : NULL;
    return true;
}

static bool read_impersonation(struct kube_access *access, const struct section *user,
                               struct error *err)
{
    const char **groups;
    if (!section_text(user, "as", &access->as, err) ||
        !section_check_plain(user, "as", access->as, err) ||
        !section_text(user, "as-uid", &access->as_uid, err) ||
        !section_check_plain(user, "as-uid", access->as_uid, err) ||
        !section_list(user, "as-groups", LIST_MAX, &groups, err) ||
        !check_all_plain(user, "as-groups", groups, err) || !read_extra(access, user, err))
        return false;
    access->as_groups = groups;
    if (!access->as && (access->as_uid || groups || access->as_extra))
        return section_fail(user, NULL, "as", err,
                            "is not set, but as-uid, as-groups or as-user-extra is");
    return true;
}

// ---- users: plugins -----------------------------------------------------------------------------

static bool check_version(const struct section *exec, const char *version, struct error *err)
{
    static const char *const known[] = {"client.authentication.k8s.io/v1",
                                        "client.authentication.k8s.io/v1beta1"};
    for (size_t i = 0; version && i < COUNT_OF(known); i++)
        if (!strcmp(version, known[i]))
            return true;
    return fail_key(
        exec, "apiVersion", err,
        "must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
}

static bool check_mode(const struct section *exec, const char *version, struct error *err)
{
    const char *mode;
    if (!section_text(exec, "interactiveMode", &mode, err))
        return false;
    if (!mode && !strcmp(version, "client.authentication.k8s.io/v1"))
        return fail_key(exec, "interactiveMode", err, "is required: Never or IfAvailable");
    if (!mode || !strcmp(mode, "Never") || !strcmp(mode, "IfAvailable"))
        return true;
    if (!strcmp(mode, "Always"))
        return fail_key(exec, "interactiveMode", err,
                        "Always is refused: there is no terminal to ask at");
    return fail_key(exec, "interactiveMode", err, "must be Never or IfAvailable");
}

static bool read_command(struct kube_exec *out, const struct section *exec, struct error *err)
{
    const char *command;
    if (!section_text(exec, "command", &command, err))
        return false;
    if (!command)
        return fail_key(exec, "command", err, "is not set");
    if (strchr(command, '/')) // else it is looked for in PATH
        return section_path(exec, "command", &out->command, err);
    out->command = command;
    return true;
}

static bool read_arguments(struct kube_exec *out, const struct section *exec, struct error *err)
{
    const char **arguments;
    if (!section_list(exec, "args", KUBE_ARGS_MAX, &arguments, err))
        return false;
    for (size_t i = 0; arguments && arguments[i]; i++)
        out->args[i] = arguments[i];
    return true;
}

static bool read_setting(const char **out, const struct section *setting, struct error *err)
{
    const char *name, *value;
    if (setting->map->type != VALUE_MAP)
        return section_fail(setting, NULL, "", err, "expected a map of name and value");
    if (!section_text(setting, "name", &name, err) || !section_text(setting, "value", &value, err))
        return false;
    if (!name || strchr(name, '='))
        return section_fail(setting, NULL, "name", err, "must be set, without a \"=\"");
    *out = arena_printf(setting->arena, "%s=%s", name, value ? value : "");
    return true;
}

static bool read_environment(struct kube_exec *out, const struct section *exec, struct error *err)
{
    const struct value *settings = value_find(exec->map, "env");
    if (!settings || settings->type == VALUE_NULL)
        return true;
    if (settings->type != VALUE_LIST)
        return fail_key(exec, "env", err, "expected a list");
    if (value_count(settings) > KUBE_ARGS_MAX)
        return fail_key(exec, "env", err, "too many entries");
    size_t at = 0;
    value_each (item, settings) {
        struct section setting = *exec;
        setting.at = arena_printf(exec->arena, "%s.env[%zu]", exec->at, at);
        setting.map = item;
        if (!read_setting(&out->env[at++], &setting, err))
            return false;
    }
    return true;
}

static bool read_exec(struct kube_access *access, const struct section *user, struct error *err)
{
    struct section exec;
    struct kube_exec *out = &access->exec;
    if (!section_map(user, "exec", &exec, err))
        return false;
    if (!exec.map)
        return true;
    return section_text(&exec, "apiVersion", &out->api_version, err) &&
           check_version(&exec, out->api_version, err) &&
           check_mode(&exec, out->api_version, err) &&
           section_bool(&exec, "provideClusterInfo", &out->provides_cluster_info, err) &&
           section_text(&exec, "installHint", &out->install_hint, err) &&
           read_arguments(out, &exec, err) && read_environment(out, &exec, err) &&
           read_command(out, &exec, err);
}

static bool refuse_auth_provider(const struct section *user, struct error *err)
{
    const struct value *provider = value_find(user->map, "auth-provider");
    if (!provider || provider->type == VALUE_NULL)
        return true;
    return section_fail(user, provider, "auth-provider", err,
                        "auth providers are not supported: use exec with a credential plugin");
}

bool kubeconfig_read_user(struct kube_access *access, const struct section *user, struct error *err)
{
    return refuse_auth_provider(user, err) && read_certificate(access, user, err) &&
           read_token(access, user, err) && read_basic(access, user, err) &&
           read_impersonation(access, user, err) && read_exec(access, user, err);
}
