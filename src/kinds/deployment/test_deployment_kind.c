#include "kinds/deployment/deployment_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void labels_image_spec_and_numbers_are_kept(void **state)
{
    struct deployment deployment;
    (void)state;
    struct text body = spec_body_of(
        &deployment_kind,
        "{'metadata':{'generation':6,'labels':{'a':'b'}},'spec':{'replicas':2,'template':{'spec':{'"
        "containers':["
        "{'name':'sidecar','image':'s:1'},{'name':'coredns','image':'coredns:1.10.1'}]}}},"
        "'status':{'observedGeneration':5,'replicas':4,'updatedReplicas':3,'availableReplicas':1}"
        "}");
    deployment_unpack(body, &deployment);
    assert_true(text_is(deployment.image, "coredns:1.10.1"));
    assert_true(labels_match("a=b", body));
    assert_true(text_is(deployment.spec,
                        quote_text(arena, "{'replicas':2,'template':{'spec':{'containers':["
                                          "{'name':'sidecar','image':'s:1'},"
                                          "{'name':'coredns','image':'coredns:1.10.1'}]}}}")));
    assert_int_equal(deployment.wanted, 2);
    assert_int_equal(deployment.generation, 6);
    assert_int_equal(deployment.observed_generation, 5);
    assert_int_equal(deployment.replicas, 4);
    assert_int_equal(deployment.updated, 3);
    assert_int_equal(deployment.available, 1);
}

static void absent_replicas_are_one(void **state)
{
    struct deployment deployment;
    (void)state;
    deployment_unpack(spec_body_of(&deployment_kind, "{'spec':{'template':{}}}"), &deployment);
    assert_null(deployment.image.at);
    assert_int_equal(deployment.wanted, 1);
    assert_int_equal(deployment.replicas, 0);
    deployment_unpack(spec_body_of(&deployment_kind, "{'spec':{'replicas':0}}"), &deployment);
    assert_int_equal(deployment.wanted, 0);
}

static void annotations_of_our_group_are_kept(void **state)
{
    size_t count;
    (void)state;
    struct text body = spec_body_of(
        &deployment_kind,
        "{'metadata':{'annotations':{'users.dns.homelab.mortenolsen.pro/f475c5fcea':'webshop/v1/"
        "dig-1','deployment.kubernetes.io/revision':'1'}},'spec':{'replicas':1}}");
    const struct text_pair *annotations = deployment_annotations(arena, body, &count);
    assert_int_equal(count, 1);
    assert_true(text_is(annotations[0].value, "webshop/v1/dig-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(labels_image_spec_and_numbers_are_kept),
        UNIT(absent_replicas_are_one),
        UNIT(annotations_of_our_group_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
