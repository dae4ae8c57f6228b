#include "kinds/servicemonitor/servicemonitor_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void labels_and_spec_are_kept(void **state)
{
    (void)state;
    struct text body = spec_body_of(&servicemonitor_kind, "{'metadata':{'labels':{'a':'b'}},'spec':"
                                                          "{'endpoints':[{'port':'metrics'}]}}");
    assert_true(labels_match("a=b", body));
    assert_true(text_is(servicemonitor_unpack(body), "{\"endpoints\":[{\"port\":\"metrics\"}]}"));
    assert_null(servicemonitor_unpack(spec_body_of(&servicemonitor_kind, "{}")).at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(labels_and_spec_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
