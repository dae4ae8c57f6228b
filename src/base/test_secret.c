#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/digest.h"

static void secret_keeps_a_copy(void **state)
{
    (void)state;
    char octets[] = "hunter2";
    CLEANUP(secret) struct secret *secret = secret_new(octets, 7);
    secret_wipe(octets, sizeof octets);
    assert_memory_equal(octets, "\0\0\0\0\0\0\0", 8);
    assert_int_equal(secret_len(secret), 7);
    assert_true(text_is(secret_expose(secret), "hunter2"));
    assert_int_equal(secret_expose(secret).at[7], '\0');
}

static void last_reference_frees(void **state)
{
    (void)state;
    struct secret *secret = secret_new("a", 1);
    struct secret *second = secret_ref(secret);
    assert_ptr_equal(second, secret);
    secret_unref(secret);
    assert_true(text_is(secret_expose(second), "a"));
    secret_unref(second);
    assert_null(secret_ref(NULL));
    secret_unref(NULL);
}

static void equality_is_by_content(void **state)
{
    (void)state;
    CLEANUP(secret) struct secret *a = secret_new("key", 3);
    CLEANUP(secret) struct secret *b = secret_new("key", 3);
    CLEANUP(secret) struct secret *c = secret_new("kez", 3);
    CLEANUP(secret) struct secret *d = secret_new("ke", 2);
    CLEANUP(secret) struct secret *e = secret_new(NULL, 0);
    CLEANUP(secret) struct secret *f = secret_new("", 0);
    assert_true(secret_equal(a, b));
    assert_false(secret_equal(a, c));
    assert_false(secret_equal(a, d));
    assert_true(secret_equal(e, f));
    assert_false(secret_equal(a, NULL));
    assert_true(secret_equal(NULL, NULL));
}

static void trailing_newline_is_reported(void **state)
{
    (void)state;
    CLEANUP(secret) struct secret *with = secret_new("key\n", 4);
    CLEANUP(secret) struct secret *without = secret_new("key", 3);
    CLEANUP(secret) struct secret *empty = secret_new("", 0);
    assert_true(secret_ends_with_newline(with));
    assert_false(secret_ends_with_newline(without));
    assert_false(secret_ends_with_newline(empty));
}

static void fingerprint_is_the_front_of_sha256(void **state)
{
    (void)state;
    uint8_t out[4];
    CLEANUP(secret) struct secret *secret = secret_new("abc", 3);
    secret_fingerprint(secret, out, sizeof out);
    assert_memory_equal(out, "\xba\x78\x16\xbf", 4);
}

static void a_short_one_is_told(void **state)
{
    (void)state;
    CLEANUP(secret) struct secret *one = secret_new("k", 1);
    CLEANUP(secret) struct secret *good = secret_new("0123456789abcdef", 16);
    assert_true(secret_is_short(one));
    assert_false(secret_is_short(good));
}

static void no_dump_of_the_process_holds_any(void **state)
{
    (void)state;
    struct rlimit limit;
    secret_keep_from_dumps();
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
    assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
    assert_int_equal(limit.rlim_cur, 0);
    assert_int_equal(limit.rlim_max, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_keeps_a_copy),
        cmocka_unit_test(last_reference_frees),
        cmocka_unit_test(equality_is_by_content),
        cmocka_unit_test(trailing_newline_is_reported),
        cmocka_unit_test(fingerprint_is_the_front_of_sha256),
        cmocka_unit_test(a_short_one_is_told),
        cmocka_unit_test(no_dump_of_the_process_holds_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
