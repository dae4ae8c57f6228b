#include "frontends/provider_api/provider_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "base/must.h"
#include "base/when.h"
#include "frontends/provider_api/request.h"
#include "frontends/provider_api/request_counts.h"
#include "frontends/provider_api/state_log.h"
#include "frontends/provider_api/verify.h"
#include "frontends/refusals.h"
#include "io/http_server.h"
#include "providers/webhook/body.h"

enum {
    NONCES_MAX = 1000000,
    CHANGE_REQUEST_MS = 28000,
    PATH_MAX_OCTETS = 2048,
    PATH_SHOWN_OCTETS = 300
};

struct provider_api {
    struct provider_api_options options;
    struct request_scope scope;
    struct http_server *server;
    struct verifier verifier;
    struct state_log *state;
    struct refusals *refusals;
    struct request_counts counts;
    int64_t rate_second;
    unsigned rate_used;
    size_t change_requests;
};

// One request from its arrival to its answer.
struct ask_state {
    struct provider_api *api;
    struct http_exchange *exchange; // NULL: the client went away
    struct arena *arena;
    enum operation operation;
    struct change change;
    char trace[33];
    int64_t begun_ms;
    size_t waiting; // health: backends that have not answered yet
    struct error health;
};

// ---- answering ----------------------------------------------------------------------------------

static void answer(struct ask_state *ask, int status, struct text body,
                   const struct http_header *headers, size_t header_count)
{
    struct provider_api *api = ask->api;
    request_counts_add(&api->counts, ask->operation, status,
                       loop_mono_ms(api->options.world->loop) - ask->begun_ms);
    if (ask->exchange) {
        http_exchange_set_data(ask->exchange, NULL);
        http_answer(ask->exchange, status, "application/json", body, headers, header_count);
    }
    arena_free(ask->arena);
    free(ask);
}

static int status_of(const struct error *error)
{
    static const int by_fault[] = {
        [FAULT_NONE] = 500, [FAULT_SPEC] = 400,  [FAULT_WAIT] = 503, [FAULT_AGAIN] = 503,
        [FAULT_AUTH] = 500, [FAULT_LIMIT] = 429, [FAULT_RACE] = 503,
    };
    return error->status >= 400 && error->status < 600 ? error->status : by_fault[error->fault];
}

static void write_error(struct buffer *out, const char *code, const char *text)
{
    buffer_add_text(out, "{\"success\":false,\"error\":{\"code\":");
    body_write_string(out, text_of(code));
    buffer_add_text(out, ",\"message\":");
    body_write_string(out, text_of(text));
    buffer_add_text(out, ",\"details\":{}}}\n");
}

static void answer_error(struct ask_state *ask, const struct error *error)
{
    struct buffer body = {0};
    char seconds[24];
    int status = status_of(error);
    size_t header_count = 0;
    struct http_header headers[2];
    write_error(&body, *error->code ? error->code : "SERVER_ERROR", error->text);
    if (error->retry_ms > 0) {
        snprintf(seconds, sizeof seconds, "%lld", (long long)(error->retry_ms + 999) / 1000);
        headers[header_count++] = (struct http_header){"Retry-After", seconds};
    }
    if (status == 405)
        headers[header_count++] = (struct http_header){"Allow", "GET, POST, DELETE"};
    answer(ask, status, buffer_text(&body), headers, header_count);
    buffer_done(&body);
}

static enum log_level level_of(int status)
{
    if (status == 401 || status == 403)
        return LOG_WARN;
    return status == 404 ? LOG_DEBUG : LOG_INFO;
}

// A query string may hold what is not for a log.
static void log_refusal(const struct provider_api *api, const struct error *error, const char *peer,
                        struct text target, const char *trace)
{
    enum log_level level = level_of(status_of(error));
    struct text path = {0};
    if (!log_has(api->options.log, level))
        return;
    const struct refusal refusal =
        refusals_count(api->refusals, peer, error->code, loop_mono_ms(api->options.world->loop));
    if (!refusal.is_worth_reporting)
        return;
    if (text_cut(&target, '?', &path))
        path = utf8_prefix(path, PATH_SHOWN_OCTETS);
    log_line(api->options.log, level, "request refused",
             LOG_TEXT("peer", refusal.is_of_many ? "other peers" : peer), LOG_SLICE("path", path),
             LOG_TEXT("code", error->code), LOG_TEXT("error", error->text),
             LOG_INT("count", (int64_t)refusal.count), LOG_TEXT("turn", trace), LOG_END);
}

static void refuse(struct ask_state *ask, const struct error *error)
{
    const struct http_exchange *exchange = ask->exchange;
    if (exchange)
        log_refusal(ask->api, error, http_exchange_peer(exchange),
                    text_of(http_exchange_target(exchange)), ask->trace);
    answer_error(ask, error);
}

static struct error error_of(int status, const char *code, const char *text)
{
    struct error error = {0};
    error_set(&error, FAULT_SPEC, "", "%s", text);
    error.status = status;
    snprintf(error.code, sizeof error.code, "%s", code);
    return error;
}

static void refuse_with(struct ask_state *ask, int status, const char *code, const char *text)
{
    const struct error error = error_of(status, code, text);
    refuse(ask, &error);
}

static void write_record(struct buffer *out, const struct record_set *set)
{
    AUTO_BUFFER plain = {0};
    body_write_record(&plain, set, false);
    buffer_add(out, plain.at, plain.len - 1);
    buffer_add_text(out, ",\"fqdn\":\"");
    if (!text_is(set->subdomain, "@"))
        buffer_printf(out, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_printf(out, "%.*s\"}", TEXT_ARGS(set->domain));
}

static void answer_done(struct ask_state *ask, const struct record_set *set, const char *message)
{
    struct buffer body = {0};
    buffer_add_text(&body, "{\"success\":true");
    if (set) {
        buffer_add_text(&body, ",\"record\":");
        write_record(&body, set);
    }
    if (message)
        buffer_printf(&body, ",\"message\":\"%s\"", message);
    buffer_add_text(&body, "}\n");
    answer(ask, 200, buffer_text(&body), NULL, 0);
    buffer_done(&body);
}

// ---- receipts -----------------------------------------------------------------------------------

static void log_change(const struct ask_state *ask, const char *message)
{
    char name[600];
    const struct record_set *set = &ask->change.set;
    if (!log_has(ask->api->options.log, LOG_INFO))
        return;
    if (text_is(set->subdomain, "@"))
        snprintf(name, sizeof name, "%.*s", TEXT_ARGS(set->domain));
    else
        snprintf(name, sizeof name, "%.*s.%.*s", TEXT_ARGS(set->subdomain), TEXT_ARGS(set->domain));
    log_line(ask->api->options.log, LOG_INFO, message, LOG_TEXT("fqdn", name),
             LOG_TEXT("type", record_type_name(set->type)), LOG_TEXT("turn", ask->trace), LOG_END);
}

static bool remember_record(struct ask_state *ask, bool is_removed)
{
    struct provider_api *api = ask->api;
    struct error err;
    if (!api->state || !api->options.keeps_records ||
        state_log_record(api->state, &ask->change.set, is_removed, &err))
        return true;
    log_line(api->options.log, LOG_ERROR, "state cannot be written", LOG_TEXT("error", err.text),
             LOG_END);
    const struct error error = error_of(500, "SERVER_ERROR", "state cannot be written");
    answer_error(ask, &error);
    return false;
}

static void upserted(struct ask_state *ask, const struct outcome *outcome)
{
    bool was_created = outcome->was_created;
    if (was_created)
        request_counts_record(&ask->api->counts, &ask->change.set, false);
    if (!remember_record(ask, false))
        return;
    log_change(ask, was_created ? "record created" : "record updated");
    answer_done(ask, &ask->change.set,
                was_created ? "Record created successfully" : "Record updated successfully");
}

static void deleted(struct ask_state *ask, const struct outcome *outcome)
{
    if (outcome->was_absent) {
        refuse_with(ask, 404, "RECORD_NOT_FOUND", "Record does not exist");
        return;
    }
    request_counts_record(&ask->api->counts, &ask->change.set, true);
    if (!remember_record(ask, true))
        return;
    log_change(ask, "record deleted");
    answer_done(ask, NULL, "Record deleted successfully");
}

static void got(struct ask_state *ask, const struct outcome *outcome)
{
    if (outcome->was_absent || !outcome->found)
        refuse_with(ask, 404, "RECORD_NOT_FOUND", "Record does not exist");
    else
        answer_done(ask, outcome->found, NULL);
}

static void change_request_came(void *context, const struct change_request_result *result)
{
    struct ask_state *ask = context;
    const struct outcome *outcome = result->outcome;
    ask->api->change_requests--;
    if (!outcome->is_done) {
        log_line(ask->api->options.log, LOG_WARN, "request failed",
                 LOG_TEXT("operation", operation_names[ask->operation]),
                 LOG_TEXT("error", outcome->error->text), LOG_TEXT("turn", ask->trace), LOG_END);
        answer_error(ask, outcome->error);
        return;
    }
    switch (ask->change.op) {
    case CHANGE_SET:
        upserted(ask, outcome);
        return;
    case CHANGE_REMOVE:
        deleted(ask, outcome);
        return;
    case CHANGE_READ:
        got(ask, outcome);
        return;
    }
}

// ---- health -------------------------------------------------------------------------------------

static void write_health(struct buffer *out, const struct ask_state *ask)
{
    char now[WHEN_TEXT_MAX];
    const struct provider_api *api = ask->api;
    bool is_healthy = ask->health.fault == FAULT_NONE;
    when_write(loop_unix_ms(api->options.world->loop) / 1000, now);
    buffer_printf(out, "{\"status\":\"%s\",\"message\":", is_healthy ? "healthy" : "unhealthy");
    body_write_string(out,
                      is_healthy ? TEXT("DNS server is operational") : text_of(ask->health.text));
    buffer_printf(out,
                  ",\"timestamp\":\"%s\",\"capabilities\":{\"get\":true,\"metadata\":true,"
                  "\"types\":[",
                  now);
    const char *comma = "";
    for (size_t i = 0; i < RECORD_TYPES; i++)
        if (api->scope.has_type[i]) {
            buffer_printf(out, "%s\"%s\"", comma, record_type_name((enum record_type)i));
            comma = ",";
        }
    buffer_add_char(out, ']');
    for (size_t i = 0; i < api->scope.zone_count; i++)
        buffer_printf(out, "%s\"%.*s\"", i ? "," : ",\"zones\":[", TEXT_ARGS(api->scope.zones[i]));
    buffer_add_text(out, api->scope.zone_count ? "]}}\n" : "}}\n");
}

static void health_came(void *context, const struct change_request_result *result)
{
    struct ask_state *ask = context;
    struct buffer body = {0};
    ask->api->change_requests--;
    if (!result->outcome->is_done && ask->health.fault == FAULT_NONE)
        ask->health = *result->outcome->error;
    if (--ask->waiting)
        return;
    write_health(&body, ask);
    answer(ask, ask->health.fault == FAULT_NONE ? 200 : 503, buffer_text(&body), NULL, 0);
    buffer_done(&body);
}

static void ask_health(struct ask_state *ask)
{
    struct provider_api *api = ask->api;
    const struct provider_api_options *options = &api->options;
    size_t count = options->zone_count ? options->zone_count : 1;
    ask->waiting = count;
    api->change_requests += count;
    for (size_t i = 0; i < count; i++) {
        struct text zone = options->zone_count ? options->zones[i] : TEXT("");
        engine_ask(options->engine, options->backend_of(options->context, zone), ask->trace,
                   health_came, ask);
    }
}

// ---- requests -----------------------------------------------------------------------------------

static void submit(struct ask_state *ask)
{
    struct provider_api *api = ask->api;
    struct text name;
    must(record_name_join(ask->arena, ask->change.set.domain, ask->change.set.subdomain, &name,
                          NULL));
    struct text zone = api->scope.zone_count
                           ? request_zone(api->scope.zones, api->scope.zone_count, name)
                           : TEXT("");
    api->change_requests++;
    engine_change_request(api->options.engine, api->options.backend_of(api->options.context, zone),
                          &ask->change, ask->trace, CHANGE_REQUEST_MS, change_request_came, ask);
}

static void take_trace(struct ask_state *ask)
{
    const char *parent = http_exchange_header(ask->exchange, "traceparent", 0);
    uint8_t octets[16];
    if (parent && strlen(parent) == 55 && !strncmp(parent, "00-", 3) &&
        hex_decode((struct text){parent + 3, 32}, octets, sizeof octets)) {
        snprintf(ask->trace, sizeof ask->trace, "%.32s", parent + 3);
        return;
    }
    random_fill(ask->api->options.world->random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, ask->trace);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static const char *percent_decode(struct arena *arena, const char *path)
{
    if (!strchr(path, '%'))
        return path;
    char *out = arena_copy_text(arena, path);
    char *to = out;
    for (const char *at = path; *at; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1;
        int low = high >= 0 ? hex_digit(at[2]) : -1;
        if (low >= 0 && (high || low)) {
            *to++ = (char)(16 * high + low);
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return out;
}

static struct verify_time time_of(const struct provider_api *api)
{
    struct loop *loop = api->options.world->loop;
    return (struct verify_time){loop_unix_ms(loop), loop_mono_ms(loop)};
}

static bool is_let_in(struct ask_state *ask, const char *path)
{
    struct provider_api *api = ask->api;
    struct http_exchange *exchange = ask->exchange;
    int64_t stamp_s = 0;
    struct error err = {0};
    if (api->options.is_open)
        return true;
    const struct verify_input input = {
        .method = text_of(http_exchange_method(exchange)),
        .path = path,
        .decoded = percent_decode(ask->arena, path),
        .timestamp = http_exchange_header(exchange, "X-DNS-Timestamp", 0),
        .nonce = http_exchange_header(exchange, "X-DNS-Nonce", 0),
        .signature = http_exchange_header(exchange, "X-DNS-Signature", 0),
        .has_doubles = http_exchange_header(exchange, "X-DNS-Timestamp", 1) ||
                       http_exchange_header(exchange, "X-DNS-Nonce", 1) ||
                       http_exchange_header(exchange, "X-DNS-Signature", 1),
        .body = http_exchange_body(exchange),
    };
    const struct verify_time now = time_of(api);
    bool is_good = verify_request(&api->verifier, &input, &now, &stamp_s, &err);
    if (is_good && api->state)
        is_good = state_log_nonce(api->state, text_of(input.nonce), stamp_s, &err);
    if (!is_good)
        refuse(ask, &err);
    return is_good;
}

static bool is_within_rate(struct ask_state *ask)
{
    struct provider_api *api = ask->api;
    int64_t second = loop_mono_ms(api->options.world->loop) / 1000;
    if (!api->options.rate)
        return true;
    if (api->rate_second != second) {
        api->rate_second = second;
        api->rate_used = 0;
    }
    if (api->rate_used++ < api->options.rate)
        return true;
    struct error error = {0};
    error_set(&error, FAULT_LIMIT, "RateLimited", "more than %u requests a second",
              api->options.rate);
    error.status = 429;
    error.retry_ms = 1000;
    snprintf(error.code, sizeof error.code, "RATE_LIMITED");
    refuse(ask, &error);
    return false;
}

static const char *below_base(const struct provider_api *api, const char *path)
{
    size_t base = strlen(api->options.base_path);
    return base && !strncmp(path, api->options.base_path, base) && path[base] == '/' ? path + base
                                                                                     : path;
}

static enum operation operation_of(const char *method, const char *path)
{
    if (!strcmp(path, "/health"))
        return !strcmp(method, "GET") ? OP_HEALTH : OP_OTHER;
    if (!strcmp(path, "/records"))
        return !strcmp(method, "POST") ? OP_UPSERT : OP_OTHER;
    if (!strcmp(method, "DELETE"))
        return OP_DELETE;
    return !strcmp(method, "GET") ? OP_GET : OP_OTHER;
}

static void serve_record(struct ask_state *ask, const char *path)
{
    struct error err;
    ask->change.op = ask->operation == OP_DELETE ? CHANGE_REMOVE : CHANGE_READ;
    if (!request_read_path(ask->arena, &ask->api->scope, percent_decode(ask->arena, path),
                           &ask->change, &err))
        refuse(ask, &err);
    else
        submit(ask);
}

static void serve_upsert(struct ask_state *ask)
{
    struct error err;
    if (!request_read_upsert(ask->arena, &ask->api->scope, http_exchange_body(ask->exchange),
                             &ask->change, &err))
        refuse(ask, &err);
    else
        submit(ask);
}

static void serve(struct ask_state *ask, const char *path)
{
    bool is_known =
        !strcmp(path, "/health") || !strcmp(path, "/records") || !strncmp(path, "/records/", 9);
    if (!is_known) {
        refuse_with(ask, 404, "SERVER_ERROR", "no such path: /health, /records");
        return;
    }
    switch (ask->operation) {
    case OP_HEALTH:
        ask_health(ask);
        return;
    case OP_UPSERT:
        serve_upsert(ask);
        return;
    case OP_DELETE:
    case OP_GET:
        serve_record(ask, path);
        return;
    case OP_OTHER:
    case OPS:
        refuse_with(ask, 405, "SERVER_ERROR", "this path does not take that method");
        return;
    }
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct provider_api *api = context;
    const char *target = http_exchange_target(exchange);
    struct ask_state *ask = mem_new_of(struct ask_state);
    *ask = (struct ask_state){.api = api,
                              .exchange = exchange,
                              .arena = arena_new(),
                              .begun_ms = loop_mono_ms(api->options.world->loop)};
    http_exchange_set_data(exchange, ask);
    take_trace(ask);
    ask->operation = operation_of(http_exchange_method(exchange), below_base(api, target));
    log_line(api->options.log, LOG_DEBUG, "request",
             LOG_TEXT("operation", operation_names[ask->operation]), LOG_TEXT("turn", ask->trace),
             LOG_END);
    if (strlen(target) > PATH_MAX_OCTETS || strchr(target, '?') || strchr(target, '#')) {
        refuse_with(ask, 400, "INVALID_RECORD",
                    "a path of at most 2048 octets without a query is expected");
        return;
    }
    if (is_within_rate(ask) && is_let_in(ask, target))
        serve(ask, below_base(api, target));
}

// The change request goes on: its receipt finds nobody to answer.
static void client_gone(void *context, struct http_exchange *exchange)
{
    struct ask_state *ask = http_exchange_data(exchange);
    (void)context;
    if (ask)
        ask->exchange = NULL;
}

// ---- life ---------------------------------------------------------------------------------------

static void restored(void *context, const struct change_request_result *result)
{
    struct provider_api *api = context;
    (void)result;
    api->change_requests--;
}

static void restore_record(void *context, const struct record_set *set)
{
    struct provider_api *api = context;
    const struct change change = {.op = CHANGE_SET, .set = *set};
    if (!api->options.keeps_records)
        return;
    request_counts_record(&api->counts, set, false);
    api->change_requests++;
    engine_change_request(api->options.engine,
                          api->options.backend_of(api->options.context, TEXT("")), &change, "",
                          CHANGE_REQUEST_MS, restored, api);
}

static bool open_state(struct provider_api *api, struct error *err)
{
    const struct provider_api_options *options = &api->options;
    const struct state_log_reader reader = {restore_record, api};
    const struct verify_time now = time_of(api);
    if (!options->state_dir) {
        verifier_start(&api->verifier, &now);
        return true;
    }
    api->state = state_log_open(options->world->disk, options->state_dir, api->verifier.nonces,
                                &reader, now.unix_ms / 1000, options->log, err);
    return api->state != NULL;
}

// What the HTTP server turns away before a request is whole.
static void write_refusal(void *context, const struct http_exchange *exchange, int status,
                          const char *text, struct buffer *out)
{
    bool is_about_record = status == 400 || status == 413;
    const struct error error =
        error_of(status, is_about_record ? "INVALID_RECORD" : "SERVER_ERROR", text);
    log_refusal(context, &error, http_exchange_peer(exchange), (struct text){0}, NULL);
    write_error(out, error.code, error.text);
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct provider_api *api = context;
    api->options.listening(api->options.context, at, trouble);
}

static bool listen_on(struct provider_api *api, struct error *err)
{
    const struct http_server_options options = {
        .address = api->options.address,
        .port = api->options.port,
        .max_connections = api->options.max_connections,
        .max_body_octets = body_limits.octets,
        .head_timeout_ms = 10000,
        .body_timeout_ms = 10000,
        .handle = handle,
        .gone = client_gone,
        .write_refusal = write_refusal,
        .listening = api->options.listening ? listening : NULL,
        .context = api,
    };
    api->server = http_server_new(api->options.world->loop, &options, err);
    return api->server != NULL;
}

struct provider_api *provider_api_new(const struct provider_api_options *options, struct error *err)
{
    struct provider_api *api = mem_new_of(struct provider_api);
    api->options = *options;
    api->scope = (struct request_scope){.zones = options->zones, .zone_count = options->zone_count};
    memcpy(api->scope.has_type, options->has_type, sizeof api->scope.has_type);
    api->verifier = (struct verifier){.algorithm = options->algorithm,
                                      .base_path = options->base_path,
                                      .nonces = nonces_new(NONCES_MAX)};
    api->refusals = refusals_new();
    request_counts_init(&api->counts, &api->scope, options->keeps_records);
    if (!open_state(api, err) || !listen_on(api, err)) {
        provider_api_free(api);
        return NULL;
    }
    return api;
}

static void drop_keys(struct provider_api *api)
{
    for (size_t i = 0; i < api->verifier.key_count; i++)
        hmac_key_free(api->verifier.keys[i]);
    free(api->verifier.keys);
    api->verifier.keys = NULL;
    api->verifier.key_count = 0;
}

void provider_api_free(struct provider_api *api)
{
    if (!api)
        return;
    http_server_free(api->server);
    state_log_free(api->state);
    drop_keys(api);
    nonces_free(api->verifier.nonces);
    refusals_free(api->refusals);
    request_counts_done(&api->counts);
    free(api);
}

void provider_api_set_keys(struct provider_api *api, struct secret *const *keys, size_t count)
{
    drop_keys(api);
    api->verifier.keys = mem_new_array(struct hmac_key *, count + 1);
    for (size_t i = 0; i < count; i++)
        api->verifier.keys[i] = hmac_key_new(api->verifier.algorithm, keys[i]);
    api->verifier.key_count = count;
}

const char *provider_api_trouble(const struct provider_api *api)
{
    return http_server_trouble(api->server);
}

uint16_t provider_api_port(const struct provider_api *api)
{
    return http_server_port(api->server);
}

void provider_api_drain(struct provider_api *api)
{
    http_server_drain(api->server);
}

void provider_api_write_metrics(const struct provider_api *api, struct buffer *out)
{
    request_counts_write(&api->counts, out);
    metric_write_head(out, "signpost_provider_nonces", "gauge", "Nonces that are remembered.");
    buffer_printf(out, "signpost_provider_nonces %zu\n", nonces_count(api->verifier.nonces));
}
