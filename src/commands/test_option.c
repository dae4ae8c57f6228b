#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/option.h"
#include "io/disk.h"

static const char *const colours[] = {"red", "green", NULL};

static const struct option rows[] = {
    {.name = "dir", .type = OPTION_TEXT, .fallback = "./here", .placeholder = "PATH", .doc = "D."},
    {.name = "cert-dir", .alias = "cert-path", .type = OPTION_TEXT, .placeholder = "PATH"},
    {.name = "level", .variable = "TEST_LEVEL", .type = OPTION_TEXT, .placeholder = "LEVEL"},
    {.name = "watch", .letter = 'w', .type = OPTION_FLAG},
    {.name = "count",
     .letter = 'c',
     .type = OPTION_INT,
     .fallback = "3",
     .placeholder = "N",
     .min = 1,
     .max = 10},
    {.name = "wait",
     .type = OPTION_DURATION,
     .fallback = "1m30s",
     .placeholder = "DURATION",
     .min = 10},
    {.name = "colour", .type = OPTION_CHOICE, .placeholder = "COLOUR", .choices = colours},
    {.name = "loudness",
     .type = OPTION_CHOICE,
     .placeholder = "COLOUR",
     .choices = colours,
     .is_any_case = true},
    {.name = "zone", .type = OPTION_LIST, .placeholder = "ZONE"},
    {.name = "listen", .type = OPTION_ADDRESS, .fallback = "0", .placeholder = "ADDR:PORT"},
    {.name = "config", .type = OPTION_TEXT, .placeholder = "FILE"},
    FILENAME_OPTION,
};
static const struct command plain = {.name = "plain", .groups = {{rows, COUNT_OF(rows), false}}};
static const struct command with_paths = {
    .name = "with-paths", .positional = "[PATH...]", .groups = {{rows, COUNT_OF(rows), false}}};

static const struct command with_folder = {.name = "with-folder",
                                           .positional = "[PATH]",
                                           .path_option = "dir",
                                           .groups = {{rows, COUNT_OF(rows), false}}};

struct fixture {
    struct arena *arena;
    struct invocation invocation;
    struct error err;
    char folder[32];
    char config[64];
};

static int setup(void **state)
{
    struct fixture *fixture = mem_new_of(struct fixture);
    fixture->arena = arena_new();
    strcpy(fixture->folder, "/tmp/test_option.XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->config, sizeof fixture->config, "%s/signpost.yaml", fixture->folder);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    static const char *const variables[] = {"SIGNPOST_DIR", "SIGNPOST_COUNT", "SIGNPOST_LEVEL",
                                            "TEST_LEVEL", "SIGNPOST_CONFIG"};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        unsetenv(variables[i]);
    unlink(fixture->config);
    rmdir(fixture->folder);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

enum { WORDS_MAX = 16 };

// `line` is cut at blanks.
static bool parse(struct fixture *fixture, const struct command *command, const char *line)
{
    char *words[WORDS_MAX];
    int count = 0;
    struct text rest = text_of(line);
    struct text word;
    while (text_cut(&rest, ' ', &word))
        if (word.len)
            words[count++] = arena_copy(fixture->arena, word.at, word.len);
    return invocation_parse(&fixture->invocation, fixture->arena, command, count, words,
                            &fixture->err);
}

static void assert_option(struct fixture *fixture, const char *name, const char *text,
                          const char *source)
{
    assert_string_equal(option_text(&fixture->invocation, name), text);
    assert_string_equal(option_source(&fixture->invocation, name), source);
}

static void assert_refused(struct fixture *fixture, const char *line, const char *text)
{
    assert_false(parse(fixture, &plain, line));
    assert_string_equal(fixture->err.text, text);
}

static void write_config(struct fixture *fixture, const char *yaml)
{
    assert_true(disk_replace(disk_system(), fixture->config, text_of(yaml), 0600, false, NULL));
    setenv("SIGNPOST_CONFIG", fixture->config, 1);
}

// ---- sources ------------------------------------------------------------------------------------

static void without_anything_the_default_holds(void **state)
{
    assert_true(parse(*state, &plain, ""));
    assert_option(*state, "dir", "./here", "default");
    assert_false(option_is_set(&((struct fixture *)*state)->invocation, "dir"));
}

static void the_file_wins_over_the_default(void **state)
{
    struct fixture *fixture = *state;
    write_config(fixture, "count: 4\ndir: there\n");
    assert_true(parse(fixture, &plain, ""));
    assert_option(fixture, "dir", "there",
                  arena_printf(fixture->arena, "%s:2:1: dir", fixture->config));
    assert_int_equal(option_int(&fixture->invocation, "count"), 4);
}

static void the_environment_wins_over_the_file(void **state)
{
    struct fixture *fixture = *state;
    write_config(fixture, "dir: there\n");
    setenv("SIGNPOST_DIR", "elsewhere", 1);
    assert_true(parse(fixture, &plain, ""));
    assert_option(fixture, "dir", "elsewhere", "environment SIGNPOST_DIR");
}

static void the_flag_wins_over_the_environment(void **state)
{
    setenv("SIGNPOST_DIR", "elsewhere", 1);
    assert_true(parse(*state, &plain, "--dir flagged"));
    assert_option(*state, "dir", "flagged", "flag --dir");
    assert_true(option_is_set(&((struct fixture *)*state)->invocation, "dir"));
}

static void the_variable_of_other_programs_counts_too(void **state)
{
    setenv("TEST_LEVEL", "high", 1);
    assert_true(parse(*state, &plain, ""));
    assert_option(*state, "level", "high", "environment TEST_LEVEL");
}

static void our_own_variable_wins_over_that_of_others(void **state)
{
    setenv("TEST_LEVEL", "high", 1);
    setenv("SIGNPOST_LEVEL", "low", 1);
    assert_true(parse(*state, &plain, ""));
    assert_option(*state, "level", "low", "environment SIGNPOST_LEVEL");
}

static void an_empty_variable_counts_as_not_set(void **state)
{
    setenv("SIGNPOST_DIR", "", 1);
    assert_true(parse(*state, &plain, ""));
    assert_option(*state, "dir", "./here", "default");
}

static void a_list_in_the_file_becomes_a_list(void **state)
{
    struct fixture *fixture = *state;
    const char **zones;
    write_config(fixture, "zone: [a.example, b.example]\n");
    assert_true(parse(fixture, &plain, ""));
    assert_int_equal(option_list(&fixture->invocation, "zone", &zones), 2);
    assert_string_equal(zones[1], "b.example");
}

// ---- words --------------------------------------------------------------------------------------

static void a_value_stands_behind_a_blank_or_an_equals_sign(void **state)
{
    assert_true(parse(*state, &plain, "--dir=a=b --count 7"));
    assert_option(*state, "dir", "a=b", "flag --dir");
    assert_option(*state, "count", "7", "flag --count");
}

static void an_alias_is_the_same_option(void **state)
{
    assert_true(parse(*state, &plain, "--cert-path x"));
    assert_option(*state, "cert-dir", "x", "flag --cert-dir");
}

static void a_letter_is_the_same_option(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &plain, "-c 7"));
    assert_option(fixture, "count", "7", "flag --count");
    assert_false(parse(fixture, &plain, "-c"));
    assert_string_equal(fixture->err.text, "flag --count: expects N");
    assert_true(parse(fixture, &plain, "-c7"));
    assert_option(fixture, "count", "7", "flag --count");
    assert_true(parse(fixture, &plain, "-c=7"));
    assert_option(fixture, "count", "7", "flag --count");
    assert_true(parse(fixture, &plain, "-wc7"));
    assert_option(fixture, "count", "7", "flag --count");
    assert_true(option_flag(&fixture->invocation, "watch"));
    assert_false(parse(fixture, &plain, "-wx"));
    assert_string_equal(fixture->err.text, "unknown flag -wx; `signpost help plain` lists them");
}

static void what_a_letter_names_is_an_argument_too(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &with_paths, "a -f b -f c,d"));
    assert_int_equal(fixture->invocation.argument_count, 4);
    assert_string_equal(fixture->invocation.arguments[0], "a");
    assert_string_equal(fixture->invocation.arguments[3], "d");
}

static void an_argument_is_the_folder_where_there_is_one(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &with_folder, "x"));
    assert_option(fixture, "dir", "x", "argument x");
    assert_true(option_is_set(&fixture->invocation, "dir"));
    assert_true(parse(fixture, &with_folder, "-f x"));
    assert_option(fixture, "dir", "x", "argument x");
    assert_true(parse(fixture, &with_folder, ""));
    assert_option(fixture, "dir", "./here", "default");
    assert_false(parse(fixture, &with_folder, "x y"));
    assert_string_equal(fixture->err.text, "one folder is expected, and y is another; `signpost "
                                           "check` takes many");
    assert_false(parse(fixture, &with_folder, "x --dir y"));
    assert_string_equal(fixture->err.text, "give --dir or x, not both");
}

static void a_flag_needs_no_value_and_takes_one(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &plain, "--watch"));
    assert_true(option_flag(&fixture->invocation, "watch"));
    assert_true(parse(fixture, &plain, "--watch=false"));
    assert_false(option_flag(&fixture->invocation, "watch"));
    assert_true(parse(fixture, &plain, ""));
    assert_false(option_flag(&fixture->invocation, "watch"));
}

static void commas_and_repeated_flags_make_a_list(void **state)
{
    struct fixture *fixture = *state;
    const char **zones;
    assert_true(parse(fixture, &plain, "--zone a,b, --zone c"));
    assert_int_equal(option_list(&fixture->invocation, "zone", &zones), 3);
    assert_string_equal(zones[0], "a");
    assert_string_equal(zones[1], "b");
    assert_string_equal(zones[2], "c");
}

static void durations_are_milliseconds(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &plain, ""));
    assert_int_equal(option_ms(&fixture->invocation, "wait"), 90000);
    assert_true(parse(fixture, &plain, "--wait 300ms"));
    assert_int_equal(option_ms(&fixture->invocation, "wait"), 300);
}

static void arguments_are_what_is_no_flag(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &with_paths, "a --watch b -- --dir"));
    assert_int_equal(fixture->invocation.argument_count, 3);
    assert_string_equal(fixture->invocation.arguments[1], "b");
    assert_string_equal(fixture->invocation.arguments[2], "--dir");
    assert_option(fixture, "dir", "./here", "default");
}

static void help_is_wanted_wherever_it_stands(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &plain, "--count 4 --help"));
    assert_true(fixture->invocation.wants_help);
    assert_true(parse(fixture, &plain, "extra -h"));
    assert_true(fixture->invocation.wants_help);
    assert_true(parse(fixture, &plain, ""));
    assert_false(fixture->invocation.wants_help);
}

static void settings_of_the_controllers_are_options_of_their_command(void **state)
{
    struct fixture *fixture = *state;
    static const struct command with_settings = {
        .name = "x", .has_settings = true, .groups = {{rows, 1, false}}};
    size_t count;
    const struct option **options = command_options(fixture->arena, &with_settings, &count);
    assert_true(count > 1);
    assert_string_equal(options[0]->name, "dir");
    assert_non_null(options[count - 1]->doc);
}

// ---- faults -------------------------------------------------------------------------------------

static void a_choice_may_be_of_either_case_where_it_says_so(void **state)
{
    struct fixture *fixture = *state;
    assert_true(parse(fixture, &plain, "--loudness GrEEN"));
    assert_string_equal(option_text(&fixture->invocation, "loudness"), "green");
    assert_refused(fixture, "--colour Green",
                   "flag --colour: \"Green\": expected one of red, green");
    assert_refused(fixture, "--loudness greens",
                   "flag --loudness: \"greens\": expected one of red, green");
}

static void a_mistyped_flag_gets_the_nearest_one(void **state)
{
    assert_refused(*state, "--cuont 4", "unknown flag --cuont; did you mean --count?");
    assert_refused(*state, "--xyzzy", "unknown flag --xyzzy; `signpost help plain` lists them");
    assert_refused(*state, "-d", "unknown flag -d; `signpost help plain` lists them");
}

static void a_flag_of_another_program_gets_what_is_meant(void **state)
{
    assert_refused(*state, "--dry-run",
                   "unknown flag --dry-run: `signpost plan` shows what would be done");
    assert_refused(*state, "--interval=1m",
                   "unknown flag --interval: changes act at once; --sync-period says how often all "
                   "is looked at again");
    assert_refused(*state, "-v", "unknown flag -v: --log-level debug says more");
}

static void a_fault_names_the_flag(void **state)
{
    assert_refused(*state, "--count many", "flag --count: \"many\": expected a whole number");
    assert_refused(*state, "--count 11", "flag --count: \"11\": must be between 1 and 10");
    assert_refused(*state, "--wait 1ms", "flag --wait: \"1ms\": must be at least 10ms");
    assert_refused(*state, "--colour blue", "flag --colour: \"blue\": expected one of red, green");
    assert_refused(*state, "--watch=maybe", "flag --watch: \"maybe\": expected true or false");
    assert_refused(*state, "--dir", "flag --dir: expects PATH");
    assert_refused(*state, "--colour", "flag --colour: expects red|green");
    assert_refused(*state, "stray",
                   "unexpected argument stray; `signpost help plain` lists options");
}

static void a_fault_names_the_variable(void **state)
{
    setenv("SIGNPOST_COUNT", "0", 1);
    assert_refused(*state, "", "environment SIGNPOST_COUNT: \"0\": must be between 1 and 10");
}

static void a_fault_names_file_line_and_column(void **state)
{
    struct fixture *fixture = *state;
    write_config(fixture, "dir: there\n  # two\ncount: many\n");
    assert_refused(fixture, "",
                   arena_printf(fixture->arena, "%s:3:1: count: \"many\": expected a whole number",
                                fixture->config));
}

static void an_unknown_key_of_the_file_gets_the_nearest_one(void **state)
{
    struct fixture *fixture = *state;
    write_config(fixture, "dri: there\n");
    assert_refused(fixture, "",
                   arena_printf(fixture->arena, "%s:1:1: unknown flag --dri; did you mean --dir?",
                                fixture->config));
}

static void a_file_that_is_no_map_is_refused(void **state)
{
    struct fixture *fixture = *state;
    write_config(fixture, "- dir\n");
    assert_refused(fixture, "",
                   arena_printf(fixture->arena, "%s: expected a map of options", fixture->config));
}

static void a_file_that_is_not_there_is_a_fault(void **state)
{
    struct fixture *fixture = *state;
    assert_false(parse(fixture, &plain, "--config /nowhere/signpost.yaml"));
    assert_non_null(strstr(fixture->err.text, "/nowhere/signpost.yaml"));
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OF(without_anything_the_default_holds),
        TEST_OF(the_file_wins_over_the_default),
        TEST_OF(the_environment_wins_over_the_file),
        TEST_OF(the_flag_wins_over_the_environment),
        TEST_OF(the_variable_of_other_programs_counts_too),
        TEST_OF(our_own_variable_wins_over_that_of_others),
        TEST_OF(an_empty_variable_counts_as_not_set),
        TEST_OF(a_list_in_the_file_becomes_a_list),
        TEST_OF(a_value_stands_behind_a_blank_or_an_equals_sign),
        TEST_OF(an_alias_is_the_same_option),
        TEST_OF(a_letter_is_the_same_option),
        TEST_OF(what_a_letter_names_is_an_argument_too),
        TEST_OF(an_argument_is_the_folder_where_there_is_one),
        TEST_OF(a_flag_of_another_program_gets_what_is_meant),
        TEST_OF(a_flag_needs_no_value_and_takes_one),
        TEST_OF(commas_and_repeated_flags_make_a_list),
        TEST_OF(durations_are_milliseconds),
        TEST_OF(arguments_are_what_is_no_flag),
        TEST_OF(help_is_wanted_wherever_it_stands),
        TEST_OF(settings_of_the_controllers_are_options_of_their_command),
        TEST_OF(a_choice_may_be_of_either_case_where_it_says_so),
        TEST_OF(a_mistyped_flag_gets_the_nearest_one),
        TEST_OF(a_fault_names_the_flag),
        TEST_OF(a_fault_names_the_variable),
        TEST_OF(a_fault_names_file_line_and_column),
        TEST_OF(an_unknown_key_of_the_file_gets_the_nearest_one),
        TEST_OF(a_file_that_is_no_map_is_refused),
        TEST_OF(a_file_that_is_not_there_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
