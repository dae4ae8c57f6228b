#include "kinds/namespace/namespace_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void labels_and_our_annotations_are_kept(void **state)
{
    size_t count;
    (void)state;
    struct text body = spec_body_of(
        &namespace_kind,
        "{'metadata':{'labels':{'dns.homelab.mortenolsen.pro/project':'02af0fbf8f'},'annotations':{"
        "'other/name':'x','dns.homelab.mortenolsen.pro/name':'Edge_Shop'}}}");
    const struct text_pair *annotations = namespace_annotations(arena, body, &count);
    assert_true(labels_match("dns.homelab.mortenolsen.pro/project=02af0fbf8f", body));
    assert_int_equal(count, 1);
    assert_true(text_is(annotations[0].value, "Edge_Shop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(labels_and_our_annotations_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
