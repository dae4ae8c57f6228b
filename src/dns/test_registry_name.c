#include "dns/registry_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"

static const char *letters(size_t count)
{
    char *text = arena_alloc(arena, count + 1, 1);
    memset(text, 'a', count);
    return text;
}

static void type_and_affixes_stand_around_the_first_label(void **state)
{
    static const struct {
        const char *name;
        const char *type;
        struct registry_affix affix;
        const char *expected;
    } cases[] = {
        {"www.example.org", "A", {.prefix = TEXT("")}, "a-www.example.org"},
        {"www.example.org", "CNAME", {.prefix = TEXT("x.")}, "x.cname-www.example.org"},
        {"www.example.org", "AAAA", {.suffix = TEXT("-x")}, "aaaa-www-x.example.org"},
        {"www.example.org", "A", {.prefix = TEXT("%{record_type}-x-")}, "a-x-www.example.org"},
        {"www.example.org", "A", {.suffix = TEXT("-%{record_type}.r")}, "www-a.r.example.org"},
        {"*.example.org", "A", {.wildcard = TEXT("any")}, "a-any.example.org"},
        {"www.example.org", "A", {.prefix = TEXT("Own-")}, "own-a-www.example.org"},
        {"*.example.org", "A", {.wildcard = TEXT("Any")}, "a-any.example.org"},
        {"*.example.org", "A", {.prefix = TEXT("")}, "a-*.example.org"},
        {"localhost", "A", {.prefix = TEXT("")}, "a-localhost"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_BUFFER out = {0};
        registry_name_write(&out, text_of(cases[i].name), text_of(cases[i].type), &cases[i].affix);
        assert_string_equal(out.at, cases[i].expected);
    }
}

static bool fits(size_t first_label, const char *type, const char *prefix, const char *suffix)
{
    const struct registry_affix affix = {.prefix = text_of(prefix), .suffix = text_of(suffix)};
    const char *name = arena_printf(arena, "%s.example.org", letters(first_label));
    struct error err = {0};
    bool does_fit = registry_name_fits(text_of(name), text_of(type), &affix, &err);
    assert_string_equal(err.reason, does_fit ? "" : "NameTooLongForRegistry");
    return does_fit;
}

static void each_type_leaves_room_for_a_first_label(void **state)
{
    static const struct {
        const char *type;
        const char *prefix;
        const char *suffix;
        size_t max;
    } rooms[] = {
        {"A", "", "", 61},
        {"AAAA", "", "", 58},
        {"CNAME", "", "", 57},
        {"A", "edge-", "", 56},
        {"A", "edge.", "", 61},
        {"AAAA", "edge-", "", 53},
        {"CNAME", "edge-", "", 52},
        {"A", "", "-own", 57},
        {"AAAA", "", "-own", 54},
        {"CNAME", "", "-own", 53},
        {"CNAME", "%{record_type}.", "", 63},
        {"CNAME", "%{record_type}-", "", 57},
        {"A", "", "-%{record_type}.own", 61},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rooms); i++) {
        assert_true(fits(rooms[i].max, rooms[i].type, rooms[i].prefix, rooms[i].suffix));
        assert_false(fits(rooms[i].max + 1, rooms[i].type, rooms[i].prefix, rooms[i].suffix));
    }
}

static void the_whole_has_253_octets_at_most(void **state)
{
    struct error err;
    (void)state;
    const char *label = letters(60);
    const char *name = arena_printf(arena, "%s.%s.%s.%s.%s", label, label, label, label,
                                    letters(7)); // 4 * 61 + 7
    const struct registry_affix none = {0};
    assert_true(registry_name_fits(text_of(name), TEXT("A"), &none, &err));
    assert_false(
        registry_name_fits(text_of(arena_printf(arena, "%sa", name)), TEXT("A"), &none, &err));
    assert_non_null(strstr(err.text, "has 254 octets"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(type_and_affixes_stand_around_the_first_label),
        UNIT(each_type_leaves_room_for_a_first_label),
        UNIT(the_whole_has_253_octets_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
