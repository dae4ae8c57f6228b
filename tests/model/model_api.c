#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/must.h"
#include "model/model_api_private.h"

static const struct http_ops api_ops;

static struct model_api *of(struct http *http)
{
    must(http->ops == &api_ops);
    return (struct model_api *)http;
}

size_t model_api_index(const struct model_api *api, const struct store_kind *row)
{
    size_t count;
    size_t at = (size_t)(row - model_server_kinds(api->server, &count));
    must(at < count && at < KINDS_MAX);
    return at;
}

// ---- calls --------------------------------------------------------------------------------------

static struct http_call *call_new(struct model_api *api, const struct http_request *request,
                                  http_done *done, void *context)
{
    struct http_call *call = mem_new_of(struct http_call);
    *call = (struct http_call){
        .api = api,
        .previous = api->last,
        .done = done,
        .context = context,
        .piece = request->piece,
        .max_body_octets = request->max_body_octets ? request->max_body_octets : 1024 * 1024,
        .timeout_ms = request->timeout_ms,
    };
    if (api->last)
        api->last->next = call;
    else
        api->first = call;
    api->last = call;
    snprintf(call->audit, sizeof call->audit, "audit-%llu", (unsigned long long)++api->audits);
    return call;
}

static void call_unlink(struct http_call *call)
{
    struct model_api *api = call->api;
    if (call->previous)
        call->previous->next = call->next;
    else
        api->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        api->last = call->previous;
}

static void call_free(struct http_call *call)
{
    loop_timer_cancel(call->api->loop, &call->timer);
    model_stream_free(call->stream);
    model_json_unref(call->json);
    buffer_done(&call->body);
    free(call);
}

void model_call_break(struct http_call *call, enum http_failure failure, const char *text)
{
    model_stream_free(steal(call->stream));
    call->reply.failure = failure;
    call->reply.status = 0;
    error_set(&call->reply.error, FAULT_AGAIN, "ServerUnreachable", "%s", text);
}

static void add_header(struct http_call *call, const char *name, const char *value)
{
    call->headers[call->reply.header_count++] = (struct http_header){name, value};
}

void model_call_finish(struct http_call *call)
{
    if (call->reply.failure == HTTP_OK) {
        add_header(call, "Audit-Id", call->audit);
        add_header(call, "Content-Type", call->content_type);
        if (call->retry_after[0])
            add_header(call, "Retry-After", call->retry_after);
        call->reply.headers = call->headers;
    }
    call_unlink(call);
    call->done(call->context, &call->reply);
    call_free(call);
}

static size_t next_piece(struct model_api *api, size_t left)
{
    if (!api->piece_octets)
        return left;
    api->chance = api->chance * 6364136223846793005ULL + 1442695040888963407ULL;
    size_t octets = 1 + (size_t)(api->chance >> 33) % (2 * api->piece_octets);
    return octets < left ? octets : left;
}

bool model_call_feed(struct http_call *call, struct text body)
{
    call->is_fed = true;
    if (!call->has_head)
        call->piece(call->context, TEXT(""));
    call->has_head = true;
    while (body.len && !call->is_cancelled) {
        size_t octets = next_piece(call->api, body.len);
        // A copy of its own, so that reading beyond it shows.
        autofree char *copy = mem_copy(body.at, octets);
        call->piece(call->context, (struct text){copy, octets});
        body = (struct text){body.at + octets, body.len - octets};
    }
    call->is_fed = false;
    if (!call->is_cancelled)
        return true;
    call_free(call);
    return false;
}

static struct text body_of(const struct http_call *call)
{
    return call->json ? (struct text){call->json->at, call->json->len} : buffer_text(&call->body);
}

static void give_reply(void *context)
{
    struct http_call *call = context;
    struct text body = body_of(call);
    if (call->reply.failure == HTTP_OK && call->piece && call->reply.status / 100 == 2) {
        if (!model_call_feed(call, body))
            return;
        body = TEXT("");
    }
    if (call->reply.failure == HTTP_OK && body.len > call->max_body_octets)
        model_call_break(call, HTTP_TOO_BIG, "the answer is too large");
    if (call->reply.failure == HTTP_OK)
        call->reply.body = body;
    model_call_finish(call);
}

// ---- who may ------------------------------------------------------------------------------------

static const char *header_of(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcasecmp(request->headers[i].name, name))
            return request->headers[i].value;
    return "";
}

bool model_api_is_denied(const struct model_api *api, const char *verb, struct text resource)
{
    for (size_t i = 0; i < api->denial_count; i++) {
        const struct model_denial *denial = &api->denials[i];
        if ((!denial->verb || !strcmp(denial->verb, verb)) &&
            (!denial->resource || text_is(resource, denial->resource)))
            return true;
    }
    return false;
}

static bool is_allowed(const struct http_call *call, const struct model_target *target,
                       struct arena *arena)
{
    const char *resource = target->row->kind->plural;
    if (target->sub.len)
        resource = arena_printf(arena, "%s/%.*s", resource, TEXT_ARGS(target->sub));
    return !model_api_is_denied(call->api, model_verbs[target->verb], text_of(resource));
}

static bool is_known(const struct model_api *api, const struct http_request *request)
{
    const char *header = header_of(request, "Authorization");
    return !api->token || (!strncmp(header, "Bearer ", 7) && !strcmp(header + 7, api->token));
}

static bool let_in(struct http_call *call, const struct model_target *target,
                   const struct http_request *request, struct arena *arena)
{
    struct model_api *api = call->api;
    if (!is_known(api, request)) {
        model_refuse_fault(call, target, MODEL_UNAUTHORIZED);
        return false;
    }
    if (!target->row)
        return true;
    if (!is_allowed(call, target, arena)) {
        model_refuse_fault(call, target, MODEL_FORBIDDEN);
        return false;
    }
    size_t at = model_api_index(api, target->row);
    if (api->is_absent[at]) {
        model_answer_text(call, 404, "404 page not found\n");
        return false;
    }
    if (target->verb == VERB_WATCH && api->is_starting[at]) {
        api->is_starting[at] = false;
        model_refuse_fault(call, target, MODEL_STARTING);
        return false;
    }
    return true;
}

// ---- what a call does ---------------------------------------------------------------------------

static enum model_write sort_of(const struct model_target *target,
                                const struct http_request *request)
{
    static const enum model_write reads[] = {
        [VERB_GET] = MODEL_GET, [VERB_LIST] = MODEL_LIST, [VERB_WATCH] = MODEL_WATCH};
    if (target->verb <= VERB_WATCH)
        return reads[target->verb];
    if (target->key.kind == &model_lease_kind)
        return MODEL_LEASE;
    if (target->key.kind == &model_event_kind)
        return MODEL_EVENT;
    if (target->key.kind == &model_review_kind)
        return MODEL_REVIEW;
    if (target->verb != VERB_PATCH)
        return MODEL_OTHER_WRITE;
    if (text_is(target->sub, "status"))
        return MODEL_PATCH_STATUS;
    const char *type = header_of(request, "Content-Type");
    return !strncmp(type, "application/apply-patch", 23)   ? MODEL_APPLY
           : !strncmp(type, "application/merge-patch", 23) ? MODEL_REMOVE_FINALIZER
                                                           : MODEL_OTHER_WRITE;
}

static void serve(struct http_call *call, const struct model_target *target,
                  const struct http_request *request, struct arena *arena)
{
    static model_handler *const handlers[VERBS] = {
        [VERB_GET] = model_handle_get,       [VERB_LIST] = model_handle_list,
        [VERB_WATCH] = model_handle_watch,   [VERB_CREATE] = model_handle_create,
        [VERB_UPDATE] = model_handle_update, [VERB_PATCH] = model_handle_patch,
        [VERB_DELETE] = model_handle_delete,
    };
    if (!let_in(call, target, request, arena))
        return;
    if (target->row)
        handlers[target->verb](call, target, request, arena);
    else
        model_handle_discovery(call, target, request, arena);
}

// False: the server has yet to act.
static bool meet(struct http_call *call, const struct model_target *target,
                 const struct http_request *request, struct arena *arena, enum model_fault fault)
{
    switch (fault) {
    case MODEL_LOSES:
    case MODEL_MISSING:
        serve(call, target, request, arena);
        model_call_break(call, HTTP_UNREACHABLE, "the connection was reset");
        call->is_silent = fault == MODEL_MISSING;
        if (fault == MODEL_MISSING)
            loop_stop(call->api->loop);
        return true;
    case MODEL_UNREACHABLE:
        model_call_break(call, HTTP_UNREACHABLE, "cannot connect to api.test: refused");
        return true;
    case MODEL_SILENT:
        model_call_break(call, HTTP_TIMEOUT, "no answer from api.test");
        call->is_silent = true;
        return true;
    case MODEL_EXPIRED:
        return false;
    case MODEL_FAILS:
    case MODEL_CONFLICT:
    case MODEL_LIMIT:
    case MODEL_UNAVAILABLE:
    case MODEL_STARTING:
    case MODEL_UNAUTHORIZED:
    case MODEL_FORBIDDEN:
        break;
    }
    model_refuse_fault(call, target, fault);
    return true;
}

static void act(struct http_call *call, const struct model_target *target,
                const struct http_request *request, struct arena *arena)
{
    enum model_fault fault;
    struct model_api *api = call->api;
    if (target->row)
        api->calls[target->verb][model_api_index(api, target->row)]++;
    if (!target->row || !model_server_take_fault(api->server, sort_of(target, request), &fault)) {
        serve(call, target, request, arena);
        return;
    }
    if (meet(call, target, request, arena, fault))
        return;
    serve(call, target, request, arena);
    if (call->stream)
        model_stream_expire(call);
    else
        model_refuse_fault(call, target, MODEL_EXPIRED);
}

static void set_out(struct http_call *call)
{
    struct model_api *api = call->api;
    int64_t wait_ms = model_server_reply_ms(api->server) + call->more_ms;
    if (call->stream)
        return;
    call->timer = (struct loop_timer){.call = give_reply, .context = call};
    bool is_late = call->is_silent || (call->timeout_ms > 0 && wait_ms > call->timeout_ms);
    if (is_late)
        model_call_break(call, HTTP_TIMEOUT, "no answer from api.test in time");
    if (is_late && call->timeout_ms <= 0)
        return;
    loop_timer_set(api->loop, &call->timer, is_late ? call->timeout_ms : wait_ms);
}

static const char *path_of(const struct model_api *api, const char *url)
{
    size_t len = strlen(api->url);
    return !strncmp(url, api->url, len) && (url[len] == '/' || !url[len]) ? url + len : NULL;
}

static struct http_call *api_send(struct http *http, const struct http_request *request,
                                  http_done *done, void *context)
{
    struct model_api *api = of(http);
    const char *path = path_of(api, request->url);
    if (!path && api->next)
        return http_send(api->next, request, done, context);
    struct model_target target = {.verb = VERB_GET};
    struct http_call *call = call_new(api, request, done, context);
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!path || api->is_down)
        model_call_break(call, HTTP_UNREACHABLE, "cannot connect to api.test: connection refused");
    else if (model_target_read(&target, api->server, arena, request->method, path))
        act(call, &target, request, arena);
    else
        model_answer_text(call, 404, "404 page not found\n");
    set_out(call);
    return call;
}

static void api_cancel(struct http *http, struct http_call *call)
{
    struct model_api *api = of(http);
    struct http_call *own = api->first;
    while (own && own != call)
        own = own->next;
    if (!own) {
        http_cancel(api->next, call);
        return;
    }
    call_unlink(call);
    call->is_cancelled = true;
    if (!call->is_fed)
        call_free(call);
}

static void api_free(struct http *http)
{
    (void)http;
}

static const struct http_ops api_ops = {api_send, api_cancel, api_free};

// ---- life ---------------------------------------------------------------------------------------

static void changed(struct model_watcher *watcher, const struct model_event *event)
{
    struct model_api *api =
        (struct model_api *)((char *)watcher - offsetof(struct model_api, watcher));
    for (struct http_call *call = api->first; call; call = call->next)
        if (call->stream && call->stream->row == event->kind)
            model_stream_changed(call, event);
}

struct model_api *model_api_new(struct model_server *server, const char *url, struct http *next)
{
    struct model_api *api = mem_new_of(struct model_api);
    *api = (struct model_api){.http = {&api_ops},
                              .loop = model_server_loop(server),
                              .server = server,
                              .watcher = {.changed = changed},
                              .next = next,
                              .url = mem_copy_text(url),
                              .has_streaming = true};
    model_server_watch(server, &api->watcher);
    return api;
}

void model_api_set_loop(struct model_api *api, struct loop *loop)
{
    must(!api->first);
    api->loop = loop;
}

void model_api_free(struct model_api *api)
{
    if (!api)
        return;
    model_server_unwatch(api->server, &api->watcher);
    for (struct http_call *call = api->first, *next; call; call = next) {
        next = call->next;
        call_free(call);
    }
    model_api_allow_all(api);
    free(api->token);
    free(api->url);
    free(api);
}

struct http *model_api_http(struct model_api *api)
{
    return &api->http;
}

// ---- how it behaves -----------------------------------------------------------------------------

void model_api_set_pieces(struct model_api *api, uint64_t seed, size_t octets)
{
    api->chance = seed;
    api->piece_octets = octets;
}

void model_api_set_streaming(struct model_api *api, bool has_streaming)
{
    api->has_streaming = has_streaming;
}

static char *copy_or_null(const char *text)
{
    return text ? mem_copy_text(text) : NULL;
}

void model_api_set_token(struct model_api *api, const char *token)
{
    free(api->token);
    api->token = copy_or_null(token);
}

void model_api_deny(struct model_api *api, const char *verb, const char *resource)
{
    must(api->denial_count < DENIALS_MAX);
    api->denials[api->denial_count++] =
        (struct model_denial){copy_or_null(verb), copy_or_null(resource)};
}

void model_api_allow_all(struct model_api *api)
{
    for (size_t i = 0; i < api->denial_count; i++) {
        free(api->denials[i].verb);
        free(api->denials[i].resource);
    }
    api->denial_count = 0;
}

static bool is_of(const struct store_kind *row, const char *resource)
{
    return !resource || !strcmp(row->kind->plural, resource);
}

void model_api_set_installed(struct model_api *api, const char *resource, bool is_installed)
{
    size_t count;
    const struct store_kind *rows = model_server_kinds(api->server, &count);
    for (size_t i = 0; i < count; i++)
        if (is_of(&rows[i], resource))
            api->is_absent[i] = !is_installed;
    if (!is_installed)
        model_api_meet(api, resource, STREAM_ENDS);
}

void model_api_set_down(struct model_api *api, bool is_down)
{
    api->is_down = is_down;
}

// ---- what happens to it -------------------------------------------------------------------------

static void begin_anew(struct model_api *api, uint64_t version)
{
    size_t count;
    model_server_kinds(api->server, &count);
    model_api_meet(api, NULL, STREAM_BREAKS);
    model_server_forget(api->server, version);
    for (size_t i = 0; i < count; i++)
        api->is_starting[i] = true;
}

void model_api_restart(struct model_api *api)
{
    begin_anew(api, model_server_version(api->server) + 1);
}

void model_api_rewind(struct model_api *api, uint64_t versions)
{
    uint64_t now = model_server_version(api->server);
    must(versions <= now);
    begin_anew(api, now - versions);
}

void model_api_meet(struct model_api *api, const char *resource, enum model_stream_fault fault)
{
    for (struct http_call *call = api->first; call; call = call->next)
        if (call->stream && is_of(call->stream->row, resource))
            model_stream_meet(call, fault);
}

// ---- looking in ---------------------------------------------------------------------------------

size_t model_api_stream_count(const struct model_api *api, const char *resource)
{
    size_t count = 0;
    for (const struct http_call *call = api->first; call; call = call->next)
        count += call->stream && is_of(call->stream->row, resource);
    return count;
}

size_t model_api_calls(const struct model_api *api, const char *verb, const char *resource)
{
    size_t kinds;
    size_t count = 0;
    const struct store_kind *rows = model_server_kinds(api->server, &kinds);
    for (size_t i = 0; i < VERBS; i++)
        for (size_t k = 0; k < kinds; k++)
            if ((!verb || !strcmp(verb, model_verbs[i])) && is_of(&rows[k], resource))
                count += api->calls[i][k];
    return count;
}
