#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Text: a borrowed slice (struct text) and a growing buffer (struct buffer), plus what is asked of
// text everywhere: ASCII case, UTF-8, cleaning of foreign text.

// Borrowed octets, not NUL-terminated. {NULL, 0} is "absent"; {"", 0} is "empty".
struct text {
    const char *at;
    size_t len;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
#define TEXT_ARGS(text) (int)(text).len, (text).at // for "%.*s"
struct text text_of(const char *terminated);       // NULL gives an absent text
bool text_equal(struct text a, struct text b);
// Inline: of a literal the length is known.
static inline bool text_is(struct text a, const char *terminated)
{
    size_t len = terminated ? strlen(terminated) : 0;
    return a.len == len && (len == 0 || (a.at && memcmp(a.at, terminated, len) == 0));
}
bool text_equal_nocase(struct text a, struct text b); // ASCII only
char *text_dup(struct text a);                        // NUL-terminated; caller frees
int text_compare(struct text a, struct text b);       // by octets; a prefix sorts first
bool text_starts(struct text a, const char *prefix);
bool text_ends(struct text a, const char *suffix);
// Splits *rest at the first `mark`: returns what stands before it and moves *rest behind it. False
// when *rest is absent, which it becomes after the last piece.
bool text_cut(struct text *rest, char mark, struct text *piece);
struct text text_trim(struct text a); // blanks, tabs, CR, LF at both ends
// Decimal, no sign but a leading '-', no blanks, nothing behind; false on overflow.
bool text_to_int64(struct text a, int64_t *out);

// A growing octet buffer. {0} is ready for use; `at` is always NUL-terminated once it is not NULL.
struct buffer {
    char *at;
    size_t len;
    size_t capacity;
};

void buffer_done(struct buffer *buffer);
void buffer_clear(struct buffer *buffer); // keeps the memory
void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_add(struct buffer *buffer, const void *at, size_t len);
void buffer_add_text(struct buffer *buffer, const char *terminated);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_add_number(struct buffer *buffer, uint64_t number); // decimal
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *buffer, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void buffer_drop_front(struct buffer *buffer, size_t len);
struct text buffer_text(const struct buffer *buffer); // {"", 0} when empty
char *buffer_steal(struct buffer *buffer);            // caller frees; "" when empty
static inline void buffer_cleanup(struct buffer *buffer)
{
    buffer_done(buffer);
}
#define AUTO_BUFFER __attribute__((cleanup(buffer_cleanup))) struct buffer

// Valid UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF).
bool utf8_is_valid(struct text a);
// Decodes one code point at a.at: its length 1..4, or 0 when invalid. a must not be empty.
size_t utf8_decode(struct text a, uint32_t *code_point);

// The first octet from `at` on that is not plain in a JSON string (a quote, a backslash or a
// control character of ASCII), or `end`.
const char *json_plain_end(const char *at, const char *end);

// The longest prefix of at most `limit` octets that does not cut a character in two.
struct text utf8_prefix(struct text a, size_t limit);

// What a terminal or a viewer may obey: C0, DEL, C1, line separators and the marks that turn the
// reading direction.
bool utf8_is_control(uint32_t code_point);

// Foreign text made fit to show: appends at most `limit` octets, cut on a character boundary. A run
// of controls becomes one blank, an invalid UTF-8 octet becomes U+FFFD.
void text_clean(struct buffer *out, struct text foreign, size_t limit);
// The same into `size` octets with a NUL; never allocates. Returns the length.
size_t text_clean_into(char *out, size_t size, struct text foreign);

// The candidate nearest to `wrong` by Damerau-Levenshtein distance, ASCII case aside (<= 1/3 of
// its length, at least 1), or NULL; the first of several wins. For "did you mean".
const char *text_nearest(struct text wrong, const char *const *candidates, size_t count);
