#include "commands/dry_run.h"

#include <string.h>

#include "commands/commands.h"
#include "commands/look.h"
#include "commands/process.h"
#include "dns/ledger.h"
#include "engine/engine.h"
#include "kinds/condition.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/kinds.h"
#include "store/cache.h"
#include "store/dry.h"

enum { CHECKS_MAX = 64, KINDS_MAX = 64, LEAVE_MS = 1000 };

#define NO_TRACE "00000000000000000000000000000001"

// With a loop of its own: what was put off there goes with it.
struct stage {
    const struct dry_run *dry_run;
    struct arena *arena; // of what it comes to
    struct process_world process;
    struct loop *loop;
    struct loop_timer timer;
    struct store *store;
    struct engine *engine;
    bool is_over;
    bool is_done;
    size_t asked_count; // of servers, and the store, that have not answered
    struct error error;
};

static void stage_end(struct stage *stage)
{
    stage->is_over = true;
    loop_stop(stage->loop);
}

static void answered(struct stage *stage)
{
    if (!--stage->asked_count)
        stage_end(stage);
}

// ---- health -------------------------------------------------------------------------------------

struct parsed_query {
    struct stage *stage;
    const char *class_name;
};

static void healthy(void *context, const struct change_request_result *result)
{
    const struct parsed_query *asked = context;
    struct stage *stage = asked->stage;
    const struct dry_run *dry_run = stage->dry_run;
    dry_run->health(dry_run->context, asked->class_name, result->outcome);
    answered(stage);
}

static void ask_class(void *context, const struct object *object)
{
    struct stage *stage = context;
    struct arena *arena = stage->dry_run->setup->invocation->arena;
    struct text name = object_name(object);
    struct parsed_query *asked = arena_new_of(arena, struct parsed_query);
    *asked = (struct parsed_query){stage, arena_copy(arena, name.at, name.len)};
    stage->asked_count++;
    engine_ask(stage->engine, arena_printf(arena, DNSCLASS_BACKEND "%s", asked->class_name),
               NO_TRACE, healthy, asked);
}

static void preview_came(void *context)
{
    answered(context);
}

// What cannot be read is told by who keeps it.
static void shards_came(void *context, const struct store_reply *reply)
{
    struct stage *stage = context;
    const struct dry_run *dry_run = stage->dry_run;
    if (reply->is_ok)
        dry_run->shards(dry_run->context, reply->shards, reply->shard_count);
    answered(stage);
}

static void ask_shards(struct stage *stage)
{
    stage->asked_count++;
    store_read_shards(stage->store, NULL, LEDGER_SHARDS, shards_came, stage);
}

static void rested(void *context)
{
    struct stage *stage = context;
    if (stage->is_over || stage->is_done)
        return;
    stage->is_done = true;
    if (stage->dry_run->health)
        cache_each(stage->store->cache, &dnsclass_kind, ask_class, stage);
    if (stage->dry_run->shards)
        ask_shards(stage);
    stage->asked_count += previews_look(stage->dry_run->previews, stage->arena, stage->engine,
                                        stage->store, preview_came, stage);
    if (!stage->asked_count)
        stage_end(stage);
}

// A folder tells why at once; a cluster is asked again until the time is over.
static void unsynced(void *context, const char *why)
{
    struct stage *stage = context;
    if (stage->is_over || stage->dry_run->setup->place.is_cluster)
        return;
    error_set(&stage->error, FAULT_AGAIN, "", "%s", why && *why ? why : "it cannot be read");
    stage_end(stage);
}

static void failed(void *context, const struct error *err)
{
    struct stage *stage = context;
    stage->error = *err;
    stage_end(stage);
}

// The first line that says more than that it takes time. Where all objects are read, a backend is
// waited for, and the plan tells which.
static void time_is_over(void *context)
{
    struct stage *stage = context;
    struct store_check checks[CHECKS_MAX];
    if (stage->is_done) // servers have a time of their own
        return;
    if (engine_is_synced(stage->engine)) {
        rested(stage);
        return;
    }
    size_t count = engine_checks(stage->engine, checks, CHECKS_MAX);
    const struct store_check *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (!checks[i].is_ok && !checks[i].is_advice)
            worst = &checks[i];
    error_set(&stage->error, FAULT_AGAIN, "", "not all could be read within --timeout%s%s%s%s",
              worst ? ": " : "", worst ? worst->name : "", worst ? ": " : "",
              worst ? worst->text : "");
    stage_end(stage);
}

// ---- what it came to ----------------------------------------------------------------------------

struct collecting {
    struct stage *stage;
    struct proposal *out;
};

static void add_change(void *context, const struct engine_change *change)
{
    const struct collecting *collecting = context;
    proposal_add(collecting->out, change);
}

// That a server was not asked says nothing about it.
static bool is_mere_waiting(const char *reason)
{
    return !strcmp(reason, reason_name(REASON_HEALTH_CHECK_PENDING)) ||
           !strcmp(reason, reason_name(REASON_PENDING));
}

// How a server answers is told of it, not of its class: changes do not wait for that.
static bool is_of_server(const struct engine_obstacle *obstacle)
{
    static const enum reason reasons[] = {REASON_SERVER_UNREACHABLE, REASON_SERVER_UNHEALTHY,
                                          REASON_SERVER_ERROR, REASON_AUTHENTICATION_FAILED,
                                          REASON_RATE_LIMITED};
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (obstacle->object->kind == &dnsclass_kind &&
            !strcmp(obstacle->reason, reason_name(reasons[i])))
            return true;
    return false;
}

static void add_obstacle(void *context, const struct engine_obstacle *obstacle)
{
    const struct collecting *collecting = context;
    const struct dry_run *dry_run = collecting->stage->dry_run;
    if (is_mere_waiting(obstacle->reason) || is_of_server(obstacle) ||
        previews_leave_out(dry_run->previews, dry_run->setup, obstacle->object->kind))
        return;
    proposal_add_obstacle(collecting->out, obstacle);
}

static void add_degraded(void *context, const struct engine_degraded_backend *degraded)
{
    const struct collecting *collecting = context;
    proposal_add_trouble(collecting->out, degraded);
}

static void add_object(void *context, const struct engine_object_change *change)
{
    const struct collecting *collecting = context;
    previews_take_object(collecting->stage->dry_run->previews, change);
}

static void add_refused(void *context, const char *text)
{
    const struct collecting *collecting = context;
    proposal_add_refused(collecting->out, text);
}

static void add_gone(void *context, const struct kind *kind, const struct value *tree)
{
    const struct collecting *collecting = context;
    previews_take_gone(collecting->stage->dry_run->previews, kind, tree);
}

static bool input(struct stage *stage, struct proposal *out, struct error *err)
{
    struct collecting collecting = {stage, out};
    const struct setup_reader reader = {
        .refused = add_refused, .gone = add_gone, .context = &collecting};
    const struct engine_plan_calls calls = {.change = add_change,
                                            .object = add_object,
                                            .obstacle = add_obstacle,
                                            .degraded = add_degraded,
                                            .context = &collecting};
    engine_plan(stage->engine, &calls);
    if (!setup_read_folder(stage->dry_run->setup, out->arena, &reader, err))
        return false;
    previews_report(stage->dry_run->previews, out);
    proposal_close(out);
    return true;
}

// Without it all that is ours in a backend would be taken for another owner's.
static bool knows_owner(const struct stage *stage, struct error *err)
{
    const char *fault = store_owner_fault(stage->store);
    return !fault || !stage->dry_run->setup->backends.count || stage->dry_run->leaves_backends ||
           error_set(err, FAULT_AUTH, "", "%s", fault);
}

// ---- from beginning to end ----------------------------------------------------------------------

static bool stage_open(struct stage *stage, struct error *err)
{
    struct setup *setup = stage->dry_run->setup;
    struct process_world *process = &stage->process;
    const struct setup_store how = {.world = &process->world,
                                    .log = setup->place.is_cluster ? process->log : NULL,
                                    .is_reading = true,
                                    .failed = failed,
                                    .context = stage};
    struct store *below = setup_open_store(setup, &how, err);
    if (!below)
        return false;
    stage->store = dry_new(&process->world, below,
                           &(struct dry_waiter){.unsynced = unsynced, .context = stage});
    const struct engine_options options = {
        .world = &process->world,
        .store = stage->store,
        .controllers = setup->controllers,
        .settings = (const void *const *)setup->settings,
        .controller_count = setup->controller_count,
        .providers = providers,
        .provider_count = provider_count,
        .is_dry = true,
        .rested = rested,
        .context = stage,
    };
    stage->engine = engine_new(&options);
    stage->timer = (struct loop_timer){.call = time_is_over, .context = stage};
    loop_timer_set(stage->loop, &stage->timer, stage->dry_run->timeout_ms);
    return engine_start(stage->engine, err);
}

static void stage_close(struct stage *stage)
{
    loop_timer_cancel(stage->loop, &stage->timer);
    engine_free(stage->engine);
    store_free(stage->store);
    process_world_done(&stage->process);
}

static void left(void *context)
{
    const struct stage *stage = context;
    loop_stop(stage->loop);
}

// Sessions at backends that were looked at.
static void stage_leave(struct stage *stage)
{
    if (!stage->dry_run->setup->backends.count)
        return;
    engine_stop(stage->engine, LEAVE_MS, left, stage);
    loop_run(stage->loop);
}

// ---- what may be read ---------------------------------------------------------------------------

// What is asked for by name is not looked at beforehand: objects name it.
static size_t list_kinds(const struct setup *setup, const struct kind **out)
{
    size_t count = 0;
    for (size_t i = 0; i < kind_count && count < KINDS_MAX; i++)
        if (setup_reads(setup, kinds[i]) && !kinds[i]->is_secret)
            out[count++] = kinds[i];
    return count;
}

static bool is_forbidden(const void *context, const struct kind *kind)
{
    return look_is_forbidden(context, kind);
}

static bool look_at_cluster(struct dry_run *dry_run, struct error *err)
{
    const struct kind *wanted[KINDS_MAX];
    struct setup *setup = dry_run->setup;
    AUTO_BUFFER left_out = {0};
    size_t count = list_kinds(setup, wanted);
    CLEANUP(look)
    struct look *look = look_new(&setup->place, wanted, count, dry_run->timeout_ms, err);
    if (!look)
        return false;
    setup_leave_out(setup, is_forbidden, look, &left_out);
    dry_run->is_part = left_out.len > 0;
    if (!left_out.len)
        return true;
    if (!dry_run->takes_part || !setup->controller_count)
        return look_refuse(look, err);
    AUTO_BUFFER what = {0};
    buffer_printf(&what, "planned without the controllers %s", left_out.at);
    look_report(look, what.at);
    return true;
}

bool run_dry(struct dry_run *dry_run, struct proposal *out, struct error *err)
{
    struct stage stage = {.dry_run = dry_run, .arena = out->arena};
    if (dry_run->setup->place.is_cluster && !look_at_cluster(dry_run, err))
        return false;
    if (!process_world_init(&stage.process, dry_run->setup->invocation, err))
        return false;
    stage.loop = stage.process.world.loop;
    setup_set_access(
        dry_run->setup,
        &(struct backend_access){.is_read_probe = true, .is_left_alone = dry_run->leaves_backends});
    bool is_open = stage_open(&stage, err);
    if (is_open)
        loop_run(stage.loop);
    bool is_ok = is_open && stage.is_done && knows_owner(&stage, err) && input(&stage, out, err);
    const char *owner_id = is_ok ? store_owner_id(stage.store) : NULL;
    if (is_ok && dry_run->look)
        dry_run->look(dry_run->context, stage.store->cache);
    const char *owner_fault = is_ok ? store_owner_fault(stage.store) : NULL;
    if (owner_id)
        dry_run->owner_id = arena_copy_text(out->arena, owner_id);
    if (owner_fault)
        dry_run->owner_fault = arena_copy_text(out->arena, owner_fault);
    if (is_open && !stage.is_done && err)
        *err = stage.error;
    if (is_open)
        stage_leave(&stage);
    stage_close(&stage);
    setup_set_access(dry_run->setup, &(struct backend_access){0});
    return is_ok;
}
