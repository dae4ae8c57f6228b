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

bool text_is(struct text a, const char *terminated)
{
    return text_equal(a, text_of(terminated));
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

// Per leading octet: length, the payload bits it carries, and the least code point of that length.
static size_t utf8_lead(unsigned char c, uint32_t *bits, uint32_t *least)
{
    static const struct {
        unsigned char mask;
        unsigned char lead;
        uint32_t least;
    } rows[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((c & rows[i].mask) != rows[i].lead)
            continue;
        *bits = c & (unsigned char)~rows[i].mask;
        *least = rows[i].least;
        return i + 1;
    }
    return 0;
}

size_t utf8_decode(struct text a, uint32_t *code_point)
{
    uint32_t point;
    uint32_t least;
    size_t len = utf8_lead((unsigned char)a.at[0], &point, &least);
    if (len == 0 || len > a.len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        unsigned char c = (unsigned char)a.at[i];
        if ((c & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (c & 0x3f);
    }
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *code_point = point;
    return len;
}

bool utf8_is_valid(struct text a)
{
    uint32_t point;
    while (a.len) {
        size_t len = utf8_decode(a, &point);
        if (len == 0)
            return false;
        a.at += len;
        a.len -= len;
    }
    return true;
}

struct text utf8_prefix(struct text a, size_t limit)
{
    if (a.len <= limit)
        return a;
    size_t len = limit;
    for (int back = 0; back < 3 && len > 0 && (a.at[len] & 0xc0) == 0x80; back++)
        len--;
    bool is_boundary = (a.at[len] & 0xc0) != 0x80;
    return (struct text){a.at, is_boundary ? len : limit};
}

bool utf8_is_control(uint32_t point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                  {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

// The next piece of clean text for the front of *foreign, which moves on behind it.
static struct text clean_step(struct text *foreign)
{
    uint32_t point = 0;
    size_t len = utf8_decode(*foreign, &point);
    struct text piece = {foreign->at, len};
    if (len == 0) {
        piece = TEXT("\xef\xbf\xbd");
        len = 1;
    } else if (utf8_is_control(point)) {
        piece = TEXT(" ");
    }
    foreign->at += len;
    foreign->len -= len;
    return piece;
}

static bool starts_with_control(struct text foreign)
{
    uint32_t point;
    return foreign.len && utf8_decode(foreign, &point) && utf8_is_control(point);
}

// Hands out clean pieces until `limit` octets are full. A run of controls is one blank.
static bool clean_next(struct text *foreign, size_t *limit, struct text *piece)
{
    if (!foreign->len)
        return false;
    bool is_run = starts_with_control(*foreign);
    *piece = clean_step(foreign);
    while (is_run && starts_with_control(*foreign))
        clean_step(foreign);
    if (piece->len > *limit)
        return false;
    *limit -= piece->len;
    return true;
}

void text_clean(struct buffer *out, struct text foreign, size_t limit)
{
    struct text piece;
    while (clean_next(&foreign, &limit, &piece))
        buffer_add(out, piece.at, piece.len);
}

size_t text_clean_into(char *out, size_t size, struct text foreign)
{
    must(size > 0);
    size_t limit = size - 1;
    size_t len = 0;
    struct text piece;
    while (clean_next(&foreign, &limit, &piece)) {
        memcpy(out + len, piece.at, piece.len);
        len += piece.len;
    }
    out[len] = '\0';
    return len;
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
