#include <arpa/inet.h>
#include <string.h>

#include "base/must.h"
#include "dns/record.h"

enum { VALUE_OCTETS_MAX = 4096, MULTICAST_NET = 224 };

#define REASON "ValidationFailed"

typedef bool normalise_value(struct arena *arena, struct text text, struct text *out,
                             struct error *err);

static bool to_in6(struct text text, struct in6_addr *address)
{
    char terminated[INET6_ADDRSTRLEN];
    if (text.len >= sizeof terminated)
        return false;
    memcpy(terminated, text.at, text.len);
    terminated[text.len] = '\0';
    return strlen(terminated) == text.len && inet_pton(AF_INET6, terminated, address) == 1;
}

static bool is_mapped(struct text text, char quad[INET_ADDRSTRLEN])
{
    struct in6_addr address;
    if (!to_in6(text, &address) || !IN6_IS_ADDR_V4MAPPED(&address))
        return false;
    must(inet_ntop(AF_INET, &address.s6_addr[12], quad, INET_ADDRSTRLEN));
    return true;
}

static struct text keep(struct arena *arena, struct text text)
{
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

static bool refuse_colons(struct text text, struct error *err)
{
    char quad[INET_ADDRSTRLEN];
    if (is_mapped(text, quad))
        return error_set(err, FAULT_SPEC, REASON, "it is an IPv4-mapped IPv6 address: write %s",
                         quad);
    return error_set(err, FAULT_SPEC, REASON,
                     "IPv6 addresses belong into AAAA records: write four numbers with dots");
}

static bool check_quad_part(struct text part, struct error *err)
{
    for (size_t i = 0; i < part.len; i++) {
        if (part.at[i] < '0' || part.at[i] > '9')
            return error_set(err, FAULT_SPEC, REASON, "write four numbers with dots, as 192.0.2.1");
    }
    if (part.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "a number is missing beside a dot");
    if (part.len > 1 && part.at[0] == '0')
        return error_set(err, FAULT_SPEC, REASON, "leading zeros are not allowed");
    int64_t number;
    if (!text_to_int64(part, &number) || number > 255)
        return error_set(err, FAULT_SPEC, REASON, "each number is at most 255");
    return true;
}

static bool normalise_a(struct arena *arena, struct text text, struct text *out, struct error *err)
{
    if (memchr(text.at, ':', text.len))
        return refuse_colons(text, err);
    struct text rest = text, part;
    size_t parts = 0;
    for (; text_cut(&rest, '.', &part); parts++) {
        if (!check_quad_part(part, err))
            return false;
    }
    if (parts != 4)
        return error_set(err, FAULT_SPEC, REASON,
                         "it has %zu numbers: write four with dots, as 192.0.2.1", parts);
    *out = keep(arena, text);
    return true;
}

static bool normalise_aaaa(struct arena *arena, struct text text, struct text *out,
                           struct error *err)
{
    char quad[INET_ADDRSTRLEN];
    struct in6_addr address;
    if (memchr(text.at, '%', text.len))
        return error_set(err, FAULT_SPEC, REASON, "remove the zone id behind '%%'");
    if (memchr(text.at, '/', text.len))
        return error_set(err, FAULT_SPEC, REASON, "remove the prefix length behind '/'");
    if (is_mapped(text, quad))
        return error_set(err, FAULT_SPEC, REASON,
                         "it is an IPv4-mapped address: put %s into an A record", quad);
    if (to_in6(text, &address)) {
        *out = keep(arena, text);
        return true;
    }
    if (!memchr(text.at, ':', text.len))
        return error_set(err, FAULT_SPEC, REASON,
                         "it has no ':': IPv4 addresses belong into A records");
    return error_set(err, FAULT_SPEC, REASON,
                     "write eight groups of hex digits with ':', as 2001:db8::1");
}

static bool normalise_name(struct arena *arena, struct text text, struct text *out,
                           struct error *err)
{
    return target_normalise(arena, text, false, out, err);
}

static bool normalise_name_or_root(struct arena *arena, struct text text, struct text *out,
                                   struct error *err)
{
    return target_normalise(arena, text, true, out, err);
}

static bool is_control(uint32_t code_point)
{
    return (code_point < 0x20 && code_point != '\t') || (code_point >= 0x7f && code_point < 0xa0);
}

static bool normalise_txt(struct arena *arena, struct text text, struct text *out,
                          struct error *err)
{
    struct text rest = text;
    while (rest.len > 0) {
        uint32_t code_point;
        size_t len = utf8_decode(rest, &code_point);
        size_t octet = text.len - rest.len + 1;
        if (len == 0)
            return error_set(err, FAULT_SPEC, REASON, "octet %zu is not valid UTF-8", octet);
        if (is_control(code_point))
            return error_set(err, FAULT_SPEC, REASON,
                             "octet %zu is a control character (U+%04X): remove it, only tabs are "
                             "allowed",
                             octet, (unsigned)code_point);
        rest = (struct text){rest.at + len, rest.len - len};
    }
    *out = keep(arena, text);
    return true;
}

static const struct {
    const char *noun;
    normalise_value *normalise;
} rules[RECORD_TYPES] = {
    [RECORD_A] = {"IPv4 address", normalise_a},
    [RECORD_AAAA] = {"IPv6 address", normalise_aaaa},
    [RECORD_CNAME] = {"domain name", normalise_name},
    [RECORD_TXT] = {"text", normalise_txt},
    [RECORD_MX] = {"domain name", normalise_name_or_root},
    [RECORD_SRV] = {"domain name", normalise_name_or_root},
    [RECORD_NS] = {"domain name", normalise_name},
    [RECORD_PTR] = {"domain name", normalise_name},
};

const char *record_value_noun(enum record_type type)
{
    must(type < RECORD_TYPES);
    return rules[type].noun;
}

bool record_value_normalise(struct arena *arena, enum record_type type, struct text text,
                            struct text *out, struct error *err)
{
    must(type < RECORD_TYPES);
    if (text.len == 0)
        return error_set(err, FAULT_SPEC, REASON, "it is empty");
    if (text.len > VALUE_OCTETS_MAX)
        return error_set(err, FAULT_SPEC, REASON, "it has %zu octets: at most %d are allowed",
                         text.len, VALUE_OCTETS_MAX);
    return rules[type].normalise(arena, text, out, err);
}

static bool is_of_no_host_4(struct text quad)
{
    struct text first;
    int64_t number;
    return text_cut(&quad, '.', &first) && text_to_int64(first, &number) &&
           (!number || number >= MULTICAST_NET);
}

static bool is_of_no_host_6(struct text text)
{
    struct in6_addr address;
    return to_in6(text, &address) &&
           (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address));
}

bool record_value_is_of_no_host(enum record_type type, struct text value)
{
    return (type == RECORD_A && is_of_no_host_4(value)) ||
           (type == RECORD_AAAA && is_of_no_host_6(value));
}

static struct text canonical_address(struct arena *arena, struct text value)
{
    struct in6_addr address;
    char written[INET6_ADDRSTRLEN];
    if (!to_in6(value, &address))
        return value;
    must(inet_ntop(AF_INET6, &address, written, sizeof written));
    return keep(arena, text_of(written));
}

static struct text canonical_name(struct arena *arena, struct text value)
{
    size_t len = value.len > 1 && text_ends(value, ".") ? value.len - 1 : value.len;
    char *lower = arena_copy(arena, value.at, len);
    for (size_t i = 0; i < len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    return (struct text){lower, len};
}

struct text record_value_canonical(struct arena *arena, enum record_type type, struct text value)
{
    must(type < RECORD_TYPES);
    if (type == RECORD_AAAA)
        return canonical_address(arena, value);
    if (type == RECORD_A || type == RECORD_TXT || value.len == 0)
        return value;
    return canonical_name(arena, value);
}
