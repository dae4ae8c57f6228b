#include "kinds/pod_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void the_named_container_goes_before_the_first(void **state)
{
    (void)state;
    const struct value *spec = quote(arena, "{'containers':[{'name':'proxy','image':'p:1'},7,"
                                            "{'name':'dns','image':'d:2'}]}");
    assert_true(text_is(pod_spec_image(spec, "dns"), "d:2"));
    assert_true(text_is(pod_spec_image(spec, "other"), "p:1"));
    assert_true(text_is(pod_spec_image(spec, NULL), "p:1"));
    assert_null(pod_spec_image(NULL, "dns").at);
    assert_null(pod_spec_image(quote(arena, "{'containers':[]}"), "dns").at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_named_container_goes_before_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
