#include "commands/writer.h"

#include "engine/engine.h"
#include "store/cluster/cluster.h"
#include "store/folder/folder.h"

enum { LOOK_MS = 200, STOP_MS = 10000, LEASE_MORE_MS = 2000 };

struct writer {
    struct setup *setup;
    const struct writer_calls *calls;
    struct process_world process;
    struct loop *loop;
    struct loop_timer timer;
    struct store *store;
    struct engine *engine; // it keeps the lead, and nothing else
    int64_t began_ms;
    int64_t timeout_ms;
    bool is_begun;
    bool is_leaving;
    struct error error; // why it did not come to its end; no text: it did
};

bool writer_setup_init(struct setup *setup, const struct invocation *invocation, struct error *err)
{
    if (!setup_init(setup, invocation, err))
        return false;
    bool is_good = writer_options_check(invocation, err);
    if (!is_good)
        setup_done(setup);
    return is_good;
}

// ---- leaving ------------------------------------------------------------------------------------

static void left(void *context)
{
    const struct writer *writer = context;
    loop_stop(writer->loop);
}

static void stopped(void *context)
{
    struct writer *writer = context;
    store_flush(writer->store);
    store_leave(writer->store, left, writer);
}

void writer_end(struct writer *writer)
{
    if (writer->is_leaving)
        return;
    writer->is_leaving = true;
    loop_timer_cancel(writer->loop, &writer->timer);
    engine_stop(writer->engine, STOP_MS, stopped, writer);
}

static void give_up(struct writer *writer, const char *text)
{
    if (writer->is_leaving)
        return;
    error_set(&writer->error, FAULT_AGAIN, "", "%s", text);
    if (writer->is_begun)
        writer->calls->lost(writer->calls->context);
    writer_end(writer);
}

static void interrupted(void *context)
{
    give_up(context, "interrupted");
}

static void failed(void *context, const struct error *err)
{
    give_up(context, err->text);
}

// ---- waiting for the lead -----------------------------------------------------------------------

static void leading(void *context, bool is_leading)
{
    struct writer *writer = context;
    if (!is_leading && writer->is_begun)
        give_up(writer, "the Lease was lost to somebody else");
    if (!is_leading || writer->is_begun || writer->is_leaving)
        return;
    writer->is_begun = true;
    loop_timer_cancel(writer->loop, &writer->timer);
    writer->calls->begin(writer->calls->context, writer);
}

static const char *find_holder(const struct writer *writer)
{
    if (!writer->setup->place.is_cluster)
        return folder_holder(writer->store);
    const char *holder = lease_holder(cluster_lease(writer->store));
    return *holder ? holder : NULL;
}

// A folder's lock is free or not; a Lease may stand there of one that is no more.
static int64_t patience_ms(const struct writer *writer)
{
    const struct invocation *invocation = writer->setup->invocation;
    return writer->setup->place.is_cluster
               ? option_ms(invocation, "leader-elect-lease-duration") + LEASE_MORE_MS
               : 0;
}

static void look(void *context)
{
    struct writer *writer = context;
    int64_t waited_ms = loop_mono_ms(writer->loop) - writer->began_ms;
    const char *holder = find_holder(writer);
    if (holder && waited_ms >= patience_ms(writer)) {
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "%s leads, and would write at the same time: stop it first", holder);
        give_up(writer, text.at);
    } else if (waited_ms >= writer->timeout_ms) {
        give_up(writer, "could not begin to write within --timeout");
    } else {
        loop_timer_set(writer->loop, &writer->timer, LOOK_MS);
    }
}

// ---- from beginning to end ----------------------------------------------------------------------

static bool writer_open(struct writer *writer, struct error *err)
{
    const struct setup_store how = {.world = &writer->process.world,
                                    .log = writer->process.log,
                                    .failed = failed,
                                    .context = writer};
    writer->store = setup_open_store(writer->setup, &how, err);
    if (!writer->store)
        return false;
    const struct engine_options options = {
        .world = &writer->process.world,
        .log = writer->process.log,
        .store = writer->store,
        .leading = leading,
        .context = writer,
    };
    writer->engine = engine_new(&options);
    process_world_on_signal(&writer->process, interrupted, writer);
    if (!engine_start(writer->engine, err))
        return false;
    writer->began_ms = loop_mono_ms(writer->loop);
    writer->timer = (struct loop_timer){.call = look, .context = writer};
    loop_timer_set(writer->loop, &writer->timer, 0);
    return true;
}

bool writer_run(struct setup *setup, int64_t timeout_ms, const struct writer_calls *calls,
                struct error *err)
{
    struct writer writer = {.setup = setup, .calls = calls, .timeout_ms = timeout_ms};
    if (!process_world_init(&writer.process, setup->invocation, err))
        return false;
    writer.loop = writer.process.world.loop;
    bool is_open = writer_open(&writer, err);
    if (is_open)
        loop_run(writer.loop);
    loop_timer_cancel(writer.loop, &writer.timer);
    engine_free(writer.engine);
    store_free(writer.store);
    process_world_done(&writer.process);
    if (is_open && writer.error.text[0])
        *err = writer.error;
    return is_open && !writer.error.text[0];
}

const struct world *writer_world(const struct writer *writer)
{
    return &writer->process.world;
}

struct store *writer_store(const struct writer *writer)
{
    return writer->store;
}
