#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/must.h"
#include "base/value.h"
#include "store/cluster/kubeconfig.h"
#include "store/cluster/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_pairs(const char *const *pairs)
{
    for (; pairs && *pairs; pairs += 2)
        must(pairs[1]);
}

// What a plugin is told is JSON whatever the cluster's texts are.
static void check_plugin(struct kube_access *access)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER info = {0};
    access->exec.provides_cluster_info = true;
    plugin_write_info(&info, access, access->ca);
    must(!utf8_is_valid(buffer_text(&info)) ||
         value_read_json(arena, buffer_text(&info), &value_manifest_limits, NULL));
}

static void check_access(struct kube_access *access)
{
    must(access->server.host[0] && access->source);
    must(!access->is_unverified || !(access->ca || access->ca_file));
    must(!(access->certificate && access->certificate_file));
    must(!(access->certificate || access->certificate_file) == !(access->key || access->key_file));
    must(access->as || !access->as_groups);
    check_pairs(access->as_extra);
    must(!access->exec.command || access->exec.api_version);
    if (access->exec.command)
        check_plugin(access);
}

// One file, twice in the list: what the first says stands.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    char list[128];
    int file = memfd_create("kubeconfig", MFD_CLOEXEC);
    must(file >= 0 && write(file, at, len) == (ssize_t)len);
    snprintf(list, sizeof list, "/proc/self/fd/%d:/proc/self/fd/%d", file, file);
    struct kube_source source = {.env_kubeconfig = list};
    struct error err = {0};
    CLEANUP(kube_access) struct kube_access *access = kube_access_load(&source, &err);
    if (access)
        check_access(access);
    else
        must(err.fault == FAULT_SPEC && err.text[0]);
    close(file);
    return 0;
}
