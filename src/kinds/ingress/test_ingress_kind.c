#include "kinds/ingress/ingress_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static struct text body_of(const char *json)
{
    struct pack_writer writer;
    pack_init(&writer);
    ingress_kind.pack_spec(quote(arena, json), &writer);
    const char *at = arena_copy(arena, writer.out.at, writer.out.len);
    struct text body = {at, writer.out.len};
    pack_done(&writer);
    return body;
}

static void hosts_and_addresses_are_kept_in_their_order(void **state)
{
    struct ingress_spec spec;
    (void)state;
    ingress_unpack(arena,
                   body_of("{'spec':{'ingressClassName':'nginx','defaultBackend':{},"
                           "'rules':[{'host':'b.example.org'},{'http':{}},{'host':''},"
                           "{'host':'*.a.example.org'}],'tls':[{'hosts':['b.example.org','c']},"
                           "{'secretName':'x'}]},'status':{'loadBalancer':{'ingress':["
                           "{'ip':'192.0.2.1','ports':[]},{'hostname':'lb.example.net'}]}}}"),
                   &spec);
    assert_true(text_is(spec.class_, "nginx"));
    assert_int_equal(spec.host_count, 2);
    assert_true(text_is(spec.hosts[0], "b.example.org"));
    assert_true(text_is(spec.hosts[1], "*.a.example.org"));
    assert_int_equal(spec.tls_host_count, 2);
    assert_true(text_is(spec.tls_hosts[1], "c"));
    assert_int_equal(spec.point_count, 2);
    assert_true(text_is(spec.points[0].ip, "192.0.2.1"));
    assert_null(spec.points[0].hostname.at);
    assert_null(spec.points[1].ip.at);
    assert_true(text_is(spec.points[1].hostname, "lb.example.net"));
}

static void fields_of_the_wrong_type_count_as_absent(void **state)
{
    struct ingress_spec spec;
    (void)state;
    ingress_unpack(arena,
                   body_of("{'spec':{'ingressClassName':1,'rules':{'host':'a'},'tls':[{'hosts':"
                           "'a'},7]},'status':{'loadBalancer':{'ingress':'192.0.2.1'}}}"),
                   &spec);
    assert_null(spec.class_.at);
    assert_int_equal(spec.host_count + spec.tls_host_count + spec.point_count, 0);
    ingress_unpack(arena, body_of("{}"), &spec);
    assert_int_equal(spec.host_count + spec.tls_host_count + spec.point_count, 0);
}

static void another_address_is_another_body(void **state)
{
    (void)state;
    struct text a = body_of("{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1'}]}}}");
    struct text b = body_of("{'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.2'}]}}}");
    assert_false(text_equal(a, b));
}

static void fields_that_nobody_here_reads_are_no_fault(void **state)
{
    (void)state;
    assert_null(schema_errors_of(
        &ingress_kind, quote(arena, "{'apiVersion':'networking.k8s.io/v1','kind':'Ingress',"
                                    "'metadata':{'name':'web'},'spec':{'rules':[{'host':'a',"
                                    "'http':{'paths':[]}}],'defaultBackend':{}}}")));
}

#define MANAGED "pihole.io/managed-hosts':'b.example.org,c', 'pihole.io/managed-by':'signpost:1a'"
#define HOSTS "'spec':{'rules':[{'host':'b.example.org'}],'tls':[{'hosts':['c']}]}"

static void annotations_are_kept_in_their_two_bodies(void **state)
{
    struct ingress_spec spec;
    struct pihole_managed ours;
    (void)state;
    struct bodies bodies = bodies_of(
        &ingress_kind,
        quote(arena, "{'metadata':{'annotations':{'x':'y','pihole.io/register':'true',"
                     "'pihole.io/target-ip':'','pihole.io/deletion-policy':'orphan','pihole.io/"
                     "instances':7,'pihole.io/status':'NoHosts: none','" MANAGED "}}," HOSTS "}"));
    ingress_unpack(arena, bodies.spec, &spec);
    pihole_managed_unpack(arena, bodies.spec, bodies.ours, &ours);
    assert_true(text_is(spec.pihole.at[PIHOLE_REGISTER], "true"));
    assert_true(spec.pihole.at[PIHOLE_TARGET_IP].at && !spec.pihole.at[PIHOLE_TARGET_IP].len);
    assert_true(text_is(spec.pihole.at[PIHOLE_DELETION_POLICY], "orphan"));
    assert_null(spec.pihole.at[PIHOLE_INSTANCES].at);
    assert_null(spec.pihole.at[PIHOLE_HOSTS].at);
    assert_true(text_is(ours.managed_hosts, "b.example.org,c"));
    assert_true(text_is(ours.managed_by, "signpost:1a"));
    assert_true(text_is(ours.status, "NoHosts: none"));
}

static void what_we_write_leaves_the_spec_as_it_is(void **state)
{
    (void)state;
    struct bodies before = bodies_of(
        &ingress_kind,
        quote(arena, "{'metadata':{'annotations':{'pihole.io/register':'yes'}}," HOSTS "}"));
    struct bodies after = bodies_of(
        &ingress_kind, quote(arena, "{'metadata':{'annotations':{'pihole.io/register':'yes',"
                                    "'" MANAGED "}}," HOSTS "}"));
    assert_true(text_equal(before.spec, after.spec));
    assert_int_equal(before.ours.len, 0);
    assert_true(after.ours.len > 0);
}

static void only_objects_with_annotations_cost_more(void **state)
{
    (void)state;
    struct bodies none = bodies_of(
        &ingress_kind, quote(arena, "{'metadata':{'annotations':{'a/b':'c'}}," HOSTS "}"));
    struct bodies some =
        bodies_of(&ingress_kind,
                  quote(arena, "{'metadata':{'annotations':{'pihole.io/register':'true','" MANAGED
                               "}}," HOSTS "}"));
    assert_int_equal(none.ours.len, 0);
    assert_int_equal(some.spec.len - none.spec.len, 2);
    // Two names that stand in the spec, and "signpost:1a".
    assert_true(some.ours.len < 24);
}

static void lists_of_names_come_back_as_they_were(void **state)
{
    static const char *const lists[] = {"", ",", "a,", "a, b", ",,a"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct pihole_managed ours;
        struct bodies bodies = bodies_of(
            &ingress_kind,
            quote(arena, arena_printf(
                             arena, "{'metadata':{'annotations':{'pihole.io/managed-hosts':'%s'}}}",
                             lists[i])));
        pihole_managed_unpack(arena, bodies.spec, bodies.ours, &ours);
        assert_true(text_is(ours.managed_hosts, lists[i]));
        assert_null(ours.managed_by.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(hosts_and_addresses_are_kept_in_their_order),
        UNIT(fields_of_the_wrong_type_count_as_absent),
        UNIT(another_address_is_another_body),
        UNIT(annotations_are_kept_in_their_two_bodies),
        UNIT(what_we_write_leaves_the_spec_as_it_is),
        UNIT(only_objects_with_annotations_cost_more),
        UNIT(lists_of_names_come_back_as_they_were),
        UNIT(fields_that_nobody_here_reads_are_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
