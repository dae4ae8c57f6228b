#include "engine/followers.h"

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
    TALK_TIMEOUT_MS = 2000,
    TALKS_PER_SERVER = 64,
};

enum talk_type { TALK_NOTIFY, TALK_PROBE, TALK_TYPES };
static const char *const talk_names[TALK_TYPES] = {"notify", "soa"};

struct follower;
struct talk {
    struct follower *follower;
    enum talk_type type;
    bool is_waiting; // in its server's line
    struct talk *next;
    struct talk *previous;
    struct dns_call *call; // NULL: none is under way
    uint16_t id;
    struct tsig_mac mac;
    bool is_tcp;
    unsigned times;  // since the version was told
    int64_t next_ms; // mono; 0: not before something happens
};

// A server of a configuration; what all zones share.
struct lane_counts {
    uint64_t by_result[TALK_TYPES][3]; // answered, refused, not answered
    struct histogram seconds[TALK_TYPES];
};
struct server_lane {
    struct followers *followers;
    char *name;
    size_t in_flight;
    struct talk *first; // that wait, as too many are in flight
    struct talk *last;
    struct loop_timer timer;
    bool is_silence_told; // it cannot be reached, and that was logged
    struct lane_counts counts;
};

// A server and a zone.
struct follower {
    struct followed *zone;
    const struct zones_server *server;
    struct server_lane *lane;
    struct talk talks[TALK_TYPES];
    int64_t begun_ms[TALK_TYPES];
    bool is_doubted;      // it answered what nobody vouches for: ask over TCP
    bool has_come;        // for the version told last
    int64_t fetched_ms;   // mono; 0: not since it is followed
    bool is_pushed;       // told again of that version, as it could not load it
    bool is_refusal_told; // it refuses NOTIFY, and that was logged
};

struct followed {
    struct followers *followers;
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    char *group;
    struct rrset *soa;
    uint32_t serial;
    struct follower *items;
    struct server_view *views;
    size_t count;
    struct loop_timer timer;
    bool is_heard;  // `heard` is due
    bool is_hushed; // no NOTIFY
};

struct followers {
    struct followers_options options;
    struct loop *loop;
    const struct zones_config *config;
    bool is_leading;
    struct followed **zones; // NULL: free
    size_t capacity;
    uint32_t used;
    struct table by_apex;
    struct server_lane **lanes;
    size_t lane_count;
    size_t lane_capacity;
    size_t in_flight;
    bool is_telling;
};

// ---- tables -------------------------------------------------------------------------------------

static bool zone_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct followers *followers = context;
    return dname_equal(followers->zones[id]->apex, *(const struct dname *)wanted);
}

static uint64_t zone_hash(const void *context, uint32_t id)
{
    const struct followers *followers = context;
    return hash_octets(followers->zones[id]->apex.at, followers->zones[id]->apex.len);
}

static const struct table_ops zone_ops = {zone_matches, zone_hash};

static uint32_t find_id(const struct followers *followers, struct dname apex)
{
    return table_find(&followers->by_apex, hash_octets(apex.at, apex.len), &apex);
}

static struct followed *find(const struct followers *followers, struct dname apex)
{
    uint32_t id = find_id(followers, apex);
    return id == TABLE_NONE ? NULL : followers->zones[id];
}

static uint32_t slot(struct followers *followers)
{
    bool has_free = followers->by_apex.count < followers->used;
    for (uint32_t id = 0; has_free && id < followers->used; id++)
        if (!followers->zones[id])
            return id;
    mem_reserve(&followers->zones, &followers->capacity, (size_t)followers->used + 1);
    return followers->used++;
}

static void drain(void *context);

static struct server_lane *lane_of(struct followers *followers, const char *name)
{
    for (size_t i = 0; i < followers->lane_count; i++)
        if (!strcmp(followers->lanes[i]->name, name))
            return followers->lanes[i];
    mem_reserve(&followers->lanes, &followers->lane_capacity, followers->lane_count + 1);
    struct server_lane *lane = mem_new_of(struct server_lane);
    lane->followers = followers;
    lane->name = mem_copy_text(name);
    lane->timer = (struct loop_timer){.call = drain, .context = lane};
    followers->lanes[followers->lane_count++] = lane;
    return lane;
}

// ---- telling ------------------------------------------------------------------------------------

static void tell_heard(void *context)
{
    struct followers *followers = context;
    followers->is_telling = false;
    for (uint32_t id = 0; id < followers->used; id++) {
        struct followed *zone = followers->zones[id];
        if (!zone || !zone->is_heard)
            continue;
        zone->is_heard = false;
        followers->options.heard(followers->options.context, zone->apex);
    }
}

static void say_heard(struct followed *zone)
{
    struct followers *followers = zone->followers;
    zone->is_heard = true;
    if (followers->is_telling)
        return;
    followers->is_telling = true;
    loop_defer(followers->loop, tell_heard, followers);
}

static struct server_view *view_of(const struct follower *follower)
{
    return &follower->zone->views[follower - follower->zone->items];
}

// ---- timing -------------------------------------------------------------------------------------

static void schedule(struct followed *zone)
{
    struct followers *followers = zone->followers;
    int64_t now_ms = loop_mono_ms(followers->loop);
    int64_t next_ms = 0;
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < TALK_TYPES; k++) {
            const struct talk *talk = &zone->items[i].talks[k];
            if (talk->next_ms && !talk->call && (!next_ms || talk->next_ms < next_ms))
                next_ms = talk->next_ms;
        }
    if (next_ms && followers->is_leading)
        loop_timer_set(followers->loop, &zone->timer, next_ms > now_ms ? next_ms - now_ms : 0);
    else
        loop_timer_cancel(followers->loop, &zone->timer);
}

static bool is_served_by(const struct follower *follower)
{
    const struct server_view *view = view_of(follower);
    uint32_t ours = follower->zone->serial;
    if (view->is_probed && !view->signs)
        return view->has_serial && view->fault.fault == FAULT_NONE && view->serial == ours;
    return view->has_fetched && view->fetched == ours;
}

static int64_t notify_delay(const struct talk *talk)
{
    int64_t delay_ms = NOTIFY_FIRST_MS;
    for (unsigned i = 1; i < talk->times && delay_ms < NOTIFY_MAX_MS; i++)
        delay_ms *= 2;
    return delay_ms > NOTIFY_MAX_MS ? NOTIFY_MAX_MS : delay_ms;
}

// Until a server that still answers an older serial than it fetched counts as one that could not
// load that.
static int64_t until_stuck(const struct follower *follower)
{
    int64_t now_ms = loop_mono_ms(follower->zone->followers->loop);
    return follower->fetched_ms ? follower->fetched_ms + PUBLISHED_STUCK_MS - now_ms : 0;
}

static int64_t probe_delay(const struct follower *follower, const struct talk *talk)
{
    int64_t stuck_ms = until_stuck(follower);
    if (!is_served_by(follower) && talk->times >= PROBE_FAST_TIMES && stuck_ms > 0)
        return stuck_ms;
    if (is_served_by(follower) || talk->times >= PROBE_FAST_TIMES)
        return PROBE_SLOW_MS;
    int64_t delay_ms = (int64_t)PROBE_FIRST_MS << talk->times;
    return delay_ms > PROBE_FAST_MAX_MS ? PROBE_FAST_MAX_MS : delay_ms;
}

static void talk_again(struct follower *follower, enum talk_type type)
{
    struct talk *talk = &follower->talks[type];
    int64_t now_ms = loop_mono_ms(follower->zone->followers->loop);
    if (type == TALK_NOTIFY)
        talk->next_ms =
            follower->has_come || follower->zone->is_hushed ? 0 : now_ms + notify_delay(talk);
    else if (follower->server->probe)
        talk->next_ms = now_ms + probe_delay(follower, talk);
}

// ---- waiting for a server -----------------------------------------------------------------------

static void line_add(struct server_lane *lane, struct talk *talk)
{
    if (talk->is_waiting)
        return;
    talk->is_waiting = true;
    talk->next = NULL;
    talk->previous = lane->last;
    *(lane->last ? &lane->last->next : &lane->first) = talk;
    lane->last = talk;
}

static void line_remove(struct server_lane *lane, struct talk *talk)
{
    if (!talk->is_waiting)
        return;
    *(talk->previous ? &talk->previous->next : &lane->first) = talk->next;
    *(talk->next ? &talk->next->previous : &lane->last) = talk->previous;
    talk->is_waiting = false;
}

static void left_flight(struct server_lane *lane)
{
    lane->in_flight--;
    lane->followers->in_flight--;
    if (lane->first)
        loop_timer_set(lane->followers->loop, &lane->timer, 0);
}

// ---- talking ------------------------------------------------------------------------------------

static void count(const struct follower *follower, enum talk_type type, size_t result)
{
    struct lane_counts *counts = &follower->lane->counts;
    int64_t now_ms = loop_mono_ms(follower->zone->followers->loop);
    counts->by_result[type][result]++;
    histogram_add(&counts->seconds[type], now_ms - follower->begun_ms[type]);
}

static bool is_same_view(const struct server_view *a, const struct server_view *b)
{
    return a->has_serial == b->has_serial && a->serial == b->serial &&
           a->is_believed == b->is_believed && a->fault.fault == b->fault.fault &&
           a->has_fetched == b->has_fetched && a->fetched == b->fetched &&
           a->is_stuck == b->is_stuck;
}

// Silence is told once for all zones of the server, until it answers again; a refusal for each.
static void tell_fault(const struct follower *follower, const struct error *err)
{
    const struct followers *followers = follower->zone->followers;
    AUTO_BUFFER name = {0};
    if (err->fault != FAULT_AUTH && follower->lane->is_silence_told)
        return;
    follower->lane->is_silence_told |= err->fault != FAULT_AUTH;
    dname_write(&name, follower->zone->apex);
    log_line(followers->options.log, LOG_WARN, "a server cannot be asked for its serial",
             LOG_TEXT("server", follower->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

static void tell_well(const struct follower *follower)
{
    if (!follower->lane->is_silence_told)
        return;
    follower->lane->is_silence_told = false;
    log_line(follower->zone->followers->options.log, LOG_INFO, "a server answers again",
             LOG_TEXT("server", follower->server->name), LOG_END);
}

static void tell_stuck(const struct follower *follower)
{
    const struct server_view *view = view_of(follower);
    AUTO_BUFFER name = {0};
    dname_write(&name, follower->zone->apex);
    log_line(follower->zone->followers->options.log, LOG_WARN,
             "a server fetched the zone and could not load it: see its log",
             LOG_TEXT("server", follower->server->name), LOG_TEXT("zone", name.at),
             LOG_INT("fetched", view->fetched), LOG_INT("answers", view->serial), LOG_END);
}

// Told once more of the version, it comes for all of it: what it could not load may have been in
// the differences alone.
static void see_stuck(struct follower *follower)
{
    struct server_view *view = view_of(follower);
    bool was_stuck = view->is_stuck;
    bool is_older = view->has_serial && view->has_fetched && !view->signs &&
                    serial_is_before(view->serial, view->fetched);
    view->is_stuck =
        is_older && (was_stuck || (follower->fetched_ms && until_stuck(follower) <= 0));
    if (view->is_stuck && !was_stuck)
        tell_stuck(follower);
    if (!view->is_stuck || follower->is_pushed || follower->zone->is_hushed ||
        !follower->fetched_ms || until_stuck(follower) > 0)
        return;
    follower->is_pushed = true;
    follower->talks[TALK_NOTIFY].next_ms = loop_mono_ms(follower->zone->followers->loop);
}

static void keep_answer(struct follower *follower, bool has_serial, uint32_t serial, bool is_tcp)
{
    struct server_view *view = view_of(follower);
    bool is_believed = is_tcp || follower->server->key;
    uint32_t ours = follower->zone->serial;
    bool is_fetched = view->has_fetched && view->fetched == serial;
    bool is_strange = has_serial && (serial == ours ? !is_fetched : serial_is_before(ours, serial));
    tell_well(follower);
    follower->is_doubted = is_strange && !is_believed && !view->signs;
    view->fault = (struct error){.fault = FAULT_NONE};
    view->has_serial = has_serial;
    view->serial = serial;
    view->is_believed = is_believed;
    see_stuck(follower);
}

static void keep_fault(struct follower *follower, const struct error *err)
{
    struct server_view *view = view_of(follower);
    if (view->fault.fault != err->fault)
        tell_fault(follower, err);
    view->fault = *err;
}

static void probed(struct follower *follower, const struct dns_reply *reply)
{
    const struct followed *zone = follower->zone;
    const struct talk *talk = &follower->talks[TALK_PROBE];
    struct loop *loop = zone->followers->loop;
    bool has_serial = false;
    uint32_t serial = 0;
    struct error err;
    const struct tsig_key *key = follower->server->key ? &follower->server->key->key : NULL;
    if (!reply->is_answered) {
        count(follower, TALK_PROBE, 2);
        keep_fault(follower, &reply->error);
        return;
    }
    bool is_good = primary_reply(reply->octets, talk->id, zone->apex, key,
                                 loop_unix_ms(loop) / 1000, &talk->mac, &has_serial, &serial, &err);
    count(follower, TALK_PROBE, is_good ? 0 : 1);
    if (is_good || err.fault != FAULT_AUTH)
        keep_answer(follower, is_good && has_serial, serial, talk->is_tcp);
    else
        keep_fault(follower, &err);
}

static void probe_done(void *context, const struct dns_reply *reply)
{
    struct talk *talk = context;
    struct follower *follower = talk->follower;
    struct server_view before = *view_of(follower);
    talk->call = NULL;
    left_flight(follower->lane);
    probed(follower, reply);
    if (is_served_by(follower)) {
        follower->has_come = true;
        follower->talks[TALK_NOTIFY].next_ms = 0;
    }
    talk_again(follower, TALK_PROBE);
    if (follower->is_doubted && !talk->is_tcp)
        talk->next_ms = loop_mono_ms(follower->zone->followers->loop);
    if (!is_same_view(&before, view_of(follower)))
        say_heard(follower->zone);
    schedule(follower->zone);
}

// It may follow all the same, by its own refresh: what it has is seen by asking it.
static void tell_refusal(struct follower *follower, const struct error *err)
{
    AUTO_BUFFER name = {0};
    if (follower->is_refusal_told)
        return;
    dname_write(&name, follower->zone->apex);
    log_line(follower->zone->followers->options.log, LOG_WARN,
             "a server refuses to be told of changes: let it take NOTIFY from here",
             LOG_TEXT("server", follower->server->name), LOG_TEXT("zone", name.at),
             LOG_TEXT("error", err->text), LOG_END);
}

// One that has fetched is asked at once. One that only asks could do so for ever: it is asked anew
// only if it would wait for long.
static void probe_soon(struct follower *follower, bool has_fetched)
{
    struct talk *talk = &follower->talks[TALK_PROBE];
    int64_t now_ms = loop_mono_ms(follower->zone->followers->loop);
    bool is_far = talk->next_ms > now_ms + PROBE_FAST_MAX_MS;
    if (!follower->server->probe || is_served_by(follower) || !(is_far || has_fetched))
        return;
    talk->times = 0;
    talk->next_ms = now_ms + PROBE_FIRST_MS;
}

static void notified(struct follower *follower, const struct dns_reply *reply)
{
    bool has_serial;
    uint32_t serial;
    struct error err;
    const struct talk *talk = &follower->talks[TALK_NOTIFY];
    const struct followed *zone = follower->zone;
    const struct tsig_key *key = follower->server->key ? &follower->server->key->key : NULL;
    if (!reply->is_answered) {
        count(follower, TALK_NOTIFY, 2);
        return;
    }
    bool is_good = primary_reply(reply->octets, talk->id, zone->apex, key,
                                 loop_unix_ms(zone->followers->loop) / 1000, &talk->mac,
                                 &has_serial, &serial, &err);
    count(follower, TALK_NOTIFY, is_good ? 0 : 1);
    if (!is_good)
        tell_refusal(follower, &err);
    else if (follower->is_refusal_told)
        probe_soon(follower, false);
    follower->is_refusal_told = !is_good;
}

static void notify_done(void *context, const struct dns_reply *reply)
{
    struct talk *talk = context;
    struct follower *follower = talk->follower;
    talk->call = NULL;
    left_flight(follower->lane);
    notified(follower, reply);
    talk_again(follower, TALK_NOTIFY);
    schedule(follower->zone);
}

static bool write_request(struct follower *follower, enum talk_type type, struct buffer *out)
{
    const struct followed *zone = follower->zone;
    const struct followers *followers = zone->followers;
    struct talk *talk = &follower->talks[type];
    const struct tsig_key *key = follower->server->key ? &follower->server->key->key : NULL;
    int64_t unix_s = loop_unix_ms(followers->loop) / 1000;
    struct error err;
    talk->id = random_u16(followers->options.world->random);
    if (type == TALK_NOTIFY)
        return primary_notify(out, talk->id, zone->soa, key, unix_s, &talk->mac, &err);
    return primary_probe(out, talk->id, zone->apex, key, unix_s, &talk->mac, &err);
}

static void talk_now(struct follower *follower, enum talk_type type)
{
    struct followers *followers = follower->zone->followers;
    struct talk *talk = &follower->talks[type];
    AUTO_BUFFER octets = {0};
    int64_t now_ms = loop_mono_ms(followers->loop);
    talk->next_ms = 0;
    if (follower->lane->in_flight >= TALKS_PER_SERVER) {
        line_add(follower->lane, talk);
        return;
    }
    line_remove(follower->lane, talk);
    if (!write_request(follower, type, &octets))
        return;
    talk->times++;
    talk->is_tcp = type == TALK_PROBE && follower->is_doubted;
    follower->begun_ms[type] = now_ms;
    follower->lane->in_flight++;
    followers->in_flight++;
    const struct dns_request request = {.server = follower->server->address,
                                        .octets = buffer_text(&octets),
                                        .use_tcp = talk->is_tcp,
                                        .timeout_ms = TALK_TIMEOUT_MS};
    talk->call = dns_send(followers->options.world->dns, &request,
                          type == TALK_NOTIFY ? notify_done : probe_done, talk);
}

static void drain(void *context)
{
    struct server_lane *lane = context;
    while (lane->first && lane->in_flight < TALKS_PER_SERVER)
        talk_now(lane->first->follower, lane->first->type);
}

static void ring(void *context)
{
    struct followed *zone = context;
    int64_t now_ms = loop_mono_ms(zone->followers->loop);
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < TALK_TYPES; k++) {
            const struct talk *talk = &zone->items[i].talks[k];
            if (talk->next_ms && talk->next_ms <= now_ms && !talk->call)
                talk_now(&zone->items[i], (enum talk_type)k);
        }
    schedule(zone);
}

// ---- zones --------------------------------------------------------------------------------------

static void end_talk(struct talk *talk)
{
    struct follower *follower = talk->follower;
    line_remove(follower->lane, talk);
    if (!talk->call)
        return;
    dns_cancel(follower->zone->followers->options.world->dns, talk->call);
    talk->call = NULL;
    left_flight(follower->lane);
}

static void end_talks(struct followed *zone)
{
    for (size_t i = 0; i < zone->count; i++)
        for (size_t k = 0; k < TALK_TYPES; k++)
            end_talk(&zone->items[i].talks[k]);
}

static void take_fetches(struct followed *zone)
{
    const struct published_zone *served =
        published_find(zone->followers->options.published, zone->apex);
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
    int64_t now_ms = loop_mono_ms(zone->followers->loop);
    for (size_t i = 0; i < zone->count; i++) {
        struct follower *follower = &zone->items[i];
        end_talk(&follower->talks[TALK_NOTIFY]);
        follower->has_come = follower->is_pushed = false;
        follower->talks[TALK_NOTIFY].times = follower->talks[TALK_PROBE].times = 0;
        follower->talks[TALK_NOTIFY].next_ms = zone->is_hushed ? 0 : now_ms;
        follower->talks[TALK_PROBE].next_ms = follower->server->probe ? now_ms + PROBE_FIRST_MS : 0;
    }
    take_fetches(zone);
    if (zone->followers->is_leading)
        ring(zone);
}

static void bind_server(struct followed *zone, size_t at, const struct zones_server *server)
{
    struct follower *follower = &zone->items[at];
    *follower = (struct follower){
        .zone = zone, .server = server, .lane = lane_of(zone->followers, server->name)};
    for (size_t k = 0; k < TALK_TYPES; k++)
        follower->talks[k] = (struct talk){.follower = follower, .type = (enum talk_type)k};
    zone->views[at] = (struct server_view){
        .name = server->name, .is_probed = server->probe, .signs = server->signs};
}

static void bind_servers(struct followed *zone)
{
    const struct zones_config *config = zone->followers->config;
    const struct zones_group *group =
        config && zone->group ? zones_config_group(config, text_of(zone->group)) : NULL;
    end_talks(zone);
    free(zone->items);
    free(zone->views);
    zone->count = group ? group->server_count : 0;
    zone->items = mem_new_array(struct follower, zone->count + 1);
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

static struct followed *followed_new(struct followers *followers, struct dname apex)
{
    uint32_t id = slot(followers);
    struct followed *zone = mem_new_of(struct followed);
    memcpy(zone->octets, apex.at, apex.len);
    zone->followers = followers;
    zone->apex = (struct dname){zone->octets, apex.len};
    zone->timer = (struct loop_timer){.call = ring, .context = zone};
    followers->zones[id] = zone;
    table_add(&followers->by_apex, hash_octets(apex.at, apex.len), id);
    return zone;
}

static void followed_free(struct followed *zone)
{
    if (!zone)
        return;
    end_talks(zone);
    loop_timer_cancel(zone->followers->loop, &zone->timer);
    rrset_unref(zone->soa);
    free(zone->group);
    free(zone->items);
    free(zone->views);
    free(zone);
}

void followers_tell(struct followers *followers, const char *group, const struct zone *zone)
{
    struct followed *followed = find(followers, zone_apex(zone));
    bool is_known = followed && is_same_group(followed, group);
    if (is_known && followed->serial == zone_serial(zone) && !followed->is_hushed)
        return;
    if (!followed)
        followed = followed_new(followers, zone_apex(zone));
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

void followers_hush(struct followers *followers, struct dname apex)
{
    struct followed *zone = find(followers, apex);
    if (!zone || zone->is_hushed)
        return;
    zone->is_hushed = true;
    for (size_t i = 0; i < zone->count; i++) {
        end_talk(&zone->items[i].talks[TALK_NOTIFY]);
        zone->items[i].talks[TALK_NOTIFY].next_ms = 0;
    }
    schedule(zone);
}

void followers_forget(struct followers *followers, struct dname apex)
{
    uint32_t id = find_id(followers, apex);
    if (id == TABLE_NONE)
        return;
    table_remove(&followers->by_apex, hash_octets(apex.at, apex.len), id);
    followed_free(followers->zones[id]);
    followers->zones[id] = NULL;
}

static struct follower *follower_named(const struct followed *zone, const char *server)
{
    for (size_t i = 0; i < zone->count; i++)
        if (!strcmp(zone->items[i].server->name, server))
            return &zone->items[i];
    return NULL;
}

void followers_see(struct followers *followers, const struct published_sign *sign)
{
    struct followed *zone = find(followers, sign->apex);
    struct follower *follower = zone ? follower_named(zone, sign->server) : NULL;
    if (!follower)
        return;
    struct server_view before = *view_of(follower);
    take_fetches(zone);
    if (sign->has_fetched)
        follower->fetched_ms = loop_mono_ms(zone->followers->loop);
    if (follower->has_come)
        follower->talks[TALK_NOTIFY].next_ms = 0;
    probe_soon(follower, sign->has_fetched);
    schedule(zone);
    if (!is_same_view(&before, view_of(follower)))
        say_heard(zone);
}

const char *followers_group(const struct followers *followers, struct dname apex)
{
    const struct followed *zone = find(followers, apex);
    return zone ? zone->group : NULL;
}

size_t followers_views(const struct followers *followers, struct dname apex,
                       const struct server_view **views)
{
    const struct followed *zone = find(followers, apex);
    *views = zone ? zone->views : NULL;
    return zone ? zone->count : 0;
}

// ---- all of them --------------------------------------------------------------------------------

struct followers *followers_new(const struct followers_options *options)
{
    struct followers *followers = mem_new_of(struct followers);
    followers->options = *options;
    followers->loop = options->world->loop;
    followers->by_apex = (struct table){.ops = &zone_ops, .context = followers};
    return followers;
}

void followers_free(struct followers *followers)
{
    if (!followers)
        return;
    for (uint32_t id = 0; id < followers->used; id++)
        followed_free(followers->zones[id]);
    for (size_t i = 0; i < followers->lane_count; i++) {
        loop_timer_cancel(followers->loop, &followers->lanes[i]->timer);
        free(followers->lanes[i]->name);
        free(followers->lanes[i]);
    }
    table_done(&followers->by_apex);
    free(followers->lanes);
    free(followers->zones);
    free(followers);
}

void followers_set_config(struct followers *followers, const struct zones_config *config)
{
    followers->config = config;
    for (uint32_t id = 0; id < followers->used; id++) {
        struct followed *zone = followers->zones[id];
        if (!zone)
            continue;
        bind_servers(zone);
        announce(zone);
        say_heard(zone);
    }
}

void followers_lead(struct followers *followers, bool is_leading)
{
    followers->is_leading = is_leading;
    for (uint32_t id = 0; id < followers->used; id++) {
        struct followed *zone = followers->zones[id];
        if (zone && is_leading)
            announce(zone);
        else if (zone)
            end_talks(zone), schedule(zone);
    }
}

static void write_labels(const struct server_lane *lane, enum talk_type type, struct buffer *out)
{
    buffer_add_text(out, "backend=\"");
    metric_write_label(out, lane->name);
    buffer_printf(out, "\",operation=\"%s\"", talk_names[type]);
}

static void write_requests(const struct server_lane *lane, enum talk_type type, struct buffer *out)
{
    static const char *const codes[] = {"answered", "refused", "error"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (!lane->counts.by_result[type][i])
            continue;
        buffer_add_text(out, "signpost_backend_requests_total{");
        write_labels(lane, type, out);
        buffer_printf(out, ",code=\"%s\"} %" PRIu64 "\n", codes[i],
                      lane->counts.by_result[type][i]);
    }
}

static void write_seconds(const struct server_lane *lane, enum talk_type type, struct buffer *out)
{
    AUTO_BUFFER labels = {0};
    if (!lane->counts.seconds[type].count)
        return;
    write_labels(lane, type, &labels);
    metric_write_histogram(out, "signpost_backend_request_seconds", labels.at,
                           &lane->counts.seconds[type]);
}

void followers_write_requests(const struct followers *followers, struct buffer *out)
{
    for (size_t i = 0; i < followers->lane_count; i++)
        for (size_t k = 0; k < TALK_TYPES; k++)
            write_requests(followers->lanes[i], (enum talk_type)k, out);
}

void followers_write_seconds(const struct followers *followers, struct buffer *out)
{
    for (size_t i = 0; i < followers->lane_count; i++)
        for (size_t k = 0; k < TALK_TYPES; k++)
            write_seconds(followers->lanes[i], (enum talk_type)k, out);
}

void followers_write_in_flight(const struct followers *followers, struct buffer *out)
{
    for (size_t i = 0; i < followers->lane_count; i++) {
        buffer_add_text(out, "signpost_backend_in_flight{backend=\"");
        metric_write_label(out, followers->lanes[i]->name);
        buffer_printf(out, "\"} %zu\n", followers->lanes[i]->in_flight);
    }
}
