#include <string.h>

#include "engine/replay.h"
#include "kinds/kinds.h"

// The lines of a recording that somebody sends. The first two are put before what the fuzzer makes,
// so that it begins with objects, models and reconciliations of all controllers.

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

// All that there are, each with those that it brings.
struct all {
    const struct controller *items[64];
    size_t count;
};

static void find_all(struct all *all)
{
    for (size_t i = 0; i < controller_count; i++) {
        const struct dependency *at = NULL;
        all->items[all->count++] = controllers[i];
        while ((at = dependency_next(controllers[i], BRINGS_CONTROLLER, at)))
            all->items[all->count++] = at->controller;
    }
}

static const struct controller *find_controller(void *context, struct text name)
{
    const struct all *all = context;
    for (size_t i = 0; i < all->count; i++)
        if (text_is(name, all->items[i]->name))
            return all->items[i];
    return NULL;
}

static const struct kind *find_kind(void *context, struct text group, struct text name)
{
    (void)context;
    for (size_t i = 0; i < kind_count; i++)
        if (text_is(group, kinds[i]->group) && text_is(name, kinds[i]->name))
            return kinds[i];
    return NULL;
}

// As `signpost run` would have them if nothing were given, as far as a controller says so.
static bool settle(void *context, const struct value *described,
                   const struct controller *const *items, size_t count, const void **out,
                   struct error *err)
{
    (void)context, (void)described, (void)items, (void)err;
    for (size_t i = 0; i < count; i++)
        out[i] = NULL;
    return true;
}

static void reconciled(void *context, const struct replay *replay, const struct replayed *replayed)
{
    (void)context, (void)replay, (void)replayed;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct error err;
    struct text line;
    AUTO_BUFFER head = {0};
    struct text rest = {(const char *)at, len};
    struct all all = {.count = 0};
    find_all(&all);
    CLEANUP(replay)
    struct replay *replay =
        replay_new(&(struct replay_calls){find_controller, find_kind, settle, reconciled, &all});
    buffer_printf(&head, "{\"signpost\":\"fuzz\",\"format\":%d,\"controllers\":[",
                  RECORDING_FORMAT);
    for (size_t i = 0; i < all.count; i++)
        buffer_printf(&head, "%s\"%s\"", i ? "," : "", all.items[i]->name);
    buffer_add_text(&head, "]}");
    bool is_good = replay_line(replay, buffer_text(&head), &err) &&
                   replay_line(replay, TEXT("{\"settings\":{}}"), &err);
    while (is_good && text_cut(&rest, '\n', &line))
        is_good = replay_line(replay, line, &err);
    return 0;
}
