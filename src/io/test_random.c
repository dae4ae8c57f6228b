#include "io/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

// Hands out the octets it was given, one draw after the other.
struct scripted {
    struct random random;
    const uint8_t *octets;
    size_t left;
};

static void scripted_fill(struct random *random, void *out, size_t len)
{
    struct scripted *self = (struct scripted *)random;
    assert_true(self->left >= len);
    memcpy(out, self->octets, len);
    self->octets += len;
    self->left -= len;
}

static void uuid_has_version_4_and_the_rfc_variant(void **state)
{
    (void)state;
    static const uint8_t octets[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0xff, 0x77,
                                       0xff, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    struct scripted scripted = {{scripted_fill}, octets, sizeof octets};
    char uuid[37];
    random_uuid(&scripted.random, uuid);
    assert_string_equal(uuid, "00112233-4455-4f77-bf99-aabbccddeeff");
}

static void number_below_the_surplus_is_drawn_again(void **state)
{
    (void)state;
    // 2^64 mod 10 is 6: of the draws 5 and 6 only the second counts.
    static const uint64_t draws[] = {5, 6};
    struct scripted scripted = {{scripted_fill}, (const void *)draws, sizeof draws};
    assert_int_equal(random_below(&scripted.random, 10), 6);
    assert_int_equal(scripted.left, 0);
}

static void number_stays_below_its_limit(void **state)
{
    (void)state;
    static const uint64_t draws[] = {UINT64_MAX, UINT64_MAX, 12345};
    struct scripted scripted = {{scripted_fill}, (const void *)draws, sizeof draws};
    assert_int_equal(random_below(&scripted.random, 16), 15);
    assert_int_equal(random_below(&scripted.random, UINT64_MAX), 0);
    assert_int_equal(random_below(&scripted.random, 1), 0);
}

static void short_number_takes_two_octets(void **state)
{
    (void)state;
    static const uint16_t draws[] = {0xfffe, 7};
    struct scripted scripted = {{scripted_fill}, (const void *)draws, sizeof draws};
    assert_int_equal(random_u16(&scripted.random), 0xfffe);
    assert_int_equal(random_u16(&scripted.random), 7);
}

static void system_source_does_not_repeat_itself(void **state)
{
    (void)state;
    uint8_t first[32] = {0}, second[32] = {0};
    random_fill(random_system(), first, sizeof first);
    random_fill(random_system(), second, sizeof second);
    assert_memory_not_equal(first, second, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uuid_has_version_4_and_the_rfc_variant),
        cmocka_unit_test(number_below_the_surplus_is_drawn_again),
        cmocka_unit_test(number_stays_below_its_limit),
        cmocka_unit_test(short_number_takes_two_octets),
        cmocka_unit_test(system_source_does_not_repeat_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
