#include <stdio.h>
#include <string.h>

#include "commands/manifest.h"
#include "commands/pihole.h"
#include "controllers/ingress/ingress_controller.h"

#define SECRET "signpost-pihole"
#define FOLDER "/etc/signpost/pihole"

// Options that name a file here: a key of the Secret there.
static const char *const files[] = {"pihole-targets", "pihole-tls-ca-file"};

bool manifest_has_piholes(const struct manifest *manifest)
{
    return enabled_controllers_has(&manifest->controllers, &ingress_controller);
}

static bool is_given(const struct manifest *manifest, const char *option)
{
    return option_is_set(manifest->invocation, option);
}

// Which are to be kept may still be said by hand, in the Deployment.
bool manifest_check_piholes(const struct manifest *manifest, struct error *err)
{
    struct pihole_targets piholes = {0};
    return !manifest_has_piholes(manifest) ||
           (!is_given(manifest, "pihole-url") && !is_given(manifest, "pihole-targets")) ||
           pihole_read(manifest->invocation, true, &piholes, err);
}

static bool is_file(const char *option)
{
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (!strcmp(files[i], option))
            return true;
    return false;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct value *variable(const struct manifest *manifest, struct value *list, const char *name)
{
    struct value *entry = manifest_item(manifest, list);
    value_put_text(manifest->arena, entry, "name", name);
    return entry;
}

static void put_token(const struct manifest *manifest, struct value *list)
{
    struct value *entry = variable(manifest, list, "PIHOLE_API_TOKEN");
    value_put_text(manifest->arena, entry, "valueFrom.secretKeyRef.name", SECRET);
    value_put_text(manifest->arena, entry, "valueFrom.secretKeyRef.key", "token");
}

static bool needs_token(const struct manifest *manifest)
{
    return is_given(manifest, "pihole-url") &&
           !option_flag(manifest->invocation, "pihole-no-password");
}

void manifest_put_pihole_variables(const struct manifest *manifest, struct value *list)
{
    for (size_t i = 0; i < PIHOLE_OPTION_COUNT; i++) {
        const struct option *option = &pihole_options[i];
        if (!is_given(manifest, option->name))
            continue;
        const char *text = option_text(manifest->invocation, option->name);
        if (is_file(option->name))
            text = arena_printf(manifest->arena, FOLDER "/%s", name_of(text));
        value_put_text(manifest->arena, variable(manifest, list, option->variable), "value", text);
    }
    if (needs_token(manifest))
        put_token(manifest, list);
}

static bool has_files(const struct manifest *manifest)
{
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (is_given(manifest, files[i]))
            return true;
    return false;
}

void manifest_put_pihole_files(const struct manifest *manifest, struct value *deployment,
                               struct value *container)
{
    struct arena *arena = manifest->arena;
    if (!has_files(manifest))
        return;
    struct value *mount =
        manifest_item(manifest, manifest_list(manifest, container, "volumeMounts"));
    value_put_text(arena, mount, "name", "pihole");
    value_put_text(arena, mount, "mountPath", FOLDER);
    value_put_bool(arena, mount, "readOnly", true);
    struct value *volume =
        manifest_item(manifest, manifest_list(manifest, deployment, "spec.template.spec.volumes"));
    value_put_text(arena, volume, "name", "pihole");
    value_put_text(arena, volume, "secret.secretName", SECRET);
}

// What has to be there before it can start, as comment.
const char *manifest_pihole_comment(const struct manifest *manifest)
{
    AUTO_BUFFER out = {0};
    if (!is_given(manifest, "pihole-url") && !is_given(manifest, "pihole-targets"))
        buffer_add_text(&out, "# It starts once it has PIHOLE_URL (or PIHOLE_TARGETS), "
                              "DEFAULT_TARGET_IP and a token:\n"
                              "# give --pihole-url and --default-target-ip.\n");
    if (needs_token(manifest) || has_files(manifest))
        buffer_printf(&out, "# kubectl -n %s create secret generic " SECRET, manifest->namespace_);
    if (needs_token(manifest))
        buffer_add_text(&out, " --from-file=token=TOKEN-FILE");
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (is_given(manifest, files[i]))
            buffer_printf(&out, " --from-file=%s", option_text(manifest->invocation, files[i]));
    if (out.len && out.at[out.len - 1] != '\n')
        buffer_add_char(&out, '\n');
    return arena_copy_text(manifest->arena, buffer_text(&out).at);
}
