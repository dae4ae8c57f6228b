#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/when.h"

enum {
    VALUE_MAX = 4096,      // octets of one value; a longer one is cut and ends in "..."
    LINE_KEPT = 64 * 1024, // a larger line buffer goes back
    CLOCK_AT = 11,         // where the time of day stands in an RFC 3339 time
    CLOCK_LEN = 8,
};

struct log {
    struct log_sink sink;
    enum log_format format;
    enum log_level level;
    struct buffer line;
};

static const char *const level_names[] = {
    [LOG_DEBUG] = "DEBUG", [LOG_INFO] = "INFO", [LOG_WARN] = "WARN", [LOG_ERROR] = "ERROR"};

struct log *log_new(const struct log_sink *sink, enum log_format format, enum log_level level)
{
    must(sink->write && sink->now_ms);
    struct log *log = mem_new_of(struct log);
    log->sink = *sink;
    log->format = format;
    log->level = level;
    return log;
}

void log_free(struct log *log)
{
    if (!log)
        return;
    buffer_done(&log->line);
    free(log);
}

bool log_has(const struct log *log, enum log_level level)
{
    return log && level >= log->level;
}

static void add_escape(struct buffer *out, uint32_t point)
{
    switch (point) {
    case '\n':
        buffer_add_text(out, "\\n");
        return;
    case '\r':
        buffer_add_text(out, "\\r");
        return;
    case '\t':
        buffer_add_text(out, "\\t");
        return;
    default:
        buffer_printf(out, "\\u%04x", (unsigned)point);
    }
}

static void add_escaped(struct buffer *out, struct text value, bool is_quoted)
{
    struct text rest = utf8_prefix(value, VALUE_MAX);
    while (rest.len) {
        uint32_t point = 0;
        size_t len = utf8_decode(rest, &point);
        if (len == 0) {
            buffer_add_text(out, "\xef\xbf\xbd");
            len = 1;
        } else if (utf8_is_control(point)) {
            add_escape(out, point);
        } else {
            if (is_quoted && (point == '"' || point == '\\'))
                buffer_add_char(out, '\\');
            buffer_add(out, rest.at, len);
        }
        rest.at += len;
        rest.len -= len;
    }
    if (value.len > VALUE_MAX)
        buffer_add_text(out, "...");
}

static void add_quoted(struct buffer *out, struct text value)
{
    buffer_add_char(out, '"');
    add_escaped(out, value, true);
    buffer_add_char(out, '"');
}

static bool is_bare(struct text value)
{
    struct text rest = value;
    while (rest.len) {
        uint32_t point;
        size_t len = utf8_decode(rest, &point);
        if (len == 0 || point == ' ' || point == '"' || point == '=' || point == '\\' ||
            utf8_is_control(point))
            return false;
        rest.at += len;
        rest.len -= len;
    }
    return value.len > 0 && value.len <= VALUE_MAX;
}

static void add_value(struct log *log, const struct log_attr *attr)
{
    switch (attr->type) {
    case LOG_ATTR_INT:
        buffer_printf(&log->line, "%" PRId64, attr->integer);
        return;
    case LOG_ATTR_BOOL:
        buffer_add_text(&log->line, attr->integer ? "true" : "false");
        return;
    case LOG_ATTR_TEXT:
        if (log->format == LOG_TEXTUAL && is_bare(attr->text))
            buffer_add(&log->line, attr->text.at, attr->text.len);
        else
            add_quoted(&log->line, attr->text);
        return;
    case LOG_ATTR_END:
        break;
    }
}

static void add_attr(struct log *log, const struct log_attr *attr)
{
    if (attr->type == LOG_ATTR_TEXT && !attr->text.at)
        return;
    if (log->format == LOG_JSON) {
        buffer_add_char(&log->line, ',');
        add_quoted(&log->line, text_of(attr->name));
        buffer_add_char(&log->line, ':');
    } else {
        buffer_printf(&log->line, "  %s=", attr->name);
    }
    add_value(log, attr);
}

static void begin_line(struct log *log, enum log_level level, const char *message)
{
    char now[WHEN_TEXT_MAX];
    must((size_t)level < COUNT_OF(level_names));
    when_write_ms(log->sink.now_ms(log->sink.context), now);
    buffer_clear(&log->line);
    if (log->format == LOG_JSON) {
        buffer_printf(&log->line, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", now,
                      level_names[level]);
        add_quoted(&log->line, text_of(message));
        return;
    }
    buffer_printf(&log->line, "%.*s %-5s ", CLOCK_LEN, now + CLOCK_AT, level_names[level]);
    add_escaped(&log->line, text_of(message), false);
}

static void end_line(struct log *log)
{
    buffer_add_text(&log->line, log->format == LOG_JSON ? "}\n" : "\n");
    log->sink.write(log->sink.context, buffer_text(&log->line));
    if (log->line.capacity > LINE_KEPT)
        buffer_done(&log->line);
}

void log_line(struct log *log, enum log_level level, const char *message, ...)
{
    if (!log_has(log, level))
        return;
    begin_line(log, level, message);
    va_list args;
    va_start(args, message);
    struct log_attr attr = va_arg(args, struct log_attr);
    while (attr.type != LOG_ATTR_END) {
        add_attr(log, &attr);
        attr = va_arg(args, struct log_attr);
    }
    va_end(args);
    end_line(log);
}

void log_attrs(struct log *log, enum log_level level, const char *message,
               const struct log_attr *attrs)
{
    if (!log_has(log, level))
        return;
    begin_line(log, level, message);
    for (; attrs->type != LOG_ATTR_END; attrs++)
        add_attr(log, attrs);
    end_line(log);
}

bool log_level_parse(struct text text, enum log_level *level)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++) {
        if (!text_equal_nocase(text, text_of(level_names[i])))
            continue;
        *level = (enum log_level)i;
        return true;
    }
    return false;
}
