#include "kinds/rolebinding/rolebinding_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void role_and_subjects_are_kept(void **state)
{
    struct rolebinding binding;
    (void)state;
    struct text body =
        spec_body_of(&rolebinding_kind, "{'metadata':{'labels':{'a':'b'}},'roleRef':{'name':'r'},"
                                        "'subjects':[{'name':'s'}]}");
    rolebinding_unpack(body, &binding);
    assert_true(labels_match("a=b", body));
    assert_true(text_is(binding.role, quote_text(arena, "{'name':'r'}")));
    assert_true(text_is(binding.subjects, quote_text(arena, "[{'name':'s'}]")));
    rolebinding_unpack(spec_body_of(&rolebinding_kind, "{'roleRef':{'name':'r'}}"), &binding);
    assert_null(binding.subjects.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(role_and_subjects_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
