#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "io/http_call.h"

enum {
    MAX_SPARE_CALLS = 8, // of idle ones, after a burst of many: each holds tens of kilobytes
    MAX_SPARE_OCTETS = 64 * 1024,
};

// ---- life of a call -----------------------------------------------------------------------------

static void call_free(struct http_call *call)
{
    if (call->libcurl) {
        call->libcurl->easy_cleanup(call->easy);
        call->libcurl->url_cleanup(call->url);
    }
    buffer_done(&call->body);
    buffer_done(&call->key);
    buffer_done(&call->lines);
    buffer_done(&call->answer);
    free(call->fields);
    free(call);
}

static struct http_call *call_new(struct curl_http *curl)
{
    struct http_call *call = mem_new_of(struct http_call);
    call->owner = curl;
    if (!http_is_loaded(curl))
        return call;
    call->libcurl = &curl->libcurl;
    call->easy = call->libcurl->easy_init();
    call->url = call->libcurl->url();
    must(call->easy && call->url);
    return call;
}

static struct http_call *take_spare(struct curl_http *curl)
{
    struct http_call *call = list_take_first(&curl->spare);
    if (call)
        curl->spare_count--;
    else
        call = call_new(curl);
    list_prepend(&curl->running, call);
    return call;
}

// Nobody should find it in our memory later.
static void wipe(struct buffer *buffer)
{
    if (buffer->at)
        secret_wipe(buffer->at, buffer->len);
    buffer_clear(buffer);
}

static void shrink(struct buffer *buffer)
{
    if (buffer->capacity > MAX_SPARE_OCTETS)
        buffer_done(buffer);
    else
        buffer_clear(buffer);
}

static void give_back(struct http_call *call)
{
    struct curl_http *curl = call->owner;
    loop_timer_cancel(curl->loop, &call->timer);
    if (!call->libcurl) {
        call_free(call);
        return;
    }
    call->libcurl->easy_reset(call->easy);
    call->libcurl->slist_free_all(call->headers);
    call->libcurl->slist_free_all(call->connect_to);
    call->headers = NULL;
    call->connect_to = NULL;
    wipe(&call->body);
    wipe(&call->key);
    if (curl->is_freed || curl->spare_count == MAX_SPARE_CALLS) {
        call_free(call);
        return;
    }
    shrink(&call->body);
    shrink(&call->lines);
    shrink(&call->answer);
    call->field_count = 0;
    call->header_octets = 0;
    call->is_too_big = false;
    call->is_cancelled = false;
    call->is_unsent = false;
    call->has_whole_head = false;
    call->trouble[0] = '\0';
    list_prepend(&curl->spare, call);
    curl->spare_count++;
}

static void finish(struct http_call *call, CURLcode code)
{
    call->libcurl->multi_remove_handle(call->multi->handle, call->easy);
    list_remove(&call->owner->running, call);
    http_call_answer(call, code);
    give_back(call);
}

static void begin(struct http_call *call)
{
    call->is_unsent = false;
    must(call->libcurl->multi_add_handle(call->multi->handle, call->easy) == CURLM_OK);
}

static void discard(struct http_call *call)
{
    if (call->libcurl)
        call->libcurl->multi_remove_handle(call->multi->handle, call->easy);
    list_remove(&call->owner->running, call);
    give_back(call);
}

// What was sent and cancelled while libcurl was at work.
static void catch_up(struct curl_http *curl)
{
    if (!curl->has_late)
        return;
    curl->has_late = false;
    list_each (call, &curl->running) {
        if (call->is_cancelled)
            discard(call);
        else if (call->is_unsent)
            begin(call);
    }
}

static void destroy(struct curl_http *curl);

// Callbacks may send, cancel and even free; only the last has to wait.
static void report_finished(struct http_multi *multi)
{
    struct curl_http *curl = multi->owner;
    CURLMsg *message;
    int left;
    curl->is_reporting = true;
    while (!curl->is_freed && (message = curl->libcurl.multi_info_read(multi->handle, &left))) {
        struct http_call *call;
        if (message->msg != CURLMSG_DONE)
            continue;
        must(curl->libcurl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK);
        finish(call, message->data.result);
    }
    curl->is_reporting = false;
    if (curl->is_freed)
        destroy(curl);
}

void http_multi_acted(struct http_multi *multi)
{
    catch_up(multi->owner);
    report_finished(multi);
}

// ---- the interface ------------------------------------------------------------------------------

static void on_early(void *context)
{
    struct http_call *call = context;
    struct curl_http *curl = call->owner;
    struct http_reply reply = {.failure = HTTP_UNREACHABLE, .is_unsent = true};
    error_set(&reply.error, FAULT_AGAIN, call->libcurl ? "InvalidRequest" : "ServerUnreachable",
              "%s", buffer_text(&call->lines).at);
    curl->is_reporting = true;
    list_remove(&call->owner->running, call);
    call->done(call->context, &reply);
    give_back(call);
    curl->is_reporting = false;
    if (curl->is_freed)
        destroy(curl);
}

// libcurl keeps no time of what waits for the one connection.
static void on_overdue(void *context)
{
    struct http_call *call = context;
    struct curl_http *curl = call->owner;
    curl->is_reporting = true;
    call->connect_timeout_ms = 0;
    finish(call, CURLE_OPERATION_TIMEDOUT);
    curl->is_reporting = false;
    if (curl->is_freed)
        destroy(curl);
}

static void start(struct http_call *call, bool is_single)
{
    struct curl_http *curl = call->owner;
    if (is_single && call->timeout_ms > 0) {
        call->timer.call = on_overdue;
        loop_timer_set(curl->loop, &call->timer, call->timeout_ms);
    }
    if (curl->is_in_libcurl)
        call->is_unsent = curl->has_late = true;
    else
        begin(call);
}

static struct http_call *curl_send(struct http *http, const struct http_request *request,
                                   http_done *done, void *context)
{
    struct curl_http *curl = (struct curl_http *)http;
    struct error err = {0};
    struct http_multi *multi = http_multi_open(curl, request->is_single, &err);
    struct http_call *call = take_spare(curl);
    call->multi = multi;
    call->done = done;
    call->piece = request->piece;
    call->context = context;
    call->timer = (struct loop_timer){.call = on_early, .context = call};
    if (!multi || !http_call_prepare(call, request, &err)) {
        buffer_add_text(&call->lines, err.text);
        loop_timer_set(curl->loop, &call->timer, 0);
    } else {
        start(call, request->is_single);
    }
    return call;
}

static void curl_cancel(struct http *http, struct http_call *call)
{
    struct curl_http *curl = (struct curl_http *)http;
    if (curl->is_in_libcurl)
        call->is_cancelled = curl->has_late = true;
    else
        discard(call);
}

static void destroy(struct curl_http *curl)
{
    list_each (call, &curl->spare)
        call_free(call);
    http_multi_close(&curl->shared);
    http_multi_close(&curl->single);
    http_proxies_done(&curl->proxies);
    free(curl->user_agent);
    free(curl);
}

static void curl_free_all(struct http *http)
{
    struct curl_http *curl = (struct curl_http *)http;
    list_each (call, &curl->running)
        curl_cancel(http, call);
    curl->is_freed = true;
    if (!curl->is_reporting && !curl->is_in_libcurl)
        destroy(curl);
}

struct http *http_curl_new(struct loop *loop, const char *user_agent)
{
    static const struct http_ops ops = {
        .send = curl_send,
        .cancel = curl_cancel,
        .free = curl_free_all,
    };
    struct curl_http *curl = mem_new_of(struct curl_http);
    curl->http.ops = &ops;
    curl->loop = loop;
    curl->user_agent = mem_copy_text(user_agent);
    http_proxies_init(&curl->proxies);
    return &curl->http;
}
