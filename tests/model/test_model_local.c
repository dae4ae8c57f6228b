#include "model/model_local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/virtual_loop.h"

struct bench {
    struct loop *loop;
    struct model_local *machine;
    struct local_call *call;
    unsigned calls;
    struct file_reply file;
    struct process_result process;
    char text[64];
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->loop = virtual_loop_new(0);
    bench->machine = model_local_new(bench->loop);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    model_local_free(bench->machine);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void file_came(void *context, const struct file_reply *reply)
{
    struct bench *bench = context;
    bench->calls++;
    bench->file = *reply;
    snprintf(bench->text, sizeof bench->text, "%.*s", TEXT_ARGS(reply->content));
}

static void process_came(void *context, const struct process_result *result)
{
    struct bench *bench = context;
    bench->calls++;
    bench->process = *result;
    snprintf(bench->text, sizeof bench->text, "%.*s", TEXT_ARGS(result->output));
}

static void run(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static void carry_file(struct bench *bench, const struct file_request *request)
{
    local_file(model_local_own(bench->machine), request, file_came, bench);
    run(bench, 10);
}

static void start(struct bench *bench, const char *program, size_t limit)
{
    const char *const argv[] = {program, "now", NULL};
    const struct process_request request = {
        .argv = argv, .input = TEXT("in"), .max_output_octets = limit, .timeout_ms = 1000};
    bench->call = local_process(model_local_own(bench->machine), &request, process_came, bench);
}

static void files_are_read_and_replaced(void **state)
{
    struct bench *bench = *state;
    carry_file(bench, &(struct file_request){.path = "/a", .max_octets = 5});
    assert_true(bench->file.is_absent);
    model_local_put(bench->machine, "/a", "12345");
    carry_file(bench, &(struct file_request){.path = "/a", .max_octets = 5});
    assert_string_equal(bench->text, "12345");
    carry_file(bench, &(struct file_request){.path = "/a", .max_octets = 4});
    assert_int_equal(bench->file.error.status, EFBIG);
    carry_file(bench,
               &(struct file_request){
                   .path = "/a", .is_replaced = true, .content = TEXT("x"), .max_octets = 1});
    assert_true(bench->file.is_done);
    assert_string_equal(model_local_content(bench->machine, "/a"), "x");
    model_local_fail(bench->machine, "/a", EACCES);
    carry_file(bench, &(struct file_request){.path = "/a", .max_octets = 5});
    assert_false(bench->file.is_done);
    assert_int_equal(bench->file.error.status, EACCES);
    assert_string_equal(model_local_log(bench->machine),
                        "read /a\nread /a\nread /a\nwrite /a x\nread /a\n");
}

static void programs_take_their_time_and_answer(void **state)
{
    struct bench *bench = *state;
    model_local_add(bench->machine,
                    &(struct model_program){
                        .command = "reload", .takes_ms = 500, .exit_code = 2, .output = "out"});
    start(bench, "reload", 2);
    run(bench, 499);
    assert_int_equal(bench->calls, 0);
    run(bench, 1);
    assert_int_equal(bench->process.exit_code, 2);
    assert_true(bench->process.has_exited && bench->process.is_cut);
    assert_string_equal(bench->text, "ou");
    assert_string_equal(model_local_log(bench->machine), "run reload now < in\n");
}

static void a_program_that_is_late_or_missing_is_an_error(void **state)
{
    struct bench *bench = *state;
    model_local_add(bench->machine, &(struct model_program){.command = "slow", .takes_ms = 5000});
    start(bench, "slow", 2);
    run(bench, 1000);
    assert_string_equal(bench->process.error.reason, "Timeout");
    start(bench, "gone", 2);
    run(bench, 0);
    assert_int_equal(bench->process.error.status, ENOENT);
    start(bench, "slow", 2);
    local_cancel(model_local_own(bench->machine), bench->call);
    run(bench, 10000);
    assert_int_equal(bench->calls, 2);
    assert_int_equal(model_local_killed(bench->machine), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_read_and_replaced),
        TEST(programs_take_their_time_and_answer),
        TEST(a_program_that_is_late_or_missing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
