#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/test_arena.h"
#include "dns/corefile/corefile.h"
#include "dns/corefile/identity.h"

static struct corefile_problems problems;

static struct text variable(void *context, struct text name)
{
    (void)context;
    return text_is(name, "ZONE") ? TEXT("env.example") : (struct text){0};
}

static struct corefile_file imported[2];
static size_t imported_count;
static const char *asked_for;

static bool files(void *context, struct arena *where, const char *pattern,
                  struct corefile_file **out, size_t *count, struct error *err)
{
    (void)context;
    (void)where;
    asked_for = arena_copy_text(arena, pattern);
    if (strstr(pattern, "unreadable"))
        return error_set(err, FAULT_AGAIN, "", "permission denied");
    *out = imported;
    *count = imported_count;
    return true;
}

static const struct corefile_world world = {NULL, variable, files};
static const struct corefile_options any = {.world = &world};

static struct corefile *parse(const char *text)
{
    const struct corefile_file file = {"/etc/coredns/Corefile", text_of(text)};
    problems = (struct corefile_problems){.arena = arena};
    return corefile_new(&file, &any, &problems);
}

// "key key|name word word|name", a block after the other.
static const char *shown(const struct corefile *corefile)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        buffer_add_text(&out, i ? " / " : "");
        for (size_t key = 0; key < block->key_count; key++)
            buffer_printf(&out, "%s%.*s", key ? " " : "", TEXT_ARGS(block->keys[key]));
        for (size_t at = 0; at < block->directive_count; at++)
            for (uint32_t word = 0; word < block->directives[at].count; word++)
                buffer_printf(
                    &out, "%s%.*s", word ? " " : "|",
                    TEXT_ARGS(corefile_text(corefile, block->directives[at].first + word)));
    }
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

static const char *first_problem(void)
{
    AUTO_BUFFER out = {0};
    if (!problems.count)
        return "";
    corefile_write_problem(&out, &problems.items[0]);
    return arena_copy(arena, out.at, out.len);
}

#define ASSERT_PARSED(text, wanted)                                                                \
    do {                                                                                           \
        CLEANUP(corefile) struct corefile *corefile_ = parse(text);                                \
        assert_string_equal(first_problem(), "");                                                  \
        assert_string_equal(shown(corefile_), wanted);                                             \
    } while (0)
#define ASSERT_REFUSED(text, wanted)                                                               \
    do {                                                                                           \
        CLEANUP(corefile) struct corefile *corefile_ = parse(text);                                \
        assert_string_equal(first_problem(), wanted);                                              \
    } while (0)
#define AT "/etc/coredns/Corefile:"

static void blanks_quotes_and_comments_part_tokens(void **state)
{
    (void)state;
    ASSERT_PARSED("", "");
    ASSERT_PARSED("# nothing\n", "");
    ASSERT_PARSED(". {\n  log \"a \\\"b\\\" \\n\"\n}\n", ".|log a \"b\" \\n");
    ASSERT_PARSED("\xef\xbb\xbf. {\r\n  errors\r\n}\r\n", ".|errors");
    ASSERT_PARSED(". { # root\n  errors # all\n}\n", ".|errors");
    ASSERT_PARSED(". {\n  log \"\"\n}\n", ".|log ");
    ASSERT_PARSED(". {\n  log \"a\"b\n}\n", ".|log a b");
}

static void a_hash_within_a_token_eats_its_rest(void **state)
{
    (void)state;
    ASSERT_PARSED(". {\n  forward . 1.1.1.1#53 x\n}\n", ".|forward . 1.1.1.1 x");
}

static void what_is_no_utf8_is_replaced(void **state)
{
    (void)state;
    ASSERT_PARSED(". {\n  log a\xff\n}\n", ".|log a\xef\xbf\xbd");
    ASSERT_PARSED(". {\n  log a\xc2\xa0"
                  "b\n}\n",
                  ".|log a b");
}

static void blocks_have_addresses_and_directives(void **state)
{
    (void)state;
    ASSERT_PARSED("a.example, b.example,\nc.example {\n  errors\n  log\n}\n. {\n  whoami\n}\n",
                  "a.example b.example c.example|errors|log / .|whoami");
    ASSERT_PARSED("a.example\n{\n  errors\n}\n", "a.example|errors");
    ASSERT_PARSED("a.example\nerrors\nlog\n", "a.example|errors|log");
    ASSERT_PARSED("a.example", "a.example");
    ASSERT_PARSED(". {\n  forward . 1.1.1.1 {\n    policy random\n  }\n  log\n}\n",
                  ".|forward . 1.1.1.1 { policy random }|log");
    ASSERT_PARSED(". {\n  forward . 1.1.1.1\n  {\n    policy random\n  }\n}\n",
                  ".|forward . 1.1.1.1 { policy random }");
}

static void a_last_brace_may_be_missing_behind_another(void **state)
{
    (void)state;
    ASSERT_PARSED(". {\n  health {\n    lameduck 5s\n  }\n", ".|health { lameduck 5s }");
    ASSERT_REFUSED(". {\n  health\n",
                   AT "2 - Syntax error: Unexpected token 'health', expecting '}'");
    ASSERT_REFUSED(". {\n  health {\n", AT "2 - Error during parsing: Unexpected EOF");
    ASSERT_REFUSED(". {\n  errors }\n",
                   AT "2 - Error during parsing: Unexpected '}' because no matching opening brace");
    ASSERT_REFUSED("a.example, {\n}\n", AT "1 - Error during parsing: Expected another address "
                                           "but had '{' - check for extra comma");
}

static void a_block_without_zones_is_ignored_with_a_warning(void **state)
{
    (void)state;
    CLEANUP(corefile) struct corefile *corefile = parse("{\n  errors\n}\n. {\n}\n");
    assert_string_equal(shown(corefile), ".");
    assert_int_equal(problems.error_count, 0);
    assert_string_equal(first_problem(), AT "1 - Warning: CoreDNS ignores this server block, as "
                                            "it names no zone");
}

static void snippets_stand_where_they_are_imported(void **state)
{
    (void)state;
    ASSERT_PARSED("(base) {\n  errors\n  cache 30\n}\n. {\n  import base\n  log\n}\n",
                  ".|errors|cache 30|log");
    ASSERT_PARSED("(a) {\n  errors\n}\n(b) {\n  import a\n  log\n}\n. {\n  import b\n}\n",
                  ".|errors|log");
    ASSERT_PARSED("(options) {\n  policy random\n}\n"
                  ". {\n  forward . 1.1.1.1 {\n    import options\n  }\n}\n",
                  ".|forward . 1.1.1.1 { policy random }");
    ASSERT_REFUSED("(a) {\n}\n(a) {\n}\n",
                   AT "3 - Error during parsing: redeclaration of previously declared snippet a");
    ASSERT_REFUSED("(a) {\n  import a\n}\n. {\n  import a\n}\n",
                   AT "3 - Error during parsing: maximum snippet import depth (10000) exceeded");
    ASSERT_REFUSED("(a) {\n  log\n  import b\n}\n(b) {\n  import a\n}\n. {\n  import a\n}\n",
                   AT "6 - Error during parsing: maximum snippet import depth (10000) exceeded");
    ASSERT_REFUSED(". {\n  import\n}\n", AT "2 - Error during parsing: Wrong argument count or "
                                            "unexpected line ending after 'import'");
    ASSERT_REFUSED(". {\n  import a b\n}\n",
                   AT "2 - Error during parsing: Import takes only one argument (glob pattern or "
                      "file)");
}

static void files_are_imported_relative_to_the_file(void **state)
{
    (void)state;
    imported[0] =
        (struct corefile_file){"/etc/coredns/custom/a.server", TEXT("b.example {\n  errors\n}\n")};
    imported[1] =
        (struct corefile_file){"/etc/coredns/custom/b.server", TEXT("c.example {\n  log\n}\n")};
    imported_count = 2;
    ASSERT_PARSED("a.example {\n}\nimport custom/*.server\n",
                  "a.example / b.example|errors / c.example|log");
    assert_string_equal(asked_for, "/etc/coredns/custom/*.server");
    imported_count = 0;
    ASSERT_REFUSED("import custom/*.server\n. {\n}\n",
                   AT "1 - Warning: No files matching import glob pattern: custom/*.server");
    assert_int_equal(problems.error_count, 0);
    ASSERT_REFUSED("import custom/none\n",
                   AT "1 - Error during parsing: File to import not found: custom/none");
    imported[0] = (struct corefile_file){"/etc/coredns/self", TEXT("import self\n")};
    imported_count = 1;
    ASSERT_REFUSED("import self\n", "/etc/coredns/self:1 - Error during parsing: maximum file "
                                    "import depth (10000) exceeded");
    imported_count = 0;
    ASSERT_REFUSED("import unreadable\n", AT "1 - Error during parsing: Could not import "
                                             "/etc/coredns/unreadable: permission denied");
    ASSERT_REFUSED("import */*.server\n",
                   AT "1 - Error during parsing: Glob pattern may only contain one wildcard (*), "
                      "but has others: /etc/coredns/*/*.server");
    ASSERT_REFUSED("import [a\n", AT "1 - Error during parsing: Failed to use import pattern [a: "
                                     "syntax error in pattern");
    ASSERT_REFUSED("import a\\\n", AT "1 - Error during parsing: Failed to use import pattern a\\: "
                                      "syntax error in pattern");
}

static void problems_name_the_file_that_was_imported(void **state)
{
    (void)state;
    imported[0] =
        (struct corefile_file){"/etc/coredns/custom/a.server", TEXT("\nb.example {\n  log }\n}\n")};
    imported_count = 1;
    ASSERT_REFUSED(". {\n}\nimport custom/a.server\n",
                   "/etc/coredns/custom/a.server:3 - Error during parsing: Unexpected '}' because "
                   "no matching opening brace");
}

static void variables_are_expanded(void **state)
{
    (void)state;
    ASSERT_PARSED("{$ZONE} {%ZONE%}:53 {\n  log {$ZONE}.x {$NONE}{$ZONE}\n}\n",
                  "env.example env.example:53|log env.example.x env.example");
    ASSERT_PARSED(". {\n  log {$} {$ZONE\n}\n", ".|log {$} {$ZONE");
}

static void offsets_find_a_token_in_its_text(void **state)
{
    (void)state;
    static const char text[] = ". {\n  forward . \"1.1.1.1\" 9.9.9.9#x\n}\n";
    CLEANUP(corefile) struct corefile *corefile = parse(text);
    const struct corefile_directive *forward = &corefile->blocks[0].directives[0];
    size_t quoted = forward->first + 2;
    size_t last = forward->first + 3;
    assert_memory_equal(text + corefile->tokens[quoted].start, "\"1.1.1.1\"", 9);
    assert_int_equal(corefile_token_end(corefile, quoted) - corefile->tokens[quoted].start, 9);
    assert_memory_equal(text + corefile->tokens[last].start, "9.9.9.9#x", 9);
    assert_int_equal(corefile_token_end(corefile, last) - corefile->tokens[last].start, 9);
}

static void a_file_that_is_too_large_or_too_deep_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    for (int i = 0; i <= COREFILE_NESTING_MAX; i++)
        buffer_add_text(&text, i ? " {\n" : ". {\nlog {\n");
    ASSERT_REFUSED(text.at, AT "66 - Error during parsing: braces are nested more than 64 deep");
    buffer_clear(&text);
    while (text.len <= COREFILE_TEXT_MAX)
        buffer_add_text(&text, "# a comment that fills the file and says nothing at all\n");
    ASSERT_REFUSED(text.at, "the file is larger than 1048576 octets");
}

// ---- identity -----------------------------------------------------------------------------------

static void a_config_id_is_hashed_over_zeroes_in_its_place(void **state)
{
    (void)state;
    char id[CONFIG_ID_LEN + 1];
    char again[CONFIG_ID_LEN + 1];
    config_id_of(TEXT("a\nchaos signpost-0000000000000000 signpost\n"), id);
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "a\nchaos signpost-%s signpost\n", id);
    config_id_of(buffer_text(&text), again);
    assert_string_equal(id, again);
    assert_true(text_is(config_id_find(buffer_text(&text)), id));
    assert_null(config_id_find(TEXT("chaos signpost-000000000000000g x")).at);
    assert_null(config_id_find(TEXT("chaos signpost-00000000000000000 x")).at);
    assert_null(config_id_find(TEXT("chaos signpost-0000")).at);
}

static void the_reload_hash_is_that_of_the_json_of_go(void **state)
{
    (void)state;
    char hash[RELOAD_HASH_LEN + 1];
    CLEANUP(corefile)
    struct corefile *corefile =
        parse(".:53 a.example {\n  log . \"{combined} <a&b>\"\n  errors\n  log\n}\n");
    corefile_reload_hash(corefile, hash);
    assert_string_equal(hash, "4ae84a9a4b3843d5049ab5f99ebec0887824ca85e9681568c4d0855e62976f45"
                              "0258fd885b34575bfb3ba6da933b2864183f576b558b0e623d9dd96b022aa2e5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(blanks_quotes_and_comments_part_tokens),
        UNIT(a_hash_within_a_token_eats_its_rest),
        UNIT(what_is_no_utf8_is_replaced),
        UNIT(blocks_have_addresses_and_directives),
        UNIT(a_last_brace_may_be_missing_behind_another),
        UNIT(a_block_without_zones_is_ignored_with_a_warning),
        UNIT(snippets_stand_where_they_are_imported),
        UNIT(files_are_imported_relative_to_the_file),
        UNIT(problems_name_the_file_that_was_imported),
        UNIT(variables_are_expanded),
        UNIT(offsets_find_a_token_in_its_text),
        UNIT(a_file_that_is_too_large_or_too_deep_is_refused),
        UNIT(a_config_id_is_hashed_over_zeroes_in_its_place),
        UNIT(the_reload_hash_is_that_of_the_json_of_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
