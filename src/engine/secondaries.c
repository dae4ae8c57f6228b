#include "engine/secondaries_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"

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

static struct secondary_server *backend_of(struct secondaries *secondaries, const char *name)
{
    for (size_t i = 0; i < secondaries->backend_count; i++)
        if (!strcmp(secondaries->backends[i]->name, name))
            return secondaries->backends[i];
    mem_reserve(&secondaries->backends, &secondaries->backend_capacity,
                secondaries->backend_count + 1);
    struct secondary_server *backend = mem_new_of(struct secondary_server);
    backend->secondaries = secondaries;
    backend->name = mem_copy_text(name);
    backend->timer = (struct loop_timer){.call = secondary_drain, .context = backend};
    secondaries->backends[secondaries->backend_count++] = backend;
    return backend;
}

// ---- telling ------------------------------------------------------------------------------------

static void report_answers(void *context)
{
    struct secondaries *secondaries = context;
    secondaries->is_reporting = false;
    for (uint32_t id = 0; id < secondaries->used; id++) {
        struct followed *zone = secondaries->zones[id];
        if (!zone || !zone->is_answered)
            continue;
        zone->is_answered = false;
        secondaries->options.reported(secondaries->options.context, zone->apex);
    }
}

void secondary_report_answer(struct followed *zone)
{
    struct secondaries *secondaries = zone->secondaries;
    zone->is_answered = true;
    if (secondaries->is_reporting)
        return;
    secondaries->is_reporting = true;
    loop_defer(secondaries->loop, report_answers, secondaries);
}

struct server_view *secondary_view(const struct secondary *secondary)
{
    return &secondary->zone->views[secondary - secondary->zone->items];
}

// ---- zones --------------------------------------------------------------------------------------

static void bind_server(struct followed *zone, size_t at, const struct zones_server *server)
{
    struct secondary *secondary = &zone->items[at];
    *secondary = (struct secondary){
        .zone = zone, .server = server, .backend = backend_of(zone->secondaries, server->name)};
    for (size_t k = 0; k < SECONDARY_EXCHANGE_TYPES; k++)
        secondary->exchanges[k] = (struct secondary_exchange){
            .secondary = secondary, .type = (enum secondary_exchange_type)k};
    zone->views[at] = (struct server_view){
        .name = server->name, .is_probed = server->probe, .signs = server->signs};
}

static void bind_servers(struct followed *zone)
{
    const struct zones_config *config = zone->secondaries->config;
    const struct zones_group *group =
        config && zone->group ? zones_config_group(config, text_of(zone->group)) : NULL;
    secondary_end_exchanges(zone);
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
    zone->timer = (struct loop_timer){.call = secondary_on_timer, .context = zone};
    secondaries->zones[id] = zone;
    table_add(&secondaries->by_apex, hash_octets(apex.at, apex.len), id);
    return zone;
}

static void followed_free(struct followed *zone)
{
    if (!zone)
        return;
    secondary_end_exchanges(zone);
    loop_timer_cancel(zone->secondaries->loop, &zone->timer);
    rrset_unref(zone->soa);
    free(zone->group);
    free(zone->items);
    free(zone->views);
    free(zone);
}

void secondaries_notify(struct secondaries *secondaries, const char *group, const struct zone *zone)
{
    struct followed *followed = find(secondaries, zone_apex(zone));
    bool is_known = followed && is_same_group(followed, group);
    if (is_known && followed->serial == zone_serial(zone) && !followed->is_paused)
        return;
    if (!followed)
        followed = followed_new(secondaries, zone_apex(zone));
    followed->is_paused = false;
    set_version(followed, zone);
    if (!is_known) {
        free(followed->group);
        followed->group = group ? mem_copy_text(group) : NULL;
        bind_servers(followed);
    }
    secondary_announce(followed);
    secondary_report_answer(followed);
}

void secondaries_pause(struct secondaries *secondaries, struct dname apex)
{
    struct followed *zone = find(secondaries, apex);
    if (!zone || zone->is_paused)
        return;
    zone->is_paused = true;
    for (size_t i = 0; i < zone->count; i++) {
        secondary_end_exchange(&zone->items[i].exchanges[SECONDARY_NOTIFY]);
        zone->items[i].exchanges[SECONDARY_NOTIFY].next_ms = 0;
    }
    secondary_schedule(zone);
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

void secondaries_handle_sign(struct secondaries *secondaries, const struct published_sign *sign)
{
    struct followed *zone = find(secondaries, sign->apex);
    struct secondary *secondary = zone ? secondary_named(zone, sign->server) : NULL;
    if (!secondary)
        return;
    struct server_view before = *secondary_view(secondary);
    secondary_take_fetches(zone);
    if (sign->has_fetched)
        secondary->fetched_ms = loop_mono_ms(zone->secondaries->loop);
    if (secondary->has_come)
        secondary->exchanges[SECONDARY_NOTIFY].next_ms = 0;
    secondary_probe_soon(secondary, sign->has_fetched);
    secondary_schedule(zone);
    if (!secondary_is_same_view(&before, secondary_view(secondary)))
        secondary_report_answer(zone);
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
        secondary_announce(zone);
        secondary_report_answer(zone);
    }
}

void secondaries_lead(struct secondaries *secondaries, bool is_leading)
{
    secondaries->is_leading = is_leading;
    for (uint32_t id = 0; id < secondaries->used; id++) {
        struct followed *zone = secondaries->zones[id];
        if (zone && is_leading)
            secondary_announce(zone);
        else if (zone)
            secondary_end_exchanges(zone), secondary_schedule(zone);
    }
}
