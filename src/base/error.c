#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

// Formats into `raw` and returns what fits without a cut character.
static struct text format_raw(char *raw, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
static struct text format_raw(char *raw, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(raw, size, format, args);
    must(len >= 0);
    if ((size_t)len < size)
        return (struct text){raw, (size_t)len};
    return utf8_prefix((struct text){raw, size - 1}, size - 2);
}

bool error_setv(struct error *err, enum fault fault, const char *reason, const char *format,
                va_list args)
{
    if (!err)
        return false;
    // Arguments may point into err itself.
    char raw[ERROR_TEXT_MAX + 2];
    struct text text = format_raw(raw, sizeof raw, format, args);
    char reason_copy[ERROR_REASON_MAX] = "";
    text_clean_into(reason_copy, sizeof reason_copy, text_of(reason));
    error_clear(err);
    err->fault = fault;
    memcpy(err->reason, reason_copy, sizeof reason_copy);
    text_clean_into(err->text, sizeof err->text, text);
    return false;
}

bool error_set(struct error *err, enum fault fault, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, fault, reason, format, args);
    va_end(args);
    return false;
}

bool error_set_errno(struct error *err, int number, const char *format, ...)
{
    if (!err)
        return false;
    char raw[ERROR_TEXT_MAX + 2];
    va_list args;
    va_start(args, format);
    struct text what = format_raw(raw, sizeof raw, format, args);
    va_end(args);
    char why[128];
    error_set(err, FAULT_AGAIN, "SystemError", "%.*s: %s", TEXT_ARGS(what),
              strerror_r(number, why, sizeof why));
    err->status = number;
    return false;
}

bool error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return false;
    char raw[ERROR_TEXT_MAX + 2];
    char joined[2 * ERROR_TEXT_MAX + 2];
    va_list args;
    va_start(args, format);
    struct text prefix = format_raw(raw, sizeof raw, format, args);
    va_end(args);
    size_t len = strlen(err->text);
    memcpy(joined, prefix.at, prefix.len);
    memcpy(joined + prefix.len, err->text, len);
    text_clean_into(err->text, sizeof err->text, (struct text){joined, prefix.len + len});
    return false;
}

struct error *error_copy(struct arena *arena, const struct error *err)
{
    struct error *copy = arena_new_of(arena, struct error);
    *copy = *err;
    return copy;
}

void error_clear(struct error *err)
{
    if (err)
        *err = (struct error){0};
}
