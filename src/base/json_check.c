#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/value_private.h"

enum { NUMBER_MAX = 255 };

struct scan {
    struct text text;
    const char *at;
    const char *end;
    const struct value_limits *limits;
    unsigned depth;
    size_t nodes;
    const char *copied_to; // what went into check->wider so far
    struct json_check *check;
    bool seeks_duplicate;
    struct error *err;
};

static bool scan_value(struct scan *scan);

static bool fail_at(const struct scan *scan, const char *at, const char *what)
{
    unsigned line;
    unsigned column;
    value_position(scan->text, (size_t)(at - scan->text.at), &line, &column);
    return error_set(scan->err, FAULT_SPEC, "InvalidJSON", "%u:%u: %s", line, column, what);
}

static bool fail_here(const struct scan *scan, const char *what)
{
    return fail_at(scan, scan->at, scan->at == scan->end ? "the document ends too early" : what);
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

static bool starts_with(const struct scan *scan, char c)
{
    return scan->at < scan->end && *scan->at == c;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The four digits behind "\u"; -1 when there are not four.
static int scan_code_unit(const struct scan *scan, const char *at)
{
    int unit = 0;
    if (scan->end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

// `at` is behind "\u". A surrogate counts only with its other half.
static bool scan_unicode(struct scan *scan, bool is_key)
{
    const char *at = scan->at;
    int unit = scan_code_unit(scan, at);
    if (unit < 0)
        return fail_at(scan, at, "\\u needs four hex digits");
    if (unit == 0 && is_key)
        return fail_at(scan, at, "a key must not contain \\u0000");
    scan->at += 4;
    if (unit < 0xd800 || unit > 0xdfff)
        return true;
    bool has_pair =
        unit < 0xdc00 && scan->end - scan->at >= 6 && scan->at[0] == '\\' && scan->at[1] == 'u';
    int low = has_pair ? scan_code_unit(scan, scan->at + 2) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return fail_at(scan, at, "half of a surrogate pair");
    scan->at += 6;
    return true;
}

static bool scan_escape(struct scan *scan, bool is_key)
{
    scan->at++;
    if (scan->at == scan->end || !*scan->at || !strchr("\"\\/bfnrtu", *scan->at))
        return fail_here(scan, "unknown escape behind \\");
    return *scan->at++ != 'u' || scan_unicode(scan, is_key);
}

static bool scan_string(struct scan *scan, bool is_key)
{
    if (!starts_with(scan, '"'))
        return fail_here(scan, "expected a key in double quotes");
    scan->at++;
    while (scan->at < scan->end && *scan->at != '"') {
        if ((unsigned char)*scan->at < 0x20)
            return fail_here(scan, "a control character in text must be escaped");
        if (*scan->at != '\\')
            scan->at++;
        else if (!scan_escape(scan, is_key))
            return false;
    }
    if (scan->at == scan->end)
        return fail_here(scan, "");
    scan->at++;
    return true;
}

static size_t scan_digits(struct scan *scan)
{
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - from);
}

static void widen(struct scan *scan)
{
    struct json_check *check = scan->check;
    buffer_add(check->wider, scan->copied_to, (size_t)(scan->at - scan->copied_to));
    buffer_add_text(check->wider, ".0");
    scan->copied_to = scan->at;
}

static bool scan_number(struct scan *scan)
{
    const char *from = scan->at;
    scan->at += *scan->at == '-';
    const char *digits = scan->at;
    size_t count = scan_digits(scan);
    bool is_whole = true;
    if (count == 0)
        return fail_here(scan, "expected a digit");
    if (*digits == '0' && count > 1)
        return fail_at(scan, from, "a number must not start with 0");
    if (starts_with(scan, '.')) {
        is_whole = false;
        scan->at++;
        if (!scan_digits(scan))
            return fail_here(scan, "expected a digit");
    }
    if (starts_with(scan, 'e') || starts_with(scan, 'E')) {
        is_whole = false;
        scan->at++;
        scan->at += starts_with(scan, '+') || starts_with(scan, '-');
        if (!scan_digits(scan))
            return fail_here(scan, "expected a digit");
    }
    struct text token = {from, (size_t)(scan->at - from)};
    int64_t integer;
    if (token.len > NUMBER_MAX)
        return fail_at(scan, from, "a number of more than 255 characters");
    if (is_whole && count > 18 && !text_to_int64(token, &integer) && !scan->seeks_duplicate)
        widen(scan);
    char copy[NUMBER_MAX + 1] = {0};
    memcpy(copy, token.at, is_whole ? 0 : token.len);
    return is_whole || isfinite(strtod(copy, NULL)) || fail_at(scan, from, "number out of range");
}

static bool scan_word(struct scan *scan, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0)
        return fail_here(scan, "expected a value");
    scan->at += len;
    return true;
}

static bool enter(struct scan *scan)
{
    if (++scan->depth > scan->limits->depth)
        return fail_here(scan, "lists and maps are nested too deep");
    scan->at++;
    skip_blanks(scan);
    return true;
}

static bool leave(struct scan *scan)
{
    scan->depth--;
    scan->at++;
    return true;
}

static bool scan_list(struct scan *scan)
{
    if (!enter(scan))
        return false;
    if (starts_with(scan, ']'))
        return leave(scan);
    for (;;) {
        if (!scan_value(scan))
            return false;
        if (starts_with(scan, ']'))
            return leave(scan);
        if (!starts_with(scan, ','))
            return fail_here(scan, "expected , or ]");
        scan->at++;
    }
}

static bool fail_duplicate(const struct scan *scan, const char *later, size_t first,
                           const char *name)
{
    unsigned line;
    unsigned column;
    AUTO_BUFFER shown = {0};
    value_position(scan->text, first, &line, &column);
    text_clean(&shown, text_of(name), VALUE_SHOWN_MAX);
    buffer_printf(&shown, "\", first at %u:%u", line, column);
    value_position(scan->text, (size_t)(later - scan->text.at), &line, &column);
    return error_set(scan->err, FAULT_SPEC, "InvalidJSON", "%u:%u: duplicate key \"%s", line,
                     column, shown.at);
}

// `seen` maps the keys of one object to the offsets where they stood.
static bool note_key(struct scan *scan, const char *from, struct json_object *seen)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *key = json_tokener_parse_ex(tokener, from, (int)(scan->at - from));
    must(key);
    struct json_object *first;
    const char *name = json_object_get_string(key);
    bool is_new = !json_object_object_get_ex(seen, name, &first);
    if (is_new)
        json_object_object_add(seen, name, json_object_new_int64(from - scan->text.at));
    else
        fail_duplicate(scan, from, (size_t)json_object_get_int64(first), name);
    json_object_put(key);
    json_tokener_free(tokener);
    return is_new;
}

static bool scan_member(struct scan *scan, struct json_object *seen)
{
    const char *from = scan->at;
    if (!scan_string(scan, true) || (seen && !note_key(scan, from, seen)))
        return false;
    skip_blanks(scan);
    if (!starts_with(scan, ':'))
        return fail_here(scan, "expected : behind the key");
    scan->at++;
    scan->check->members++;
    return scan_value(scan);
}

static bool scan_members(struct scan *scan, struct json_object *seen)
{
    for (;;) {
        if (!scan_member(scan, seen))
            return false;
        if (starts_with(scan, '}'))
            return leave(scan);
        if (!starts_with(scan, ','))
            return fail_here(scan, "expected , or }");
        scan->at++;
        skip_blanks(scan);
    }
}

static bool scan_map(struct scan *scan)
{
    if (!enter(scan))
        return false;
    if (starts_with(scan, '}'))
        return leave(scan);
    struct json_object *seen = scan->seeks_duplicate ? json_object_new_object() : NULL;
    bool ok = scan_members(scan, seen);
    json_object_put(seen);
    return ok;
}

static bool scan_one(struct scan *scan)
{
    switch (*scan->at) {
    case '{':
        return scan_map(scan);
    case '[':
        return scan_list(scan);
    case '"':
        return scan_string(scan, false);
    case 't':
        return scan_word(scan, "true");
    case 'f':
        return scan_word(scan, "false");
    case 'n':
        return scan_word(scan, "null");
    default:
        if (*scan->at == '-' || (*scan->at >= '0' && *scan->at <= '9'))
            return scan_number(scan);
        return fail_here(scan, "expected a value");
    }
}

static bool scan_value(struct scan *scan)
{
    skip_blanks(scan);
    if (scan->at == scan->end)
        return fail_here(scan, "");
    if (++scan->nodes > VALUE_NODES_MAX)
        return fail_here(scan, "too many values in one document");
    if (!scan_one(scan))
        return false;
    skip_blanks(scan);
    return true;
}

static bool fail_utf8(const struct scan *scan)
{
    struct text rest = scan->text;
    uint32_t code_point;
    size_t len;
    while (rest.len && (len = utf8_decode(rest, &code_point))) {
        rest.at += len;
        rest.len -= len;
    }
    return fail_at(scan, rest.at, "invalid UTF-8");
}

static struct scan scan_open(struct json_check *check, struct text text,
                             const struct value_limits *limits, struct error *err)
{
    must(limits->depth <= VALUE_DEPTH_MAX);
    struct text whole = text.at ? text : TEXT("");
    return (struct scan){
        .text = whole,
        .at = whole.at,
        .end = whole.at + whole.len,
        .limits = limits,
        .copied_to = whole.at,
        .check = check,
        .err = err,
    };
}

bool json_check_text(struct json_check *check, struct text text, const struct value_limits *limits,
                     struct error *err)
{
    struct scan scan = scan_open(check, text, limits, err);
    if (text.len > limits->octets)
        return error_set(err, FAULT_SPEC, "InvalidJSON",
                         "1:1: the document is larger than %zu octets", limits->octets);
    if (!utf8_is_valid(scan.text))
        return fail_utf8(&scan);
    if (!scan_value(&scan))
        return false;
    if (scan.at != scan.end)
        return fail_here(&scan, "nothing may follow the document");
    if (check->wider->len)
        buffer_add(check->wider, scan.copied_to, (size_t)(scan.end - scan.copied_to));
    return true;
}

bool json_fail_duplicate(struct text text, struct error *err)
{
    const struct value_limits limits = {.octets = SIZE_MAX, .depth = VALUE_DEPTH_MAX};
    struct json_check check = {0};
    struct scan scan = scan_open(&check, text, &limits, err);
    scan.seeks_duplicate = true;
    must(!scan_value(&scan));
    return false;
}
