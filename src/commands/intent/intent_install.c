#include <string.h>

#include "commands/intent/intent_subject.h"
#include "commands/manifest.h"
#include "controllers/intent/intent_controller.h"

// The REST API in a cluster: the Service in front of it, and its certificate out of a Secret.

#define NAME "signpost-intent"
#define VOLUME "intent-tls"
#define FOLDER "/etc/signpost/intent-tls"

static bool take_port(const struct manifest *manifest, struct installation *out, struct error *err)
{
    struct intent_config config;
    if (!intent_options_load_access(manifest->invocation, true, &config, err))
        return false;
    out->port = config.places[0].at.port;
    for (size_t i = 1; i < config.place_count; i++)
        if (config.places[i].at.port != out->port)
            return error_set(err, FAULT_SPEC, "",
                             "--intent-listen: all addresses have one port in a cluster");
    return true;
}

static void put_arguments(const struct manifest *manifest, struct installation *out)
{
    for (size_t i = INTENT_RUN_ONLY; i < INTENT_OPTION_COUNT - INTENT_INSTALL_ONLY; i++)
        if (option_is_set(manifest->invocation, intent_options[i].name))
            installation_add_argument(
                manifest, out,
                arena_printf(manifest->arena, "--%s=%s", intent_options[i].name,
                             option_text(manifest->invocation, intent_options[i].name)));
}

static void put_certificate(const struct manifest *manifest, struct installation *out)
{
    out->secret = option_text(manifest->invocation, "intent-tls-secret");
    if (!out->secret)
        return;
    out->volume = VOLUME;
    out->folder = FOLDER;
    out->comment = arena_printf(manifest->arena,
                                "# kubectl -n %s create secret tls %s --cert=FILE --key=FILE\n",
                                manifest->namespace_, out->secret);
    installation_add_argument(manifest, out, "--intent-tls-cert=" FOLDER "/tls.crt");
    installation_add_argument(manifest, out, "--intent-tls-key=" FOLDER "/tls.key");
}

static const char *find_given(const struct invocation *invocation)
{
    for (size_t i = INTENT_RUN_ONLY; i < INTENT_OPTION_COUNT; i++)
        if (strncmp(intent_options[i].name, "intent-", strlen("intent-")) == 0 &&
            option_is_set(invocation, intent_options[i].name))
            return intent_options[i].name;
    return NULL;
}

bool intent_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                    struct error *err)
{
    const char *given = find_given(manifest->invocation);
    bool has_api = enabled_controllers_has(&manifest->controllers, &intent_controller);
    (void)has_deployment;
    if (!has_api && given)
        return error_set(err, FAULT_SPEC, "",
                         "--%s is of the REST API, which comes with the controller intent: name it "
                         "in --controllers",
                         given);
    put_arguments(manifest, out);
    if (!has_api)
        return true;
    put_certificate(manifest, out);
    out->port_name = "intent";
    out->service = NAME;
    out->service_type = "ClusterIP";
    return take_port(manifest, out, err);
}
