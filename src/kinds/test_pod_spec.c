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

static void assert_tolerations(const char *json, const char *wanted)
{
    AUTO_BUFFER out = {0};
    tolerations_write(&out, quote(arena, json));
    assert_string_equal(out.at, quote_text(arena, wanted));
}

static void tolerations_that_mean_the_same_are_written_the_same(void **state)
{
    (void)state;
    assert_tolerations("[{'operator':'Exists','key':'a'}]", "[{'key':'a','operator':'Exists'}]");
    assert_tolerations("[{'key':'a','operator':'Equal','value':'b','effect':''}]",
                       "[{'key':'a','value':'b'}]");
    assert_tolerations("[{'tolerationSeconds':30,'effect':'NoExecute','key':'a','value':null},{}]",
                       "[{'key':'a','effect':'NoExecute','tolerationSeconds':30},{}]");
    assert_tolerations("[{'tolerationSeconds':0}]", "[{'tolerationSeconds':0}]");
    assert_tolerations("[]", "[]");
    assert_tolerations("{'key':'a'}", "[]");
}

static void a_number_and_a_text_are_both_packed_as_text(void **state)
{
    struct pack_writer out;
    (void)state;
    const struct value *map = quote(arena, "{'n':5,'t':'10%','b':true}");
    pack_init(&out);
    int_or_text_pack(&out, value_find(map, "n"));
    int_or_text_pack(&out, value_find(map, "t"));
    int_or_text_pack(&out, value_find(map, "b"));
    int_or_text_pack(&out, NULL);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_true(text_is(unpack_text(&in), "5"));
    assert_true(text_is(unpack_text(&in), "10%"));
    assert_null(unpack_text(&in).at);
    assert_null(unpack_text(&in).at);
    pack_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_named_container_goes_before_the_first),
        UNIT(tolerations_that_mean_the_same_are_written_the_same),
        UNIT(a_number_and_a_text_are_both_packed_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
