#include <string.h>

#include "commands/manifest.h"
#include "commands/settings.h"
#include "commands/subject.h"

// This file collects what subjects and settings add to an installation: arguments, variables, files
// and ports in the container, and the ConfigMaps and Services beside it.

#define FILES_FOLDER "/etc/signpost"

// Finds what has the port in the container already; NULL: nothing has it.
static const char *find_port(const struct manifest *manifest, int64_t port, size_t before)
{
    for (size_t i = 0; i < MANIFEST_PORT_COUNT; i++)
        if (manifest_ports[i].port == port)
            return manifest_ports[i].name;
    for (size_t i = 0; i < before; i++)
        if (manifest->installations[i].port_name && manifest->installations[i].port == port)
            return manifest->installations[i].port_name;
    return NULL;
}

static bool install_one(struct manifest *manifest, bool has_deployment, size_t at,
                        struct error *err)
{
    const struct subject *subject = subjects[at];
    struct installation *out = &manifest->installations[at];
    if (!subject->install)
        return true;
    if (!subject->install(manifest, has_deployment, out, err))
        return false;
    const char *taken = out->port_name ? find_port(manifest, out->port, at) : NULL;
    return !taken || error_set(err, FAULT_SPEC, "",
                               "port %lld cannot be that of %s, as it is that of %s in the "
                               "container: choose another",
                               (long long)out->port, out->port_name, taken);
}

// The file lies on this computer; in the container it comes out of a ConfigMap.
static void install_file(const struct manifest *manifest, const struct controller_setting *setting,
                         const struct setting_file *file, struct installation *out)
{
    struct arena *arena = manifest->arena;
    out->volume = setting->name;
    out->folder = arena_printf(arena, FILES_FOLDER "/%s", setting->name);
    out->config_map = arena_printf(arena, MANIFEST_NAME "-%s", setting->name);
    out->config_key = "content";
    out->config_text = file->content.at;
    installation_add_argument(
        manifest, out,
        arena_printf(arena, "--%s=%s/%s", setting->name, out->folder, out->config_key));
}

static void install_setting(struct manifest *manifest, const struct controller_setting *setting,
                            const char *settings)
{
    struct installation *out = &manifest->installations[manifest->installation_count++];
    if (setting->type == SETTING_FILE)
        install_file(manifest, setting,
                     (const struct setting_file *)(const void *)(settings + setting->offset), out);
    else
        installation_add_argument(manifest, out,
                                  arena_printf(manifest->arena, "--%s=%s", setting->name,
                                               option_text(manifest->invocation, setting->name)));
}

// Controllers may share a setting: one of the first `count` has it already.
static bool is_installed(const struct manifest *manifest, const char *name, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < manifest->controllers.items[i]->setting_count; j++)
            if (!strcmp(manifest->controllers.items[i]->settings[j].name, name))
                return true;
    return false;
}

static void install_settings(struct manifest *manifest, size_t at)
{
    const struct controller *controller = manifest->controllers.items[at];
    for (size_t i = 0; i < controller->setting_count; i++)
        if (option_is_set(manifest->invocation, controller->settings[i].name) &&
            !is_installed(manifest, controller->settings[i].name, at))
            install_setting(manifest, &controller->settings[i], manifest->settings[at]);
}

static size_t count_settings(const struct manifest *manifest)
{
    size_t count = 0;
    for (size_t i = 0; i < manifest->controllers.count; i++)
        count += manifest->controllers.items[i]->setting_count;
    return count;
}

bool manifest_take_installations(struct manifest *manifest, bool has_deployment, struct error *err)
{
    manifest->installations = arena_new_array(manifest->arena, struct installation,
                                              subject_count + count_settings(manifest) + 1);
    manifest->installation_count = subject_count;
    for (size_t i = 0; i < subject_count; i++)
        if (!install_one(manifest, has_deployment, i, err))
            return false;
    for (size_t i = 0; i < manifest->controllers.count; i++) {
        manifest->settings[i] =
            settings_resolve(manifest->invocation, manifest->controllers.items[i], err);
        if (!manifest->settings[i])
            return false;
        install_settings(manifest, i);
    }
    return true;
}

void installation_add_variable(const struct manifest *manifest, struct installation *out,
                               const struct installation_variable *variable)
{
    struct installation_variable *items =
        arena_new_array(manifest->arena, struct installation_variable, out->variable_count + 1);
    if (out->variable_count)
        memcpy(items, out->variables, out->variable_count * sizeof *items);
    items[out->variable_count++] = *variable;
    out->variables = items;
}

void installation_add_argument(const struct manifest *manifest, struct installation *out,
                               const char *text)
{
    const char **items = arena_new_array(manifest->arena, const char *, out->argument_count + 1);
    if (out->argument_count)
        memcpy(items, out->arguments, out->argument_count * sizeof *items);
    items[out->argument_count++] = text;
    out->arguments = items;
}

#define part_each(part_, manifest_)                                                                \
    for (const struct installation *part_ = (manifest_)->installations;                            \
         part_ < (manifest_)->installations + (manifest_)->installation_count; part_++)

// ---- in the container ---------------------------------------------------------------------------

void manifest_put_installation_arguments(const struct manifest *manifest, struct value *list)
{
    part_each (part, manifest)
        for (size_t i = 0; i < part->argument_count; i++)
            value_append(list, value_make_text(manifest->arena, text_of(part->arguments[i])));
}

void manifest_put_installation_variables(const struct manifest *manifest, struct value *list)
{
    struct arena *arena = manifest->arena;
    part_each (part, manifest)
        for (size_t i = 0; i < part->variable_count; i++) {
            const struct installation_variable *variable = &part->variables[i];
            struct value *entry = manifest_item(manifest, list);
            value_put_text(arena, entry, "name", variable->name);
            if (variable->value) {
                value_put_text(arena, entry, "value", variable->value);
                continue;
            }
            value_put_text(arena, entry, "valueFrom.secretKeyRef.name", variable->secret);
            value_put_text(arena, entry, "valueFrom.secretKeyRef.key", variable->key);
        }
}

static void put_port(const struct manifest *manifest, const struct installation *part,
                     struct value *list, const char *number, bool is_tcp)
{
    struct arena *arena = manifest->arena;
    struct value *entry = manifest_item(manifest, list);
    value_put_text(
        arena, entry, "name",
        arena_printf(arena, "%s%s", part->port_name, part->has_udp && is_tcp ? "-tcp" : ""));
    value_put_int(arena, entry, number, part->port);
    value_put_text(arena, entry, "protocol", is_tcp ? "TCP" : "UDP");
}

static void put_ports(const struct manifest *manifest, const struct installation *part,
                      struct value *list, const char *number)
{
    if (part->has_udp)
        put_port(manifest, part, list, number, false);
    put_port(manifest, part, list, number, true);
}

void manifest_put_installation_ports(const struct manifest *manifest, struct value *list)
{
    part_each (part, manifest)
        if (part->port_name)
            put_ports(manifest, part, list, "containerPort");
}

static void put_source(const struct manifest *manifest, struct value *sources, const char *path,
                       const char *name)
{
    value_put_text(manifest->arena, manifest_item(manifest, sources), path, name);
}

static void put_volume(const struct manifest *manifest, const struct installation *part,
                       struct value *volume)
{
    struct arena *arena = manifest->arena;
    value_put_text(arena, volume, "name", part->volume);
    if (!part->config_map) {
        value_put_text(arena, volume, "secret.secretName", part->secret);
        return;
    }
    struct value *sources =
        value_put(arena, volume, "projected.sources", value_make(arena, VALUE_LIST));
    put_source(manifest, sources, "configMap.name", part->config_map);
    if (part->secret)
        put_source(manifest, sources, "secret.name", part->secret);
}

void manifest_put_installation_files(const struct manifest *manifest, struct value *deployment,
                                     struct value *container)
{
    struct arena *arena = manifest->arena;
    part_each (part, manifest) {
        if (!part->volume)
            continue;
        struct value *mount =
            manifest_item(manifest, manifest_list(manifest, container, "volumeMounts"));
        value_put_text(arena, mount, "name", part->volume);
        value_put_text(arena, mount, "mountPath", part->folder);
        value_put_bool(arena, mount, "readOnly", true);
        put_volume(manifest, part,
                   manifest_item(manifest, manifest_list(manifest, deployment,
                                                         "spec.template.spec.volumes")));
    }
}

const struct installation *manifest_find_small(const struct manifest *manifest)
{
    for (size_t i = 0; i < subject_count; i++)
        if (manifest->installations[i].limits &&
            enabled_controllers_is_alone(&manifest->controllers, subjects[i]->controller))
            return &manifest->installations[i];
    return NULL;
}

const char *manifest_installation_comments(const struct manifest *manifest)
{
    AUTO_BUFFER out = {0};
    part_each (part, manifest)
        if (part->comment)
            buffer_add_text(&out, part->comment);
    return arena_copy_text(manifest->arena, buffer_text(&out).at);
}

// ---- beside it ----------------------------------------------------------------------------------

void manifest_write_configurations(const struct manifest *manifest)
{
    part_each (part, manifest) {
        if (!part->config_map)
            continue;
        struct value *object =
            manifest_begin(manifest, "v1", "ConfigMap", part->config_map, manifest->namespace_);
        value_put_text(manifest->arena, object,
                       arena_printf(manifest->arena, "data[%s]", part->config_key),
                       part->config_text);
        manifest_end(manifest, object, "");
    }
}

// Who fetches is known by his address: nothing may put another in its place.
static void write_service(const struct manifest *manifest, const struct installation *part)
{
    struct arena *arena = manifest->arena;
    struct value *object =
        manifest_begin(manifest, "v1", "Service", part->service, manifest->namespace_);
    value_put_text(arena, object, "spec.type", part->service_type);
    if (strcmp(part->service_type, "ClusterIP") != 0)
        value_put_text(arena, object, "spec.externalTrafficPolicy", "Local");
    if (part->serves_before_ready)
        value_put_bool(arena, object, "spec.publishNotReadyAddresses", true);
    value_put_text(arena, object, "spec.selector[app.kubernetes.io/name]", MANIFEST_NAME);
    struct value *ports = value_put(arena, object, "spec.ports", value_make(arena, VALUE_LIST));
    put_ports(manifest, part, ports, "port");
    value_each (entry, ports)
        value_put_text(
            arena, entry, "targetPort",
            arena_copy(arena, value_text_at(entry, "name").at, value_text_at(entry, "name").len));
    manifest_end(manifest, object, "");
}

void manifest_write_installation_services(const struct manifest *manifest)
{
    part_each (part, manifest) {
        if (part->service)
            write_service(manifest, part);
    }
}
