#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/secret/secret_kind.h"
#include "kinds/test_quote.h"

static void assert_secret(struct text body, const char *key, const char *wanted)
{
    struct secret *secret = secret_kind_get(body, text_of(key));
    if (wanted) {
        assert_non_null(secret);
        assert_true(text_is(secret_expose(secret), wanted));
    } else {
        assert_null(secret);
    }
    secret_unref(secret);
}

static void a_key_is_found_in_either_form_and_plain_ones_win(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pack_writer out;
    pack_init(&out);
    secret_kind.pack_spec(quote(arena, "{'data':{'a':'aGFsbG8K','b':'eA==','bad':'!','none':''},"
                                       "'stringData':{'b':'plain','c':'too'}}"),
                          &out);
    struct text body = buffer_text(&out.out);
    assert_secret(body, "a", "hallo\n");
    assert_secret(body, "b", "plain");
    assert_secret(body, "c", "too");
    assert_secret(body, "none", "");
    assert_secret(body, "bad", NULL);
    assert_secret(body, "d", NULL);
    pack_done(&out);
}

static void bad_base64_is_told_without_the_value(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct findings findings = {.arena = arena};
    secret_kind.validate(quote(arena, "{'data':{'key':'hunter2!'}}"), &findings);
    assert_string_equal(findings_join(&findings, FINDING_ERROR),
                        "data.key must be base64: encode it, or use stringData");
}

static void a_mistyped_field_is_told_with_the_right_name(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct findings findings = {.arena = arena};
    kind_check(&secret_kind,
               quote(arena, "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'key'},"
                            "'stringdata':{'key':'hunter2'},'data':null,'immutable':false}"),
               &findings);
    assert_string_equal(findings_join(&findings, FINDING_ERROR),
                        "stringdata: unknown field; did you mean stringData?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_in_either_form_and_plain_ones_win),
        cmocka_unit_test(bad_base64_is_told_without_the_value),
        cmocka_unit_test(a_mistyped_field_is_told_with_the_right_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
