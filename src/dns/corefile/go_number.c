#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "dns/corefile/setup.h"

// Numbers and durations as Go's library reads them, with its words for what is wrong.

enum { NUMBER_TEXT_MAX = 400 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_at(struct text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.len && is_digit(text.at[at + count]))
        count++;
    return count;
}

static struct text skip(struct text text, size_t len)
{
    return (struct text){text.at + len, text.len - len};
}

static const char invalid_syntax[] = "invalid syntax";
static const char out_of_range[] = "value out of range";

static unsigned digit_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 'a' - 'A' : c) : NULL;
    return found ? (unsigned)(found - digits) : UINT8_MAX;
}

// Digits alone. NULL, or why not.
static const char *read_digits(struct text text, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    bool is_large = false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = digit_value(text.at[i]);
        if (digit >= base)
            return invalid_syntax;
        is_large = is_large || digit > most || number > (most - digit) / base;
        number = is_large ? 0 : number * base + digit;
    }
    if (!text.len || is_large)
        return text.len ? out_of_range : invalid_syntax;
    *out = number;
    return NULL;
}

static const char *read_int(struct text text, int64_t *out)
{
    uint64_t number = 0;
    bool is_negative = text_starts(text, "-");
    struct text digits = is_negative || text_starts(text, "+") ? skip(text, 1) : text;
    const char *fault = read_digits(digits, 10, (uint64_t)INT64_MAX + is_negative, &number);
    if (!fault)
        *out = is_negative ? (int64_t)-number : (int64_t)number;
    return fault;
}

bool go_read_int(struct text text, int64_t *out)
{
    return !read_int(text, out);
}

const char *go_int_error(struct arena *arena, struct text text, int64_t *out)
{
    const char *fault = read_int(text, out);
    return fault ? arena_printf(arena, "strconv.Atoi: parsing %s: %s", go_quote(arena, text), fault)
                 : NULL;
}

bool go_int(struct setup *setup, struct text text, int64_t *out)
{
    const char *fault = go_int_error(setup->linter->arena, text, out);
    return !fault || setup_fail(setup, "number", "%s", fault);
}

static uint64_t largest(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static const char *uint_error(struct arena *arena, struct text text, const char *fault)
{
    return arena_printf(arena, "strconv.ParseUint: parsing %s: %s", go_quote(arena, text), fault);
}

const char *go_uint_error(struct arena *arena, struct text text, unsigned bits, uint64_t *out)
{
    const char *fault = read_digits(text, 10, largest(bits), out);
    return fault ? uint_error(arena, text, fault) : NULL;
}

bool go_uint(struct setup *setup, struct text text, unsigned bits, uint64_t *out)
{
    const char *fault = go_uint_error(setup->linter->arena, text, bits, out);
    return !fault || setup_fail(setup, "number", "%s", fault);
}

// The base that the beginning of a number names; *len: of what names it.
static unsigned base_of(struct text text, size_t *len)
{
    static const struct prefix {
        const char *text;
        unsigned base;
    } prefixes[] = {{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8}, {"0b", 2}, {"0B", 2}};
    *len = 0;
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (text.len > 2 && text_starts(text, prefixes[i].text)) {
            *len = 2;
            return prefixes[i].base;
        }
    if (text.len < 2 || *text.at != '0')
        return 10;
    *len = 1;
    return 8;
}

// Without the underscores, which stand between digits, or behind the base. False: elsewhere.
static bool drop_underscores(struct arena *arena, struct text number, bool has_base,
                             struct text *out)
{
    char *copy = arena_new_array(arena, char, number.len + 1);
    size_t len = 0;
    bool was_digit = has_base;
    for (size_t i = 0; i < number.len; i++) {
        char c = number.at[i];
        bool is_before_digit = i + 1 < number.len && digit_value(number.at[i + 1]) < UINT8_MAX;
        if (c == '_' && (!was_digit || !is_before_digit))
            return false;
        if (c != '_')
            copy[len++] = c;
        was_digit = digit_value(c) < UINT8_MAX;
    }
    *out = (struct text){copy, len};
    return true;
}

bool go_uint_of_any_base(struct setup *setup, struct text text, unsigned bits, uint64_t *out)
{
    size_t len;
    struct arena *arena = setup->linter->arena;
    unsigned base = base_of(text, &len);
    struct text digits;
    const char *fault = drop_underscores(arena, skip(text, len), len > 0, &digits)
                            ? read_digits(digits, base, largest(bits), out)
                            : invalid_syntax;
    return !fault || setup_fail(setup, "number", "%s", uint_error(arena, text, fault));
}

// ---- fractions ----------------------------------------------------------------------------------

// "1", "1.5", ".5", "1.", "1e3": what stands in front of an exponent, and it.
static bool is_decimal(struct text text)
{
    size_t whole = digits_at(text, 0);
    size_t at = whole;
    size_t fraction = 0;
    if (at < text.len && text.at[at] == '.') {
        fraction = digits_at(text, at + 1);
        at += 1 + fraction;
    }
    if (!whole && !fraction)
        return false;
    if (at < text.len && (text.at[at] == 'e' || text.at[at] == 'E')) {
        at++;
        at += at < text.len && (text.at[at] == '+' || text.at[at] == '-');
        size_t digits = digits_at(text, at);
        if (!digits)
            return false;
        at += digits;
    }
    return at == text.len;
}

static const char *read_float32(struct arena *arena, struct text text, double *out)
{
    char copy[NUMBER_TEXT_MAX];
    if (!drop_underscores(arena, text, false, &text))
        return invalid_syntax;
    bool has_sign = text_starts(text, "+") || text_starts(text, "-");
    struct text number = skip(text, has_sign);
    bool is_infinite =
        text_equal_nocase(number, TEXT("inf")) || text_equal_nocase(number, TEXT("infinity"));
    bool is_nan = !has_sign && text_equal_nocase(number, TEXT("nan"));
    if ((!is_infinite && !is_nan && !is_decimal(number)) || text.len >= sizeof copy)
        return invalid_syntax;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    double value = strtod(copy, NULL);
    if (!is_infinite && (value > (double)FLT_MAX || value < -(double)FLT_MAX))
        return out_of_range;
    *out = value;
    return NULL;
}

const char *go_float_error(struct arena *arena, struct text text, double *out)
{
    const char *fault = read_float32(arena, text, out);
    return fault ? arena_printf(arena, "strconv.ParseFloat: parsing %s: %s", go_quote(arena, text),
                                fault)
                 : NULL;
}

// ---- durations ----------------------------------------------------------------------------------

static bool is_unit(struct text text)
{
    static const char *const names[] = {"ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (text_is(text, names[i]))
            return true;
    return false;
}

// The words of Go for a text that is no duration.
static const char *duration_fault(struct arena *arena, struct text text)
{
    const char *whole = go_quote(arena, text);
    size_t at = text_starts(text, "-") || text_starts(text, "+");
    while (at < text.len) {
        size_t digits = digits_at(text, at);
        at += digits;
        if (at < text.len && text.at[at] == '.') {
            size_t fraction = digits_at(text, at + 1);
            digits += fraction;
            at += 1 + fraction;
        }
        if (!digits)
            break;
        size_t start = at;
        while (at < text.len && text.at[at] != '.' && !is_digit(text.at[at]))
            at++;
        struct text unit = {text.at + start, at - start};
        if (!unit.len)
            return arena_printf(arena, "time: missing unit in duration %s", whole);
        if (!is_unit(unit))
            return arena_printf(arena, "time: unknown unit %s in duration %s",
                                go_quote(arena, unit), whole);
    }
    return arena_printf(arena, "time: invalid duration %s", whole);
}

const char *go_duration_error(struct arena *arena, struct text text, int64_t *out_ns)
{
    struct error err;
    return duration_parse_ns(text, out_ns, &err) ? NULL : duration_fault(arena, text);
}

bool go_duration(struct setup *setup, struct text text, int64_t *out_ns)
{
    const char *fault = go_duration_error(setup->linter->arena, text, out_ns);
    return !fault || setup_fail(setup, "duration", "%s", fault);
}

static const struct unit {
    uint64_t ns;
    int digits; // behind the point
    const char *name;
} units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "\xc2\xb5s"}, {1, 0, "ns"}};

// "1.5s", "0.5s" behind minutes.
static void write_in_unit(struct buffer *out, uint64_t ns, const struct unit *unit)
{
    char digits[24];
    uint64_t fraction = ns % unit->ns;
    int len = snprintf(digits, sizeof digits, "%0*llu", unit->digits, (unsigned long long)fraction);
    while (len && digits[len - 1] == '0')
        len--;
    buffer_add_number(out, ns / unit->ns);
    if (fraction)
        buffer_printf(out, ".%.*s", len, digits);
    buffer_add_text(out, unit->name);
}

const char *go_duration_text(struct arena *arena, int64_t ns)
{
    enum { MINUTE = 60 };
    AUTO_BUFFER out = {0};
    const struct unit *unit = units;
    uint64_t rest = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    uint64_t minutes = rest / units->ns / MINUTE;
    rest -= minutes * MINUTE * units->ns;
    if (ns < 0)
        buffer_add_char(&out, '-');
    if (minutes >= MINUTE)
        buffer_printf(&out, "%lluh", (unsigned long long)(minutes / MINUTE));
    if (minutes)
        buffer_printf(&out, "%llum", (unsigned long long)(minutes % MINUTE));
    while (ns && !minutes && rest < unit->ns)
        unit++;
    write_in_unit(&out, rest, unit);
    return arena_copy(arena, out.at, out.len);
}
