#include "commands/zone/zone_source.h"

#include <string.h>

#include "base/secret.h"
#include "base/url.h"
#include "commands/commands.h"
#include "commands/manifest_files.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/report.h"
#include "commands/zone/zone_input.h"
#include "commands/zone/zone_manifests.h"
#include "commands/zone/zone_store.h"
#include "dns/primary.h"

enum { DNS_PORT = 53, SECRET_OCTETS_MAX = 4096, TRANSFER_OCTETS_MAX = 1 << 30 };

static const char *const algorithms[] = {"hmac-sha1",   "hmac-sha224", "hmac-sha256",
                                         "hmac-sha384", "hmac-sha512", NULL};

const struct option zone_source_options[ZONE_SOURCE_OPTION_COUNT] = {
    {.name = "timeout",
     .type = OPTION_DURATION,
     .fallback = "10s",
     .placeholder = "DURATION",
     .min = 1,
     .doc = "How long a source may take: a name server for each message of a transfer, a cluster "
            "to list its objects."},
    {.name = "tsig-name",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "The key that signs transfers (RFC 8945)."},
    {.name = "tsig-algorithm",
     .type = OPTION_CHOICE,
     .fallback = "hmac-sha256",
     .placeholder = "ALGORITHM",
     .choices = algorithms,
     .doc = "Its algorithm."},
    {.name = "tsig-secret-file",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "The file with its secret in base64."},
};

// ---- a server -----------------------------------------------------------------------------------

struct fetch {
    struct process_world process;
    struct transfer *transfer;
    struct zone *zone;
    bool has_failed;
    struct error err;
};

static bool read_key(const struct invocation *invocation, struct tsig_key *key, struct error *err)
{
    AUTO_BUFFER secret = {0};
    const char *path = option_text(invocation, "tsig-secret-file");
    const char *name = option_text(invocation, "tsig-name");
    if (!path || !name)
        return error_set(err, FAULT_SPEC, "", "flag --%s needs --%s as well",
                         name ? "tsig-name" : "tsig-secret-file",
                         name ? "tsig-secret-file" : "tsig-name");
    if (!disk_read(&secret, path, SECRET_OCTETS_MAX, err))
        return false;
    bool is_read =
        tsig_key_init(key, text_of(name), text_of(option_text(invocation, "tsig-algorithm")),
                      buffer_text(&secret), err);
    if (secret.at)
        secret_wipe(secret.at, secret.capacity);
    return is_read || error_prefix(err, "key %s: ", name);
}

static bool handle_message(void *context, struct text octets)
{
    struct fetch *fetch = context;
    int64_t unix_s = loop_unix_ms(fetch->process.world.loop) / 1000;
    fetch->has_failed =
        !transfer_read_reply(fetch->transfer, octets, unix_s, &fetch->zone, &fetch->err);
    return !fetch->has_failed && !fetch->zone;
}

static void over(void *context, const struct dns_reply *reply)
{
    struct fetch *fetch = context;
    if (!reply->is_answered && !fetch->zone && !fetch->has_failed)
        fetch->err = reply->error;
    loop_stop(fetch->process.world.loop);
}

static void exchange(struct fetch *fetch, const struct hostport *server, int64_t timeout_ms,
                     struct error *err)
{
    struct world *world = &fetch->process.world;
    AUTO_BUFFER octets = {0};
    if (!transfer_request(fetch->transfer, random_u16(world->random),
                          loop_unix_ms(world->loop) / 1000, &octets, err))
        return;
    const struct dns_request request = {
        .server = *server,
        .octets = buffer_text(&octets),
        .use_tcp = true,
        .timeout_ms = timeout_ms,
        .has_more = handle_message,
        .max_octets = TRANSFER_OCTETS_MAX,
    };
    dns_send(world->dns, &request, over, fetch);
    loop_run(world->loop);
    if (!fetch->zone)
        *err = fetch->err;
}

static struct zone *fetch_with(const struct invocation *invocation, const struct hostport *server,
                               struct dname apex, const struct tsig_key *key, struct error *err)
{
    struct fetch fetch = {0};
    if (!process_world_init(&fetch.process, invocation, err))
        return NULL;
    fetch.transfer = transfer_new(apex, key);
    exchange(&fetch, server, option_ms(invocation, "timeout"), err);
    transfer_free(fetch.transfer);
    process_world_done(&fetch.process);
    return fetch.zone;
}

struct zone *zone_source_fetch(const struct invocation *invocation, const char *server,
                               struct dname apex, struct error *err)
{
    struct hostport address;
    struct tsig_key key;
    if (!hostport_parse(&address, text_of(server), DNS_PORT, false, err)) {
        error_prefix(err, "server %s: ", server);
        return NULL;
    }
    bool has_key =
        option_is_set(invocation, "tsig-name") || option_is_set(invocation, "tsig-secret-file");
    if (has_key && !read_key(invocation, &key, err))
        return NULL;
    struct zone *zone = fetch_with(invocation, &address, apex, has_key ? &key : NULL, err);
    if (has_key)
        tsig_key_done(&key);
    if (!zone)
        error_prefix(err, "transfer from %s: ", server);
    return zone;
}

// ---- a file -------------------------------------------------------------------------------------

struct zone *zone_source_load(const char *path, struct dname apex, enum report_level unfit,
                              struct report *report, struct error *err)
{
    CLEANUP(zone_input) struct zone_input *input = zone_input_new(apex, unfit, report);
    AUTO_BUFFER name = {0};
    if (!zone_input_read(input, path, err))
        return NULL;
    dname_write(&name, apex);
    if (zone_input_has_soa(input))
        return zone_input_zone(input);
    error_set(err, FAULT_SPEC, "NoSOA", "%s has no SOA record for %s", path, name.at);
    return NULL;
}

static void report_left_out(const char *path, const struct report *report, const char *command)
{
    AUTO_BUFFER count = {0};
    print_count(&count, report->counts[REPORT_ERROR], "error");
    if (report->counts[REPORT_ERROR])
        command_fail(0, "%s: %s; `signpost zone check%s` shows what is left out", path, count.at,
                     command);
}

static struct zone *load(const struct invocation *invocation, const char *path, struct dname apex,
                         struct error *err)
{
    struct report report = {.arena = invocation->arena, .limit = 1};
    struct zone *zone = zone_source_load(path, apex, REPORT_WARNING, &report, err);
    if (zone)
        report_left_out(path, &report, " --zonefile");
    report_done(&report);
    return zone;
}

// ---- manifests ----------------------------------------------------------------------------------

static bool is_manifest(const char *path)
{
    struct disk_stat found;
    struct error err;
    return (disk_stat(path, &found, &err) && found.is_folder) || manifest_is_file(path);
}

static bool input(struct zone_manifests *zones, const struct invocation *invocation,
                  const char *const *paths, size_t count, struct zone_store *found,
                  struct error *err)
{
    if (!count)
        return zone_store_read(zones, invocation, found, err);
    *found = (struct zone_store){.unreadable_count = zone_manifests_read(zones, paths, count)};
    return true;
}

static struct zone *compile(struct zone_manifests *zones, const struct zone_store *found,
                            struct dname apex, struct report *report, struct error *err)
{
    AUTO_BUFFER name = {0};
    const char *source = found->is_cluster ? "objects" : "manifests";
    dname_write(&name, apex);
    if (found->unreadable_count) {
        error_set(err, FAULT_SPEC, "", "not all %s of %s could be read", source, name.at);
        return NULL;
    }
    zone_manifests_judge(zones, &apex, false);
    struct zone *zone = zone_manifests_zone(zones, apex);
    if (zone)
        report_left_out(name.at, report, "");
    else
        error_set(err, FAULT_WAIT, "", "the %s have no zone %s that would be served", source,
                  name.at);
    return zone;
}

struct zone *zone_source_compile(const struct invocation *invocation, const char *const *paths,
                                 size_t count, struct dname apex, struct error *err)
{
    struct report report = {.arena = invocation->arena, .limit = 1};
    CLEANUP(zone_manifests)
    struct zone_manifests *zones = zone_manifests_new(invocation, &report, err);
    struct zone_store found;
    struct zone *zone = zones && input(zones, invocation, paths, count, &found, err)
                            ? compile(zones, &found, apex, &report, err)
                            : NULL;
    report_done(&report);
    return zone;
}

struct zone *zone_source_read(const struct invocation *invocation, const char *source,
                              struct dname apex, struct error *err)
{
    static const char mark[] = "server:";
    if (!strncmp(source, mark, sizeof mark - 1))
        return zone_source_fetch(invocation, source + sizeof mark - 1, apex, err);
    if (!strcmp(source, "store:"))
        return zone_source_compile(invocation, NULL, 0, apex, err);
    if (is_manifest(source))
        return zone_source_compile(invocation, &source, 1, apex, err);
    return load(invocation, source, apex, err);
}
