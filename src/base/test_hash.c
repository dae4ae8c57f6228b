#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"

static void set_key(uint8_t first, uint8_t step)
{
    uint8_t key[16];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(first + i * step);
    hash_key_set(key);
}

static int clear_key(void **state)
{
    (void)state;
    set_key(0, 0);
    return 0;
}

// From vectors_128 of the reference implementation (key 00 01 .. 0f, message 00 01 02 ..).
static void content_ids_are_those_of_siphash_2_4_with_128_bits(void **state)
{
    static const struct {
        size_t len;
        uint8_t wanted[16];
    } rows[] = {
        {0,
         {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
          0x93}},
        {1,
         {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
          0x45}},
    };
    uint8_t message[16];
    (void)state;
    set_key(0, 1);
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct content_id id = content_id_of(message, rows[i].len);
        assert_memory_equal(id.words, rows[i].wanted, sizeof rows[i].wanted);
    }
}

static void hashes_depend_on_the_key_and_on_each_octet(void **state)
{
    const char text[] = "the octets of this text, more than two blocks of them";
    (void)state;
    set_key(1, 3);
    uint64_t before = hash_octets(text, sizeof text);
    struct content_id before_id = content_id_of(text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        char other[sizeof text];
        memcpy(other, text, sizeof text);
        other[i] ^= 1;
        assert_true(hash_octets(other, sizeof other) != before);
        assert_false(content_id_equal(content_id_of(other, sizeof other), before_id));
        assert_true(hash_octets(text, i) != before);
    }
    set_key(2, 3);
    assert_true(hash_octets(text, sizeof text) != before);
    assert_false(content_id_equal(content_id_of(text, sizeof text), before_id));
}

// A folded multiplication takes these for the same: the second half of a block undoes the first.
static void texts_that_a_folded_multiplication_confuses_are_told_apart(void **state)
{
    const char a[] = "---\napiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: a\n"
                     "  namespace: shop\n  annotations: {nnnnnnnnnnnnn: \"00041292\"}\nspec:\n"
                     "  value: aaaaaaaa.055m--R\n# the end of the file\n";
    char b[sizeof a];
    (void)state;
    memcpy(b, a, sizeof a);
    memset(strstr(b, "aaaaaaaa"), 'b', 8);
    assert_true(hash_octets(a, sizeof a - 1) != hash_octets(b, sizeof b - 1));
}

// A table takes the low bits: names that differ in their last octets must spread over them.
static void low_bits_of_the_hash_spread(void **state)
{
    (void)state;
    enum { SLOTS = 1024, NAMES = 8 * SLOTS };
    unsigned filled[SLOTS] = {0};
    for (int i = 0; i < NAMES; i++) {
        AUTO_BUFFER name = {0};
        buffer_printf(&name, "host-%d.shop.example.org.", i);
        filled[hash_octets(name.at, name.len) % SLOTS]++;
    }
    for (int i = 0; i < SLOTS; i++)
        assert_in_range(filled[i], 0, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(content_ids_are_those_of_siphash_2_4_with_128_bits, clear_key),
        cmocka_unit_test_teardown(hashes_depend_on_the_key_and_on_each_octet, clear_key),
        cmocka_unit_test(low_bits_of_the_hash_spread),
        cmocka_unit_test_teardown(texts_that_a_folded_multiplication_confuses_are_told_apart,
                                  clear_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
