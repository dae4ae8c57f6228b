#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"

static const struct {
    const char *labels;
    const char *selector;
    bool matches;
} cases[] = {
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app=dns", true},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app=web", false},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app", true},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "tier", true},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "tier=", true},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app=", false},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app=dns,tier", true},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "app=dns,zone", false},
    {"{\"app\":\"dns\",\"tier\":\"\"}", "zone,app=dns", false},
    {"{\"app\":\"dnsx\"}", "app=dns", false},
    {"{}", "app", false},
    {"7", "app", false},
};

static void a_selector_asks_for_all_of_its_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        const char *json = arena_printf(arena, "{\"metadata\":{\"labels\":%s}}", cases[i].labels);
        const struct value *object =
            value_read_json(arena, text_of(json), &value_manifest_limits, NULL);
        assert_non_null(object);
        struct pack_writer writer;
        pack_init(&writer);
        labels_pack(object, &writer);
        pack_number(&writer, 4711);
        if (labels_match_object(cases[i].selector, object) != cases[i].matches ||
            labels_match(cases[i].selector, buffer_text(&writer.out)) != cases[i].matches)
            fail_msg("%s of %s", cases[i].selector, cases[i].labels);
        struct pack_reader reader = pack_open(buffer_text(&writer.out));
        labels_skip(&reader);
        assert_int_equal(unpack_number(&reader), 4711);
        pack_done(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_selector_asks_for_all_of_its_labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
