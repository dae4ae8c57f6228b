#include "kinds/serviceaccount/serviceaccount_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void nothing_but_its_labels_is_kept(void **state)
{
    (void)state;
    struct text body = spec_body_of(&serviceaccount_kind, "{'metadata':{'labels':{'a':'b'}}}");
    assert_true(labels_match("a=b", body));
    assert_true(text_equal(body, spec_body_of(&serviceaccount_kind,
                                              "{'metadata':{'labels':{'a':'b'},'annotations':{'c':"
                                              "'d'}},'secrets':[{'name':'token'}]}")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(nothing_but_its_labels_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
