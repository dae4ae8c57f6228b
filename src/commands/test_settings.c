#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/manual.h"
#include "commands/settings.h"

// A controller that has a setting of each type, in place of those of the program.

struct made_up {
    int64_t wait_ms;
    int64_t count;
    bool is_loud;
    const char *colour;
    const char *const *zones;
    const char *domain;
    const char *server;
    struct setting_file rules;
};

static bool begins_with_x(const char *const *items, struct error *err)
{
    for (; *items; items++)
        if (**items != 'x')
            return error_set(err, FAULT_SPEC, "", "does not begin with x");
    return true;
}

static const char *const colours[] = {"red", "green", NULL};

static const struct controller_setting settings[] = {
    {.name = "wait",
     .type = SETTING_MS,
     .fallback = "1m",
     .doc = "Wait.",
     .offset = offsetof(struct made_up, wait_ms)},
    {.name = "count",
     .type = SETTING_INT,
     .fallback = "3",
     .min = 1,
     .doc = "Count.",
     .offset = offsetof(struct made_up, count)},
    {.name = "loud",
     .type = SETTING_FLAG,
     .fallback = "false",
     .doc = "Loud.",
     .offset = offsetof(struct made_up, is_loud)},
    {.name = "colour",
     .type = SETTING_CHOICE,
     .fallback = "red",
     .choices = colours,
     .doc = "Colour.",
     .offset = offsetof(struct made_up, colour)},
    {.name = "zones",
     .type = SETTING_LIST,
     .check = begins_with_x,
     .doc = "Zones.",
     .offset = offsetof(struct made_up, zones)},
    {.name = "cluster-domain",
     .type = SETTING_TEXT,
     .check = begins_with_x,
     .doc = "Domain.",
     .offset = offsetof(struct made_up, domain)},
    {.name = "dns-server",
     .type = SETTING_ADDRESS,
     .fallback = "0",
     .doc = "Server.",
     .offset = offsetof(struct made_up, server)},
    {.name = "rules",
     .type = SETTING_FILE,
     .check = begins_with_x,
     .doc = "Rules.",
     .offset = offsetof(struct made_up, rules)},
};

static const struct controller controller = {
    .name = "made-up",
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct made_up),
};
const struct controller *const controllers[] = {&controller};
const size_t controller_count = 1;
const struct controller *controller_find(const char *name)
{
    return strcmp(name, controller.name) ? NULL : &controller;
}

static const struct option rows[] = {
    {.name = "config", .type = OPTION_TEXT, .placeholder = "FILE", .doc = "Options."},
};
static const struct command command = {
    .name = "work", .has_settings = true, .groups = {{rows, COUNT_OF(rows), false}}};

struct fixture {
    struct arena *arena;
    struct invocation invocation;
    struct error err;
    char folder[32];
    char file[64];
};

static int setup(void **state)
{
    struct fixture *fixture = mem_new_of(struct fixture);
    fixture->arena = arena_new();
    strcpy(fixture->folder, "/tmp/test_settings.XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(fixture->file, sizeof fixture->file, "%s/file", fixture->folder);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unsetenv("SIGNPOST_CLUSTER_DOMAIN");
    unlink(fixture->file);
    rmdir(fixture->folder);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

// NULL: refused, with the reason in fixture->err.
static const struct made_up *resolve(struct fixture *fixture, const char *first, const char *second)
{
    char *words[2];
    int count = 0;
    if (first)
        words[count++] = arena_copy_text(fixture->arena, first);
    if (second)
        words[count++] = arena_copy_text(fixture->arena, second);
    if (!invocation_parse(&fixture->invocation, fixture->arena, &command, count, words,
                          &fixture->err))
        return NULL;
    return settings_resolve(&fixture->invocation, &controller, &fixture->err);
}

static void write_file(struct fixture *fixture, const char *content)
{
    FILE *file = fopen(fixture->file, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void what_is_not_given_has_its_default_or_nothing(void **state)
{
    const struct made_up *got = resolve(*state, NULL, NULL);
    assert_non_null(got);
    assert_int_equal(got->wait_ms, 60000);
    assert_int_equal(got->count, 3);
    assert_false(got->is_loud);
    assert_string_equal(got->colour, "red");
    assert_null(got->zones[0]);
    assert_null(got->domain);
    assert_null(got->server);
    assert_null(got->rules.path);
}

static void a_text_comes_from_flag_variable_and_file(void **state)
{
    struct fixture *fixture = *state;
    char *config = arena_printf(fixture->arena, "--config=%s", fixture->file);
    write_file(fixture, "cluster-domain: x.file\n");
    assert_string_equal(resolve(fixture, config, NULL)->domain, "x.file");
    setenv("SIGNPOST_CLUSTER_DOMAIN", "x.variable", 1);
    assert_string_equal(resolve(fixture, config, NULL)->domain, "x.variable");
    assert_string_equal(resolve(fixture, config, "--cluster-domain=x.flag")->domain, "x.flag");
    assert_null(resolve(fixture, "--cluster-domain=y", NULL));
    assert_string_equal(fixture->err.text, "flag --cluster-domain: \"y\": does not begin with x");
}

static void an_address_has_a_port(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(resolve(fixture, "--dns-server=10.0.0.1:53", NULL)->server, "10.0.0.1:53");
    assert_string_equal(resolve(fixture, "--dns-server=[fd00::1]:53", NULL)->server,
                        "[fd00::1]:53");
    assert_null(resolve(fixture, "--dns-server=0", NULL)->server);
    assert_null(resolve(fixture, "--dns-server=10.0.0.1", NULL));
    assert_non_null(strstr(fixture->err.text, "flag --dns-server: \"10.0.0.1\": "));
}

static void a_file_is_read(void **state)
{
    struct fixture *fixture = *state;
    char *flag = arena_printf(fixture->arena, "--rules=%s", fixture->file);
    write_file(fixture, "x one\nx two\n");
    const struct made_up *got = resolve(fixture, flag, NULL);
    assert_string_equal(got->rules.path, fixture->file);
    assert_true(text_is(got->rules.content, "x one\nx two\n"));
    write_file(fixture, "");
    assert_null(resolve(fixture, flag, NULL));
    write_file(fixture, "one\n");
    assert_null(resolve(fixture, flag, NULL));
    assert_non_null(strstr(fixture->err.text, "does not begin with x"));
    assert_non_null(strstr(fixture->err.text, flag + strlen("--rules=")));
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct fixture *fixture = *state;
    char *flag = arena_printf(fixture->arena, "--rules=%s", fixture->file);
    assert_null(resolve(fixture, flag, NULL));
    assert_non_null(strstr(fixture->err.text, "flag --rules: "));
    assert_non_null(strstr(fixture->err.text, fixture->file));
    assert_null(resolve(fixture, "--rules=/dev/zero", NULL));
    assert_non_null(strstr(fixture->err.text, "/dev/zero"));
}

static void help_and_manual_say_what_each_takes(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BUFFER help = {0};
    AUTO_BUFFER manual = {0};
    static const char *const forms[] = {"--wait DURATION",        "--count N",
                                        "--zones VALUES",         "--cluster-domain TEXT",
                                        "--dns-server ADDR:PORT", "--rules FILE"};
    help_write_command(&help, fixture->arena, &command, true);
    man_write_command(&manual, fixture->arena, &command);
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        assert_non_null(strstr(help.at, forms[i]));
    assert_non_null(strstr(manual.at, "ADDR:PORT"));
}

#define TEST_OF(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OF(what_is_not_given_has_its_default_or_nothing),
        TEST_OF(a_text_comes_from_flag_variable_and_file),
        TEST_OF(an_address_has_a_port),
        TEST_OF(a_file_is_read),
        TEST_OF(a_file_that_cannot_be_read_is_named),
        TEST_OF(help_and_manual_say_what_each_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
