#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "dns/zone.h"
#include "engine/recorder.h"
#include "engine/state.h"

// Zones that keys have served: from their decisions to the table that the frontend answers from, to
// the servers that follow, and back to the shared model.

static bool served_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    return dname_equal(engine->served[id]->apex, *(const struct dname *)wanted);
}

static uint64_t served_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return hash_octets(engine->served[id]->apex.at, engine->served[id]->apex.len);
}

static const struct table_ops served_ops = {served_matches, served_hash};

static uint32_t find_id(const struct engine *engine, struct dname apex)
{
    return table_find(&engine->served_by_apex, hash_octets(apex.at, apex.len), &apex);
}

static struct served *find(const struct engine *engine, struct dname apex)
{
    uint32_t id = find_id(engine, apex);
    return id == TABLE_NONE ? NULL : engine->served[id];
}

// What this key has served; NULL: nothing.
static struct served *served_of(const struct engine *engine, uint32_t key)
{
    return engine->keys[key].extra ? engine->keys[key].extra->served : NULL;
}

static uint32_t slot(struct engine *engine)
{
    bool has_free = engine->served_by_apex.count < engine->served_used;
    for (uint32_t id = 0; has_free && id < engine->served_used; id++)
        if (!engine->served[id])
            return id;
    mem_reserve(&engine->served, &engine->served_capacity, (size_t)engine->served_used + 1);
    return engine->served_used++;
}

static struct served *served_new(struct engine *engine, uint32_t key, struct dname apex)
{
    uint32_t id = slot(engine);
    struct served *served = mem_new_of(struct served);
    memcpy(served->octets, apex.at, apex.len);
    served->apex = (struct dname){served->octets, apex.len};
    served->key = key;
    engine->served[id] = served;
    table_add(&engine->served_by_apex, hash_octets(apex.at, apex.len), id);
    key_extra(&engine->keys[key])->served = served;
    return served;
}

static void served_free(struct engine *engine, struct served *served)
{
    uint32_t id = find_id(engine, served->apex);
    must(id != TABLE_NONE);
    engine->keys[served->key].extra->served = NULL;
    table_remove(&engine->served_by_apex, hash_octets(served->apex.at, served->apex.len), id);
    engine->served[id] = NULL;
    zone_unref(served->zone);
    free(served->group);
    free(served);
}

static void withdraw(struct engine *engine, struct served *served)
{
    catalogs_lose(engine, served, engine->keys[served->key].is_gone);
    secondaries_forget(engine->secondaries, served->apex);
    published_remove(engine->published, served->apex);
    served_free(engine, served);
    zone_files_tidy(engine);
}

const struct served *publish_find(const struct engine *engine, struct dname apex)
{
    return find(engine, apex);
}

void publish_give_way(struct engine *engine, struct dname apex)
{
    AUTO_BUFFER name = {0};
    struct served *served = find(engine, apex);
    if (!served)
        return;
    dname_write(&name, apex);
    log_line(
        engine->log, LOG_WARN,
        "a zone has the name of a catalog of the zones configuration and is not served: rename "
        "one of them",
        LOG_TEXT("zone", name.at), LOG_END);
    withdraw(engine, served);
}

// ---- telling ------------------------------------------------------------------------------------

static void report_views(struct engine *engine, const struct served *served)
{
    const struct server_view *views;
    const struct key *key = &engine->keys[served->key];
    struct shared_model_state *state = engine->controllers[key->controller].shared_model;
    if (!state || !state->shared_model->servers_reported)
        return;
    size_t count = secondaries_views(engine->secondaries, served->apex, &views);
    const char *group = secondaries_group(engine->secondaries, served->apex);
    recorder_add_servers(engine->options.recorder, state->place, key->object, group, views, count);
    state->shared_model->servers_reported(state->state, key->object, group, views, count);
    state->is_dirty = true;
    engine_schedule(engine);
}

static void report_zone(struct engine *engine, const struct served *served)
{
    const struct key *key = &engine->keys[served->key];
    struct shared_model_state *state = engine->controllers[key->controller].shared_model;
    if (!state || !state->shared_model->published || !served->zone)
        return;
    recorder_add_published(engine->options.recorder, state->place, key->object, served->zone);
    state->shared_model->published(state->state, key->object, served->zone);
    state->is_dirty = true;
    engine_schedule(engine);
}

static void on_server_report(void *context, struct dname apex)
{
    struct engine *engine = context;
    const struct served *served = find(engine, apex);
    if (served)
        report_views(engine, served);
    engine->are_catalogs_dirty |= catalogs_have(engine, apex);
    engine_schedule(engine);
}

static void on_sign(void *context, const struct published_sign *sign)
{
    const struct engine *engine = context;
    secondaries_handle_sign(engine->secondaries, sign);
}

void publish_to_shared_model(struct engine *engine, uint32_t key)
{
    const struct served *served = served_of(engine, key);
    if (!served)
        return;
    report_zone(engine, served);
    report_views(engine, served);
}

// ---- what decisions want ------------------------------------------------------------------------

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static const struct zone *newest_known(const struct engine *engine, struct dname apex)
{
    const struct published_zone *zone = published_find(engine->published, apex);
    return zone ? zone_history_newest(zone->history) : NULL;
}

static const struct zone *newest(const struct engine *engine, struct dname apex)
{
    const struct published_zone *zone = published_find(engine->published, apex);
    return zone && zone->state != PUBLISHED_WITHHELD ? zone_history_newest(zone->history) : NULL;
}

// Without a group nobody fetches it, however ready it is.
static void log_first(struct engine *engine, const struct zone *zone, const char *group)
{
    AUTO_BUFFER name = {0};
    dname_write(&name, zone_apex(zone));
    log_line(engine->log, LOG_INFO,
             group ? "zone is served"
                   : "zone is served by no server: no group of the zones configuration has it",
             LOG_TEXT("zone", name.at), LOG_INT("serial", zone_serial(zone)),
             LOG_INT("records", (int64_t)zone_record_count(zone)), LOG_END);
}

static void serve(struct engine *engine, struct served *served,
                  const struct publication *publication)
{
    const struct zone *zone = publication->zone;
    const struct zone *now = newest(engine, served->apex);
    const struct published_zone *row = published_find(engine->published, served->apex);
    bool is_same = row && row->state == PUBLISHED_SERVED && now &&
                   zone_serial(now) == zone_serial(zone) &&
                   is_same_text(row->group, publication->group);
    if (served->zone == zone && is_same)
        return;
    bool had_group = row && row->group;
    if (!now || (publication->group && !had_group))
        log_first(engine, zone, publication->group);
    if (!is_same)
        published_serve(engine->published, publication->group, zone);
    secondaries_notify(engine->secondaries, publication->group, zone);
    zone_unref(served->zone);
    served->zone = zone_ref(zone);
    zone_files_want(engine, served);
    report_views(engine, served);
    report_zone(engine, served);
}

static void hold(struct engine *engine, const struct served *served,
                 const struct publication *publication)
{
    if (publication->what == PUBLISH_UNAVAILABLE) {
        published_withhold(engine->published, served->apex, publication->group, PUBLISHED_WITHHELD);
        secondaries_pause(engine->secondaries, served->apex);
    } else if (publication->is_frozen && newest(engine, served->apex)) {
        published_withhold(engine->published, served->apex, publication->group, PUBLISHED_FROZEN);
    }
}

// Another key had the name: what it had served ends.
static void take_over(struct engine *engine, uint32_t key, struct dname apex)
{
    struct served *other = find(engine, apex);
    struct served *mine = served_of(engine, key);
    if (mine && !dname_equal(mine->apex, apex))
        withdraw(engine, mine);
    if (other && other->key != key)
        withdraw(engine, other);
}

static void keep_membership(struct engine *engine, struct served *served,
                            const struct publication *publication)
{
    bool is_member = publication->what == PUBLISH_ZONE || publication->is_frozen ||
                     (publication->what == PUBLISH_KEEP && served->is_member) ||
                     (publication->what == PUBLISH_UNAVAILABLE && publication->was_served);
    bool is_moved = !is_same_text(served->group, publication->group);
    if (is_moved || (served->is_member && !is_member))
        catalogs_lose(engine, served, false);
    if (is_moved) {
        free(served->group);
        served->group = publication->group ? mem_copy_text(publication->group) : NULL;
    }
    engine->are_catalogs_dirty |= is_moved || served->is_member != is_member;
    served->is_member = is_member;
}

static struct served *served_by(struct engine *engine, uint32_t key, struct dname apex)
{
    take_over(engine, key, apex);
    struct served *served = served_of(engine, key);
    return served ? served : served_new(engine, key, apex);
}

void publish_decision(struct engine *engine, uint32_t key, const struct publication *publication)
{
    struct publication wanted = *publication;
    struct dname apex = {publication->apex, publication->apex_len};
    if (publication->what == PUBLISH_NOTHING || catalogs_have(engine, apex)) {
        publish_forget(engine, key);
        return;
    }
    struct served *served = served_by(engine, key, apex);
    if (wanted.what == PUBLISH_KEEP && !wanted.group)
        wanted.group = served->group;
    keep_membership(engine, served, &wanted);
    if (wanted.what == PUBLISH_ZONE)
        serve(engine, served, &wanted);
    else
        hold(engine, served, &wanted);
}

void publish_fill_snapshot(struct engine *engine, uint32_t key, struct snapshot *snapshot)
{
    const struct served *served = served_of(engine, key);
    if (!served)
        return;
    snapshot->apex = served->apex.at;
    snapshot->apex_len = served->apex.len;
    snapshot->published = newest(engine, served->apex);
    snapshot->known = newest_known(engine, served->apex);
    snapshot->server_count =
        secondaries_views(engine->secondaries, served->apex, &snapshot->servers);
    snapshot->server_group = secondaries_group(engine->secondaries, served->apex);
}

void publish_forget(struct engine *engine, uint32_t key)
{
    struct served *served = served_of(engine, key);
    if (served)
        withdraw(engine, served);
    if (engine->keys[key].is_gone)
        catalogs_forget(engine, engine->keys[key].object);
}

// ---- metrics ------------------------------------------------------------------------------------

struct zone_sample {
    const char *name;
    const char *help;
    int64_t (*get)(const struct zone *zone);
};

static int64_t serial_of(const struct zone *zone)
{
    return zone_serial(zone);
}

static int64_t records_of(const struct zone *zone)
{
    return (int64_t)zone_record_count(zone);
}

static const struct zone_sample zone_samples[] = {
    {"signpost_zone_serial", "Serial that is served.", serial_of},
    {"signpost_zone_records", "Records in the version that is served.", records_of},
};

static void write_zones(const struct engine *engine, const struct zone_sample *sample,
                        struct buffer *out)
{
    metric_write_head(out, sample->name, "gauge", sample->help);
    for (uint32_t id = 0; id < engine->served_used; id++) {
        const struct served *served = engine->served[id];
        const struct zone *zone = served ? newest(engine, served->apex) : NULL;
        AUTO_BUFFER name = {0};
        if (!zone)
            continue;
        dname_write(&name, served->apex);
        buffer_printf(out, "%s{zone=\"", sample->name);
        metric_write_label(out, name.at);
        buffer_printf(out, "\"} %lld\n", (long long)sample->get(zone));
    }
}

static void write_servers_of(const struct engine *engine, const struct served *served,
                             struct buffer *out)
{
    const struct server_view *views;
    AUTO_BUFFER name = {0};
    size_t count = secondaries_views(engine->secondaries, served->apex, &views);
    dname_write(&name, served->apex);
    for (size_t i = 0; i < count; i++) {
        if (!views[i].has_serial)
            continue;
        buffer_add_text(out, "signpost_zone_server_serial{zone=\"");
        metric_write_label(out, name.at);
        buffer_add_text(out, "\",server=\"");
        metric_write_label(out, views[i].name);
        buffer_printf(out, "\"} %lld\n", (long long)views[i].serial);
    }
}

void publish_write_metrics(const struct engine *engine, struct buffer *out)
{
    if (!engine->shared_model_count)
        return;
    for (size_t i = 0; i < COUNT_OF(zone_samples); i++)
        write_zones(engine, &zone_samples[i], out);
    metric_write_head(out, "signpost_zone_server_serial", "gauge",
                      "Serial that a server answered last.");
    for (uint32_t id = 0; id < engine->served_used; id++)
        if (engine->served[id])
            write_servers_of(engine, engine->served[id], out);
}

// ---- life ---------------------------------------------------------------------------------------

void publish_new(struct engine *engine)
{
    engine->served_by_apex = (struct table){.ops = &served_ops, .context = engine};
    engine->published = published_new(on_sign, engine);
    engine->secondaries =
        secondaries_new(&(struct secondaries_options){.world = engine->options.world,
                                                      .log = engine->log,
                                                      .published = engine->published,
                                                      .reported = on_server_report,
                                                      .context = engine});
    secondaries_lead(engine->secondaries, engine->is_leading);
    zone_files_new(engine);
    catalogs_new(engine);
}

void publish_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->served_used; id++)
        if (engine->served[id])
            withdraw(engine, engine->served[id]);
    catalogs_free(engine);
    zone_files_free(engine);
    secondaries_free(engine->secondaries);
    published_free(engine->published);
    table_done(&engine->served_by_apex);
    free(engine->served);
}

struct published *engine_published(struct engine *engine)
{
    return engine->published;
}

void engine_set_zones(struct engine *engine, const struct zones_config *config)
{
    engine->zones_config = config;
    secondaries_set_config(engine->secondaries, config);
    catalogs_set(engine);
    recorder_add_settings(engine->options.recorder);
    for (size_t i = 0; i < engine->shared_model_count; i++)
        shared_model_renew(engine, &engine->shared_models[i]);
}
