#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/virtual_loop.h"
#include "store/cluster/api.h"

// Stands in for api.c in tests of what talks through it: a function answers, and requests and
// replies travel on the virtual loop, each as long as the test says. What its sender gave up still
// arrives. A process that is stopped hears nothing; what came meanwhile it hears when it goes on.

enum { TEST_LOST = -1 }; // a delay: never comes

struct test_reply {
    int status;
    struct buffer body;
    const char *code; // reason of a Status; or NULL
    const char *text; // of the error; NULL: "no luck"
    int64_t retry_ms;
    enum fault fault; // NONE: as the status has it
};

struct api_call {
    struct api *api;
    char method[8];
    char *path;
    char *content_type;
    char *agent;
    char *body; // or NULL
    int64_t timeout_ms;
    struct loop_timer travel; // there, then back
    struct loop_timer late;
    struct test_reply reply;
    bool is_served;
    bool is_back;
    bool is_late;
    api_done *done; // NULL: given up
    void *context;
    struct api_call *next;
};

struct api {
    struct loop *loop;
    void (*serve)(void *context, const struct api_call *call, struct test_reply *reply);
    int64_t (*delay)(void *context, bool is_reply); // NULL: 1 ms each way
    void *context;
    struct api_call *calls;
    size_t count; // of requests ever sent
    bool is_stopped;
};

static inline void test_call_release(struct api_call *call)
{
    loop_timer_cancel(call->api->loop, &call->travel);
    loop_timer_cancel(call->api->loop, &call->late);
    buffer_done(&call->reply.body);
    free(call->path);
    free(call->content_type);
    free(call->agent);
    free(call->body);
    free(call);
}

static inline void test_call_free(struct api_call *call)
{
    struct api_call **at = &call->api->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    test_call_release(call);
}

static inline enum fault test_fault(int status)
{
    if (status == 401 || status == 403)
        return FAULT_AUTH;
    if (status == 404 || status == 409)
        return FAULT_RACE;
    if (status == 429)
        return FAULT_LIMIT;
    return status >= 400 && status < 500 ? FAULT_SPEC : FAULT_AGAIN;
}

// Calls back; what is still to arrive at the server lives on.
static inline void test_call_end(struct api_call *call)
{
    api_done *done = call->done;
    bool is_lost = !call->is_back;
    struct api_reply reply = {
        .status = is_lost ? 0 : call->reply.status,
        .is_fate_unknown = is_lost,
        .body = is_lost ? TEXT("") : buffer_text(&call->reply.body),
        .cause = "",
    };
    reply.is_ok = reply.status / 100 == 2;
    if (!reply.is_ok)
        error_set(&reply.error, test_fault(reply.status), "ServerError", "no luck: %d",
                  reply.status);
    reply.error.status = reply.status;
    if (!is_lost && call->reply.text)
        snprintf(reply.error.text, sizeof reply.error.text, "%s", call->reply.text);
    if (!is_lost && call->reply.fault)
        reply.error.fault = call->reply.fault;
    if (!is_lost && call->reply.code)
        snprintf(reply.error.code, sizeof reply.error.code, "%s", call->reply.code);
    reply.error.retry_ms = is_lost ? 0 : call->reply.retry_ms;
    call->done = NULL;
    done(call->context, &reply);
    if (call->is_served || call->is_back)
        test_call_free(call);
}

static inline void test_call_travelled(void *context)
{
    struct api_call *call = context;
    struct api *api = call->api;
    if (call->is_served) {
        call->is_back = true;
        if (!api->is_stopped)
            test_call_end(call);
        return;
    }
    call->is_served = true;
    api->serve(api->context, call, &call->reply);
    int64_t delay_ms = api->delay ? api->delay(api->context, true) : 1;
    if (!call->done)
        test_call_free(call);
    else if (delay_ms != TEST_LOST)
        loop_timer_set(api->loop, &call->travel, delay_ms);
}

static inline void test_call_late(void *context)
{
    struct api_call *call = context;
    call->is_late = true;
    if (call->done && !call->api->is_stopped)
        test_call_end(call);
}

// A process that goes on hears what came before its own timers.
static inline void test_api_go_on(struct api *api)
{
    api->is_stopped = false;
    for (struct api_call *call = api->calls, *next; call; call = next) {
        next = call->next;
        if (call->done && (call->is_back || call->is_late))
            test_call_end(call);
    }
}

struct api_call *api_send(struct api *api, const struct api_request *request, api_done *done,
                          void *context)
{
    struct api_call *call = mem_new_of(struct api_call);
    int64_t delay_ms = api->delay ? api->delay(api->context, false) : 1;
    strncpy(call->method, request->method, sizeof call->method - 1);
    call->api = api;
    call->path = mem_copy_text(request->path);
    call->content_type = mem_copy_text(request->content_type ? request->content_type : "");
    call->agent = mem_copy_text(request->agent ? request->agent : "");
    call->body = request->body.at ? strndup(request->body.at, request->body.len) : NULL;
    call->timeout_ms = request->timeout_ms ? request->timeout_ms : API_TIMEOUT_MS;
    call->travel = (struct loop_timer){.call = test_call_travelled, .context = call};
    call->late = (struct loop_timer){.call = test_call_late, .context = call};
    call->done = done;
    call->context = context;
    call->next = api->calls;
    api->calls = call;
    api->count++;
    if (delay_ms != TEST_LOST)
        loop_timer_set(api->loop, &call->travel, delay_ms);
    loop_timer_set(api->loop, &call->late, call->timeout_ms);
    return call;
}

void api_cancel(struct api *api, struct api_call *call)
{
    (void)api;
    call->done = NULL;
    if (call->is_served)
        test_call_free(call);
}

void api_blame(const struct api *api, struct error *err)
{
    (void)api;
    error_prefix(err, "blamed: ");
}

static inline void test_api_done(struct api *api)
{
    for (struct api_call *call = api->calls, *next; call; call = next) {
        next = call->next;
        test_call_release(call);
    }
    api->calls = NULL;
}
