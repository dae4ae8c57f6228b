#include <string.h>

#include "engine/replay.h"
#include "kinds/kinds.h"

// The lines of a recording that somebody sends. The first two are put before what the fuzzer makes,
// so that it begins with objects, models and reconciliations of all controllers.

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void name_controllers(struct buffer *out)
{
    for (size_t i = 0; i < controller_count; i++) {
        const struct dependency *at = NULL;
        buffer_printf(out, "%s\"%s\"", i ? "," : "", controllers[i]->name);
        while ((at = dependency_next(controllers[i], BRINGS_CONTROLLER, at)))
            buffer_printf(out, ",\"%s\"", at->controller->name);
    }
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
    CLEANUP(replay)
    struct replay *replay = replay_new(&(struct replay_options){
        kinds, kind_count, controllers, controller_count, settle, reconciled, NULL});
    buffer_printf(&head, "{\"signpost\":\"fuzz\",\"format\":%d,\"controllers\":[",
                  RECORDING_FORMAT);
    name_controllers(&head);
    buffer_add_text(&head, "]}");
    bool is_good = replay_line(replay, buffer_text(&head), &err) &&
                   replay_line(replay, TEXT("{\"settings\":{}}"), &err);
    while (is_good && text_cut(&rest, '\n', &line))
        is_good = replay_line(replay, line, &err);
    return 0;
}
