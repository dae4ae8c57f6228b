#pragma once

// For tests of the linter: what it says of a Corefile, as one text.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "dns/corefile/lint.h"

// All problems as CoreDNS prints them, a line each; of warnings the rule alone, and nothing of
// plugins that are missing.
static inline const char *lint_with(const struct corefile_lint_options *options, const char *text)
{
    AUTO_BUFFER out = {0};
    const struct corefile_file file = {"Corefile", text_of(text)};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_lint(&file, options, &problems);
    for (size_t i = 0; i < problems.kept; i++) {
        const struct corefile_problem *problem = &problems.items[i];
        if (problem->is_warning && !strcmp(problem->rule, "no-plugin"))
            continue;
        buffer_add_text(&out, out.len ? "\n" : "");
        if (problem->is_warning)
            buffer_printf(&out, "(%s)", problem->rule);
        else
            corefile_write_problem(&out, problem);
    }
    assert_int_equal(corefile_is_accepted(&problems), problems.error_count == 0);
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

// NULL: the newest release.
static inline const char *lint(const char *version, const char *text)
{
    struct corefile_lint_options options = {.version = coredns_newest};
    assert_true(!version || coredns_version_read(text_of(version), &options.version));
    return lint_with(&options, text);
}

struct row {
    const char *version;
    const char *text;
    const char *wanted;
};

static inline void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(lint(rows[i].version, rows[i].text), rows[i].wanted);
}
#define CHECK(rows) check_rows(rows, COUNT_OF(rows))

// A plugin's lines in a block of their own, which is accepted or refused so. They begin in line 2.
static inline void check_lines(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(
            lint(rows[i].version, arena_printf(arena, ". {\n%s\n}\n", rows[i].text)),
            rows[i].wanted);
}
#define CHECK_LINES(rows) check_lines(rows, COUNT_OF(rows))

// Options of one plugin, from line 3 on, and what is said behind the plugin's name.
static inline void check_options(const char *head, const struct row *rows, size_t count)
{
    size_t name_len = strcspn(head, " ");
    for (size_t i = 0; i < count; i++) {
        const char *wanted = *rows[i].wanted ? arena_printf(arena, "plugin/%.*s: %s", (int)name_len,
                                                            head, rows[i].wanted)
                                             : "";
        const char *text = arena_printf(arena, ". {\n%s {\n%s\n}\n}\n", head, rows[i].text);
        assert_string_equal(lint(rows[i].version, text), wanted);
    }
}
#define CHECK_OPTIONS(head, rows) check_options(head, rows, COUNT_OF(rows))

#define AT(line) "Corefile:" line " - Error during parsing: "
#define WRONG_COUNT "Wrong argument count or unexpected line ending after "
#define ONCE "this plugin can only be used once per Server Block"
