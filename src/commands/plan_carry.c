#include "commands/plan_carry.h"

#include "commands/process.h"
#include "engine/engine.h"
#include "kinds/kinds.h"
#include "store/cluster/cluster.h"
#include "store/folder/folder.h"

enum { KINDS_MAX = 64, LOOK_MS = 200, STOP_MS = 10000, LEASE_MORE_MS = 2000 };

// With a loop of its own: what was put off there goes with it.
struct crew {
    struct carry *carry;
    struct process_world process;
    struct loop *loop;
    struct loop_timer timer;
    struct store *store;
    const struct controller *controllers[ENABLED_CONTROLLERS_MAX];
    const void *settings[ENABLED_CONTROLLERS_MAX];
    struct engine *engine;
    int64_t began_ms;
    bool is_leaving;
    struct error *error; // why it could not begin; the caller's
    bool is_begun;       // we lead
};

// ---- leaving ------------------------------------------------------------------------------------

static void left(void *context)
{
    const struct crew *crew = context;
    loop_stop(crew->loop);
}

static void stopped(void *context)
{
    struct crew *crew = context;
    store_flush(crew->store);
    store_leave(crew->store, left, crew);
}

// What is wrong with the backend that they wait for.
static void explain_waiting(const struct crew *crew)
{
    const struct proposal *plan = crew->carry->plan;
    for (size_t i = 0; i < plan->count; i++) {
        struct carry_result *result = &crew->carry->results[i];
        if (plan->changes[i].zone) {
            result->text = "zones are served by `signpost run`: start it";
            continue;
        }
        const struct backend_view *view = engine_backend(crew->engine, plan->changes[i].backend);
        if (result->end == CARRY_WAITING && view && view->unavailable.fault != FAULT_NONE)
            result->text = arena_copy_text(plan->arena, view->unavailable.text);
    }
}

static void leave(void *context)
{
    struct crew *crew = context;
    if (crew->is_leaving)
        return;
    crew->is_leaving = true;
    explain_waiting(crew);
    loop_timer_cancel(crew->loop, &crew->timer);
    engine_stop(crew->engine, STOP_MS, stopped, crew);
}

static void give_up(struct crew *crew, const char *text)
{
    if (!crew->is_begun)
        error_set(crew->error, FAULT_AGAIN, "", "%s", text);
    leave(crew);
}

// ---- changes ------------------------------------------------------------------------------------

// What somebody else's keeps out goes, and is planned so.
static const struct proposal_change *find_giving_way(const struct proposal *plan,
                                                     const struct engine_change *change)
{
    struct engine_change going = *change;
    going.act = ENGINE_DELETE;
    return proposal_find(plan, &going);
}

static struct carry_result *result_of(const struct crew *crew, const struct engine_change *change)
{
    const struct proposal *plan = crew->carry->plan;
    const struct proposal_change *found = proposal_find(plan, change);
    if (!found)
        found = find_giving_way(plan, change);
    return found ? &crew->carry->results[found - plan->changes] : NULL;
}

static bool may_send(void *context, const struct engine_change *change)
{
    return result_of(context, change) != NULL;
}

static void ended(void *context, const struct engine_change *change, const struct outcome *outcome)
{
    const struct crew *crew = context;
    struct carry_result *result = result_of(crew, change);
    if (!result)
        return;
    *result = (struct carry_result){.end = CARRY_DONE};
    const struct proposal_change *planned =
        &crew->carry->plan->changes[result - crew->carry->results];
    bool is_gone = planned->act == ENGINE_DELETE && outcome->replaced;
    if (!outcome->is_done && !is_gone)
        *result = (struct carry_result){
            .end = CARRY_FAILED,
            .text = arena_copy_text(crew->carry->plan->arena, outcome->error->text),
        };
}

static void leading(void *context, bool is_leading)
{
    struct crew *crew = context;
    if (is_leading && !crew->is_begun)
        process_world_on_signal(&crew->process, leave, crew);
    crew->is_begun = crew->is_begun || is_leading;
}

// Each change was tried, or is not wanted any more, or waits for one that failed.
static void rested(void *context)
{
    struct crew *crew = context;
    if (engine_is_leading(crew->engine))
        leave(crew);
}

// ---- waiting ------------------------------------------------------------------------------------

static const char *find_holder(const struct crew *crew)
{
    if (!crew->carry->setup->place.is_cluster)
        return folder_holder(crew->store);
    const char *holder = lease_holder(cluster_lease(crew->store));
    return *holder ? holder : NULL;
}

// A folder's lock is free or not; a Lease may stand there of one that is no more.
static int64_t patience_ms(const struct crew *crew)
{
    const struct setup *setup = crew->carry->setup;
    if (!setup->place.is_cluster)
        return 0;
    return option_ms(setup->invocation, "leader-elect-lease-duration") + LEASE_MORE_MS;
}

static bool yields_to_holder(struct crew *crew, int64_t waited_ms)
{
    const char *holder = crew->is_begun ? NULL : find_holder(crew);
    if (!holder || waited_ms < patience_ms(crew))
        return false;
    crew->carry->holder = arena_copy_text(crew->carry->plan->arena, holder);
    leave(crew);
    return true;
}

static void look(void *context)
{
    struct crew *crew = context;
    int64_t waited_ms = loop_mono_ms(crew->loop) - crew->began_ms;
    if (crew->is_leaving || yields_to_holder(crew, waited_ms))
        return;
    if (waited_ms >= crew->carry->timeout_ms)
        give_up(crew, "could not begin to write within --timeout");
    else
        loop_timer_set(crew->loop, &crew->timer, LOOK_MS);
}

static void failed(void *context, const struct error *err)
{
    struct crew *crew = context;
    if (!crew->is_leaving)
        give_up(crew, err->text);
}

// ---- from beginning to end ----------------------------------------------------------------------

// It publishes, or runs with one that does.
static bool serves(const struct controller *controller)
{
    if (controller->shared_model && controller->shared_model->published)
        return true;
    for (size_t i = 0; i < controller_count; i++)
        if (controller_brings(controllers[i], controller) && serves(controllers[i]))
            return true;
    return false;
}

// Those that serve do not run here: a serial that nobody serves would be a change that nobody sees.
static size_t choose_controllers(struct crew *crew)
{
    size_t count = 0;
    const struct setup *setup = crew->carry->setup;
    for (size_t i = 0; i < setup->controller_count; i++) {
        if (serves(setup->controllers[i]))
            continue;
        crew->controllers[count] = setup->controllers[i];
        crew->settings[count++] = setup->settings[i];
    }
    return count;
}

static bool open_engine(struct crew *crew, struct error *err)
{
    const struct engine_options options = {
        .world = &crew->process.world,
        .log = crew->process.log,
        .store = crew->store,
        .controllers = crew->controllers,
        .settings = crew->settings,
        .controller_count = choose_controllers(crew),
        .providers = providers,
        .provider_count = provider_count,
        .leading = leading,
        .may_send = may_send,
        .ended = ended,
        .rested = rested,
        .context = crew,
    };
    crew->engine = engine_new(&options);
    return engine_start(crew->engine, err);
}

// What they keep there stays theirs.
static void list_left_out(const struct kind **out)
{
    size_t count = 0;
    for (size_t i = 0; i < controller_count; i++) {
        const struct shared_model *shared_model = controllers[i]->shared_model;
        if (!shared_model || !shared_model->published)
            continue;
        for (size_t j = 0; shared_model->kinds[j] && count < KINDS_MAX; j++)
            out[count++] = shared_model->kinds[j];
    }
}

static bool crew_open(struct crew *crew, struct error *err)
{
    const struct kind *left_out[KINDS_MAX + 1] = {0};
    list_left_out(left_out);
    const struct setup_store how = {.world = &crew->process.world,
                                    .log = crew->process.log,
                                    .left_out = left_out,
                                    .failed = failed,
                                    .context = crew};
    crew->store = setup_open_store(crew->carry->setup, &how, err);
    if (!crew->store || !open_engine(crew, err))
        return false;
    crew->began_ms = loop_mono_ms(crew->loop);
    crew->timer = (struct loop_timer){.call = look, .context = crew};
    loop_timer_set(crew->loop, &crew->timer, 0);
    return true;
}

static void crew_close(struct crew *crew)
{
    loop_timer_cancel(crew->loop, &crew->timer);
    engine_free(crew->engine);
    store_free(crew->store);
    process_world_done(&crew->process);
}

bool plan_carry(struct carry *carry, struct error *err)
{
    struct error why = {0};
    struct crew crew = {.carry = carry, .error = &why};
    if (!process_world_init(&crew.process, carry->setup->invocation, err))
        return false;
    crew.loop = crew.process.world.loop;
    bool is_open = crew_open(&crew, &why);
    if (is_open)
        loop_run(crew.loop);
    crew_close(&crew);
    if (is_open && why.fault == FAULT_NONE)
        return true;
    *err = why;
    return false;
}
