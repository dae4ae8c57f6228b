#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/value_private.h"

// The table of go-yaml 2, which kubectl reads with, without its single letters y and n.
static const struct {
    const char *typed;
    enum value_type type;
    bool boolean;
    double real;
} words[] = {
    {"~", VALUE_NULL, false, 0},
    {"null", VALUE_NULL, false, 0},
    {"Null", VALUE_NULL, false, 0},
    {"NULL", VALUE_NULL, false, 0},
    {"true", VALUE_BOOL, true, 0},
    {"True", VALUE_BOOL, true, 0},
    {"TRUE", VALUE_BOOL, true, 0},
    {"yes", VALUE_BOOL, true, 0},
    {"Yes", VALUE_BOOL, true, 0},
    {"YES", VALUE_BOOL, true, 0},
    {"on", VALUE_BOOL, true, 0},
    {"On", VALUE_BOOL, true, 0},
    {"ON", VALUE_BOOL, true, 0},
    {"false", VALUE_BOOL, false, 0},
    {"False", VALUE_BOOL, false, 0},
    {"FALSE", VALUE_BOOL, false, 0},
    {"no", VALUE_BOOL, false, 0},
    {"No", VALUE_BOOL, false, 0},
    {"NO", VALUE_BOOL, false, 0},
    {"off", VALUE_BOOL, false, 0},
    {"Off", VALUE_BOOL, false, 0},
    {"OFF", VALUE_BOOL, false, 0},
    {".nan", VALUE_FLOAT, false, NAN},
    {".NaN", VALUE_FLOAT, false, NAN},
    {".NAN", VALUE_FLOAT, false, NAN},
    {".inf", VALUE_FLOAT, false, INFINITY},
    {".Inf", VALUE_FLOAT, false, INFINITY},
    {".INF", VALUE_FLOAT, false, INFINITY},
    {"+.inf", VALUE_FLOAT, false, INFINITY},
    {"+.Inf", VALUE_FLOAT, false, INFINITY},
    {"+.INF", VALUE_FLOAT, false, INFINITY},
    {"-.inf", VALUE_FLOAT, false, -INFINITY},
    {"-.Inf", VALUE_FLOAT, false, -INFINITY},
    {"-.INF", VALUE_FLOAT, false, -INFINITY},
};

enum { WORD_MAX = 5, NUMBER_MAX = 350 };

static bool resolve_word(struct text typed, struct value *out)
{
    if (typed.len > WORD_MAX)
        return false;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (typed.at[0] != words[i].typed[0] || !text_is(typed, words[i].typed))
            continue;
        out->type = words[i].type;
        if (out->type == VALUE_BOOL)
            out->boolean = words[i].boolean;
        else if (out->type == VALUE_FLOAT)
            out->real = words[i].real;
        return true;
    }
    return false;
}

void scalar_set_real(struct value *out, double real)
{
    bool is_whole = real >= -0x1p53 && real <= 0x1p53 && (double)(int64_t)real == real;
    out->type = is_whole ? VALUE_INT : VALUE_FLOAT;
    if (is_whole)
        out->integer = (int64_t)real;
    else
        out->real = real;
}

static unsigned take_base(const char **at)
{
    const char *digits = *at;
    if (digits[0] != '0' || !digits[1])
        return 10;
    *at += 2;
    switch (digits[1] | 0x20) {
    case 'x':
        return 16;
    case 'o':
        return 8;
    case 'b':
        return 2;
    default:
        *at = digits + 1;
        return 8;
    }
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

// strconv.ParseInt and ParseUint with base 0.
static bool resolve_int(const char *typed, struct value *out)
{
    const char *at = typed;
    bool is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    unsigned base = take_base(&at);
    uint64_t sum = 0;
    if (!*at)
        return false;
    for (; *at; at++) {
        unsigned digit = digit_of(*at);
        if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    uint64_t limit = (uint64_t)INT64_MAX + is_negative;
    if (sum > limit && is_negative)
        return false;
    if (sum > limit) {
        scalar_set_real(out, (double)sum);
        return true;
    }
    out->type = VALUE_INT;
    out->integer = is_negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

static size_t skip_digits(const char **at)
{
    size_t len = strspn(*at, "0123456789");
    *at += len;
    return len;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
static bool is_float(const char *at)
{
    at += *at == '-' || *at == '+';
    size_t whole = skip_digits(&at);
    if (*at == '.') {
        at++;
        if (!skip_digits(&at) && !whole)
            return false;
    } else if (!whole) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (!skip_digits(&at))
            return false;
    }
    return !*at;
}

static bool resolve_float(const char *typed, struct value *out)
{
    if (!is_float(typed))
        return false;
    double real = strtod(typed, NULL);
    if (!isfinite(real))
        return false;
    scalar_set_real(out, real);
    return true;
}

// Go drops every underscore of a number, but behind a leading point takes them between digits only.
static bool is_underscore_lost(struct text typed, size_t i)
{
    return typed.at[0] != '.' || (i > 0 && i + 1 < typed.len && digit_of(typed.at[i - 1]) < 10 &&
                                  digit_of(typed.at[i + 1]) < 10);
}

static void resolve_number(struct text typed, struct value *out)
{
    char plain[NUMBER_MAX + 1];
    size_t len = 0;
    if (typed.len > NUMBER_MAX || memchr(typed.at, 0, typed.len))
        return;
    for (size_t i = 0; i < typed.len; i++) {
        if (typed.at[i] != '_')
            plain[len++] = typed.at[i];
        else if (!is_underscore_lost(typed, i))
            return;
    }
    plain[len] = 0;
    if (!resolve_int(plain, out))
        resolve_float(plain, out);
}

void scalar_resolve(struct text typed, struct value *out)
{
    out->type = VALUE_TEXT;
    out->text = typed;
    if (typed.len == 0)
        out->type = VALUE_NULL;
    else if (strchr("0123456789+-.", typed.at[0])) {
        if (!resolve_word(typed, out))
            resolve_number(typed, out);
    } else if (strchr("yYnNtTfFoO~", typed.at[0])) {
        resolve_word(typed, out);
    }
}
