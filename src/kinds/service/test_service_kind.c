#include "kinds/service/service_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static struct service service_of(const char *json)
{
    struct service service;
    service_unpack(arena, spec_body_of(&service_kind, json), &service);
    return service;
}

static void addresses_ports_and_selector_are_kept(void **state)
{
    (void)state;
    struct service service = service_of(
        "{'metadata':{'labels':{'a':'b'}},'spec':{'clusterIP':'10.96.0.10','clusterIPs':["
        "'10.96.0.10','fd00::a'],'ipFamilies':['IPv4','IPv6'],'selector':{'k8s-app':'kube-dns'},"
        "'ports':[{'name':'dns','port':53,'protocol':'UDP','targetPort':'dns'},"
        "{'name':'dns-tcp','port':53,'targetPort':5353},{'port':9153,'protocol':'TCP'}]}}");
    assert_true(text_is(service.cluster_ip, "10.96.0.10"));
    assert_int_equal(service.cluster_ip_count, 2);
    assert_true(text_is(service.cluster_ips[1], "fd00::a"));
    assert_int_equal(service.ip_family_count, 2);
    assert_true(text_is(service.ip_families[0], "IPv4"));
    assert_int_equal(service.selector_count, 1);
    assert_true(text_is(service.selector[0].value, "kube-dns"));
    assert_int_equal(service.port_count, 3);
    assert_true(text_is(service.ports[0].name, "dns"));
    assert_int_equal(service.ports[0].port, 53);
    assert_true(text_is(service.ports[0].protocol, "UDP"));
    assert_true(text_is(service.ports[0].target, "dns"));
    assert_true(text_is(service.ports[1].protocol, "TCP"));
    assert_true(text_is(service.ports[1].target, "5353"));
    assert_null(service.ports[2].name.at);
    assert_null(service.ports[2].target.at);
}

static void fields_of_the_wrong_type_count_as_absent(void **state)
{
    (void)state;
    struct service service = service_of("{'spec':{'clusterIP':7,'clusterIPs':'10.0.0.1','ports':"
                                        "{'port':53},'selector':['x']}}");
    assert_null(service.cluster_ip.at);
    assert_int_equal(service.cluster_ip_count + service.port_count + service.selector_count, 0);
    assert_int_equal(service_of("{}").port_count, 0);
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    struct text body = spec_body_of(&service_kind, "{'metadata':{'labels':{'a':'b'}}}");
    assert_true(labels_match("a=b", body));
    assert_false(labels_match("a=c", body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(addresses_ports_and_selector_are_kept),
        UNIT(fields_of_the_wrong_type_count_as_absent),
        UNIT(inputs_may_select_by_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
