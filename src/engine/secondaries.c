#include "engine/secondaries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/metric.h"
#include "base/table.h"
#include "dns/primary.h"
#include "dns/serial.h"

enum {
    PROBE_FIRST_MS = 2,
    PROBE_FAST_MAX_MS = 1000,
    PROBE_FAST_TIMES = 10,
    PROBE_SLOW_MS = 30000,
    NOTIFY_FIRST_MS = 1000,
    NOTIFY_MAX_MS = 60000,
    EXCHANGE_TIMEOUT_MS = 2000,
    EXCHANGES_PER_SERVER = 64,
};

enum exchange_type { EXCHANGE_NOTIFY, EXCHANGE_PROBE, EXCHANGE_TYPES };
static const char *const exchange_names[EXCHANGE_TYPES] = {"notify", "soa"};

struct secondary;
struct exchange {
    struct secondary *secondary;
    enum exchange_type type;
    bool is_waiting; // in its server's line
    struct exchange *next;
    struct exchange *previous;
    struct dns_call *call; // NULL: none is under way
    uint16_t id;
    struct tsig_mac mac;
    bool is_tcp;
    unsigned times;  // since the version was told
    int64_t next_ms; // mono; 0: not before something happens
};

// A server of a configuration; what all zones share.
struct backend_counts {
    uint64_t by_result[EXCHANGE_TYPES][3]; // answered, refused, not answered
    struct histogram seconds[EXCHANGE_TYPES];
};
struct server_backend {
    struct secondaries *secondaries;
    char *name;
    size_t in_flight;
    struct exchange *first; // that wait, as too many are in flight
    struct exchange *last;
    struct loop_timer timer;
    bool is_silence_told; // it cannot be reached, and that was logged
    struct backend_counts counts;
};

// A server and a zone.
struct secondary {
    struct followed *zone;
    const struct zones_server *server;
    struct server_backend *backend;
    struct exchange exchanges[EXCHANGE_TYPES];
    int64_t begun_ms[EXCHANGE_TYPES];
    bool is_doubted;      // it answered what nobody vouches for: ask over TCP
    bool has_come;        // for the version told last
    int64_t fetched_ms;   // mono; 0: not since it is followed
    bool is_pushed;       // told again of that version, as it could not load it
    bool is_refusal_told; // it refuses NOTIFY, and that was logged
};

struct followed {
    struct secondaries *secondaries;
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    char *group;
    struct rrset *soa;
    uint32_t serial;
    struct secondary *items;
    struct server_view *views;
    size_t count;
    struct loop_timer timer;
    bool is_heard;  // `heard` is due
    bool is_hushed; // no NOTIFY
};

struct secondaries {
    struct secondaries_options options;
    struct loop *loop;
    const struct zones_config *config;
    bool is_leading;
    struct followed **zones; // NULL: free
    size_t capacity;
    uint32_t used;
    struct table by_apex;
    struct server_backend **backends;
    size_t backend_count;
    size_t backend_capacity;
    size_t in_flight;
    bool is_telling;
};

// ---- tables -------------------------------------------------------------------------------------

static bool zone_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct secondaries *secondaries = context;
    return dname_equal(secondaries->zones[id]->apex, *(const struct dname *)wanted);
}

static uint64_t zone_hash(const void *context, uint32_t id)
{
    const struct secondaries *secondaries = context;
    return hash_octets(secondaries->zones[id]->apex.at, secondaries->zones[id]->apex.len);
}

static const struct table_ops zone_ops = {zone_matches, zone_hash};

static uint32_t find_id(const struct secondaries *secondaries, struct dname apex)
{
    return table_find(&secondaries->by_apex, hash_octets(apex.at, apex.len), &apex);
}

static struct followed *find(const struct secondaries *secondaries, struct dname apex)
{
    uint32_t id = find_id(secondaries, apex);
    return id == TABLE_NONE ? NULL : secondaries->zones[id];
}

static uint32_t slot(struct secondaries *secondaries)
{
    bool has_free = secondaries->by_apex.count < secondaries->used;
    for (uint32_t id = 0; has_free && id < secondaries->used; id++)
        if (!secondaries->zones[id])
            return id;
    mem_reserve(&secondaries->zones, &secondaries->capacity, (size_t)secondaries->used + 1);
    return secondaries->used++;
}

static void drain(void *context);

static struct server_backend *backend_of(struct secondaries *secondaries, const char *name)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        if (!strcmp(secondaries->backends[i]->name, name))
            return secondaries->backends[i];
    mem_reserve(&secondaries->backends, &secondaries->backend_capacity,
                secondaries->backend_count + 1);
    struct server_backend *backend = mem_new_of(struct server_backend);
    backend->secondaries = secondaries;
    backend->name = mem_copy_text(name);
    backend->timer = (struct loop_timer){.call = drain, .context = backend};
    secondaries->backends[secondaries->backend_count++] = backend;
    return backend;
}

// ---- telling ------------------------------------------------------------------------------------

static void tell_heard(void *context)
{
    struct secondaries *secondaries = context;
    secondaries->is_telling = false;
    for (uint32_t id = 0; id < secondaries->used; id++) {
        struct followed *zone = secondaries->zones[id];
        if (!zone || !zone->is_heard)
            continue;
        zone->is_heard = false;
        secondaries->options.heard(secondaries->options.context, zone->apex);
    }
}

static void say_heard(struct followed *zone)
{
    struct secondaries *secondaries = zone->secondaries;
    zone->is_heard = true;
    if (secondaries->is_telling)
        return;
    secondaries->is_telling = true;
    loop_defer(secondaries->loop, tell_heard, secondaries);
}

static struct server_view *view_of(const struct secondary *secondary)
{
    return &secondary->zone->views[secondary - secondary->zone->items];
}

// ---- timing -------------------------------------------------------------------------------------

static void schedule(struct followed *zone)
{
    struct secondaries *secondaries = zone->secondaries;
    int64_t now_ms = loop_mono_ms(secondaries->loop);
    int64_t next_ms = 0;
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < EXCHANGE_TYPES; k++) {
            const struct exchange *exchange = &zone->items[i].exchanges[k];
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
    const struct server_view *view = view_of(secondary);
    uint32_t ours = secondary->zone->serial;
    if (view->is_probed && !view->signs)
        return view->has_serial && view->fault.fault == FAULT_NONE && view->serial == ours;
    return view->has_fetched && view->fetched == ours;
}

static int64_t notify_delay(const struct exchange *exchange)
{
    int64_t delay_ms = NOTIFY_FIRST_MS;
    for (unsigned i = 1; i < exchange->times && delay_ms < NOTIFY_MAX_MS; i++)
        delay_ms *= 2;
    return delay_ms > NOTIFY_MAX_MS ? NOTIFY_MAX_MS : delay_ms;
}

// Until a server that still answers an older serial than it fetched counts as one that could not
// load that.
static int64_t until_stuck(const struct secondary *secondary)
{
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    return secondary->fetched_ms ? secondary->fetched_ms + PUBLISHED_STUCK_MS - now_ms : 0;
}

static int64_t probe_delay(const struct secondary *secondary, const struct exchange *exchange)
{
    int64_t stuck_ms = until_stuck(secondary);
    if (!is_served_by(secondary) && exchange->times >= PROBE_FAST_TIMES && stuck_ms > 0)
        return stuck_ms;
    if (is_served_by(secondary) || exchange->times >= PROBE_FAST_TIMES)
        return PROBE_SLOW_MS;
    int64_t delay_ms = (int64_t)PROBE_FIRST_MS << exchange->times;
    return delay_ms > PROBE_FAST_MAX_MS ? PROBE_FAST_MAX_MS : delay_ms;
}

static void exchange_again(struct secondary *secondary, enum exchange_type type)
{
    struct exchange *exchange = &secondary->exchanges[type];
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    if (type == EXCHANGE_NOTIFY)
        exchange->next_ms =
            secondary->has_come || secondary->zone->is_hushed ? 0 : now_ms + notify_delay(exchange);
    else if (secondary->server->probe)
        exchange->next_ms = now_ms + probe_delay(secondary, exchange);
}

// ---- waiting for a server -----------------------------------------------------------------------

static void line_add(struct server_backend *backend, struct exchange *exchange)
{
    if (exchange->is_waiting)
        return;
    exchange->is_waiting = true;
    exchange->next = NULL;
    exchange->previous = backend->last;
    *(backend->last ? &backend->last->next : &backend->first) = exchange;
    backend->last = exchange;
}

static void line_remove(struct server_backend *backend, struct exchange *exchange)
{
    if (!exchange->is_waiting)
        return;
    *(exchange->previous ? &exchange->previous->next : &backend->first) = exchange->next;
    *(exchange->next ? &exchange->next->previous : &backend->last) = exchange->previous;
    exchange->is_waiting = false;
}

static void left_flight(struct server_backend *backend)
{
    backend->in_flight--;
    backend->secondaries->in_flight--;
    if (backend->first)
        loop_timer_set(backend->secondaries->loop, &backend->timer, 0);
}

// ---- talking ------------------------------------------------------------------------------------

static void count(const struct secondary *secondary, enum exchange_type type, size_t result)
{
    struct backend_counts *counts = &secondary->backend->counts;
    int64_t now_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    counts->by_result[type][result]++;
    histogram_add(&counts->seconds[type], now_ms - secondary->begun_ms[type]);
}

static bool is_same_view(const struct server_view *a, const struct server_view *b)
{
    return a->has_serial == b->has_serial && a->serial == b->serial &&
           a->is_believed == b->is_believed && a->fault.fault == b->fault.fault &&
           a->has_fetched == b->has_fetched && a->fetched == b->fetched &&
           a->is_stuck == b->is_stuck;
}

// Silence is told once for all zones of the server, until it answers again; a refusal for each.
static void tell_fault(const struct secondary *secondary, const struct error *err)
{
    const struct secondaries *secondaries = secondary->zone->secondaries;
    AUTO_BUFFER name = {0};
    if (err->fault != FAULT_AUTH && secondary->backend->is_silence_told)
        return;
    secondary->backend->is_silence_told |= err->fault != FAULT_AUTH;
    dname_write(&name, secondary->zone->apex);
    log_line(secondaries->options.log, LOG_WARN, "a server cannot be asked for its serial",
             LOG_TEXT("server", secondary->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

static void tell_well(const struct secondary *secondary)
{
    if (!secondary->backend->is_silence_told)
        return;
    secondary->backend->is_silence_told = false;
    log_line(secondary->zone->secondaries->options.log, LOG_INFO, "a server answers again",
             LOG_TEXT("server", secondary->server->name), LOG_END);
}

static void tell_stuck(const struct secondary *secondary)
{
    const struct server_view *view = view_of(secondary);
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
    struct server_view *view = view_of(secondary);
    bool was_stuck = view->is_stuck;
    bool is_older = view->has_serial && view->has_fetched && !view->signs &&
                    serial_is_before(view->serial, view->fetched);
    view->is_stuck =
        is_older && (was_stuck || (secondary->fetched_ms && until_stuck(secondary) <= 0));
    if (view->is_stuck && !was_stuck)
        tell_stuck(secondary);
    if (!view->is_stuck || secondary->is_pushed || secondary->zone->is_hushed ||
        !secondary->fetched_ms || until_stuck(secondary) > 0)
        return;
    secondary->is_pushed = true;
    secondary->exchanges[EXCHANGE_NOTIFY].next_ms =
        loop_mono_ms(secondary->zone->secondaries->loop);
}

static void keep_answer(struct secondary *secondary, bool has_serial, uint32_t serial, bool is_tcp)
{
    struct server_view *view = view_of(secondary);
    bool is_believed = is_tcp || secondary->server->key;
    uint32_t ours = secondary->zone->serial;
    bool is_fetched = view->has_fetched && view->fetched == serial;
    bool is_strange = has_serial && (serial == ours ? !is_fetched : serial_is_before(ours, serial));
    tell_well(secondary);
    secondary->is_doubted = is_strange && !is_believed && !view->signs;
    view->fault = (struct error){.fault = FAULT_NONE};
    view->has_serial = has_serial;
    view->serial = serial;
    view->is_believed = is_believed;
    see_stuck(secondary);
}

static void keep_fault(struct secondary *secondary, const struct error *err)
{
    struct server_view *view = view_of(secondary);
    if (view->fault.fault != err->fault)
        tell_fault(secondary, err);
    view->fault = *err;
}

static void probed(struct secondary *secondary, const struct dns_reply *reply)
{
    const struct followed *zone = secondary->zone;
    const struct exchange *exchange = &secondary->exchanges[EXCHANGE_PROBE];
    struct loop *loop = zone->secondaries->loop;
    bool has_serial = false;
    uint32_t serial = 0;
    struct error err;
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    if (!reply->is_answered) {
        count(secondary, EXCHANGE_PROBE, 2);
        keep_fault(secondary, &reply->error);
        return;
    }
    bool is_good =
        primary_reply(reply->octets, exchange->id, zone->apex, key, loop_unix_ms(loop) / 1000,
                      &exchange->mac, &has_serial, &serial, &err);
    count(secondary, EXCHANGE_PROBE, is_good ? 0 : 1);
    if (is_good || err.fault != FAULT_AUTH)
        keep_answer(secondary, is_good && has_serial, serial, exchange->is_tcp);
    else
        keep_fault(secondary, &err);
}

static void probe_done(void *context, const struct dns_reply *reply)
{
    struct exchange *exchange = context;
    struct secondary *secondary = exchange->secondary;
    struct server_view before = *view_of(secondary);
    exchange->call = NULL;
    left_flight(secondary->backend);
    probed(secondary, reply);
    if (is_served_by(secondary)) {
        secondary->has_come = true;
        secondary->exchanges[EXCHANGE_NOTIFY].next_ms = 0;
    }
    exchange_again(secondary, EXCHANGE_PROBE);
    if (secondary->is_doubted && !exchange->is_tcp)
        exchange->next_ms = loop_mono_ms(secondary->zone->secondaries->loop);
    if (!is_same_view(&before, view_of(secondary)))
        say_heard(secondary->zone);
    schedule(secondary->zone);
}

// It may follow all the same, by its own refresh: what it has is seen by asking it.
static void tell_refusal(struct secondary *secondary, const struct error *err)
{
    AUTO_BUFFER name = {0};
    if (secondary->is_refusal_told)
        return;
    dname_write(&name, secondary->zone->apex);
    log_line(secondary->zone->secondaries->options.log, LOG_WARN,
             "a server refuses to be told of changes: let it take NOTIFY from here",
             LOG_TEXT("server", secondary->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

// One that has fetched is asked at once. One that only asks could do so for ever: it is asked anew
// only if it would wait for long.
static void probe_soon(struct secondary *secondary, bool has_fetched)
{
    struct exchange *exchange = &secondary->exchanges[EXCHANGE_PROBE];
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
    const struct exchange *exchange = &secondary->exchanges[EXCHANGE_NOTIFY];
    const struct followed *zone = secondary->zone;
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    if (!reply->is_answered) {
        count(secondary, EXCHANGE_NOTIFY, 2);
        return;
    }
    bool is_good = primary_reply(reply->octets, exchange->id, zone->apex, key,
                                 loop_unix_ms(zone->secondaries->loop) / 1000, &exchange->mac,
                                 &has_serial, &serial, &err);
    count(secondary, EXCHANGE_NOTIFY, is_good ? 0 : 1);
    if (!is_good)
        tell_refusal(secondary, &err);
    else if (secondary->is_refusal_told)
        probe_soon(secondary, false);
    secondary->is_refusal_told = !is_good;
}

static void notify_done(void *context, const struct dns_reply *reply)
{
    struct exchange *exchange = context;
    struct secondary *secondary = exchange->secondary;
    exchange->call = NULL;
    left_flight(secondary->backend);
    notified(secondary, reply);
    exchange_again(secondary, EXCHANGE_NOTIFY);
    schedule(secondary->zone);
}

static bool write_request(struct secondary *secondary, enum exchange_type type, struct buffer *out)
{
    const struct followed *zone = secondary->zone;
    const struct secondaries *secondaries = zone->secondaries;
    struct exchange *exchange = &secondary->exchanges[type];
    const struct tsig_key *key = secondary->server->key ? &secondary->server->key->key : NULL;
    int64_t unix_s = loop_unix_ms(secondaries->loop) / 1000;
    struct error err;
    exchange->id = random_u16(secondaries->options.world->random);
    if (type == EXCHANGE_NOTIFY)
        return primary_notify(out, exchange->id, zone->soa, key, unix_s, &exchange->mac, &err);
    return primary_probe(out, exchange->id, zone->apex, key, unix_s, &exchange->mac, &err);
}

static void exchange_now(struct secondary *secondary, enum exchange_type type)
{
    struct secondaries *secondaries = secondary->zone->secondaries;
    struct exchange *exchange = &secondary->exchanges[type];
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
    exchange->is_tcp = type == EXCHANGE_PROBE && secondary->is_doubted;
    secondary->begun_ms[type] = now_ms;
    secondary->backend->in_flight++;
    secondaries->in_flight++;
    const struct dns_request request = {.server = secondary->server->address,
                                        .octets = buffer_text(&octets),
                                        .use_tcp = exchange->is_tcp,
                                        .timeout_ms = EXCHANGE_TIMEOUT_MS};
    exchange->call = dns_send(secondaries->options.world->dns, &request,
                              type == EXCHANGE_NOTIFY ? notify_done : probe_done, exchange);
}

static void drain(void *context)
{
    struct server_backend *backend = context;
    while (backend->first && backend->in_flight < EXCHANGES_PER_SERVER)
        exchange_now(backend->first->secondary, backend->first->type);
}

static void ring(void *context)
{
    struct followed *zone = context;
    int64_t now_ms = loop_mono_ms(zone->secondaries->loop);
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < EXCHANGE_TYPES; k++) {
            const struct exchange *exchange = &zone->items[i].exchanges[k];
            if (exchange->next_ms && exchange->next_ms <= now_ms && !exchange->call)
                exchange_now(&zone->items[i], (enum exchange_type)k);
        }
    schedule(zone);
}

// ---- zones --------------------------------------------------------------------------------------

static void end_exchange(struct exchange *exchange)
{
    struct secondary *secondary = exchange->secondary;
    line_remove(secondary->backend, exchange);
    if (!exchange->call)
        return;
    dns_cancel(secondary->zone->secondaries->options.world->dns, exchange->call);
    exchange->call = NULL;
    left_flight(secondary->backend);
}

static void end_exchanges(struct followed *zone)
{
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < EXCHANGE_TYPES; k++)
            end_exchange(&zone->items[i].exchanges[k]);
}

static void take_fetches(struct followed *zone)
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

// News for all its servers: told now, asked soon.
static void announce(struct followed *zone)
{
    int64_t now_ms = loop_mono_ms(zone->secondaries->loop);
    for (size_t i = 0; i < zone->count; i++) {
        struct secondary *secondary = &zone->items[i];
        end_exchange(&secondary->exchanges[EXCHANGE_NOTIFY]);
        secondary->has_come = secondary->is_pushed = false;
        secondary->exchanges[EXCHANGE_NOTIFY].times = secondary->exchanges[EXCHANGE_PROBE].times =
            0;
        secondary->exchanges[EXCHANGE_NOTIFY].next_ms = zone->is_hushed ? 0 : now_ms;
        secondary->exchanges[EXCHANGE_PROBE].next_ms =
            secondary->server->probe ? now_ms + PROBE_FIRST_MS : 0;
    }
    take_fetches(zone);
    if (zone->secondaries->is_leading)
        ring(zone);
}

static void bind_server(struct followed *zone, size_t at, const struct zones_server *server)
{
    struct secondary *secondary = &zone->items[at];
    *secondary = (struct secondary){
        .zone = zone, .server = server, .backend = backend_of(zone->secondaries, server->name)};
    for (size_t k = 0; k < EXCHANGE_TYPES; k++)
        secondary->exchanges[k] =
            (struct exchange){.secondary = secondary, .type = (enum exchange_type)k};
    zone->views[at] = (struct server_view){
        .name = server->name, .is_probed = server->probe, .signs = server->signs};
}

static void bind_servers(struct followed *zone)
{
    const struct zones_config *config = zone->secondaries->config;
    const struct zones_group *group =
        config && zone->group ? zones_config_group(config, text_of(zone->group)) : NULL;
    end_exchanges(zone);
    free(zone->items);
    free(zone->views);
    zone->count = group ? group->server_count : 0;
    zone->items = mem_new_array(struct secondary, zone->count + 1);
    zone->views = mem_new_array(struct server_view, zone->count + 1);
    for (size_t i = 0; i < zone->count; i++)
        bind_server(zone, i, &group->servers[i]);
}

static void set_version(struct followed *zone, const struct zone *version)
{
    rrset_unref(zone->soa);
    zone->soa = rrset_ref(zone_soa(version));
    zone->serial = zone_serial(version);
}

static bool is_same_group(const struct followed *zone, const char *group)
{
    return zone->group && group ? !strcmp(zone->group, group) : zone->group == group;
}

static struct followed *followed_new(struct secondaries *secondaries, struct dname apex)
{
    uint32_t id = slot(secondaries);
    struct followed *zone = mem_new_of(struct followed);
    memcpy(zone->octets, apex.at, apex.len);
    zone->secondaries = secondaries;
    zone->apex = (struct dname){zone->octets, apex.len};
    zone->timer = (struct loop_timer){.call = ring, .context = zone};
    secondaries->zones[id] = zone;
    table_add(&secondaries->by_apex, hash_octets(apex.at, apex.len), id);
    return zone;
}

static void followed_free(struct followed *zone)
{
    if (!zone)
        return;
    end_exchanges(zone);
    loop_timer_cancel(zone->secondaries->loop, &zone->timer);
    rrset_unref(zone->soa);
    free(zone->group);
    free(zone->items);
    free(zone->views);
    free(zone);
}

void secondaries_tell(struct secondaries *secondaries, const char *group, const struct zone *zone)
{
    struct followed *followed = find(secondaries, zone_apex(zone));
    bool is_known = followed && is_same_group(followed, group);
    if (is_known && followed->serial == zone_serial(zone) && !followed->is_hushed)
        return;
    if (!followed)
        followed = followed_new(secondaries, zone_apex(zone));
    followed->is_hushed = false;
    set_version(followed, zone);
    if (!is_known) {
        free(followed->group);
        followed->group = group ? mem_copy_text(group) : NULL;
        bind_servers(followed);
    }
    announce(followed);
    say_heard(followed);
}

void secondaries_hush(struct secondaries *secondaries, struct dname apex)
{
    struct followed *zone = find(secondaries, apex);
    if (!zone || zone->is_hushed)
        return;
    zone->is_hushed = true;
    for (size_t i = 0; i < zone->count; i++) {
        end_exchange(&zone->items[i].exchanges[EXCHANGE_NOTIFY]);
        zone->items[i].exchanges[EXCHANGE_NOTIFY].next_ms = 0;
    }
    schedule(zone);
}

void secondaries_forget(struct secondaries *secondaries, struct dname apex)
{
    uint32_t id = find_id(secondaries, apex);
    if (id == TABLE_NONE)
        return;
    table_remove(&secondaries->by_apex, hash_octets(apex.at, apex.len), id);
    followed_free(secondaries->zones[id]);
    secondaries->zones[id] = NULL;
}

static struct secondary *secondary_named(const struct followed *zone, const char *server)
{
    for (size_t i = 0; i < zone->count; i++)
        if (!strcmp(zone->items[i].server->name, server))
            return &zone->items[i];
    return NULL;
}

void secondaries_see(struct secondaries *secondaries, const struct published_sign *sign)
{
    struct followed *zone = find(secondaries, sign->apex);
    struct secondary *secondary = zone ? secondary_named(zone, sign->server) : NULL;
    if (!secondary)
        return;
    struct server_view before = *view_of(secondary);
    take_fetches(zone);
    if (sign->has_fetched)
        secondary->fetched_ms = loop_mono_ms(zone->secondaries->loop);
    if (secondary->has_come)
        secondary->exchanges[EXCHANGE_NOTIFY].next_ms = 0;
    probe_soon(secondary, sign->has_fetched);
    schedule(zone);
    if (!is_same_view(&before, view_of(secondary)))
        say_heard(zone);
}

const char *secondaries_group(const struct secondaries *secondaries, struct dname apex)
{
    const struct followed *zone = find(secondaries, apex);
    return zone ? zone->group : NULL;
}

size_t secondaries_views(const struct secondaries *secondaries, struct dname apex,
                         const struct server_view **views)
{
    const struct followed *zone = find(secondaries, apex);
    *views = zone ? zone->views : NULL;
    return zone ? zone->count : 0;
}

// ---- all of them --------------------------------------------------------------------------------

struct secondaries *secondaries_new(const struct secondaries_options *options)
{
    struct secondaries *secondaries = mem_new_of(struct secondaries);
    secondaries->options = *options;
    secondaries->loop = options->world->loop;
    secondaries->by_apex = (struct table){.ops = &zone_ops, .context = secondaries};
    return secondaries;
}

void secondaries_free(struct secondaries *secondaries)
{
    if (!secondaries)
        return;
    for (uint32_t id = 0; id < secondaries->used; id++)
        followed_free(secondaries->zones[id]);
    for (size_t i = 0; i < secondaries->backend_count; i++) {
        loop_timer_cancel(secondaries->loop, &secondaries->backends[i]->timer);
        free(secondaries->backends[i]->name);
        free(secondaries->backends[i]);
    }
    table_done(&secondaries->by_apex);
    free(secondaries->backends);
    free(secondaries->zones);
    free(secondaries);
}

void secondaries_set_config(struct secondaries *secondaries, const struct zones_config *config)
{
    secondaries->config = config;
    for (uint32_t id = 0; id < secondaries->used; id++) {
        struct followed *zone = secondaries->zones[id];
        if (!zone)
            continue;
        bind_servers(zone);
        announce(zone);
        say_heard(zone);
    }
}

void secondaries_lead(struct secondaries *secondaries, bool is_leading)
{
    secondaries->is_leading = is_leading;
    for (uint32_t id = 0; id < secondaries->used; id++) {
        struct followed *zone = secondaries->zones[id];
        if (zone && is_leading)
            announce(zone);
        else if (zone)
            end_exchanges(zone), schedule(zone);
    }
}

static void write_labels(const struct server_backend *backend, enum exchange_type type,
                         struct buffer *out)
{
    buffer_add_text(out, "backend=\"");
    metric_write_label(out, backend->name);
    buffer_printf(out, "\",operation=\"%s\"", exchange_names[type]);
}

static void write_requests(const struct server_backend *backend, enum exchange_type type,
                           struct buffer *out)
{
    static const char *const codes[] = {"answered", "refused", "error"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (!backend->counts.by_result[type][i])
            continue;
        buffer_add_text(out, "signpost_backend_requests_total{");
        write_labels(backend, type, out);
        buffer_printf(out, ",code=\"%s\"} %" PRIu64 "\n", codes[i],
                      backend->counts.by_result[type][i]);
    }
}

static void write_seconds(const struct server_backend *backend, enum exchange_type type,
                          struct buffer *out)
{
    AUTO_BUFFER labels = {0};
    if (!backend->counts.seconds[type].count)
        return;
    write_labels(backend, type, &labels);
    metric_write_histogram(out, "signpost_backend_request_seconds", labels.at,
                           &backend->counts.seconds[type]);
}

void secondaries_write_requests(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        for (size_t k = 0; k < EXCHANGE_TYPES; k++)
            write_requests(secondaries->backends[i], (enum exchange_type)k, out);
}

void secondaries_write_seconds(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        for (size_t k = 0; k < EXCHANGE_TYPES; k++)
            write_seconds(secondaries->backends[i], (enum exchange_type)k, out);
}

void secondaries_write_in_flight(const struct secondaries *secondaries, struct buffer *out)
{
    for (size_t i = 0; i < secondaries->backend_count; i++) {
        buffer_add_text(out, "signpost_backend_in_flight{backend=\"");
        metric_write_label(out, secondaries->backends[i]->name);
        buffer_printf(out, "\"} %zu\n", secondaries->backends[i]->in_flight);
    }
}
