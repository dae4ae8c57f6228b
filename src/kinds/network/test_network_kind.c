#include "kinds/network/network_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void the_first_network_of_services_is_kept(void **state)
{
    (void)state;
    struct text body =
        spec_body_of(&network_kind, "{'status':{'serviceNetwork':['172.30.0.0/16','fd02::/112']}}");
    assert_true(text_is(network_services(body), "172.30.0.0/16"));
    body = spec_body_of(&network_kind, "{'spec':{'serviceNetwork':['10.0.0.0/16']}}");
    assert_null(network_services(body).at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_first_network_of_services_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
