#pragma once

// For tests of this room: JSON in single quotes, so that it reads well in C.

#include <string.h>

#include "base/must.h"
#include "base/value.h"

static inline const char *quote_text(struct arena *into, const char *json)
{
    char *text = arena_copy_text(into, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    return text;
}

static inline struct value *quote(struct arena *into, const char *json)
{
    struct error err;
    const char *text = quote_text(into, json);
    struct value *value = value_read_json(into, text_of(text), &value_manifest_limits, &err);
    must(value);
    return value;
}
