#include "kinds/gateway/gateway_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void a_gateway_has_the_addresses_of_its_status(void **state)
{
    size_t count;
    struct pack_writer writer;
    (void)state;
    pack_init(&writer);
    gateway_kind.pack_spec(
        quote(arena, "{'spec':{'addresses':[{'value':'192.0.2.1'}]},'status':{'addresses':["
                     "{'type':'IPAddress','value':'192.0.2.7'},{'type':'Hostname','value':'x.y'},"
                     "{'value':'fd00::7'},{'value':7},'z']}}"),
        &writer);
    const struct text *addresses = gateway_unpack(arena, buffer_text(&writer.out), &count);
    assert_int_equal(count, 2);
    assert_true(text_is(addresses[0], "192.0.2.7"));
    assert_true(text_is(addresses[1], "fd00::7"));
    pack_done(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_gateway_has_the_addresses_of_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
