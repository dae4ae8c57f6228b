#include "kinds/serviceaccount/serviceaccount_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void labels_and_annotations_are_kept_and_nothing_else(void **state)
{
    (void)state;
    struct text body = spec_body_of(&serviceaccount_kind,
                                    "{'metadata':{'labels':{'a':'b'},'annotations':{'c':'d'}}}");
    assert_true(labels_match("a=b", body));
    assert_true(text_is(serviceaccount_annotations(body), quote_text(arena, "{'c':'d'}")));
    assert_true(text_equal(body, spec_body_of(&serviceaccount_kind,
                                              "{'metadata':{'labels':{'a':'b'},'annotations':{'c':"
                                              "'d'}},'secrets':[{'name':'token'}]}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(labels_and_annotations_are_kept_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
