#include "base/memory.h"
#include "dns/rdata_private.h"

// The substitutions of NAPTR (RFC 3402 3.2): mark, pattern, mark, replacement, mark, flags. The
// pattern is an extended regular expression of POSIX. Servers refuse to load others.

enum { BOUND_MAX = 255 };

struct pattern {
    const char *at;
    const char *end;
    unsigned groups; // opened so far
    unsigned depth;  // of those that are open
    bool has_atom;   // in this alternative
    bool may_repeat; // what stands just before
};

static bool is_class_mark(char c)
{
    return c == ':' || c == '.' || c == '=';
}

static bool is_class_name(struct text name)
{
    static const char *const names[] = {"alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                        "lower", "print", "punct", "space", "upper", "xdigit"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

// [:alpha:] and its like within brackets, behind its [.
static bool skip_class(struct pattern *pattern)
{
    char mark = *pattern->at++;
    const char *first = pattern->at;
    for (; pattern->end - pattern->at >= 2; pattern->at++) {
        if (pattern->at[0] != mark || pattern->at[1] != ']')
            continue;
        struct text name = {first, (size_t)(pattern->at - first)};
        pattern->at += 2;
        return mark == ':' ? is_class_name(name) : name.len > 0;
    }
    return false;
}

static bool is_class(const struct pattern *pattern)
{
    return pattern->end - pattern->at > 2 && pattern->at[0] == '[' && is_class_mark(pattern->at[1]);
}

// Does a - ahead stand between two characters?
static bool is_dash(const struct pattern *pattern)
{
    return pattern->end - pattern->at >= 2 && pattern->at[0] == '-' && pattern->at[1] != ']';
}

// A character, and those up to another one if - stands between them.
static bool read_range(struct pattern *pattern)
{
    uint8_t first = (uint8_t)*pattern->at++;
    if (!is_dash(pattern))
        return true;
    pattern->at++;
    if (is_class(pattern) && pattern->at[1] == '.') {
        pattern->at++;
        return skip_class(pattern);
    }
    return (uint8_t)*pattern->at++ >= first && !is_dash(pattern);
}

// Behind the [. A ] that comes first is a character.
static bool read_bracket(struct pattern *pattern)
{
    pattern->at += pattern->at < pattern->end && *pattern->at == '^';
    for (const char *first = pattern->at; pattern->at < pattern->end;) {
        char c = *pattern->at;
        if (c == ']' && pattern->at > first) {
            pattern->at++;
            return true;
        }
        bool has_class = is_class(pattern);
        pattern->at += has_class;
        if (!(has_class ? skip_class : read_range)(pattern))
            return false;
    }
    return false;
}

static bool read_bound(struct pattern *pattern, unsigned *out)
{
    unsigned number = 0;
    const char *first = pattern->at;
    for (; pattern->at < pattern->end && rdata_is_digit(*pattern->at); pattern->at++) {
        number = number * 10 + (unsigned)(*pattern->at - '0');
        if (number > BOUND_MAX)
            return false;
    }
    *out = number;
    return pattern->at > first;
}

// {2}, {2,} or {2,5}, behind the {.
static bool read_bounds(struct pattern *pattern)
{
    unsigned low, high;
    if (!read_bound(pattern, &low) || pattern->at == pattern->end)
        return false;
    if (*pattern->at == ',') {
        pattern->at++;
        if (read_bound(pattern, &high) ? high < low
                                       : pattern->at < pattern->end && rdata_is_digit(*pattern->at))
            return false;
    }
    return pattern->at < pattern->end && *pattern->at++ == '}';
}

static bool read_repeat(struct pattern *pattern, char c)
{
    bool is_sound = pattern->has_atom && pattern->may_repeat;
    pattern->may_repeat = false;
    return is_sound && (c != '{' || read_bounds(pattern));
}

static bool read_escape(struct pattern *pattern)
{
    if (pattern->at == pattern->end)
        return false;
    char c = *pattern->at++;
    return c < '1' || c > '9' || (unsigned)(c - '0') <= pattern->groups;
}

static bool open_group(struct pattern *pattern)
{
    pattern->groups++;
    pattern->depth++;
    pattern->has_atom = pattern->may_repeat = false;
    return true;
}

// One that was never opened is a character.
static bool close_group(struct pattern *pattern)
{
    bool is_empty = !pattern->has_atom && pattern->at[-2] != '(';
    if (pattern->depth == 0)
        return true;
    pattern->depth--;
    return !is_empty;
}

static bool end_alternative(struct pattern *pattern)
{
    bool is_sound = pattern->has_atom;
    pattern->has_atom = pattern->may_repeat = false;
    return is_sound;
}

static bool read_atom(struct pattern *pattern, char c)
{
    pattern->may_repeat = c != '^' && c != '$';
    bool is_sound = c == '['    ? read_bracket(pattern)
                    : c == '\\' ? read_escape(pattern)
                                : c != ')' || close_group(pattern);
    pattern->has_atom = true;
    return is_sound;
}

static bool read_piece(struct pattern *pattern)
{
    char c = *pattern->at++;
    bool is_bound = c == '{' && pattern->at < pattern->end && rdata_is_digit(*pattern->at);
    if (c == '*' || c == '+' || c == '?' || is_bound)
        return read_repeat(pattern, c);
    if (c == '(')
        return open_group(pattern);
    return c == '|' ? end_alternative(pattern) : read_atom(pattern, c);
}

// Counts its groups.
static bool is_pattern(struct text text, unsigned *groups)
{
    struct pattern pattern = {.at = text.at, .end = text.at + text.len};
    while (pattern.at < pattern.end)
        if (!read_piece(&pattern))
            return false;
    *groups = pattern.groups;
    return pattern.has_atom && !pattern.depth;
}

// ---- substitutions ------------------------------------------------------------------------------

// Up to the next mark that has no backslash before it, which goes.
static bool cut_part(struct text *rest, char mark, struct text *part)
{
    for (size_t i = 0; i < rest->len; i++) {
        if (rest->at[i] == mark) {
            *part = (struct text){rest->at, i};
            *rest = (struct text){rest->at + i + 1, rest->len - i - 1};
            return true;
        }
        if (!rest->at[i])
            return false;
        i += rest->at[i] == '\\';
        if (i < rest->len && !rest->at[i])
            return false;
    }
    return false;
}

// \1 to \9 stand for groups of the pattern.
static bool is_replacement(struct text text, unsigned groups)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.at[i] != '\\')
            continue;
        char c = text.at[++i];
        if (rdata_is_digit(c) && (c == '0' || (unsigned)(c - '0') > groups))
            return false;
    }
    return true;
}

bool rdata_is_regexp(struct text text)
{
    unsigned groups = 0;
    struct text rest = {text.at + 1, text.len - 1}, pattern, replacement;
    char mark = *text.at;
    if (rdata_is_digit(mark) || mark == '\\' || mark == 'i' || !mark)
        return false;
    if (!cut_part(&rest, mark, &pattern) || !cut_part(&rest, mark, &replacement))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.at[i] != 'i')
            return false;
    return is_pattern(pattern, &groups) && is_replacement(replacement, groups);
}
