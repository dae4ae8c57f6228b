#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"

enum {
    BUFFER_START = 64,
    NEAREST_MAX = 64, // octets; nobody misspells longer words
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

struct text text_of(const char *terminated)
{
    return (struct text){terminated, terminated ? strlen(terminated) : 0};
}

bool text_equal(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool text_equal_nocase(struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

char *text_dup(struct text a)
{
    char *copy = mem_new(a.len + 1, 1);
    if (a.len)
        memcpy(copy, a.at, a.len);
    return copy;
}

int text_compare(struct text a, struct text b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.at, b.at, shared) : 0;
    if (order)
        return order < 0 ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

bool text_starts(struct text a, const char *prefix)
{
    size_t len = strlen(prefix);
    return len == 0 || (a.len >= len && memcmp(a.at, prefix, len) == 0);
}

bool text_ends(struct text a, const char *suffix)
{
    size_t len = strlen(suffix);
    return len == 0 || (a.len >= len && memcmp(a.at + a.len - len, suffix, len) == 0);
}

bool text_cut(struct text *rest, char mark, struct text *piece)
{
    if (!rest->at)
        return false;
    const char *found = rest->len ? memchr(rest->at, mark, rest->len) : NULL;
    if (!found) {
        *piece = *rest;
        *rest = (struct text){NULL, 0};
        return true;
    }
    size_t len = (size_t)(found - rest->at);
    *piece = (struct text){rest->at, len};
    *rest = (struct text){found + 1, rest->len - len - 1};
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct text text_trim(struct text a)
{
    while (a.len && is_blank(a.at[0])) {
        a.at++;
        a.len--;
    }
    while (a.len && is_blank(a.at[a.len - 1]))
        a.len--;
    return a;
}

bool text_to_int64(struct text a, int64_t *out)
{
    bool is_negative = text_starts(a, "-");
    size_t i = is_negative ? 1 : 0;
    int64_t number = 0;
    if (i == a.len)
        return false;
    for (; i < a.len; i++) {
        int digit = a.at[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, is_negative ? -digit : digit, &number))
            return false;
    }
    *out = number;
    return true;
}

void buffer_done(struct buffer *buffer)
{
    free(buffer->at);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->len = 0;
    if (buffer->at)
        buffer->at[0] = '\0';
}

void buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t need = SIZE_MAX; // on overflow: mem_resize ends the process
    if (__builtin_add_overflow(buffer->len, more, &need) || __builtin_add_overflow(need, 1, &need))
        need = SIZE_MAX;
    if (buffer->at && need <= buffer->capacity)
        return;
    size_t wanted = buffer->capacity ? buffer->capacity : BUFFER_START;
    while (wanted < need && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < need)
        wanted = need;
    buffer->at = mem_resize(buffer->at, wanted, 1);
    buffer->capacity = wanted;
    buffer->at[buffer->len] = '\0';
}

void buffer_add(struct buffer *buffer, const void *at, size_t len)
{
    buffer_reserve(buffer, len);
    if (len)
        memcpy(buffer->at + buffer->len, at, len);
    buffer->len += len;
    buffer->at[buffer->len] = '\0';
}

void buffer_add_text(struct buffer *buffer, const char *terminated)
{
    buffer_add(buffer, terminated, strlen(terminated));
}

void buffer_add_char(struct buffer *buffer, char c)
{
    buffer_add(buffer, &c, 1);
}

void buffer_add_number(struct buffer *buffer, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    buffer_add(buffer, digits + at, sizeof digits - at);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buffer_vprintf(buffer, format, args);
    va_end(args);
}

void buffer_vprintf(struct buffer *buffer, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    buffer_reserve(buffer, 0);
    size_t room = buffer->capacity - buffer->len;
    int len = vsnprintf(buffer->at + buffer->len, room, format, args);
    must(len >= 0);
    if ((size_t)len >= room) {
        buffer_reserve(buffer, (size_t)len);
        vsnprintf(buffer->at + buffer->len, (size_t)len + 1, format, again);
    }
    va_end(again);
    buffer->len += (size_t)len;
}

void buffer_drop_front(struct buffer *buffer, size_t len)
{
    must(len <= buffer->len);
    if (len == 0)
        return;
    buffer->len -= len;
    memmove(buffer->at, buffer->at + len, buffer->len + 1);
}

struct text buffer_text(const struct buffer *buffer)
{
    return buffer->at ? (struct text){buffer->at, buffer->len} : TEXT("");
}

char *buffer_steal(struct buffer *buffer)
{
    buffer_reserve(buffer, 0);
    char *taken = buffer->at;
    *buffer = (struct buffer){0};
    return taken;
}

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// Optimal string alignment with three rolling rows.
static size_t distance(struct text a, struct text b)
{
    size_t rows[3][NEAREST_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = lower(a.at[i - 1]);
            char y = lower(b.at[j - 1]);
            row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
            bool is_swap = i > 1 && j > 1 && x == lower(b.at[j - 2]) && lower(a.at[i - 2]) == y;
            if (is_swap && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[a.len % 3][b.len];
}

const char *text_nearest(struct text wrong, const char *const *candidates, size_t count)
{
    if (wrong.len == 0 || wrong.len > NEAREST_MAX)
        return NULL;
    size_t best = wrong.len / 3 ? wrong.len / 3 : 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        struct text candidate = text_of(candidates[i]);
        if (candidate.len > NEAREST_MAX)
            continue;
        size_t apart = distance(wrong, candidate);
        if (apart > best || (nearest && apart == best))
            continue;
        best = apart;
        nearest = candidates[i];
    }
    return nearest;
}
