#include "providers/carrier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "io/disk.h"
#include "io/test_folder.h"

// A real loop, real files and real processes.

struct bench {
    struct world world;
    struct carrier carrier;
    unsigned calls;
    struct ask_result heard;
    struct file_reply file;
    struct process_result process;
    char text[256]; // the content, or both outputs
    char folder[TEST_FOLDER_MAX];
    char path[TEST_FOLDER_MAX + 16];
};

static void came(void *context, const struct ask_result *heard)
{
    struct bench *bench = context;
    struct text text = {0};
    bench->calls++;
    bench->heard = *heard;
    if (heard->file) {
        bench->file = *heard->file;
        text = heard->file->content;
    } else if (heard->process) {
        bench->process = *heard->process;
        text = heard->process->output;
    }
    snprintf(bench->text, sizeof bench->text, "%.*s", TEXT_ARGS(text));
    loop_stop(bench->world.loop);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    struct loop *loop = loop_new();
    bench->world = (struct world){
        .loop = loop, .disk = disk_system(), .local = local_new(loop, disk_system())};
    bench->carrier = (struct carrier){.world = &bench->world, .came = came, .context = bench};
    test_folder_make(bench->folder);
    snprintf(bench->path, sizeof bench->path, "%s/hosts", bench->folder);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    carrier_cancel(&bench->carrier);
    local_free(bench->world.local);
    loop_free(bench->world.loop);
    test_folder_remove(bench->folder);
    free(bench);
    return 0;
}

static void carry(struct bench *bench, enum ask_kind kind, const struct ask *ask)
{
    unsigned before = bench->calls;
    assert_true(carrier_send(&bench->carrier, kind, ask));
    assert_int_equal(bench->calls, before);
    loop_run(bench->world.loop);
    assert_int_equal(bench->calls, before + 1);
    assert_int_equal(bench->heard.kind, kind);
    assert_int_equal(bench->carrier.kind, ASK_DONE);
}

static void write_file(struct bench *bench, const char *content, size_t limit)
{
    carry(bench, ASK_FILE,
          &(struct ask){.file = {.path = bench->path,
                                 .is_replaced = true,
                                 .content = text_of(content),
                                 .max_octets = limit}});
}

static void read_file(struct bench *bench, size_t limit)
{
    carry(bench, ASK_FILE, &(struct ask){.file = {.path = bench->path, .max_octets = limit}});
}

static void run_shell(struct bench *bench, const char *script, const char *input,
                      int64_t timeout_ms)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    carry(bench, ASK_PROCESS,
          &(struct ask){.process = {.argv = argv,
                                    .input = text_of(input),
                                    .max_output_octets = 100,
                                    .timeout_ms = timeout_ms}});
}

static void a_file_is_replaced_and_read_as_it_was_written(void **state)
{
    struct bench *bench = *state;
    struct stat found;
    write_file(bench, "one\n", 100);
    assert_true(bench->file.is_done);
    write_file(bench, "two\n", 100);
    assert_true(bench->file.is_done);
    assert_int_equal(stat(bench->path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0644);
    read_file(bench, 100);
    assert_true(bench->file.is_done);
    assert_string_equal(bench->text, "two\n");
}

static void a_file_that_is_not_there_is_absent(void **state)
{
    struct bench *bench = *state;
    read_file(bench, 100);
    assert_false(bench->file.is_done);
    assert_true(bench->file.is_absent);
    assert_non_null(strstr(bench->file.error.text, bench->path));
}

static void what_is_larger_than_the_limit_is_neither_read_nor_written(void **state)
{
    struct bench *bench = *state;
    write_file(bench, "12345", 5);
    read_file(bench, 4);
    assert_false(bench->file.is_done || bench->file.is_absent);
    assert_string_equal(bench->file.error.reason, "TooLarge");
    write_file(bench, "123456", 5);
    assert_false(bench->file.is_done);
    assert_string_equal(bench->file.error.reason, "TooLarge");
    assert_non_null(strstr(bench->file.error.text, bench->path));
    read_file(bench, 5);
    assert_string_equal(bench->text, "12345");
}

static void a_process_gets_its_input_and_answers_output_and_exit_code(void **state)
{
    struct bench *bench = *state;
    run_shell(bench, "tr a-z A-Z; exit 3", "hunter2", 10000);
    assert_true(bench->process.has_exited);
    assert_int_equal(bench->process.exit_code, 3);
    assert_string_equal(bench->text, "HUNTER2");
}

static void a_process_that_takes_too_long_is_killed(void **state)
{
    struct bench *bench = *state;
    run_shell(bench, "sleep 60", "", 5);
    assert_false(bench->process.has_exited);
    assert_string_equal(bench->process.error.reason, "Timeout");
    assert_non_null(strstr(bench->process.error.text, "/bin/sh"));
}

static void a_program_that_is_missing_is_an_answer_that_names_it(void **state)
{
    struct bench *bench = *state;
    const char *const argv[] = {"/no/such/program", "secret", NULL};
    carry(bench, ASK_PROCESS, &(struct ask){.process = {.argv = argv, .timeout_ms = 1000}});
    assert_false(bench->process.has_exited);
    assert_non_null(strstr(bench->process.error.text, "/no/such/program"));
    assert_null(strstr(bench->process.error.text, "secret"));
}

static void a_wait_ends_by_itself(void **state)
{
    struct bench *bench = *state;
    carry(bench, ASK_WAIT, &(struct ask){.wait_ms = 1});
}

static void nothing_is_under_way_when_it_is_done(void **state)
{
    struct bench *bench = *state;
    assert_false(carrier_send(&bench->carrier, ASK_DONE, &(struct ask){0}));
}

static void what_is_broken_off_leaves_nothing_behind(void **state)
{
    struct bench *bench = *state;
    const char *const argv[] = {"/bin/sh", "-c", "echo $$ >\"$0\"; sleep 60", bench->path, NULL};
    const struct ask runs = {.process = {.argv = argv, .timeout_ms = 60000}};
    const struct ask writes = {
        .file = {.path = bench->path, .is_replaced = true, .content = TEXT("x"), .max_octets = 9}};
    assert_true(carrier_send(&bench->carrier, ASK_FILE, &writes));
    carrier_cancel(&bench->carrier);
    read_file(bench, 100);
    assert_true(bench->file.is_absent);
    assert_true(carrier_send(&bench->carrier, ASK_PROCESS, &runs));
    carrier_cancel(&bench->carrier);
    carry(bench, ASK_WAIT, &(struct ask){.wait_ms = 1});
    assert_int_equal(bench->calls, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_and_read_as_it_was_written),
        TEST(a_file_that_is_not_there_is_absent),
        TEST(what_is_larger_than_the_limit_is_neither_read_nor_written),
        TEST(a_process_gets_its_input_and_answers_output_and_exit_code),
        TEST(a_process_that_takes_too_long_is_killed),
        TEST(a_program_that_is_missing_is_an_answer_that_names_it),
        TEST(a_wait_ends_by_itself),
        TEST(nothing_is_under_way_when_it_is_done),
        TEST(what_is_broken_off_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
