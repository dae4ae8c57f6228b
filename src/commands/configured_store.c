#include "commands/configured_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/disk.h"

static const char *const store_names[] = {"auto", "cluster", "folder", NULL};

const struct option store_options[STORE_OPTION_COUNT] = {
    {.name = "store",
     .type = OPTION_CHOICE,
     .fallback = "auto",
     .placeholder = "STORE",
     .choices = store_names,
     .doc = "Where objects live. auto: a cluster if --kubeconfig, --context, KUBECONFIG or a pod's "
            "service account says which, else a folder of manifests."},
    {.name = "dir",
     .type = OPTION_TEXT,
     .fallback = "./manifests",
     .placeholder = "PATH",
     .doc = "Folder of manifests; files in it are never written, status lies beside them. Given, "
            "it means --store folder."},
    {.name = "state-dir",
     .type = OPTION_TEXT,
     .placeholder = "PATH",
     .doc = "Folder for status files and the journal when the manifests' folder is read-only."},
    {.name = "kubeconfig",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "How to reach the cluster; KUBECONFIG and the pod's service account when not given."},
    {.name = "context",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Context of the kubeconfig, in place of its current one."},
    {.name = "namespaces",
     .alias = "namespace",
     .letter = 'n',
     .variable = "WATCH_NAMESPACE",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Only objects in these namespaces; all when not given. Up to eight have a watch each."},
    {.name = "all-namespaces",
     .letter = 'A',
     .type = OPTION_FLAG,
     .doc = "Objects of all namespaces, whatever --namespaces or its variable says. A command that "
            "looks once reads the namespace of the context where neither is given and not all may "
            "be read."},
    {.name = "allow-empty",
     .type = OPTION_FLAG,
     .doc = "An empty folder where 10 objects or more were known is meant: delete what they "
            "published."},
};

const struct option lease_options[LEASE_OPTION_COUNT] = {
    {.name = "leader-elect-resource-name",
     .type = OPTION_TEXT,
     .fallback = "signpost",
     .placeholder = "NAME",
     .doc = "Name of the Lease."},
    {.name = "leader-elect-resource-namespace",
     .alias = "leader-elect-namespace",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Namespace of the Lease; our own when not given."},
};

const struct option writer_options[WRITER_OPTION_COUNT] = {
    {.name = "leader-elect",
     .type = OPTION_FLAG,
     .fallback = "true",
     .doc = "Of several processes on one cluster, one writes: the one that holds the Lease."},
    {.name = "leader-elect-lease-duration",
     .type = OPTION_DURATION,
     .fallback = "15s",
     .placeholder = "DURATION",
     .min = 3000,
     .doc = "How long a holder that does not renew the Lease keeps it."},
    {.name = "leader-elect-renew-deadline",
     .type = OPTION_DURATION,
     .fallback = "10s",
     .placeholder = "DURATION",
     .min = 1000,
     .doc = "A holder that could not renew so long begins nothing more; at least 2 s below the "
            "lease's duration."},
    {.name = "leader-elect-retry-period",
     .type = OPTION_DURATION,
     .fallback = "2s",
     .placeholder = "DURATION",
     .min = 200,
     .doc = "How often the Lease is renewed or looked at."},
    {.name = "kube-api-inflight",
     .type = OPTION_INT,
     .fallback = "16",
     .placeholder = "NUMBER",
     .min = 1,
     .max = 1000,
     .doc = "Writes in flight at the API server; fewer after it asked for patience."},
    {.name = "kube-api-qps",
     .type = OPTION_INT,
     .fallback = "0",
     .placeholder = "NUMBER",
     .max = 100000,
     .doc = "Writes a second at the API server; 0: as many as it takes."},
    {.name = "kube-api-burst",
     .type = OPTION_INT,
     .fallback = "100",
     .placeholder = "NUMBER",
     .min = 1,
     .max = 100000,
     .doc = "Writes that may go at once beyond --kube-api-qps."},
};

static void read_environment(struct configured_store *place)
{
    const struct invocation *invocation = place->invocation;
    place->source = (struct kube_source){
        .kubeconfig = option_text(invocation, "kubeconfig"),
        .context = option_text(invocation, "context"),
        .is_cluster = !strcmp(option_text(invocation, "store"), "cluster"),
        .env_kubeconfig = getenv("KUBECONFIG"),
        .env_service_host = getenv("KUBERNETES_SERVICE_HOST"),
        .env_service_port = getenv("KUBERNETES_SERVICE_PORT"),
        .home = getenv("HOME"),
    };
    place->own_namespace = getenv("POD_NAMESPACE");
    place->instance = getenv("POD_NAME");
    if (gethostname(place->host, sizeof place->host - 1))
        strcpy(place->host, "signpost");
    if (!place->instance || !*place->instance)
        place->instance = place->host;
}

// Said for this call, not set once in an environment that serves both.
static bool is_said(const struct invocation *invocation, const char *name)
{
    return option_is_declared(invocation, name) &&
           !strncmp(option_source(invocation, name), "flag", 4);
}

static bool refuse_strangers(const struct configured_store *place, struct error *err)
{
    static const char *const of_clusters[] = {"kubeconfig", "context", "namespaces",
                                              "all-namespaces", NULL};
    static const char *const of_folders[] = {"state-dir", "allow-empty", NULL};
    const char *const *names = place->is_cluster ? of_folders : of_clusters;
    const char *here = place->is_cluster ? "cluster" : "folder";
    const char *other = place->is_cluster ? "folder" : "cluster";
    for (size_t i = 0; names[i]; i++)
        if (is_said(place->invocation, names[i]))
            return error_set(err, FAULT_SPEC, "",
                             "--%s belongs to a %s, and objects live in a %s here: leave it out, "
                             "or give --store %s",
                             names[i], other, here, other);
    return true;
}

static bool is_filled(const struct invocation *invocation, const char *name, struct error *err)
{
    const char *text = option_is_declared(invocation, name) ? option_text(invocation, name) : NULL;
    return !text || *text ||
           error_set(err, FAULT_SPEC, "", "%s is empty: give it a PATH, or leave it out",
                     option_source(invocation, name));
}

bool configured_store_check_folder(const struct invocation *invocation, struct error *err)
{
    struct disk_stat found;
    struct error why = {0};
    const char *dir = option_text(invocation, "dir");
    if (!is_filled(invocation, "dir", err) || !is_filled(invocation, "state-dir", err))
        return false;
    if (disk_stat(dir, &found, &why))
        return found.is_folder ||
               (error_set(err, FAULT_SPEC, "", "is no folder; `signpost check PATH` reads files"),
                option_blame(invocation, "dir", dir, err));
    if (option_is_set(invocation, "dir") || why.status != ENOENT) {
        error_set(err, FAULT_SPEC, "", "%s", why.text);
        return option_blame(invocation, "dir", dir, err);
    }
    return error_set(err, FAULT_SPEC, "",
                     "there is no folder %s, the default of --dir, and nothing names a cluster: "
                     "give --dir PATH, or --kubeconfig FILE",
                     dir);
}

bool configured_store_find(struct configured_store *place, const struct invocation *invocation,
                           struct error *err)
{
    *place = (struct configured_store){.invocation = invocation};
    read_environment(place);
    bool has_folder = option_is_set(invocation, "dir");
    if (has_folder && place->source.is_cluster)
        return error_set(err, FAULT_SPEC, "",
                         "%s names a folder, and %s a cluster: give one of them",
                         option_source(invocation, "dir"), option_source(invocation, "store"));
    place->is_cluster = !has_folder && (place->source.is_cluster ||
                                        (!strcmp(option_text(invocation, "store"), "auto") &&
                                         kube_source_names_cluster(&place->source)));
    return refuse_strangers(place, err) &&
           (place->is_cluster || configured_store_check_folder(invocation, err));
}

struct kube_access *configured_store_access(struct configured_store *place, struct error *err)
{
    struct kube_access *access = kube_access_load(&place->source, err);
    if (!access)
        return NULL;
    if (!place->own_namespace || !*place->own_namespace)
        place->own_namespace = access->namespace_
                                   ? arena_copy_text(place->invocation->arena, access->namespace_)
                                   : "default";
    return access;
}

bool configured_store_wants_all(const struct configured_store *place)
{
    return option_flag(place->invocation, "all-namespaces");
}

const char *const *configured_store_namespaces(const struct configured_store *place)
{
    const char **items;
    if (place->only || configured_store_wants_all(place))
        return place->only;
    size_t count = option_list(place->invocation, "namespaces", &items);
    if (!count)
        return NULL;
    const char **ended = arena_new_array(place->invocation->arena, const char *, count + 1);
    memcpy(ended, items, count * sizeof *items);
    return ended;
}

bool writer_options_check(const struct invocation *invocation, struct error *err)
{
    int64_t duration_ms = option_ms(invocation, "leader-elect-lease-duration");
    int64_t deadline_ms = option_ms(invocation, "leader-elect-renew-deadline");
    int64_t retry_ms = option_ms(invocation, "leader-elect-retry-period");
    if (duration_ms - 2000 < deadline_ms)
        return error_set(err, FAULT_SPEC, "",
                         "--leader-elect-renew-deadline must be at least 2s below "
                         "--leader-elect-lease-duration (%s, %s)",
                         option_text(invocation, "leader-elect-renew-deadline"),
                         option_text(invocation, "leader-elect-lease-duration"));
    if (deadline_ms * 10 <= retry_ms * 12)
        return error_set(err, FAULT_SPEC, "",
                         "--leader-elect-renew-deadline must be over 1.2 times "
                         "--leader-elect-retry-period (%s, %s)",
                         option_text(invocation, "leader-elect-renew-deadline"),
                         option_text(invocation, "leader-elect-retry-period"));
    return true;
}
