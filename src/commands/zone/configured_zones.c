#include "commands/zone/configured_zones.h"
#include "commands/zone/zone_subject.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/metric.h"
#include "controllers/zone/zone_controller.h"
#include "frontends/primary/primary_frontend.h"

enum { CONFIG_OCTETS_MAX = 4 << 20, KEY_OCTETS_MAX = 4096, LOOK_MS = 10000, LISTEN_MAX = 16 };

const struct option zones_options[ZONES_OPTION_COUNT] = {
    {.name = "zones-config",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc =
         "YAML file with the name servers that follow `signpost run`, their TSIG keys, and who may "
         "own zones. It may change at any time; one that is wrong is left aside as a whole."},
    {.name = "primary-listen",
     .type = OPTION_LIST,
     .placeholder = "ADDR:PORT",
     .doc =
         "Where those servers fetch zones, over UDP and TCP, once there is a group of them. Not "
         "given: [::]:5300 in a cluster, 127.0.0.1:5300 on a folder. An address that is taken or "
         "not there yet is tried again every second, and /readyz fails meanwhile."},
    {.name = "zone-file-dir",
     .type = OPTION_TEXT,
     .placeholder = "DIR",
     .doc = "Write every zone that is served as a master file there, too: NAME.zone, replaced at "
            "once as a whole, and removed when the zone is not served any more. Files of others "
            "stay; two processes with different zones need a folder each."},
};

struct configured_zones {
    struct process_world *process;
    const struct invocation *invocation;
    const char *path; // NULL: there is no such file
    char *folder;
    struct zones_config *config;
    const struct zones_config *shown;
    uint8_t seen[32]; // digest of what was read last, keys included
    struct digest_state *reading;
    struct error fault; // of what was read last; no text: there was none
    bool is_cluster;
    struct engine *engine;
    struct primary_frontend *frontend;
    struct error frontend_failure; // why there is none though there should be one
    struct disk_watch *watch;      // NULL: inotify is not to be had
    struct loop_timer timer;
};

// ---- reading ------------------------------------------------------------------------------------

// Relative to the configuration.
static void write_secret_path(const struct configured_zones *place, const char *file,
                              struct buffer *out)
{
    if (file[0] != '/')
        buffer_printf(out, "%s/", place->folder);
    buffer_add_text(out, file);
}

static bool read_secret(void *context, const char *file, struct buffer *out, struct error *err)
{
    const struct configured_zones *place = context;
    AUTO_BUFFER path = {0};
    write_secret_path(place, file, &path);
    buffer_reserve(out, KEY_OCTETS_MAX + 1);
    if (!disk_read(out, path.at, KEY_OCTETS_MAX, err))
        return false;
    digest_add(place->reading, out->at, out->len);
    return true;
}

static void add_finding(struct buffer *out, const char *path, struct arena *arena,
                        const struct finding *finding)
{
    buffer_printf(out, "%s%s:%u:%u: %s", out->len ? "; " : "", path, finding->line, finding->column,
                  finding_text(arena, finding));
}

// The first few faults, or the warnings, as one text.
static void list_findings(const struct configured_zones *place, const struct findings *findings,
                          enum finding_level level, struct buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == level && count++ < 3)
            add_finding(out, place->path, findings->arena, &findings->items[i]);
}

static void warn(const struct configured_zones *place, const struct findings *findings)
{
    AUTO_BUFFER text = {0};
    list_findings(place, findings, FINDING_WARNING, &text);
    if (text.len)
        log_line(place->process->log, LOG_WARN, "zones configuration has warnings",
                 LOG_TEXT("warnings", text.at), LOG_END);
}

static struct zones_config *decode(struct configured_zones *place, struct text content,
                                   struct error *err)
{
    struct value *tree;
    bool has;
    AUTO_BUFFER faults = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(content, &value_manifest_limits);
    struct findings findings = {.arena = arena};
    if (!yaml_reader_next(reader, arena, &tree, &has, err)) {
        error_prefix(err, "%s:", place->path);
        return NULL;
    }
    struct zones_config *config =
        zones_config_new(has ? tree : NULL, read_secret, place, &findings);
    if (config) {
        warn(place, &findings);
        return config;
    }
    list_findings(place, &findings, FINDING_ERROR, &faults);
    error_set(err, FAULT_SPEC, "", "%s", buffer_text(&faults).at);
    return NULL;
}

// *is_news: it is another than at the last time.
static bool read_config(struct configured_zones *place, struct zones_config **config, bool *is_news,
                        struct error *err)
{
    uint8_t seen[DIGEST_MAX];
    AUTO_BUFFER content = {0};
    *is_news = false;
    if (!disk_read(&content, place->path, CONFIG_OCTETS_MAX, err))
        return false;
    place->reading = digest_begin(DIGEST_SHA256);
    digest_add(place->reading, content.at, content.len);
    *config = decode(place, buffer_text(&content), err);
    digest_end(place->reading, seen);
    place->reading = NULL;
    *is_news = memcmp(seen, place->seen, sizeof place->seen) != 0;
    memcpy(place->seen, seen, sizeof place->seen);
    return *config != NULL;
}

// Any key will do to see whether the rest of the file is right.
static bool pretend_secret(void *context, const char *file, struct buffer *out, struct error *err)
{
    (void)context;
    (void)file;
    (void)err;
    buffer_add_text(out, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    return true;
}

static bool refuse(const char *path, const struct findings *findings, struct error *err)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->level == FINDING_ERROR)
            return error_set(err, FAULT_SPEC, "", "%s:%u:%u: %s", path, finding->line,
                             finding->column, finding_text(findings->arena, finding));
    }
    return error_set(err, FAULT_SPEC, "", "%s: cannot be used", path);
}

struct zones_config *zones_config_parse(struct arena *arena, const char *path, struct text content,
                                        struct error *err)
{
    struct value *tree = NULL;
    bool has;
    struct findings findings = {.arena = arena};
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(content, &value_manifest_limits);
    if (!yaml_reader_next(reader, arena, &tree, &has, err)) {
        error_prefix(err, "%s:", path);
        return NULL;
    }
    struct zones_config *config =
        zones_config_new(has ? tree : NULL, pretend_secret, NULL, &findings);
    if (!config)
        refuse(path, &findings, err);
    return config;
}

bool zones_config_look(const struct invocation *invocation, struct zones_config **out,
                       struct error *err)
{
    AUTO_BUFFER content = {0};
    const char *path = option_text(invocation, "zones-config");
    *out = NULL;
    if (path && disk_read(&content, path, CONFIG_OCTETS_MAX, err))
        *out = zones_config_parse(invocation->arena, path, buffer_text(&content), err);
    return !path || *out || error_prefix(err, "--zones-config: ");
}

void zones_config_use(const struct setup *setup, const struct zones_config *const *config,
                      bool is_here)
{
    struct zone_settings *settings = setup_settings(setup, &zone_controller);
    if (!settings)
        return;
    settings->config = config;
    settings->is_config_elsewhere = !is_here;
}

// ---- the frontend -------------------------------------------------------------------------------

static bool listen_addresses(const struct configured_zones *place, struct hostport *out,
                             size_t *count, struct error *err)
{
    const char **items;
    *count = option_list(place->invocation, "primary-listen", &items);
    if (!*count) {
        *count = 1;
        return hostport_parse(out, place->is_cluster ? TEXT("[::]:5300") : TEXT("127.0.0.1:5300"),
                              0, false, err);
    }
    if (*count > LISTEN_MAX)
        return error_set(err, FAULT_SPEC, "", "--primary-listen: more than %d addresses",
                         LISTEN_MAX);
    for (size_t i = 0; i < *count; i++)
        if (!hostport_parse(&out[i], text_of(items[i]), 0, false, err))
            return error_prefix(err, "--primary-listen: ");
    return true;
}

static bool open_frontend(struct configured_zones *place, struct error *err)
{
    struct hostport listen[LISTEN_MAX];
    struct primary_frontend_options options = {
        .loop = place->process->world.loop,
        .random = place->process->world.random,
        .log = place->process->log,
        .published = engine_published(place->engine),
        .listen = listen,
    };
    if (place->frontend || !place->config || !place->config->group_count)
        return true;
    if (!listen_addresses(place, listen, &options.listen_count, err))
        return false;
    place->frontend = primary_frontend_new(&options, err);
    if (!place->frontend)
        return error_prefix(err, "--primary-listen: ");
    error_clear(&place->frontend_failure);
    if (primary_frontend_is_ipv4_fallback(place->frontend))
        log_line(place->process->log, LOG_WARN,
                 "this machine has no IPv6; zones are served over IPv4 alone", LOG_END);
    primary_frontend_set_config(place->frontend, place->config);
    return true;
}

// ---- following the file -------------------------------------------------------------------------

static void open_frontend_later(struct configured_zones *place)
{
    struct error err;
    if (open_frontend(place, &err)) {
        error_clear(&place->frontend_failure);
        return;
    }
    if (strcmp(err.text, place->frontend_failure.text) != 0)
        log_line(place->process->log, LOG_ERROR, "zones cannot be served",
                 LOG_TEXT("error", err.text), LOG_END);
    place->frontend_failure = err;
}

static void use(struct configured_zones *place, struct zones_config *config)
{
    struct zones_config *old = place->config;
    place->config = config;
    place->shown = config;
    if (place->frontend)
        primary_frontend_set_config(place->frontend, config);
    engine_set_zones(place->engine, config);
    zones_config_free(old);
    open_frontend_later(place);
}

static void log_wrong(const struct configured_zones *place)
{
    log_line(place->process->log, LOG_WARN,
             "zones configuration is left aside; the one before stays in use",
             LOG_TEXT("error", place->fault.text), LOG_END);
}

static void log_in_use(const struct configured_zones *place)
{
    log_line(place->process->log, LOG_INFO, "zones configuration is in use",
             LOG_TEXT("file", place->path), LOG_END);
}

static void look(struct configured_zones *place)
{
    struct zones_config *config = NULL;
    bool is_news;
    struct error fault = {0};
    struct error before = place->fault;
    bool is_good = read_config(place, &config, &is_news, &fault);
    place->fault = fault;
    if (is_good && is_news)
        use(place, config);
    else
        zones_config_free(config);
    if (is_good && (is_news || before.text[0]))
        log_in_use(place);
    else if (!is_good && strcmp(fault.text, before.text) != 0)
        log_wrong(place);
}

static void watch_folders(struct configured_zones *place)
{
    struct error err;
    if (!place->watch)
        return;
    disk_watch_add(place->watch, place->folder, &err);
    for (size_t i = 0; place->config && i < place->config->key_count; i++) {
        AUTO_BUFFER path = {0};
        write_secret_path(place, place->config->keys[i].secret_file, &path);
        autofree char *folder = disk_folder_of(path.at);
        disk_watch_add(place->watch, folder, &err);
    }
}

static void changed(void *context, bool is_lost)
{
    struct configured_zones *place = context;
    (void)is_lost;
    disk_watch_forget(place->watch);
    look(place);
    watch_folders(place);
}

static void tick(void *context)
{
    struct configured_zones *place = context;
    look(place);
    open_frontend_later(place);
    watch_folders(place);
    loop_timer_set(place->process->world.loop, &place->timer, LOOK_MS);
}

// ---- life ---------------------------------------------------------------------------------------

static void free_place(void *service)
{
    struct configured_zones *place = service;
    zones_config_free(place->config);
    free(place->folder);
    free(place);
}

static void *make(const struct service_setup *setup, struct error *err)
{
    struct configured_zones *place = mem_new_of(struct configured_zones);
    bool is_news;
    place->process = setup->process;
    place->invocation = setup->invocation;
    place->is_cluster = setup->setup->place.is_cluster;
    place->path = option_text(setup->invocation, "zones-config");
    zones_config_use(setup->setup, &place->shown, true);
    if (!place->path)
        return place;
    place->folder = disk_folder_of(place->path);
    bool is_good = read_config(place, &place->config, &is_news, err);
    place->shown = place->config;
    if (is_good)
        return place;
    error_prefix(err, "--zones-config: ");
    free_place(place);
    return NULL;
}

static bool open_place(void *service, struct engine *engine, struct error *err)
{
    struct configured_zones *place = service;
    struct error ignored;
    struct hostport listen[LISTEN_MAX];
    size_t count;
    struct loop *loop = place->process->world.loop;
    place->engine = engine;
    engine_set_zones(engine, place->config);
    if (!listen_addresses(place, listen, &count, err))
        return false;
    if (!place->path)
        return true;
    if (!open_frontend(place, err))
        return false;
    place->watch = disk_watch_new(loop, changed, place, &ignored);
    place->timer = (struct loop_timer){.call = tick, .context = place};
    watch_folders(place);
    loop_timer_set(loop, &place->timer, LOOK_MS);
    return true;
}

static void close_place(void *service)
{
    struct configured_zones *place = service;
    if (!place->engine)
        return;
    loop_timer_cancel(place->process->world.loop, &place->timer);
    disk_watch_free(place->watch);
    place->watch = NULL;
    primary_frontend_free(place->frontend);
    place->frontend = NULL;
}

static void reload(void *service)
{
    struct configured_zones *place = service;
    if (place->path && place->engine)
        look(place);
}

static bool check_primary(const struct configured_zones *place, struct store_check *out)
{
    const char *trouble = place->frontend_failure.text;
    if ((!place->frontend && !trouble[0]) || !place->config || !place->config->group_count)
        return false;
    if (place->frontend)
        trouble = primary_frontend_trouble(place->frontend);
    *out = (struct store_check){.name = "primary", .is_ok = !trouble, .text = trouble};
    return true;
}

static bool check_config(const struct configured_zones *place, struct store_check *out)
{
    if (!place->path)
        return false;
    *out = (struct store_check){.name = "zones-config",
                                .is_ok = !place->fault.text[0],
                                .is_advice = true,
                                .text = place->fault.text};
    return true;
}

static size_t checks(const void *service, struct store_check *out, size_t capacity)
{
    const struct configured_zones *place = service;
    size_t count = 0;
    if (count < capacity)
        count += check_config(place, &out[count]);
    if (count < capacity)
        count += check_primary(place, &out[count]);
    return count;
}

static void write_metrics(const void *service, struct buffer *out)
{
    const struct configured_zones *place = service;
    if (!place->path)
        return;
    metric_write_head(out, "signpost_zones_config_ok", "gauge",
                      "1 when the zones configuration could be used as it was read last.");
    buffer_printf(out, "signpost_zones_config_ok %d\n", !place->fault.text[0]);
    if (place->frontend)
        primary_frontend_write_metrics(place->frontend, out);
}

const struct service zone_service = {
    .make = make,
    .open = open_place,
    .checks = checks,
    .write_metrics = write_metrics,
    .reload = reload,
    .close = close_place,
    .free = free_place,
};
