#include "dns/corefile/test_lint.h"

// ---- releases -----------------------------------------------------------------------------------

static void a_version_is_read_from_a_tag_and_an_image(void **state)
{
    (void)state;
    struct coredns_version version = {0};
    assert_true(coredns_version_read(TEXT("v1.11.3-eksbuild.1"), &version));
    assert_int_equal(version.minor, 11);
    assert_int_equal(version.patch, 3);
    assert_true(coredns_version_read(TEXT("1.14"), &version));
    assert_int_equal(version.patch, 0);
    assert_false(coredns_version_read(TEXT("latest"), &version));
    assert_false(coredns_version_read(TEXT("1."), &version));
    assert_false(coredns_version_read(TEXT("1.2.3x"), &version));
    assert_true(coredns_version_of_image(
        TEXT("registry.test:5000/coredns/coredns:v1.12.1@sha256:00ff"), &version));
    assert_int_equal(version.minor, 12);
    assert_false(coredns_version_of_image(TEXT("registry.test/coredns"), &version));
    assert_true(coredns_version_is_before((struct coredns_version){1, 9, 4},
                                          (struct coredns_version){1, 10, 1}));
}

static void directives_come_with_releases_and_builds(void **state)
{
    (void)state;
    static const char *const changes[] = {"-any", "+records", NULL};
    const struct row rows[] = {
        {"1.12.1", ". {\n  nomad\n}\n", AT("2") "Unknown directive 'nomad'"},
        {"1.13.0", ". {\n  nomad\n}\n", ""},
        {NULL, ". {\n  forwrd . 1.1.1.1\n  errors x\n}\n",
         AT("2") "Unknown directive 'forwrd'\nplugin/errors: " AT("3") "invalid log file: x"},
    };
    CHECK(rows);
    const struct corefile_lint_options options = {.version = coredns_newest, .plugins = changes};
    assert_string_equal(lint_with(&options, ". {\n  records\n  any\n}\n"),
                        AT("3") "Unknown directive 'any'");
}

// ---- addresses ----------------------------------------------------------------------------------

static void addresses_are_names_and_networks(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "example.org:1053 tls://example.org:853 {\n}\n", ""},
        {NULL, "10.0.0.0/24 2001:db8::/32 {\n}\n", ""},
        {NULL, "10.0.0.0/23 {\n}\n1.0.10.in-addr.arpa {\n}\n",
         "cannot serve dns://1.0.10.in-addr.arpa.:53 - it is already defined"},
        {NULL, "a..b {\n}\n",
         "error inspecting server blocks: zone is not a valid domain name: a..b"},
        {NULL, "example.org: {\n}\n",
         "error inspecting server blocks: expecting data after last colon: \"example.org:\""},
        {NULL, "example.org:99999 {\n}\n", "address 99999: invalid port"},
        {NULL, "dns:// {\n}\n",
         "error inspecting server blocks: expecting data after last colon: \"\""},
        {"1.11.0", "quic://example.org {\n}\n", ""},
        {"1.10.1", "quic:// {\n}\n", ""},
        {NULL, "a.example {\n}\nA.example {\n}\n",
         "cannot serve dns://a.example.:53 - it is already defined"},
        {"1.10.1", "a.example {\n}\nA.example {\n}\n", "(zone-upper-case)"},
    };
    CHECK(rows);
}

static void zones_are_served_once_at_each_address(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, ".:53 {\n}\n.:54 {\n}\ntls://.:53 {\n}\n", ""},
        {NULL, ". {\n}\n.:53 {\n}\n", "cannot serve dns://.:53 - it is already defined"},
        {NULL, ". {\n  bind 127.0.0.1\n}\n. {\n  bind 127.0.0.2\n}\n", ""},
        {NULL, ". {\n  bind 127.0.0.1\n}\n. {\n}\n",
         "cannot serve dns://.:53 - zone overlap listener capacity with dns://.:53 on 127.0.0.1"},
        {NULL, ". {\n}\n. {\n  bind 127.0.0.1\n}\n",
         "cannot serve dns://.:53 on 127.0.0.1 - zone overlap listener capacity with "
         "dns://.:53"},
        {NULL, ". {\n  bind 127.0.0.1 127.0.0.2\n}\n. {\n}\n",
         "cannot serve dns://.:53 - zone overlap listener capacity with dns://.:53 on 127.0.0.2"},
        {NULL, ". {\n  view a {\n    expr true\n  }\n}\n. {\n}\n", ""},
    };
    CHECK(rows);
}

// ---- plugins ------------------------------------------------------------------------------------

static void forward_takes_up_to_fifteen_upstreams(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "forward . 1.1.1.1 [::1]:53 tls://9.9.9.9 dns://8.8.8.8:5353 /etc/resolv.conf", ""},
        {NULL, "forward . 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
         "plugin/forward: not an IP address, file, or valid domain: \"1\""},
        {NULL,
         "forward . 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 "
         "1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1 1.1.1.1",
         "plugin/forward: more than 15 TOs configured: 16"},
        {NULL, "forward .", "plugin/forward: " AT("2") WRONG_COUNT "'.'"},
        {NULL, "forward", "plugin/forward: " AT("2") WRONG_COUNT "'forward'"},
        {NULL, "forward a..b 1.1.1.1", "plugin/forward: unable to normalize 'a..b'"},
        {NULL, "forward . quic://1.1.1.1",
         "plugin/forward: 'quic' is not supported as a destination protocol in forward: "
         "quic://1.1.1.1:853"},
        {NULL, "forward . grpc://[::1]:1",
         "plugin/forward: 'grpc' is not supported as a destination protocol in forward: "
         "grpc://[::1]:1"},
        {"1.10.1", "forward . quic://1.1.1.1",
         "plugin/forward: not an IP address or file: \"quic://1.1.1.1\""},
        {"1.14.4", "forward . https://1.1.1.1",
         "plugin/forward: 'https' is not supported as a destination protocol in forward: "
         "https://1.1.1.1:443"},
        {NULL, "forward . https://1.1.1.1", ""},
        {NULL, "forward . https://1.1.1.1/dns-query",
         "plugin/forward: paths are not allowed in HTTPS upstream addresses (the /dns-query path "
         "is used by default): https://1.1.1.1/dns-query"},
        {NULL, "forward . tls://", "plugin/forward: invalid address: \"tls://\""},
        {NULL, "forward . 192.0.2.1/24",
         "plugin/forward: not an IP address, file, or valid domain: \"192.0.2.1/24\""},
        {NULL, "forward . dns:///etc/resolv.conf ../resolv.conf", ""},
        {"1.10.1", "forward . dns.example",
         "plugin/forward: not an IP address or file: "
         "\"dns.example\""},
        {NULL, "forward . dns.example", "(upstream-name)"},
        {NULL, "forward . 1.1.1.1:0 1.1.1.1:dns", "(upstream-port)\n(upstream-port)"},
        {"1.14.1", "forward . [::1]", "plugin/forward: not an IP address or file: \"[::1]\""},
        {"1.14.2", "forward . [::1]", "(upstream-brackets)"},
        {NULL, "forward . [::1]", "(upstream-brackets)"},
        {NULL, "forward . 1.1.1.1\nforward b.example 2.2.2.2", "(forward-twice)"},
    };
    CHECK_LINES(rows);
}

static void options_of_forward_have_their_arguments_and_releases(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {NULL, "policy random", ""},
        {NULL, "policy best", AT("3") "unknown policy 'best'"},
        {NULL, "policy", AT("3") WRONG_COUNT "'policy'"},
        {NULL, "polcy random", AT("3") "unknown property 'polcy'"},
        {NULL, "max_fails 3 4", AT("3") "unknown property '4'"},
        {NULL, "max_fails -1", "strconv.ParseUint: parsing \"-1\": invalid syntax"},
        {NULL, "max_fails 4294967296",
         "strconv.ParseUint: parsing \"4294967296\": value out of range"},
        {NULL, "expire 5", "time: missing unit in duration \"5\""},
        {NULL, "expire 5x", "time: unknown unit \"x\" in duration \"5x\""},
        {NULL, "expire -5s", "expire can't be negative: -5s"},
        {NULL, "expire soon", "time: invalid duration \"soon\""},
        {NULL, "health_check 0.5s no_rec domain example.org", ""},
        {NULL, "health_check 1s fast", "health_check: unknown option fast"},
        {NULL, "force_tcp yes", AT("3") WRONG_COUNT "'yes'"},
        {NULL, "max_concurrent -1", "max_concurrent can't be negative: -1"},
        {NULL, "except a.example b.example", ""},
        {NULL, "except", AT("3") WRONG_COUNT "'except'"},
        {NULL, "failover SERVFAIL refused", ""},
        {NULL, "failover NOERROR", "NoError cannot be used in failover"},
        {NULL, "failover WRONG", "WRONG is not a valid rcode"},
        {"1.12.4", "failover SERVFAIL", AT("3") "unknown property 'failover'"},
        {"1.11.3", "next NXDOMAIN", AT("3") "unknown property 'next'"},
        {NULL, "max_age 5s", "max_age (5s) must not be less than expire (10s)"},
        {NULL, "max_age 30s", ""},
        {NULL, "max_age 30s\nexpire 1m30s", "max_age (30s) must not be less than expire (1m30s)"},
        {NULL, "max_age -90m", "max_age can't be negative: -1h30m0s"},
        {"1.14.2", "max_age 30s", AT("3") "unknown property 'max_age'"},
        {NULL, "read_timeout 0", "read_timeout must be positive: 0s"},
        {"1.14.4", "read_timeout 1s", AT("3") "unknown property 'read_timeout'"},
        {NULL, "resolver 2001:db8::1 [::1]:53 192.0.2.1", ""},
        {NULL, "resolver here", "resolver must be an IP address or IP:port: \"here\""},
        {NULL, "next BADVERS", "BADVERS is not a valid rcode"},
        {NULL, "next nxdomain DSOTYPENI", ""},
        {NULL, "max_concurrent +3", ""},
        {NULL, "max_fails +3", "strconv.ParseUint: parsing \"+3\": invalid syntax"},
        {NULL, "doh_method PUT", "doh_method must be either POST or GET"},
        {NULL, "max_idle_conns 0", ""},
        {NULL, "max_idle_conns -1", "max_idle_conns can't be negative: -1"},
        {"1.14.0", "max_idle_conns 1", AT("3") "unknown property 'max_idle_conns'"},
        {"1.13.1", "max_connect_attempts 1", AT("3") "unknown property 'max_connect_attempts'"},
        {"1.12.0", "failfast_all_unhealthy_upstreams",
         AT("3") "unknown property 'failfast_all_unhealthy_upstreams'"},
        {"1.14.3", "next_on_nodata", AT("3") "unknown property 'next_on_nodata'"},
        {"1.14.5", "source_address 192.0.2.1", AT("3") "unknown property 'source_address'"},
        {NULL, "source_address here", AT("3") "invalid IP address: here"},
        {NULL, "tls a b c d", AT("3") WRONG_COUNT "'d'"},
    };
    CHECK_OPTIONS("forward . 1.1.1.1", rows);
}

static void a_name_for_tls_stands_in_one_place(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "forward . tls://1.1.1.1%a.example tls://[2001:db8::1%b.example]:853", ""},
        {NULL, "forward . tls://1.1.1.1%a.example {\ntls_servername b.example\n}",
         "plugin/forward: both forward ('b.example') and proxy level ('a.example') TLS servernames "
         "are set for upstream proxy 'tls://1.1.1.1:853'"},
        {"1.13.1", "forward . tls://1.1.1.1%a.example {\ntls_servername b.example\n}", ""},
    };
    CHECK_LINES(rows);
}

static void plugins_of_the_server_have_limits(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "errors stdout {\nconsolidate 5m \".* timeout$\" warning show_first\nstacktrace\n}",
         ""},
        {NULL, "errors {\nconsolidate 5m\n}", "plugin/errors: " AT("3") WRONG_COUNT "'5m'"},
        {NULL, "errors\nerrors",
         "plugin/errors: this plugin can only be used once per Server Block"},
        {NULL, "log . {\nclass denial error\n}", ""},
        {NULL, "log . {\nclass errors\n}", "plugin/log: invalid Class: errors"},
        {NULL, "health :8080 {\nlameduck 5s\n}", ""},
        {NULL, "health {\nlameduck 5\n}",
         "plugin/health: unable to parse lameduck duration value: '5' : time: missing unit in "
         "duration \"5\""},
        {NULL, "health 8080", "plugin/health: address 8080: missing port in address"},
        {NULL, "ready :8181 x", "plugin/ready: " AT("2") WRONG_COUNT "'x'"},
        {NULL, "prometheus 9153", "plugin/prometheus: address 9153: missing port in address"},
        {NULL, "prometheus ::1:9153",
         "plugin/prometheus: address ::1:9153: too many colons in address"},
        {NULL, "reload 2s 1s", ""},
        {NULL, "reload 1s", "plugin/reload: interval value must be greater or equal to 2s"},
        {NULL, "reload 10s 0s", ""},
        {"1.10.1", "reload 10s 0s", "plugin/reload: jitter value must be greater or equal to 1s"},
        {NULL, "reload\nreload", ""},
        {NULL, "bufsize 1232", ""},
        {NULL, "bufsize 100", "plugin/bufsize: plugin/bufsize: " AT("2") WRONG_COUNT "'100'"},
        {NULL, "bufsize +600", ""},
        {NULL, "multisocket +3", ""},
        {NULL, "multisocket 99999999999999999999",
         "plugin/multisocket: invalid num sockets: strconv.Atoi: parsing "
         "\"99999999999999999999\": value out of range"},
        {NULL, "multisocket 1025", "plugin/multisocket: num sockets exceeds maximum (1024): 1025"},
        {NULL, "whoami x", "plugin/whoami: " AT("2") WRONG_COUNT "'x'"},
        {NULL, "loop\nloop", "plugin/loop: this plugin can only be used once per Server Block"},
        {NULL, "bind", "plugin/bind: at least one address or interface name is expected"},
    };
    CHECK_LINES(rows);
}

static void each_plugin_of_the_server_has_words_of_its_own_for_unknown_options(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "errors {\nx\n}",
         "plugin/errors: Corefile:3 - Syntax error: Unexpected token 'x', expecting 'Unknown field "
         "x'"},
        {NULL, "log {\nx\n}", "plugin/log: " AT("3") "unknown property 'x'"},
        {"1.14.3", "log {\nx\n}", "plugin/log: " AT("3") WRONG_COUNT "'x'"},
        {NULL, "health {\nx\n}", "plugin/health: " AT("3") "unknown property 'x'"},
        {"1.14.3", "health {\nx\n}", "plugin/health: " AT("3") WRONG_COUNT "'x'"},
        {NULL, "prometheus {\nx\n}", "plugin/prometheus: " AT("3") "unknown option: x"},
        {NULL, "prometheus {\ntls a\ntls a\n}",
         "plugin/prometheus: " AT("4") "tls block already specified"},
        {NULL, "prometheus {\ntls a\n}\nprometheus",
         "plugin/prometheus: this plugin can only be used once per Server Block"},
        {"1.14.2", "prometheus {\ntls a\n}",
         "plugin/prometheus: this plugin can only be used once per Server Block"},
        {"1.12.1", "ready {\nmonitor continuously\n}",
         "plugin/ready: this plugin can only be used once per Server Block"},
        {NULL, "bind ::1 {\nx\n}", "plugin/bind: invalid option \"x\""},
        {NULL, "bind ::1 {\nexcept\n}",
         "plugin/bind: at least one address or interface must be given to except subdirective"},
        {NULL, "any x", "plugin/any: " AT("2") WRONG_COUNT "'x'"},
        {"1.14.3", "any x", ""},
        {NULL, "chaos {\nx\n}", "plugin/chaos: " AT("3") "unknown property 'x'"},
        {"1.14.3", "chaos {\nx\n}", ""},
        {NULL, "errors {\nconsolidate 5m x fatal\n}",
         "plugin/errors: " AT("3") "unknown option in consolidate: fatal"},
        {"1.13.2", "errors {\nconsolidate 5m x fatal\n}",
         "plugin/errors: " AT("3") "unknown log level argument in consolidate: fatal"},
        {"1.13.2", "errors {\nconsolidate 5m x info show_first\n}",
         "plugin/errors: " AT("3") WRONG_COUNT "'show_first'"},
    };
    CHECK_LINES(rows);
}

static void https3_needs_a_certificate(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "https3://example.org {\n}\n", "DoH3 requires TLS, no TLS config found"},
        {NULL, "https3://example.org {\ntls cert.pem key.pem\n}\n", ""},
        {"1.13.1", "https3://example.org {\n}\n", ""},
        {NULL, "https://example.org {\n}\n", ""},
    };
    CHECK(rows);
}

// ---- what CoreDNS accepts -----------------------------------------------------------------------

static void what_does_harm_is_warned_of(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, ". {\n  health {\n    lameduck 5s\n  }\n", "(missing-brace)"},
        {NULL, "a.example\nerrors\n}\n", "(stray-brace)"},
        {NULL, "a.example:5353 b.example {\n}\n", "(port-on-some-zones)"},
        {NULL, "*.a.example {\n}\n", "(zone-wildcard)"},
        {NULL, "_tcp.a.example {\n}\n", "(zone-underscore)"},
        {NULL, "forward {\n}\n", "(plugin-as-zone)"},
        {"1.14.6", "A.example {\n}\n", "(zone-upper-case)"},
        {NULL, "svc.cluster.local {\n}\n. {\n  kubernetes cluster.local\n}\n",
         "(shadows-kubernetes)"},
        {NULL, "{\n}\n", "(no-zones)"},
        {NULL, "\xc3\xa4.example {\n}\n", "(zone-not-ascii)"},
        {NULL, ". {\n  forward . 1.1.1.1#53 2.2.2.2\n}\n", "(comment-in-word)"},
        {NULL, ". {\n  forward . 1.1.1.1 #53\n  log . \"a#b\"\n}\n", ""},
        {NULL, "{$ZONE}example.org {\n}\n", "(variable-not-set)"},
        {NULL, ". {\n  log . \"{remote} {%FORMAT%} {$} {$OTHER}\"\n}\n",
         "(variable-not-set)\n(variable-not-set)"},
    };
    CHECK(rows);
}

static struct text one_variable(void *context, struct text name)
{
    (void)context;
    return text_is(name, "ZONE") ? TEXT("example.org") : TEXT("");
}

static void variables_that_are_set_are_no_matter(void **state)
{
    (void)state;
    const struct corefile_world world = {.variable = one_variable};
    const struct corefile_lint_options options = {.version = coredns_newest, .world = &world};
    assert_string_equal(lint_with(&options, "{$ZONE} {\n}\n"), "");
    assert_string_equal(lint_with(&options, "{$ZONE}.{$TLD} {\n}\n"), "(variable-not-set)");
}

static void plugins_that_no_file_should_lack_are_asked_for(void **state)
{
    (void)state;
    const struct corefile_file file = {"Corefile", TEXT(". {\n  health\n}\n")};
    const struct corefile_lint_options options = {.version = coredns_newest};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, &options, &problems);
    assert_int_equal(problems.count, 2);
    assert_true(strstr(problems.items[0].text, "no server block has `reload`"));
    assert_true(strstr(problems.items[1].text, "no server block has `ready`"));
    assert_true(problems.items[0].is_warning && problems.items[1].is_warning);
}

static void an_override_is_directives_alone(void **state)
{
    (void)state;
    const struct corefile_lint_options options = {.version = coredns_newest, .is_override = true};
    assert_string_equal(lint_with(&options, "log\nrewrite name a b\n"), "");
    assert_string_equal(lint_with(&options, "log . {\n class x\n}\n"),
                        "plugin/log: invalid Class: x");
    assert_string_equal(lint_with(&options, "a.example {\n log\n}\n"),
                        AT("1") "Unknown directive 'a.example'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_version_is_read_from_a_tag_and_an_image),
        UNIT(directives_come_with_releases_and_builds),
        UNIT(addresses_are_names_and_networks),
        UNIT(zones_are_served_once_at_each_address),
        UNIT(forward_takes_up_to_fifteen_upstreams),
        UNIT(options_of_forward_have_their_arguments_and_releases),
        UNIT(a_name_for_tls_stands_in_one_place),
        UNIT(plugins_of_the_server_have_limits),
        UNIT(each_plugin_of_the_server_has_words_of_its_own_for_unknown_options),
        UNIT(https3_needs_a_certificate),
        UNIT(what_does_harm_is_warned_of),
        UNIT(variables_that_are_set_are_no_matter),
        UNIT(plugins_that_no_file_should_lack_are_asked_for),
        UNIT(an_override_is_directives_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
