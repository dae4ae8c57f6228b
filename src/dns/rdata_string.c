#include <string.h>

#include "dns/rdata_private.h"

// Strings of presentation text (RFC 1035 5.1).

enum { STRING_MAX = 255 };

// `at` is behind a backslash. The number of characters, 0: it is no escape.
static size_t escape_len(const struct rdata_reader *reader, const char *at, const char *end,
                         char *out)
{
    if (at < end && !rdata_is_digit(*at)) {
        *out = *at;
        return 1;
    }
    if (end - at < 3 || !rdata_is_digit(at[1]) || !rdata_is_digit(at[2])) {
        rdata_refuse(reader, at - 1, "a backslash must be followed by a character or three digits");
        return 0;
    }
    unsigned octet =
        (unsigned)(at[0] - '0') * 100 + (unsigned)(at[1] - '0') * 10 + (unsigned)(at[2] - '0');
    if (octet > UINT8_MAX) {
        rdata_refuse(reader, at - 1, "no octet: \\%.3s is above \\255", at);
        return 0;
    }
    *out = (char)octet;
    return 3;
}

bool rdata_unescape(const struct rdata_reader *reader, struct text word, struct buffer *out)
{
    const char *at = word.at, *end = at + word.len;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        buffer_add(out, at, (size_t)((slash ? slash : end) - at));
        if (!slash)
            break;
        char octet;
        size_t len = escape_len(reader, slash + 1, end, &octet);
        if (!len)
            return false;
        buffer_add_char(out, octet);
        at = slash + 1 + len;
    }
    return true;
}

static void add_string(struct buffer *out, const char *at, size_t len)
{
    buffer_add_char(out, (char)len);
    buffer_add(out, at, len);
}

bool rdata_add_strings(struct rdata_reader *reader, struct text octets, bool may_cut)
{
    if (octets.len > STRING_MAX && !may_cut)
        return rdata_refuse(reader, NULL, "a string of %zu octets: at most %d are possible",
                            octets.len, STRING_MAX);
    for (; octets.len > STRING_MAX; octets.at += STRING_MAX, octets.len -= STRING_MAX) {
        reader->marks |= RDATA_STRING_CUT;
        add_string(reader->out, octets.at, STRING_MAX);
    }
    add_string(reader->out, octets.at, octets.len);
    return true;
}

static bool next_string(struct rdata_reader *reader, bool may_cut)
{
    AUTO_BUFFER octets = {0};
    const struct rdata_word *word = rdata_next(reader, "a string");
    if (!word)
        return false;
    if (!memchr(word->text.at, '\\', word->text.len))
        return rdata_add_strings(reader, word->text, may_cut);
    return rdata_unescape(reader, word->text, &octets) &&
           rdata_add_strings(reader, buffer_text(&octets), may_cut);
}

bool rdata_string_read(struct rdata_reader *reader)
{
    return next_string(reader, false);
}

bool rdata_maybe_read(struct rdata_reader *reader)
{
    return !rdata_has_next(reader) || next_string(reader, false);
}

bool rdata_strings_read(struct rdata_reader *reader)
{
    do {
        if (!next_string(reader, true))
            return false;
    } while (rdata_has_next(reader));
    return true;
}

bool rdata_value_read(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next(reader, "a value");
    return word && rdata_unescape(reader, word->text, reader->out);
}

bool rdata_nonempty_read(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next(reader, "a value");
    if (word && !word->text.len)
        return rdata_refuse(reader, NULL, "the value is empty");
    return word && rdata_unescape(reader, word->text, reader->out);
}

// In lower case: it is the same tag (RFC 8659 4.1), and NSD reads no other.
bool rdata_tag_read(struct rdata_reader *reader)
{
    const struct rdata_word *word = rdata_next_plain(reader, "a tag");
    if (!word)
        return false;
    if (!word->text.len || word->text.len > STRING_MAX)
        return rdata_refuse(reader, NULL, "a tag of %zu characters: 1..%d are possible",
                            word->text.len, STRING_MAX);
    buffer_add_char(reader->out, (char)word->text.len);
    for (size_t i = 0; i < word->text.len; i++) {
        char c = word->text.at[i], small = rdata_is_digit(c) ? c : (char)(c | 0x20);
        if (!rdata_is_digit(c) && (small < 'a' || small > 'z'))
            return rdata_refuse(reader, word->text.at + i,
                                "the tag may hold letters and digits alone");
        buffer_add_char(reader->out, small);
    }
    return true;
}
