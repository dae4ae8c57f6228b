#include "kinds/role/role_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static void labels_and_rules_are_kept(void **state)
{
    (void)state;
    struct text body =
        spec_body_of(&role_kind, "{'metadata':{'labels':{'a':'b'}},'rules':[{'verbs':['get']}]}");
    assert_true(labels_match("a=b", body));
    assert_true(text_is(role_rules(body), quote_text(arena, "[{'verbs':['get']}]")));
    assert_null(role_rules(spec_body_of(&role_kind, "{'metadata':{}}")).at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(labels_and_rules_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
