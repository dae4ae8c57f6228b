#include "dns/corefile/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "dns/corefile/setup.h"

enum { OCTET_BITS = 8, NIBBLE_BITS = 4, PORT_TEXT_MAX = 8 };

static const struct transport {
    const char *name;
    uint16_t port;
    struct coredns_version since;
} transports[] = {
    {"tls", 853, {0}},           {"dns", 53, {0}},    {"quic", 853, {1, 11, 0}}, {"grpc", 443, {0}},
    {"https3", 443, {1, 13, 2}}, {"https", 443, {0}}, {"unix", 0, {1, 11, 0}},
};

const char *corefile_take_transport(struct text *text, struct coredns_version version)
{
    const char *mark = text->len ? memchr(text->at, ':', text->len) : NULL;
    size_t len = mark ? (size_t)(mark - text->at) : 0;
    if (!mark || text->len < len + 3 || memcmp(mark, "://", 3) != 0)
        return "dns";
    for (size_t i = 0; i < COUNT_OF(transports); i++) {
        if (!text_is((struct text){text->at, len}, transports[i].name) ||
            coredns_version_is_before(version, transports[i].since))
            continue;
        *text = (struct text){mark + 3, text->len - len - 3};
        return transports[i].name;
    }
    return "dns";
}

// ---- reverse zones ------------------------------------------------------------------------------

struct network {
    uint8_t octets[16];
    unsigned bits; // of an address
    unsigned prefix;
    unsigned step; // bits of one label
};

static bool read_network(struct text cidr, struct network *out)
{
    char copy[INET6_ADDRSTRLEN];
    if (!go_is_cidr(cidr))
        return false;
    const char *slash = memchr(cidr.at, '/', cidr.len);
    size_t len = (size_t)(slash - cidr.at);
    int64_t prefix = 0;
    memcpy(copy, cidr.at, len);
    copy[len] = '\0';
    text_to_int64((struct text){slash + 1, cidr.len - len - 1}, &prefix);
    *out = (struct network){.prefix = (unsigned)prefix};
    bool is_v4 = inet_pton(AF_INET, copy, out->octets) == 1;
    if (!is_v4)
        inet_pton(AF_INET6, copy, out->octets);
    out->bits = is_v4 ? 32 : 128;
    out->step = is_v4 ? OCTET_BITS : NIBBLE_BITS;
    return true;
}

// The value of the label that begins at that bit.
static unsigned label_at(const struct network *network, unsigned bit)
{
    uint8_t octet = network->octets[bit / OCTET_BITS];
    if (network->step == OCTET_BITS)
        return octet;
    return bit % OCTET_BITS ? octet & 0xf : octet >> NIBBLE_BITS;
}

// The zone of the first `labels` labels, the last of them being `last`.
static struct text reverse_zone(struct arena *arena, const struct network *network, unsigned labels,
                                unsigned last)
{
    AUTO_BUFFER out = {0};
    for (unsigned i = labels; i > 0; i--) {
        unsigned label = i == labels ? last : label_at(network, (i - 1) * network->step);
        if (network->step == OCTET_BITS)
            buffer_printf(&out, "%u.", label);
        else
            buffer_printf(&out, "%x.", label);
    }
    buffer_add_text(&out, network->step == OCTET_BITS ? "in-addr.arpa." : "ip6.arpa.");
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

bool corefile_reverse_zones(struct arena *arena, struct text cidr, const struct text **zones,
                            size_t *count)
{
    struct network network;
    if (!read_network(cidr, &network))
        return false;
    unsigned labels = (network.prefix + network.step - 1) / network.step;
    unsigned open_bits = labels * network.step - network.prefix;
    unsigned first = labels ? label_at(&network, (labels - 1) * network.step) : 0;
    first = first >> open_bits << open_bits;
    *count = (size_t)1 << open_bits;
    struct text *out = arena_new_array(arena, struct text, *count);
    for (unsigned i = 0; i < *count; i++)
        out[i] = reverse_zone(arena, &network, labels, first + i);
    *zones = out;
    return true;
}

// ---- addresses ----------------------------------------------------------------------------------

// strconv.Atoi of what stands behind the last colon, written anew as CoreDNS does: "+053" is "53".
static bool take_port(struct arena *arena, struct text *text, struct text *port)
{
    int64_t number;
    const char *colon = text->len ? memrchr(text->at, ':', text->len) : NULL;
    if (!colon)
        return text->len > 0;
    struct text digits = {colon + 1, (size_t)(text->at + text->len - colon) - 1};
    if (!digits.len)
        return false;
    if (!go_read_int(digits, &number))
        return true;
    char *copy = arena_printf(arena, "%lld", (long long)number);
    *port = text_of(copy);
    text->len = (size_t)(colon - text->at);
    return true;
}

const char *corefile_address_read_as(struct arena *arena, struct text text,
                                     struct coredns_version version, struct corefile_address *out)
{
    struct corefile_address address = {.port = TEXT("")};
    struct text zone = text;
    address.transport = corefile_take_transport(&zone, version);
    struct text whole = zone;
    if (!take_port(arena, &zone, &address.port))
        return arena_printf(arena, "expecting data after last colon: %s", go_quote(arena, whole));
    if (zone.len > ADDRESS_ZONE_LEN_MAX)
        return arena_printf(arena, "specified zone is too long: %zu > %d", zone.len,
                            ADDRESS_ZONE_LEN_MAX);
    if (!go_is_domain_name(zone))
        return arena_printf(arena, "zone is not a valid domain name: %.*s", TEXT_ARGS(zone));
    if (corefile_reverse_zones(arena, zone, &address.zones, &address.zone_count)) {
        if (*zone.at == ':' || (*zone.at == '0' && memchr(zone.at, ':', zone.len)))
            return arena_printf(arena, "invalid CIDR %.*s", TEXT_ARGS(zone));
    } else {
        struct text *one = arena_new_of(arena, struct text);
        *one = zone;
        address.zones = one;
        address.zone_count = 1;
    }
    *out = address;
    return NULL;
}

const char *corefile_address_read(struct arena *arena, struct text text,
                                  struct corefile_address *out)
{
    return corefile_address_read_as(arena, text, coredns_newest, out);
}

struct text corefile_address_port(struct arena *arena, const struct corefile_address *address,
                                  uint16_t port)
{
    if (address->port.len)
        return address->port;
    for (size_t i = 0; i < COUNT_OF(transports); i++)
        if (!strcmp(transports[i].name, address->transport) && strcmp(transports[i].name, "dns"))
            port = transports[i].port;
    return port ? text_of(arena_printf(arena, "%u", port)) : TEXT("");
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

struct text corefile_zone_name(struct arena *arena, struct text zone, bool is_kept)
{
    bool is_full = zone.len && zone.at[zone.len - 1] == '.';
    char *out = arena_new_array(arena, char, zone.len + 2);
    for (size_t i = 0; i < zone.len; i++)
        out[i] = is_kept ? zone.at[i] : lower(zone.at[i]);
    if (!is_full)
        out[zone.len] = '.';
    return (struct text){out, zone.len + !is_full};
}

bool corefile_zone_has(struct text zone, struct text name)
{
    if (text_is(zone, "."))
        return true;
    if (name.len < zone.len || memcmp(name.at + name.len - zone.len, zone.at, zone.len) != 0)
        return false;
    return name.len == zone.len || name.at[name.len - zone.len - 1] == '.';
}

bool zone_is_normal(const struct linter *linter, struct text text)
{
    struct corefile_address address;
    return !corefile_address_read_as(linter->arena, text, linter->options->version, &address);
}
