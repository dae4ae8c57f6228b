#include "store/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

static void ids_of_letters_digits_and_inner_hyphens_pass(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "7", "home-2", "0af76519", "abcdefghijklmnopqrstuvwx"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(owner_id_check(text_of(good[i]), NULL));
}

static void other_ids_are_refused_with_the_rule(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "-",
                                      "-a",
                                      "a-",
                                      "Home",
                                      "a_b",
                                      "a b",
                                      "a/b",
                                      "a\n",
                                      "\xc3\xa4",
                                      "abcdefghijklmnopqrstuvwxy"};
    struct error err;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (owner_id_check(text_of(bad[i]), &err))
            fail_msg("%s passed", bad[i]);
        assert_string_equal(err.text, "an owner id has 1 to 24 characters of a-z, 0-9 and -, and "
                                      "no - at its ends");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_letters_digits_and_inner_hyphens_pass),
        cmocka_unit_test(other_ids_are_refused_with_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
