#include <stdlib.h>
#include <string.h>

#include "dns/plan_sum.h"
#include "engine/state.h"
#include "store/cache.h"

enum { EXISTS = 409, ASK_AGAIN_MS = 60 * 1000 };

struct hold {
    struct arena *arena;
    char checksum[PLAN_SUM_MAX];
    struct record_set *sets; // by name, then by type
    size_t count;
    bool is_approved;
    bool is_due;                  // whether people are asked is to be seen to
    bool is_told;                 // that they cannot be
    const struct object *dropped; // to make room; or NULL
    int64_t not_before_ms;        // mono: people are asked
    struct store_check check;
};

void hold_free(struct hold *hold)
{
    if (!hold)
        return;
    object_unref(hold->dropped);
    arena_free(hold->arena);
    free(hold);
}

bool hold_is_approved(const struct hold *hold)
{
    return hold && hold->is_approved;
}

size_t hold_count(const struct hold *hold)
{
    return hold && !hold->is_approved ? hold->count : 0;
}

// ---- what went ----------------------------------------------------------------------------------

#define FACT "guard"

// What a plan names may go: in a dry run it is shown, and approved it is sent.
static bool is_guarded(const struct engine *engine)
{
    return !engine->dry_run && !engine->options.may_send;
}

static int64_t ahead_ms(const struct engine *engine)
{
    return loop_unix_ms(engine->loop) - loop_mono_ms(engine->loop);
}

// Somebody else may have led, or we in another life.
static void recall(struct lane *lane)
{
    const struct engine *engine = lane->engine;
    if (!lane->ledger || lane->is_guard_recalled)
        return;
    struct ledger_view view = ledger_keeper_view(lane->ledger);
    const char *text = view.recall(view.context, FACT);
    lane->is_guard_recalled = true;
    if (text)
        guard_read(&lane->guard, loop_mono_ms(engine->loop), ahead_ms(engine), text_of(text));
}

static void remember(struct lane *lane)
{
    AUTO_BUFFER text = {0};
    if (!lane->ledger)
        return;
    struct ledger_view view = ledger_keeper_view(lane->ledger);
    guard_write(&lane->guard, ahead_ms(lane->engine), &text);
    view.keep(view.context, FACT, text.len ? text.at : NULL);
}

static bool has_gone(const struct flight *flight, size_t at)
{
    const struct wish *wish = flight->wishes[at];
    const struct outcome *outcome = &flight->job.changes[at].outcome;
    return wish && wish->is_stray && !wish->is_approved && outcome->is_done && !outcome->was_absent;
}

void holds_count(const struct flight *flight)
{
    struct lane *lane = flight->lane;
    size_t count = 0;
    for (size_t i = 0; i < flight->job.change_count; i++)
        count += has_gone(flight, i);
    if (!count || !is_guarded(lane->engine))
        return;
    guard_count(&lane->guard, loop_mono_ms(lane->engine->loop), count);
    remember(lane);
}

// ---- what is held -------------------------------------------------------------------------------

static int compare_sets(const void *a, const void *b)
{
    const struct record_set *left = a;
    const struct record_set *right = b;
    int order = text_compare(left->domain, right->domain);
    if (!order)
        order = text_compare(left->subdomain, right->subdomain);
    return order ? order : (left->type > right->type) - (left->type < right->type);
}

static void write_checksum(const struct lane *lane, struct hold *hold)
{
    struct plan_sum_change *changes =
        arena_new_array(hold->arena, struct plan_sum_change, hold->count + 1);
    for (size_t i = 0; i < hold->count; i++)
        changes[i] = (struct plan_sum_change){.before = &hold->sets[i]};
    plan_sum_write(lane->name, changes, hold->count, hold->checksum);
}

static struct store_check check_of(const struct lane *lane, const struct hold *hold)
{
    return (struct store_check){
        .name = arena_printf(hold->arena, "guard-%s", lane->name),
        .is_advice = true,
        .text = arena_printf(hold->arena,
                             "GuardTripped: %zu record sets are kept although nothing wants them "
                             "any more; `signpost status` names the plan that asks",
                             hold->count),
    };
}

static struct hold *hold_new(const struct lane *lane, const struct record_set *sets, size_t count)
{
    struct hold *hold = mem_new_of(struct hold);
    hold->arena = arena_new();
    hold->sets = arena_new_array(hold->arena, struct record_set, count + 1);
    hold->count = count;
    for (size_t i = 0; i < count; i++)
        hold->sets[i] = record_set_copy(hold->arena, &sets[i]);
    if (count)
        qsort(hold->sets, count, sizeof *hold->sets, compare_sets);
    write_checksum(lane, hold);
    hold->check = check_of(lane, hold);
    return hold;
}

static void replace_hold(struct lane *lane, struct hold *hold)
{
    bool is_news = hold || lane->hold;
    hold_free(lane->hold);
    lane->hold = hold;
    lane->view.held = hold ? hold->checksum : NULL;
    if (is_news)
        gather_wake_watchers(lane);
}

void holds_forget(struct lane *lane)
{
    replace_hold(lane, NULL);
}

static void keep(struct lane *lane, const struct record_set *strays, size_t count)
{
    struct hold *hold = hold_new(lane, strays, count);
    const struct hold *before = lane->hold;
    bool is_same = before && !before->is_approved && !strcmp(before->checksum, hold->checksum);
    if (is_same) {
        hold_free(hold);
    } else {
        replace_hold(lane, hold);
        words_tell_held(lane);
    }
    lane->hold->is_due = true;
}

// A change that is not the very same is none that anybody has approved.
static bool is_covered(const struct hold *hold, const struct record_set *strays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct record_set *found =
            bsearch(&strays[i], hold->sets, hold->count, sizeof *hold->sets, compare_sets);
        if (!found || !record_set_equal(found, &strays[i]))
            return false;
    }
    return count > 0;
}

bool holds_judge(struct lane *lane, const struct record_set *strays, size_t count)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    recall(lane);
    if (hold_is_approved(lane->hold) && is_covered(lane->hold, strays, count))
        return true;
    bool is_allowed =
        !is_guarded(lane->engine) || guard_allows(&lane->guard, now_ms, lane->owned, count);
    if (is_allowed)
        replace_hold(lane, NULL);
    else
        keep(lane, strays, count);
    return is_allowed;
}

size_t holds_checks(const struct engine *engine, struct store_check *out, size_t capacity)
{
    size_t count = 0;
    for (const struct lane *lane = engine->lanes; lane && count < capacity; lane = lane->next) {
        if (hold_count(lane->hold) && engine->is_leading)
            out[count++] = lane->hold->check;
    }
    return count;
}

// ---- approval -----------------------------------------------------------------------------------

void holds_approve(struct engine *engine, const struct approval *approval)
{
    struct lane *lane = approval ? lane_find(engine, approval->lane) : NULL;
    struct hold *hold = lane ? lane->hold : NULL;
    if (!hold || hold->is_approved || strcmp(hold->checksum, approval->checksum) != 0 ||
        !engine_may_write(engine))
        return;
    hold->is_approved = true;
    words_tell_approved(lane);
    for (size_t i = 0; i < hold->count; i++)
        wish_add_stray(lane, &hold->sets[i], true);
    engine_schedule(engine);
}

// ---- asking people ------------------------------------------------------------------------------

static const struct controller *asker_of(const struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->hold)
            return engine->controllers[i].is_synced ? engine->controllers[i].controller : NULL;
    return NULL;
}

static void tell_failure(struct lane *lane, const struct error *error)
{
    if (error->status == EXISTS || !lane->hold || lane->hold->is_told)
        return;
    lane->hold->is_told = true;
    log_line(lane->engine->log, LOG_WARN, "nobody can be asked about the records that are kept",
             LOG_TEXT("lane", lane->name), LOG_TEXT("error", error->text), LOG_END);
}

static void set_dropped(struct hold *hold, const struct object *object)
{
    object_unref(hold->dropped);
    hold->dropped = object ? object_ref(object) : NULL;
}

static void refused(struct lane *lane, const struct error *error)
{
    struct engine *engine = lane->engine;
    tell_failure(lane, error);
    if (!lane->hold)
        return;
    set_dropped(lane->hold, NULL);
    lane->hold->is_due = true;
    lane->hold->not_before_ms = loop_mono_ms(engine->loop) + ASK_AGAIN_MS;
    loop_timer_set(engine->loop, &engine->ask_timer, ASK_AGAIN_MS);
}

static void asked(void *context, const struct store_reply *reply)
{
    struct engine *engine = context;
    struct lane *lane = engine->lanes_by_number[engine->asking - 1];
    engine->asking = 0;
    engine->writes_in_flight--;
    if (lane && lane->hold && reply->is_ok)
        lane->hold->is_due |= engine->is_asking_anew;
    else if (lane && !reply->is_ok)
        refused(lane, &reply->error);
    engine_schedule(engine);
}

static void send(struct lane *lane, const struct child_want *child)
{
    struct engine *engine = lane->engine;
    struct store *store = engine->options.store;
    engine->asking = lane->number;
    engine->is_asking_anew = !child->tree;
    set_dropped(lane->hold, child->tree ? NULL : child->seen);
    engine->writes_in_flight++;
    if (child->tree)
        store_put_child(store, &(struct store_child){child->key, child->tree, child->seen}, asked,
                        engine);
    else
        store_drop_child(store, child->seen, asked, engine);
}

static void ask(struct lane *lane, const struct controller *controller)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct lane_hold hold = {lane->name, lane->hold->checksum, lane->hold->sets,
                                   lane->hold->count};
    struct child_want child = {0};
    lane->hold->is_due = false;
    if (!controller->hold(&hold, NULL, arena, &child))
        return;
    const struct object *there = cache_find(lane->engine->options.store->cache, child.key.kind,
                                            child.key.namespace_, child.key.name);
    if (there && there == lane->hold->dropped)
        lane->hold->is_due = true; // the event of its end wakes us
    else if (!there || controller->hold(&hold, there, arena, &child))
        send(lane, &child);
}

void holds_ask(struct engine *engine)
{
    const struct controller *controller = NULL;
    for (struct lane *lane = engine->lanes; lane && !engine->asking; lane = lane->next) {
        if (!hold_count(lane->hold) || !lane->hold->is_due || !engine_may_write(engine) ||
            lane->hold->not_before_ms > loop_mono_ms(engine->loop))
            continue;
        if (!controller)
            controller = asker_of(engine);
        if (controller)
            ask(lane, controller);
    }
}
