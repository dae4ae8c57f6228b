#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/pihole/pihole_settings.h"
#include "io/x509.h"

#define PIN "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static const struct command command = {.name = "x",
                                       .groups = {{pihole_options, PIHOLE_OPTION_COUNT, false}}};

static const char *const secrets[] = {"PIHOLE_API_TOKEN", "PIHOLE_PASSWORD",
                                      "PIHOLE_API_TOKEN_FILE", "PIHOLE_PASSWORD_FILE", "MY_TOKEN"};

struct fixture {
    struct arena *arena;
    struct invocation invocation;
    struct pihole_targets targets;
    struct error err;
    char folder[40];
    char path[80]; // of the file written last
};

static void forget_variables(void)
{
    for (size_t i = 0; i < PIHOLE_OPTION_COUNT; i++)
        unsetenv(pihole_options[i].variable);
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        unsetenv(secrets[i]);
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_new_of(struct fixture);
    fixture->arena = arena_new();
    strcpy(fixture->folder, "/tmp/test_pihole.XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    forget_variables();
    *state = fixture;
    return 0;
}

static void forget_targets(struct fixture *fixture)
{
    pihole_settings_unload(&fixture->targets);
    fixture->targets = (struct pihole_targets){0};
}

static int tear_down(void **state)
{
    static const char *const names[] = {"token", "targets.yaml", "ca.pem"};
    struct fixture *fixture = *state;
    forget_variables();
    forget_targets(fixture);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->folder, names[i]);
        unlink(fixture->path);
    }
    rmdir(fixture->folder);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static const char *write_file(struct fixture *fixture, const char *name, const char *content)
{
    snprintf(fixture->path, sizeof fixture->path, "%s/%s", fixture->folder, name);
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    return fixture->path;
}

static bool parse(struct fixture *fixture, struct error *err)
{
    return invocation_parse(&fixture->invocation, fixture->arena, &command, 0, NULL, err);
}

static bool read_all(struct fixture *fixture, bool is_check)
{
    forget_targets(fixture);
    error_clear(&fixture->err);
    return parse(fixture, &fixture->err) &&
           pihole_settings_load(&fixture->invocation, is_check, &fixture->targets, &fixture->err);
}

static void assert_read(struct fixture *fixture)
{
    bool is_read = read_all(fixture, false);
    assert_string_equal(fixture->err.text, "");
    assert_true(is_read);
}

static void assert_refused(struct fixture *fixture, const char *text)
{
    assert_false(read_all(fixture, false));
    assert_string_equal(fixture->err.text, text);
}

// What most of them begin with.
static void set_plain(void)
{
    setenv("PIHOLE_URL", "http://192.0.2.53/", 1);
    setenv("PIHOLE_API_TOKEN", "secret", 1);
    setenv("DEFAULT_TARGET_IP", "192.0.2.80", 1);
}

static void assert_token(const struct fixture *fixture, size_t at, const char *token)
{
    assert_true(at < fixture->targets.count);
    assert_non_null(fixture->targets.items[at].secret);
    assert_true(text_is(secret_expose(fixture->targets.items[at].secret), token));
}

// ---- one Pi-hole --------------------------------------------------------------------------------

static void three_variables_are_enough(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    assert_read(fixture);
    const struct pihole_target *target = fixture->targets.items;
    assert_int_equal(fixture->targets.count, 1);
    assert_string_equal(target->name, "default");
    assert_string_equal(target->backend, "pihole-default");
    assert_string_equal(target->dialect, "auto");
    assert_string_equal(target->ownership, "comment");
    assert_string_equal(target->write, "auto");
    assert_token(fixture, 0, "secret");
    assert_true(fixture->targets.adopts);
    assert_false(fixture->targets.has_finalizer || target->skips_verify || target->has_no_password);
    assert_int_equal(fixture->targets.max_delete_percent,
                     pihole_targets_defaults.max_delete_percent);
    assert_int_equal(fixture->targets.verify_s, pihole_targets_defaults.verify_s);
    assert_int_equal(fixture->targets.restart_min_s, pihole_targets_defaults.restart_min_s);
    assert_int_equal(fixture->targets.addresses.v4_count, 1);
}

static void each_variable_counts(void **state)
{
    static const char *const pairs[][2] = {
        {"PIHOLE_DIALECT", "legacy"},
        {"PIHOLE_OWNERSHIP", "annotation"},
        {"PIHOLE_ADOPT", "none"},
        {"PIHOLE_WRITE", "element"},
        {"PIHOLE_VERIFY_SECONDS", "5"},
        {"PIHOLE_RESTART_MIN_SECONDS", "0"},
        {"PIHOLE_MAX_DELETE_PERCENT", "100"},
        {"PIHOLE_FINALIZER", "true"},
        {"PIHOLE_TLS_SERVER_NAME", "pi.hole"},
        {"PIHOLE_TLS_PIN", PIN},
        {"PIHOLE_TLS_SKIP_VERIFY", "true"},
        {"DEFAULT_TARGET_IP", " status "},
    };
    struct fixture *fixture = *state;
    set_plain();
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        setenv(pairs[i][0], pairs[i][1], 1);
    assert_read(fixture);
    const struct pihole_target *target = fixture->targets.items;
    assert_string_equal(target->dialect, "legacy");
    assert_string_equal(target->ownership, "annotation");
    assert_string_equal(target->write, "element");
    assert_string_equal(target->server_name, "pi.hole");
    assert_string_equal(target->pin, PIN);
    assert_true(target->skips_verify && fixture->targets.has_finalizer);
    assert_false(fixture->targets.adopts);
    assert_int_equal(fixture->targets.max_delete_percent, 100);
    assert_int_equal(fixture->targets.verify_s, 5);
    assert_int_equal(fixture->targets.restart_min_s, 0);
    assert_true(fixture->targets.addresses.is_status);
}

static void what_is_missing_is_named(void **state)
{
    struct fixture *fixture = *state;
    assert_refused(fixture, "PIHOLE_URL is not set, nor PIHOLE_TARGETS: the controller ingress "
                            "keeps names in a Pi-hole");
    setenv("PIHOLE_URL", "http://192.0.2.53", 1);
    assert_refused(fixture, "PIHOLE_API_TOKEN is not set: give it, or PIHOLE_PASSWORD, or the name "
                            "of a file in PIHOLE_API_TOKEN_FILE, or PIHOLE_NO_PASSWORD=true");
    setenv("PIHOLE_PASSWORD", "secret", 1);
    assert_refused(fixture, "DEFAULT_TARGET_IP is not set: give the address that names get, "
                            "several with commas between them, or status");
    setenv("DEFAULT_TARGET_IP", "status", 1);
    assert_read(fixture);
}

static void what_is_wrong_is_named(void **state)
{
    static const char *const rows[][3] = {
        {"PIHOLE_TLS_PIN", "sha256//x",
         "environment PIHOLE_TLS_PIN: \"sha256//x\": expected sha256// and 44 characters of "
         "base64, or learn"},
        {"PIHOLE_VERIFY_SECONDS", "4",
         "environment PIHOLE_VERIFY_SECONDS: \"4\": must be between 5 and 900"},
        {"PIHOLE_RESTART_MIN_SECONDS", "-1",
         "environment PIHOLE_RESTART_MIN_SECONDS: \"-1\": must be between 0 and 3600"},
        {"PIHOLE_MAX_DELETE_PERCENT", "0",
         "environment PIHOLE_MAX_DELETE_PERCENT: \"0\": must be between 1 and 100"},
        {"PIHOLE_FINALIZER", "yes",
         "environment PIHOLE_FINALIZER: \"yes\": expected true or false"},
        {"PIHOLE_DIALECT", "v5",
         "environment PIHOLE_DIALECT: \"v5\": expected one of auto, v6, legacy"},
        {"DEFAULT_TARGET_IP", ", ,", "environment DEFAULT_TARGET_IP: \", ,\": no address is given"},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        forget_variables();
        set_plain();
        setenv(rows[i][0], rows[i][1], 1);
        assert_refused(fixture, rows[i][2]);
    }
}

static void an_address_that_is_none_is_quoted(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    setenv("DEFAULT_TARGET_IP", "192.0.2.80,192.0.2.800", 1);
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "environment DEFAULT_TARGET_IP: "));
    assert_non_null(strstr(fixture->err.text, "192.0.2.800: "));
}

static void a_password_in_the_url_is_refused_and_not_shown(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    setenv("PIHOLE_URL", "http://admin:hidden@192.0.2.53", 1);
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "environment PIHOLE_URL: "));
    assert_null(strstr(fixture->err.text, "hidden"));
}

// ---- tokens -------------------------------------------------------------------------------------

static void both_variables_of_a_token_must_say_the_same(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    setenv("PIHOLE_PASSWORD", "secret", 1);
    assert_read(fixture);
    setenv("PIHOLE_PASSWORD", "another", 1);
    assert_refused(fixture, "PIHOLE_API_TOKEN and PIHOLE_PASSWORD mean the same, and are "
                            "different: keep one of them");
    setenv("PIHOLE_PASSWORD", "secret", 1);
    setenv("PIHOLE_PASSWORD_FILE", write_file(fixture, "token", "third"), 1);
    assert_refused(fixture, "PIHOLE_API_TOKEN and PIHOLE_PASSWORD_FILE mean the same, and are "
                            "different: keep one of them");
}

static void a_token_stands_in_a_file(void **state)
{
    static const char *const contents[] = {"secret", "secret\n", "secret\r\n"};
    static const char *const variables[] = {"PIHOLE_API_TOKEN_FILE", "PIHOLE_PASSWORD_FILE"};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        for (size_t k = 0; k < COUNT_OF(variables); k++) {
            forget_variables();
            set_plain();
            unsetenv("PIHOLE_API_TOKEN");
            setenv(variables[k], write_file(fixture, "token", contents[i]), 1);
            assert_read(fixture);
            assert_token(fixture, 0, "secret");
            assert_string_equal(fixture->targets.items[0].token_file, fixture->path);
        }
    }
}

static void a_token_that_cannot_be_one_is_refused_and_not_shown(void **state)
{
    static const char *const contents[] = {"", "\n", "hidden\nsecond line\n", "hid\tden"};
    struct fixture *fixture = *state;
    set_plain();
    unsetenv("PIHOLE_API_TOKEN");
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        setenv("PIHOLE_API_TOKEN_FILE", write_file(fixture, "token", contents[i]), 1);
        assert_false(read_all(fixture, false));
        assert_non_null(strstr(fixture->err.text, "PIHOLE_API_TOKEN_FILE: /tmp/test_pihole."));
        assert_null(strstr(fixture->err.text, "hid"));
    }
    setenv("PIHOLE_API_TOKEN_FILE", "/nowhere/token", 1);
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "PIHOLE_API_TOKEN_FILE: "));
    assert_non_null(strstr(fixture->err.text, "/nowhere/token"));
}

static void a_pihole_without_password_needs_no_token(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    unsetenv("PIHOLE_API_TOKEN");
    setenv("PIHOLE_NO_PASSWORD", "true", 1);
    assert_read(fixture);
    assert_true(fixture->targets.items[0].has_no_password);
    assert_null(fixture->targets.items[0].secret);
}

// ---- several ------------------------------------------------------------------------------------

static void set_targets(struct fixture *fixture, const char *content)
{
    setenv("PIHOLE_TARGETS", write_file(fixture, "targets.yaml", content), 1);
}

static void a_file_names_several(void **state)
{
    struct fixture *fixture = *state;
    write_file(fixture, "token", "of the file\n");
    setenv("MY_TOKEN", "of the environment", 1);
    setenv("DEFAULT_TARGET_IP", "192.0.2.80", 1);
    setenv("PIHOLE_OWNERSHIP", "annotation", 1);
    set_targets(fixture, "targets:\n"
                         "- {name: up, url: 'http://192.0.2.1', tokenFile: token}\n"
                         "- {name: down, url: 'http://192.0.2.2', tokenEnv: MY_TOKEN,\n"
                         "   ownership: comment}\n");
    assert_read(fixture);
    assert_int_equal(fixture->targets.count, 2);
    assert_token(fixture, 0, "of the file");
    assert_token(fixture, 1, "of the environment");
    assert_string_equal(fixture->targets.items[0].ownership, "annotation");
    assert_string_equal(fixture->targets.items[1].ownership, "comment");
    assert_true(fixture->targets.items[0].token_file[0] == '/');
}

static void one_of_the_variables_stands_beside_those_of_the_file(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    set_targets(fixture, "targets:\n- {name: up, url: 'http://192.0.2.1'}\n");
    assert_read(fixture);
    assert_int_equal(fixture->targets.count, 2);
    assert_token(fixture, 0, "secret");
    assert_token(fixture, 1, "secret");
    set_targets(fixture, "targets:\n- {name: default, url: 'http://192.0.2.1'}\n");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "/targets.yaml:2:"));
    set_targets(fixture, "targets:\n- {name: up, url: 'http://192.0.2.53/admin'}\n");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "/targets.yaml:2:"));
}

static void a_fault_of_the_file_is_told_with_its_place(void **state)
{
    struct fixture *fixture = *state;
    char expected[160];
    setenv("DEFAULT_TARGET_IP", "192.0.2.80", 1);
    set_targets(fixture, "targets:\n- {name: up, url: 'http://192.0.2.1', tokenfile: token}\n");
    snprintf(expected, sizeof expected, "%s:2:39: unknown key tokenfile; did you mean tokenFile?",
             fixture->path);
    assert_refused(fixture, expected);
    set_targets(fixture, "targets: [\n");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "/targets.yaml:"));
    setenv("PIHOLE_TARGETS", "/nowhere/targets.yaml", 1);
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "environment PIHOLE_TARGETS: "));
}

static void a_token_that_is_not_there_is_told_with_its_pihole(void **state)
{
    struct fixture *fixture = *state;
    setenv("DEFAULT_TARGET_IP", "192.0.2.80", 1);
    set_targets(fixture, "targets:\n- {name: up, url: 'http://192.0.2.1', tokenEnv: MY_TOKEN}\n");
    assert_refused(fixture, "Pi-hole up: environment MY_TOKEN: no token is in it");
    set_targets(fixture, "targets:\n- {name: up, url: 'http://192.0.2.1', tokenFile: none}\n");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "Pi-hole up: "));
    assert_non_null(strstr(fixture->err.text, "/none"));
}

static void addresses_of_all_targets_do_without_a_default(void **state)
{
    struct fixture *fixture = *state;
    setenv("PIHOLE_API_TOKEN", "secret", 1);
    set_targets(fixture, "targets:\n"
                         "- {name: up, url: 'http://192.0.2.1', targetIPs: [192.0.2.80]}\n"
                         "- {name: down, url: 'http://192.0.2.2'}\n");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "DEFAULT_TARGET_IP is not set"));
    set_targets(fixture, "targets:\n"
                         "- {name: up, url: 'http://192.0.2.1', targetIPs: [192.0.2.80]}\n");
    assert_read(fixture);
}

// ---- certificates, and checking alone -----------------------------------------------------------

static void certificates_are_read(void **state)
{
    struct fixture *fixture = *state;
    struct x509_pair ca = {0};
    assert_true(x509_make_ca(&ca, random_system(), "ca", 0, 4000000000, NULL));
    set_plain();
    setenv("PIHOLE_URL", "https://192.0.2.53", 1);
    setenv("PIHOLE_TLS_CA_FILE", write_file(fixture, "ca.pem", ca.certificate_pem), 1);
    assert_read(fixture);
    assert_string_equal(fixture->targets.items[0].ca, ca.certificate_pem);
    write_file(fixture, "ca.pem", "none");
    assert_false(read_all(fixture, false));
    assert_non_null(strstr(fixture->err.text, "Pi-hole default: "));
    assert_non_null(strstr(fixture->err.text, "/ca.pem: "));
    x509_pair_done(&ca);
}

static void a_check_needs_neither_tokens_nor_certificates(void **state)
{
    struct fixture *fixture = *state;
    set_plain();
    unsetenv("PIHOLE_API_TOKEN");
    setenv("PIHOLE_TLS_CA_FILE", "/nowhere/ca.pem", 1);
    set_targets(fixture, "targets:\n"
                         "- {name: up, url: 'http://192.0.2.1', tokenFile: none}\n"
                         "- {name: down, url: 'http://192.0.2.2'}\n");
    assert_true(read_all(fixture, true));
    assert_int_equal(fixture->targets.count, 3);
    setenv("DEFAULT_TARGET_IP", "nowhere", 1);
    assert_false(read_all(fixture, true));
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OF(three_variables_are_enough),
        TEST_OF(each_variable_counts),
        TEST_OF(what_is_missing_is_named),
        TEST_OF(what_is_wrong_is_named),
        TEST_OF(an_address_that_is_none_is_quoted),
        TEST_OF(a_password_in_the_url_is_refused_and_not_shown),
        TEST_OF(both_variables_of_a_token_must_say_the_same),
        TEST_OF(a_token_stands_in_a_file),
        TEST_OF(a_token_that_cannot_be_one_is_refused_and_not_shown),
        TEST_OF(a_pihole_without_password_needs_no_token),
        TEST_OF(a_file_names_several),
        TEST_OF(one_of_the_variables_stands_beside_those_of_the_file),
        TEST_OF(a_fault_of_the_file_is_told_with_its_place),
        TEST_OF(a_token_that_is_not_there_is_told_with_its_pihole),
        TEST_OF(addresses_of_all_targets_do_without_a_default),
        TEST_OF(certificates_are_read),
        TEST_OF(a_check_needs_neither_tokens_nor_certificates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
