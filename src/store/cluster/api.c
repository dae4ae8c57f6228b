#include "store/cluster/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/list.h"
#include "base/when.h"
#include "io/x509.h"
#include "store/cluster/api_count.h"
#include "store/cluster/api_reply.h"
#include "store/cluster/api_warning.h"
#include "store/cluster/identity.h"

enum {
    CONNECT_TIMEOUT_MS = 10 * 1000,
    BODY_MAX = 3 * 1024 * 1024,
    REFUSED_FIRST_MS = 800, // wait after a refused credential; doubles
    REFUSED_MAX_MS = 30 * 1000,
    REFUSED_REPORT_MS = 60 * 1000,
    HTTP_UNAUTHORIZED = 401,
    HTTP_FORBIDDEN = 403,
    REPORT_MS = 10 * 1000, // between two lines on refused writes
};

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#else
#define ARCH "other"
#endif

struct api_call {
    struct link link;
    struct api *api;
    struct loop_timer wake;
    struct http_call *http; // while it is under way
    api_done *done;
    void *context;
    struct api_request request; // its texts are ours
    uint64_t generation;        // of the credential that it went out with
    int64_t sent_ms;
    int64_t waiting_ms; // since when
    bool is_waiting;    // for a credential
    bool is_retried;    // with a fresh one, after a 401
};

// The server takes no credential of ours, not even a fresh one.
struct refusal {
    unsigned times; // in a row; 0: it is not refused
    int64_t wait_ms;
    int64_t stepped_ms; // when wait_ms was set
    int64_t reported_ms;
    char text[ERROR_TEXT_MAX];
};

struct api {
    const struct world *world;
    struct log *log;
    struct kube_access *access;
    struct identity *identity;
    LIST_OF(struct api_call) calls;
    struct api_counts counts;
    struct api_warnings warnings;
    struct refusal refusal;
    int64_t reported_ms; // mono, of the last line on a refused write; 0: none
    void (*refused)(void *context, const char *method, const char *path); // or NULL
    void *refused_context;
    char host[300];
    struct buffer server; // URL without a trailing "/"
};

static int64_t now_ms(const struct api *api)
{
    return loop_mono_ms(api->world->loop);
}

// ---- life of a call -----------------------------------------------------------------------------

static char *copy_text(const char *text)
{
    return text ? mem_copy_text(text) : NULL;
}

static void own_request(struct api_request *own, const struct api_request *request)
{
    *own = *request;
    own->method = mem_copy_text(request->method);
    own->path = mem_copy_text(request->path);
    own->content_type = copy_text(request->content_type);
    own->accept = copy_text(request->accept);
    own->agent = copy_text(request->agent);
    if (request->body.at)
        own->body.at = mem_copy(request->body.at, request->body.len);
}

// Ours, so the const may be given up.
static void free_const(const char *at)
{
    free((void *)(uintptr_t)at);
}

static void call_free(struct api_call *call)
{
    struct api_request *own = &call->request;
    if (own->body.at)
        secret_wipe((void *)(uintptr_t)own->body.at, own->body.len);
    free_const(own->method);
    free_const(own->path);
    free_const(own->content_type);
    free_const(own->accept);
    free_const(own->agent);
    free_const(own->body.at);
    free(call);
}

static void unlink_call(struct api_call *call)
{
    list_remove(&call->api->calls, call);
    loop_timer_cancel(call->api->world->loop, &call->wake);
}

// The callback may free the api: nothing of it is touched any more.
static void finish(struct api_call *call, const struct api_reply *reply)
{
    unlink_call(call);
    call->done(call->context, reply);
    call_free(call);
}

static void wake_soon(struct api_call *call)
{
    loop_timer_set(call->api->world->loop, &call->wake, 0);
}

// ---- credentials that are refused ---------------------------------------------------------------

static void step_refusal(struct refusal *refusal, int64_t now)
{
    if (refusal->times && now - refusal->stepped_ms < refusal->wait_ms)
        return;
    refusal->wait_ms = backoff_ms(REFUSED_FIRST_MS, REFUSED_MAX_MS, ++refusal->times);
    refusal->stepped_ms = now;
}

static void note_refused(struct api *api, struct api_reply *reply)
{
    struct refusal *refusal = &api->refusal;
    int64_t now = now_ms(api);
    step_refusal(refusal, now);
    reply->error.retry_ms = refusal->wait_ms;
    struct error err = reply->error;
    error_prefix(&err, "the server refuses the credential of %s: ", api->access->source);
    memcpy(refusal->text, err.text, sizeof refusal->text);
    if (refusal->reported_ms && now - refusal->reported_ms < REFUSED_REPORT_MS)
        return;
    refusal->reported_ms = now;
    log_line(api->log, LOG_WARN, "API server refuses our credential", LOG_TEXT("server", api->host),
             LOG_TEXT("from", api->access->source), LOG_TEXT("error", reply->error.text),
             LOG_TEXT("auditId", reply->audit_id), LOG_END);
}

static void note_taken(struct api *api)
{
    if (api->refusal.times)
        log_line(api->log, LOG_INFO, "API server takes our credential again",
                 LOG_TEXT("server", api->host), LOG_END);
    api->refusal.times = 0;
}

// ---- replies ------------------------------------------------------------------------------------

// A server says no more than that it does not know us; one before it may refuse the handshake.
static void explain_certificate(const struct api *api, const struct http_reply *heard,
                                struct api_reply *reply)
{
    struct error *err = &reply->error;
    char end[WHEN_TEXT_MAX];
    const char *pem = identity_face(api->identity)->tls.certificate_pem;
    struct x509_facts facts;
    bool is_refused = reply->status == HTTP_UNAUTHORIZED || heard->is_tls;
    if (!is_refused || !pem || !x509_read(&facts, text_of(pem), NULL))
        return;
    int64_t now_s = loop_unix_ms(api->world->loop) / 1000;
    bool is_over = facts.until_s <= now_s;
    when_write(is_over ? facts.until_s : facts.from_s, end);
    if (is_over)
        error_prefix(err, "our client certificate expired on %s: ", end);
    else if (facts.from_s > now_s)
        error_prefix(err, "our client certificate is not valid before %s: ", end);
}

// What refuses a write now may refuse thousands: one line tells, the rest are for --log-level
// debug.
static enum log_level choose_level(struct api *api, const struct api_call *call,
                                   const struct api_reply *reply)
{
    enum fault fault = reply->error.fault;
    bool is_bad = fault == FAULT_SPEC || fault == FAULT_AUTH || reply->status >= 500;
    bool is_due = !api->reported_ms || now_ms(api) - api->reported_ms >= REPORT_MS;
    if (!is_bad || !is_due || reply->status == HTTP_UNAUTHORIZED ||
        !strcmp(call->request.method, "GET"))
        return LOG_DEBUG;
    api->reported_ms = now_ms(api);
    return LOG_WARN;
}

static void log_failure(struct api *api, const struct api_call *call, const struct api_reply *reply)
{
    log_line(api->log, choose_level(api, call, reply), "API request failed",
             LOG_TEXT("method", call->request.method), LOG_TEXT("path", call->request.path),
             LOG_INT("status", reply->status), LOG_TEXT("error", reply->error.text),
             LOG_TEXT("auditId", reply->audit_id), LOG_END);
}

static void count(struct api_call *call, const struct http_reply *reply)
{
    struct api *api = call->api;
    int code = reply->failure == HTTP_OK ? reply->status : 0;
    int64_t duration_ms = call->request.is_watch ? -1 : now_ms(api) - call->sent_ms;
    api_counts_add(&api->counts, call->request.method, code, duration_ms);
}

// Is there, or will there be, another credential to try it with?
static bool is_to_be_retried(struct api_call *call, const struct http_reply *reply)
{
    if (reply->failure != HTTP_OK || reply->status != HTTP_UNAUTHORIZED || call->is_retried)
        return false;
    return identity_renew(call->api->identity, call->generation) != IDENTITY_FAILED;
}

static void report(struct api_call *call, const struct http_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct api *api = call->api;
    const char *type = call->request.content_type;
    struct api_question question = {
        .method = call->request.method,
        .is_json_patch = type && !strcmp(type, "application/json-patch+json"),
        .unix_ms = loop_unix_ms(api->world->loop),
    };
    struct api_reply reported;
    api_reply_read(&reported, &question, reply, arena);
    explain_certificate(api, reply, &reported);
    if (reported.status == HTTP_UNAUTHORIZED)
        note_refused(api, &reported);
    else if (reported.status)
        note_taken(api);
    if (!reported.is_ok)
        log_failure(api, call, &reported);
    if (reported.status == HTTP_FORBIDDEN && api->refused)
        api->refused(api->refused_context, call->request.method, call->request.path);
    finish(call, &reported);
}

static void answered(void *context, const struct http_reply *reply)
{
    struct api_call *call = context;
    call->http = NULL;
    count(call, reply);
    api_warnings_report(&call->api->warnings, reply, call->api->log);
    if (reply->is_tls)
        identity_doubt(call->api->identity);
    if (!is_to_be_retried(call, reply)) {
        report(call, reply);
        return;
    }
    call->is_retried = true;
    api_counts_add_retry(&call->api->counts, call->request.method);
    wake_soon(call);
}

static void got_piece(void *context, struct text piece)
{
    struct api_call *call = context;
    note_taken(call->api);
    call->request.piece(call->context, piece);
}

// ---- sending ------------------------------------------------------------------------------------

static int64_t limit_of(const struct api_request *request)
{
    if (request->timeout_ms == API_FOREVER)
        return 0;
    if (request->timeout_ms)
        return request->timeout_ms;
    return request->is_watch ? 0 : API_TIMEOUT_MS;
}

static struct http_header *make_headers(const struct api_request *request,
                                        const struct identity_face *face, size_t *header_count)
{
    static const char json[] = "application/json";
    struct http_header *headers = mem_new_array(struct http_header, face->header_count + 2);
    size_t at = 0;
    headers[at++] = (struct http_header){"Accept", request->accept ? request->accept : json};
    if (request->body.at)
        headers[at++] = (struct http_header){"Content-Type",
                                             request->content_type ? request->content_type : json};
    for (size_t i = 0; i < face->header_count; i++)
        headers[at++] = face->headers[i];
    *header_count = at;
    return headers;
}

static void transmit(struct api_call *call)
{
    const struct api *api = call->api;
    const struct api_request *request = &call->request;
    const struct identity_face *face = identity_face(api->identity);
    AUTO_BUFFER url = {0};
    AUTO_BUFFER agent = {0};
    size_t header_count;
    autofree struct http_header *headers = make_headers(request, face, &header_count);
    buffer_printf(&url, "%s%s", api->server.at, request->path);
    buffer_printf(&agent, "signpost/" SIGNPOST_VERSION " (linux/" ARCH ")%s",
                  request->agent ? request->agent : "");
    call->is_waiting = false;
    call->generation = face->generation;
    call->sent_ms = now_ms(api);
    struct http_request sent = {
        .method = request->method,
        .url = url.at,
        .headers = headers,
        .header_count = header_count,
        .body = request->body,
        .timeout_ms = limit_of(request),
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .max_body_octets = request->max_body_octets ? request->max_body_octets : BODY_MAX,
        .tls = face->tls,
        .proxy = api->access->proxy,
        .user_agent = agent.at,
        .is_alone = request->is_watch,
        .piece = request->piece ? got_piece : NULL,
    };
    call->http = http_send(api->world->http, &sent, answered, call);
}

static void fail(struct api_call *call, const struct error *err)
{
    struct api_reply reply = {.error = *err, .cause = "", .audit_id = ""};
    log_failure(call->api, call, &reply);
    finish(call, &reply);
}

// Nothing but the wait for a credential took that long.
static void fail_late(struct api_call *call)
{
    struct error err;
    error_set(&err, FAULT_AGAIN, "AuthenticationFailed", "no credential within %lld ms",
              (long long)limit_of(&call->request));
    fail(call, &err);
}

static void wait_for_credential(struct api_call *call)
{
    int64_t limit_ms = limit_of(&call->request);
    if (!call->is_waiting)
        call->waiting_ms = now_ms(call->api);
    call->is_waiting = true;
    if (limit_ms > 0)
        loop_timer_set(call->api->world->loop, &call->wake,
                       call->waiting_ms + limit_ms - now_ms(call->api));
}

static bool is_late(const struct api_call *call)
{
    int64_t limit_ms = limit_of(&call->request);
    return call->is_waiting && limit_ms > 0 && now_ms(call->api) - call->waiting_ms >= limit_ms;
}

static void resume(void *context)
{
    struct api_call *call = context;
    struct error err = {0};
    enum identity_state state = identity_prepare(call->api->identity, &err);
    if (state == IDENTITY_READY)
        transmit(call);
    else if (state == IDENTITY_FAILED)
        fail(call, &err);
    else if (is_late(call))
        fail_late(call);
    else
        wait_for_credential(call);
}

static void settled(void *context)
{
    const struct api *api = context;
    list_each (call, &api->calls)
        if (call->is_waiting)
            wake_soon(call);
}

// ---- the interface ------------------------------------------------------------------------------

struct api *api_new(const struct world *world, struct log *log, struct kube_access *access)
{
    struct api *api = mem_new_of(struct api);
    api->world = world;
    api->log = log;
    api->access = access;
    api->identity = identity_new(&(struct identity_options){
        .world = world,
        .log = log,
        .access = access,
        .settled = settled,
        .context = api,
    });
    AUTO_BUFFER host = {0};
    url_write_host(&host, &access->server);
    text_clean_into(api->host, sizeof api->host, buffer_text(&host));
    url_write(&api->server, &access->server);
    if (text_ends(buffer_text(&api->server), "/"))
        api->server.at[--api->server.len] = '\0';
    return api;
}

void api_free(struct api *api)
{
    if (!api)
        return;
    list_each (call, &api->calls)
        api_cancel(api, call);
    identity_free(api->identity);
    kube_access_free(api->access);
    api_counts_done(&api->counts);
    buffer_done(&api->server);
    free(api);
}

void api_reload(struct api *api)
{
    identity_reload(api->identity);
}

void api_watch_refusals(struct api *api,
                        void (*refused)(void *context, const char *method, const char *path),
                        void *context)
{
    api->refused = refused;
    api->refused_context = context;
}

struct api_call *api_send(struct api *api, const struct api_request *request, api_done *done,
                          void *context)
{
    struct api_call *call = mem_new_of(struct api_call);
    call->api = api;
    call->done = done;
    call->context = context;
    call->wake = (struct loop_timer){.call = resume, .context = call};
    own_request(&call->request, request);
    list_prepend(&api->calls, call);
    struct error err = {0};
    enum identity_state state = identity_prepare(api->identity, &err);
    if (state == IDENTITY_READY)
        transmit(call);
    else if (state == IDENTITY_FETCHING)
        wait_for_credential(call);
    else
        wake_soon(call);
    return call;
}

void api_cancel(struct api *api, struct api_call *call)
{
    if (call->http)
        http_cancel(api->world->http, call->http);
    unlink_call(call);
    call_free(call);
}

void api_blame(const struct api *api, struct error *err)
{
    const char *what = "answers";
    if (err->status == HTTP_UNAUTHORIZED)
        what = "refuses our credential";
    else if (!err->status && err->fault == FAULT_AUTH)
        what = "was not asked, for want of a credential";
    else if (!err->status)
        what = "cannot be reached";
    error_prefix(err, "the API server %s (%s) %s: ", api->server.at, api->access->source, what);
}

struct store_check api_check(const struct api *api)
{
    const struct error *trouble = identity_trouble(api->identity);
    struct store_check check = {.name = "credentials", .is_ok = true, .text = "ok"};
    if (trouble || api->refusal.times) {
        check.is_ok = false;
        check.text = trouble ? trouble->text : api->refusal.text;
    }
    return check;
}

void api_count_wait(struct api *api, const char *method, int64_t waited_ms)
{
    api_counts_add_wait(&api->counts, method, waited_ms);
}

void api_write_metrics(const struct api *api, struct buffer *out)
{
    api_counts_write(&api->counts, api->host, out);
}
