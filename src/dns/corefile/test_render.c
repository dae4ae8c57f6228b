#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "dns/corefile/lint.h"
#include "dns/corefile/render.h"

static const struct text zones[] = {{"corp.example", 12}, {"lab.example", 11}};
static const struct text upstreams[] = {{"192.0.2.53", 10}, {"192.0.2.54:5353", 15}};
static const struct text resolv_conf[] = {{"/etc/resolv.conf", 16}};

static const struct corefile_entry data_centre = {
    .name = {"data-centre", 11},
    .zones = zones,
    .zone_count = 2,
    .forward = {.upstreams = upstreams, .upstream_count = 2, .policy = FORWARD_ROUND_ROBIN},
    .cache = {.positive_s = 900, .negative_s = 30},
};

static struct corefile_input input_of(const struct corefile_entry *entries, size_t count)
{
    return (struct corefile_input){
        .port = 5353,
        .cluster_domain = TEXT("cluster.local"),
        .metrics_address = TEXT(":9153"),
        .cache = {.positive_s = 900, .negative_s = 30},
        .entries = entries,
        .entry_count = count,
        .root = {.upstreams = resolv_conf, .upstream_count = 1, .policy = FORWARD_SEQUENTIAL},
    };
}

static void assert_accepted(struct text text)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct corefile_file file = {"Corefile", text};
    const struct corefile_lint_options options = {.version = coredns_newest};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, &options, &problems);
    assert_int_equal(problems.count, 0);
    assert_int_not_equal(corefile->block_count, 0);
}

#define ROOT_AND_LAST(log, id)                                                                     \
    ".:5353 {\n    bufsize 1232\n    errors\n    log . {\n        " log "\n    }\n"                \
    "    health {\n        lameduck 20s\n    }\n    ready\n"                                       \
    "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n        pods insecure\n"                \
    "        fallthrough in-addr.arpa ip6.arpa\n    }\n    prometheus :9153\n"                     \
    "    forward . /etc/resolv.conf {\n        policy sequential\n    }\n"                         \
    "    cache 900 {\n        denial 9984 30\n    }\n    reload\n}\n"                              \
    "hostname.bind:5353 version.bind:5353 {\n    chaos signpost-" id " signpost\n}\n"

static void an_entry_is_a_block_before_the_root(void **state)
{
    (void)state;
    char id[CONFIG_ID_LEN + 1];
    AUTO_BUFFER out = {0};
    const struct corefile_input input = input_of(&data_centre, 1);
    corefile_render(&out, &input, id);
    assert_string_equal(id, "7123ad3aa85b6c10");
    assert_string_equal(
        out.at, "# data-centre\ncorp.example:5353 lab.example:5353 {\n    prometheus :9153\n"
                "    forward . 192.0.2.53 192.0.2.54:5353 {\n        policy round_robin\n    }\n"
                "    errors\n    log . {\n        class error\n    }\n    bufsize 1232\n"
                "    cache 900 {\n        denial 9984 30\n    }\n}\n" ROOT_AND_LAST(
                    "class error", "7123ad3aa85b6c10"));
    assert_accepted(buffer_text(&out));
}

static void all_options_stand_in_the_order_of_the_api(void **state)
{
    (void)state;
    static const struct text rcodes[] = {{"SERVFAIL", 8}, {"REFUSED", 7}};
    AUTO_BUFFER out = {0};
    struct corefile_entry entry = data_centre;
    entry.forward = (struct corefile_forward){
        .upstreams = upstreams,
        .upstream_count = 1,
        .uses_tls = true,
        .tls_server_name = TEXT("dns.corp.example"),
        .tls_bundle = TEXT("/etc/pki/dns.corp.example-ca-corp-17/ca-bundle.crt"),
        .forces_tcp = true,
        .except = zones,
        .except_count = 1,
        .prefers_udp = true,
        .expire = TEXT("20s"),
        .has_max_fails = true,
        .health_interval = TEXT("1s"),
        .is_health_without_recursion = true,
        .health_domain = TEXT("corp.example"),
        .has_max_concurrent = true,
        .max_concurrent = 1000,
        .failover = rcodes,
        .failover_count = 2,
    };
    entry.cache.serve_stale = TEXT("1h");
    entry.filters_aaaa = true;
    struct corefile_input input = input_of(&entry, 1);
    input.log_level = COREFILE_LOG_DEBUG;
    corefile_render_entry(&out, &input, &entry);
    assert_string_equal(
        out.at, "# data-centre\ncorp.example:5353 lab.example:5353 {\n    prometheus :9153\n"
                "    forward . tls://192.0.2.53 {\n        tls_servername dns.corp.example\n"
                "        tls /etc/pki/dns.corp.example-ca-corp-17/ca-bundle.crt\n"
                "        policy random\n        force_tcp\n        except corp.example\n"
                "        prefer_udp\n        expire 20s\n        max_fails 0\n"
                "        health_check 1s no_rec domain corp.example\n        max_concurrent 1000\n"
                "        failover SERVFAIL REFUSED\n    }\n    errors\n    log . {\n"
                "        class denial error\n    }\n    bufsize 1232\n    cache 900 {\n"
                "        denial 9984 30\n        serve_stale 1h\n    }\n    template IN AAAA . {\n"
                "        rcode NOERROR\n    }\n}\n");
    buffer_clear(&out);
    char id[CONFIG_ID_LEN + 1];
    corefile_render(&out, &input, id);
    assert_accepted(buffer_text(&out));
}

static void the_layout_of_openshift_names_no_id(void **state)
{
    (void)state;
    char id[CONFIG_ID_LEN + 1];
    char whole[CONFIG_ID_LEN + 1];
    AUTO_BUFFER out = {0};
    struct corefile_entry entry = data_centre;
    entry.forward.uses_tls = true;
    entry.forward.tls_server_name = TEXT("dns.corp.example");
    entry.forward.forces_tcp = true;
    struct corefile_input input = input_of(&entry, 1);
    input.layout = COREFILE_OPENSHIFT;
    input.metrics_address = TEXT("127.0.0.1:9153");
    input.log_level = COREFILE_LOG_TRACE;
    corefile_render(&out, &input, id);
    assert_string_equal(
        out.at,
        "# data-centre\ncorp.example:5353 lab.example:5353 {\n    prometheus 127.0.0.1:9153\n"
        "    forward . tls://192.0.2.53 tls://192.0.2.54:5353 {\n"
        "        tls_servername dns.corp.example\n        tls\n        policy round_robin\n"
        "        force_tcp\n    }\n    errors\n    log . {\n        class all\n    }\n"
        "    bufsize 1232\n    cache 900 {\n        denial 9984 30\n    }\n}\n"
        ".:5353 {\n    bufsize 1232\n    errors\n    log . {\n        class all\n    }\n"
        "    health {\n        lameduck 20s\n    }\n    ready\n"
        "    kubernetes cluster.local in-addr.arpa ip6.arpa {\n        pods insecure\n"
        "        fallthrough in-addr.arpa ip6.arpa\n    }\n    prometheus 127.0.0.1:9153\n"
        "    forward . /etc/resolv.conf {\n        policy sequential\n    }\n"
        "    cache 900 {\n        denial 9984 30\n    }\n    reload\n}\n"
        "hostname.bind:5353 {\n    chaos\n}\n");
    assert_accepted(buffer_text(&out));
    config_id_of(buffer_text(&out), whole);
    assert_string_equal(id, whole);
}

static void the_same_input_gives_the_same_octets(void **state)
{
    (void)state;
    char ids[2][CONFIG_ID_LEN + 1];
    AUTO_BUFFER one = {0};
    AUTO_BUFFER two = {0};
    struct corefile_input input = input_of(&data_centre, 1);
    corefile_render(&one, &input, ids[0]);
    buffer_add_text(&two, "what stood there before\n");
    size_t before = two.len;
    corefile_render(&two, &input, ids[1]);
    assert_string_equal(ids[0], ids[1]);
    assert_string_equal(one.at, two.at + before);
    input.cache.negative_s = 31;
    corefile_render(&two, &input, ids[1]);
    assert_string_not_equal(ids[0], ids[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_a_block_before_the_root),
        cmocka_unit_test(all_options_stand_in_the_order_of_the_api),
        cmocka_unit_test(the_layout_of_openshift_names_no_id),
        cmocka_unit_test(the_same_input_gives_the_same_octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
