#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/certificates.h"
#include "base/test_arena.h"
#include "base/test_certificate.h"

static const char broken[] = "-----BEGIN CERTIFICATE-----\nMIIBdzCCAR2gAwIBAgIU\n"
                             "-----END CERTIFICATE-----\n";
static const char headless[] = "-----BEGIN CERTIFICATE-----\n";

static bool has_any(const char *before, const char *pem)
{
    return certificates_has_any(text_of(arena_printf(arena, "%s%s", before, pem)));
}

static void one_good_certificate_is_enough(void **state)
{
    (void)state;
    assert_true(has_any("", test_certificate));
    assert_true(has_any("# the company's\n", test_certificate));
    assert_true(has_any(broken, test_certificate));
    assert_true(has_any(test_certificate, broken));
}

static void a_head_alone_is_no_certificate(void **state)
{
    (void)state;
    assert_false(has_any("", ""));
    assert_false(certificates_has_any((struct text){0}));
    assert_false(has_any("", "no PEM at all\n"));
    assert_false(has_any("", headless));
    assert_false(has_any("", broken));
    assert_false(has_any(broken, broken));
    assert_false(has_any("", "-----BEGIN PRIVATE KEY-----\nMAo=\n-----END PRIVATE KEY-----\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_good_certificate_is_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_head_alone_is_no_certificate, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
