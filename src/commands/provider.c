#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "commands/commands.h"
#include "commands/process.h"
#include "dns/record.h"
#include "frontends/probes/probes.h"
#include "frontends/provider_api/provider_api.h"
#include "io/address.h"
#include "io/usage.h"

enum { SECRET_OCTETS_MAX = 4096, REREAD_MS = 1000, STOP_MS = 30000, BACKEND_NAME_MAX = 300 };

static const char *const provider_names[] = {"memory", "rfc2136", NULL};
static const char *const algorithm_names[] = {"SHA256", "SHA512", NULL};

static const struct option provider_rows[] = {
    {.name = "listen",
     .type = OPTION_ADDRESS,
     .fallback = "127.0.0.1:7100",
     .placeholder = "ADDR:PORT",
     .doc = "Where requests of the webhook protocol are taken."},
    {.name = "backend",
     .type = OPTION_CHOICE,
     .placeholder = "NAME",
     .choices = provider_names,
     .doc = "What stands behind: memory, or rfc2136 (DNS UPDATE to a name server)."},
    {.name = "hmac-secret-file",
     .type = OPTION_LIST,
     .placeholder = "FILE",
     .doc = "A key that is accepted, octets as they stand; repeat for several. Read again when the "
            "file changes."},
    {.name = "algorithm",
     .type = OPTION_CHOICE,
     .fallback = "SHA256",
     .placeholder = "NAME",
     .choices = algorithm_names,
     .doc = "Digest of the signatures: SHA256 or SHA512."},
    {.name = "insecure-no-auth",
     .type = OPTION_FLAG,
     .doc = "Serve without any key. Anybody who reaches the port can change records."},
    {.name = "base-path",
     .type = OPTION_TEXT,
     .fallback = "",
     .placeholder = "/PATH",
     .doc = "Path prefix under which the protocol is served too; signatures with and without it "
            "hold."},
    {.name = "zone",
     .type = OPTION_LIST,
     .placeholder = "ZONE",
     .doc = "A zone that is served; repeat for several. The longest match counts."},
    {.name = "type",
     .type = OPTION_LIST,
     .placeholder = "TYPE",
     .doc = "Record types that are served; all eight when not given."},
    {.name = "state",
     .type = OPTION_TEXT,
     .placeholder = "DIR",
     .doc =
         "Folder in which used nonces, and the records of the memory backend, survive a restart."},
    {.name = "server",
     .type = OPTION_ADDRESS,
     .placeholder = "ADDR:PORT",
     .doc = "rfc2136: the primary that takes updates."},
    {.name = "tsig-name",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "rfc2136: name of the TSIG key."},
    {.name = "tsig-algorithm",
     .type = OPTION_TEXT,
     .fallback = "hmac-sha256",
     .placeholder = "NAME",
     .doc = "rfc2136: hmac-sha256, -sha1, -sha224, -sha384 or -sha512."},
    {.name = "tsig-secret-file",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "rfc2136: file with the key's secret in base64."},
    {.name = "metrics-listen",
     .type = OPTION_ADDRESS,
     .fallback = "0",
     .placeholder = "ADDR:PORT",
     .doc = "Where /metrics, /healthz and /readyz are served; 0 switches them off."},
    {.name = "max-connections",
     .type = OPTION_INT,
     .fallback = "256",
     .placeholder = "N",
     .min = 1,
     .max = 65536,
     .doc =
         "Open connections; beyond it the one whose client has been waited for longest is closed."},
    {.name = "rate",
     .type = OPTION_INT,
     .fallback = "0",
     .placeholder = "N",
     .doc = "Requests a second; more are answered 429. 0: no limit."},
    {.name = "config",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "YAML file with any of these options as keys."},
};

struct provider_process {
    struct process_world process;
    const struct invocation *invocation;
    struct engine *engine;
    struct provider_api *api;
    struct probes *probes;
    struct text *zones;
    size_t zone_count;
    char (*backend_names)[BACKEND_NAME_MAX]; // one per zone, or one
    size_t backend_count;
    struct loop_timer reread;
    uint64_t keys_hash;
    bool has_lost_keys;
};

// ---- keys ---------------------------------------------------------------------------------------

static struct secret *read_secret(const char *path, struct error *err)
{
    struct buffer octets = {0};
    if (!disk_read(&octets, path, SECRET_OCTETS_MAX, err))
        return NULL;
    struct secret *secret = secret_new(octets.at ? octets.at : "", octets.len);
    if (octets.at)
        secret_wipe(octets.at, octets.capacity);
    buffer_done(&octets);
    if (!secret_len(secret)) {
        secret_unref(secret);
        error_set(err, FAULT_SPEC, "", "%s: the file is empty; put the key's octets into it", path);
        return NULL;
    }
    return secret;
}

static void warn_of_key(const struct provider_process *provider, const char *path,
                        const struct secret *secret)
{
    if (secret_is_short(secret))
        log_line(provider->process.log, LOG_WARN, "the key is short; 32 random octets are good",
                 LOG_TEXT("file", path), LOG_END);
    if (secret_ends_with_newline(secret))
        log_line(provider->process.log, LOG_WARN,
                 "the key ends in a line feed, which counts; write it with printf or echo -n",
                 LOG_TEXT("file", path), LOG_END);
}

static bool load_keys(struct provider_process *provider, bool is_first, struct error *err)
{
    const char **paths;
    size_t count = option_list(provider->invocation, "hmac-secret-file", &paths);
    struct secret **secrets = mem_new_array(struct secret *, count + 1);
    bool is_ok = true;
    uint64_t hash = count;
    for (size_t i = 0; i < count && is_ok; i++) {
        uint8_t print[8];
        secrets[i] = read_secret(paths[i], err);
        is_ok = secrets[i] != NULL;
        if (!is_ok)
            break;
        if (is_first)
            warn_of_key(provider, paths[i], secrets[i]);
        secret_fingerprint(secrets[i], print, sizeof print);
        hash = hash * 31 + hash_octets(print, sizeof print);
    }
    if (is_ok && hash != provider->keys_hash) {
        provider_api_set_keys(provider->api, secrets, count);
        provider->keys_hash = hash;
        if (!is_first)
            log_line(provider->process.log, LOG_INFO, "keys read again",
                     LOG_INT("keys", (int64_t)count), LOG_END);
    }
    for (size_t i = 0; i < count; i++)
        secret_unref(secrets[i]);
    free(secrets);
    return is_ok;
}

// A key that cannot be read any more stays in force: somebody may be about to write it anew.
static void reread_keys(void *context)
{
    struct provider_process *provider = context;
    struct error err;
    bool is_ok = load_keys(provider, false, &err);
    if (!is_ok && !provider->has_lost_keys)
        log_line(provider->process.log, LOG_WARN, "keys cannot be read; the old ones stay in force",
                 LOG_TEXT("error", err.text), LOG_END);
    provider->has_lost_keys = !is_ok;
    loop_timer_set(provider->process.world.loop, &provider->reread, REREAD_MS);
}

// ---- zones and backends -------------------------------------------------------------------------

static bool read_zones(struct provider_process *provider, struct error *err)
{
    const char **zones;
    const struct invocation *invocation = provider->invocation;
    size_t count = option_list(invocation, "zone", &zones);
    provider->zones = arena_new_array(invocation->arena, struct text, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!domain_normalise(invocation->arena, text_of(zones[i]), &provider->zones[i], err))
            return option_blame(invocation, "zone", zones[i], err);
    provider->zone_count = count;
    return true;
}

static bool read_types(const struct invocation *invocation, bool out[RECORD_TYPES],
                       struct error *err)
{
    const char **names;
    size_t count = option_list(invocation, "type", &names);
    for (size_t i = 0; i < RECORD_TYPES; i++)
        out[i] = count == 0;
    for (size_t i = 0; i < count; i++) {
        enum record_type type;
        if (!record_type_parse(text_of(names[i]), &type)) {
            error_set(err, FAULT_SPEC, "", "expected A, AAAA, CNAME, TXT, MX, SRV, NS or PTR");
            return option_blame(invocation, "type", names[i], err);
        }
        out[type] = true;
    }
    return true;
}

static const char *backend_of(void *context, struct text zone)
{
    const struct provider_process *provider = context;
    for (size_t i = 0; i < provider->zone_count && provider->backend_count > 1; i++)
        if (text_equal(provider->zones[i], zone))
            return provider->backend_names[i];
    return provider->backend_names[0];
}

static struct value *backend_config(struct provider_process *provider, struct text zone)
{
    struct arena *arena = provider->invocation->arena;
    struct value *config = value_make(arena, VALUE_MAP);
    static const struct {
        const char *key;
        const char *option;
    } rows[] = {
        {"server", "server"}, {"tsigName", "tsig-name"}, {"tsigAlgorithm", "tsig-algorithm"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text = option_text(provider->invocation, rows[i].option);
        if (text)
            value_set(config, text_of(rows[i].key), value_make_text(arena, text_of(text)));
    }
    value_set(config, TEXT("zone"), value_make_text(arena, zone));
    return config;
}

static bool open_backend(struct provider_process *provider, size_t at, struct secret *secret,
                         struct error *err)
{
    const char *backend = option_text(provider->invocation, "backend");
    bool is_memory = !strcmp(backend, "memory");
    struct text zone = is_memory ? TEXT("") : provider->zones[at];
    char *name = provider->backend_names[at];
    snprintf(name, BACKEND_NAME_MAX, is_memory ? "memory" : "zone-%.*s", TEXT_ARGS(zone));
    const struct backend_want want = {.name = name,
                                      .provider = backend,
                                      .registry = name,
                                      .config = backend_config(provider, zone),
                                      .secret = secret,
                                      .max_in_flight = 1};
    return engine_open_backend(provider->engine, &want, err);
}

static bool open_backends(struct provider_process *provider, struct error *err)
{
    const struct invocation *invocation = provider->invocation;
    bool is_memory = !strcmp(option_text(invocation, "backend"), "memory");
    const char *path = is_memory ? NULL : option_text(invocation, "tsig-secret-file");
    struct secret *secret = path ? read_secret(path, err) : NULL;
    bool is_ok = !path || secret;
    provider->backend_count = is_memory ? 1 : provider->zone_count;
    provider->backend_names =
        arena_alloc(invocation->arena, provider->backend_count, sizeof *provider->backend_names);
    for (size_t i = 0; is_ok && i < provider->backend_count; i++)
        is_ok = open_backend(provider, i, secret, err);
    secret_unref(secret);
    return is_ok;
}

// ---- what must be given -------------------------------------------------------------------------

static bool check_backend(const struct invocation *invocation, struct error *err)
{
    static const char *const needed[] = {"server", "tsig-name", "tsig-secret-file", "zone"};
    const char *backend = option_text(invocation, "backend");
    if (!backend)
        return error_set(err, FAULT_SPEC, "", "--backend is required: memory or rfc2136");
    bool is_update = !strcmp(backend, "rfc2136");
    for (size_t i = 0; !is_update && i < COUNT_OF(needed) - 1; i++)
        if (option_text(invocation, needed[i]))
            return error_set(err, FAULT_SPEC, "", "%s: has no meaning with the backend %s (%s)",
                             option_source(invocation, needed[i]), backend,
                             option_source(invocation, "backend"));
    for (size_t i = 0; is_update && i < COUNT_OF(needed); i++)
        if (!option_text(invocation, needed[i]))
            return error_set(err, FAULT_SPEC, "", "--%s is required with the backend rfc2136 (%s)",
                             needed[i], option_source(invocation, "backend"));
    return true;
}

static bool check_options(const struct invocation *invocation, struct error *err)
{
    const char **files;
    const char *base = option_text(invocation, "base-path");
    size_t keys = option_list(invocation, "hmac-secret-file", &files);
    bool is_open = option_flag(invocation, "insecure-no-auth");
    if (!keys && !is_open)
        return error_set(err, FAULT_SPEC, "",
                         "no key: give --hmac-secret-file FILE, or --insecure-no-auth to serve "
                         "everybody");
    if (keys && is_open)
        return error_set(err, FAULT_SPEC, "", "%s and %s exclude each other",
                         option_source(invocation, "hmac-secret-file"),
                         option_source(invocation, "insecure-no-auth"));
    size_t len = strlen(base);
    if (len && (base[0] != '/' || base[len - 1] == '/')) {
        error_set(err, FAULT_SPEC, "", "must begin with a slash and not end with one");
        return option_blame(invocation, "base-path", base, err);
    }
    return check_backend(invocation, err);
}

// ---- frontends ----------------------------------------------------------------------------------

static void report_port(void *context, const struct hostport *at, const char *trouble)
{
    const struct provider_process *provider = context;
    process_world_report_port(&provider->process, at, trouble);
}

static size_t provider_checks(void *context, struct store_check *out, size_t capacity)
{
    const struct provider_process *provider = context;
    const char *trouble = provider_api_trouble(provider->api);
    if (!capacity)
        return 0;
    out[0] =
        (struct store_check){.name = "provider", .is_ok = !trouble, .text = trouble ? trouble : ""};
    return 1;
}

static void provider_metrics(void *context, struct buffer *out)
{
    struct provider_process *provider = context;
    provider_api_write_metrics(provider->api, out);
    engine_write_metrics(provider->engine, out);
    usage_write_metrics(out);
}

static bool open_probes(struct provider_process *provider, struct error *err)
{
    struct hostport at;
    const char *listen = option_text(provider->invocation, "metrics-listen");
    if (!strcmp(listen, "0"))
        return true;
    if (!hostport_parse(&at, text_of(listen), 0, false, err))
        return false;
    const struct probes_options options = {.address = at.host,
                                           .port = at.port,
                                           .checks = provider_checks,
                                           .metrics = provider_metrics,
                                           .listening = report_port,
                                           .context = provider};
    provider->probes = probes_new(provider->process.world.loop, &options, err);
    return provider->probes != NULL;
}

static bool open_api(struct provider_process *provider, struct error *err)
{
    const struct invocation *invocation = provider->invocation;
    struct hostport at;
    struct provider_api_options options = {
        .world = &provider->process.world,
        .engine = provider->engine,
        .log = provider->process.log,
        .max_connections = (unsigned)option_int(invocation, "max-connections"),
        .rate = (unsigned)option_int(invocation, "rate"),
        .algorithm =
            !strcmp(option_text(invocation, "algorithm"), "SHA512") ? DIGEST_SHA512 : DIGEST_SHA256,
        .base_path = option_text(invocation, "base-path"),
        .zones = provider->zones,
        .zone_count = provider->zone_count,
        .is_open = option_flag(invocation, "insecure-no-auth"),
        .state_dir = option_text(invocation, "state"),
        .keeps_records = !strcmp(option_text(invocation, "backend"), "memory"),
        .backend_of = backend_of,
        .listening = report_port,
        .context = provider,
    };
    if (!hostport_parse(&at, text_of(option_text(invocation, "listen")), 0, false, err) ||
        !read_types(invocation, options.has_type, err))
        return false;
    options.address = at.host;
    options.port = at.port;
    provider->api = provider_api_new(&options, err);
    return provider->api && load_keys(provider, true, err);
}

// ---- life ---------------------------------------------------------------------------------------

static void stopped(void *context)
{
    struct provider_process *provider = context;
    loop_stop(provider->process.world.loop);
}

static void leave(void *context)
{
    struct provider_process *provider = context;
    log_line(provider->process.log, LOG_INFO, "stopping", LOG_END);
    probes_leave(provider->probes);
    provider_api_drain(provider->api);
    engine_stop(provider->engine, STOP_MS, stopped, provider);
}

static void warn_of_sha1(const struct provider_process *provider)
{
    const char *algorithm = option_text(provider->invocation, "tsig-algorithm");
    if (strcmp(option_text(provider->invocation, "backend"), "rfc2136") != 0 ||
        strncasecmp(algorithm, "hmac-sha1", strlen("hmac-sha1")) != 0)
        return;
    log_line(provider->process.log, LOG_WARN, "hmac-sha1 is weak; move the TSIG key to hmac-sha256",
             LOG_TEXT("key", option_text(provider->invocation, "tsig-name")), LOG_END);
}

static void warn_of_no_key(const struct provider_process *provider)
{
    struct hostport at;
    const char *listen = option_text(provider->invocation, "listen");
    if (!option_flag(provider->invocation, "insecure-no-auth"))
        return;
    bool is_local =
        hostport_parse(&at, text_of(listen), 0, false, NULL) && address_is_loopback(at.host);
    log_line(provider->process.log, LOG_WARN,
             is_local ? "requests need no key: every program on this machine can change records"
                      : "requests need no key and come from the network: anybody who reaches the "
                        "port can change and remove every record; give --hmac-secret-file, or "
                        "listen on 127.0.0.1",
             LOG_TEXT("listen", listen), LOG_END);
}

static void report_of_memory(const struct provider_process *provider)
{
    const struct invocation *invocation = provider->invocation;
    if (strcmp(option_text(invocation, "backend"), "memory") != 0 ||
        option_text(invocation, "state"))
        return;
    log_line(provider->process.log, LOG_INFO,
             "records live in memory alone: a restart forgets them all; --state DIR keeps them",
             LOG_END);
}

static bool provider_open(struct provider_process *provider, struct error *err)
{
    const struct engine_options options = {.world = &provider->process.world,
                                           .log = provider->process.log,
                                           .providers = providers,
                                           .provider_count = provider_count};
    provider->engine = engine_new(&options);
    warn_of_no_key(provider);
    if (!read_zones(provider, err) || !open_backends(provider, err) || !open_api(provider, err) ||
        !open_probes(provider, err))
        return false;
    warn_of_sha1(provider);
    report_of_memory(provider);
    provider->reread = (struct loop_timer){.call = reread_keys, .context = provider};
    loop_timer_set(provider->process.world.loop, &provider->reread, REREAD_MS);
    process_world_on_signal(&provider->process, leave, provider);
    return true;
}

static void provider_close(struct provider_process *provider)
{
    loop_timer_cancel(provider->process.world.loop, &provider->reread);
    probes_free(provider->probes);
    engine_free(provider->engine);
    provider_api_free(provider->api);
    process_world_done(&provider->process);
}

static int provider_run(struct invocation *invocation)
{
    struct provider_process provider = {.invocation = invocation};
    struct error err;
    int code = 2;
    if (!check_options(invocation, &err))
        return command_fail(2, "%s", err.text);
    if (!process_world_init(&provider.process, invocation, &err))
        return command_fail(1, "%s", err.text);
    if (provider_open(&provider, &err)) {
        if (!provider_api_trouble(provider.api))
            log_line(provider.process.log, LOG_INFO, "serving the webhook protocol",
                     LOG_TEXT("backend", option_text(invocation, "backend")),
                     LOG_TEXT("listen", option_text(invocation, "listen")),
                     LOG_INT("port", provider_api_port(provider.api)), LOG_END);
        loop_run(provider.process.world.loop);
        code = 0;
    } else {
        command_fail(2, "%s", err.text);
    }
    provider_close(&provider);
    return code;
}

extern const struct command provider_command;
const struct command provider_command = {
    .name = "provider",
    .summary = "serve the signed webhook protocol for a DNS backend",
    .exit_docs =
        {
            "a signal ended it in good order",
            "it cannot go on, and says why",
            "a setting is wrong, or what it names cannot be read",
        },
    .doc =
        "Takes signed requests to set, remove and read record sets and carries them to a backend. "
        "It needs no cluster. Every request must carry a time stamp within 300 s of our clock, "
        "a nonce that was never used, and an HMAC signature by one of the keys.",
    .examples = "signpost provider --backend rfc2136 --server 127.0.0.1:53 --zone example.com \\\n"
                "    --tsig-name signpost --tsig-secret-file tsig.secret \\\n"
                "    --hmac-secret-file hmac.key --state /var/lib/signpost\n",
    .groups = {{provider_rows, COUNT_OF(provider_rows), false},
               {log_options, LOG_OPTION_COUNT, true}},
    .run = provider_run,
};
