#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "kinds/kinds.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/play.h"
#include "store/dry.h"
#include "store/folder/folder.h"

// A dry run beside the Signpost of a scenario.

enum { LINES_MAX = 64, PATIENCE_MS = 10000 };

struct dry_stage {
    struct stage *stage;
    struct engine *engine;
    bool is_rested;
    char *lines[LINES_MAX];
    size_t count;
};

static void rested(void *context)
{
    struct dry_stage *dry = context;
    dry->is_rested = true;
}

static void unsynced(void *context, const char *why)
{
    (void)context;
    (void)why;
}

static void add_line(struct dry_stage *dry, struct buffer *line)
{
    must(dry->count < LINES_MAX);
    dry->lines[dry->count++] = buffer_steal(line);
}

static void add_change(void *context, const struct engine_change *change)
{
    static const char signs[] = {
        [ENGINE_CREATE] = '+', [ENGINE_UPDATE] = '~', [ENGINE_DELETE] = '-'};
    AUTO_BUFFER line = {0};
    const struct record_set *set = change->set;
    buffer_printf(&line, "%c ", signs[change->act]);
    if (!text_is(set->subdomain, "@"))
        buffer_printf(&line, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_printf(&line, "%.*s %s", TEXT_ARGS(set->domain), record_type_name(set->type));
    for (size_t i = 0; i < set->value_count && change->act != ENGINE_DELETE; i++)
        buffer_printf(&line, " %.*s", TEXT_ARGS(set->values[i]));
    if (change->replaces)
        buffer_printf(&line, " (was %s)", change->replaces);
    add_line(context, &line);
}

static void add_obstacle(void *context, const struct engine_obstacle *obstacle)
{
    AUTO_BUFFER line = {0};
    // As it asks nobody.
    if (!strcmp(obstacle->reason, "HealthCheckPending"))
        return;
    buffer_printf(&line, "! %s ", obstacle->object->kind->name);
    object_write_name(&line, obstacle->object);
    buffer_printf(&line, " %s", obstacle->reason);
    add_line(context, &line);
}

static void add_degraded(void *context, const struct engine_degraded_backend *degraded)
{
    AUTO_BUFFER line = {0};
    buffer_printf(&line, "? %s%s%s", degraded->backend, degraded->error ? " " : "",
                  degraded->error ? degraded->error->reason : "");
    buffer_add_text(&line, degraded->is_unread ? " unread" : "");
    add_line(context, &line);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void input(struct dry_stage *dry, struct buffer *out)
{
    engine_plan(dry->engine, &(struct engine_plan_calls){.change = add_change,
                                                         .obstacle = add_obstacle,
                                                         .degraded = add_degraded,
                                                         .context = dry});
    if (dry->count)
        qsort(dry->lines, dry->count, sizeof *dry->lines, compare_lines);
    for (size_t i = 0; i < dry->count; i++) {
        buffer_printf(out, "%s\n", dry->lines[i]);
        free(dry->lines[i]);
    }
}

static struct store *open_below(const struct stage *stage, struct error *err)
{
    if (stage->server)
        return model_cluster_reader(&stage->world, stage->kinds, stage->kind_count);
    return folder_new(&stage->world,
                      &(struct folder_options){.dir = stage->dir,
                                               .is_reading = true,
                                               .kinds = stage->kinds,
                                               .kind_count = stage->kind_count},
                      NULL, err);
}

static void run_to_rest(struct dry_stage *dry)
{
    struct loop *loop = dry->stage->loop;
    int64_t end_ms = loop_mono_ms(loop) + PATIENCE_MS;
    while (!dry->is_rested && loop_mono_ms(loop) < end_ms)
        must(virtual_loop_step(loop));
}

// It does not end the session of the Signpost beside it.
static void read_probe_piholes(const struct stage *stage, const void **settings,
                               struct pihole_targets *read_probe)
{
    for (size_t i = 0; i < stage->controller_count; i++)
        if (settings[i] == &stage->piholes.targets)
            settings[i] = read_probe;
    *read_probe = stage->piholes.targets;
    read_probe->access.is_read_probe = true;
}

bool stage_plan(struct stage *stage, struct buffer *out, struct error *err)
{
    const void *settings[STAGE_CONTROLLERS_MAX];
    struct dry_stage dry = {.stage = stage};
    struct store *below = open_below(stage, err);
    if (!below)
        return false;
    struct store *store =
        dry_new(&stage->world, below, &(struct dry_waiter){.unsynced = unsynced, .context = &dry});
    struct pihole_targets read_probe;
    stage_settings(stage, settings);
    read_probe_piholes(stage, settings, &read_probe);
    dry.engine = engine_new(&(struct engine_options){.world = &stage->world,
                                                     .store = store,
                                                     .controllers = stage->controllers,
                                                     .settings = settings,
                                                     .controller_count = stage->controller_count,
                                                     .providers = providers,
                                                     .provider_count = provider_count,
                                                     .renews_models = stage->renews_models,
                                                     .is_dry = true,
                                                     .rested = rested,
                                                     .context = &dry});
    must(engine_start(dry.engine, NULL));
    run_to_rest(&dry);
    if (dry.is_rested)
        input(&dry, out);
    engine_free(dry.engine);
    store_free(store);
    return dry.is_rested || error_set(err, FAULT_AGAIN, "", "the dry run came to no rest");
}
