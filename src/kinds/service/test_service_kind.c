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

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(address_and_spec_are_kept),
        UNIT(fields_of_the_wrong_type_count_as_absent),
        UNIT(inputs_may_select_by_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
