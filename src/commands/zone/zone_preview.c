#include <stdlib.h>

#include "commands/commands.h"
#include "commands/zone/configured_zones.h"
#include "commands/zone/plan_zones.h"
#include "commands/zone/zone_subject.h"
#include "controllers/zone/zone_controller.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"
#include "store/cache.h"

// What a dry run would have served of zones, beside what their statuses say is served.
struct zone_preview {
    const struct setup *setup;
    struct zones_config *config;
    const struct zones_config *shown; // NULL: it is not known
    struct plan_zones *zones;         // of the dry run under way; NULL: they are no part of it
};

static void *make(struct setup *setup, struct error *err)
{
    struct zones_config *config;
    if (!zones_config_look(setup->invocation, &config, err))
        return NULL;
    struct zone_preview *preview = mem_new_of(struct zone_preview);
    *preview = (struct zone_preview){.setup = setup, .config = config, .shown = config};
    // Who has the options of the primary serves zones, and knows that there is no configuration.
    zones_config_use(setup, &preview->shown,
                     config != NULL || option_is_declared(setup->invocation, "primary-listen"));
    return preview;
}

static void end_look(struct zone_preview *preview)
{
    plan_zones_free(preview->zones);
    preview->zones = NULL;
}

static void free_preview(void *item)
{
    struct zone_preview *preview = item;
    zones_config_use(preview->setup, NULL, false);
    end_look(preview);
    zones_config_free(preview->config);
    free(preview);
}

// Zones have records from other namespaces, and lie below zones there. Whoever names namespaces and
// the configuration means those of a `signpost run` that sees no more either.
static bool sees_part(const struct configured_store *place, bool is_known)
{
    return place->is_cluster && configured_store_namespaces(place) && (place->only || !is_known);
}

static void report_left_out(const struct store *store)
{
    if (cache_count(store->cache, &zone_kind) || cache_count(store->cache, &record_kind))
        command_fail(0, "zones are left out, as those of other namespaces and their records are "
                        "not read: plan all namespaces");
}

static size_t look(void *item, struct arena *arena, const struct engine *engine,
                   struct store *store, void (*answered)(void *context), void *context)
{
    struct zone_preview *preview = item;
    end_look(preview);
    if (!setup_settings(preview->setup, &zone_controller))
        return 0;
    if (sees_part(&preview->setup->place, preview->shown)) {
        report_left_out(store);
        return 0;
    }
    preview->zones = plan_zones_new(arena, preview->shown);
    return plan_zones_look(preview->zones, engine, store, answered, context);
}

static void take_gone(void *item, const struct kind *kind, const struct value *tree)
{
    const struct zone_preview *preview = item;
    if (kind == &zone_kind && preview->zones)
        plan_zones_take_gone(preview->zones, tree);
}

static void report_preview(const void *item, struct proposal *out)
{
    const struct zone_preview *preview = item;
    if (preview->zones)
        plan_zones_report(preview->zones, out);
}

// What stands in the way of zones that are not looked at as a whole is not known.
static bool leaves_out(const void *item, const struct setup *setup, const struct kind *kind)
{
    const struct zone_preview *preview = item;
    bool is_known = preview && preview->shown;
    return (kind == &record_kind && !(preview && preview->zones)) ||
           (kind == &zone_kind && sees_part(&setup->place, is_known));
}

const struct preview zone_preview = {
    .make = make,
    .free = free_preview,
    .look = look,
    .take_gone = take_gone,
    .report_preview = report_preview,
    .leaves_out = leaves_out,
};
