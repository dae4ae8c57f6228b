#include <string.h>

#include "commands/manifest.h"
#include "commands/zones.h"
#include "io/disk.h"
#include "kinds/zone/zone_kind.h"

// The hidden primary: its zones configuration out of a ConfigMap, its TSIG keys out of a Secret,
// both in one folder as on a disk, and the Service that name servers fetch zones through.

#define CONFIG_MAP "signpost-zones"
#define SERVICE "signpost-zones"
#define FOLDER "/etc/signpost/zones"
#define FILE_NAME "zones.yaml"

enum { CONFIG_OCTETS_MAX = 512 * 1024, PORT = 5300 };

// A key's file is a key of the Secret.
static bool take_key(struct manifest *manifest, const char *path, const char *file,
                     struct error *err)
{
    if (strchr(file, '/'))
        return error_set(err, FAULT_SPEC, "",
                         "%s: secretFile %s: in a cluster it names a key of the Secret %s, which "
                         "lies beside the configuration: write no folder",
                         path, file, option_text(manifest->invocation, "tsig-secret"));
    manifest->tsig_files = arena_printf(manifest->arena, "%s --from-file=%s",
                                        manifest->tsig_files ? manifest->tsig_files : "", file);
    return true;
}

static bool take_keys(struct manifest *manifest, const char *path, struct text content,
                      struct error *err)
{
    CLEANUP(zones_config)
    struct zones_config *config = zones_config_parse(manifest->arena, path, content, err);
    if (!config)
        return false;
    for (size_t i = 0; i < config->key_count; i++)
        if (!take_key(manifest, path, config->keys[i].secret_file, err))
            return false;
    return true;
}

static bool take_config(struct manifest *manifest, struct error *err)
{
    AUTO_BUFFER content = {0};
    const char *path = option_text(manifest->invocation, "zones-config");
    if (!path)
        return true;
    if (!disk_read(&content, path, CONFIG_OCTETS_MAX, err) ||
        !take_keys(manifest, path, buffer_text(&content), err))
        return false;
    struct text text = buffer_text(&content);
    manifest->zones_config = arena_copy(manifest->arena, text.at, text.len);
    return true;
}

// All its addresses have one port, that of the Service.
static bool take_port(struct manifest *manifest, struct error *err)
{
    const char **items;
    size_t count = option_list(manifest->invocation, "primary-listen", &items);
    manifest->zones_port = PORT;
    for (size_t i = 0; i < count; i++) {
        struct hostport at;
        if (!hostport_parse(&at, text_of(items[i]), 0, false, err))
            return option_blame(manifest->invocation, "primary-listen", items[i], err);
        if (i && at.port != manifest->zones_port) {
            error_set(err, FAULT_SPEC, "", "all addresses have one port in a cluster");
            return option_blame(manifest->invocation, "primary-listen", items[i], err);
        }
        manifest->zones_port = at.port;
    }
    return true;
}

bool manifest_take_zones(struct manifest *manifest, struct error *err)
{
    bool is_asked = option_is_set(manifest->invocation, "zones-config") ||
                    option_is_set(manifest->invocation, "primary-listen");
    manifest->has_zones = is_asked && enabled_controllers_reads(&manifest->controllers, &zone_kind);
    if (is_asked && !manifest->has_zones)
        return error_set(err, FAULT_SPEC, "",
                         "--zones-config and --primary-listen are the controller zone's, which "
                         "--controllers leaves out");
    return take_port(manifest, err) && take_config(manifest, err);
}

// ---- printing -----------------------------------------------------------------------------------

void manifest_write_zones(const struct manifest *manifest)
{
    if (!manifest->zones_config)
        return;
    struct value *object =
        manifest_begin(manifest, "v1", "ConfigMap", CONFIG_MAP, manifest->namespace_);
    value_put_text(manifest->arena, object, "data[" FILE_NAME "]", manifest->zones_config);
    manifest_end(manifest, object, "");
}

static void put_port(const struct manifest *manifest, struct value *list, const char *name,
                     const char *number, const char *protocol)
{
    struct arena *arena = manifest->arena;
    struct value *entry = manifest_item(manifest, list);
    value_put_text(arena, entry, "name", name);
    value_put_int(arena, entry, number, manifest->zones_port);
    value_put_text(arena, entry, "protocol", protocol);
}

static void put_ports(const struct manifest *manifest, struct value *list, const char *number)
{
    put_port(manifest, list, "zones", number, "UDP");
    put_port(manifest, list, "zones-tcp", number, "TCP");
}

void manifest_put_zones_ports(const struct manifest *manifest, struct value *list)
{
    if (manifest->has_zones)
        put_ports(manifest, list, "containerPort");
}

// Servers are known by their addresses: nothing may put others in their place.
void manifest_write_zones_service(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    const char *type = option_text(manifest->invocation, "zones-service");
    if (!manifest->has_zones)
        return;
    struct value *object = manifest_begin(manifest, "v1", "Service", SERVICE, manifest->namespace_);
    value_put_text(arena, object, "spec.type", type);
    if (strcmp(type, "ClusterIP") != 0)
        value_put_text(arena, object, "spec.externalTrafficPolicy", "Local");
    value_put_bool(arena, object, "spec.publishNotReadyAddresses", true);
    value_put_text(arena, object, "spec.selector[app.kubernetes.io/name]", MANIFEST_NAME);
    struct value *ports = value_put(arena, object, "spec.ports", value_make(arena, VALUE_LIST));
    put_ports(manifest, ports, "port");
    value_each (entry, ports)
        value_put_text(
            arena, entry, "targetPort",
            arena_copy(arena, value_text_at(entry, "name").at, value_text_at(entry, "name").len));
    manifest_end(manifest, object, "");
}

void manifest_put_zones_arguments(const struct manifest *manifest, struct value *list)
{
    struct arena *arena = manifest->arena;
    if (manifest->zones_config)
        value_append(list, value_make_text(arena, TEXT("--zones-config=" FOLDER "/" FILE_NAME)));
}

static void put_source(const struct manifest *manifest, struct value *sources, const char *path,
                       const char *name)
{
    value_put_text(manifest->arena, manifest_item(manifest, sources), path, name);
}

void manifest_put_zones_files(const struct manifest *manifest, struct value *deployment,
                              struct value *container)
{
    struct arena *arena = manifest->arena;
    if (!manifest->zones_config)
        return;
    struct value *mount =
        manifest_item(manifest, manifest_list(manifest, container, "volumeMounts"));
    value_put_text(arena, mount, "name", "zones");
    value_put_text(arena, mount, "mountPath", FOLDER);
    value_put_bool(arena, mount, "readOnly", true);
    struct value *volume =
        manifest_item(manifest, manifest_list(manifest, deployment, "spec.template.spec.volumes"));
    value_put_text(arena, volume, "name", "zones");
    struct value *sources =
        value_put(arena, volume, "projected.sources", value_make(arena, VALUE_LIST));
    put_source(manifest, sources, "configMap.name", CONFIG_MAP);
    if (manifest->tsig_files)
        put_source(manifest, sources, "secret.name",
                   option_text(manifest->invocation, "tsig-secret"));
}

const char *manifest_zones_comment(const struct manifest *manifest)
{
    if (!manifest->tsig_files)
        return "";
    return arena_printf(manifest->arena, "# kubectl -n %s create secret generic %s%s\n",
                        manifest->namespace_, option_text(manifest->invocation, "tsig-secret"),
                        manifest->tsig_files);
}
