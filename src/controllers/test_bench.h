#pragma once

// For tests of this room: objects from JSON in single quotes, and what a decision says as text.

#include <string.h>

#include "base/must.h"
#include "engine/controller.h"

static inline struct value *quote(struct arena *arena, const char *json)
{
    struct error err;
    char *text = arena_copy_text(arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct value *value = value_read_json(arena, text_of(text), &value_manifest_limits, &err);
    must(value);
    return value;
}

static inline const char *json_of(struct arena *arena, const struct value *value)
{
    AUTO_BUFFER out = {0};
    if (value)
        value_write_json(&out, value);
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

// The text of a status' condition: "False/Conflict".
static inline const char *condition_of(struct arena *arena, const struct value *status,
                                       const char *type)
{
    value_each (item, value_find(status, "conditions"))
        if (text_is(value_text_at(item, "type"), type))
            return arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(value_text_at(item, "status")),
                                TEXT_ARGS(value_text_at(item, "reason")));
    return "";
}

static inline const char *message_of(struct arena *arena, const struct value *status,
                                     const char *type)
{
    value_each (item, value_find(status, "conditions")) {
        struct text message = value_text_at(item, "message");
        if (text_is(value_text_at(item, "type"), type))
            return arena_copy(arena, message.at, message.len);
    }
    return "";
}

static inline const char *event_of(const struct decision *decision, const char *reason)
{
    for (size_t i = 0; i < decision->event_count; i++)
        if (strcmp(decision->events[i].reason, reason) == 0)
            return decision->events[i].text;
    return NULL;
}
