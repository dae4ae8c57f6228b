#include "frontends/intent/intent_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "frontends/intent/request.h"

enum { MAX_CONNECTIONS = 256, BODY_MS = 30000 };

// ---- reading ------------------------------------------------------------------------------------

static const struct value *find_part(struct request *request)
{
    struct found found;
    const struct resource *resource = request->route.resource;
    if (!has_parents(request, resource) || !find_item(request, holder_of(resource), &found) ||
        !found.object)
        return NULL;
    if (resource->form == RESOURCE_OBJECT)
        return found.tree;
    return document_find_entry(resource, found.tree,
                               request->route.names[request->route.name_count - 1], NULL);
}

// `?key=K` of a set of keys and values: the one value.
static void answer_pair(struct request *request, const struct value *part, struct text key)
{
    value_each (pairs, value_find(part, "kv")) {
        const struct value *found = value_find_text(pairs, key);
        struct value *shown = value_make(request->arena, VALUE_MAP);
        if (!found)
            continue;
        value_set(shown, key, value_copy(request->arena, found));
        answer_json(request, 200, shown, false);
        return;
    }
    answer_text(request, 404, "Cluster KV pair key value not found", NULL);
}

static void get_item(struct request *request)
{
    const struct resource *resource = request->route.resource;
    const struct value *part = find_part(request);
    struct text key = route_parameter(&request->route, "key");
    if (!part)
        answer_text(request, 404, resource->not_found, NULL);
    else if (key.at && resource->list && !strcmp(resource->list, "kvPairs"))
        answer_pair(request, part, key);
    else
        answer_json(request, 200, document_show(request->arena, resource, part), false);
}

static void status_came(void *context, const struct store_reply *reply)
{
    struct request *request = context;
    struct value *shown = value_make(request->arena, VALUE_MAP);
    const struct value *status = reply->is_ok ? value_find(reply->tree, "status") : NULL;
    if (!reply->is_ok && reply->error.status == 404) {
        answer_text(request, 404, request->route.resource->not_found, NULL);
        return;
    }
    if (!reply->is_ok) {
        answer_error(request, &reply->error);
        return;
    }
    value_put(request->arena, shown, "metadata.name",
              value_make_text(request->arena, request->route.names[request->route.name_count - 1]));
    value_set(shown, TEXT("status"),
              status ? value_copy(request->arena, status) : value_make(request->arena, VALUE_MAP));
    answer_json(request, 200, shown, false);
}

static void get_status(struct request *request)
{
    struct found found;
    if (!find_item(request, request->route.resource, &found) || !found.object)
        answer_text(request, 404, request->route.resource->not_found, NULL);
    else
        engine_read_object(request->api->options.engine, &found.key, status_came, request);
}

// ---- methods ------------------------------------------------------------------------------------

static void serve_get(struct request *request)
{
    if (request->route.action && strcmp(request->route.action, "status") != 0)
        answer_method(request);
    else if (request->route.action)
        get_status(request);
    else if (request->route.is_item)
        get_item(request);
    else
        list_items(request);
}

void serve_request(struct request *request)
{
    const struct route *route = &request->route;
    bool is_lifecycle = route->action && strcmp(route->action, "status") != 0;
    if (!strcmp(request->method, "GET"))
        serve_get(request);
    else if (!strcmp(request->method, "POST") && is_lifecycle)
        act_on_item(request);
    else if (!strcmp(request->method, "POST") && !route->is_item)
        change_item(request);
    else if (!strcmp(request->method, "PUT") && route->is_item && !route->action)
        change_item(request);
    else if (!strcmp(request->method, "DELETE") && route->is_item && !route->action)
        delete_item(request);
    else
        answer_method(request);
}

// ---- who asks -----------------------------------------------------------------------------------

static const char *verb_of(const struct request *request)
{
    bool is_entry = request->route.resource->form != RESOURCE_OBJECT;
    if (!strcmp(request->method, "GET"))
        return request->route.is_item || is_entry ? "get" : "list";
    if (is_entry || request->route.action || !strcmp(request->method, "PUT"))
        return "update";
    return strcmp(request->method, "DELETE") ? "create" : "delete";
}

static struct text read_bearer(const struct request *request)
{
    const char *header = http_exchange_header(request->exchange, "Authorization", 0);
    if (!header || http_exchange_header(request->exchange, "Authorization", 1) ||
        !text_equal_nocase((struct text){header, strlen(header) < 7 ? strlen(header) : 7},
                           TEXT("Bearer ")))
        return (struct text){0};
    return text_trim(text_of(header + 7));
}

static void judge(struct request *request)
{
    const struct intent_api_options *options = &request->api->options;
    const char *user = http_exchange_header(request->exchange, "X-Remote-User", 0);
    if (!options->judge) {
        serve_request(request);
        return;
    }
    struct intent_access access = {
        .token = read_bearer(request),
        .peer = http_exchange_peer(request->exchange),
        .user = http_exchange_header(request->exchange, "X-Remote-User", 1) ? (struct text){0}
                                                                            : text_of(user),
        .verb = verb_of(request),
        .kind = request->route.resource->kind,
        .namespace_ = TEXT(""),
    };
    if (access.kind->is_namespaced)
        access.namespace_ = project_namespace(request);
    if (!access.namespace_.at)
        access.namespace_ = request->route.names[0];
    request->is_judging = true;
    options->judge(options->context, &access, request);
}

void intent_api_judged(void *asker, enum intent_answer answer)
{
    struct request *request = asker;
    request->is_judging = false;
    switch (answer) {
    case INTENT_ALLOWED:
        serve_request(request);
        return;
    case INTENT_UNKNOWN:
        answer_text(request, 401, "Unauthorized",
                    "a bearer token that the cluster knows is expected\n");
        return;
    case INTENT_FORBIDDEN:
        answer_text(request, 403, "Forbidden",
                    arena_printf(request->arena, "verb %s on %s is not allowed\n", verb_of(request),
                                 request->route.resource->kind->plural));
        return;
    case INTENT_UNSURE:
        answer_text(request, 503, "The token cannot be checked now", NULL);
        return;
    }
}

// ---- requests -----------------------------------------------------------------------------------

static void try_again(void *context)
{
    serve_request(context);
}

static bool reads_all(const struct intent_api *api)
{
    for (const struct resource *const *resource = resources; *resource; resource++)
        if (!engine_knows_kind(api->options.engine, (*resource)->kind))
            return false;
    return true;
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct intent_api *api = context;
    struct error err = {0};
    struct request *request = mem_new_of(struct request);
    *request = (struct request){.api = api,
                                .exchange = exchange,
                                .arena = arena_new(),
                                .timer = {.call = try_again, .context = request}};
    list_append(&api->requests, request);
    http_exchange_set_data(exchange, request);
    request->method = arena_copy_text(request->arena, http_exchange_method(exchange));
    if (!route_read(request->arena, http_exchange_target(exchange), &request->route, &err)) {
        answer_text(request, err.status, err.status == 404 ? "Not found" : "Invalid Input:",
                    arena_printf(request->arena, "%s\n", err.text));
        return;
    }
    request->is_routed = true;
    if (!request->route.resource || !strcmp(request->method, "OPTIONS"))
        answer_method(request);
    else if (!reads_all(api))
        answer_text(request, 503, "The objects are still being read", NULL);
    else
        judge(request);
}

// What it asked for goes on; nobody hears of its end.
static void client_gone(void *context, struct http_exchange *exchange)
{
    struct intent_api *api = context;
    struct request *request = http_exchange_data(exchange);
    if (!request)
        return;
    request->exchange = NULL;
    if (!request->is_judging)
        return;
    api->options.forget(api->options.context, request);
    request_free(request);
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct intent_api *api = context;
    api->options.listening(api->options.context, at, trouble);
}

// ---- life ---------------------------------------------------------------------------------------

struct intent_api *intent_api_new(const struct intent_api_options *options, struct error *err)
{
    struct intent_api *api = mem_new_of(struct intent_api);
    api->options = *options;
    const struct http_server_options server = {
        .address = options->address,
        .port = options->port,
        .max_body_octets = options->max_body_octets,
        .max_connections = MAX_CONNECTIONS,
        .body_timeout_ms = BODY_MS,
        .is_tls = options->is_tls,
        .handle = handle,
        .gone = client_gone,
        .listening = options->listening ? listening : NULL,
        .context = api,
    };
    api->server = http_server_new(options->world->loop, &server, err);
    if (api->server)
        return api;
    free(api);
    return NULL;
}

void intent_api_close(struct intent_api *api)
{
    list_each (request, &api->requests)
        if (request->exchange)
            http_exchange_set_data(request->exchange, NULL);
    list_each (request, &api->requests) {
        if (request->is_judging)
            api->options.forget(api->options.context, request);
        request->exchange = NULL;
        loop_timer_cancel(api->options.world->loop, &request->timer);
    }
    http_server_free(api->server);
    api->server = NULL;
}

void intent_api_free(struct intent_api *api)
{
    if (!api)
        return;
    list_each (request, &api->requests)
        request_free(request);
    for (size_t i = 0; i < api->count_count; i++)
        free(api->counts[i].route);
    free(api->counts);
    free(api);
}

bool intent_api_set_tls(struct intent_api *api, const struct http_server_tls *tls,
                        struct error *err)
{
    return http_server_set_tls(api->server, tls, err);
}

const char *intent_api_trouble(const struct intent_api *api)
{
    return api->server ? http_server_trouble(api->server) : NULL;
}

static uint64_t count_requests(struct intent_api *const *apis, size_t count,
                               const struct code_count *wanted, bool *is_first)
{
    uint64_t requests = 0;
    *is_first = true;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < apis[i]->count_count; n++) {
            const struct code_count *row = &apis[i]->counts[n];
            if (row->code != wanted->code || strcmp(row->route, wanted->route) != 0)
                continue;
            *is_first = *is_first && (requests || row == wanted);
            requests += row->count;
        }
    return requests;
}

void intent_apis_write_metrics(struct intent_api *const *apis, size_t count, struct buffer *out)
{
    bool is_first;
    if (!count)
        return;
    metric_write_head(out, "signpost_intent_requests_total", "counter",
                      "Requests to the REST API of DNS update records, by route and code.");
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < apis[i]->count_count; n++) {
            const struct code_count *row = &apis[i]->counts[n];
            uint64_t requests = count_requests(apis, count, row, &is_first);
            if (is_first)
                buffer_printf(out,
                              "signpost_intent_requests_total{route=\"%s\",code=\"%d\"} %llu\n",
                              row->route, row->code, (unsigned long long)requests);
        }
}
