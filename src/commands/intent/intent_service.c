#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands/intent/intent_subject.h"
#include "controllers/intent/intent_controller.h"
#include "io/disk.h"
#include "store/cluster/cluster.h"

// The REST API beside the engine of `signpost run`: one frontend for each address, all with the
// same rules of access and the same certificate.

enum { PEM_OCTETS_MAX = 256 * 1024, LOOK_MS = 10 * 1000 };

struct intent_server {
    const struct process_world *process;
    bool is_on; // the controller runs
    const char *own_namespace;
    struct intent_config config;
    struct intent_access_rules *access;
    struct intent_counts *counts;
    struct intent_api *apis[INTENT_ADDRESSES_MAX];
    size_t api_count;
    bool has_warned;    // that there is no IPv6
    struct error fault; // of the certificate
    struct loop_timer timer;
};

// ---- the certificate ----------------------------------------------------------------------------

static bool use_certificate(struct intent_server *server, struct error *err)
{
    AUTO_BUFFER certificate = {0};
    AUTO_BUFFER octets = {0};
    if (!disk_read(&certificate, server->config.certificate, PEM_OCTETS_MAX, err))
        return error_prefix(err, "--intent-tls-cert: ");
    if (!disk_read(&octets, server->config.key, PEM_OCTETS_MAX, err))
        return error_prefix(err, "--intent-tls-key: ");
    CLEANUP(secret) struct secret *key = secret_new(octets.at, octets.len);
    secret_wipe(octets.at, octets.len);
    const struct http_server_tls tls = {buffer_text(&certificate), key};
    for (size_t i = 0; i < server->api_count; i++)
        if (!intent_api_set_certificate(server->apis[i], &tls, err))
            return error_prefix(err, "--intent-tls-cert: ");
    return true;
}

// The pair before stays in use until the files belong together.
static void look_at_certificate(struct intent_server *server)
{
    struct error err = {0};
    if (!server->config.certificate)
        return;
    if (!use_certificate(server, &err) && strcmp(err.text, server->fault.text) != 0)
        log_line(server->process->log, LOG_WARN, "the certificate of the REST API is not taken",
                 LOG_TEXT("error", err.text), LOG_END);
    server->fault = err;
}

static void look_again(void *context)
{
    struct intent_server *server = context;
    look_at_certificate(server);
    loop_timer_set(server->process->world.loop, &server->timer, LOOK_MS);
}

// ---- listening ----------------------------------------------------------------------------------

static void judge(void *context, const struct intent_access *access, void *asker)
{
    const struct intent_server *server = context;
    intent_access_judge(server->access, access, asker);
}

static void forget(void *context, void *asker)
{
    const struct intent_server *server = context;
    intent_access_forget(server->access, asker);
}

static void warn_without_ipv6(struct intent_server *server)
{
    if (!server->has_warned)
        log_line(server->process->log, LOG_WARN,
                 "this machine has no IPv6; the REST API is served over IPv4 alone", LOG_END);
    server->has_warned = true;
}

static void warn_of_fallback(struct intent_server *server)
{
    for (size_t i = 0; i < server->api_count; i++)
        if (intent_api_is_ipv4_fallback(server->apis[i]))
            warn_without_ipv6(server);
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    struct intent_server *server = context;
    process_world_report_port(server->process, at, trouble);
    warn_of_fallback(server);
}

// `waits`: an address that cannot be had yet is no failure.
static bool open_at(struct intent_server *server, const struct intent_place *place, bool waits,
                    struct engine *engine, struct error *err)
{
    const struct intent_api_options options = {
        .world = &server->process->world,
        .log = server->process->log,
        .engine = engine,
        .address = place->at.host,
        .port = place->at.port,
        .max_body_octets = (size_t)server->config.max_body,
        .is_tls = server->config.certificate != NULL,
        .makes_projects = server->config.makes_projects,
        .own_namespace = server->own_namespace,
        .judge = judge,
        .forget = forget,
        .listening = waits ? listening : NULL,
        .context = server,
    };
    struct intent_api *api = intent_api_new(&options, err);
    if (!api)
        return false;
    intent_api_count_in(api, server->counts);
    server->apis[server->api_count++] = api;
    warn_of_fallback(server);
    return true;
}

static bool open_ipv6(struct intent_server *server, const struct intent_place *place,
                      struct engine *engine, struct error *err)
{
    if (open_at(server, place, false, engine, err))
        return true;
    if (err->status == EADDRINUSE)
        return open_at(server, place, true, engine, err);
    warn_without_ipv6(server);
    return true;
}

static bool open_addresses(struct intent_server *server, struct engine *engine, struct error *err)
{
    for (size_t i = 0; i < server->config.place_count; i++) {
        const struct intent_place *place = &server->config.places[i];
        bool is_open = place->needs_ipv6 ? open_ipv6(server, place, engine, err)
                                         : open_at(server, place, true, engine, err);
        if (!is_open)
            return error_prefix(err, "--intent-listen: ");
    }
    return true;
}

// ---- the service --------------------------------------------------------------------------------

static void *make(const struct service_setup *setup, struct error *err)
{
    struct intent_server *server = mem_new_of(struct intent_server);
    const struct configured_store *place = &setup->setup->place;
    server->process = setup->process;
    server->is_on = setup_settings(setup->setup, &intent_controller) != NULL;
    server->own_namespace = place->own_namespace ? place->own_namespace : "default";
    server->counts = intent_counts_new();
    if (intent_options_load(setup->invocation, place->is_cluster, &server->config, err) &&
        (server->access =
             intent_access_new(setup->invocation, &server->config, &setup->process->world,
                               place->is_cluster ? cluster_api(setup->store) : NULL, err)))
        return server;
    intent_counts_free(server->counts);
    free(server);
    return NULL;
}

static bool open_server(void *service, struct engine *engine, struct error *err)
{
    struct intent_server *server = service;
    if (!server->is_on)
        return true;
    if (!open_addresses(server, engine, err))
        return false;
    if (!server->config.certificate)
        return true;
    if (!use_certificate(server, err))
        return false;
    server->timer = (struct loop_timer){.call = look_again, .context = server};
    loop_timer_set(server->process->world.loop, &server->timer, LOOK_MS);
    return true;
}

static size_t checks(const void *service, struct store_check *out, size_t capacity)
{
    const struct intent_server *server = service;
    size_t count = 0;
    for (size_t i = 0; i < server->api_count && count < capacity; i++) {
        const char *trouble = intent_api_trouble(server->apis[i]);
        if (trouble)
            out[count++] = (struct store_check){.name = "intent-api", .text = trouble};
    }
    if (server->fault.text[0] && count < capacity)
        out[count++] = (struct store_check){
            .name = "intent-certificate", .is_advice = true, .text = server->fault.text};
    return count;
}

static void write_metrics(const void *service, struct buffer *out)
{
    const struct intent_server *server = service;
    if (server->is_on)
        intent_counts_write(server->counts, out);
}

static void reload(void *service)
{
    look_at_certificate(service);
}

static void close_server(void *service)
{
    struct intent_server *server = service;
    loop_timer_cancel(server->process->world.loop, &server->timer);
    for (size_t i = 0; i < server->api_count; i++)
        intent_api_free(server->apis[i]);
    server->api_count = 0;
}

static void free_server(void *service)
{
    struct intent_server *server = service;
    if (!server)
        return;
    intent_access_free(server->access);
    intent_counts_free(server->counts);
    free(server);
}

const struct service intent_service = {
    .make = make,
    .open = open_server,
    .checks = checks,
    .write_metrics = write_metrics,
    .reload = reload,
    .close = close_server,
    .free = free_server,
};
