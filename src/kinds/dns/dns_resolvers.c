#include "kinds/dns/dns_body.h"

// upstreamResolvers, and an object as a whole.

enum { UPSTREAMS_MAX = 15, PORT_MAX = 65535, DNS_PORT = 53, SERVICE_NAME_MAX = 15 };

static bool is_system(const struct dns_upstream *upstream)
{
    return !upstream->type.len || text_is(upstream->type, "SystemResolvConf");
}

// The schema has 53 as the default of the port.
static void check_system(const struct dns_upstream *upstream, const char *path,
                         struct dns_faults *faults)
{
    if (upstream->address.len || (upstream->has_port && upstream->port != DNS_PORT))
        dns_add_fault(faults, REASON_INVALID_UPSTREAM, path,
                      "of type SystemResolvConf must have neither address nor port");
}

static void check_network(const struct dns_upstream *upstream, bool is_tls, const char *path,
                          const struct dns_context *context, struct dns_faults *faults)
{
    struct dns_address address;
    enum reason reason;
    if (!upstream->address.len) {
        dns_add_fault(faults, REASON_ADDRESS_MISSING, path,
                      "The address field is mandatory for upstream of type Network, but was not "
                      "provided");
        return;
    }
    const char *address_path = arena_printf(faults->arena, "%s.address", path);
    if (!dns_check_text(upstream->address, address_path, faults))
        return;
    if (!dns_address_read(upstream->address, &address) || address.port ||
        text_starts(upstream->address, "[")) {
        if (is_tls && !dns_names_ip(upstream->address))
            dns_add_fault(faults, REASON_TLS_NON_IP, address_path, "%s", dns_tls_needs_ip);
        else
            dns_add_fault(faults, REASON_INVALID_UPSTREAM, address_path, "must be an IP address");
        return;
    }
    const char *fault = dns_address_fault(&address, context, &reason);
    if (fault)
        dns_add_fault(faults, reason, address_path, "%.*s %s", TEXT_ARGS(upstream->address), fault);
    if (upstream->has_port && (upstream->port < 1 || upstream->port > PORT_MAX))
        dns_add_fault(faults, REASON_INVALID_UPSTREAM, arena_printf(faults->arena, "%s.port", path),
                      "must be 1 to %d", PORT_MAX);
}

static void check_upstream(const struct dns_upstream *upstream, bool is_tls, const char *path,
                           const struct dns_context *context, struct dns_faults *faults)
{
    if (!upstream->type.at)
        dns_add_fault(faults, REASON_INVALID_UPSTREAM, path,
                      "must have a type: SystemResolvConf or Network");
    else if (is_system(upstream))
        check_system(upstream, path, faults);
    else if (text_is(upstream->type, "Network"))
        check_network(upstream, is_tls, path, context, faults);
    else
        dns_add_fault(faults, REASON_INVALID_UPSTREAM, arena_printf(faults->arena, "%s.type", path),
                      "must be SystemResolvConf or Network");
}

// The system's resolvers cannot be asked by TLS: nobody knows their names.
static void check_system_tls(const struct dns_resolvers *resolvers, struct dns_faults *faults)
{
    bool has_system = !resolvers->upstream_count;
    for (size_t i = 0; i < resolvers->upstream_count; i++)
        has_system |= is_system(&resolvers->upstreams[i]);
    if (!dns_is_tls(&resolvers->transport) || !has_system)
        return;
    dns_add_fault(faults, REASON_TLS_SYSTEM_RESOLV_CONF, "spec.upstreamResolvers",
                  "SystemResolvConf is not allowed when TLS is configured as the transport")
        ->status_text =
        "Using system resolv config is not allowed when configuring TLS as the DNS Transport";
}

const struct dns_fault *dns_check_resolvers(const struct dns_resolvers *resolvers,
                                            const struct dns_context *context,
                                            struct dns_faults *faults)
{
    static const char path[] = "spec.upstreamResolvers";
    size_t before = faults->count;
    if (resolvers->upstream_count > UPSTREAMS_MAX)
        dns_add_fault(faults, REASON_TOO_MANY_UPSTREAMS, "spec.upstreamResolvers.upstreams",
                      "has %zu servers; %d are the most", resolvers->upstream_count, UPSTREAMS_MAX);
    for (size_t i = 0; i < resolvers->upstream_count; i++)
        check_upstream(&resolvers->upstreams[i], dns_is_tls(&resolvers->transport),
                       arena_printf(faults->arena, "%s.upstreams[%zu]", path, i), context, faults);
    dns_check_policy(resolvers->policy, path, faults);
    dns_check_protocol(resolvers->protocol, path, faults);
    dns_check_transport(&resolvers->transport, path, faults);
    check_system_tls(resolvers, faults);
    return dns_first_error(faults, before);
}

// ---- an object ----------------------------------------------------------------------------------

static void check_duplicates(struct dns_server_check *check, const struct dns_server *server,
                             struct dns_owners *owners, struct dns_faults *faults)
{
    for (size_t i = 0; i < check->zone_count; i++) {
        struct dns_zone *zone = &check->zones[i];
        const char *winner = zone->reason ? NULL : dns_owners_add(owners, zone->name, server->path);
        if (winner)
            dns_report_duplicate(zone, winner, faults);
    }
}

static void check_servers(const struct dns_spec *spec, const struct dns_context *context,
                          struct dns_faults *faults)
{
    CLEANUP(dns_owners) struct dns_owners *owners = dns_owners_new();
    for (size_t i = 0; i < spec->server_count; i++) {
        struct dns_server_check check;
        dns_check_server(&spec->servers[i], context, faults, &check);
        if (!check.reason)
            check_duplicates(&check, &spec->servers[i], owners, faults);
    }
}

// RFC 6335 5.1.
static bool is_service_name(struct text name)
{
    bool has_letter = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = (char)(name.at[i] | 0x20);
        bool is_letter = c >= 'a' && c <= 'z';
        bool is_digit = name.at[i] >= '0' && name.at[i] <= '9';
        bool is_inner = i > 0 && i + 1 < name.len && name.at[i - 1] != '-';
        if (!is_letter && !is_digit && !(name.at[i] == '-' && is_inner))
            return false;
        has_letter |= is_letter;
    }
    return has_letter && name.len <= SERVICE_NAME_MAX;
}

// OpenShift asks for such a name and takes any, so whoever writes another one is told, and nobody
// else.
static void warn_of_name(const struct dns_server *server, struct findings *findings)
{
    if (server->is_plugin || !server->name.len || is_service_name(server->name))
        return;
    findings_add(findings, FINDING_WARNING, arena_printf(findings->arena, "%s.name", server->path),
                 "is no service name of RFC 6335 (at most %d letters, digits and single hyphens)",
                 SERVICE_NAME_MAX);
}

void dns_validate(const struct value *object, struct findings *findings)
{
    static const struct dns_context alone = {0};
    struct dns_faults faults = {.arena = findings->arena};
    struct dns_spec spec;
    dns_decode(findings->arena, object, &spec);
    check_servers(&spec, &alone, &faults);
    (void)dns_check_resolvers(&spec.resolvers, &alone, &faults);
    dns_check_cache(&spec.cache, "spec.cache", &faults);
    (void)dns_check_placement(&spec, &faults);
    for (size_t i = 0; i < faults.count; i++) {
        const struct dns_fault *fault = &faults.items[i];
        bool is_error = !fault->is_warning || fault->is_refused_when_written;
        findings_add(findings, is_error ? FINDING_ERROR : FINDING_WARNING, fault->path, "%s",
                     fault->text);
    }
    for (size_t i = 0; i < spec.server_count; i++)
        warn_of_name(&spec.servers[i], findings);
}
