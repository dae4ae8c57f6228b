#include "controllers/intent/report_line.h"

static const char *name_of(const struct snapshot *in)
{
    const char *mark = in->namespace_.len ? "/" : "";
    return arena_printf(in->arena, "%.*s%s%.*s", TEXT_ARGS(in->namespace_), mark,
                        TEXT_ARGS(in->name));
}

void report_line_add(const struct snapshot *in, struct decision *out, enum log_level level,
                     const char *message, const char *key, enum reason reason, const char *text)
{
    struct log_attr *attrs = arena_new_array(in->arena, struct log_attr, 4);
    attrs[0] = LOG_TEXT(key, name_of(in));
    attrs[1] = LOG_TEXT("reason", reason_name(reason));
    attrs[2] = LOG_TEXT("message", text);
    attrs[3] = LOG_END;
    out->lines[out->line_count++] =
        (struct decision_line){.level = level, .message = message, .attrs = attrs};
}
