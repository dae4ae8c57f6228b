#include <string.h>

#include "dns/corefile/address.h"
#include "dns/dname.h"
#include "kinds/dns/dns_body.h"

enum {
    ZONE_LEN_MAX = 253,
    LABEL_LEN_MAX = 63,
    NETWORK_ZONES_MAX = 16,
};

// Zones of a server block of ours that tells who runs what.
static const char *const reserved[] = {"version.bind", "hostname.bind"};
// Those that the root block has for the plugin kubernetes, beside the cluster domain.
static const char *const reverse_roots[] = {"arpa", "in-addr.arpa", "ip6.arpa"};

// ---- names --------------------------------------------------------------------------------------

static struct text normalise(struct arena *arena, struct text zone)
{
    char *copy = arena_copy(arena, zone.at, zone.len);
    size_t len = zone.len > 1 && zone.at[zone.len - 1] == '.' ? zone.len - 1 : zone.len;
    for (size_t i = 0; i < len; i++)
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] - 'A' + 'a');
    return (struct text){copy, len};
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// RFC 1123 2.1.
static bool is_label(struct text label)
{
    if (!label.len || label.len > LABEL_LEN_MAX || !is_alphanumeric(label.at[0]) ||
        !is_alphanumeric(label.at[label.len - 1]))
        return false;
    for (size_t i = 0; i < label.len; i++)
        if (!is_alphanumeric(label.at[i]) && label.at[i] != '-')
            return false;
    return true;
}

static bool is_subdomain(struct text zone)
{
    struct text label;
    struct text rest = zone;
    if (!zone.len || zone.len > ZONE_LEN_MAX)
        return false;
    while (text_cut(&rest, '.', &label))
        if (!is_label(label))
            return false;
    return true;
}

static bool is_within(struct text name, struct text zone)
{
    size_t start = name.len - zone.len;
    if (name.len < zone.len || memcmp(name.at + start, zone.at, zone.len) != 0)
        return false;
    return start == 0 || name.at[start - 1] == '.';
}

static bool is_ascii(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] >= 0x80)
            return false;
    return true;
}

// The name with A-labels, to be written instead; NULL: it has none.
static const char *a_labels_of(struct arena *arena, struct text zone)
{
    static const struct dname root = {(const uint8_t *)"", 1};
    AUTO_BUFFER out = {0};
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    if (!dname_read(zone, &root, DNAME_OF_OBJECT, octets, &name, &err))
        return NULL;
    dname_write(&out, name);
    return arena_copy(arena, out.at, out.len - 1);
}

static bool is_network(struct text zone)
{
    return zone.len && memchr(zone.at, '/', zone.len) != NULL;
}

static bool is_domain(struct arena *arena, struct text text)
{
    static const struct dname root = {(const uint8_t *)"", 1};
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    const struct text *zones;
    size_t count;
    if (is_network(text))
        return corefile_reverse_zones(arena, text, &zones, &count);
    return is_ascii(text) && dname_read(text, &root, DNAME_OF_OBJECT, octets, &name, &err);
}

void dns_check_domain(struct text text, const char *path, struct dns_faults *faults)
{
    if (dns_check_text(text, path, faults) && !is_domain(faults->arena, text))
        dns_add_fault(faults, REASON_INVALID_OPTION, path,
                      "must be a domain name, with A-labels for letters that are not ASCII");
}

// ---- rules --------------------------------------------------------------------------------------

struct zone_fault {
    enum reason reason;
    const char *text;
};

static struct zone_fault form_fault(struct arena *arena, struct text zone)
{
    const char *better = is_ascii(zone) ? NULL : a_labels_of(arena, zone);
    if (better && !is_subdomain(text_of(better)))
        better = NULL;
    if (text_is(zone, "."))
        return (struct zone_fault){REASON_ROOT_ZONE,
                                   "the root zone is forwarded by spec.upstreamResolvers"};
    if (better)
        return (struct zone_fault){
            REASON_INVALID_ZONE, arena_printf(arena, "must be written with A-labels: %s", better)};
    if (!is_subdomain(zone))
        return (struct zone_fault){
            REASON_INVALID_ZONE,
            arena_printf(arena,
                         "%.*s is no zone: it must be a subdomain of RFC 1123 (letters, digits and "
                         "hyphens, labels of at most %d and names of at most %d octets) or a "
                         "network such as 10.0.0.0/24",
                         TEXT_ARGS(zone), LABEL_LEN_MAX, ZONE_LEN_MAX)};
    return (struct zone_fault){0};
}

static struct zone_fault place_fault(struct arena *arena, struct text zone,
                                     const struct dns_context *context)
{
    struct text domain = context->cluster_domain;
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (text_is(zone, reserved[i]))
            return (struct zone_fault){
                REASON_RESERVED_ZONE,
                arena_printf(arena, "%s is answered with the config that CoreDNS runs",
                             reserved[i])};
    for (size_t i = 0; i < COUNT_OF(reverse_roots); i++)
        if (text_is(zone, reverse_roots[i]))
            return (struct zone_fault){
                REASON_SHADOWS_CLUSTER,
                arena_printf(arena,
                             "%s would take the addresses of Services and Pods from the "
                             "cluster: name the networks that are meant",
                             reverse_roots[i])};
    if (!domain.len || (!is_within(zone, domain) && !is_within(domain, zone)))
        return (struct zone_fault){0};
    return (struct zone_fault){
        REASON_SHADOWS_CLUSTER,
        arena_printf(arena, "%.*s would take names of the cluster domain %.*s from the cluster",
                     TEXT_ARGS(zone), TEXT_ARGS(domain))};
}

static const char *reverse_name(struct arena *arena, struct text ip)
{
    static const char digits[] = "0123456789abcdef";
    AUTO_BUFFER out = {0};
    struct dns_address address;
    if (!dns_address_read(ip, &address))
        return "";
    for (size_t i = address.len; i-- > 0;) {
        unsigned octet = address.octets[i];
        if (address.len == 4)
            buffer_printf(&out, "%u.", octet);
        else
            buffer_printf(&out, "%c.%c.", digits[octet & 15], digits[octet >> 4]);
    }
    buffer_add_text(&out, address.len == 4 ? "in-addr.arpa" : "ip6.arpa");
    return arena_copy(arena, out.at, out.len);
}

static void warn_of_reverse(const struct dns_zone *zone, const struct dns_context *context,
                            struct dns_faults *faults)
{
    for (size_t i = 0; i < context->cluster_ip_count; i++) {
        struct text ip = context->cluster_ips[i];
        if (!is_within(text_of(reverse_name(faults->arena, ip)), zone->name))
            continue;
        dns_add_fault(faults, REASON_SHADOWS_REVERSE, zone->path,
                      "%.*s covers %.*s, the address of the cluster's DNS: reverse names of "
                      "Services in that network are asked elsewhere",
                      TEXT_ARGS(zone->name), TEXT_ARGS(ip))
            ->is_warning = true;
        return;
    }
}

static void refuse_zone(struct dns_zone *zone, enum reason reason, const char *text,
                        struct dns_faults *faults)
{
    zone->reason = reason;
    zone->text = text;
    dns_add_fault(faults, reason, zone->path, "%s", text)->is_of_zone = true;
}

void dns_report_duplicate(struct dns_zone *zone, const char *winner, struct dns_faults *faults)
{
    refuse_zone(zone, REASON_DUPLICATE_ZONE,
                arena_printf(faults->arena, "%.*s is forwarded by %s already",
                             TEXT_ARGS(zone->name), winner),
                faults);
}

static void check_zone(struct dns_zone *zone, const struct dns_context *context,
                       struct dns_faults *faults)
{
    struct zone_fault fault = form_fault(faults->arena, zone->name);
    if (!fault.reason)
        fault = place_fault(faults->arena, zone->name, context);
    if (fault.reason)
        refuse_zone(zone, fault.reason, fault.text, faults);
    else
        warn_of_reverse(zone, context, faults);
}

// ---- the list -----------------------------------------------------------------------------------

static struct dns_zone *add_zone(struct dns_server_check *out, size_t *capacity,
                                 struct arena *arena, struct dns_zone zone)
{
    arena_reserve(arena, &out->zones, capacity, out->zone_count + 1);
    out->zones[out->zone_count] = zone;
    return &out->zones[out->zone_count++];
}

static void add_network(struct dns_server_check *out, size_t *capacity, struct dns_zone zone,
                        const struct dns_context *context, struct dns_faults *faults)
{
    const struct text *names = NULL;
    size_t count = 0;
    bool is_read = corefile_reverse_zones(faults->arena, zone.name, &names, &count);
    if (!is_read || count > NETWORK_ZONES_MAX) {
        const char *why = is_read ? arena_printf(faults->arena,
                                                 "%.*s comes to %zu reverse zones; %d are the most",
                                                 TEXT_ARGS(zone.source), count, NETWORK_ZONES_MAX)
                                  : arena_printf(faults->arena, "%.*s is no network in CIDR form",
                                                 TEXT_ARGS(zone.source));
        refuse_zone(add_zone(out, capacity, faults->arena, zone), REASON_INVALID_ZONE, why, faults);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        zone.name = normalise(faults->arena, names[i]);
        check_zone(add_zone(out, capacity, faults->arena, zone), context, faults);
    }
}

void dns_check_zones(const struct dns_server *server, const struct dns_context *context,
                     struct dns_faults *faults, struct dns_server_check *out)
{
    size_t capacity = 0;
    if (!server->zone_count)
        dns_add_fault(faults, REASON_NO_ZONES, server->path, "has no %s",
                      server->is_plugin ? "domain" : "zones");
    for (size_t i = 0; i < server->zone_count; i++) {
        const char *path = server->is_plugin
                               ? arena_printf(faults->arena, "%s.domain", server->path)
                               : arena_printf(faults->arena, "%s.zones[%zu]", server->path, i);
        struct dns_zone zone = {.source = server->zones[i], .path = path};
        if (!dns_check_text(zone.source, path, faults))
            continue;
        zone.name = normalise(faults->arena, zone.source);
        if (is_network(zone.name))
            add_network(out, &capacity, zone, context, faults);
        else
            check_zone(add_zone(out, &capacity, faults->arena, zone), context, faults);
    }
}
