#include "bench/overheard.h"

#include <stdint.h>

static struct overheard *overheard_of(const struct store *store)
{
    return (struct overheard *)(uintptr_t)store->ops;
}

static void pass_event(void *context, const struct store_event *event)
{
    struct overheard *overheard = context;
    overheard->event(overheard->context, event);
    overheard->sink.event(overheard->sink.context, event);
}

static void pass_batch_end(void *context)
{
    struct overheard *overheard = context;
    overheard->sink.batch_end(overheard->sink.context);
}

static void pass_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    struct overheard *overheard = context;
    overheard->sink.synced(overheard->sink.context, kind, is_synced, why);
}

static void pass_leading(void *context, bool is_leading)
{
    struct overheard *overheard = context;
    overheard->sink.leading(overheard->sink.context, is_leading);
}

static void pass_writable(void *context)
{
    struct overheard *overheard = context;
    overheard->sink.writable(overheard->sink.context);
}

static void pass_known(void *context, const struct object_ref_key *key)
{
    struct overheard *overheard = context;
    overheard->sink.known(overheard->sink.context, key);
}

static void pass_fenced(void *context)
{
    struct overheard *overheard = context;
    overheard->sink.fenced(overheard->sink.context);
}

static void pass_room(void *context)
{
    struct overheard *overheard = context;
    overheard->sink.room(overheard->sink.context);
}

static bool start(struct store *store, const struct store_sink *sink, struct error *err)
{
    struct overheard *overheard = overheard_of(store);
    const struct store_sink mine = {.event = pass_event,
                                    .batch_end = pass_batch_end,
                                    .synced = pass_synced,
                                    .known = pass_known,
                                    .leading = pass_leading,
                                    .fenced = pass_fenced,
                                    .writable = pass_writable,
                                    .room = pass_room,
                                    .context = overheard};
    overheard->sink = *sink;
    return overheard->own->start(store, &mine, err);
}

static void apply(struct store *store, const struct store_apply *wanted, store_done *done,
                  void *context)
{
    struct overheard *overheard = overheard_of(store);
    if (overheard->apply)
        overheard->apply(overheard->context);
    overheard->own->apply(store, wanted, done, context);
}

void overheard_begin(struct overheard *overheard, struct store *store)
{
    overheard->own = store->ops;
    overheard->ops = *store->ops;
    overheard->ops.start = start;
    overheard->ops.apply = apply;
    store->ops = &overheard->ops;
}
