#include <stdio.h>
#include <string.h>

#include "commands/pihole/pihole_settings.h"
#include "commands/pihole/pihole_subject.h"
#include "controllers/ingress/ingress_controller.h"

#define SECRET "signpost-pihole"
#define FOLDER "/etc/signpost/pihole"

// Options that name a file here: a key of the Secret there.
static const char *const files[] = {"pihole-targets", "pihole-tls-ca-file"};

static bool is_given(const struct manifest *manifest, const char *option)
{
    return option_is_set(manifest->invocation, option);
}

// Which are to be kept may still be said by hand, in the Deployment.
static bool check(const struct manifest *manifest, struct error *err)
{
    struct pihole_targets piholes = {0};
    return (!is_given(manifest, "pihole-url") && !is_given(manifest, "pihole-targets")) ||
           pihole_settings_load(manifest->invocation, true, &piholes, err);
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

static bool needs_token(const struct manifest *manifest)
{
    return is_given(manifest, "pihole-url") &&
           !option_flag(manifest->invocation, "pihole-no-password");
}

static void put_variables(const struct manifest *manifest, struct installation *out)
{
    for (size_t i = 0; i < PIHOLE_OPTION_COUNT; i++) {
        const struct option *option = &pihole_options[i];
        if (!is_given(manifest, option->name))
            continue;
        const char *text = option_text(manifest->invocation, option->name);
        if (is_file(option->name))
            text = arena_printf(manifest->arena, FOLDER "/%s", name_of(text));
        installation_add_variable(
            manifest, out,
            &(struct installation_variable){.name = option->variable, .value = text});
    }
    if (needs_token(manifest))
        installation_add_variable(manifest, out,
                                  &(struct installation_variable){.name = "PIHOLE_API_TOKEN",
                                                                  .secret = SECRET,
                                                                  .key = "token"});
}

static bool has_files(const struct manifest *manifest)
{
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (is_given(manifest, files[i]))
            return true;
    return false;
}

// What has to be there before it can start, as comment.
static const char *write_comment(const struct manifest *manifest)
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

static const struct manifest_row limits[] = {
    {"resources.limits.memory", VALUE_TEXT, "64Mi", 0},
    {"resources.limits.cpu", VALUE_TEXT, "100m", 0},
};

bool pihole_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                    struct error *err)
{
    if (!enabled_controllers_has(&manifest->controllers, &ingress_controller))
        return true;
    if (has_deployment && !check(manifest, err))
        return false;
    put_variables(manifest, out);
    out->comment = write_comment(manifest);
    out->limits = limits;
    out->limit_count = COUNT_OF(limits);
    if (!has_files(manifest))
        return true;
    out->volume = "pihole";
    out->folder = FOLDER;
    out->secret = SECRET;
    return true;
}
