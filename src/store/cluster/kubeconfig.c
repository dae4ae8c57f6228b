#include "store/cluster/kubeconfig.h"

#include <string.h>

#include "io/disk.h"
#include "store/cluster/kubeconfig_read.h"

static const char service_account_folder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

enum { SMALL_FILE_MAX = 1024 * 1024 };

static bool is_given(const char *text)
{
    return text && text[0];
}

static bool is_in_cluster(const struct kube_source *source)
{
    return is_given(source->env_service_host) && is_given(source->env_service_port);
}

bool kube_source_names_cluster(const struct kube_source *source)
{
    return is_given(source->kubeconfig) || is_given(source->context) ||
           is_given(source->env_kubeconfig) || is_in_cluster(source);
}

// ---- the service account of a pod ---------------------------------------------------------------

static bool set_server(struct kube_access *access, const struct kube_source *source,
                       struct error *err)
{
    const char *host = source->env_service_host;
    bool is_ipv6 = strchr(host, ':');
    const char *text = arena_printf(access->arena, is_ipv6 ? "https://[%s]:%s" : "https://%s:%s",
                                    host, source->env_service_port);
    return url_parse(&access->server, text_of(text), err) ||
           error_prefix(err, "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: ");
}

static void read_namespace(struct kube_access *access, const char *folder)
{
    AUTO_BUFFER octets = {0};
    const char *path = arena_printf(access->arena, "%s/namespace", folder);
    if (!disk_read(&octets, path, SMALL_FILE_MAX, NULL))
        return;
    struct text name = text_trim(buffer_text(&octets));
    if (name.len)
        access->namespace_ = arena_copy(access->arena, name.at, name.len);
}

static bool load_service_account(struct kube_access *access, const struct kube_source *source,
                                 struct error *err)
{
    struct arena *arena = access->arena;
    const char *folder =
        is_given(source->service_account) ? source->service_account : service_account_folder;
    access->source = "service account of the pod";
    access->token_file = arena_printf(arena, "%s/token", folder);
    access->ca_file = arena_printf(arena, "%s/ca.crt", folder);
    read_namespace(access, folder);
    return set_server(access, source, err) && (kubeconfig_check_file(access->token_file, err) &&
                                               kubeconfig_check_file(access->ca_file, err));
}

// ---- which --------------------------------------------------------------------------------------

static bool load_list(struct kube_access *access, const struct kube_source *source,
                      const struct kubeconfig_files *files, struct error *err)
{
    return kubeconfig_read(access, files, source->context, err);
}

static bool load_explicit(struct kube_access *access, const struct kube_source *source,
                          const char *path, struct error *err)
{
    CLEANUP(kubeconfig_files) struct kubeconfig_files *files = kubeconfig_files_new();
    return kubeconfig_files_add(files, path, true, err) && load_list(access, source, files, err);
}

static bool add_listed(struct kubeconfig_files *files, struct arena *arena, const char *list,
                       struct error *err)
{
    struct text rest = text_of(list), path;
    while (text_cut(&rest, ':', &path))
        if (path.len &&
            !kubeconfig_files_add(files, arena_copy(arena, path.at, path.len), false, err))
            return false;
    return true;
}

static bool load_home(struct kube_access *access, const struct kube_source *source,
                      struct error *err)
{
    bool may_be_used = source->is_cluster || is_given(source->context);
    if (!may_be_used || !is_given(source->home))
        return error_set(err, FAULT_SPEC, "InvalidConfiguration",
                         "no cluster is named: give --kubeconfig, or set KUBECONFIG");
    return load_explicit(access, source,
                         arena_printf(access->arena, "%s/.kube/config", source->home), err);
}

// A service account has no contexts: naming one asks for a kubeconfig.
static bool load_fallback(struct kube_access *access, const struct kube_source *source,
                          struct error *err)
{
    if (is_in_cluster(source) && !is_given(source->context))
        return load_service_account(access, source, err);
    return load_home(access, source, err);
}

static bool load(struct kube_access *access, const struct kube_source *source, struct error *err)
{
    if (is_given(source->kubeconfig))
        return load_explicit(access, source, source->kubeconfig, err);
    if (!is_given(source->env_kubeconfig))
        return load_fallback(access, source, err);
    CLEANUP(kubeconfig_files) struct kubeconfig_files *files = kubeconfig_files_new();
    if (!add_listed(files, access->arena, source->env_kubeconfig, err))
        return false;
    if (kubeconfig_files_count(files))
        return load_list(access, source, files, err);
    if (is_in_cluster(source) && !is_given(source->context))
        return load_service_account(access, source, err);
    return error_set(err, FAULT_SPEC, "InvalidConfiguration",
                     "KUBECONFIG: none of its files exists: %s", source->env_kubeconfig);
}

struct kube_access *kube_access_load(const struct kube_source *source, struct error *err)
{
    struct arena *arena = arena_new();
    CLEANUP(kube_access) struct kube_access *access = arena_new_of(arena, struct kube_access);
    access->arena = arena;
    return load(access, source, err) ? steal(access) : NULL;
}

void kube_access_free(struct kube_access *access)
{
    if (!access)
        return;
    secret_unref(access->ca);
    secret_unref(access->certificate);
    secret_unref(access->key);
    secret_unref(access->token);
    secret_unref(access->password);
    arena_free(access->arena);
}
