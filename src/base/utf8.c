#include <endian.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

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

// Whole words of ASCII that the text begins with: nearly all of what comes from outside.
static size_t ascii_words(struct text a)
{
    size_t len = 0;
    for (uint64_t word; a.len - len >= sizeof word; len += sizeof word) {
        memcpy(&word, a.at + len, sizeof word);
        if (word & 0x8080808080808080)
            break;
    }
    return len;
}

bool utf8_is_valid(struct text a)
{
    uint32_t point;
    while (a.len) {
        size_t len = ascii_words(a);
        if (!len)
            len = utf8_decode(a, &point);
        if (len == 0)
            return false;
        a.at += len;
        a.len -= len;
    }
    return true;
}

static bool is_json_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

// All eight octets at once: the lowest high bit that remains is that of the first octet below 0x20,
// quote or backslash.
static uint64_t json_marks(const char *at)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    uint64_t quotes = word ^ ones * '"';
    uint64_t backslashes = word ^ ones * '\\';
    uint64_t found = ((word - ones * 0x20) & ~word) | ((quotes - ones) & ~quotes) |
                     ((backslashes - ones) & ~backslashes);
    return found & ones * 0x80;
}

const char *json_plain_end(const char *at, const char *end)
{
    for (; end - at >= (ptrdiff_t)sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t marks = json_marks(at);
        if (marks)
            return at + __builtin_ctzll(marks) / 8;
    }
    while (at < end && is_json_plain(*at))
        at++;
    return at;
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

// Octets at the front that stay as they are: most texts are nothing else.
static struct text plain_prefix(struct text foreign, size_t limit)
{
    struct text plain = {foreign.at, 0};
    while (plain.len < foreign.len && plain.len < limit && plain.at[plain.len] >= ' ' &&
           plain.at[plain.len] < 0x7f)
        plain.len++;
    return plain;
}

// Hands out clean pieces until `limit` octets are full. A run of controls is one blank.
static bool clean_next(struct text *foreign, size_t *limit, struct text *piece)
{
    if (!foreign->len)
        return false;
    *piece = plain_prefix(*foreign, *limit);
    if (piece->len) {
        *foreign = (struct text){foreign->at + piece->len, foreign->len - piece->len};
        *limit -= piece->len;
        return true;
    }
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
