#include <string.h>

#include "commands/zone/configured_zones.h"
#include "commands/zone/zone_subject.h"
#include "io/disk.h"
#include "kinds/zone/zone_kind.h"

// The hidden primary: its zones configuration out of a ConfigMap, its TSIG keys out of a Secret,
// both in one folder as on a disk, and the Service that name servers fetch zones through.

#define CONFIG_MAP "signpost-zones"
#define SERVICE "signpost-zones"
#define FOLDER "/etc/signpost/zones"
#define FILE_NAME "zones.yaml"

enum { CONFIG_OCTETS_MAX = 512 * 1024, PORT = 5300 };

static const char *const service_types[] = {"ClusterIP", "NodePort", "LoadBalancer", NULL};

const struct option zone_install_options[ZONE_INSTALL_OPTION_COUNT] = {
    {.name = "zones-config",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The zones configuration, a file here: it is printed as a ConfigMap, which the "
            "Deployment follows as it changes."},
    {.name = "primary-listen",
     .type = OPTION_LIST,
     .placeholder = "ADDR:PORT",
     .doc = "Where the hidden primary listens; [::]:5300 when not given."},
    {.name = "tsig-secret",
     .type = OPTION_TEXT,
     .fallback = "signpost-tsig",
     .placeholder = "NAME",
     .doc =
         "Secret with the files that keys of --zones-config name as secretFile; a comment before "
         "the Deployment says how it is made."},
    {.name = "zones-service",
     .type = OPTION_CHOICE,
     .fallback = "ClusterIP",
     .placeholder = "TYPE",
     .choices = service_types,
     .is_any_case = true,
     .doc = "Type of the Service through which name servers fetch zones."},
};

struct share {
    const struct manifest *manifest;
    struct installation *out;
    const char *tsig_files; // " --from-file=ns1.key ..." of its keys; NULL: it has none
};

// A key's file is a key of the Secret.
static bool take_key(struct share *share, const char *path, const char *file, struct error *err)
{
    if (strchr(file, '/'))
        return error_set(err, FAULT_SPEC, "",
                         "%s: secretFile %s: in a cluster it names a key of the Secret %s, which "
                         "lies beside the configuration: write no folder",
                         path, file, option_text(share->manifest->invocation, "tsig-secret"));
    share->tsig_files = arena_printf(share->manifest->arena, "%s --from-file=%s",
                                     share->tsig_files ? share->tsig_files : "", file);
    return true;
}

static bool take_keys(struct share *share, const char *path, struct text content, struct error *err)
{
    CLEANUP(zones_config)
    struct zones_config *config = zones_config_parse(share->manifest->arena, path, content, err);
    if (!config)
        return false;
    for (size_t i = 0; i < config->key_count; i++)
        if (!take_key(share, path, config->keys[i].secret_file, err))
            return false;
    return true;
}

static bool take_config(struct share *share, struct error *err)
{
    AUTO_BUFFER content = {0};
    const char *path = option_text(share->manifest->invocation, "zones-config");
    if (!path)
        return true;
    if (!disk_read(&content, path, CONFIG_OCTETS_MAX, err) ||
        !take_keys(share, path, buffer_text(&content), err))
        return false;
    struct text text = buffer_text(&content);
    share->out->config_text = arena_copy(share->manifest->arena, text.at, text.len);
    return true;
}

// All its addresses have one port, that of the Service.
static bool take_port(struct share *share, struct error *err)
{
    const char **items;
    size_t count = option_list(share->manifest->invocation, "primary-listen", &items);
    share->out->port = PORT;
    for (size_t i = 0; i < count; i++) {
        struct hostport at;
        if (!hostport_parse(&at, text_of(items[i]), 0, false, err))
            return option_blame(share->manifest->invocation, "primary-listen", items[i], err);
        if (i && at.port != share->out->port) {
            error_set(err, FAULT_SPEC, "", "all addresses have one port in a cluster");
            return option_blame(share->manifest->invocation, "primary-listen", items[i], err);
        }
        share->out->port = at.port;
    }
    return true;
}

static void put_configuration(struct share *share)
{
    struct arena *arena = share->manifest->arena;
    const char *secret = option_text(share->manifest->invocation, "tsig-secret");
    share->out->volume = "zones";
    share->out->folder = FOLDER;
    share->out->config_map = CONFIG_MAP;
    share->out->config_key = FILE_NAME;
    installation_add_argument(share->manifest, share->out, "--zones-config=" FOLDER "/" FILE_NAME);
    if (!share->tsig_files)
        return;
    share->out->secret = secret;
    share->out->comment = arena_printf(arena, "# kubectl -n %s create secret generic %s%s\n",
                                       share->manifest->namespace_, secret, share->tsig_files);
}

bool zone_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                  struct error *err)
{
    struct share share = {.manifest = manifest, .out = out};
    bool is_asked = option_is_set(manifest->invocation, "zones-config") ||
                    option_is_set(manifest->invocation, "primary-listen");
    (void)has_deployment;
    if (is_asked && !enabled_controllers_reads(&manifest->controllers, &zone_kind))
        return error_set(err, FAULT_SPEC, "",
                         "--zones-config and --primary-listen are the controller zone's, which "
                         "--controllers leaves out");
    if (!take_port(&share, err) || !take_config(&share, err))
        return false;
    if (out->config_text)
        put_configuration(&share);
    if (!is_asked)
        return true;
    if (option_is_set(manifest->invocation, "primary-listen"))
        installation_add_argument(
            manifest, out,
            arena_printf(manifest->arena, "--primary-listen=%s",
                         option_text(manifest->invocation, "primary-listen")));
    out->port_name = "zones";
    out->has_udp = true;
    out->serves_before_ready = true;
    out->service = SERVICE;
    out->service_type = option_text(manifest->invocation, "zones-service");
    return true;
}
