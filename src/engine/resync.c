#include "engine/state.h"

// Every key gets a reconciliation once a round, whatever happened or did not: a part of them at
// each step, so that the work is spread evenly. Rounds differ in length, so that processes that
// were started together drift apart.

enum { STEPS = 1000, STEP_MIN_MS = 1000 };

static void round_begin(struct engine *engine)
{
    struct resync *resync = &engine->resync;
    int64_t tenth_ms = engine->options.sync_period_ms / 10;
    uint64_t spread = (uint64_t)(2 * tenth_ms) + 1;
    int64_t round_ms = engine->options.sync_period_ms - tenth_ms +
                       (int64_t)random_below(engine->options.world->random, spread);
    resync->steps = round_ms / STEP_MIN_MS < STEPS ? (uint32_t)(round_ms / STEP_MIN_MS) : STEPS;
    if (!resync->steps)
        resync->steps = 1;
    resync->step_ms = round_ms / resync->steps;
    resync->step = 0;
    resync->next_key = 0;
}

static void step(void *context)
{
    struct engine *engine = context;
    struct resync *resync = &engine->resync;
    uint32_t end = (uint32_t)((uint64_t)engine->key_slots.end * ++resync->step / resync->steps);
    for (; resync->next_key < end; resync->next_key++)
        if (engine->keys[resync->next_key].object)
            key_wake(engine, resync->next_key, QUEUE_BACKGROUND);
    if (resync->step == resync->steps)
        round_begin(engine);
    loop_timer_set(engine->loop, &resync->timer, resync->step_ms);
}

void resync_start(struct engine *engine)
{
    if (!engine->options.sync_period_ms)
        return;
    engine->resync.timer = (struct loop_timer){.call = step, .context = engine};
    round_begin(engine);
    loop_timer_set(engine->loop, &engine->resync.timer, engine->resync.step_ms);
}

void resync_stop(struct engine *engine)
{
    loop_timer_cancel(engine->loop, &engine->resync.timer);
}
