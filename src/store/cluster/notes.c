#include "store/cluster/notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/metric.h"
#include "base/must.h"
#include "io/random.h"
#include "store/cluster/note_text.h"
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

struct notes {
    struct world world;
    struct log *log;
    struct api *api;
    const struct versions *versions;
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

const struct kube_right notes_rights[] = {
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
static bool spend(struct notes *notes, uint64_t object)
{
    struct budget *budget = recent_touch(notes->budgets, object);
    int64_t now_ms = loop_mono_ms(notes->world.loop);
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
static void forget(struct notes *notes, const struct item *item)
{
    struct series *series = recent_find(notes->series, item->series);
    if (!series)
        return;
    series->is_queued = false;
    if (item->rest || series->is_ending)
        recent_remove(notes->series, item->series);
}

static void count_drop(struct notes *notes, enum drop why)
{
    notes->drops[why]++;
}

static struct item *unqueue(struct notes *notes, struct item *item)
{
    list_remove(&notes->queue, item);
    notes->waiting--;
    return item;
}

static void drop_item(struct notes *notes, struct item *item, enum drop why)
{
    unqueue(notes, item);
    count_drop(notes, why);
    forget(notes, item);
    item_free(item);
}

// The first is perhaps under way.
static bool push_out_normal(struct notes *notes)
{
    list_each (item, &notes->queue)
        if (item != list_first(&notes->queue) && !item->is_warning) {
            drop_item(notes, item, DROP_QUEUE);
            return true;
        }
    return false;
}

static void queue(struct notes *notes, struct item *item)
{
    bool is_full = notes->waiting >= QUEUE_MAX;
    if (is_full && (!item->is_warning || !push_out_normal(notes))) {
        count_drop(notes, DROP_QUEUE);
        forget(notes, item);
        item_free(item);
        return;
    }
    list_append(&notes->queue, item);
    notes->waiting++;
}

static void queue_count(struct notes *notes, uint64_t key, struct series *series)
{
    if (series->is_queued)
        return;
    struct item *item = mem_new_of(struct item);
    item->series = key;
    item->is_warning = series->is_warning;
    series->is_queued = true;
    queue(notes, item);
}

// ---- sending ------------------------------------------------------------------------------------

static void send_event(const struct item *item, struct buffer *path, struct buffer *body)
{
    AUTO_BUFFER name = {0};
    note_write_name(&name, text_of(item->regarded), item->unix_ns);
    api_path(path, &event_kind, text_of(item->namespace_), TEXT(""), NULL);
    note_write_event(body, buffer_text(&name), text_of(item->namespace_), text_of(item->rest));
}

static void send_count(const struct series *series, struct buffer *path, struct buffer *body)
{
    api_path(path, &event_kind, text_of(series->namespace_), text_of(series->name), NULL);
    note_write_series(body, series->count, series->last_us);
}

static void done(void *context, const struct api_reply *reply);

static void send_item(struct notes *notes, struct item *item)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER body = {0};
    const struct series *series = recent_find(notes->series, item->series);
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
    notes->call = api_send(notes->api, &request, done, notes);
}

static void flushed(struct notes *notes)
{
    void (*call)(void *context) = notes->flushed;
    notes->flushed = NULL;
    loop_timer_cancel(notes->world.loop, &notes->flush_timer);
    if (call)
        call(notes->flushed_context);
}

static void drive(struct notes *notes)
{
    if (notes->call || notes->is_waiting)
        return;
    struct item *item;
    while ((item = list_first(&notes->queue)) && !item->rest &&
           !recent_find(notes->series, item->series))
        item_free(unqueue(notes, item));
    if (item)
        send_item(notes, item);
    else if (notes->is_closing)
        flushed(notes);
}

// ---- replies ------------------------------------------------------------------------------------

static void event_made(struct notes *notes, const struct item *item)
{
    AUTO_BUFFER name = {0};
    struct series *series = recent_find(notes->series, item->series);
    if (!series)
        return;
    note_write_name(&name, text_of(item->regarded), item->unix_ns);
    series->name = buffer_steal(&name);
    series->namespace_ = mem_copy_text(item->namespace_);
    series->is_queued = false;
    series->sent = 1;
    series->sent_ms = loop_mono_ms(notes->world.loop);
    if (series->count > 1)
        queue_count(notes, item->series, series);
}

static void count_sent(struct notes *notes, const struct item *item)
{
    struct series *series = recent_find(notes->series, item->series);
    if (!series)
        return;
    series->is_queued = false;
    series->sent = series->count;
    series->sent_ms = loop_mono_ms(notes->world.loop);
    if (series->is_ending)
        recent_remove(notes->series, item->series);
}

static void settle(struct notes *notes)
{
    struct item *item = unqueue(notes, list_first(&notes->queue));
    notes->sent++;
    notes->is_in_trouble = false;
    if (item->rest)
        event_made(notes, item);
    else
        count_sent(notes, item);
    item_free(item);
}

static void switch_off(struct notes *notes)
{
    notes->is_off = true;
    log_line(notes->log, LOG_WARN, "the server has no events.k8s.io: no Events are written",
             LOG_END);
    while (list_first(&notes->queue))
        drop_item(notes, list_first(&notes->queue), DROP_REFUSED);
}

static void log_trouble(struct notes *notes, const struct error *err)
{
    if (!notes->is_in_trouble)
        log_line(notes->log, LOG_WARN, "Events cannot be written", LOG_TEXT("error", err->text),
                 LOG_END);
    notes->is_in_trouble = true;
}

static void retry_later(struct notes *notes, int64_t least_ms)
{
    uint64_t spread = RETRY_MS / 2;
    int64_t wait_ms = RETRY_MS - RETRY_MS / 4 + (int64_t)random_below(notes->world.random, spread);
    notes->is_waiting = true;
    loop_timer_set(notes->world.loop, &notes->retry_timer, wait_ms > least_ms ? wait_ms : least_ms);
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

static void fail(struct notes *notes, struct item *item, const struct api_reply *reply)
{
    bool may_try = item->tries < TRIES_MAX && !notes->is_closing;
    if (is_passing(&reply->error) && may_try) {
        log_trouble(notes, &reply->error);
        retry_later(notes, reply->error.retry_ms);
        return;
    }
    if (is_gone(reply))
        recent_remove(notes->series, item->series);
    else
        log_trouble(notes, &reply->error);
    drop_item(notes, item, is_passing(&reply->error) ? DROP_FAILED : DROP_REFUSED);
}

static void hear(struct notes *notes, const struct api_reply *reply)
{
    struct item *item = list_first(&notes->queue);
    bool is_clash = item->rest && reply->status == CONFLICT;
    if (reply->is_ok || (is_clash && item->may_be_there))
        settle(notes);
    else if (is_clash && item->tries < TRIES_MAX)
        item->unix_ns++;
    else if (lacks_group(item, reply))
        switch_off(notes);
    else
        fail(notes, item, reply);
}

static void done(void *context, const struct api_reply *reply)
{
    struct notes *notes = context;
    notes->call = NULL;
    list_first(&notes->queue)->may_be_there |= reply->is_fate_unknown;
    hear(notes, reply);
    drive(notes);
}

static void retry(void *context)
{
    struct notes *notes = context;
    notes->is_waiting = false;
    drive(notes);
}

// ---- adding -------------------------------------------------------------------------------------

static void queue_event(struct notes *notes, uint64_t key, const struct store_note *note,
                        int64_t unix_ms)
{
    AUTO_BUFFER rest = {0};
    AUTO_BUFFER version = {0};
    struct text regarded = object_name(note->regarding);
    struct text namespace_ = note_namespace(note);
    struct item *item = mem_new_of(struct item);
    int64_t unix_ns = unix_ms * NS_PER_MS;
    notes->unix_ns = unix_ns > notes->unix_ns ? unix_ns : notes->unix_ns + 1;
    versions_write(&version, notes->versions, note->regarding->kind);
    note_write_rest(&rest, note, version.at, notes->instance, unix_ms * US_PER_MS);
    item->series = key;
    item->regarded = strndup(regarded.at, regarded.len);
    item->namespace_ = strndup(namespace_.at, namespace_.len);
    item->rest = buffer_steal(&rest);
    item->unix_ns = notes->unix_ns;
    item->is_warning = note->is_warning;
    queue(notes, item);
}

static void sweep_later(struct notes *notes)
{
    if (notes->is_sweeping || notes->is_closing)
        return;
    notes->is_sweeping = true;
    loop_timer_set(notes->world.loop, &notes->sweep_timer, SWEEP_MS);
}

// Its first two times are told at once.
static void tell(struct notes *notes, uint64_t key, struct series *series,
                 const struct store_note *note)
{
    int64_t unix_ms = series->last_us / US_PER_MS;
    bool is_known = series->count > 2 || (series->count == 2 && series->sent == 0);
    if (is_known)
        return;
    bool is_first = series->count == 1;
    bool has_room = spend(notes, note_object(note));
    if (has_room && is_first) {
        series->is_queued = true;
        queue_event(notes, key, note, unix_ms);
    } else if (has_room) {
        queue_count(notes, key, series);
    } else if (is_first) {
        count_drop(notes, DROP_BUDGET);
        recent_remove(notes->series, key);
    }
}

void notes_add(struct notes *notes, const struct store_note *note)
{
    if (notes->is_off || notes->is_closing)
        return;
    uint64_t key = note_series(note);
    struct series *series = recent_touch(notes->series, key);
    series->count += series->count < UINT32_MAX;
    series->last_us = loop_unix_ms(notes->world.loop) * US_PER_MS;
    series->last_ms = loop_mono_ms(notes->world.loop);
    series->is_warning = note->is_warning;
    series->is_ending = false;
    tell(notes, key, series, note);
    sweep_later(notes);
    drive(notes);
}

// ---- ageing -------------------------------------------------------------------------------------

static bool age(void *context, uint64_t key, void *item)
{
    struct notes *notes = context;
    struct series *series = item;
    int64_t now_ms = loop_mono_ms(notes->world.loop);
    bool is_idle = now_ms - series->last_ms >= IDLE_MS;
    bool has_more = series->count > series->sent;
    if (notes->waiting >= QUEUE_MAX)
        return false;
    if (series->sent == 0 || series->is_queued)
        return true;
    if (is_idle && !has_more)
        recent_remove(notes->series, key);
    else if (is_idle)
        series->is_ending = true;
    if (has_more && (is_idle || now_ms - series->sent_ms >= REFRESH_MS))
        queue_count(notes, key, series);
    return true;
}

static void sweep(void *context)
{
    struct notes *notes = context;
    notes->is_sweeping = false;
    recent_each(notes->series, age, notes);
    if (recent_count(notes->series))
        sweep_later(notes);
    drive(notes);
}

// ---- public -------------------------------------------------------------------------------------

static void flush_late(void *context)
{
    struct notes *notes = context;
    flushed(notes);
}

struct notes *notes_new(const struct world *world, struct log *log, struct api *api,
                        const struct versions *versions, const char *instance)
{
    struct notes *notes = mem_new_of(struct notes);
    notes->world = *world;
    notes->log = log;
    notes->api = api;
    notes->versions = versions;
    notes->instance = mem_copy_text(instance);
    notes->series = recent_new(SERIES_MAX, sizeof(struct series), series_gone);
    notes->budgets = recent_new(OBJECTS_MAX, sizeof(struct budget), NULL);
    notes->retry_timer = (struct loop_timer){.call = retry, .context = notes};
    notes->sweep_timer = (struct loop_timer){.call = sweep, .context = notes};
    notes->flush_timer = (struct loop_timer){.call = flush_late, .context = notes};
    return notes;
}

void notes_free(struct notes *notes)
{
    if (!notes)
        return;
    if (notes->call)
        api_cancel(notes->api, notes->call);
    loop_timer_cancel(notes->world.loop, &notes->retry_timer);
    loop_timer_cancel(notes->world.loop, &notes->sweep_timer);
    loop_timer_cancel(notes->world.loop, &notes->flush_timer);
    list_each (item, &notes->queue)
        item_free(item);
    recent_free(notes->series);
    recent_free(notes->budgets);
    free(notes->instance);
    free(notes);
}

// What waits for its next try has it now.
void notes_flush(struct notes *notes, int64_t deadline_ms, void (*call)(void *context),
                 void *context)
{
    must(!notes->is_closing);
    notes->is_closing = true;
    notes->flushed = call;
    notes->flushed_context = context;
    notes->is_waiting = false;
    loop_timer_cancel(notes->world.loop, &notes->retry_timer);
    loop_timer_cancel(notes->world.loop, &notes->sweep_timer);
    loop_timer_set(notes->world.loop, &notes->flush_timer, deadline_ms);
    drive(notes);
}

void notes_write_metrics(const struct notes *notes, struct buffer *out)
{
    metric_write_head(out, "signpost_events_sent_total", "counter",
                      "Events that were written, and counts of their series.");
    buffer_printf(out, "signpost_events_sent_total %llu\n", (unsigned long long)notes->sent);
    metric_write_head(out, "signpost_events_dropped_total", "counter",
                      "Events that were not written, by why.");
    for (size_t i = 0; i < DROP_COUNT; i++)
        buffer_printf(out, "signpost_events_dropped_total{why=\"%s\"} %llu\n", drop_names[i],
                      (unsigned long long)notes->drops[i]);
    metric_write_head(out, "signpost_events_waiting", "gauge", "Events that wait to be written.");
    buffer_printf(out, "signpost_events_waiting %zu\n", notes->waiting);
}
