#include "engine/secondaries_state.h"

#include <string.h>

#include "base/backoff.h"
#include "dns/primary.h"
#include "dns/serial.h"

enum {
    PROBE_FIRST_MS = 2,
    PROBE_FAST_MAX_MS = 1000,
    PROBE_FAST_TIMES = 10,
    PROBE_SLOW_MS = 30000,
    NOTIFY_FIRST_MS = 1000,
    NOTIFY_MAX_MS = 60000,
    PROVIDER_EXCHANGE_TIMEOUT_MS = 2000,
    EXCHANGES_PER_SERVER = 64,
};

// ---- when ---------------------------------------------------------------------------------------

void secondary_schedule(struct followed *zone)
{
    struct secondaries *secondaries = zone->secondaries;
    int64_t now_ms = loop_mono_ms(secondaries->loop);
    int64_t next_ms = 0;
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++) {
            const struct secondary_exchange *exchange = &zone->items[i].exchanges[k];
            if (exchange->next_ms && !exchange->call && (!next_ms || exchange->next_ms < next_ms))
                next_ms = exchange->next_ms;
        }
    if (next_ms && secondaries->is_leading)
        loop_timer_set(secondaries->loop, &zone->timer, next_ms > now_ms ? next_ms - now_ms : 0);
    else
        loop_timer_cancel(secondaries->loop, &zone->timer);
}

static bool is_served_by(const struct secondary *secondary)
{
    const struct server_view *view = secondary_view(secondary);
    uint32_t ours = secondary->zone->serial;
    if (view->is_probed && !view->signs)
        return view->has_serial && view->fault.fault == FAULT_NONE && view->serial == ours;
    return view->has_fetched && view->fetched == ours;
}

static int64_t notify_delay(const struct secondary_exchange *exchange)
{
    return backoff_ms(NOTIFY_FIRST_MS, NOTIFY_MAX_MS, exchange->times);
}

// Until a server that still answers an older serial than it fetched counts as one that could not
// load that.
static int64_t until_stuck(const struct secondary *secondary)
{
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    return secondary->fetched_ms ? secondary->fetched_ms + PUBLISHED_STUCK_MS - now_ms : 0;
}

static int64_t probe_delay(const struct secondary *secondary,
                           const struct secondary_exchange *exchange)
{
    int64_t stuck_ms = until_stuck(secondary);
    if (!is_served_by(secondary) && exchange->times >= PROBE_FAST_TIMES && stuck_ms > 0)
        return stuck_ms;
    if (is_served_by(secondary) || exchange->times >= PROBE_FAST_TIMES)
        return PROBE_SLOW_MS;
    return backoff_ms(PROBE_FIRST_MS, PROBE_FAST_MAX_MS, exchange->times + 1);
}

static void schedule_exchange_again(struct secondary *secondary, enum secondary_exchange_type type)
{
    struct secondary_exchange *exchange = &secondary->exchanges[type];
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    if (type == SECONDARY_NOTIFY)
        exchange->next_ms =
            secondary->has_come || secondary->zone->is_paused ? 0 : now_ms + notify_delay(exchange);
    else if (secondary->server->probe)
        exchange->next_ms = now_ms + probe_delay(secondary, exchange);
}

// ---- waiting for a server -----------------------------------------------------------------------

static void line_add(struct secondary_server *backend, struct secondary_exchange *exchange)
{
    if (exchange->is_waiting)
        return;
    exchange->is_waiting = true;
    list_append(&backend->line, exchange);
}

static void line_remove(struct secondary_server *backend, struct secondary_exchange *exchange)
{
    if (!exchange->is_waiting)
        return;
    list_remove(&backend->line, exchange);
    exchange->is_waiting = false;
}

static void left_exchange(struct secondary_server *backend)
{
    backend->in_flight--;
    backend->secondaries->in_flight--;
    if (list_first(&backend->line))
        loop_timer_set(backend->secondaries->loop, &backend->timer, 0);
}

// ---- NOTIFY and queries -------------------------------------------------------------------------

static void count(const struct secondary *secondary, enum secondary_exchange_type type,
                  size_t result)
{
    struct backend_counts *counts = &secondary->backend->counts;
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    counts->by_result[type][result]++;
    histogram_add(&counts->seconds[type], now_ms - secondary->begun_ms[type]);
}

bool secondary_is_same_view(const struct server_view *a, const struct server_view *b)
{
    return a->has_serial == b->has_serial && a->serial == b->serial &&
           a->is_believed == b->is_believed && a->fault.fault == b->fault.fault &&
           a->has_fetched == b->has_fetched && a->fetched == b->fetched &&
           a->is_stuck == b->is_stuck;
}

// Silence is logged once for all zones of the server, until it answers again; a refusal for each.
static void report_fault(const struct secondary *secondary, const struct error *err)
{
    const struct secondaries *secondaries = secondary->zone->secondaries;
    AUTO_BUFFER name = {0};
    if (err->fault != FAULT_AUTH && secondary->backend->is_silence_reported)
        return;
    secondary->backend->is_silence_reported |= err->fault != FAULT_AUTH;
    dname_write(&name, secondary->zone->apex);
    log_line(secondaries->options.log, LOG_WARN, "a server cannot be asked for its serial",
             LOG_TEXT("server", secondary->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

static void report_well(const struct secondary *secondary)
{
    if (!secondary->backend->is_silence_reported)
        return;
    secondary->backend->is_silence_reported = false;
    log_line(secondary->zone->secondaries->options.log, LOG_INFO, "a server answers again",
             LOG_TEXT("server", secondary->server->name), LOG_END);
}

static void report_stuck(const struct secondary *secondary)
{
    const struct server_view *view = secondary_view(secondary);
    AUTO_BUFFER name = {0};
    dname_write(&name, secondary->zone->apex);
    log_line(secondary->zone->secondaries->options.log, LOG_WARN,
             "a server fetched the zone and could not load it: see its log",
             LOG_TEXT("server", secondary->server->name), LOG_TEXT("zone", name.at),
             LOG_INT("fetched", view->fetched), LOG_INT("answers", view->serial), LOG_END);
}

// Told once more of the version, it comes for all of it: what it could not load may have been in
// the differences alone.
static void see_stuck(struct secondary *secondary)
{
    struct server_view *view = secondary_view(secondary);
    bool was_stuck = view->is_stuck;
    bool is_older = view->has_serial && view->has_fetched && !view->signs &&
                    serial_is_before(view->serial, view->fetched);
    view->is_stuck =
        is_older && (was_stuck || (secondary->fetched_ms && until_stuck(secondary) <= 0));
    if (view->is_stuck && !was_stuck)
        report_stuck(secondary);
    if (!view->is_stuck || secondary->is_pushed || secondary->zone->is_paused ||
        !secondary->fetched_ms || until_stuck(secondary) > 0)
        return;
    secondary->is_pushed = true;
    secondary->exchanges[SECONDARY_NOTIFY].next_ms =
        loop_mono_ms(secondary->zone->secondaries->loop);
}

static void keep_answer(struct secondary *secondary, bool has_serial, uint32_t serial, bool is_tcp)
{
    struct server_view *view = secondary_view(secondary);
    bool is_believed = is_tcp || secondary->server->key;
    uint32_t ours = secondary->zone->serial;
    bool is_fetched = view->has_fetched && view->fetched == serial;
    bool is_strange = has_serial && (serial == ours ? !is_fetched : serial_is_before(ours, serial));
    report_well(secondary);
    secondary->is_doubted = is_strange && !is_believed && !view->signs;
    view->fault = (struct error){.fault = FAULT_NONE};
    view->has_serial = has_serial;
    view->serial = serial;
    view->is_believed = is_believed;
    see_stuck(secondary);
}

static void keep_fault(struct secondary *secondary, const struct error *err)
{
    struct server_view *view = secondary_view(secondary);
    if (view->fault.fault != err->fault)
        report_fault(secondary, err);
    view->fault = *err;
}

static void probed(struct secondary *secondary, const struct dns_reply *reply)
{
    const struct followed *zone = secondary->zone;
    const struct secondary_exchange *exchange = &secondary->exchanges[SECONDARY_PROBE];
    struct loop *loop = zone->secondaries->loop;
    bool has_serial = false;
    uint32_t serial = 0;
    struct error err;
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    if (!reply->is_answered) {
        count(secondary, SECONDARY_PROBE, 2);
        keep_fault(secondary, &reply->error);
        return;
    }
    bool is_good =
        primary_reply(reply->octets, exchange->id, zone->apex, key, loop_unix_ms(loop) / 1000,
                      &exchange->mac, &has_serial, &serial, &err);
    count(secondary, SECONDARY_PROBE, is_good ? 0 : 1);
    if (is_good || err.fault != FAULT_AUTH)
        keep_answer(secondary, is_good && has_serial, serial, exchange->is_tcp);
    else
        keep_fault(secondary, &err);
}

static void probe_done(void *context, const struct dns_reply *reply)
{
    struct secondary_exchange *exchange = context;
    struct secondary *secondary = exchange->secondary;
    struct server_view before = *secondary_view(secondary);
    exchange->call = NULL;
    left_exchange(secondary->backend);
    probed(secondary, reply);
    if (is_served_by(secondary)) {
        secondary->has_come = true;
        secondary->exchanges[SECONDARY_NOTIFY].next_ms = 0;
    }
    schedule_exchange_again(secondary, SECONDARY_PROBE);
    if (secondary->is_doubted && !exchange->is_tcp)
        exchange->next_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    if (!secondary_is_same_view(&before, secondary_view(secondary)))
        secondary_report_answer(secondary->zone);
    secondary_schedule(secondary->zone);
}

// A server that refuses NOTIFY may follow all the same, by its own refresh: probes show what it
// has.
static void report_refusal(struct secondary *secondary, const struct error *err)
{
    AUTO_BUFFER name = {0};
    if (secondary->is_refusal_reported)
        return;
    dname_write(&name, secondary->zone->apex);
    log_line(secondary->zone->secondaries->options.log, LOG_WARN,
             "a server refuses to be told of changes: let it take NOTIFY from here",
             LOG_TEXT("server", secondary->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

void secondary_probe_soon(struct secondary *secondary, bool has_fetched)
{
    struct secondary_exchange *exchange = &secondary->exchanges[SECONDARY_PROBE];
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    bool is_far = exchange->next_ms > now_ms + PROBE_FAST_MAX_MS;
    if (!secondary->server->probe || is_served_by(secondary) || !(is_far || has_fetched))
        return;
    exchange->times = 0;
    exchange->next_ms = now_ms + PROBE_FIRST_MS;
}

static void notified(struct secondary *secondary, const struct dns_reply *reply)
{
    bool has_serial;
    uint32_t serial;
    struct error err;
    const struct secondary_exchange *exchange = &secondary->exchanges[SECONDARY_NOTIFY];
    const struct followed *zone = secondary->zone;
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    if (!reply->is_answered) {
        count(secondary, SECONDARY_NOTIFY, 2);
        return;
    }
    bool is_good = primary_reply(reply->octets, exchange->id, zone->apex, key,
                                 loop_unix_ms(zone->secondaries->loop) / 1000, &exchange->mac,
                                 &has_serial, &serial, &err);
    count(secondary, SECONDARY_NOTIFY, is_good ? 0 : 1);
    if (!is_good)
        report_refusal(secondary, &err);
    else if (secondary->is_refusal_reported)
        secondary_probe_soon(secondary, false);
    secondary->is_refusal_reported = !is_good;
}

static void notify_done(void *context, const struct dns_reply *reply)
{
    struct secondary_exchange *exchange = context;
    struct secondary *secondary = exchange->secondary;
    exchange->call = NULL;
    left_exchange(secondary->backend);
    notified(secondary, reply);
    schedule_exchange_again(secondary, SECONDARY_NOTIFY);
    secondary_schedule(secondary->zone);
}

static bool write_request(struct secondary *secondary, enum secondary_exchange_type type,
                          struct buffer *out)
{
    const struct followed *zone = secondary->zone;
    const struct secondaries *secondaries = zone->secondaries;
    struct secondary_exchange *exchange = &secondary->exchanges[type];
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    int64_t unix_s = loop_unix_ms(secondaries->loop) / 1000;
    struct error err;
    exchange->id = random_u16(secondaries->options.world->random);
    if (type == SECONDARY_NOTIFY)
        return primary_notify(out, exchange->id, zone->soa, key, unix_s, &exchange->mac, &err);
    return primary_probe(out, exchange->id, zone->apex, key, unix_s, &exchange->mac, &err);
}

static void begin_exchange(struct secondary *secondary, enum secondary_exchange_type type)
{
    struct secondaries *secondaries = secondary->zone->secondaries;
    struct secondary_exchange *exchange = &secondary->exchanges[type];
    AUTO_BUFFER octets = {0};
    int64_t now_ms = loop_mono_ms(secondaries->loop);
    exchange->next_ms = 0;
    if (secondary->backend->in_flight >= EXCHANGES_PER_SERVER) {
        line_add(secondary->backend, exchange);
        return;
    }
    line_remove(secondary->backend, exchange);
    if (!write_request(secondary, type, &octets))
        return;
    exchange->times++;
    exchange->is_tcp = type == SECONDARY_PROBE && secondary->is_doubted;
    secondary->begun_ms[type] = now_ms;
    secondary->backend->in_flight++;
    secondaries->in_flight++;
    const struct dns_request request = {.server = secondary->server->address,
                                        .octets = buffer_text(&octets),
                                        .use_tcp = exchange->is_tcp,
                                        .timeout_ms = PROVIDER_EXCHANGE_TIMEOUT_MS};
    exchange->call = dns_send(secondaries->options.world->dns, &request,
                              type == SECONDARY_NOTIFY ? notify_done : probe_done, exchange);
}

void secondary_drain(void *context)
{
    struct secondary_server *backend = context;
    struct secondary_exchange *first;
    while ((first = list_first(&backend->line)) && backend->in_flight < EXCHANGES_PER_SERVER)
        begin_exchange(first->secondary, first->type);
}

void secondary_on_timer(void *context)
{
    struct followed *zone = context;
    int64_t now_ms = loop_mono_ms(zone->secondaries->loop);
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++) {
            const struct secondary_exchange *exchange = &zone->items[i].exchanges[k];
            if (exchange->next_ms && exchange->next_ms <= now_ms && !exchange->call)
                begin_exchange(&zone->items[i], (enum secondary_exchange_type)k);
        }
    secondary_schedule(zone);
}

void secondary_end_exchange(struct secondary_exchange *exchange)
{
    struct secondary *secondary = exchange->secondary;
    line_remove(secondary->backend, exchange);
    if (!exchange->call)
        return;
    dns_cancel(secondary->zone->secondaries->options.world->dns, exchange->call);
    exchange->call = NULL;
    left_exchange(secondary->backend);
}

void secondary_end_exchanges(struct followed *zone)
{
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++)
            secondary_end_exchange(&zone->items[i].exchanges[k]);
}

// ---- new versions -------------------------------------------------------------------------------

void secondary_take_fetches(struct followed *zone)
{
    const struct published_zone *served =
        published_find(zone->secondaries->options.published, zone->apex);
    for (size_t i = 0; served && i < zone->count; i++)
        for (size_t k = 0; k < served->fetch_count; k++) {
            const struct published_fetch *fetch = &served->fetches[k];
            if (strcmp(fetch->server, zone->items[i].server->name) != 0)
                continue;
            zone->views[i].has_fetched = fetch->has_fetched;
            zone->views[i].fetched = fetch->fetched_serial;
            if (fetch->has_asked && fetch->asked_serial == zone->serial)
                zone->items[i].has_come = true;
        }
}

void secondary_announce(struct followed *zone)
{
    int64_t now_ms = loop_mono_ms(zone->secondaries->loop);
    for (size_t i = 0; i < zone->count; i++) {
        struct secondary *secondary = &zone->items[i];
        secondary_end_exchange(&secondary->exchanges[SECONDARY_NOTIFY]);
        secondary->has_come = secondary->is_pushed = false;
        secondary->exchanges[SECONDARY_NOTIFY].times = secondary->exchanges[SECONDARY_PROBE].times =
            0;
        secondary->exchanges[SECONDARY_NOTIFY].next_ms = zone->is_paused ? 0 : now_ms;
        secondary->exchanges[SECONDARY_PROBE].next_ms =
            secondary->server->probe ? now_ms + PROBE_FIRST_MS : 0;
    }
    secondary_take_fetches(zone);
    if (zone->secondaries->is_leading)
        secondary_on_timer(zone);
}
