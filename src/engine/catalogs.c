#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "dns/catalog.h"
#include "dns/guard.h"
#include "dns/serial.h"
#include "engine/state.h"

// Catalogs (RFC 9432) of the zones that each group of servers shall have. Only who leads publishes
// them, and only when all zones are known: a zone that is missing there is dropped by the servers.

enum {
    UID_OCTETS = 37,
    CATALOG_SERVERS_MAX = 64,
};

// A zone that left without its Zone having been deleted.
struct former_member {
    uint8_t octets[DNAME_MAX];
    size_t len;
    char uid[UID_OCTETS];
    int64_t left_ms; // mono
    bool is_guarded; // it stays in the catalog
};

struct catalog {
    char *group;
    uint8_t octets[DNAME_MAX];
    size_t len;
    struct zone *now;     // NULL: none was published
    int64_t published_ms; // mono
    struct former_member *former;
    size_t former_count;
    size_t former_capacity;
};

static struct dname name_of(const struct former_member *gone)
{
    return (struct dname){gone->octets, gone->len};
}

static struct dname apex_of(const struct catalog *catalog)
{
    return (struct dname){catalog->octets, catalog->len};
}

static struct catalog *find(const struct engine *engine, const char *group)
{
    for (size_t i = 0; group && i < engine->catalog_count; i++)
        if (!strcmp(engine->catalogs[i].group, group))
            return &engine->catalogs[i];
    return NULL;
}

bool catalogs_have(const struct engine *engine, struct dname apex)
{
    for (size_t i = 0; i < engine->catalog_count; i++)
        if (dname_equal(apex_of(&engine->catalogs[i]), apex))
            return true;
    return false;
}

// ---- the guard ----------------------------------------------------------------------------------

static bool is_member_of(const struct catalog *catalog, const struct served *served)
{
    return served && served->is_member && served->group && !strcmp(served->group, catalog->group);
}

static size_t members_of(const struct engine *engine, const struct catalog *catalog)
{
    size_t count = 0;
    for (uint32_t id = 0; id < engine->served_used; id++)
        count += is_member_of(catalog, engine->served[id]);
    return count;
}

static void drop_former_member(struct catalog *catalog, size_t at)
{
    catalog->former[at] = catalog->former[--catalog->former_count];
}

// Those that came back, and those that left so long ago that they count no more.
static void sweep(struct engine *engine, struct catalog *catalog)
{
    int64_t now_ms = loop_mono_ms(engine->loop);
    for (size_t i = catalog->former_count; i-- > 0;) {
        const struct former_member *gone = &catalog->former[i];
        const struct served *served = publish_find(engine, name_of(gone));
        bool is_back = served && served->is_member;
        if (is_back || (!gone->is_guarded && gone->left_ms + guard_rules.window_ms < now_ms))
            drop_former_member(catalog, i);
    }
}

static void log_guarded(const struct engine *engine, const struct catalog *catalog)
{
    AUTO_BUFFER names = {0};
    for (size_t i = 0; i < catalog->former_count && names.len < 400; i++) {
        if (names.len)
            buffer_add_text(&names, ", ");
        dname_write(&names, name_of(&catalog->former[i]));
    }
    log_line(
        engine->log, LOG_ERROR,
        "too many zones left a catalog at once: they are kept in it until their Zones are live "
        "again or deleted",
        LOG_TEXT("group", catalog->group), LOG_INT("zones", (int64_t)catalog->former_count),
        LOG_TEXT("names", names.at), LOG_END);
}

static void guard(struct engine *engine, struct catalog *catalog)
{
    size_t left = catalog->former_count;
    size_t before = members_of(engine, catalog) + left;
    bool is_new = false;
    if (!guard_is_too_much(&guard_rules, before, left))
        return;
    for (size_t i = 0; i < left; i++) {
        is_new |= !catalog->former[i].is_guarded;
        catalog->former[i].is_guarded = true;
    }
    if (is_new)
        log_guarded(engine, catalog);
}

static void forget_former_member(struct catalog *catalog, struct dname fqdn)
{
    for (size_t i = catalog->former_count; i-- > 0;)
        if (dname_equal(name_of(&catalog->former[i]), fqdn))
            drop_former_member(catalog, i);
}

void catalogs_lose(struct engine *engine, const struct served *served, bool was_seen)
{
    struct catalog *catalog = find(engine, served->group);
    engine->are_catalogs_dirty = true;
    if (!catalog)
        return;
    forget_former_member(catalog, served->apex);
    if (was_seen || !served->is_member)
        return;
    mem_reserve(&catalog->former, &catalog->former_capacity, catalog->former_count + 1);
    struct former_member *gone = &catalog->former[catalog->former_count++];
    *gone = (struct former_member){.len = served->apex.len, .left_ms = loop_mono_ms(engine->loop)};
    memcpy(gone->octets, served->apex.at, served->apex.len);
    object_write_uid(engine->keys[served->key].object, gone->uid);
}

void catalogs_forget(struct engine *engine, const struct object *zone)
{
    char uid[UID_OCTETS];
    object_write_uid(zone, uid);
    for (size_t i = 0; i < engine->catalog_count; i++) {
        struct catalog *catalog = &engine->catalogs[i];
        for (size_t k = catalog->former_count; k-- > 0;) {
            if (strcmp(catalog->former[k].uid, uid) != 0)
                continue;
            drop_former_member(catalog, k);
            engine->are_catalogs_dirty = true;
        }
    }
}

// ---- publishing ---------------------------------------------------------------------------------

static size_t list_members(const struct engine *engine, const struct catalog *catalog,
                           struct arena *arena, struct catalog_member **out)
{
    size_t count = 0;
    size_t most = engine->served_by_apex.count + catalog->former_count;
    struct catalog_member *members = arena_new_array(arena, struct catalog_member, most + 1);
    for (uint32_t id = 0; id < engine->served_used; id++) {
        const struct served *served = engine->served[id];
        if (!is_member_of(catalog, served))
            continue;
        char *uid = arena_alloc(arena, 1, UID_OCTETS);
        object_write_uid(engine->keys[served->key].object, uid);
        members[count++] = (struct catalog_member){served->apex, text_of(uid)};
    }
    for (size_t i = 0; i < catalog->former_count; i++)
        if (catalog->former[i].is_guarded)
            members[count++] = (struct catalog_member){name_of(&catalog->former[i]),
                                                       text_of(catalog->former[i].uid)};
    *out = members;
    return count;
}

static size_t believed_serials(const struct engine *engine, const struct catalog *catalog,
                               uint32_t out[CATALOG_SERVERS_MAX])
{
    const struct server_view *views;
    size_t count = 0;
    size_t views_count = secondaries_views(engine->secondaries, apex_of(catalog), &views);
    for (size_t i = 0; i < views_count && count < CATALOG_SERVERS_MAX; i++)
        if (views[i].has_serial && views[i].is_believed)
            out[count++] = views[i].serial;
    return count;
}

static struct serial_inputs serial_inputs_of(const struct engine *engine,
                                             const struct catalog *catalog,
                                             uint32_t servers[CATALOG_SERVERS_MAX])
{
    return (struct serial_inputs){
        .has_old = catalog->now != NULL,
        .old = catalog->now ? zone_serial(catalog->now) : 0,
        .policy = SERIAL_UNIXTIME,
        .unix_s = loop_unix_ms(engine->loop) / 1000,
        .servers = servers,
        .server_count = believed_serials(engine, catalog, servers),
    };
}

// Nothing but the clock remembers the serial over a restart: of each second there is one version at
// most, and none of the second in which we came to lead.
static bool is_too_fast(const struct engine *engine, const struct catalog *catalog)
{
    uint32_t now_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
    bool is_rested = loop_mono_ms(engine->loop) - catalog->published_ms > 1000;
    if (catalog->now)
        return !is_rested && !serial_is_before(zone_serial(catalog->now), now_s);
    return !serial_is_before((uint32_t)engine->led_since_s, now_s) &&
           loop_mono_ms(engine->loop) - engine->led_since_ms <= 1000;
}

static void wait_for_second(struct engine *engine)
{
    engine->are_catalogs_dirty = true;
    loop_timer_set(engine->loop, &engine->catalog_timer, 1000 - loop_unix_ms(engine->loop) % 1000);
}

static bool is_same_content(const struct zone *a, const struct zone *b)
{
    uint8_t left[32], right[32];
    zone_digest(a, left);
    zone_digest(b, right);
    return !memcmp(left, right, sizeof left);
}

static void publish(struct engine *engine, struct catalog *catalog)
{
    struct catalog_member *members;
    uint32_t servers[CATALOG_SERVERS_MAX];
    struct serial_inputs inputs = serial_inputs_of(engine, catalog, servers);
    CLEANUP(arena) struct arena *arena = arena_new();
    if (is_too_fast(engine, catalog)) {
        wait_for_second(engine);
        return;
    }
    sweep(engine, catalog);
    guard(engine, catalog);
    size_t count = list_members(engine, catalog, arena, &members);
    CLEANUP(zone)
    struct zone *next = catalog_zone_new(apex_of(catalog), serial_next(&inputs), members, count,
                                         text_of(catalog->group));
    if (catalog->now && is_same_content(catalog->now, next) && !serial_is_behind(&inputs))
        return;
    zone_unref(catalog->now);
    catalog->now = zone_ref(next);
    catalog->published_ms = loop_mono_ms(engine->loop);
    published_serve(engine->published, catalog->group, next);
    secondaries_notify(engine->secondaries, catalog->group, next);
    log_line(engine->log, LOG_INFO, "catalog has a new serial", LOG_TEXT("group", catalog->group),
             LOG_INT("serial", zone_serial(next)), LOG_INT("zones", (int64_t)count), LOG_END);
}

static void ring(void *context)
{
    engine_schedule(context);
}

void catalogs_update(struct engine *engine)
{
    if (!engine->are_catalogs_dirty || !engine->is_first_pass_done || !engine_may_write(engine))
        return;
    loop_timer_cancel(engine->loop, &engine->catalog_timer);
    engine->are_catalogs_dirty = false;
    for (size_t i = 0; i < engine->catalog_count; i++)
        publish(engine, &engine->catalogs[i]);
}

// ---- life ---------------------------------------------------------------------------------------

static void catalog_done(struct engine *engine, struct catalog *catalog)
{
    secondaries_forget(engine->secondaries, apex_of(catalog));
    published_remove(engine->published, apex_of(catalog));
    zone_unref(catalog->now);
    free(catalog->former);
    free(catalog->group);
}

void catalogs_free(struct engine *engine)
{
    loop_timer_cancel(engine->loop, &engine->catalog_timer);
    for (size_t i = 0; i < engine->catalog_count; i++)
        catalog_done(engine, &engine->catalogs[i]);
    free(engine->catalogs);
    engine->catalogs = NULL;
    engine->catalog_count = 0;
}

static bool is_kept(const struct catalog *catalog, const struct zones_config *config)
{
    const struct zones_group *group =
        config ? zones_config_group(config, text_of(catalog->group)) : NULL;
    return group && group->catalog_len == catalog->len &&
           !memcmp(group->catalog, catalog->octets, catalog->len);
}

static void catalog_add(struct engine *engine, const struct zones_group *group)
{
    struct catalog *catalog = &engine->catalogs[engine->catalog_count++];
    *catalog = (struct catalog){.group = mem_copy_text(group->name)};
    memcpy(catalog->octets, group->catalog, group->catalog_len);
    catalog->len = group->catalog_len;
}

void catalogs_new(struct engine *engine)
{
    engine->catalog_timer = (struct loop_timer){.call = ring, .context = engine};
}

void catalogs_set(struct engine *engine)
{
    const struct zones_config *config = engine->zones_config;
    size_t kept = 0;
    for (size_t i = 0; i < engine->catalog_count; i++) {
        if (is_kept(&engine->catalogs[i], config))
            engine->catalogs[kept++] = engine->catalogs[i];
        else
            catalog_done(engine, &engine->catalogs[i]);
    }
    engine->catalog_count = kept;
    engine->catalogs = mem_resize(engine->catalogs, kept + (config ? config->group_count : 0) + 1,
                                  sizeof *engine->catalogs);
    for (size_t i = 0; config && i < config->group_count; i++)
        if (config->groups[i].catalog_len && !find(engine, config->groups[i].name))
            catalog_add(engine, &config->groups[i]);
    for (size_t i = 0; i < engine->catalog_count; i++) {
        struct catalog *catalog = &engine->catalogs[i];
        if (catalog->now)
            continue;
        publish_give_way(engine, apex_of(catalog));
        published_withhold(engine->published, apex_of(catalog), catalog->group, PUBLISHED_WITHHELD);
    }
    engine->are_catalogs_dirty = true;
}

void catalogs_write_metrics(const struct engine *engine, struct buffer *out)
{
    if (!engine->catalog_count)
        return;
    metric_write_head(out, "signpost_catalog_held_zones", "gauge",
                      "Zones that a guard keeps in a catalog, by group of servers.");
    for (size_t i = 0; i < engine->catalog_count; i++) {
        size_t held = 0;
        for (size_t k = 0; k < engine->catalogs[i].former_count; k++)
            held += engine->catalogs[i].former[k].is_guarded;
        buffer_printf(out, "signpost_catalog_held_zones{group=\"");
        metric_write_label(out, engine->catalogs[i].group);
        buffer_printf(out, "\"} %zu\n", held);
    }
}
