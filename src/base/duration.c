#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/when.h"

// The numbers are those of time.ParseDuration: one octet of text more or less never decides
// otherwise here than there.

enum { NS_IN_MS = 1000 * 1000 };

static const uint64_t most = UINT64_C(1) << 63;

struct unit {
    const char *name;
    uint64_t ns;
};

static const struct unit units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000}, // micro sign
    {"\xce\xbcs", 1000}, // Greek mu
    {"ms", 1000 * 1000},
    {"s", 1000 * 1000 * 1000},
    {"m", UINT64_C(60) * 1000 * 1000 * 1000},
    {"h", UINT64_C(3600) * 1000 * 1000 * 1000},
};

static const struct unit *find_unit(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (text_is(name, units[i].name))
            return &units[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip(struct text *rest, size_t len)
{
    rest->at += len;
    rest->len -= len;
}

// False on overflow.
static bool take_whole(struct text *rest, uint64_t *out)
{
    uint64_t number = 0;
    for (; rest->len && is_digit(*rest->at); skip(rest, 1)) {
        if (number > most / 10)
            return false;
        number = number * 10 + (uint64_t)(*rest->at - '0');
        if (number > most)
            return false;
    }
    *out = number;
    return true;
}

// Digits that no longer fit are skipped: they are too small to matter.
static void take_fraction(struct text *rest, uint64_t *out, double *scale)
{
    uint64_t number = 0;
    bool is_full = false;
    *scale = 1;
    for (; rest->len && is_digit(*rest->at); skip(rest, 1)) {
        is_full = is_full || number > (most - 1) / 10;
        if (is_full)
            continue;
        uint64_t next = number * 10 + (uint64_t)(*rest->at - '0');
        is_full = next > most;
        if (is_full)
            continue;
        number = next;
        *scale *= 10;
    }
    *out = number;
}

static struct text take_unit(struct text *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->at[len] != '.' && !is_digit(rest->at[len]))
        len++;
    struct text name = {rest->at, len};
    skip(rest, len);
    return name;
}

static bool refuse(struct error *err, struct text whole, const char *why)
{
    struct text shown = utf8_prefix(whole, 64);
    return error_set(err, FAULT_SPEC, "InvalidDuration",
                     "\"%.*s\" is not a duration: %s; write it as 300ms, 90s or 1h30m",
                     TEXT_ARGS(shown), why);
}

// Takes one number with its unit; NULL, or what is wrong.
static const char *take_part(struct text *rest, uint64_t *ns)
{
    uint64_t whole;
    uint64_t fraction = 0;
    double scale = 1;
    size_t before = rest->len;
    if (!take_whole(rest, &whole))
        return "it is too long";
    bool has_digits = rest->len < before;
    if (rest->len && *rest->at == '.') {
        skip(rest, 1);
        before = rest->len;
        take_fraction(rest, &fraction, &scale);
        has_digits = has_digits || rest->len < before;
    }
    if (!has_digits)
        return "a number is missing";
    struct text name = take_unit(rest);
    if (name.len == 0)
        return "the unit is missing";
    const struct unit *unit = find_unit(name);
    if (!unit)
        return "the unit is unknown";
    if (whole > most / unit->ns)
        return "it is too long";
    *ns = whole * unit->ns;
    if (fraction)
        *ns += (uint64_t)((double)fraction * ((double)unit->ns / scale));
    return *ns > most ? "it is too long" : NULL;
}

bool duration_parse_ns(struct text text, int64_t *ns, struct error *err)
{
    struct text rest = text;
    bool is_negative = text_starts(rest, "-");
    uint64_t total = 0;
    if (is_negative || text_starts(rest, "+"))
        skip(&rest, 1);
    if (rest.len == 0)
        return refuse(err, text, "it is empty");
    bool is_bare_zero = text_is(rest, "0");
    while (rest.len && !is_bare_zero) {
        uint64_t part;
        const char *fault = take_part(&rest, &part);
        if (fault)
            return refuse(err, text, fault);
        total += part;
        if (total > most)
            return refuse(err, text, "it is too long");
    }
    if (total == most && !is_negative)
        return refuse(err, text, "it is too long");
    *ns = is_negative ? (int64_t)-total : (int64_t)total;
    return true;
}

bool duration_parse(struct text text, int64_t *ms, struct error *err)
{
    int64_t ns = 0;
    if (!duration_parse_ns(text, &ns, err))
        return false;
    *ms = ns / NS_IN_MS;
    return true;
}

static size_t write_seconds(char *out, size_t size, uint64_t ms)
{
    size_t len =
        (size_t)snprintf(out, size, "%u.%03u", (unsigned)(ms / 1000), (unsigned)(ms % 1000));
    while (out[len - 1] == '0')
        len--;
    if (out[len - 1] == '.')
        len--;
    out[len++] = 's';
    out[len] = '\0';
    return len;
}

void duration_write(int64_t ms, char out[WHEN_TEXT_MAX])
{
    uint64_t left = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;
    size_t len = 0;
    if (ms < 0)
        out[len++] = '-';
    if (left > 0 && left < 1000) {
        snprintf(out + len, WHEN_TEXT_MAX - len, "%ums", (unsigned)left);
        return;
    }
    uint64_t hours = left / 3600000;
    unsigned minutes = (unsigned)(left / 60000 % 60);
    left %= 60000;
    if (hours)
        len += (size_t)snprintf(out + len, WHEN_TEXT_MAX - len, "%lluh", (unsigned long long)hours);
    if (minutes)
        len += (size_t)snprintf(out + len, WHEN_TEXT_MAX - len, "%um", minutes);
    if (left || ms == 0)
        len += write_seconds(out + len, WHEN_TEXT_MAX - len, left);
    out[len] = '\0';
}
