#include <string.h>

#include "dns/corefile/address.h"
#include "dns/corefile/setup.h"

// The plugin `forward`: FROM TO... { options }, any number of times in a block.

enum { UPSTREAMS_MAX = 15, TLS_FILES_MAX = 3, RCODE_LEN_MAX = 16 };

static const struct coredns_version with_bracketed_addresses = {1, 11, 0};
static const struct coredns_version with_host_names = {1, 14, 4};
static const struct coredns_version with_https = {1, 14, 5};

// ---- options ------------------------------------------------------------------------------------

static bool check_uint32(struct setup *setup, const struct text *arguments, size_t count)
{
    uint64_t number;
    (void)count;
    return go_uint(setup, arguments[0], 32, &number);
}

static bool check_expire(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    return ns >= 0 ||
           setup_fail(setup, "negative", "expire can't be negative: %.*s", TEXT_ARGS(arguments[0]));
}

static bool check_max_age(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    return ns >= 0 || setup_fail(setup, "negative", "max_age can't be negative: %.*s",
                                 TEXT_ARGS(arguments[0]));
}

static bool check_read_timeout(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns = 0;
    (void)count;
    if (!go_duration(setup, arguments[0], &ns))
        return false;
    return ns > 0 || setup_fail(setup, "not-positive", "read_timeout must be positive: %.*s",
                                TEXT_ARGS(arguments[0]));
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
    static const char *const policies[] = {"random", "round_robin", "sequential"};
    (void)count;
    for (size_t i = 0; i < COUNT_OF(policies); i++)
        if (text_is(arguments[0], policies[i]))
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

static bool is_rcode(struct text text)
{
    static const char *const rcodes[] = {
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP",    "REFUSED", "YXDOMAIN", "YXRRSET",
        "NXRRSET", "NOTAUTH", "NOTZONE",  "STATEFUL", "BADVERS",   "BADSIG",  "BADKEY",   "BADTIME",
        "BADMODE", "BADNAME", "BADALG",   "BADTRUNC", "BADCOOKIE", "NOTIMPL", "BADSIG"};
    for (size_t i = 0; i < COUNT_OF(rcodes); i++)
        if (text_equal_nocase(text, text_of(rcodes[i])))
            return true;
    return false;
}

static bool check_rcodes(struct setup *setup, const struct text *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_rcode(arguments[i]))
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
        go_split_host_port(arena, arguments[i], &host, &port);
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
    {.name = "tls_servername", .form = OPTION_ONE},
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

// Cuts what stands behind the last '%': an interface, or a server's name for TLS.
static struct text without_zone(struct text host)
{
    const char *percent = host.len ? memrchr(host.at, '%', host.len) : NULL;
    return percent ? (struct text){host.at, (size_t)(percent - host.at)} : host;
}

static struct text without_brackets(struct text host)
{
    while (host.len && (*host.at == '[' || *host.at == ']'))
        host = (struct text){host.at + 1, host.len - 1};
    while (host.len && (host.at[host.len - 1] == '[' || host.at[host.len - 1] == ']'))
        host.len--;
    return host;
}

// A file such as /etc/resolv.conf; that it is there is believed.
static bool is_path(struct text host)
{
    return host.len && memchr(host.at, '/', host.len);
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

static bool check_name(struct setup *setup, struct text upstream, struct text host)
{
    struct arena *arena = setup->linter->arena;
    if (is_path(host))
        return true;
    if (setup_is_before(setup, with_host_names)) {
        setup_fail(setup, "upstream", "not an IP address or file: %s", go_quote(arena, host));
        setup_hint(setup, "host names need CoreDNS 1.14.4");
        return false;
    }
    if (!is_host_name(host))
        return setup_fail(setup, "upstream", "not an IP address, file, or valid domain: %s",
                          go_quote(arena, upstream));
    setup_warn(setup, "upstream-name", "write its address",
               "CoreDNS asks for the address of '%.*s' when it starts, and does not start without "
               "one",
               TEXT_ARGS(host));
    return true;
}

// parse.HostPortOrFile.
static bool check_upstream(struct setup *setup, struct text upstream)
{
    struct text port = TEXT("");
    struct text host = upstream;
    struct arena *arena = setup->linter->arena;
    const char *scheme = corefile_take_transport(&host);
    struct text whole = host;
    bool is_old = setup_is_before(setup, with_bracketed_addresses);
    if (!whole.len && !is_old)
        return setup_fail(setup, "upstream", "invalid address: %s", go_quote(arena, upstream));
    if (!strcmp(scheme, "unix"))
        return true;
    if (go_split_host_port(arena, whole, &host, &port)) {
        host = is_old ? whole : without_brackets(whole);
        if (!go_is_ip(without_zone(host)))
            return check_name(setup, upstream, host);
        if (host.len != whole.len)
            setup_warn(setup, "upstream-brackets", "write it without brackets, or with a port",
                       "CoreDNS before 1.11.0 refuses the upstream '%.*s'", TEXT_ARGS(upstream));
        return true;
    }
    if (!go_is_ip(without_zone(host)))
        return check_name(setup, upstream, whole);
    warn_of_port(setup, upstream, port);
    return true;
}

static bool check_scheme(struct setup *setup, struct text upstream)
{
    struct text host = upstream;
    const char *scheme = corefile_take_transport(&host);
    bool knows_https = !setup_is_before(setup, with_https);
    if (!strcmp(scheme, "dns") || !strcmp(scheme, "tls") ||
        (!strcmp(scheme, "https") && knows_https))
        return true;
    setup_fail(setup, "upstream-scheme",
               "'%s' is not supported as a destination protocol in forward: %.*s", scheme,
               TEXT_ARGS(upstream));
    if (!strcmp(scheme, "https"))
        setup_hint(setup, "https:// needs CoreDNS 1.14.5");
    return false;
}

static bool check_upstreams(struct setup *setup, const struct text *upstreams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_starts(upstreams[i], "https://") && !setup_is_before(setup, with_https) &&
            memchr(upstreams[i].at + 8, '/', upstreams[i].len - 8))
            return setup_fail(setup, "upstream-path",
                              "paths are not allowed in HTTPS upstream addresses (the /dns-query "
                              "path is used by default): %.*s",
                              TEXT_ARGS(upstreams[i]));
    for (size_t i = 0; i < count; i++)
        if (!check_upstream(setup, upstreams[i]))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!check_scheme(setup, upstreams[i]))
            return false;
    return true;
}

// ---- the directive ------------------------------------------------------------------------------

// max_age and expire stand in any order; 10 s is the default of expire.
static bool check_ages(struct setup *setup, size_t first)
{
    enum { EXPIRE_S = 10 };
    int64_t expire_ns = EXPIRE_S * INT64_C(1000000000);
    int64_t max_age_ns = 0;
    const struct corefile *corefile = setup->linter->corefile;
    struct arena *arena = setup->linter->arena;
    for (size_t i = first; i + 1 < setup->next; i++) {
        struct text word = corefile_text(corefile, setup->tokens[i]);
        struct text value = corefile_text(corefile, setup->tokens[i + 1]);
        if (text_is(word, "expire"))
            go_duration_error(arena, value, &expire_ns);
        if (text_is(word, "max_age"))
            go_duration_error(arena, value, &max_age_ns);
    }
    return max_age_ns <= 0 || max_age_ns >= expire_ns ||
           setup_fail(setup, "max-age", "max_age must not be less than expire");
}

static bool check_directive(struct setup *setup)
{
    size_t count;
    if (!setup_next_argument(setup))
        return setup_fail_argument(setup);
    struct text from = setup_value(setup);
    if (!zone_is_normal(setup->linter->arena, from))
        return setup_fail(setup, "from", "unable to normalize '%.*s'", TEXT_ARGS(from));
    struct text *upstreams = setup_arguments(setup, &count);
    if (!count)
        return setup_fail_argument(setup);
    bool is_old = setup_is_before(setup, with_host_names);
    size_t first = setup->next;
    if (is_old && !check_upstreams(setup, upstreams, count))
        return false;
    if (!setup_read_options(setup, options, COUNT_OF(options)) || !check_ages(setup, first))
        return false;
    if (!is_old && !check_upstreams(setup, upstreams, count))
        return false;
    return count <= UPSTREAMS_MAX ||
           setup_fail(setup, "upstreams", "more than %d TOs configured: %zu", UPSTREAMS_MAX, count);
}

static bool check_forward(struct setup *setup)
{
    while (setup_next(setup)) {
        if (setup->instances++ == 1)
            setup_warn(setup, "forward-twice", "leave one, or give each a zone of its own",
                       "only the first `forward` whose zone matches is used; CoreDNS 1.8 refuses a "
                       "second one");
        if (!check_directive(setup))
            return false;
    }
    return true;
}

const struct checked_plugin forward_plugins[] = {{"forward", check_forward}, {NULL, NULL}};
