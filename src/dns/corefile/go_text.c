#include "dns/corefile/go_text.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/must.h"

// Texts, addresses and names as Go's library reads them, with its words for what is wrong.

enum {
    IP_TEXT_MAX = 64,
    DOMAIN_OCTETS_MAX = 256, // one more than the DNS allows: CoreDNS does not count the root
};

// Blanks that are no ASCII, and marks without a width: Go prints neither.
static bool is_printed(uint32_t code_point)
{
    static const struct range {
        uint32_t first;
        uint32_t last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},     {0x1680, 0x1680}, {0x2000, 0x200f},
        {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
    };
    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return false;
    return true;
}

static void quote_hidden(struct buffer *out, uint32_t code_point)
{
    static const char letters[] = "abtnvfr"; // of 7 to 13
    if (code_point >= '\a' && code_point <= '\r')
        buffer_printf(out, "\\%c", letters[code_point - '\a']);
    else if (code_point < ' ' || code_point == 0x7f)
        buffer_printf(out, "\\x%02x", code_point);
    else
        buffer_printf(out, "\\u%04x", code_point);
}

const char *go_quote(struct arena *arena, struct text text)
{
    AUTO_BUFFER out = {0};
    buffer_add_char(&out, '"');
    while (text.len) {
        uint32_t code_point = 0;
        size_t len = utf8_decode(text, &code_point);
        if (!len)
            buffer_printf(&out, "\\x%02x", (unsigned char)*text.at);
        else if (code_point == '"' || code_point == '\\')
            buffer_printf(&out, "\\%c", *text.at);
        else if (is_printed(code_point))
            buffer_add(&out, text.at, len);
        else
            quote_hidden(&out, code_point);
        len += !len;
        text = (struct text){text.at + len, text.len - len};
    }
    buffer_add_char(&out, '"');
    return arena_copy(arena, out.at, out.len);
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

struct text go_lower(struct arena *arena, struct text text)
{
    char *out = arena_new_array(arena, char, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        out[i] = lower(text.at[i]);
    return (struct text){out, text.len};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_number(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_digit(text.at[i]))
            return false;
    return text.len > 0;
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
    if (!family || !is_number(bits) || !text_to_int64(bits, &number))
        return false;
    return number <= (family == AF_INET ? 32 : 128);
}

enum { OCTET_BITS = 8 };

static void clear_host_bits(uint8_t *octets, unsigned bits, unsigned prefix)
{
    for (unsigned bit = prefix; bit < bits; bit++)
        octets[bit / OCTET_BITS] &= (uint8_t) ~(0x80u >> bit % OCTET_BITS);
}

bool go_network_read(struct arena *arena, struct text text, struct go_network *out)
{
    char copy[IP_TEXT_MAX];
    char shown[INET6_ADDRSTRLEN];
    uint8_t octets[16];
    int64_t prefix = 0;
    if (!go_is_cidr(text))
        return false;
    const char *slash = memchr(text.at, '/', text.len);
    struct text address = {text.at, (size_t)(slash - text.at)};
    int family = ip_family(address);
    memcpy(copy, address.at, address.len);
    copy[address.len] = '\0';
    must(inet_pton(family, copy, octets) == 1);
    text_to_int64((struct text){slash + 1, text.len - address.len - 1}, &prefix);
    unsigned bits = family == AF_INET ? 32 : 128;
    clear_host_bits(octets, bits, (unsigned)prefix);
    must(inet_ntop(family, octets, shown, sizeof shown));
    *out = (struct go_network){bits, (unsigned)prefix,
                               arena_printf(arena, "%s/%u", shown, (unsigned)prefix)};
    return true;
}

// Go does not name an address that is empty.
static const char *address_error(struct arena *arena, struct text text, const char *why)
{
    return arena && text.len ? arena_printf(arena, "address %.*s: %s", TEXT_ARGS(text), why) : why;
}

static const char *find_char(struct text text, char c)
{
    return text.len ? memchr(text.at, c, text.len) : NULL;
}

// What is wrong with "[HOST]:PORT". NULL: nothing.
static const char *bracket_fault(struct text text, const char *colon)
{
    const char *end = text.at + text.len;
    const char *close = find_char(text, ']');
    if (!close)
        return "missing ']' in address";
    if (close + 1 == colon)
        return NULL;
    return close + 1 < end && close[1] == ':' ? "too many colons in address"
                                              : "missing port in address";
}

const char *go_split_host_port(struct arena *arena, struct text text, struct text *host,
                               struct text *port)
{
    const char *end = text.at + text.len;
    const char *colon = text.len ? memrchr(text.at, ':', text.len) : NULL;
    if (!colon)
        return address_error(arena, text, "missing port in address");
    bool has_brackets = *text.at == '[';
    const char *fault = has_brackets ? bracket_fault(text, colon) : NULL;
    if (fault)
        return address_error(arena, text, fault);
    const char *close = has_brackets ? find_char(text, ']') : text.at;
    struct text name = {text.at + has_brackets, (size_t)(colon - text.at) - 2 * has_brackets};
    if (!has_brackets && find_char(name, ':'))
        return address_error(arena, text, "too many colons in address");
    if (find_char((struct text){text.at + has_brackets, text.len - has_brackets}, '['))
        return address_error(arena, text, "unexpected '[' in address");
    close += has_brackets;
    if (find_char((struct text){close, (size_t)(end - close)}, ']'))
        return address_error(arena, text, "unexpected ']' in address");
    *host = name;
    *port = (struct text){colon + 1, (size_t)(end - colon) - 1};
    return NULL;
}

struct text go_without_zone(struct text host)
{
    const char *percent = host.len ? memrchr(host.at, '%', host.len) : NULL;
    return percent ? (struct text){host.at, (size_t)(percent - host.at)} : host;
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
