#include "kinds/route/route_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/kinds.h"
#include "kinds/test_arena.h"

static const struct kind *const routes[] = {&httproute_kind, &grpcroute_kind, &tlsroute_kind,
                                            &tcproute_kind};

static struct route_spec spec_of(const struct kind *kind, const char *json)
{
    struct route_spec spec;
    route_unpack(arena, bodies_of(kind, quote(arena, json)).spec, &spec);
    return spec;
}

static void hosts_are_kept_in_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct route_spec spec =
            spec_of(routes[i], "{'spec':{'hostnames':['b.example.org','*.a.example.org','']}}");
        assert_int_equal(spec.host_count, 2);
        assert_true(text_is(spec.hosts[0], "b.example.org"));
        assert_true(text_is(spec.hosts[1], "*.a.example.org"));
    }
}

static void parents_are_gateways_of_the_same_namespace_unless_they_say_otherwise(void **state)
{
    (void)state;
    struct route_spec spec = spec_of(
        &httproute_kind,
        "{'metadata':{'namespace':'shop'},'spec':{'parentRefs':[{'name':'own','sectionName':'web'},"
        "{'name':'edge','namespace':'infra','kind':'Gateway','group':'gateway.networking.k8s.io'},"
        "{'name':'mesh','kind':'Service','group':''},{'name':'x','group':'example.org'},{},7]}}");
    assert_int_equal(spec.gateway_count, 2);
    assert_true(text_is(spec.gateways[0], "shop/own"));
    assert_true(text_is(spec.gateways[1], "infra/edge"));
}

static void no_more_gateways_are_kept_than_there_may_be(void **state)
{
    AUTO_BUFFER json = {0};
    (void)state;
    buffer_add_text(&json, "{'metadata':{'namespace':'a'},'spec':{'parentRefs':[{'name':'x'}");
    for (int i = 0; i < 2 * ROUTE_GATEWAYS_MAX; i++)
        buffer_printf(&json, ",{'name':'g%d'}", i);
    buffer_add_text(&json, "]}}");
    assert_int_equal(spec_of(&grpcroute_kind, json.at).gateway_count, ROUTE_GATEWAYS_MAX);
}

static void fields_of_the_wrong_type_count_as_absent(void **state)
{
    (void)state;
    struct route_spec spec =
        spec_of(&tlsroute_kind, "{'spec':{'hostnames':'a','parentRefs':{'name':'x'}}}");
    assert_int_equal(spec.host_count + spec.gateway_count, 0);
    spec = spec_of(&tcproute_kind, "{}");
    assert_int_equal(spec.host_count + spec.gateway_count, 0);
}

static void annotations_are_kept_as_those_of_an_ingress(void **state)
{
    struct route_spec spec;
    struct pihole_managed ours;
    (void)state;
    struct bodies bodies = bodies_of(
        &httproute_kind, quote(arena, "{'metadata':{'annotations':{'pihole.io/register':'true',"
                                      "'pihole.io/managed-hosts':'a','pihole.io/managed-by':"
                                      "'signpost:1a'}},'spec':{'hostnames':['a']}}"));
    route_unpack(arena, bodies.spec, &spec);
    pihole_managed_unpack(arena, bodies.spec, bodies.ours, &ours);
    assert_true(text_is(spec.pihole.at[PIHOLE_REGISTER], "true"));
    assert_true(text_is(ours.managed_hosts, "a"));
    assert_true(text_is(ours.managed_by, "signpost:1a"));
}

static const struct kind *kind_of(const char *version, const char *name)
{
    bool is_known_group;
    return kind_lookup(
        kinds, kind_count,
        quote(arena, arena_printf(arena, "{'apiVersion':'%s','kind':'%s'}", version, name)),
        &is_known_group);
}

static void older_versions_are_the_same_kind(void **state)
{
    (void)state;
    assert_ptr_equal(kind_of("gateway.networking.k8s.io/v1", "TLSRoute"), &tlsroute_kind);
    assert_ptr_equal(kind_of("gateway.networking.k8s.io/v1alpha3", "TLSRoute"), &tlsroute_kind);
    assert_ptr_equal(kind_of("gateway.networking.k8s.io/v1alpha2", "TLSRoute"), &tlsroute_kind);
    assert_ptr_equal(kind_of("gateway.networking.k8s.io/v1alpha2", "TCPRoute"), &tcproute_kind);
    assert_null(kind_of("gateway.networking.k8s.io/v1alpha3", "TCPRoute"));
    assert_null(kind_of("gateway.networking.k8s.io/v1alpha2", "HTTPRoute"));
}

static void the_schema_takes_each_version_and_what_nobody_here_reads(void **state)
{
    (void)state;
    assert_null(schema_errors_of(
        &tlsroute_kind,
        quote(arena, "{'apiVersion':'gateway.networking.k8s.io/v1alpha2','kind':'TLSRoute',"
                     "'metadata':{'name':'a'},'spec':{'hostnames':['a'],'rules':[{}]}}")));
    assert_non_null(schema_errors_of(
        &tlsroute_kind, quote(arena, "{'apiVersion':'gateway.networking.k8s.io/v2','kind':"
                                     "'TLSRoute','metadata':{'name':'a'}}")));
    assert_non_null(schema_errors_of(
        &httproute_kind, quote(arena, "{'apiVersion':'gateway.networking.k8s.io/v1','kind':"
                                      "'HTTPRoute','metadata':{'name':'a'},'spec':"
                                      "{'hostnames':'a'}}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(hosts_are_kept_in_their_order),
        UNIT(parents_are_gateways_of_the_same_namespace_unless_they_say_otherwise),
        UNIT(no_more_gateways_are_kept_than_there_may_be),
        UNIT(fields_of_the_wrong_type_count_as_absent),
        UNIT(annotations_are_kept_as_those_of_an_ingress),
        UNIT(older_versions_are_the_same_kind),
        UNIT(the_schema_takes_each_version_and_what_nobody_here_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
