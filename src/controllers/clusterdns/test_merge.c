#include "controllers/clusterdns/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "kinds/test_quote.h"

static enum bundle_state find_bundle(const void *context, struct text name, struct text *version,
                                     const char **why)
{
    (void)context;
    if (text_is(name, "good")) {
        *version = TEXT("17");
        return BUNDLE_FOUND;
    }
    *why = text_is(name, "broken") ? "it has no certificate" : "it is not there";
    return text_is(name, "broken") ? BUNDLE_INVALID : BUNDLE_MISSING;
}

static struct merge_settings settings_of(void)
{
    return (struct merge_settings){
        .port = 5353,
        .metrics_address = TEXT(":9153"),
        .context = {.cluster_domain = TEXT("cluster.local")},
        .bundles = {.can_be_mounted = true, .find = find_bundle},
    };
}

static struct merge_object object_of(const char *name, const char *spec)
{
    struct merge_object object = {.name = text_of(name)};
    dns_decode(arena, quote(arena, arena_printf(arena, "{'spec':{%s}}", spec)), &object.spec);
    return object;
}

static struct merged merge_all(const struct merge_settings *settings,
                               const struct merge_object *objects, size_t count)
{
    struct merged merged;
    dns_merge(arena, settings, objects, count, &merged);
    return merged;
}

static const char *corefile_of(const struct merged *merged)
{
    char id[CONFIG_ID_LEN + 1];
    AUTO_BUFFER out = {0};
    corefile_render(&out, &merged->input, id);
    return arena_copy(arena, out.at, out.len);
}

// "zone state reason source" of each, a line each.
static const char *forwarders_of(const struct merged *merged)
{
    static const char *const states[] = {"Serving", "LastGood", "Refused"};
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < merged->forwarder_count; i++) {
        const struct dns_forwarder *forwarder = &merged->forwarders[i];
        buffer_printf(&out, "%.*s %s %s %s\n", TEXT_ARGS(forwarder->zone), states[forwarder->state],
                      reason_name(forwarder->reason), forwarder->source);
    }
    return arena_copy(arena, out.at, out.len);
}

#define SERVER(zones, upstreams)                                                                   \
    "{'zones':[" zones "],'forwardPlugin':{'upstreams':[" upstreams "]}}"

static void the_first_drafts_example_becomes_two_blocks(void **state)
{
    (void)state;
    const struct merge_settings settings = settings_of();
    struct merge_object object = object_of(
        "default", "'pluginConfig':{'forwardPlugins':["
                   "{'domain':'foo.com','nameServers':['1.2.3.4','5.6.7.8:5353'],'policy':"
                   "'RoundRobin'},"
                   "{'domain':'bar.com','nameServers':['4.3.2.1','8.7.6.5:5353'],'policy':"
                   "'Sequential'}]}");
    struct merged merged = merge_all(&settings, &object, 1);
    const char *text = corefile_of(&merged);
    assert_true(text_starts(text_of(text),
                            "# foo.com\nfoo.com:5353 {\n    prometheus :9153\n"
                            "    forward . 1.2.3.4 5.6.7.8:5353 {\n        policy round_robin\n"));
    assert_non_null(strstr(text, "# bar.com\nbar.com:5353 {\n    prometheus :9153\n"
                                 "    forward . 4.3.2.1 8.7.6.5:5353 {\n"
                                 "        policy sequential\n"));
    assert_non_null(strstr(text, "    forward . /etc/resolv.conf {\n"));
    assert_false(merged.is_root_changed);
    assert_int_equal(merged.outcomes[0].bad_count, 0);
    assert_null(merged.outcomes[0].fault_text);
}

static void two_bad_entries_leave_the_others(void **state)
{
    (void)state;
    const struct merge_settings settings = settings_of();
    struct merge_object object = object_of(
        "default",
        "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "," SERVER(
            "'b.example'", "'nonsense'") "," SERVER("'c_.example'",
                                                    "'192.0.2.3'") "," SERVER("'d.example'",
                                                                              "'192.0.2.4'") "]");
    struct merged merged = merge_all(&settings, &object, 1);
    assert_string_equal(forwarders_of(&merged),
                        "a.example Serving  default spec.servers[0].zones[0]\n"
                        "b.example Refused InvalidUpstream default spec.servers[1].zones[0]\n"
                        "c_.example Refused InvalidZone default spec.servers[2].zones[0]\n"
                        "d.example Serving  default spec.servers[3].zones[0]\n");
    assert_int_equal(merged.input.entry_count, 2);
    assert_int_equal(merged.outcomes[0].bad_count, 2);
    assert_non_null(strstr(merged.outcomes[0].fault_text,
                           "spec.servers[1].forwardPlugin.upstreams[0]: nonsense must be"));
    assert_non_null(strstr(merged.outcomes[0].fault_text, "spec.servers[2].zones[0]: c_.example"));
}

static void a_zone_belongs_to_the_first_object_that_names_it(void **state)
{
    (void)state;
    const struct merge_settings settings = settings_of();
    const struct merge_object objects[] = {
        object_of("default", "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]"),
        object_of("team", "'servers':[" SERVER("'A.example.','b.example'", "'192.0.2.2'") "]"),
        object_of("late", "'servers':[" SERVER("'b.example'", "'192.0.2.3'") "]"),
    };
    struct merged merged = merge_all(&settings, objects, COUNT_OF(objects));
    assert_string_equal(forwarders_of(&merged),
                        "a.example Serving  default spec.servers[0].zones[0]\n"
                        "a.example Refused DuplicateZone team spec.servers[0].zones[0]\n"
                        "b.example Serving  team spec.servers[0].zones[1]\n"
                        "b.example Refused DuplicateZone late spec.servers[0].zones[0]\n");
    assert_non_null(strstr(merged.outcomes[2].fault_text,
                           "b.example is forwarded by team spec.servers[0] already"));
    assert_int_equal(merged.outcomes[1].first_forwarder, 1);
    assert_int_equal(merged.outcomes[1].forwarder_count, 2);
    assert_int_equal(merged.outcomes[1].bad_count, 1);
}

static struct corefile *parse(const char *text)
{
    const struct corefile_file file = {"Corefile", text_of(text)};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = arena};
    return corefile_new(&file, &options, &problems);
}

static void an_entry_that_turns_bad_keeps_what_is_live(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    struct merge_object good = object_of(
        "default",
        "'servers':[{'name':'dc','zones':['a.example','b.example'],'filterAAAA':true,"
        "'cache':{'positiveTTL':'5m','serveStale':'1h'},'forwardPlugin':{'upstreams':['192.0.2.1',"
        "'[2001:db8::1]:54'],'policy':'Sequential','protocolStrategy':'TCP','transportConfig':"
        "{'transport':'TLS','tls':{'serverName':'dns.example'}},'options':{'except':['x.a.example'"
        "],'expire':'20s','maxFails':3,'healthCheck':{'interval':'1s','noRecursion':true},"
        "'maxConcurrent':9,'failover':['SERVFAIL']}}}]");
    struct merge_object bad = object_of(
        "default", "'servers':[{'name':'dc','zones':['a.example','b.example','new.example'],"
                   "'forwardPlugin':{'upstreams':['oops']}}]");
    struct merged before = merge_all(&settings, &good, 1);
    const char *text = corefile_of(&before);
    CLEANUP(corefile) struct corefile *live = parse(text);
    settings.live = live;
    struct merged after = merge_all(&settings, &bad, 1);
    assert_string_equal(forwarders_of(&after),
                        "a.example LastGood InvalidUpstream default spec.servers[0].zones[0]\n"
                        "b.example LastGood InvalidUpstream default spec.servers[0].zones[1]\n"
                        "new.example Refused InvalidUpstream default spec.servers[0].zones[2]\n");
    assert_string_equal(corefile_of(&after), text);
}

static const char *find_fault_of_b(void *context, const struct corefile_entry *entry,
                                   enum reason *reason)
{
    (void)context;
    *reason = REASON_INVALID_OPTION;
    return text_is(entry->zones[0], "b.example") ? "CoreDNS would refuse the entry" : NULL;
}

static void an_entry_that_coredns_would_refuse_leaves_the_others(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    settings.entry_fault = find_fault_of_b;
    struct merge_object object =
        object_of("default", "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "," SERVER(
                                 "'b.example'", "'192.0.2.2'") "]");
    struct merged merged = merge_all(&settings, &object, 1);
    assert_string_equal(forwarders_of(&merged),
                        "a.example Serving  default spec.servers[0].zones[0]\n"
                        "b.example Refused InvalidOption default spec.servers[1].zones[0]\n");
    assert_string_equal(merged.outcomes[0].fault_text,
                        "spec.servers[1]: CoreDNS would refuse the entry");
}

// As the rules for an object by itself say it.
static void a_time_of_the_cache_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    const struct merge_settings settings = settings_of();
    struct merge_object objects[] = {
        object_of("default", "'cache':{'positiveTTL':'soon','negativeTTL':'1.5s'}"),
        object_of("team", "'cache':{'positiveTTL':'soon'}")};
    struct merged merged = merge_all(&settings, objects, 2);
    assert_non_null(strstr(merged.outcomes[0].fault_text,
                           "spec.cache.positiveTTL: must be a duration such as 90s"));
    assert_null(merged.outcomes[1].fault_text);
    assert_non_null(strstr(corefile_of(&merged), "cache 900 {\n        denial 9984 2\n"));
}

static void a_zone_without_its_entry_is_gone(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    struct merge_object good =
        object_of("default", "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]");
    struct merge_object none = object_of("default", "");
    struct merged before = merge_all(&settings, &good, 1);
    CLEANUP(corefile) struct corefile *live = parse(corefile_of(&before));
    settings.live = live;
    struct merged after = merge_all(&settings, &none, 1);
    assert_int_equal(after.input.entry_count, 0);
}

#define RESOLVERS(members) "'upstreamResolvers':{" members "}"

static const char *root_of(const char *resolvers, const struct merge_settings *settings,
                           struct merged *merged)
{
    struct merge_object object = object_of("default", resolvers);
    *merged = merge_all(settings, &object, 1);
    const char *text = strstr(corefile_of(merged), "\n    forward . ") + strlen("\n    forward . ");
    return arena_copy(arena, text, (size_t)(strchr(text, '}') - text));
}

static void resolvers_are_written_once_each_and_in_upper_case(void **state)
{
    (void)state;
    struct merged merged;
    const struct merge_settings settings = settings_of();
    assert_string_equal(root_of(RESOLVERS("'upstreams':[{'type':'Network','address':'2001:db8::a'},"
                                          "{'type':'Network','address':'2001:DB8::A','port':53},"
                                          "{'type':'Network','address':'192.0.2.1','port':54},"
                                          "{'type':''},{'type':'SystemResolvConf'}],"
                                          "'policy':'Random'"),
                                &settings, &merged),
                        "2001:DB8::A 192.0.2.1:54 /etc/resolv.conf {\n        policy random\n    ");
    assert_true(merged.is_root_changed);
}

static void refused_resolvers_keep_the_last_good_ones(void **state)
{
    (void)state;
    struct merged merged;
    struct merge_settings settings = settings_of();
    static const char bad[] = RESOLVERS("'upstreams':[{'type':'Network'}]");
    static const char kept[] = "192.0.2.9 {\n        policy sequential\n    ";
    assert_string_equal(root_of(bad, &settings, &merged),
                        "/etc/resolv.conf {\n        policy sequential\n    ");
    assert_int_equal(merged.outcomes[0].bad_count, 1);
    assert_string_equal(root_of(RESOLVERS("'upstreams':[{'type':'Network','address':'192.0.2.9'}]"),
                                &settings, &merged),
                        kept);
    CLEANUP(corefile) struct corefile *live = parse(corefile_of(&merged));
    settings.live = live;
    assert_string_equal(root_of(bad, &settings, &merged), kept);
    assert_non_null(strstr(merged.outcomes[0].fault_text, "The address field is mandatory"));
}

static void where_no_resolvers_can_be_served_they_are_refused(void **state)
{
    (void)state;
    struct merged merged;
    struct merge_settings settings = settings_of();
    settings.no_resolvers = "the root block is not ours";
    (void)root_of("", &settings, &merged);
    assert_int_equal(merged.outcomes[0].bad_count, 0);
    root_of(RESOLVERS("'policy':'Random'"), &settings, &merged);
    assert_int_equal(merged.outcomes[0].bad_count, 1);
    assert_non_null(strstr(merged.outcomes[0].fault_text, "the root block is not ours"));
}

#define TLS_SERVER(bundle)                                                                         \
    "'servers':[{'zones':['a.example'],'forwardPlugin':{'upstreams':['192.0.2.1'],"                \
    "'transportConfig':{'transport':'TLS','tls':{'serverName':'dns.example','caBundle':{'name':"   \
    "'" bundle "'}}}}}]"

static void bundles_are_mounted_missed_or_refused(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    struct merge_object good = object_of("default", TLS_SERVER("good"));
    struct merged merged = merge_all(&settings, &good, 1);
    assert_non_null(strstr(corefile_of(&merged),
                           "        tls /etc/pki/dns.example-ca-good-17/ca-bundle.crt\n"));
    struct merge_object missing = object_of("default", TLS_SERVER("missing"));
    merged = merge_all(&settings, &missing, 1);
    assert_non_null(strstr(corefile_of(&merged), "        tls\n"));
    assert_non_null(strstr(merged.outcomes[0].warning_text, "CABundleMissing: it is not there"));
    assert_int_equal(merged.outcomes[0].bad_count, 0);
    struct merge_object broken = object_of("default", TLS_SERVER("broken"));
    merged = merge_all(&settings, &broken, 1);
    assert_string_equal(forwarders_of(&merged),
                        "a.example Refused CABundleInvalid default spec.servers[0].zones[0]\n");
    settings.bundles.can_be_mounted = false;
    merged = merge_all(&settings, &good, 1);
    assert_string_equal(forwarders_of(&merged),
                        "a.example Refused CABundleUnsupported default spec.servers[0].zones[0]\n");
}

static const char *owner_of(const void *context, struct text zone)
{
    (void)context;
    return text_is(zone, "b.example") ? "Corefile:7" : NULL;
}

static void zones_of_somebody_elses_blocks_are_refused(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    settings.foreign_owner = owner_of;
    struct merge_object object =
        object_of("default", "'servers':[" SERVER("'a.example','b.example'", "'192.0.2.1'") "]");
    struct merged merged = merge_all(&settings, &object, 1);
    assert_string_equal(forwarders_of(&merged),
                        "a.example Serving  default spec.servers[0].zones[0]\n"
                        "b.example Refused ZoneServedElsewhere default "
                        "spec.servers[0].zones[1]\n");
}

static void layout_openshift_copies_and_has_no_additions(void **state)
{
    (void)state;
    struct merge_settings settings = settings_of();
    settings.layout = COREFILE_OPENSHIFT;
    struct merge_object object = object_of(
        "default", "'servers':[{'name':'x','zones':['Foo.com.','10.0.0.0/23'],'forwardPlugin':"
                   "{'upstreams':['192.0.2.1','192.0.2.1:53','[2001:db8::1]']}},"
                   "{'zones':['y.example'],'filterAAAA':true,'forwardPlugin':{'upstreams':["
                   "'192.0.2.2']}}]");
    struct merged merged = merge_all(&settings, &object, 1);
    assert_true(text_starts(text_of(corefile_of(&merged)),
                            "# x\nFoo.com.:5353 10.0.0.0/23:5353 {\n    prometheus :9153\n"
                            "    forward . 192.0.2.1 192.0.2.1:53 [2001:db8::1] {\n"));
    assert_int_equal(merged.input.entry_count, 1);
    assert_int_equal(merged.forwarders[3].reason, REASON_INVALID_OPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_first_drafts_example_becomes_two_blocks),
        UNIT(two_bad_entries_leave_the_others),
        UNIT(a_zone_belongs_to_the_first_object_that_names_it),
        UNIT(an_entry_that_turns_bad_keeps_what_is_live),
        UNIT(an_entry_that_coredns_would_refuse_leaves_the_others),
        UNIT(a_time_of_the_cache_that_cannot_be_read_is_told),
        UNIT(a_zone_without_its_entry_is_gone),
        UNIT(resolvers_are_written_once_each_and_in_upper_case),
        UNIT(refused_resolvers_keep_the_last_good_ones),
        UNIT(where_no_resolvers_can_be_served_they_are_refused),
        UNIT(bundles_are_mounted_missed_or_refused),
        UNIT(zones_of_somebody_elses_blocks_are_refused),
        UNIT(layout_openshift_copies_and_has_no_additions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
