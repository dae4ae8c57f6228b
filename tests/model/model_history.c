#include "model/model_server_private.h"

#include <stdlib.h>
#include <string.h>

// ---- JSON that is shared ------------------------------------------------------------------------

struct model_json *model_json_new(struct text json)
{
    struct model_json *self = mem_new(1, sizeof *self + json.len + 1);
    self->refs = 1;
    self->len = json.len;
    memcpy(self->at, json.at, json.len);
    return self;
}

struct model_json *model_json_ref(struct model_json *json)
{
    json->refs++;
    return json;
}

void model_json_unref(struct model_json *json)
{
    if (json && !--json->refs)
        free(json);
}

// ---- what happened so far -----------------------------------------------------------------------

static void drop_first(struct model_history *history, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        history->expired = history->events[i].version;
        model_json_unref(history->events[i].json);
        model_json_unref(history->events[i].old);
    }
    history->count -= count;
    memmove(history->events, history->events + count, history->count * sizeof *history->events);
}

void model_history_add(struct model_history *history, const struct model_event *event,
                       size_t window)
{
    if (history->count >= 2 * window)
        drop_first(history, history->count - window);
    mem_reserve(&history->events, &history->capacity, history->count + 1);
    struct model_event *kept = &history->events[history->count++];
    *kept = *event;
    model_json_ref(kept->json);
    if (kept->old)
        model_json_ref(kept->old);
}

void model_history_clear(struct model_history *history, uint64_t version)
{
    if (history->count)
        drop_first(history, history->count);
    history->expired = version;
}
