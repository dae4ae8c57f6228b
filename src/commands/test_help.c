#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "commands/commands.h"
#include "commands/manual.h"
#include "commands/print.h"

enum { HELP_COLUMNS = 80 };

static const char *help_of(struct arena *arena, const struct command *command)
{
    AUTO_BUFFER text = {0};
    help_write_command(&text, arena, command, false);
    return arena_copy(arena, text.at, text.len);
}

static const char *man_of(struct arena *arena, const struct command *command)
{
    AUTO_BUFFER text = {0};
    man_write_command(&text, arena, command);
    return arena_copy(arena, text.at, text.len);
}

static const char *completion_of(struct arena *arena, const char *shell)
{
    AUTO_BUFFER text = {0};
    assert_true(completion_write(&text, arena, shell));
    return arena_copy(arena, text.at, text.len);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing", part);
}

// As roff writes it.
static const char *dashed(struct arena *arena, const char *name)
{
    AUTO_BUFFER text = {0};
    for (; *name; name++)
        buffer_printf(&text, *name == '-' ? "\\%c" : "%c", *name);
    return arena_copy(arena, text.at, text.len);
}

typedef void option_test(struct arena *arena, const struct command *command,
                         const struct option *option);

static void each_option(option_test *test)
{
    for (size_t i = 0; i < command_count; i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        size_t count;
        const struct option **options = command_options(arena, commands[i], &count);
        for (size_t j = 0; j < count; j++)
            test(arena, commands[i], options[j]);
    }
}

// ---- tables -------------------------------------------------------------------------------------

static void check_row(struct arena *arena, const struct command *command,
                      const struct option *option)
{
    AUTO_BUFFER value = {0};
    (void)arena;
    (void)command;
    option_write_value(&value, option);
    assert_non_null(option->doc);
    assert_true(text_ends(text_of(option->doc), "."));
    assert_true((option->type == OPTION_FLAG) == (value.len == 0));
}

static void every_option_has_a_doc_and_says_what_it_takes(void **state)
{
    (void)state;
    each_option(check_row);
}

static void check_fallback(struct arena *arena, const struct command *command,
                           const struct option *option)
{
    char *word = arena_printf(arena, "--%s=%s", option->name, option->fallback);
    struct invocation invocation;
    struct error err;
    if (option->fallback && !invocation_parse(&invocation, arena, command, 1, &word, &err))
        fail_msg("%s", err.text);
}

static void every_default_is_a_value_that_the_option_takes(void **state)
{
    (void)state;
    each_option(check_fallback);
}

static void no_name_stands_twice_in_a_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < command_count; i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        size_t count;
        const struct option **options = command_options(arena, commands[i], &count);
        for (size_t j = 0; j < count; j++)
            for (size_t k = 0; k < j; k++)
                assert_string_not_equal(options[j]->name, options[k]->name);
    }
}

static void commands_are_found_by_one_word_or_two(void **state)
{
    static const char *const words[] = {"help", "run"};
    static const char *const wrong[] = {"hlep"};
    int taken;
    (void)state;
    assert_ptr_equal(command_match(2, words, &taken), command_find("help"));
    assert_int_equal(taken, 1);
    assert_null(command_match(1, wrong, &taken));
    assert_string_equal(command_nearest(1, wrong), "help");
}

// ---- help ---------------------------------------------------------------------------------------

static bool is_common(struct arena *arena, const struct command *command,
                      const struct option *option)
{
    size_t count;
    const struct option **options = command_options_of(arena, command, true, &count);
    for (size_t i = 0; i < count; i++)
        if (options[i] == option || !strcmp(options[i]->name, option->name))
            return true;
    return false;
}

static void check_reported(struct arena *arena, const char *help, const struct option *option)
{
    AUTO_BUFFER variable = {0};
    option_write_variable(&variable, option);
    assert_has(help, arena_printf(arena, "\n  --%s", option->name));
    assert_has(help, variable.at);
    if (option->variable)
        assert_has(help, option->variable);
}

// Those that many commands have stand on a page of their own, and the command names them.
static void check_help(struct arena *arena, const struct command *command,
                       const struct option *option)
{
    AUTO_BUFFER common = {0};
    const char *help = help_of(arena, command);
    help_write_options(&common, arena);
    assert_has(help, arena_printf(arena, "--%s", option->name));
    if (is_common(arena, command, option)) {
        check_reported(arena, common.at, option);
        return;
    }
    check_reported(arena, help, option);
    if (option->fallback && *option->fallback)
        assert_has(help, arena_printf(arena, "Default %s.", option->fallback));
}

static void every_option_appears_in_help(void **state)
{
    (void)state;
    each_option(check_help);
}

static void every_command_appears_in_the_summary(void **state)
{
    AUTO_BUFFER text = {0};
    (void)state;
    help_write_summary(&text);
    for (size_t i = 0; i < command_count; i++) {
        assert_has(text.at, commands[i]->name);
        assert_has(text.at, commands[i]->summary);
    }
}

static void assert_narrow(const char *text)
{
    struct text rest = text_of(text);
    struct text line;
    while (text_cut(&rest, '\n', &line))
        if (print_columns(line) > HELP_COLUMNS)
            fail_msg("wider than %d columns: %.*s", HELP_COLUMNS, TEXT_ARGS(line));
}

static void help_fits_80_columns(void **state)
{
    AUTO_BUFFER shared_model = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    (void)state;
    help_write_summary(&shared_model);
    assert_narrow(shared_model.at);
    AUTO_BUFFER common = {0};
    help_write_options(&common, arena);
    assert_narrow(common.at);
    for (size_t i = 0; i < command_count; i++)
        assert_narrow(help_of(arena, commands[i]));
}

static void help_names_every_exit_code(void **state)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    (void)state;
    for (size_t i = 0; i < command_count; i++)
        for (int code = 0; code < EXIT_CODES; code++) {
            const char *doc = exit_doc(commands[i], code);
            struct text words = {doc, strlen(doc) < 40 ? strlen(doc) : 40};
            while (words.len && words.len < strlen(doc) && words.at[words.len] != ' ')
                words.len--;
            assert_has(help_of(arena, commands[i]),
                       arena_printf(arena, "\n  %d  %.*s", code, TEXT_ARGS(words)));
        }
}

// ---- manual pages -------------------------------------------------------------------------------

static void check_man(struct arena *arena, const struct command *command,
                      const struct option *option)
{
    const char *page = man_of(arena, command);
    AUTO_BUFFER variable = {0};
    option_write_variable(&variable, option);
    assert_has(page, arena_printf(arena, "\\fB\\-\\-%s\\fR", dashed(arena, option->name)));
    assert_has(page, variable.at);
}

static void every_option_appears_in_its_manual_page(void **state)
{
    (void)state;
    each_option(check_man);
}

static void text_is_never_taken_for_a_request_of_roff(void **state)
{
    static const struct command tricky = {
        .name = "tricky", .summary = ".so /etc/passwd", .doc = ".B \\fI'quoted'"};
    CLEANUP(arena) struct arena *arena = arena_new();
    const char *page = man_of(arena, &tricky);
    (void)state;
    assert_has(page, "\n\\&.B \\efI\\(aqquoted\\(aq\n");
    assert_null(strstr(page, "\n.so"));
    assert_null(strstr(page, "\n.B \\fI"));
}

// ---- completion ---------------------------------------------------------------------------------

static void check_completion(struct arena *arena, const struct command *command,
                             const struct option *option)
{
    assert_has(completion_of(arena, "bash"), arena_printf(arena, " --%s", option->name));
    assert_has(completion_of(arena, "zsh"), arena_printf(arena, "--%s", option->name));
    const char *blank = strrchr(command->name, ' ');
    assert_has(completion_of(arena, "fish"),
               arena_printf(arena, "__fish_seen_subcommand_from %s' -l %s",
                            blank ? blank + 1 : command->name, option->name));
}

static void every_option_appears_in_completion(void **state)
{
    (void)state;
    each_option(check_completion);
}

static void there_is_no_completion_for_other_shells(void **state)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    (void)state;
    assert_false(completion_write(&text, arena, "tcsh"));
    assert_int_equal(text.len, 0);
}

// ---- print --------------------------------------------------------------------------------------

static void words_are_wrapped_and_paragraphs_stay(void **state)
{
    AUTO_BUFFER text = {0};
    (void)state;
    print_wrapped(&text, "one two three\n\nfour", 2, 9);
    assert_string_equal(text.at, "  one two\n  three\n\n  four\n");
}

static void text_is_cut_between_characters(void **state)
{
    AUTO_BUFFER text = {0};
    (void)state;
    print_cut(&text, TEXT("\303\274\303\274\303\274\303\274\303\274"), 4);
    assert_string_equal(text.at, "\303\274...");
    assert_int_equal(print_columns(buffer_text(&text)), 4);
    buffer_clear(&text);
    print_cut(&text, TEXT("abc"), 3);
    assert_string_equal(text.at, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_has_a_doc_and_says_what_it_takes),
        cmocka_unit_test(every_default_is_a_value_that_the_option_takes),
        cmocka_unit_test(no_name_stands_twice_in_a_command),
        cmocka_unit_test(commands_are_found_by_one_word_or_two),
        cmocka_unit_test(every_option_appears_in_help),
        cmocka_unit_test(every_command_appears_in_the_summary),
        cmocka_unit_test(help_fits_80_columns),
        cmocka_unit_test(help_names_every_exit_code),
        cmocka_unit_test(every_option_appears_in_its_manual_page),
        cmocka_unit_test(text_is_never_taken_for_a_request_of_roff),
        cmocka_unit_test(every_option_appears_in_completion),
        cmocka_unit_test(there_is_no_completion_for_other_shells),
        cmocka_unit_test(words_are_wrapped_and_paragraphs_stay),
        cmocka_unit_test(text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
