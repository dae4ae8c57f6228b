#include <string.h>

#include "dns/corefile/go_text.h"

// Regular expressions of Go, as far as they are told without compiling them: what is common in
// Corefiles is read to its end, and the rest is not judged.

enum { REGEXP_JUDGED_MAX = 1000, REGEXP_DEPTH_MAX = 100, REPEAT_MAX = 1000 };

// What a repetition would refer to.
enum part { PART_NONE, PART_ATOM, PART_REPEATED };

struct regexp {
    struct arena *arena;
    struct text text;
    size_t at;
    size_t repeat_at; // of the last repetition
    enum part last;
    unsigned depth;
    unsigned groups;
    bool has_name;   // a group has: that of another one could be the same
    bool is_counted; // a repetition has numbers: those of another one would multiply
    enum go_regexp result;
    const char *fault;
};

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void refuse_regexp(struct regexp *regexp, const char *why, size_t from, size_t to)
{
    regexp->result = GO_REGEXP_BAD;
    regexp->fault = arena_printf(regexp->arena, "error parsing regexp: %s: `%.*s`", why,
                                 (int)(to - from), regexp->text.at + from);
}

static char peek(const struct regexp *regexp, size_t ahead)
{
    return regexp->at + ahead < regexp->text.len ? regexp->text.at[regexp->at + ahead] : '\0';
}

static void take_atom(struct regexp *regexp, size_t len)
{
    regexp->at += len;
    regexp->last = PART_ATOM;
}

// The length of "(?:", "(?P<name>" or "(?<name>". 0: it is none of these.
static size_t group_head_len(const struct regexp *regexp, bool *has_name)
{
    size_t at = 2 + (peek(regexp, 2) == 'P');
    *has_name = peek(regexp, at) == '<';
    if (!*has_name)
        return peek(regexp, 2) == ':' ? 3 : 0;
    size_t first = ++at;
    while (is_alphanumeric(peek(regexp, at)) || peek(regexp, at) == '_')
        at++;
    return at > first && peek(regexp, at) == '>' ? at + 1 : 0;
}

// The length of flags alone, as "(?i)"; 0: there are none.
static size_t flags_len(const struct regexp *regexp)
{
    size_t at = 2;
    while (is_one_of(peek(regexp, at), "imsU"))
        at++;
    return at > 2 && peek(regexp, at) == ')' ? at + 1 : 0;
}

static void enter_group(struct regexp *regexp, size_t len, bool is_counted)
{
    regexp->at += len;
    regexp->depth++;
    regexp->groups += is_counted;
    regexp->last = PART_NONE;
}

static void open_group(struct regexp *regexp)
{
    bool has_name = false;
    bool is_plain = peek(regexp, 1) != '?';
    size_t len = is_plain ? 1 : group_head_len(regexp, &has_name);
    size_t flags = is_plain ? 0 : flags_len(regexp);
    if ((!len && !flags) || regexp->depth == REGEXP_DEPTH_MAX || (has_name && regexp->has_name)) {
        regexp->result = GO_REGEXP_UNKNOWN;
        return;
    }
    regexp->has_name = regexp->has_name || has_name;
    if (flags)
        regexp->at += flags;
    else
        enter_group(regexp, len, is_plain || has_name);
}

static void close_group(struct regexp *regexp)
{
    if (!regexp->depth) {
        refuse_regexp(regexp, "unexpected )", 0, regexp->text.len);
        return;
    }
    regexp->depth--;
    take_atom(regexp, 1);
}

// "[a-z0-9_.]": ranges of the same sort, no escapes and no names of classes.
static void take_class(struct regexp *regexp)
{
    size_t start = regexp->at;
    size_t at = start + 1 + (peek(regexp, 1) == '^');
    size_t first = at;
    for (; at < regexp->text.len && regexp->text.at[at] != ']'; at++) {
        char c = regexp->text.at[at];
        bool is_range = at > first + 1 && regexp->text.at[at - 1] == '-';
        if ((!is_alphanumeric(c) && !is_one_of(c, "_.-")) ||
            (is_range && c < regexp->text.at[at - 2])) {
            regexp->result = GO_REGEXP_UNKNOWN;
            return;
        }
    }
    if (at == regexp->text.len)
        refuse_regexp(regexp, "missing closing ]", start, at);
    else if (at == first)
        regexp->result = GO_REGEXP_UNKNOWN;
    else
        take_atom(regexp, at + 1 - start);
}

static void take_escape(struct regexp *regexp)
{
    char c = peek(regexp, 1);
    if (regexp->at + 1 == regexp->text.len)
        refuse_regexp(regexp, "trailing backslash at end of expression", 0, 0);
    else if (is_one_of(c, "dDsSwWbBAzafnrtv") ||
             (c > ' ' && c < 0x7f && !is_alphanumeric(c) && c != '_'))
        take_atom(regexp, 2);
    else
        regexp->result = GO_REGEXP_UNKNOWN;
}

// Ends at `end`, or behind the '?' that makes it take as little as it can.
static void take_repeat(struct regexp *regexp, size_t end)
{
    size_t start = regexp->at;
    end += end < regexp->text.len && regexp->text.at[end] == '?';
    if (regexp->last == PART_REPEATED)
        refuse_regexp(regexp, "invalid nested repetition operator", regexp->repeat_at, end);
    else if (regexp->last == PART_NONE)
        refuse_regexp(regexp, "missing argument to repetition operator", start, end);
    regexp->repeat_at = start;
    regexp->last = PART_REPEATED;
    regexp->at = end;
}

// The number at *at, up to one more than is of use. False: none, or one with a leading zero.
static bool take_number(const struct regexp *regexp, size_t *at, unsigned *out)
{
    size_t start = *at;
    *out = 0;
    for (; *at < regexp->text.len && is_digit(regexp->text.at[*at]); (*at)++)
        *out = *out > REPEAT_MAX ? *out : *out * 10 + (unsigned)(regexp->text.at[*at] - '0');
    return *at > start && (*at == start + 1 || regexp->text.at[start] != '0');
}

struct repeat {
    unsigned min;
    unsigned max;
    size_t end;
};

// "{2}", "{2,}", "{2,3}". False: the '{' is a character like any other.
static bool read_repeat(const struct regexp *regexp, struct repeat *repeat)
{
    size_t at = regexp->at + 1;
    if (!take_number(regexp, &at, &repeat->min))
        return false;
    repeat->max = repeat->min;
    if (at < regexp->text.len && regexp->text.at[at] == ',') {
        at++;
        if (at < regexp->text.len && regexp->text.at[at] == '}')
            repeat->max = REPEAT_MAX;
        else if (!take_number(regexp, &at, &repeat->max))
            return false;
    }
    repeat->end = at + 1;
    return at < regexp->text.len && regexp->text.at[at] == '}';
}

static void take_counted_repeat(struct regexp *regexp)
{
    struct repeat repeat;
    if (!read_repeat(regexp, &repeat)) {
        take_atom(regexp, 1);
    } else if (repeat.min > REPEAT_MAX || repeat.max > REPEAT_MAX || repeat.min > repeat.max) {
        refuse_regexp(regexp, "invalid repeat count", regexp->at, repeat.end);
    } else if (regexp->is_counted && regexp->last != PART_REPEATED) {
        regexp->result = GO_REGEXP_UNKNOWN;
    } else {
        regexp->is_counted = true;
        take_repeat(regexp, repeat.end);
    }
}

static void take_part(struct regexp *regexp)
{
    char c = peek(regexp, 0);
    if (c < ' ' || c > '~') {
        regexp->result = GO_REGEXP_UNKNOWN;
    } else if (c == '(') {
        open_group(regexp);
    } else if (c == ')') {
        close_group(regexp);
    } else if (c == '[') {
        take_class(regexp);
    } else if (c == '\\') {
        take_escape(regexp);
    } else if (is_one_of(c, "*+?")) {
        take_repeat(regexp, regexp->at + 1);
    } else if (c == '{') {
        take_counted_repeat(regexp);
    } else {
        take_atom(regexp, 1);
        regexp->last = c == '|' ? PART_NONE : PART_ATOM;
    }
}

enum go_regexp go_regexp_read(struct arena *arena, struct text text, unsigned *groups,
                              const char **fault)
{
    struct regexp regexp = {.arena = arena, .text = text};
    if (text.len > REGEXP_JUDGED_MAX)
        return GO_REGEXP_UNKNOWN;
    while (regexp.at < text.len && regexp.result == GO_REGEXP_GOOD)
        take_part(&regexp);
    if (regexp.result == GO_REGEXP_GOOD && regexp.depth)
        refuse_regexp(&regexp, "missing closing )", 0, text.len);
    *groups = regexp.groups;
    *fault = regexp.fault;
    return regexp.result;
}
