#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/value_private.h"

// RFC 8259 to the letter but behind a passed key, straight into the arena: one pass over a copy of
// the text, in which the values' texts stay where they stood, each with a NUL in place of its
// closing quote.

enum { NUMBER_MAX = 255, FEW_KEYS = 8 };

// Where a key stood, to find it twice.
struct member {
    const struct value *item;
    size_t offset;
};

struct scan {
    struct arena *arena;
    struct text text;
    char *copy; // of the text
    char *at;   // in the copy
    char *end;
    const struct value_limits *limits;
    unsigned depth;
    size_t nodes;
    struct member *members; // of the maps that are open, the innermost behind
    size_t member_count;
    size_t member_capacity;
    struct error *err;
};

static struct value *scan_value(struct scan *scan, bool is_passed);

static bool fail_at(const struct scan *scan, const char *at, const char *what)
{
    unsigned line;
    unsigned column;
    value_position(scan->text, (size_t)(at - scan->copy), &line, &column);
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

// UTF-8 of a code point; returns its length.
static size_t encode(uint32_t code, char *out)
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(len > 1 ? marks[len] | code : code);
    return len;
}

// `scan->at` is behind "\\u". A surrogate counts only with its other half.
static bool scan_unicode(struct scan *scan, bool is_key, char *out, size_t *len)
{
    const char *at = scan->at;
    int unit = scan_code_unit(scan, at);
    if (unit < 0)
        return fail_at(scan, at, "\\u needs four hex digits");
    if (unit == 0 && is_key)
        return fail_at(scan, at, "a key must not contain \\u0000");
    scan->at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        *len = encode((uint32_t)unit, out);
        return true;
    }
    bool has_pair =
        unit < 0xdc00 && scan->end - scan->at >= 6 && scan->at[0] == '\\' && scan->at[1] == 'u';
    int low = has_pair ? scan_code_unit(scan, scan->at + 2) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return fail_at(scan, at, "half of a surrogate pair");
    scan->at += 6;
    *len = encode(0x10000 + (((uint32_t)unit - 0xd800) << 10) + ((uint32_t)low - 0xdc00), out);
    return true;
}

// `len`: of what it stands for.
static bool scan_escape(struct scan *scan, bool is_key, char *out, size_t *len)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    scan->at++;
    const char *name = scan->at < scan->end && *scan->at ? strchr(names, *scan->at) : NULL;
    if (name) {
        scan->at++;
        *out = meanings[name - names];
        *len = 1;
        return true;
    }
    if (scan->at == scan->end || *scan->at != 'u')
        return fail_here(scan, "unknown escape behind \\");
    scan->at++;
    return scan_unicode(scan, is_key, out, len);
}

static void skip_plain(struct scan *scan)
{
    scan->at += json_plain_end(scan->at, scan->end) - scan->at;
}

// What escapes stand for never becomes longer than they were written.
static bool scan_string(struct scan *scan, bool is_key, struct text *out)
{
    if (!starts_with(scan, '"'))
        return fail_here(scan, "expected a key in double quotes");
    char *from = ++scan->at;
    skip_plain(scan);
    char *to = scan->at;
    while (starts_with(scan, '\\')) {
        size_t more = 0;
        if (!scan_escape(scan, is_key, to, &more))
            return false;
        const char *rest = scan->at;
        skip_plain(scan);
        size_t len = (size_t)(scan->at - rest);
        memmove(to + more, rest, len);
        to += more + len;
    }
    if (!starts_with(scan, '"'))
        return fail_here(scan, "a control character in text must be escaped");
    scan->at++;
    *to = '\0';
    *out = (struct text){from, (size_t)(to - from)};
    return true;
}

static struct value *scan_text(struct scan *scan)
{
    struct text text;
    return scan_string(scan, false, &text) ? value_make_text(scan->arena, text) : NULL;
}

static size_t scan_digits(struct scan *scan)
{
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - from);
}

// Behind the whole part: false when it is refused. *is_whole: neither was there.
static bool scan_fraction(struct scan *scan, bool *is_whole)
{
    *is_whole = true;
    if (starts_with(scan, '.')) {
        *is_whole = false;
        scan->at++;
        if (!scan_digits(scan))
            return fail_here(scan, "expected a digit");
    }
    if (starts_with(scan, 'e') || starts_with(scan, 'E')) {
        *is_whole = false;
        scan->at++;
        scan->at += starts_with(scan, '+') || starts_with(scan, '-');
        if (!scan_digits(scan))
            return fail_here(scan, "expected a digit");
    }
    return true;
}

// Beyond int64 a whole number is a real one.
static struct value *number_from(struct scan *scan, struct text token, bool is_whole)
{
    int64_t integer;
    char copy[NUMBER_MAX + 1] = {0};
    if (token.len > NUMBER_MAX) {
        fail_at(scan, token.at, "a number of more than 255 characters");
        return NULL;
    }
    if (is_whole && text_to_int64(token, &integer))
        return value_make_int(scan->arena, integer);
    memcpy(copy, token.at, token.len);
    double real = strtod(copy, NULL);
    if (!isfinite(real)) {
        fail_at(scan, token.at, "number out of range");
        return NULL;
    }
    struct value *value = value_make(scan->arena, VALUE_FLOAT);
    scalar_set_real(value, real);
    return value;
}

static struct value *scan_number(struct scan *scan)
{
    const char *from = scan->at;
    bool is_whole;
    scan->at += *scan->at == '-';
    const char *digits = scan->at;
    size_t count = scan_digits(scan);
    if (count == 0 || (*digits == '0' && count > 1)) {
        if (count)
            fail_at(scan, from, "a number must not start with 0");
        else
            fail_here(scan, "expected a digit");
        return NULL;
    }
    if (!scan_fraction(scan, &is_whole))
        return NULL;
    return number_from(scan, (struct text){from, (size_t)(scan->at - from)}, is_whole);
}

static struct value *scan_word(struct scan *scan, const char *word, struct value made)
{
    size_t len = strlen(word);
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0) {
        fail_here(scan, "expected a value");
        return NULL;
    }
    scan->at += len;
    struct value *value = value_make(scan->arena, made.type);
    value->boolean = made.boolean;
    return value;
}

static bool enter(struct scan *scan)
{
    if (++scan->depth > scan->limits->depth)
        return fail_here(scan, "lists and maps are nested too deep");
    scan->at++;
    skip_blanks(scan);
    return true;
}

static struct value *leave(struct scan *scan, struct value *value)
{
    scan->depth--;
    scan->at++;
    return value;
}

static struct value *scan_list(struct scan *scan)
{
    struct value *list = value_make(scan->arena, VALUE_LIST);
    if (!enter(scan))
        return NULL;
    if (starts_with(scan, ']'))
        return leave(scan, list);
    for (;;) {
        struct value *item = scan_value(scan, false);
        if (!item)
            return NULL;
        value_link(list, item);
        if (starts_with(scan, ']'))
            return leave(scan, list);
        if (!starts_with(scan, ',')) {
            fail_here(scan, "expected , or ]");
            return NULL;
        }
        scan->at++;
    }
}

// ---- keys ---------------------------------------------------------------------------------------

static bool fail_duplicate(const struct scan *scan, const struct member *a, const struct member *b)
{
    unsigned line;
    unsigned column;
    AUTO_BUFFER shown = {0};
    size_t first = a->offset < b->offset ? a->offset : b->offset;
    size_t later = a->offset < b->offset ? b->offset : a->offset;
    value_position(scan->text, first, &line, &column);
    text_clean(&shown, a->item->key, VALUE_SHOWN_MAX);
    buffer_printf(&shown, "\", first at %u:%u", line, column);
    value_position(scan->text, later, &line, &column);
    return error_set(scan->err, FAULT_SPEC, "InvalidJSON", "%u:%u: duplicate key \"%s", line,
                     column, shown.at);
}

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a;
    const struct member *right = b;
    int order = text_compare(left->item->key, right->item->key);
    return order ? order : left->offset < right->offset ? -1 : 1;
}

// Keys of the innermost map; few are compared each with each, many are sorted.
static bool check_unique(const struct scan *scan, size_t base)
{
    struct member *members = scan->members + base;
    size_t count = scan->member_count - base;
    if (count > FEW_KEYS) {
        qsort(members, count, sizeof *members, compare_members);
        for (size_t i = 1; i < count; i++)
            if (text_equal(members[i - 1].item->key, members[i].item->key))
                return fail_duplicate(scan, &members[i - 1], &members[i]);
        return true;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (text_equal(members[j].item->key, members[i].item->key))
                return fail_duplicate(scan, &members[j], &members[i]);
    return true;
}

static bool is_opener(char c)
{
    return c == '{' || c == '[';
}

// Skips a list or map that nobody reads: only its strings are checked and its brackets counted.
static struct value *pass_collection(struct scan *scan)
{
    struct value *empty = value_make(scan->arena, *scan->at == '{' ? VALUE_MAP : VALUE_LIST);
    struct text ignored;
    unsigned depth = 0;
    do {
        if (starts_with(scan, '"')) {
            if (!scan_string(scan, false, &ignored))
                return NULL;
            continue;
        }
        if (scan->at == scan->end) {
            fail_here(scan, "the document ends too early");
            return NULL;
        }
        depth += is_opener(*scan->at);
        depth -= *scan->at == '}' || *scan->at == ']';
        scan->at++;
    } while (depth);
    return empty;
}

static bool scan_member(struct scan *scan, struct value *map)
{
    size_t offset = (size_t)(scan->at - scan->copy);
    struct text key = {0};
    if (!scan_string(scan, true, &key))
        return false;
    skip_blanks(scan);
    if (!starts_with(scan, ':'))
        return fail_here(scan, "expected : behind the key");
    scan->at++;
    const char *passed = scan->limits->passed_key;
    struct value *item = scan_value(scan, passed && text_is(key, passed));
    if (!item)
        return false;
    item->key = key;
    value_link(map, item);
    mem_reserve(&scan->members, &scan->member_capacity, scan->member_count + 1);
    scan->members[scan->member_count++] = (struct member){item, offset};
    return true;
}

static bool scan_members(struct scan *scan, struct value *map)
{
    for (;;) {
        if (!scan_member(scan, map))
            return false;
        if (starts_with(scan, '}'))
            return true;
        if (!starts_with(scan, ','))
            return fail_here(scan, "expected , or }");
        scan->at++;
        skip_blanks(scan);
    }
}

static struct value *scan_map(struct scan *scan)
{
    struct value *map = value_make(scan->arena, VALUE_MAP);
    size_t base = scan->member_count;
    if (!enter(scan))
        return NULL;
    if (!starts_with(scan, '}') && (!scan_members(scan, map) || !check_unique(scan, base)))
        return NULL;
    scan->member_count = base;
    return leave(scan, map);
}

// ---- any value ----------------------------------------------------------------------------------

static struct value *scan_one(struct scan *scan)
{
    switch (*scan->at) {
    case '{':
        return scan_map(scan);
    case '[':
        return scan_list(scan);
    case '"':
        return scan_text(scan);
    case 't':
        return scan_word(scan, "true", (struct value){.type = VALUE_BOOL, .boolean = true});
    case 'f':
        return scan_word(scan, "false", (struct value){.type = VALUE_BOOL});
    case 'n':
        return scan_word(scan, "null", (struct value){.type = VALUE_NULL});
    default:
        if (*scan->at == '-' || (*scan->at >= '0' && *scan->at <= '9'))
            return scan_number(scan);
        fail_here(scan, "expected a value");
        return NULL;
    }
}

static struct value *scan_value(struct scan *scan, bool is_passed)
{
    skip_blanks(scan);
    if (scan->at == scan->end || ++scan->nodes > value_nodes_max(scan->limits)) {
        fail_here(scan, "too many values in one document");
        return NULL;
    }
    bool passes = is_passed && is_opener(*scan->at);
    struct value *value = passes ? pass_collection(scan) : scan_one(scan);
    skip_blanks(scan);
    return value;
}

static struct value *fail_utf8(const struct scan *scan)
{
    struct text rest = scan->text;
    uint32_t code_point;
    size_t len;
    while (rest.len && (len = utf8_decode(rest, &code_point))) {
        rest.at += len;
        rest.len -= len;
    }
    fail_at(scan, scan->copy + (rest.at - scan->text.at), "invalid UTF-8");
    return NULL;
}

static struct value *read_document(struct scan *scan)
{
    if (!utf8_is_valid(scan->text))
        return fail_utf8(scan);
    struct value *value = scan_value(scan, false);
    if (!value || scan->at == scan->end)
        return value;
    fail_here(scan, "nothing may follow the document");
    return NULL;
}

struct value *value_read_json(struct arena *arena, struct text text,
                              const struct value_limits *limits, struct error *err)
{
    must(limits->depth <= VALUE_DEPTH_MAX);
    if (text.len > limits->octets) {
        error_set(err, FAULT_SPEC, "InvalidJSON", "1:1: the document is larger than %zu octets",
                  limits->octets);
        return NULL;
    }
    struct text whole = text.at ? text : TEXT("");
    char *copy = arena_copy(arena, whole.at, whole.len);
    struct scan scan = {.arena = arena,
                        .text = whole,
                        .copy = copy,
                        .at = copy,
                        .end = copy + whole.len,
                        .limits = limits,
                        .err = err};
    struct value *value = read_document(&scan);
    free(scan.members);
    return value;
}
