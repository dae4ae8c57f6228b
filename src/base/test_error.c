#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void set_fills_everything_and_returns_false(void **state)
{
    (void)state;
    struct error err = {.retry_ms = 5, .status = 7, .code = "OLD"};
    assert_false(error_set(&err, FAULT_SPEC, "BadName", "name %s is too long", "www"));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.reason, "BadName");
    assert_string_equal(err.text, "name www is too long");
    assert_int_equal(err.retry_ms, 0);
    assert_int_equal(err.status, 0);
    assert_string_equal(err.code, "");
}

static void null_error_is_accepted(void **state)
{
    (void)state;
    assert_false(error_set(NULL, FAULT_SPEC, "X", "x"));
    assert_false(error_set_errno(NULL, EPERM, "x"));
    assert_false(error_prefix(NULL, "x"));
    error_clear(NULL);
}

static void reason_may_be_absent(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, FAULT_AGAIN, NULL, "x");
    assert_string_equal(err.reason, "");
}

static void errno_stands_behind_the_text(void **state)
{
    (void)state;
    struct error err;
    assert_false(error_set_errno(&err, ENOENT, "open %s", "/etc/zone"));
    assert_string_equal(err.text, "open /etc/zone: No such file or directory");
    assert_string_equal(err.reason, "SystemError");
    assert_int_equal(err.fault, FAULT_AGAIN);
    assert_int_equal(err.status, ENOENT);
}

static void prefix_keeps_the_rest(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, FAULT_WAIT, "R", "is missing");
    err.retry_ms = 9;
    assert_false(error_prefix(&err, "secret %s ", "key"));
    assert_string_equal(err.text, "secret key is missing");
    assert_int_equal(err.fault, FAULT_WAIT);
    assert_int_equal(err.retry_ms, 9);
    assert_string_equal(err.reason, "R");
}

static void long_text_is_cut_between_characters(void **state)
{
    (void)state;
    struct error err;
    char wide[3000];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(wide, 'a', sizeof wide);
        for (size_t i = shift; i + 3 < sizeof wide; i += 3)
            memcpy(wide + i, "\xe2\x82\xac", 3);
        wide[sizeof wide - 1] = '\0';
        error_set(&err, FAULT_SPEC, "R", "%s", wide);
        assert_in_range(strlen(err.text), ERROR_TEXT_MAX - 3, ERROR_TEXT_MAX - 1);
        assert_true(utf8_is_valid(text_of(err.text)));
        assert_null(strstr(err.text, "\xef\xbf\xbd"));
        error_prefix(&err, "ab");
        assert_true(utf8_is_valid(text_of(err.text)));
        assert_null(strstr(err.text, "\xef\xbf\xbd"));
    }
}

static void control_characters_become_blanks(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, FAULT_SPEC, "R\n", "a\nb\x1b[0m");
    assert_string_equal(err.text, "a b [0m");
    assert_string_equal(err.reason, "R ");
    error_prefix(&err, "x\ty");
    assert_string_equal(err.text, "x ya b [0m");
}

static void error_may_be_wrapped_into_itself(void **state)
{
    (void)state;
    struct error err;
    error_set(&err, FAULT_SPEC, "R", "inner");
    error_set(&err, FAULT_AGAIN, err.reason, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
    assert_string_equal(err.reason, "R");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_everything_and_returns_false),
        cmocka_unit_test(null_error_is_accepted),
        cmocka_unit_test(reason_may_be_absent),
        cmocka_unit_test(errno_stands_behind_the_text),
        cmocka_unit_test(prefix_keeps_the_rest),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(control_characters_become_blanks),
        cmocka_unit_test(error_may_be_wrapped_into_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
