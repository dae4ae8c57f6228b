#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/must.h"
#include "model/model_backend_private.h"

enum { FAULTS_MAX = 8, DELAY_MS = 2 };

struct planned_fault {
    unsigned skip;
    enum model_network_fault fault;
};

struct model_http {
    struct http http;
    struct model_backend *backend;
    struct loop *loop;
};

struct model_backend {
    struct loop *loop;
    struct model_http http;
    struct model_host *hosts;
    struct model_request *requests;
    size_t request_count;
    size_t request_capacity;
    size_t change_count;
    struct http_call *calls;
    struct planned_fault faults[FAULTS_MAX];
    size_t fault_count;
    bool has_met_fault;
};

// ---- what a call says ---------------------------------------------------------------------------

const char *model_backend_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcasecmp(request->headers[i].name, name))
            return request->headers[i].value;
    return "";
}

void model_backend_answer(struct http_call *call, int status, struct text body)
{
    call->reply.failure = HTTP_OK;
    call->reply.status = status;
    free(call->body);
    call->body = body.at ? text_dup(body) : mem_copy_text("");
    call->reply.body = text_of(call->body);
}

void model_backend_add_header(struct http_call *call, const char *name, const char *value)
{
    must(call->header_count < CALL_HEADERS_MAX);
    call->headers[call->header_count++] =
        (struct http_header){mem_copy_text(name), mem_copy_text(value)};
}

void model_backend_break(struct http_call *call, enum http_failure failure, const char *text)
{
    call->reply.failure = failure;
    call->reply.status = 0;
    error_set(&call->reply.error, FAULT_AGAIN, "", "%s", text);
    free(call->body);
    call->body = NULL;
    call->reply.body = (struct text){0};
}

// ---- the network --------------------------------------------------------------------------------

static struct model_host *host_at(const struct model_backend *backend, const char *url,
                                  const char **path)
{
    for (struct model_host *host = backend->hosts; host; host = host->next) {
        size_t len = strlen(host->url);
        if (!strncmp(host->url, url, len) && (url[len] == '/' || !url[len])) {
            *path = url + len;
            return host;
        }
    }
    const char *name = strstr(url, "://");
    *path = name ? strchrnul(name + 3, '/') : url;
    return NULL;
}

static void call_unlink(struct http_call *call)
{
    struct http_call **link = &call->backend->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
}

static void call_leave(struct http_call *call)
{
    struct model_host *host = steal(call->host);
    if (host && host->ops->leave)
        host->ops->leave(host, call);
}

static void call_free(struct http_call *call)
{
    loop_timer_cancel(call->timer_loop, &call->timer);
    call_leave(call);
    for (size_t i = 0; i < call->header_count; i++) {
        free((void *)(uintptr_t)call->headers[i].name);
        free((void *)(uintptr_t)call->headers[i].value);
    }
    free(call->body);
    free(call);
}

static void add_date(struct http_call *call)
{
    time_t unix_s = (loop_unix_ms(call->backend->loop) + call->ahead_ms) / 1000;
    struct tm at;
    strftime(call->date, sizeof call->date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&unix_s, &at));
    model_backend_add_header(call, "Date", call->date);
    call->reply.headers = call->headers;
    call->reply.header_count = call->header_count;
}

static void deliver(void *context)
{
    struct http_call *call = context;
    call_unlink(call);
    call->done(call->context, &call->reply);
    call_free(call);
}

// The host has answered; who sent it may be stopped, and hear of it later.
static void arrive(void *context)
{
    struct http_call *call = context;
    if (call->host && call->host->ops->arrive)
        call->host->ops->arrive(call->host, call);
    call->backend->requests[call->request].status = call->reply.status;
    if (call->reply.failure == HTTP_OK)
        add_date(call);
    call_leave(call);
    if (call->loop == call->timer_loop) {
        deliver(call);
        return;
    }
    call->timer_loop = call->loop;
    call->timer = (struct loop_timer){.call = deliver, .context = call};
    loop_timer_set(call->loop, &call->timer, 0);
}

static bool take_fault(struct model_backend *backend, enum model_network_fault *fault)
{
    bool is_met = false;
    for (size_t i = 0; i < backend->fault_count; i++) {
        struct planned_fault *planned = &backend->faults[i];
        if (planned->skip) {
            planned->skip--;
        } else if (!is_met) {
            is_met = true;
            *fault = planned->fault;
            *planned = backend->faults[--backend->fault_count];
            i--;
        }
    }
    backend->has_met_fault |= is_met;
    return is_met;
}

// Those of a Pi-hole that change none of its lists: it is asked before each change.
static bool is_question(struct model_host *host, const char *method, const char *path)
{
    if (!host || model_host_webhook(host))
        return model_webhook_is_health(path);
    return !strcmp(method, "GET") || strstr(path, "/api/auth");
}

static size_t keep_request(struct model_backend *backend, struct model_host *host,
                           const struct http_request *request, const char *path)
{
    mem_reserve(&backend->requests, &backend->request_capacity, backend->request_count + 1);
    struct buffer body = {0};
    buffer_add(&body, request->body.at ? request->body.at : "", request->body.len);
    backend->requests[backend->request_count] = (struct model_request){
        .host = host,
        .method = mem_copy_text(request->method),
        .path = mem_copy_text(path),
        .body = buffer_steal(&body),
        .at_ms = loop_mono_ms(backend->loop),
        .is_question = is_question(host, request->method, path),
        .is_signed = *model_backend_header(request, "X-DNS-Signature") != '\0'};
    return backend->request_count++;
}

static void call_serve(struct http_call *call, struct model_host *host,
                       const struct http_request *request)
{
    if (!host) {
        model_backend_break(call, HTTP_UNREACHABLE, "cannot resolve the host name");
        return;
    }
    call->host = host;
    host->ops->serve(host, call, request, &call->backend->requests[call->request]);
}

// True: the process dies here.
static bool meet(struct http_call *call, struct model_host *host,
                 const struct http_request *request, enum model_network_fault fault)
{
    if (fault != NETWORK_FAILS)
        call_serve(call, host, request);
    model_backend_break(call, HTTP_UNREACHABLE, "the connection broke");
    if (fault == NETWORK_SILENCE)
        loop_stop(call->loop);
    return fault == NETWORK_SILENCE;
}

static int64_t duration(const struct http_call *call, const struct http_request *request)
{
    return call->reply.failure == HTTP_TIMEOUT ? request->timeout_ms : call->delay_ms;
}

static struct http_call *model_send(struct http *http, const struct http_request *request,
                                    http_done *done, void *context)
{
    const char *path;
    enum model_network_fault fault = NETWORK_FAILS;
    struct model_http *self = (struct model_http *)http;
    struct model_backend *backend = self->backend;
    struct model_host *host = host_at(backend, request->url, &path);
    struct http_call *call = mem_new_of(struct http_call);
    *call = (struct http_call){.backend = backend,
                               .loop = self->loop,
                               .timer_loop = backend->loop,
                               .done = done,
                               .context = context,
                               .delay_ms = DELAY_MS};
    call->request = keep_request(backend, host, request, path);
    call->next = backend->calls;
    backend->calls = call;
    call->timer = (struct loop_timer){.call = arrive, .context = call};
    bool is_change = !model_webhook_is_health(path);
    backend->change_count += is_change;
    if (!is_change || !take_fault(backend, &fault))
        call_serve(call, host, request);
    else if (meet(call, host, request, fault))
        return call;
    if (call->reply.failure == HTTP_OK && duration(call, request) > request->timeout_ms)
        model_backend_break(call, HTTP_TIMEOUT, "no answer in time");
    loop_timer_set(backend->loop, &call->timer, duration(call, request));
    return call;
}

static void model_cancel(struct http *http, struct http_call *call)
{
    (void)http;
    call_unlink(call);
    call_free(call);
}

static void model_leave(struct http *http)
{
    (void)http;
}

static void model_free(struct http *http)
{
    free(http);
}

static const struct http_ops model_ops = {model_send, model_cancel, model_leave};
static const struct http_ops model_own_ops = {model_send, model_cancel, model_free};

// ---- life ---------------------------------------------------------------------------------------

struct model_backend *model_backend_new(struct loop *loop)
{
    struct model_backend *backend = mem_new_of(struct model_backend);
    backend->loop = loop;
    backend->http = (struct model_http){{&model_ops}, backend, loop};
    return backend;
}

void model_backend_free(struct model_backend *backend)
{
    if (!backend)
        return;
    while (backend->calls) {
        struct http_call *call = backend->calls;
        call_unlink(call);
        must(backend->calls != call);
        call_free(call);
    }
    for (struct model_host *host = backend->hosts, *next; host; host = next) {
        next = host->next;
        host->ops->free(host);
    }
    for (size_t i = 0; i < backend->request_count; i++) {
        free((void *)(uintptr_t)backend->requests[i].method);
        free((void *)(uintptr_t)backend->requests[i].path);
        free((void *)(uintptr_t)backend->requests[i].body);
    }
    free(backend->requests);
    free(backend);
}

struct http *model_backend_http(struct model_backend *backend)
{
    return &backend->http.http;
}

struct http *model_backend_http_new(struct model_backend *backend, struct loop *loop)
{
    struct model_http *http = mem_new_of(struct model_http);
    *http = (struct model_http){{&model_own_ops}, backend, loop};
    return &http->http;
}

static void add_host(struct model_backend *backend, struct model_host *host)
{
    host->next = backend->hosts;
    backend->hosts = host;
}

struct model_webhook *model_backend_add(struct model_backend *backend, const char *url)
{
    struct model_webhook *server = model_webhook_new(backend->loop, url);
    add_host(backend, model_webhook_own(server));
    return server;
}

struct model_pihole *model_backend_add_pihole(struct model_backend *backend, const char *url,
                                              const char *password)
{
    struct model_pihole *pihole =
        model_pihole_new(password, loop_unix_ms(backend->loop) - loop_mono_ms(backend->loop));
    add_host(backend, model_pihole_host_new(backend->loop, url, pihole));
    return pihole;
}

static struct model_host *find_host(const struct model_backend *backend, const char *url)
{
    struct model_host *host = backend->hosts;
    while (host && strcmp(host->url, url) != 0)
        host = host->next;
    return host;
}

struct model_webhook *model_backend_find(struct model_backend *backend, const char *url)
{
    return model_host_webhook(find_host(backend, url));
}

const struct model_host *model_backend_host(const struct model_backend *backend, const char *url)
{
    return find_host(backend, url);
}

const char *model_host_url(const struct model_host *host)
{
    return host->url;
}

size_t model_backend_request_count(const struct model_backend *backend)
{
    return backend->request_count;
}

const struct model_request *model_backend_request(const struct model_backend *backend, size_t at)
{
    must(at < backend->request_count);
    return &backend->requests[at];
}

void model_backend_fault(struct model_backend *backend, unsigned skip,
                         enum model_network_fault fault)
{
    must(backend->fault_count < FAULTS_MAX);
    backend->faults[backend->fault_count++] = (struct planned_fault){skip, fault};
}

size_t model_backend_change_count(const struct model_backend *backend)
{
    return backend->change_count;
}

bool model_backend_met_fault(const struct model_backend *backend)
{
    return backend->has_met_fault;
}
