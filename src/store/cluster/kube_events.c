#include "store/cluster/kube_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/metric.h"
#include "base/must.h"
#include "io/random.h"
#include "store/cluster/kube_event_text.h"
#include "store/cluster/recent.h"

enum {
    SERIES_MAX = 4096,
    OBJECTS_MAX = 4096,
    QUEUE_MAX = 1000,
    BURST = 25,
    REFILL_MS = 300 * 1000,
    IDLE_MS = 6 * 60 * 1000,
    REFRESH_MS = 30 * 60 * 1000,
    SWEEP_MS = 60 * 1000,
    TRIES_MAX = 12,
    RETRY_MS = 10 * 1000, // +-25 %
    CALL_MS = 10 * 1000,
    CONFLICT = 409,
    MISSING = 404,
    NS_PER_MS = 1000000,
    US_PER_MS = 1000,
};

enum drop { DROP_QUEUE, DROP_BUDGET, DROP_REFUSED, DROP_FAILED, DROP_COUNT };
static const char *const drop_names[] = {
    [DROP_QUEUE] = "queue_full",
    [DROP_BUDGET] = "budget",
    [DROP_REFUSED] = "refused",
    [DROP_FAILED] = "failed",
};

// Of one series: what was noted, and what of it the server knows.
struct series {
    char *name; // of its Event
    char *namespace_;
    uint32_t count;
    uint32_t sent; // 0: not made yet
    int64_t last_us;
    int64_t last_ms;
    int64_t sent_ms;
    bool is_warning;
    bool is_queued;
    bool is_ending; // goes when the last count is sent
};

struct budget {
    int64_t due_ms; // when all of it is there again
};

// A request that waits: an Event to be made, or (rest NULL) the count of its series.
struct item {
    struct link link;
    uint64_t series;
    char *regarded;
    char *namespace_;
    char *rest;
    int64_t unix_ns; // in its name
    unsigned tries;
    bool is_warning;
    bool may_be_there; // an earlier try may have made it
};

struct kube_events {
    struct world world;
    struct log *log;
    struct api *api;
    const struct api_versions *versions;
    char *instance;
    struct recent *series;
    struct recent *budgets;
    LIST_OF(struct item) queue;
    size_t waiting;
    int64_t unix_ns; // of the last name
    struct api_call *call;
    struct loop_timer retry_timer;
    struct loop_timer sweep_timer;
    bool is_waiting; // for the retry timer
    bool is_sweeping;
    bool is_off; // the server has no such API
    bool is_in_trouble;
    uint64_t sent;
    uint64_t drops[DROP_COUNT];
    bool is_closing;
    struct loop_timer flush_timer;
    void (*flushed)(void *context);
    void *flushed_context;
};

static const struct kind event_kind = {
    .group = "events.k8s.io",
    .version = "v1",
    .name = "Event",
    .plural = "events",
    .singular = "event",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "What happened to an object.",
};

const struct kube_right kube_events_rights[] = {
    {
        .group = "events.k8s.io",
        .resource = "events",
        .verbs = (const char *const[]){"create", "patch", NULL},
        .scope = RIGHT_EVENTS,
        .why = "What happened to an object, beside that object.",
    },
    {0},
};

// ---- series and budgets -------------------------------------------------------------------------

static void series_gone(void *item)
{
    struct series *series = item;
    free(series->name);
    free(series->namespace_);
}

// As many as BURST at once, then one each REFILL_MS.
static bool spend(struct kube_events *events, uint64_t object)
{
    struct budget *budget = recent_touch(events->budgets, object);
    int64_t now_ms = loop_mono_ms(events->world.loop);
    if (budget->due_ms < now_ms)
        budget->due_ms = now_ms;
    if (budget->due_ms - now_ms > (int64_t)(BURST - 1) * REFILL_MS)
        return false;
    budget->due_ms += REFILL_MS;
    return true;
}

// ---- the queue ----------------------------------------------------------------------------------

static void item_free(struct item *item)
{
    free(item->regarded);
    free(item->namespace_);
    free(item->rest);
    free(item);
}

// What is dropped is made anew when it is noted again; a count waits for the next refresh.
static void forget(struct kube_events *events, const struct item *item)
{
    struct series *series = recent_find(events->series, item->series);
    if (!series)
        return;
    series->is_queued = false;
    if (item->rest || series->is_ending)
        recent_remove(events->series, item->series);
}

static void count_drop(struct kube_events *events, enum drop why)
{
    events->drops[why]++;
}

static struct item *unqueue(struct kube_events *events, struct item *item)
{
    list_remove(&events->queue, item);
    events->waiting--;
    return item;
}

static void drop_item(struct kube_events *events, struct item *item, enum drop why)
{
    unqueue(events, item);
    count_drop(events, why);
    forget(events, item);
    item_free(item);
}

// The first is perhaps under way.
static bool push_out_normal(struct kube_events *events)
{
    list_each (item, &events->queue)
        if (item != list_first(&events->queue) && !item->is_warning) {
            drop_item(events, item, DROP_QUEUE);
            return true;
        }
    return false;
}

static void queue(struct kube_events *events, struct item *item)
{
    bool is_full = events->waiting >= QUEUE_MAX;
    if (is_full && (!item->is_warning || !push_out_normal(events))) {
        count_drop(events, DROP_QUEUE);
        forget(events, item);
        item_free(item);
        return;
    }
    list_append(&events->queue, item);
    events->waiting++;
}

static void queue_count(struct kube_events *events, uint64_t key, struct series *series)
{
    if (series->is_queued)
        return;
    struct item *item = mem_new_of(struct item);
    item->series = key;
    item->is_warning = series->is_warning;
    series->is_queued = true;
    queue(events, item);
}

// ---- sending ------------------------------------------------------------------------------------

static void send_event(const struct item *item, struct buffer *path, struct buffer *body)
{
    AUTO_BUFFER name = {0};
    kube_event_write_name(&name, text_of(item->regarded), item->unix_ns);
    api_path(path, &event_kind, text_of(item->namespace_), TEXT(""), NULL);
    kube_event_write(body, buffer_text(&name), text_of(item->namespace_), text_of(item->rest));
}

static void send_count(const struct series *series, struct buffer *path, struct buffer *body)
{
    api_path(path, &event_kind, text_of(series->namespace_), text_of(series->name), NULL);
    kube_event_write_series(body, series->count, series->last_us);
}

static void done(void *context, const struct api_reply *reply);

static void send_item(struct kube_events *events, struct item *item)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER body = {0};
    const struct series *series = recent_find(events->series, item->series);
    if (item->rest)
        send_event(item, &path, &body);
    else
        send_count(series, &path, &body);
    buffer_add_text(&path, "?fieldManager=signpost");
    const struct api_request request = {
        .method = item->rest ? "POST" : "PATCH",
        .path = path.at,
        .content_type = item->rest ? NULL : "application/merge-patch+json",
        .body = buffer_text(&body),
        .timeout_ms = CALL_MS,
    };
    item->tries++;
    events->call = api_send(events->api, &request, done, events);
}

static void flushed(struct kube_events *events)
{
    void (*call)(void *context) = events->flushed;
    events->flushed = NULL;
    loop_timer_cancel(events->world.loop, &events->flush_timer);
    if (call)
        call(events->flushed_context);
}

static void drive(struct kube_events *events)
{
    if (events->call || events->is_waiting)
        return;
    struct item *item;
    while ((item = list_first(&events->queue)) && !item->rest &&
           !recent_find(events->series, item->series))
        item_free(unqueue(events, item));
    if (item)
        send_item(events, item);
    else if (events->is_closing)
        flushed(events);
}

// ---- replies ------------------------------------------------------------------------------------

static void event_made(struct kube_events *events, const struct item *item)
{
    AUTO_BUFFER name = {0};
    struct series *series = recent_find(events->series, item->series);
    if (!series)
        return;
    kube_event_write_name(&name, text_of(item->regarded), item->unix_ns);
    series->name = buffer_steal(&name);
    series->namespace_ = mem_copy_text(item->namespace_);
    series->is_queued = false;
    series->sent = 1;
    series->sent_ms = loop_mono_ms(events->world.loop);
    if (series->count > 1)
        queue_count(events, item->series, series);
}

static void count_sent(struct kube_events *events, const struct item *item)
{
    struct series *series = recent_find(events->series, item->series);
    if (!series)
        return;
    series->is_queued = false;
    series->sent = series->count;
    series->sent_ms = loop_mono_ms(events->world.loop);
    if (series->is_ending)
        recent_remove(events->series, item->series);
}

static void settle(struct kube_events *events)
{
    struct item *item = unqueue(events, list_first(&events->queue));
    events->sent++;
    events->is_in_trouble = false;
    if (item->rest)
        event_made(events, item);
    else
        count_sent(events, item);
    item_free(item);
}

static void switch_off(struct kube_events *events)
{
    events->is_off = true;
    log_line(events->log, LOG_WARN, "the server has no events.k8s.io: no Events are written",
             LOG_END);
    while (list_first(&events->queue))
        drop_item(events, list_first(&events->queue), DROP_REFUSED);
}

static void log_trouble(struct kube_events *events, const struct error *err)
{
    if (!events->is_in_trouble)
        log_line(events->log, LOG_WARN, "Events cannot be written", LOG_TEXT("error", err->text),
                 LOG_END);
    events->is_in_trouble = true;
}

static void retry_later(struct kube_events *events, int64_t least_ms)
{
    uint64_t spread = RETRY_MS / 2;
    int64_t wait_ms = RETRY_MS - RETRY_MS / 4 + (int64_t)random_below(events->world.random, spread);
    events->is_waiting = true;
    loop_timer_set(events->world.loop, &events->retry_timer,
                   wait_ms > least_ms ? wait_ms : least_ms);
}

static bool is_passing(const struct error *err)
{
    return err->fault == FAULT_AGAIN || err->fault == FAULT_LIMIT || err->status == 401;
}

// Of a server that knows the group, a 404 is a Status with a reason.
static bool lacks_group(const struct item *item, const struct api_reply *reply)
{
    return item->rest && reply->status == MISSING && !*reply->error.code;
}

// A namespace or an Event that is gone takes its notes along.
static bool is_gone(const struct api_reply *reply)
{
    return reply->status == MISSING || !strcmp(reply->cause, "NamespaceTerminating");
}

static void fail(struct kube_events *events, struct item *item, const struct api_reply *reply)
{
    bool may_try = item->tries < TRIES_MAX && !events->is_closing;
    if (is_passing(&reply->error) && may_try) {
        log_trouble(events, &reply->error);
        retry_later(events, reply->error.retry_ms);
        return;
    }
    if (is_gone(reply))
        recent_remove(events->series, item->series);
    else
        log_trouble(events, &reply->error);
    drop_item(events, item, is_passing(&reply->error) ? DROP_FAILED : DROP_REFUSED);
}

static void handle_reply(struct kube_events *events, const struct api_reply *reply)
{
    struct item *item = list_first(&events->queue);
    bool is_clash = item->rest && reply->status == CONFLICT;
    if (reply->is_ok || (is_clash && item->may_be_there))
        settle(events);
    else if (is_clash && item->tries < TRIES_MAX)
        item->unix_ns++;
    else if (lacks_group(item, reply))
        switch_off(events);
    else
        fail(events, item, reply);
}

static void done(void *context, const struct api_reply *reply)
{
    struct kube_events *events = context;
    events->call = NULL;
    list_first(&events->queue)->may_be_there |= reply->is_fate_unknown;
    handle_reply(events, reply);
    drive(events);
}

static void retry(void *context)
{
    struct kube_events *events = context;
    events->is_waiting = false;
    drive(events);
}

// ---- adding -------------------------------------------------------------------------------------

static void queue_event(struct kube_events *events, uint64_t key, const struct kube_event *event,
                        int64_t unix_ms)
{
    AUTO_BUFFER rest = {0};
    AUTO_BUFFER version = {0};
    AUTO_BUFFER related = {0};
    struct text regarded = object_name(event->regarding);
    struct text namespace_ = kube_event_namespace(event);
    struct item *item = mem_new_of(struct item);
    int64_t unix_ns = unix_ms * NS_PER_MS;
    events->unix_ns = unix_ns > events->unix_ns ? unix_ns : events->unix_ns + 1;
    api_versions_write(&version, events->versions, event->regarding->kind);
    if (event->related)
        api_versions_write(&related, events->versions, event->related->kind);
    kube_event_write_rest(&rest, event, version.at, related.at, events->instance,
                          unix_ms * US_PER_MS);
    item->series = key;
    item->regarded = strndup(regarded.at, regarded.len);
    item->namespace_ = strndup(namespace_.at, namespace_.len);
    item->rest = buffer_steal(&rest);
    item->unix_ns = events->unix_ns;
    item->is_warning = event->is_warning;
    queue(events, item);
}

static void sweep_later(struct kube_events *events)
{
    if (events->is_sweeping || events->is_closing)
        return;
    events->is_sweeping = true;
    loop_timer_set(events->world.loop, &events->sweep_timer, SWEEP_MS);
}

// Its first two times are told at once.
static void report_again(struct kube_events *events, uint64_t key, struct series *series,
                         const struct kube_event *event)
{
    int64_t unix_ms = series->last_us / US_PER_MS;
    bool is_known = series->count > 2 || (series->count == 2 && series->sent == 0);
    if (is_known)
        return;
    bool is_first = series->count == 1;
    bool has_room = spend(events, kube_event_object(event));
    if (has_room && is_first) {
        series->is_queued = true;
        queue_event(events, key, event, unix_ms);
    } else if (has_room) {
        queue_count(events, key, series);
    } else if (is_first) {
        count_drop(events, DROP_BUDGET);
        recent_remove(events->series, key);
    }
}

void kube_events_add(struct kube_events *events, const struct kube_event *event)
{
    if (events->is_off || events->is_closing)
        return;
    uint64_t key = kube_event_series(event);
    struct series *series = recent_touch(events->series, key);
    series->count += series->count < UINT32_MAX;
    series->last_us = loop_unix_ms(events->world.loop) * US_PER_MS;
    series->last_ms = loop_mono_ms(events->world.loop);
    series->is_warning = event->is_warning;
    series->is_ending = false;
    report_again(events, key, series, event);
    sweep_later(events);
    drive(events);
}

// ---- ageing -------------------------------------------------------------------------------------

static bool age(void *context, uint64_t key, void *item)
{
    struct kube_events *events = context;
    struct series *series = item;
    int64_t now_ms = loop_mono_ms(events->world.loop);
    bool is_idle = now_ms - series->last_ms >= IDLE_MS;
    bool has_more = series->count > series->sent;
    if (events->waiting >= QUEUE_MAX)
        return false;
    if (series->sent == 0 || series->is_queued)
        return true;
    if (is_idle && !has_more)
        recent_remove(events->series, key);
    else if (is_idle)
        series->is_ending = true;
    if (has_more && (is_idle || now_ms - series->sent_ms >= REFRESH_MS))
        queue_count(events, key, series);
    return true;
}

static void sweep(void *context)
{
    struct kube_events *events = context;
    events->is_sweeping = false;
    recent_each(events->series, age, events);
    if (recent_count(events->series))
        sweep_later(events);
    drive(events);
}

// ---- public -------------------------------------------------------------------------------------

static void flush_late(void *context)
{
    struct kube_events *events = context;
    flushed(events);
}

struct kube_events *kube_events_new(const struct world *world, struct log *log, struct api *api,
                                    const struct api_versions *versions, const char *instance)
{
    struct kube_events *events = mem_new_of(struct kube_events);
    events->world = *world;
    events->log = log;
    events->api = api;
    events->versions = versions;
    events->instance = mem_copy_text(instance);
    events->series = recent_new(SERIES_MAX, sizeof(struct series), series_gone);
    events->budgets = recent_new(OBJECTS_MAX, sizeof(struct budget), NULL);
    events->retry_timer = (struct loop_timer){.call = retry, .context = events};
    events->sweep_timer = (struct loop_timer){.call = sweep, .context = events};
    events->flush_timer = (struct loop_timer){.call = flush_late, .context = events};
    return events;
}

void kube_events_free(struct kube_events *events)
{
    if (!events)
        return;
    if (events->call)
        api_cancel(events->api, events->call);
    loop_timer_cancel(events->world.loop, &events->retry_timer);
    loop_timer_cancel(events->world.loop, &events->sweep_timer);
    loop_timer_cancel(events->world.loop, &events->flush_timer);
    list_each (item, &events->queue)
        item_free(item);
    recent_free(events->series);
    recent_free(events->budgets);
    free(events->instance);
    free(events);
}

// What waits for its next try has it now.
void kube_events_flush(struct kube_events *events, int64_t deadline_ms, void (*call)(void *context),
                       void *context)
{
    must(!events->is_closing);
    events->is_closing = true;
    events->flushed = call;
    events->flushed_context = context;
    events->is_waiting = false;
    loop_timer_cancel(events->world.loop, &events->retry_timer);
    loop_timer_cancel(events->world.loop, &events->sweep_timer);
    loop_timer_set(events->world.loop, &events->flush_timer, deadline_ms);
    drive(events);
}

void kube_events_write_metrics(const struct kube_events *events, struct buffer *out)
{
    metric_write_head(out, "signpost_events_sent_total", "counter",
                      "Events that were written, and counts of their series.");
    buffer_printf(out, "signpost_events_sent_total %llu\n", (unsigned long long)events->sent);
    metric_write_head(out, "signpost_events_dropped_total", "counter",
                      "Events that were not written, by why.");
    for (size_t i = 0; i < DROP_COUNT; i++)
        buffer_printf(out, "signpost_events_dropped_total{why=\"%s\"} %llu\n", drop_names[i],
                      (unsigned long long)events->drops[i]);
    metric_write_head(out, "signpost_events_waiting", "gauge", "Events that wait to be written.");
    buffer_printf(out, "signpost_events_waiting %zu\n", events->waiting);
}
