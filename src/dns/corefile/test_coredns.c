#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "dns/corefile/coredns_word.h"
#include "dns/corefile/lint.h"

static void names_of_a_build_are_read_as_they_stand_in_plugin_cfg(void **state)
{
    (void)state;
    static const char text[] = "# Directives\nroot:root\n\n  errors:errors  # log them\n"
                               "k8s_event:example.com/k8s_event\r\nmine\n";
    const char *const *names;
    struct error err;
    assert_true(coredns_names_read(arena, text_of(text), &names, &err));
    const char *const expected[] = {"root", "errors", "k8s_event", "mine"};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_string_equal(names[i], expected[i]);
    assert_null(names[COUNT_OF(expected)]);
}

static void what_is_no_list_of_plugins_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
    } rows[] = {
        {"", "it names no plugin"},
        {"# none\n", "it names no plugin"},
        {"errors\n. {\n", "line 2 has no name of a plugin"},
        {"errors log\n", "line 1 has no name of a plugin"},
        {"errors\nlog\nerrors:errors\n", "line 3 names errors again"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const *names = NULL;
        struct error err;
        assert_false(coredns_names_read(arena, text_of(rows[i].text), &names, &err));
        assert_string_equal(err.text, rows[i].fault);
        assert_null(names);
    }
}

static void such_a_list_takes_the_place_of_the_directives_of_a_release(void **state)
{
    (void)state;
    static const char *const names[] = {"whoami", "mine", NULL};
    static const char *const changes[] = {"-whoami", "+log", NULL};
    const struct corefile_file file = {"Corefile", TEXT(". {\n mine\n whoami\n errors\n log\n}\n")};
    struct corefile_lint_options options = {.version = coredns_newest, .directives = names};
    struct corefile_problems problems = {.arena = arena};
    corefile_free(corefile_lint(&file, &options, &problems));
    assert_int_equal(problems.error_count, 2);
    assert_string_equal(problems.items[0].text, "Unknown directive 'errors'");
    options.plugins = changes;
    problems = (struct corefile_problems){.arena = arena};
    corefile_free(corefile_lint(&file, &options, &problems));
    assert_int_equal(problems.error_count, 2);
    assert_string_equal(problems.items[0].text, "Unknown directive 'whoami'");
}

static void words_of_dns_are_those_that_plugins_know(void **state)
{
    (void)state;
    static const struct coredns_version old = {1, 10, 1};
    assert_true(coredns_is_type(TEXT("AAAA"), old));
    assert_false(coredns_is_type(TEXT("aaaa"), old));
    assert_false(coredns_is_type(TEXT("TYPE28"), coredns_newest));
    assert_false(coredns_is_type(TEXT("RESINFO"), old));
    assert_true(coredns_is_type(TEXT("RESINFO"), coredns_newest));
    assert_true(coredns_is_class(TEXT("CH")) && !coredns_is_class(TEXT("255")));
    assert_true(coredns_is_rcode(TEXT("SERVFAIL"), old));
    assert_false(coredns_is_rcode(TEXT("BADVERS"), coredns_newest));
    assert_false(coredns_is_rcode(TEXT("DSOTYPENI"), old));
    assert_true(text_is(coredns_word_upper(arena, TEXT("badKey")), "BADKEY"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(names_of_a_build_are_read_as_they_stand_in_plugin_cfg),
        UNIT(what_is_no_list_of_plugins_is_refused),
        UNIT(such_a_list_takes_the_place_of_the_directives_of_a_release),
        UNIT(words_of_dns_are_those_that_plugins_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
