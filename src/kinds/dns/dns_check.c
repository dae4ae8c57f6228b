#include "kinds/dns/dns_body.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#include "base/when.h"
#include "dns/corefile/coredns_word.h"

enum {
    UPSTREAMS_MAX = 15,
    PORT_MAX = 65535,
    SERVER_NAME_MAX = 253,
    ADDRESS_LEN_MAX = INET6_ADDRSTRLEN,
};
static const int64_t ns_of_s = 1000000000;

// ---- faults -------------------------------------------------------------------------------------

static struct dns_fault *reserve_fault(struct dns_faults *faults)
{
    arena_reserve(faults->arena, &faults->items, &faults->capacity, faults->count + 1);
    return &faults->items[faults->count++];
}

struct dns_fault *dns_add_fault(struct dns_faults *faults, enum reason reason, const char *path,
                                const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    struct dns_fault *fault = reserve_fault(faults);
    const char *copy = arena_copy(faults->arena, text.at, text.len);
    *fault = (struct dns_fault){
        .reason = reason,
        .path = arena_copy_text(faults->arena, path),
        .text = copy,
        .status_text = copy,
    };
    return fault;
}

const struct dns_fault *dns_first_error(const struct dns_faults *faults, size_t from)
{
    for (size_t i = from; i < faults->count; i++)
        if (!faults->items[i].is_warning)
            return &faults->items[i];
    return NULL;
}

static const char *join_path(struct dns_faults *faults, const char *path, const char *field)
{
    size_t path_len = strlen(path);
    size_t field_len = strlen(field);
    char *joined = arena_new_array(faults->arena, char, path_len + field_len + 2);
    memcpy(joined, path, path_len);
    joined[path_len] = '.';
    memcpy(joined + path_len + 1, field, field_len);
    return joined;
}

// ---- texts --------------------------------------------------------------------------------------

// Octets of ASCII at the beginning, none of them a control.
static size_t plain_len(struct text text)
{
    size_t len = 0;
    while (len < text.len && text.at[len] >= ' ' && text.at[len] <= '~')
        len++;
    return len;
}

bool dns_has_control(struct text text)
{
    struct text rest = text;
    while (true) {
        uint32_t code_point;
        size_t plain = plain_len(rest);
        rest = (struct text){rest.at + plain, rest.len - plain};
        if (!rest.len)
            return false;
        size_t len = utf8_decode(rest, &code_point);
        if (!len || utf8_is_control(code_point))
            return true;
        rest = (struct text){rest.at + len, rest.len - len};
    }
}

static bool is_mark(char c)
{
    return c == ' ' || c == '{' || c == '}' || c == '"' || c == '#' || c == '%';
}

static bool is_safe(struct text text)
{
    bool has_mark = false;
    for (size_t i = 0; i < text.len; i++)
        has_mark |= is_mark(text.at[i]);
    return !has_mark && !dns_has_control(text);
}

bool dns_check_text(struct text text, const char *path, struct dns_faults *faults)
{
    if (is_safe(text))
        return true;
    dns_add_fault(faults, REASON_UNSAFE_TEXT, path,
                  "must have no blank, control character or any of {}\"#%%: they have a meaning in "
                  "a Corefile");
    return false;
}

static void check_name(struct text name, const char *path, struct dns_faults *faults)
{
    if (dns_has_control(name))
        dns_add_fault(faults, REASON_UNSAFE_TEXT, path,
                      "must have no control character or line break");
}

static bool is_one_of(struct text text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (text_is(text, words[i]))
            return true;
    return false;
}

// An absent text is the default.
static void check_choice(struct text text, const char *const *words, const char *which,
                         enum reason reason, const char *path, struct dns_faults *faults)
{
    if (text.at && !is_one_of(text, words))
        dns_add_fault(faults, reason, path, "must be %s", which);
}

const char *const dns_policies[] = {"Random", "RoundRobin", "Sequential", NULL};

void dns_check_policy(struct text policy, const char *path, struct dns_faults *faults)
{
    check_choice(policy, dns_policies, "Random, RoundRobin or Sequential", REASON_INVALID_POLICY,
                 join_path(faults, path, "policy"), faults);
}

void dns_check_protocol(struct text protocol, const char *path, struct dns_faults *faults)
{
    static const char *const protocols[] = {"TCP", "", NULL};
    check_choice(protocol, protocols, "TCP or empty", REASON_INVALID_PROTOCOL_STRATEGY,
                 join_path(faults, path, "protocolStrategy"), faults);
}

// ---- addresses ----------------------------------------------------------------------------------

static bool read_ip(struct text text, int family, struct dns_address *out)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; // RFC 4291 2.5.5.2
    char copy[ADDRESS_LEN_MAX + 1] = "";
    if (!text.len || text.len > ADDRESS_LEN_MAX || memchr(text.at, '\0', text.len))
        return false;
    memcpy(copy, text.at, text.len);
    out->len = family == AF_INET ? 4 : 16;
    if (inet_pton(family, copy, out->octets) != 1)
        return false;
    if (out->len == 16 && memcmp(out->octets, mapped, sizeof mapped) == 0) {
        out->len = 4;
        memmove(out->octets, out->octets + sizeof mapped, out->len);
    }
    return true;
}

static bool read_port(struct text text, uint16_t *out)
{
    int64_t number;
    if (text.len > 5 || !text_to_int64(text, &number) || number < 1 || number > PORT_MAX)
        return false;
    *out = (uint16_t)number;
    return true;
}

static bool read_bracketed(struct text text, struct dns_address *out)
{
    const char *end = memchr(text.at, ']', text.len);
    if (!end)
        return false;
    struct text ip = {text.at + 1, (size_t)(end - text.at) - 1};
    struct text rest = {end + 1, text.len - ip.len - 2};
    if (!read_ip(ip, AF_INET6, out))
        return false;
    return !rest.len ||
           (rest.at[0] == ':' && read_port((struct text){rest.at + 1, rest.len - 1}, &out->port));
}

bool dns_address_read(struct text text, struct dns_address *out)
{
    *out = (struct dns_address){0};
    if (text_starts(text, "["))
        return read_bracketed(text, out);
    if (read_ip(text, AF_INET, out) || read_ip(text, AF_INET6, out))
        return true;
    struct text host;
    struct text port = text;
    return text_cut(&port, ':', &host) && port.at && read_ip(host, AF_INET, out) &&
           read_port(port, &out->port);
}

bool dns_names_ip(struct text text)
{
    struct dns_address address;
    struct text host = text;
    const char *end = text.len ? memrchr(text.at, text.at[0] == '[' ? ']' : ':', text.len) : NULL;
    if (end)
        host = (struct text){text.at, (size_t)(end - text.at)};
    return dns_address_read(text, &address) || read_ip(host, AF_INET, &address) ||
           (text_starts(host, "[") &&
            read_ip((struct text){host.at + 1, host.len - 1}, AF_INET6, &address));
}

static bool is_same_ip(const struct dns_address *a, const struct dns_address *b)
{
    return a->len == b->len && memcmp(a->octets, b->octets, a->len) == 0;
}

static bool is_unspecified(const struct dns_address *address)
{
    static const unsigned char none[16];
    return memcmp(address->octets, none, address->len) == 0;
}

static bool is_multicast(const struct dns_address *address)
{
    return address->len == 4 ? address->octets[0] >> 4 == 0xe : address->octets[0] == 0xff;
}

static bool is_broadcast(const struct dns_address *address)
{
    static const unsigned char all[4] = {0xff, 0xff, 0xff, 0xff};
    return address->len == 4 && memcmp(address->octets, all, sizeof all) == 0;
}

const char *dns_address_fault(const struct dns_address *address, const struct dns_context *context,
                              enum reason *reason)
{
    *reason = REASON_INVALID_UPSTREAM;
    if (is_unspecified(address))
        return "is the unspecified address, which no name server has";
    if (is_multicast(address) || is_broadcast(address))
        return "is a multicast or broadcast address, which no name server has";
    for (size_t i = 0; i < context->cluster_ip_count; i++) {
        struct dns_address ip;
        if (!dns_address_read(context->cluster_ips[i], &ip) || !is_same_ip(&ip, address))
            continue;
        *reason = REASON_UPSTREAM_LOOP;
        return "is the address of the cluster's own DNS: queries would go round in a loop";
    }
    return NULL;
}

const char dns_tls_needs_ip[] =
    "Only IP addresses are allowed when configuring TLS as the DNS Transport";

static void refuse_upstream(const struct dns_forward *forward, size_t at, const char *path,
                            const struct dns_context *context, struct dns_faults *faults)
{
    struct text text = forward->upstreams[at];
    struct dns_address address;
    enum reason reason;
    if (!dns_check_text(text, path, faults))
        return;
    if (!dns_address_read(text, &address)) {
        if (dns_is_tls(&forward->transport) && !dns_names_ip(text))
            dns_add_fault(faults, REASON_TLS_NON_IP, path, "%s", dns_tls_needs_ip);
        else
            dns_add_fault(faults, REASON_INVALID_UPSTREAM, path,
                          "%.*s must be an IP address, IPv4:PORT or [IPv6]:PORT, with a port of 1 "
                          "to %d",
                          TEXT_ARGS(text), PORT_MAX);
        return;
    }
    const char *fault = dns_address_fault(&address, context, &reason);
    if (fault)
        dns_add_fault(faults, reason, path, "%.*s %s", TEXT_ARGS(text), fault);
}

static bool is_good_upstream(struct text text, const struct dns_context *context)
{
    struct dns_address address;
    enum reason reason;
    return is_safe(text) && dns_address_read(text, &address) &&
           !dns_address_fault(&address, context, &reason);
}

static void check_upstreams(const struct dns_server *server, const struct dns_context *context,
                            struct dns_faults *faults)
{
    const char *path = join_path(faults, server->path,
                                 server->is_plugin ? "nameservers" : "forwardPlugin.upstreams");
    size_t count = server->forward.upstream_count;
    if (!count)
        dns_add_fault(faults, REASON_NO_UPSTREAMS, path, "must name 1 to %d servers",
                      UPSTREAMS_MAX);
    else if (count > UPSTREAMS_MAX)
        dns_add_fault(faults, REASON_TOO_MANY_UPSTREAMS, path, "has %zu servers; %d are the most",
                      count, UPSTREAMS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!is_good_upstream(server->forward.upstreams[i], context))
            refuse_upstream(&server->forward, i, arena_printf(faults->arena, "%s[%zu]", path, i),
                            context, faults);
}

// ---- transport ----------------------------------------------------------------------------------

bool dns_is_tls(const struct dns_transport *transport)
{
    return text_is(transport->name, "TLS");
}

static bool is_cleartext(const struct dns_transport *transport)
{
    return !transport->name.len || text_is(transport->name, "Cleartext");
}

// DNS-1123, in upper case, too.
static bool is_server_name(struct text name)
{
    char lower[SERVER_NAME_MAX];
    if (name.len > SERVER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        lower[i] = name.at[i] >= 'A' && name.at[i] <= 'Z' ? (char)(name.at[i] | 0x20) : name.at[i];
    return kind_is_name((struct text){lower, name.len});
}

static void check_tls(const struct dns_transport *transport, const char *path,
                      struct dns_faults *faults)
{
    const char *name_path = join_path(faults, path, "tls.serverName");
    const char *bundle_path = join_path(faults, path, "tls.caBundle.name");
    if (!transport->server_name.len)
        dns_add_fault(faults, REASON_TLS_SERVER_NAME_MISSING, path,
                      "transportConfig requires a serverName when transport is TLS")
            ->status_text =
            "The ServerName field is mandatory when configuring TLS as the DNS Transport";
    else if (dns_check_text(transport->server_name, name_path, faults) &&
             !is_server_name(transport->server_name))
        dns_add_fault(faults, REASON_INVALID_TRANSPORT, name_path,
                      "must be a DNS name (RFC 1123) of at most %d octets", SERVER_NAME_MAX);
    if (dns_check_text(transport->bundle, bundle_path, faults) && transport->bundle.len &&
        !kind_is_name(transport->bundle))
        dns_add_fault(faults, REASON_CA_BUNDLE_INVALID, bundle_path,
                      "must be the name of a ConfigMap");
}

void dns_check_transport(const struct dns_transport *transport, const char *parent,
                         struct dns_faults *faults)
{
    const char *path = join_path(faults, parent, "transportConfig");
    if (dns_is_tls(transport))
        check_tls(transport, path, faults);
    else if (!is_cleartext(transport))
        dns_add_fault(faults, REASON_INVALID_TRANSPORT, join_path(faults, path, "transport"),
                      "unknown transport");
    else if (transport->has_tls) {
        struct dns_fault *fault =
            dns_add_fault(faults, REASON_TLS_IGNORED, path,
                          "TLS must not be configured when using an empty or cleartext transport");
        fault->is_warning = true;
        fault->is_refused_when_written = true;
    }
}

// ---- additions ----------------------------------------------------------------------------------

static void check_duration(struct text text, const char *path, struct dns_faults *faults)
{
    int64_t ns = 0;
    if (text.at && (!duration_parse_ns(text, &ns, NULL) || ns < 0))
        dns_add_fault(faults, REASON_INVALID_OPTION, path,
                      "must be a duration such as 90s, 5m or 1.5h, not below 0");
}

void dns_check_cache(const struct dns_cache *cache, const char *path, struct dns_faults *faults)
{
    check_duration(cache->positive, join_path(faults, path, "positiveTTL"), faults);
    check_duration(cache->negative, join_path(faults, path, "negativeTTL"), faults);
    check_duration(cache->serve_stale, join_path(faults, path, "serveStale"), faults);
}

static void check_number(bool is_given, int64_t number, const char *path, struct dns_faults *faults)
{
    if (is_given && (number < 0 || number > UINT32_MAX))
        dns_add_fault(faults, REASON_INVALID_OPTION, path, "must be 0 to %u", UINT32_MAX);
}

static void check_since(struct coredns_version since, const char *path,
                        const struct dns_context *context, struct dns_faults *faults)
{
    if (context->has_version && coredns_version_is_before(context->version, since))
        dns_add_fault(faults, REASON_UNSUPPORTED_BY_VERSION, path,
                      "needs CoreDNS %u.%u.%u or newer; the cluster runs %u.%u.%u", since.major,
                      since.minor, since.patch, context->version.major, context->version.minor,
                      context->version.patch);
}

static void check_failover(const struct dns_forward *forward, const char *path,
                           const struct dns_context *context, struct dns_faults *faults)
{
    if (forward->failover_count)
        check_since((struct coredns_version){1, 13, 0}, path, context, faults);
    struct coredns_version version = context->has_version ? context->version : coredns_newest;
    for (size_t i = 0; i < forward->failover_count; i++) {
        struct text rcode = coredns_word_upper(faults->arena, forward->failover[i]);
        if (!coredns_is_rcode(rcode, version) || text_is(rcode, "NOERROR"))
            dns_add_fault(faults, REASON_INVALID_OPTION,
                          arena_printf(faults->arena, "%s[%zu]", path, i),
                          "must be a response code such as SERVFAIL or REFUSED, not NOERROR");
    }
}

static void check_options(const struct dns_server *server, const struct dns_context *context,
                          struct dns_faults *faults)
{
    const struct dns_forward *forward = &server->forward;
    const char *path = join_path(faults, server->path, "forwardPlugin.options");
    const char *health = join_path(faults, path, "healthCheck");
    const char *concurrent = join_path(faults, path, "maxConcurrent");
    for (size_t i = 0; i < forward->except_count; i++)
        dns_check_domain(forward->except[i], arena_printf(faults->arena, "%s.except[%zu]", path, i),
                         faults);
    check_duration(forward->expire, join_path(faults, path, "expire"), faults);
    check_number(forward->has_max_fails, forward->max_fails, join_path(faults, path, "maxFails"),
                 faults);
    check_number(forward->has_max_concurrent, forward->max_concurrent, concurrent, faults);
    if (forward->has_max_concurrent)
        check_since((struct coredns_version){1, 6, 8}, concurrent, context, faults);
    if (forward->health_interval.len)
        check_duration(forward->health_interval, join_path(faults, health, "interval"), faults);
    if (forward->health_domain.len)
        dns_check_domain(forward->health_domain, join_path(faults, health, "domain"), faults);
    if (forward->has_health_check && !forward->health_interval.len)
        dns_add_fault(faults, REASON_INVALID_OPTION, join_path(faults, health, "interval"),
                      "must say how often upstreams are checked, such as 0.5s");
    check_failover(forward, join_path(faults, path, "failover"), context, faults);
}

uint32_t dns_seconds(struct text duration, uint32_t fallback_s)
{
    int64_t ns = 0;
    if (!duration.len || !duration_parse_ns(duration, &ns, NULL) || ns <= 0)
        return fallback_s;
    int64_t seconds = ns / ns_of_s + (ns % ns_of_s >= ns_of_s / 2);
    if (seconds > UINT32_MAX)
        return UINT32_MAX;
    return seconds ? (uint32_t)seconds : fallback_s;
}

// ---- an entry -----------------------------------------------------------------------------------

static const struct dns_fault *first_of_entry(const struct dns_faults *faults, size_t from)
{
    for (size_t i = from; i < faults->count; i++)
        if (!faults->items[i].is_warning && !faults->items[i].is_of_zone)
            return &faults->items[i];
    return NULL;
}

void dns_check_server(const struct dns_server *server, const struct dns_context *context,
                      struct dns_faults *faults, struct dns_server_check *out)
{
    size_t before = faults->count;
    const char *forward_path =
        server->is_plugin ? server->path : join_path(faults, server->path, "forwardPlugin");
    *out = (struct dns_server_check){0};
    if (!server->is_plugin)
        check_name(server->name, join_path(faults, server->path, "name"), faults);
    dns_check_zones(server, context, faults, out);
    if (server->has_rival_lists)
        dns_add_fault(faults, REASON_INVALID_UPSTREAM, server->path,
                      "has both nameservers and nameServers, and they differ: keep one of them");
    check_upstreams(server, context, faults);
    dns_check_policy(server->forward.policy, forward_path, faults);
    dns_check_protocol(server->forward.protocol, forward_path, faults);
    dns_check_transport(&server->forward.transport, forward_path, faults);
    check_options(server, context, faults);
    dns_check_cache(&server->cache, join_path(faults, server->path, "cache"), faults);
    const struct dns_fault *first = first_of_entry(faults, before);
    out->reason = first ? first->reason : REASON_NONE;
    out->text =
        first ? arena_printf(faults->arena, "%s: %s", first->path, first->status_text) : NULL;
}
