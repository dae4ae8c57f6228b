#include "frontends/intent/intent_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "frontends/intent/call.h"
#include "frontends/intent/counts.h"
#include "frontends/intent/openapi.h"
#include "frontends/refusals.h"

enum {
    IDLE_MS = 30 * 1000,
    HEAD_OCTETS = 64 * 1024,
    CONNECTIONS_MAX = 256,
    PATH_SHOWN_OCTETS = 300,
};

struct intent_api {
    struct intent_api_options options;
    struct http_server *server;
    struct intent_counts *counts;
    struct refusals *refusals;
    LIST_OF(struct call) calls;
};

const struct intent_api_options *call_options(const struct call *call)
{
    return &call->api->options;
}

static void call_serve(struct call *call);

// ---- one writer of an object at a time ----------------------------------------------------------

static bool writes_same(const struct call *a, const struct call *b)
{
    for (size_t i = 0; i < a->write_count; i++)
        for (size_t at = 0; at < b->write_count; at++)
            if (object_ref_key_equal(&a->writes[i].key, &b->writes[at].key))
                return true;
    return false;
}

static bool has_writer(const struct call *call)
{
    list_each (at, &call->api->calls)
        if (at != call && at->turn == CALL_WRITES && writes_same(at, call))
            return true;
    return false;
}

bool call_take_turn(struct call *call)
{
    call->turn = has_writer(call) ? CALL_WAITS : CALL_WRITES;
    return call->turn == CALL_WRITES;
}

static void serve_again(void *context)
{
    struct call *call = context;
    if (!call->exchange) {
        call_end(call, 0);
        return;
    }
    call->turn = CALL_DECIDES;
    call_release_writes(call);
    arena_reset(call->arena);
    call_serve(call);
}

void call_serve_again(struct call *call, int64_t after_ms)
{
    call->again = (struct loop_timer){.call = serve_again, .context = call};
    loop_timer_set(call->api->options.world->loop, &call->again, after_ms);
}

// The turn is theirs from now on, so that none who comes later goes before them.
static void serve_waiting(struct intent_api *api)
{
    list_each (at, &api->calls) {
        if (at->turn == CALL_WAITS && !has_writer(at)) {
            at->turn = CALL_WRITES;
            call_serve_again(at, 0);
        }
    }
}

// ---- the life of a request ----------------------------------------------------------------------

static void call_free(struct call *call)
{
    struct intent_api *api = call->api;
    loop_timer_cancel(api->options.world->loop, &call->again);
    call_release_writes(call);
    list_remove(&api->calls, call);
    arena_free(call->arena);
    free(call);
    serve_waiting(api);
}

static void write_route(struct buffer *out, const struct route *route, bool is_item)
{
    const char *action = route_action_word(route->action);
    route_write_path(out, route->resource, route->names, is_item);
    if (action)
        buffer_printf(out, "/%s", action);
}

static void log_answer(const struct call *call, int status)
{
    const struct intent_api *api = call->api;
    bool is_change = strcmp(call->method, "GET") != 0 && status < 300;
    AUTO_BUFFER path = {0};
    if (!call->is_judged || call->route.action == ROUTE_OPENAPI || !is_change)
        return;
    write_route(&path, &call->route, call->route.action != ROUTE_LIST || status == 201);
    log_line(api->options.log, LOG_INFO, "request", LOG_TEXT("method", call->method),
             LOG_TEXT("path", path.at), LOG_INT("status", status), LOG_END);
}

// As it was asked for, as far as that is known; a query may hold what is not for a log.
static void write_asked_path(struct buffer *out, const struct call *call)
{
    struct text target = call->exchange ? text_of(http_exchange_target(call->exchange)) : TEXT("");
    struct text path;
    if (!call->exchange) {
        write_route(out, &call->route, call->route.action != ROUTE_LIST);
    } else if (text_cut(&target, '?', &path)) {
        path = utf8_prefix(path, PATH_SHOWN_OCTETS);
        buffer_add(out, path.at, path.len);
    }
}

static enum log_level level_of(int status)
{
    if (status >= 500)
        return LOG_WARN;
    return status == 404 ? LOG_DEBUG : LOG_INFO;
}

// A stranger's requests may be a flood; those of people who may ask are told one by one.
struct refused_request {
    const char *stranger; // address; NULL: it is somebody who may ask
    const char *method;
    const char *path;
    const char *reason;
};

static void log_refusal(const struct intent_api *api, int status,
                        const struct refused_request *refused)
{
    char code[12];
    struct refusal refusal = {.is_worth_reporting = true, .count = 1};
    enum log_level level = level_of(status);
    if (!log_has(api->options.log, level))
        return;
    snprintf(code, sizeof code, "%d", status);
    if (refused->stranger)
        refusal = refusals_count(api->refusals, refused->stranger, code,
                                 loop_mono_ms(api->options.world->loop));
    if (!refusal.is_worth_reporting)
        return;
    log_line(api->options.log, level, status >= 500 ? "request failed" : "request refused",
             LOG_TEXT("method", refused->method), LOG_TEXT("path", refused->path),
             LOG_INT("status", status), LOG_TEXT("reason", refused->reason),
             LOG_TEXT("peer", refusal.is_of_many ? "other peers" : refused->stranger),
             LOG_INT("count", (int64_t)refusal.count), LOG_END);
}

void call_log_refusal(const struct call *call, int status, const char *reason)
{
    AUTO_BUFFER path = {0};
    bool is_stranger = !call->is_judged && call->exchange;
    write_asked_path(&path, call);
    const struct refused_request refused = {
        .stranger = is_stranger ? http_exchange_peer(call->exchange) : NULL,
        .method = call->method,
        .path = buffer_text(&path).at,
        .reason = reason,
    };
    log_refusal(call->api, status, &refused);
}

void call_end(struct call *call, int status)
{
    intent_counts_add(call->api->counts, call->is_counted ? &call->route : NULL, status);
    log_answer(call, status);
    call_free(call);
}

// ---- dispatch -----------------------------------------------------------------------------------

static void serve_method(struct call *call)
{
    bool is_get = !strcmp(call->method, "GET");
    switch (call->route.action) {
    case ROUTE_LIST:
        (is_get ? call_show_list : call_create)(call);
        return;
    case ROUTE_ITEM:
        if (is_get)
            call_show_item(call);
        else
            (strcmp(call->method, "PUT") ? call_remove : call_replace)(call);
        return;
    case ROUTE_STATUS:
        call_show_status(call);
        return;
    case ROUTE_APPROVE:
    case ROUTE_INSTANTIATE:
    case ROUTE_TERMINATE:
    case ROUTE_UPDATE:
        call_act(call);
        return;
    case ROUTE_APPS:
        call_show_apps(call);
        return;
    case ROUTE_OPENAPI:
        call_answer_tree(call, 200, openapi_document(call->arena), NULL, NULL);
        return;
    }
}

static bool read_route(struct call *call)
{
    struct error err;
    call->faults = (struct body_faults){.arena = call->arena};
    if (!route_parse(call->arena, http_exchange_target(call->exchange), &call->route, &err)) {
        call_answer_error(call, &err);
        return false;
    }
    call->is_counted = true;
    if (!route_allows(call->route.action, call->method)) {
        call_answer_text(call, 405, "this path does not take that method", NULL);
        return false;
    }
    return true;
}

static void call_serve(struct call *call)
{
    struct text_lines lines = {.arena = call->arena};
    if (!read_route(call))
        return;
    if (call->route.action != ROUTE_OPENAPI && !engine_is_synced(call->api->options.engine)) {
        text_lines_add(&lines, "not all objects are read yet");
        call_answer_text(call, 503,
                         "The server encountered an internal error and was unable to complete "
                         "your request.",
                         &lines);
        return;
    }
    serve_method(call);
}

// ---- who may ------------------------------------------------------------------------------------

static const char *verb_of(const struct call *call)
{
    static const char *const verbs[][2] = {
        {"GET", "get"}, {"POST", "create"}, {"PUT", "update"}, {"DELETE", "delete"}};
    bool is_get = !strcmp(call->method, "GET");
    bool is_part = resources[call->route.resource].list != NULL;
    if (is_get && route_is_list(call->route.action) && !is_part)
        return "list";
    if (!is_get && (is_part || call->route.action > ROUTE_ITEM))
        return "update";
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (!strcmp(call->method, verbs[i][0]))
            return verbs[i][1];
    return "get";
}

static const char *only_header(const struct call *call, const char *name)
{
    return http_exchange_header(call->exchange, name, 1) ? NULL : call_header(call, name);
}

static void ask_judge(struct call *call)
{
    const struct route *route = &call->route;
    const struct resource *resource = &resources[route->resource];
    bool has_object = !route_is_list(route->action) || resource->list;
    struct place place = {.key = {.name = TEXT("")}};
    enum resource_id object = resource->list ? resource->parent : route->resource;
    if (has_object)
        place_find(call->api->options.engine, call->arena, object, route->names, &place);
    struct intent_access access = {
        .authorization = only_header(call, "Authorization"),
        .remote_user = only_header(call, "X-Remote-User"),
        .origin = call_header(call, "Origin"),
        .peer = http_exchange_peer(call->exchange),
        .verb = verb_of(call),
        .kind = resource->kind,
        .namespace_ = resource->kind->is_namespaced ? place_namespace(call->arena, route->names[0])
                                                    : TEXT(""),
        .name = has_object ? place.key.name : TEXT(""),
    };
    call->api->options.judge(call->api->options.context, &access, call);
}

static void refuse_forbidden(struct call *call)
{
    struct text_lines lines = {.arena = call->arena};
    const struct kind *kind = resources[call->route.resource].kind;
    text_lines_add(&lines, "%s on %s%s%s is needed", verb_of(call), kind->plural,
                   *kind->group ? "." : "", kind->group);
    call_answer_text(call, 403, "Forbidden", &lines);
}

void intent_api_judged(void *asker, enum intent_judgement judgement)
{
    struct call *call = asker;
    if (judgement == INTENT_ALLOWED) {
        call->is_judged = true;
        call_serve(call);
    } else if (judgement == INTENT_UNKNOWN) {
        call_answer_text(call, 401, "Unauthorized", NULL);
    } else if (judgement == INTENT_FORBIDDEN) {
        refuse_forbidden(call);
    } else {
        call_answer_text(call, 503, "It cannot be said now who asks: try again", NULL);
    }
}

// ---- arrivals -----------------------------------------------------------------------------------

static void handle(void *context, struct http_exchange *exchange)
{
    struct intent_api *api = context;
    struct call *call = mem_new_of(struct call);
    *call = (struct call){.api = api,
                          .exchange = exchange,
                          .arena = arena_new(),
                          .method = http_exchange_method(exchange)};
    list_append(&api->calls, call);
    http_exchange_set_data(exchange, call);
    if (!read_route(call))
        return;
    if (api->options.judge && call->route.action != ROUTE_OPENAPI) {
        ask_judge(call);
        return;
    }
    call->is_judged = true;
    call_serve(call);
}

// What is being written goes on: its answer finds nobody.
static void client_gone(void *context, struct http_exchange *exchange)
{
    struct intent_api *api = context;
    struct call *call = http_exchange_data(exchange);
    if (!call)
        return;
    call->exchange = NULL;
    if (call->is_judged)
        return;
    api->options.forget(api->options.context, call);
    call_free(call);
}

static void write_refusal(void *context, const struct http_exchange *exchange, int status,
                          const char *text, struct buffer *out)
{
    struct intent_api *api = context;
    size_t start = out->len;
    intent_counts_add(api->counts, NULL, status);
    if (status == 413)
        buffer_printf(out, "a body has at most %zu octets", api->options.max_body_octets);
    else if (status == 503)
        buffer_printf(out, "at most %d connections are served at once: try again", CONNECTIONS_MAX);
    else
        buffer_add_text(out, text);
    log_refusal(api, status,
                &(struct refused_request){.stranger = http_exchange_peer(exchange),
                                          .reason = buffer_text(out).at + start});
    buffer_add_char(out, '\n');
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct intent_api *api = context;
    api->options.listening(api->options.context, at, trouble);
}

// ---- public -------------------------------------------------------------------------------------

struct intent_api *intent_api_new(const struct intent_api_options *options, struct error *err)
{
    struct intent_api *api = mem_new_of(struct intent_api);
    api->options = *options;
    const struct http_server_options server = {
        .address = options->address,
        .port = options->port,
        .max_connections = CONNECTIONS_MAX,
        .max_head_octets = HEAD_OCTETS,
        .max_body_octets = options->max_body_octets,
        .head_timeout_ms = IDLE_MS,
        .body_timeout_ms = IDLE_MS,
        .is_tls = options->is_tls,
        .handle = handle,
        .gone = client_gone,
        .write_refusal = write_refusal,
        .refusal_type = "text/plain; charset=utf-8",
        .listening = options->listening ? listening : NULL,
        .context = api,
    };
    api->refusals = refusals_new();
    api->server = http_server_new(options->world->loop, &server, err);
    if (api->server)
        return api;
    intent_api_free(api);
    return NULL;
}

void intent_api_free(struct intent_api *api)
{
    if (!api)
        return;
    http_server_free(api->server);
    refusals_free(api->refusals);
    while (!list_is_empty(&api->calls))
        call_free(list_first(&api->calls));
    free(api);
}

bool intent_api_set_certificate(struct intent_api *api, const struct http_server_tls *tls,
                                struct error *err)
{
    return http_server_set_tls(api->server, tls, err);
}

const char *intent_api_trouble(const struct intent_api *api)
{
    return http_server_trouble(api->server);
}

bool intent_api_is_ipv4_fallback(const struct intent_api *api)
{
    return http_server_is_ipv4_fallback(api->server);
}

void intent_api_count_in(struct intent_api *api, struct intent_counts *counts)
{
    api->counts = counts;
}
