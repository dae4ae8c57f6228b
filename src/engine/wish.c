#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>

static void wish_wait_is_over(void *context);

void wish_write_name(const struct wish *wish, char *out, size_t size)
{
    const struct record_set *set = wish->content;
    if (text_is(set->subdomain, "@"))
        snprintf(out, size, "%.*s", TEXT_ARGS(set->domain));
    else
        snprintf(out, size, "%.*s.%.*s", TEXT_ARGS(set->subdomain), TEXT_ARGS(set->domain));
}

void wish_free(struct wish *wish)
{
    loop_timer_cancel(wish->lane->engine->loop, &wish->timer);
    free(wish->content);
    free(wish);
}

void wish_answer(struct wish *wish, const struct outcome *outcome)
{
    if (!wish->is_answered)
        wish->done(wish->context, &(struct wish_result){.outcome = outcome});
    wish_free(wish);
}

void wish_unlink(struct wish *wish)
{
    struct lane *lane = wish->lane;
    struct wish *last = NULL;
    for (struct wish **link = &lane->first_wish; *link; link = &(*link)->next) {
        if (*link == wish) {
            *link = wish->next;
            if (lane->last_wish == wish)
                lane->last_wish = last;
            lane->wish_count--;
            return;
        }
        last = *link;
    }
}

static void wish_append(struct wish *wish)
{
    struct lane *lane = wish->lane;
    if (lane->last_wish)
        lane->last_wish->next = wish;
    else
        lane->first_wish = wish;
    lane->last_wish = wish;
    lane->wish_count++;
}

// ---- strays -------------------------------------------------------------------------------------

static void stray_is_done(void *context, const struct wish_result *result)
{
    (void)context;
    (void)result;
}

void wish_add_stray(struct lane *lane, const struct record_set *set, bool is_approved)
{
    struct wish *wish = mem_new_of(struct wish);
    wish->op = CHANGE_REMOVE;
    wish->lane = lane;
    wish->content = content_new_set(set);
    wish->done = stray_is_done;
    wish->is_stray = true;
    wish->is_approved = is_approved;
    engine_trace(lane->engine, wish->trace);
    wish_append(wish);
}

void wishes_drop_strays(struct lane *lane)
{
    for (struct wish *wish = lane->first_wish, *next; wish; wish = next) {
        next = wish->next;
        if (!wish->is_stray)
            continue;
        wish_unlink(wish);
        wish_free(wish);
    }
}

bool wish_is_void(const struct wish *wish)
{
    char name[600];
    struct engine *engine = wish->lane->engine;
    if (!wish->is_stray)
        return false;
    wish_write_name(wish, name, sizeof name);
    for (uint32_t id = claims_at(engine, book_get(engine, wish->lane->book), name); id != NO_ID;
         id = engine->claims[id].next_of_name)
        if (engine->claims[id].type == wish->content->type && !engine->claims[id].is_forgotten)
            return true;
    return false;
}

// ---- time ---------------------------------------------------------------------------------------

// In flight: the asker hears now, the talk goes on to its end.
static void wish_wait_is_over(void *context)
{
    struct wish *wish = context;
    struct error error = {0};
    error_set(&error, FAULT_AGAIN, "Timeout", "the backend did not answer in time");
    const struct outcome outcome = {.error = &error};
    wish->done(wish->context, &(struct wish_result){.outcome = &outcome});
    wish->is_answered = true;
    if (wish->flight)
        return;
    wish_unlink(wish);
    wish_free(wish);
}

static struct wish *wish_new(struct lane *lane, const struct change *change, const char *trace,
                             int64_t deadline_ms, wish_done *done, void *context)
{
    struct wish *wish = mem_new_of(struct wish);
    *wish = (struct wish){.lane = lane, .done = done, .context = context};
    if (change) {
        wish->op = change->op;
        wish->content = content_new_set(&change->set);
    }
    snprintf(wish->trace, sizeof wish->trace, "%s", trace);
    wish->timer = (struct loop_timer){.call = wish_wait_is_over, .context = wish};
    loop_timer_set(lane->engine->loop, &wish->timer, deadline_ms);
    return wish;
}

static void wish_refuse(void *context)
{
    struct wish *wish = context;
    struct error error = {0};
    error_set(&error, FAULT_AGAIN, "ServerError", "no backend is open");
    const struct outcome outcome = {.error = &error};
    wish->done(wish->context, &(struct wish_result){.outcome = &outcome});
    free(wish->content);
    free(wish);
}

static void refuse_later(struct engine *engine, wish_done *done, void *context)
{
    struct wish *wish = mem_new_of(struct wish);
    *wish = (struct wish){.done = done, .context = context};
    loop_defer(engine->loop, wish_refuse, wish);
}

void engine_wish(struct engine *engine, const char *name, const struct change *change,
                 const char *trace, int64_t deadline_ms, wish_done *done, void *context)
{
    struct lane *lane = lane_find(engine, name);
    if (!lane || !lane->seat) {
        refuse_later(engine, done, context);
        return;
    }
    struct wish *wish = wish_new(lane, change, trace, deadline_ms, done, context);
    wish_append(wish);
    engine_schedule(engine);
}

static void ask_now(void *context)
{
    struct wish *wish = context;
    flight_begin_health(wish->lane, wish);
}

void engine_ask(struct engine *engine, const char *name, const char *trace, wish_done *done,
                void *context)
{
    struct lane *lane = lane_find(engine, name);
    if (!lane || !lane->seat) {
        refuse_later(engine, done, context);
        return;
    }
    loop_defer(engine->loop, ask_now, wish_new(lane, NULL, trace, 30000, done, context));
}
