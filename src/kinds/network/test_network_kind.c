#include "kinds/network/network_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static const char *first_of(const char *json)
{
    size_t count;
    const struct text *networks = network_unpack(arena, spec_body_of(&network_kind, json), &count);
    return count ? arena_copy(arena, networks[0].at, networks[0].len) : "";
}

static void what_is_carried_out_counts_before_what_is_asked_for(void **state)
{
    (void)state;
    assert_string_equal(first_of("{'spec':{'serviceNetwork':['10.0.0.0/16']},"
                                 "'status':{'serviceNetwork':['172.30.0.0/16','fd02::/112']}}"),
                        "172.30.0.0/16");
    assert_string_equal(first_of("{'spec':{'serviceNetwork':['10.0.0.0/16']},"
                                 "'status':{'serviceNetwork':[]}}"),
                        "10.0.0.0/16");
    assert_string_equal(first_of("{'spec':{'serviceNetwork':'x'},'status':{}}"), "");
    assert_string_equal(first_of("{}"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_is_carried_out_counts_before_what_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
