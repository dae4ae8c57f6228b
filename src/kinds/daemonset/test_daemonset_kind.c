#include "kinds/daemonset/daemonset_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static struct daemonset daemonset_of(const char *json)
{
    struct daemonset set;
    daemonset_unpack(spec_body_of(&daemonset_kind, json), &set);
    return set;
}

static const char full[] =
    "{'metadata':{'generation':4,'labels':{'dns.operator.openshift.io/owning-dns':'default'}},"
    "'spec':{'template':{'spec':{'containers':[{'name':'proxy','image':'p:1'},{'name':'dns',"
    "'image':'coredns:1.14.7'}]}}},"
    "'status':{'observedGeneration':3,'desiredNumberScheduled':9,'currentNumberScheduled':8,"
    "'updatedNumberScheduled':7,'numberAvailable':6,'numberReady':5,'numberMisscheduled':1}}";

static void image_and_spec_are_kept(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of(full);
    assert_true(text_is(set.image, "coredns:1.14.7"));
    assert_true(text_is(set.spec, quote_text(arena, "{'template':{'spec':{'containers':[{'name':"
                                                    "'proxy','image':'p:1'},{'name':'dns','image':"
                                                    "'coredns:1.14.7'}]}}}")));
}

static void each_number_is_kept_as_itself(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of(full);
    assert_int_equal(set.generation, 4);
    assert_int_equal(set.observed_generation, 3);
    assert_int_equal(set.desired, 9);
    assert_int_equal(set.current, 8);
    assert_int_equal(set.updated, 7);
    assert_int_equal(set.available, 6);
    assert_int_equal(set.ready, 5);
}

static void an_empty_object_has_nothing(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of("{'spec':{'template':7},'status':{'numberReady':'5'}}");
    assert_null(set.image.at);
    assert_int_equal(set.generation + set.desired + set.ready, 0);
    assert_null(daemonset_of("{}").spec.at);
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    assert_true(labels_match("dns.operator.openshift.io/owning-dns=default",
                             spec_body_of(&daemonset_kind, full)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(image_and_spec_are_kept),
        UNIT(each_number_is_kept_as_itself),
        UNIT(an_empty_object_has_nothing),
        UNIT(inputs_may_select_by_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
