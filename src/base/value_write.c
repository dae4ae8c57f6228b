#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_private.h"

enum { SIMPLE_KEY_MAX = 128 }; // a longer key stands behind "? "; libyaml stops at 1024

static void write_int(struct buffer *out, int64_t integer)
{
    if (integer < 0)
        buffer_add_char(out, '-');
    buffer_add_number(out, integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer);
}

static void write_real(struct buffer *out, double real)
{
    char text[40];
    struct value number;
    scalar_set_real(&number, real);
    if (number.type == VALUE_INT) {
        write_int(out, number.integer);
        return;
    }
    if (!isfinite(real)) {
        buffer_add_text(out, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (!(strtod(text, NULL) < real) && !(strtod(text, NULL) > real))
            break;
    }
    buffer_add_text(out, text);
}

static void write_escape(struct buffer *out, unsigned char c)
{
    static const char names[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                 ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    static const char hex[] = "0123456789abcdef";
    if (c < sizeof names && names[c]) {
        buffer_add(out, (char[]){'\\', names[c]}, 2);
        return;
    }
    buffer_add(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

void value_write_json_text(struct buffer *out, struct text text)
{
    const char *from = text.at;
    const char *end = text.at + text.len;
    buffer_add_char(out, '"');
    for (const char *at = text.at; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buffer_add(out, from, (size_t)(at - from));
        write_escape(out, c);
        from = at + 1;
    }
    buffer_add(out, from, (size_t)(end - from));
    buffer_add_char(out, '"');
}

static void write_scalar(struct buffer *out, const struct value *value)
{
    if (value->type == VALUE_BOOL)
        buffer_add_text(out, value->boolean ? "true" : "false");
    else if (value->type == VALUE_INT)
        write_int(out, value->integer);
    else if (value->type == VALUE_FLOAT)
        write_real(out, value->real);
    else
        buffer_add_text(out, "null");
}

static void write_json_children(struct buffer *out, const struct value *parent)
{
    bool is_map = parent->type == VALUE_MAP;
    buffer_add_char(out, is_map ? '{' : '[');
    value_each (item, parent) {
        if (item != parent->first)
            buffer_add_char(out, ',');
        if (is_map) {
            value_write_json_text(out, item->key);
            buffer_add_char(out, ':');
        }
        value_write_json(out, item);
    }
    buffer_add_char(out, is_map ? '}' : ']');
}

void value_write_json(struct buffer *out, const struct value *value)
{
    if (!value)
        buffer_add_text(out, "null");
    else if (value->type == VALUE_TEXT)
        value_write_json_text(out, value->text);
    else if (value->type == VALUE_LIST || value->type == VALUE_MAP)
        write_json_children(out, value);
    else
        write_scalar(out, value);
}

// Characters that libyaml refuses or folds when they stand unescaped.
static bool is_special(uint32_t c)
{
    return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
           c == 0xffff;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_plain_start(struct text text)
{
    char c = text.at[0];
    if (c == '.')
        return text.len > 1 && is_letter(text.at[1]);
    return is_letter(c) || (c && strchr("_/$(^", c));
}

// Unquoted text that every YAML reader takes for the same text.
static bool is_plain(struct text text)
{
    static const char *const traps[] = {"y", "Y", "n", "N"};
    struct value read;
    if (!text.len || !is_plain_start(text))
        return false;
    if (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == ':')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        char next = i + 1 < text.len ? text.at[i + 1] : 0;
        if (c < 0x20 || c > 0x7e || (c == ':' && next == ' ') || (c == ' ' && next == '#'))
            return false;
    }
    for (size_t i = 0; i < COUNT_OF(traps); i++) {
        if (text_is(text, traps[i]))
            return false;
    }
    scalar_resolve(text, &read);
    return read.type == VALUE_TEXT;
}

// Numbers with something behind ("10.0.0.1", "5m") stay bare when no reader can take them for a
// number, a date or base 60.
static bool is_plain_digits(struct text text)
{
    struct value read;
    if (!text.len || text.at[0] < '0' || text.at[0] > '9')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!text.at[i] || !strchr("0123456789./abcdefghijklmnopqrstuvwxyz", text.at[i]))
            return false;
    }
    scalar_resolve(text, &read);
    return read.type == VALUE_TEXT;
}

static void write_quoted(struct buffer *out, struct text text)
{
    buffer_add_char(out, '"');
    while (text.len) {
        uint32_t c;
        size_t len = utf8_decode(text, &c);
        if (!len) {
            buffer_add_text(out, "\\uFFFD");
            len = 1;
        } else if (is_special(c)) {
            buffer_printf(out, "\\u%04X", (unsigned)c);
        } else if (c < 0x20 || c == '"' || c == '\\') {
            write_escape(out, (unsigned char)c);
        } else {
            buffer_add(out, text.at, len);
        }
        text.at += len;
        text.len -= len;
    }
    buffer_add_char(out, '"');
}

void value_write_yaml_text(struct buffer *out, struct text text)
{
    if (is_plain(text) || is_plain_digits(text))
        buffer_add(out, text.at, text.len);
    else
        write_quoted(out, text);
}

static void pad(struct buffer *out, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++)
        buffer_add_char(out, ' ');
}

// Text of several lines that `|` gives back octet by octet.
static bool is_literal(struct text text)
{
    if (!text.len || strchr(" \t\n", text.at[0]) || !memchr(text.at, '\n', text.len))
        return false;
    while (text.len) {
        uint32_t c;
        size_t len = utf8_decode(text, &c);
        if (!len || is_special(c) || (c < 0x20 && c != '\n' && c != '\t'))
            return false;
        text.at += len;
        text.len -= len;
    }
    return true;
}

static const char *literal_mark(struct text text)
{
    if (text.at[text.len - 1] != '\n')
        return "|-\n";
    return text.len > 1 && text.at[text.len - 2] == '\n' ? "|+\n" : "|\n";
}

static void write_literal(struct buffer *out, struct text text, unsigned indent)
{
    struct text line;
    buffer_add_text(out, literal_mark(text));
    if (text.at[text.len - 1] == '\n')
        text.len--;
    while (text_cut(&text, '\n', &line)) {
        if (line.len)
            pad(out, indent);
        buffer_add(out, line.at, line.len);
        buffer_add_char(out, '\n');
    }
}

static void write_map(struct buffer *out, const struct value *map, unsigned indent, bool is_begun);
static void write_list(struct buffer *out, const struct value *list, unsigned indent,
                       bool is_begun);

// What fits behind "key: " or "- ", line feed included.
static void write_leaf(struct buffer *out, const struct value *value, unsigned indent)
{
    if (value->type == VALUE_TEXT && is_literal(value->text)) {
        write_literal(out, value->text, indent);
        return;
    }
    if (value->type == VALUE_TEXT)
        value_write_yaml_text(out, value->text);
    else if (value->type == VALUE_LIST)
        buffer_add_text(out, "[]");
    else if (value->type == VALUE_MAP)
        buffer_add_text(out, "{}");
    else
        write_scalar(out, value);
    buffer_add_char(out, '\n');
}

static void write_key(struct buffer *out, struct text key, unsigned indent)
{
    bool is_long = key.len > SIMPLE_KEY_MAX;
    if (is_long)
        buffer_add_text(out, "? ");
    value_write_yaml_text(out, key);
    if (is_long) {
        buffer_add_char(out, '\n');
        pad(out, indent);
    }
    buffer_add_char(out, ':');
}

static void write_entry(struct buffer *out, const struct value *item, unsigned indent)
{
    write_key(out, item->key, indent);
    buffer_add_char(out, value_count(item) ? '\n' : ' ');
    if (!value_count(item))
        write_leaf(out, item, indent + 2);
    else if (item->type == VALUE_MAP)
        write_map(out, item, indent + 2, false);
    else
        write_list(out, item, indent, false);
}

static void write_map(struct buffer *out, const struct value *map, unsigned indent, bool is_begun)
{
    value_each (item, map) {
        if (!is_begun)
            pad(out, indent);
        is_begun = false;
        write_entry(out, item, indent);
    }
}

static void write_list(struct buffer *out, const struct value *list, unsigned indent, bool is_begun)
{
    value_each (item, list) {
        if (!is_begun)
            pad(out, indent);
        is_begun = false;
        buffer_add_text(out, "- ");
        if (!value_count(item))
            write_leaf(out, item, indent + 2);
        else if (item->type == VALUE_MAP)
            write_map(out, item, indent + 2, true);
        else
            write_list(out, item, indent + 2, true);
    }
}

void value_write_yaml(struct buffer *out, const struct value *value, unsigned indent)
{
    static const struct value nothing = {.type = VALUE_NULL};
    const struct value *root = value ? value : &nothing;
    if (value_count(root) && root->type == VALUE_MAP) {
        write_map(out, root, indent, false);
    } else if (value_count(root)) {
        write_list(out, root, indent, false);
    } else {
        pad(out, indent);
        write_leaf(out, root, indent + 2);
    }
}
