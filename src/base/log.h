#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

// Structured log lines: Go slog's JSON (time, level, msg, then attributes), or readable text on a
// terminal. Only store, engine, frontends and commands log. Every value is escaped, so no line feed
// or terminal code from outside survives; one above 4096 octets is cut. A struct secret cannot be
// passed.
//
//     {"time":"2026-01-02T03:04:05.678Z","level":"INFO","msg":"record created","ttl":60}
//     03:04:05 INFO  record created  ttl=60
//
//     log_line(log, LOG_INFO, "record created", LOG_TEXT("record", name), LOG_INT("ttl", ttl),
//              LOG_END);

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_JSON, LOG_TEXTUAL };

enum log_attr_type { LOG_ATTR_END, LOG_ATTR_TEXT, LOG_ATTR_INT, LOG_ATTR_BOOL };
struct log_attr {
    enum log_attr_type type;
    const char *name;
    struct text text;
    int64_t integer;
};
#define LOG_TEXT(name, terminated)                                                                 \
    ((struct log_attr){LOG_ATTR_TEXT, (name), text_of(terminated), 0})
#define LOG_SLICE(name, slice) ((struct log_attr){LOG_ATTR_TEXT, (name), (slice), 0})
#define LOG_INT(name, number) ((struct log_attr){LOG_ATTR_INT, (name), {NULL, 0}, (number)})
#define LOG_BOOL(name, flag) ((struct log_attr){LOG_ATTR_BOOL, (name), {NULL, 0}, (flag)})
#define LOG_END ((struct log_attr){LOG_ATTR_END, NULL, {NULL, 0}, 0})

struct log;
// `write` gets one whole line with its line feed. `now_ms` (Unix milliseconds) is the clock.
struct log_sink {
    void (*write)(void *context, struct text line);
    int64_t (*now_ms)(void *context);
    void *context;
};
struct log *log_new(const struct log_sink *sink, enum log_format format, enum log_level level);
void log_free(struct log *log); // accepts NULL
DEFINE_CLEANUP(log, log_free)
bool log_has(const struct log *log, enum log_level level); // NULL log: false
// Attributes end with LOG_END. An absent text attribute is left out. A NULL log swallows lines.
void log_line(struct log *log, enum log_level level, const char *message, ...);
void log_attrs(struct log *log, enum log_level level, const char *message,
               const struct log_attr *attrs);                  // array ending in LOG_END
bool log_level_parse(struct text text, enum log_level *level); // any case
