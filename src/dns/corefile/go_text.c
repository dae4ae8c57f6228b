#include <arpa/inet.h>
#include <string.h>

#include "base/when.h"
#include "dns/corefile/setup.h"

// Numbers, durations and addresses as Go's library reads them, with its words for what is wrong.

enum {
    IP_TEXT_MAX = 64,
    DOMAIN_OCTETS_MAX = 256, // one more than the DNS allows: CoreDNS does not count the root
};

const char *go_quote(struct arena *arena, struct text text)
{
    AUTO_BUFFER out = {0};
    buffer_add_char(&out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            buffer_printf(&out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            buffer_printf(&out, "\\x%02x", c);
        else
            buffer_add_char(&out, (char)c);
    }
    buffer_add_char(&out, '"');
    return arena_copy(arena, out.at, out.len);
}

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

static bool fail_number(struct setup *setup, const char *function, struct text text,
                        const char *why)
{
    return setup_fail(setup, "number", "strconv.%s: parsing %s: %s", function,
                      go_quote(setup->linter->arena, text), why);
}

// Only digits, as base 10 has no underscores. *is_large: it does not fit.
static bool read_digits(struct text text, uint64_t most, uint64_t *out, bool *is_large)
{
    uint64_t number = 0;
    if (!text.len || digits_at(text, 0) != text.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint64_t digit = (uint64_t)(text.at[i] - '0');
        *is_large = *is_large || number > (most - digit) / 10;
        number = *is_large ? 0 : number * 10 + digit;
    }
    *out = number;
    return true;
}

bool go_int(struct setup *setup, struct text text, int64_t *out)
{
    struct text digits = text;
    uint64_t number = 0;
    bool is_large = false;
    bool is_negative = text_starts(text, "-");
    if (is_negative || text_starts(text, "+"))
        digits = (struct text){text.at + 1, text.len - 1};
    if (!read_digits(digits, (uint64_t)INT64_MAX + is_negative, &number, &is_large))
        return fail_number(setup, "Atoi", text, "invalid syntax");
    if (is_large)
        return fail_number(setup, "Atoi", text, "value out of range");
    *out = is_negative ? (int64_t)-number : (int64_t)number;
    return true;
}

bool go_uint(struct setup *setup, struct text text, unsigned bits, uint64_t *out)
{
    uint64_t number = 0;
    bool is_large = false;
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (!read_digits(text, most, &number, &is_large))
        return fail_number(setup, "ParseUint", text, "invalid syntax");
    if (is_large)
        return fail_number(setup, "ParseUint", text, "value out of range");
    *out = number;
    return true;
}

// ---- durations ----------------------------------------------------------------------------------

static bool is_unit(struct text text)
{
    static const char *const units[] = {"ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h"};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (text_is(text, units[i]))
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

// ---- addresses ----------------------------------------------------------------------------------

// net.ParseIP: no zone, and no leading zeroes in IPv4.
static int ip_family(struct text text)
{
    char copy[IP_TEXT_MAX];
    uint8_t octets[16];
    if (!text.len || text.len >= sizeof copy || memchr(text.at, '\0', text.len))
        return 0;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, octets) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, copy, octets) == 1 ? AF_INET6 : 0;
}

bool go_is_ip(struct text text)
{
    return ip_family(text) != 0;
}

bool go_is_cidr(struct text text)
{
    const char *slash = text.len ? memchr(text.at, '/', text.len) : NULL;
    if (!slash)
        return false;
    struct text address = {text.at, (size_t)(slash - text.at)};
    struct text bits = {slash + 1, text.len - address.len - 1};
    int family = ip_family(address);
    int64_t number;
    if (!family || !bits.len || digits_at(bits, 0) != bits.len || !text_to_int64(bits, &number))
        return false;
    return number <= (family == AF_INET ? 32 : 128);
}

static const char *address_error(struct arena *arena, struct text text, const char *why)
{
    return arena_printf(arena, "address %.*s: %s", TEXT_ARGS(text), why);
}

static const char *find_char(struct text text, char c)
{
    return text.len ? memchr(text.at, c, text.len) : NULL;
}

const char *go_split_host_port(struct arena *arena, struct text text, struct text *host,
                               struct text *port)
{
    const char *end = text.at + text.len;
    const char *colon = text.len ? memrchr(text.at, ':', text.len) : NULL;
    const char *from = text.at; // where another bracket may not stand
    const char *close_from = text.at;
    if (!colon)
        return address_error(arena, text, "missing port in address");
    if (*text.at == '[') {
        const char *close = find_char(text, ']');
        if (!close)
            return address_error(arena, text, "missing ']' in address");
        if (close + 1 == end)
            return address_error(arena, text, "missing port in address");
        if (close + 1 != colon)
            return address_error(arena, text,
                                 close[1] == ':' ? "too many colons in address"
                                                 : "missing port in address");
        *host = (struct text){text.at + 1, (size_t)(close - text.at) - 1};
        from = text.at + 1;
        close_from = close + 1;
    } else {
        *host = (struct text){text.at, (size_t)(colon - text.at)};
        if (find_char(*host, ':'))
            return address_error(arena, text, "too many colons in address");
    }
    if (find_char((struct text){from, (size_t)(end - from)}, '['))
        return address_error(arena, text, "unexpected '[' in address");
    if (find_char((struct text){close_from, (size_t)(end - close_from)}, ']'))
        return address_error(arena, text, "unexpected ']' in address");
    *port = (struct text){colon + 1, (size_t)(end - colon) - 1};
    return NULL;
}

// ---- names --------------------------------------------------------------------------------------

// Octets that an escape takes, and how many of them show one octet: \DDD or \X.
static size_t escape_len(struct text text, size_t at)
{
    bool is_number = at + 3 < text.len && is_digit(text.at[at + 1]) && is_digit(text.at[at + 2]) &&
                     is_digit(text.at[at + 3]);
    return is_number ? 4 : 2;
}

bool go_is_domain_name(struct text text)
{
    size_t label = 0;
    size_t octets = 0;
    bool was_dot = false;
    if (!text.len)
        return false;
    if (text_is(text, "."))
        return true;
    for (size_t at = 0; at < text.len;) {
        if (text.at[at] == '.') {
            if (was_dot || at == 0 || label > 63)
                return false;
            octets += label + 1;
            was_dot = true;
            label = 0;
            at++;
            continue;
        }
        was_dot = false;
        bool is_escape = text.at[at] == '\\';
        if (is_escape && at + 1 >= text.len)
            return false;
        at += is_escape ? escape_len(text, at) : 1;
        label++;
    }
    octets += label ? label + 1 : 0;
    return label <= 63 && octets <= DOMAIN_OCTETS_MAX;
}
