#include "engine/backend_state.h"

#include <stdio.h>
#include <stdlib.h>

static void change_request_wait_is_over(void *context);

void change_request_write_name(const struct change_request *change_request, char *out, size_t size)
{
    const struct record_set *set = change_request->content;
    if (text_is(set->subdomain, "@"))
        snprintf(out, size, "%.*s", TEXT_ARGS(set->domain));
    else
        snprintf(out, size, "%.*s.%.*s", TEXT_ARGS(set->subdomain), TEXT_ARGS(set->domain));
}

void change_request_free(struct change_request *change_request)
{
    loop_timer_cancel(change_request->backend->engine->loop, &change_request->timer);
    free(change_request->content);
    free(change_request);
}

void change_request_answer(struct change_request *change_request, const struct outcome *outcome)
{
    if (!change_request->is_answered)
        change_request->done(change_request->context,
                             &(struct change_request_result){.outcome = outcome});
    change_request_free(change_request);
}

void change_request_unlink(struct change_request *change_request)
{
    struct backend *backend = change_request->backend;
    list_remove(&backend->change_requests, change_request);
    backend->change_request_count--;
}

static void change_request_append(struct change_request *change_request)
{
    struct backend *backend = change_request->backend;
    list_append(&backend->change_requests, change_request);
    backend->change_request_count++;
}

// ---- strays -------------------------------------------------------------------------------------

static void stray_is_done(void *context, const struct change_request_result *result)
{
    (void)context;
    (void)result;
}

void change_request_add_stray(struct backend *backend, const struct record_set *set,
                              bool is_approved)
{
    struct change_request *change_request = mem_new_of(struct change_request);
    change_request->op = CHANGE_REMOVE;
    change_request->backend = backend;
    change_request->content = content_new_set(set);
    change_request->done = stray_is_done;
    change_request->is_stray = true;
    change_request->is_approved = is_approved;
    engine_draw_trace(backend->engine, change_request->trace);
    change_request_append(change_request);
}

void change_requests_drop_strays(struct backend *backend)
{
    list_each (change_request, &backend->change_requests) {
        if (!change_request->is_stray)
            continue;
        change_request_unlink(change_request);
        change_request_free(change_request);
    }
}

bool change_request_is_void(const struct change_request *change_request)
{
    char name[600];
    struct engine *engine = change_request->backend->engine;
    if (!change_request->is_stray)
        return false;
    change_request_write_name(change_request, name, sizeof name);
    for (uint32_t id =
             claims_at(engine, registry_get(engine, change_request->backend->registry), name);
         id != NO_ID; id = claim_next_of_name(claim_get(engine, id)))
        if (claim_type(claim_get(engine, id)) == change_request->content->type &&
            !claim_is_forgotten(claim_get(engine, id)))
            return true;
    return false;
}

// ---- time ---------------------------------------------------------------------------------------

// In flight: the asker hears now, the exchange goes on to its end.
static void change_request_wait_is_over(void *context)
{
    struct change_request *change_request = context;
    struct error error = {0};
    error_set(&error, FAULT_AGAIN, "Timeout", "the backend did not answer in time");
    const struct outcome outcome = {.error = &error};
    change_request->done(change_request->context,
                         &(struct change_request_result){.outcome = &outcome});
    change_request->is_answered = true;
    if (change_request->exchange)
        return;
    change_request_unlink(change_request);
    change_request_free(change_request);
}

static struct change_request *change_request_new(struct backend *backend,
                                                 const struct change *change, const char *trace,
                                                 int64_t deadline_ms, change_request_done *done,
                                                 void *context)
{
    struct change_request *change_request = mem_new_of(struct change_request);
    *change_request = (struct change_request){.backend = backend, .done = done, .context = context};
    if (change) {
        change_request->op = change->op;
        change_request->content = content_new_set(&change->set);
    }
    snprintf(change_request->trace, sizeof change_request->trace, "%s", trace);
    change_request->timer =
        (struct loop_timer){.call = change_request_wait_is_over, .context = change_request};
    loop_timer_set(backend->engine->loop, &change_request->timer, deadline_ms);
    return change_request;
}

static void change_request_refuse(void *context)
{
    struct change_request *change_request = context;
    struct error error = {0};
    error_set(&error, FAULT_AGAIN, "ServerError", "no backend is open");
    const struct outcome outcome = {.error = &error};
    change_request->done(change_request->context,
                         &(struct change_request_result){.outcome = &outcome});
    free(change_request->content);
    free(change_request);
}

static void refuse_later(struct engine *engine, change_request_done *done, void *context)
{
    struct change_request *change_request = mem_new_of(struct change_request);
    *change_request = (struct change_request){.done = done, .context = context};
    loop_defer(engine->loop, change_request_refuse, change_request);
}

void engine_change_request(struct engine *engine, const char *name, const struct change *change,
                           const char *trace, int64_t deadline_ms, change_request_done *done,
                           void *context)
{
    struct backend *backend = backend_find(engine, name);
    if (!backend || !backend->session) {
        refuse_later(engine, done, context);
        return;
    }
    struct change_request *change_request =
        change_request_new(backend, change, trace, deadline_ms, done, context);
    change_request_append(change_request);
    engine_schedule(engine);
}

static void ask_now(void *context)
{
    struct change_request *change_request = context;
    exchange_begin_question(change_request->backend, NULL, change_request);
}

void engine_ask(struct engine *engine, const char *name, const char *trace,
                change_request_done *done, void *context)
{
    struct backend *backend = backend_find(engine, name);
    if (!backend || !backend->session) {
        refuse_later(engine, done, context);
        return;
    }
    loop_defer(engine->loop, ask_now,
               change_request_new(backend, NULL, trace, 30000, done, context));
}
