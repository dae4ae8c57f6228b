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
    service_unpack(spec_body_of(&service_kind, json), &service);
    return service;
}

static void address_and_spec_are_kept(void **state)
{
    (void)state;
    struct service service = service_of("{'metadata':{'labels':{'a':'b'}},'spec':{'clusterIP':"
                                        "'10.96.0.10','selector':{'k8s-app':'kube-dns'}}}");
    assert_true(text_is(service.cluster_ip, "10.96.0.10"));
    assert_true(text_is(service.spec, quote_text(arena, "{'clusterIP':'10.96.0.10','selector':{"
                                                        "'k8s-app':'kube-dns'}}")));
}

static void fields_of_the_wrong_type_count_as_absent(void **state)
{
    (void)state;
    assert_null(service_of("{'spec':{'clusterIP':7}}").cluster_ip.at);
    assert_null(service_of("{}").spec.at);
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    struct text body = spec_body_of(&service_kind, "{'metadata':{'labels':{'a':'b'}}}");
    assert_true(labels_match("a=b", body));
    assert_false(labels_match("a=c", body));
}

static void all_addresses_are_kept(void **state)
{
    struct service_addresses addresses;
    (void)state;
    struct text body = spec_body_of(
        &service_kind,
        "{'spec':{'type':'LoadBalancer','clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1','fd00::1']"
        "},'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1'},{'hostname':'lb.example'},"
        "{'ip':'2001:db8::1','hostname':'lb2.example'}]}}}");
    service_addresses_unpack(arena, body, &addresses);
    assert_true(text_is(addresses.type, "LoadBalancer"));
    assert_int_equal(addresses.cluster_ip_count, 2);
    assert_true(text_is(addresses.cluster_ips[1], "fd00::1"));
    assert_int_equal(addresses.ip_count, 2);
    assert_true(text_is(addresses.ips[1], "2001:db8::1"));
    assert_int_equal(addresses.hostname_count, 2);
    assert_true(text_is(addresses.hostnames[0], "lb.example"));
}

static void a_headless_service_has_no_address(void **state)
{
    struct service_addresses addresses;
    (void)state;
    static const char *const specs[] = {"{'spec':{'clusterIP':'None','clusterIPs':['None']}}",
                                        "{'spec':{'clusterIP':'None'}}", "{}"};
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        service_addresses_unpack(arena, spec_body_of(&service_kind, specs[i]), &addresses);
        assert_int_equal(addresses.cluster_ip_count + addresses.ip_count, 0);
    }
    service_addresses_unpack(
        arena, spec_body_of(&service_kind, "{'spec':{'clusterIP':'10.0.0.1'}}"), &addresses);
    assert_int_equal(addresses.cluster_ip_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(address_and_spec_are_kept),         UNIT(fields_of_the_wrong_type_count_as_absent),
        UNIT(inputs_may_select_by_its_labels),   UNIT(all_addresses_are_kept),
        UNIT(a_headless_service_has_no_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
