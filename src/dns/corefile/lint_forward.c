#include <string.h>

#include "dns/corefile/address.h"
#include "dns/corefile/coredns_word.h"
#include "dns/corefile/render.h"
#include "dns/corefile/setup.h"

// The plugin `forward`: FROM TO... { options }, any number of times in a block.

enum { UPSTREAMS_MAX = 15, TLS_FILES_MAX = 3, EXPIRE_S = 10 };

static const struct coredns_version with_refused_empty = {1, 11, 0};
static const struct coredns_version with_names_for_tls = {1, 13, 2}; // behind a '%'
static const struct coredns_version with_brackets_alone = {1, 14, 2};
static const struct coredns_version with_host_names = {1, 14, 4};
static const struct coredns_version with_https = {1, 14, 5};

// What options of one directive say about others.
struct forward {
    int64_t expire_ns;
    int64_t max_age_ns;
    struct text tls_name;
};

// ---- options ------------------------------------------------------------------------------------

static bool check_uint32(struct setup *setup, const struct text *arguments, size_t count)
{
    uint64_t number;
    (void)count;
    return go_uint(setup, arguments[0], 32, &number);
}

// A duration that is not below zero.
static bool read_duration(struct setup *setup, const char *name, struct text text, int64_t *ns)
{
    if (!go_duration(setup, text, ns))
        return false;
    return *ns >= 0 || setup_fail(setup, "negative", "%s can't be negative: %s", name,
                                  go_duration_text(setup->linter->arena, *ns));
}

static bool check_expire(struct setup *setup, const struct text *arguments, size_t count)
{
    struct forward *forward = setup->own;
    (void)count;
    return read_duration(setup, "expire", arguments[0], &forward->expire_ns);
}

static bool check_max_age(struct setup *setup, const struct text *arguments, size_t count)
{
    struct forward *forward = setup->own;
    (void)count;
    return read_duration(setup, "max_age", arguments[0], &forward->max_age_ns);
}

static bool check_read_timeout(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    return ns > 0 || setup_fail(setup, "not-positive", "read_timeout must be positive: %s",
                                go_duration_text(setup->linter->arena, ns));
}

static bool read_tls_name(struct setup *setup, const struct text *arguments, size_t count)
{
    struct forward *forward = setup->own;
    (void)count;
    forward->tls_name = arguments[0];
    return true;
}

static bool check_max_idle_conns(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t number = 0;
    (void)count;
    if (!go_int(setup, arguments[0], &number))
        return false;
    return number >= 0 || setup_fail(setup, "negative", "max_idle_conns can't be negative: %lld",
                                     (long long)number);
}

static bool check_max_concurrent(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t number = 0;
    (void)count;
    if (!go_int(setup, arguments[0], &number))
        return false;
    return number >= 0 || setup_fail(setup, "negative", "max_concurrent can't be negative: %lld",
                                     (long long)number);
}

static bool check_policy(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    for (size_t i = 0; i < FORWARD_POLICIES; i++)
        if (text_is(arguments[0], forward_policy_names[i]))
            return true;
    setup_fail_at(setup, "policy", "unknown policy '%.*s'", TEXT_ARGS(arguments[0]));
    setup_hint(setup, "write random, round_robin or sequential");
    return false;
}

static bool check_health_check(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    if (ns < 0)
        return setup_fail(setup, "negative", "health_check can't be negative: %lld", (long long)ns);
    while (setup_next_argument(setup)) {
        struct text word = setup_value(setup);
        if (text_is(word, "no_rec"))
            continue;
        if (!text_is(word, "domain"))
            return setup_fail(setup, "health-check", "health_check: unknown option %.*s",
                              TEXT_ARGS(word));
        if (!setup_next_argument(setup))
            return setup_fail_argument(setup);
        struct text domain = setup_value(setup);
        if (!go_is_domain_name(domain))
            return setup_fail(setup, "health-check", "health_check: invalid domain name %.*s",
                              TEXT_ARGS(domain));
    }
    return true;
}

static bool check_rcodes(struct setup *setup, const struct text *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!coredns_is_rcode(coredns_word_upper(setup->linter->arena, arguments[i]),
                              setup->linter->options->version))
            return setup_fail(setup, "rcode", "%.*s is not a valid rcode", TEXT_ARGS(arguments[i]));
    return true;
}

static bool check_failover(struct setup *setup, const struct text *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!check_rcodes(setup, &arguments[i], 1))
            return false;
        if (text_equal_nocase(arguments[i], TEXT("NOERROR")))
            return setup_fail(setup, "rcode", "NoError cannot be used in failover");
    }
    return true;
}

static bool check_resolver(struct setup *setup, const struct text *arguments, size_t count)
{
    struct arena *arena = setup->linter->arena;
    for (size_t i = 0; i < count; i++) {
        struct text port;
        struct text host = arguments[i];
        go_split_host_port(NULL, arguments[i], &host, &port);
        if (!go_is_ip(host))
            return setup_fail(setup, "resolver", "resolver must be an IP address or IP:port: %s",
                              go_quote(arena, arguments[i]));
    }
    return true;
}

static bool check_source_address(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return go_is_ip(arguments[0]) ||
           setup_fail_at(setup, "source-address", "invalid IP address: %.*s",
                         TEXT_ARGS(arguments[0]));
}

static bool check_doh_method(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return text_is(arguments[0], "GET") || text_is(arguments[0], "POST") ||
           setup_fail(setup, "doh-method", "doh_method must be either POST or GET");
}

static const struct option options[] = {
    {.name = "except", .form = OPTION_ALL, .min = 1},
    {.name = "max_fails", .form = OPTION_ONE, .check = check_uint32},
    {.name = "max_connect_attempts",
     .form = OPTION_ONE,
     .check = check_uint32,
     .since = {1, 13, 2}},
    {.name = "health_check", .form = OPTION_ONE, .check = check_health_check},
    {.name = "force_tcp", .form = OPTION_ALONE},
    {.name = "prefer_udp", .form = OPTION_ALONE},
    {.name = "tls", .form = OPTION_ALL, .max = TLS_FILES_MAX},
    {.name = "tls_servername", .form = OPTION_ONE, .check = read_tls_name},
    {.name = "expire", .form = OPTION_ONE, .check = check_expire},
    {.name = "max_age", .form = OPTION_ONE, .check = check_max_age, .since = {1, 14, 3}},
    {.name = "max_idle_conns",
     .form = OPTION_ONE,
     .check = check_max_idle_conns,
     .since = {1, 14, 1}},
    {.name = "read_timeout", .form = OPTION_ONE, .check = check_read_timeout, .since = {1, 14, 5}},
    {.name = "doh_method", .form = OPTION_ONE, .check = check_doh_method, .since = {1, 14, 5}},
    {.name = "policy", .form = OPTION_ONE, .check = check_policy},
    {.name = "max_concurrent",
     .form = OPTION_ONE,
     .check = check_max_concurrent,
     .since = {1, 6, 8}},
    {.name = "next", .form = OPTION_ALL, .min = 1, .check = check_rcodes, .since = {1, 11, 4}},
    {.name = "next_on_nodata", .form = OPTION_ALONE, .since = {1, 14, 4}},
    {.name = "failfast_all_unhealthy_upstreams", .form = OPTION_NONE, .since = {1, 12, 1}},
    {.name = "failover",
     .form = OPTION_ALL,
     .min = 1,
     .check = check_failover,
     .since = {1, 13, 0}},
    {.name = "resolver",
     .form = OPTION_ALL,
     .min = 1,
     .check = check_resolver,
     .since = {1, 14, 4}},
    {.name = "source_address",
     .form = OPTION_ONE,
     .check = check_source_address,
     .since = {1, 14, 6}},
};

// ---- upstreams ----------------------------------------------------------------------------------

static struct text without_brackets(struct text host)
{
    while (host.len && (*host.at == '[' || *host.at == ']'))
        host = (struct text){host.at + 1, host.len - 1};
    while (host.len && (host.at[host.len - 1] == '[' || host.at[host.len - 1] == ']'))
        host.len--;
    return host;
}

// A file such as /etc/resolv.conf; that it is there is believed. "192.0.2.1/24" is none, and behind
// a transport a path begins as such.
static bool is_path(struct text host, bool has_scheme)
{
    const char *slash = host.len ? memchr(host.at, '/', host.len) : NULL;
    if (!slash || memmem(host.at, host.len, "://", 3))
        return false;
    struct text first = {host.at, (size_t)(slash - host.at)};
    return !go_is_ip(first) && (!has_scheme || !first.len || *first.at == '.');
}

// A name that can be asked for: letters, digits, '-', '_' and dots, the last label not of digits.
static bool is_host_name(struct text host)
{
    if (host.len && host.at[host.len - 1] == '.')
        host.len--;
    if (!host.len || !go_is_domain_name(host))
        return false;
    bool has_letter = false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
        if (!is_letter && c != '.' && (c < '0' || c > '9'))
            return false;
        has_letter = c == '.' ? false : has_letter || is_letter;
    }
    return has_letter;
}

static void warn_of_port(struct setup *setup, struct text upstream, struct text port)
{
    int64_t number;
    if (text_to_int64(port, &number) && number > 0 && number <= UINT16_MAX)
        return;
    setup_warn(setup, "upstream-port", "write a port from 1 to 65535",
               "each query to the upstream '%.*s' fails, as its port is no port",
               TEXT_ARGS(upstream));
}

// What an upstream consists of once its transport is taken off.
struct upstream {
    struct text text;
    const char *scheme;
    struct text host; // without the port, if has_port
    struct text port;
    bool has_port;
};

static struct upstream read_upstream(const struct setup *setup, struct text text)
{
    struct upstream upstream = {.text = text, .host = text};
    upstream.scheme = corefile_take_transport(&upstream.host, setup->linter->options->version);
    struct text whole = upstream.host;
    upstream.has_port = !go_split_host_port(NULL, whole, &upstream.host, &upstream.port);
    return upstream;
}

static struct text without_scheme(const struct setup *setup, struct text text)
{
    corefile_take_transport(&text, setup->linter->options->version);
    return text;
}

// What is no address: a file, or the name of a host.
static bool check_name(struct setup *setup, const struct upstream *upstream)
{
    struct arena *arena = setup->linter->arena;
    struct text whole = without_scheme(setup, upstream->text);
    bool has_brackets = !setup_is_before(setup, with_brackets_alone);
    struct text name = upstream->has_port || !has_brackets ? whole : without_brackets(whole);
    if (is_path(name, whole.len < upstream->text.len))
        return true;
    if (setup_is_before(setup, with_host_names)) {
        setup_fail(setup, "upstream", "not an IP address or file: %s", go_quote(arena, name));
        setup_hint(setup, "host names need CoreDNS 1.14.4");
        return false;
    }
    if (!is_host_name(name))
        return setup_fail(setup, "upstream", "not an IP address, file, or valid domain: %s",
                          go_quote(arena, upstream->text));
    setup_warn(setup, "upstream-name", "write its address",
               "CoreDNS asks for the address of '%.*s' when it starts, and does not start without "
               "one",
               TEXT_ARGS(name));
    return true;
}

static void warn_of_brackets(struct setup *setup, const struct upstream *upstream)
{
    if (memchr(upstream->text.at, '[', upstream->text.len))
        setup_warn(setup, "upstream-brackets", "write it without brackets, or with a port",
                   "CoreDNS before 1.14.2 refuses the upstream '%.*s'", TEXT_ARGS(upstream->text));
}

// parse.HostPortOrFile.
static bool check_upstream(struct setup *setup, struct text text)
{
    struct upstream upstream = read_upstream(setup, text);
    bool has_brackets = !setup_is_before(setup, with_brackets_alone);
    if (!without_scheme(setup, text).len && !setup_is_before(setup, with_refused_empty))
        return setup_fail(setup, "upstream", "invalid address: %s",
                          go_quote(setup->linter->arena, text));
    if (!strcmp(upstream.scheme, "unix"))
        return true;
    struct text host =
        upstream.has_port || !has_brackets ? upstream.host : without_brackets(upstream.host);
    if (!go_is_ip(go_without_zone(host)))
        return check_name(setup, &upstream);
    if (upstream.has_port)
        warn_of_port(setup, text, upstream.port);
    else
        warn_of_brackets(setup, &upstream);
    return true;
}

// As CoreDNS writes an upstream: with a port, and from 1.13.2 on without what stands behind a '%'.
static const char *show_upstream(const struct setup *setup, const struct upstream *upstream)
{
    struct arena *arena = setup->linter->arena;
    bool has_tls_names = !setup_is_before(setup, with_names_for_tls);
    struct text host = upstream->has_port ? upstream->host : without_brackets(upstream->host);
    host = has_tls_names ? go_without_zone(host) : host;
    bool is_v6 = host.len && memchr(host.at, ':', host.len);
    struct corefile_address transport = {.transport = upstream->scheme};
    struct text port =
        upstream->has_port ? upstream->port : corefile_address_port(arena, &transport, 53);
    if (!strcmp(upstream->scheme, "unix"))
        return arena_printf(arena, "%.*s", TEXT_ARGS(upstream->text));
    return arena_printf(arena, is_v6 ? "%s://[%.*s]:%.*s" : "%s://%.*s:%.*s", upstream->scheme,
                        TEXT_ARGS(host), TEXT_ARGS(port));
}

static bool check_scheme(struct setup *setup, const struct upstream *upstream)
{
    const char *scheme = upstream->scheme;
    bool knows_https = !setup_is_before(setup, with_https);
    if (!strcmp(scheme, "dns") || !strcmp(scheme, "tls") ||
        (!strcmp(scheme, "https") && knows_https))
        return true;
    setup_fail(setup, "upstream-scheme",
               "'%s' is not supported as a destination protocol in forward: %s", scheme,
               show_upstream(setup, upstream));
    if (!strcmp(scheme, "https"))
        setup_hint(setup, "https:// needs CoreDNS 1.14.5");
    return false;
}

// A server's name for TLS, which stands behind the upstream or in an option.
static bool check_tls_name(struct setup *setup, const struct upstream *upstream)
{
    const struct forward *forward = setup->own;
    struct text address = go_without_zone(upstream->host);
    if (strcmp(upstream->scheme, "tls") || !forward->tls_name.len ||
        address.len == upstream->host.len || setup_is_before(setup, with_names_for_tls))
        return true;
    struct text name = {address.at + address.len + 1, upstream->host.len - address.len - 1};
    return !name.len ||
           setup_fail(setup, "tls-name",
                      "both forward ('%.*s') and proxy level ('%.*s') TLS servernames are set for "
                      "upstream proxy '%s'",
                      TEXT_ARGS(forward->tls_name), TEXT_ARGS(name),
                      show_upstream(setup, upstream));
}

static bool check_https_path(struct setup *setup, struct text text)
{
    struct upstream upstream = read_upstream(setup, text);
    struct text rest = without_scheme(setup, text);
    if (strcmp(upstream.scheme, "https") || !rest.len || !memchr(rest.at, '/', rest.len) ||
        setup_is_before(setup, with_https))
        return true;
    return setup_fail(setup, "upstream-path",
                      "paths are not allowed in HTTPS upstream addresses (the /dns-query path is "
                      "used by default): %.*s",
                      TEXT_ARGS(text));
}

static bool check_transport(struct setup *setup, struct text text)
{
    struct upstream upstream = read_upstream(setup, text);
    return check_scheme(setup, &upstream) && check_tls_name(setup, &upstream);
}

static bool check_upstreams(struct setup *setup, const struct text *upstreams, size_t count)
{
    static bool (*const checks[])(struct setup * setup, struct text text) = {
        check_https_path, check_upstream, check_transport};
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        for (size_t at = 0; at < count; at++)
            if (!checks[i](setup, upstreams[at]))
                return false;
    return true;
}

// ---- the directive ------------------------------------------------------------------------------

// max_age and expire stand in any order.
static bool check_ages(struct setup *setup)
{
    struct arena *arena = setup->linter->arena;
    const struct forward *forward = setup->own;
    return forward->max_age_ns <= 0 || forward->max_age_ns >= forward->expire_ns ||
           setup_fail(setup, "max-age", "max_age (%s) must not be less than expire (%s)",
                      go_duration_text(arena, forward->max_age_ns),
                      go_duration_text(arena, forward->expire_ns));
}

static bool check_directive(struct setup *setup)
{
    size_t count;
    if (!setup_next_argument(setup))
        return setup_fail_argument(setup);
    struct text from = setup_value(setup);
    if (!zone_is_normal(setup->linter, from))
        return setup_fail(setup, "from", "unable to normalize '%.*s'", TEXT_ARGS(from));
    struct text *upstreams = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_argument(setup);
    bool is_old = setup_is_before(setup, with_host_names);
    if (is_old && !check_upstreams(setup, upstreams, count))
        return false;
    if (!setup_read_options(setup, options, COUNT_OF(options)) || !check_ages(setup))
        return false;
    if (!is_old && !check_upstreams(setup, upstreams, count))
        return false;
    return count <= UPSTREAMS_MAX ||
           setup_fail(setup, "upstreams", "more than %d TOs configured: %zu", UPSTREAMS_MAX, count);
}

static bool check_forward(struct setup *setup)
{
    while (setup_next(setup)) {
        struct forward *forward = arena_new_of(setup->linter->arena, struct forward);
        forward->expire_ns = EXPIRE_S * INT64_C(1000000000);
        setup->own = forward;
        if (setup->instances++ == 1)
            setup_warn(setup, "forward-twice", "leave one, or give each a zone of its own",
                       "only the first `forward` whose zone matches is used; CoreDNS 1.8 refuses a "
                       "second one");
        if (!check_directive(setup))
            return false;
    }
    return true;
}

const struct checked_plugin forward_plugins[] = {
    {.name = "forward", .check = check_forward},
    {0},
};
