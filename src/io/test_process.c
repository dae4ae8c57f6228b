#include "io/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/loop.h"

struct end {
    struct loop *loop;
    unsigned calls;
    struct process_result result; // its texts are copied, the start at least
    char output[4096];
    char errors[4096];
};

static void ended(void *context, const struct process_result *result)
{
    struct end *end = context;
    end->calls++;
    end->result = *result;
    snprintf(end->output, sizeof end->output, "%.*s", TEXT_ARGS(result->output));
    snprintf(end->errors, sizeof end->errors, "%.*s", TEXT_ARGS(result->errors));
    loop_stop(end->loop);
}

static int set_up(void **state)
{
    struct end *end = calloc(1, sizeof *end);
    end->loop = loop_new();
    *state = end;
    return 0;
}

static int tear_down(void **state)
{
    struct end *end = *state;
    loop_free(end->loop);
    free(end);
    return 0;
}

// Nothing is left to wait for.
static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static struct process *start(struct end *end, const char *const *argv, size_t limit,
                             int64_t timeout_ms, struct error *err)
{
    const struct process_request request = {
        .argv = argv, .max_output_octets = limit, .timeout_ms = timeout_ms};
    return process_start(end->loop, &request, ended, end, err);
}

static void run(struct end *end, const char *const *argv, size_t limit, int64_t timeout_ms)
{
    struct error err = {0};
    assert_non_null(start(end, argv, limit, timeout_ms, &err));
    assert_int_equal(end->calls, 0);
    loop_run(end->loop);
    assert_int_equal(end->calls, 1);
    assert_no_children();
}

static void run_shell(struct end *end, const char *script, size_t limit, int64_t timeout_ms)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    run(end, argv, limit, timeout_ms);
}

static void program_that_succeeds_exits_with_0(void **state)
{
    struct end *end = *state;
    const char *const argv[] = {"/bin/true", NULL};
    run(end, argv, 100, 10000);
    assert_true(end->result.has_exited);
    assert_int_equal(end->result.exit_code, 0);
    assert_int_equal(end->result.error.fault, FAULT_NONE);
    assert_int_equal(end->result.output.len, 0);
}

static void both_outputs_and_the_exit_code_are_caught(void **state)
{
    struct end *end = *state;
    run_shell(end, "echo out; echo err >&2; exit 3", 100, 10000);
    assert_true(end->result.has_exited);
    assert_int_equal(end->result.exit_code, 3);
    assert_string_equal(end->output, "out\n");
    assert_string_equal(end->errors, "err\n");
    assert_false(end->result.is_cut);
}

static void program_is_found_in_the_path(void **state)
{
    struct end *end = *state;
    const char *const argv[] = {"printf", "%s|", "a b", "$HOME", NULL};
    run(end, argv, 100, 10000);
    assert_string_equal(end->output, "a b|$HOME|");
}

static void standard_input_is_empty(void **state)
{
    struct end *end = *state;
    const char *const argv[] = {"/bin/cat", NULL};
    run(end, argv, 100, 10000);
    assert_true(end->result.has_exited);
    assert_int_equal(end->result.exit_code, 0);
}

// More than a pipe holds: a program that does not read it is not waited for.
static void input_is_read_from_stdin_as_far_as_the_program_wants(void **state)
{
    struct end *end = *state;
    struct error err = {0};
    AUTO_BUFFER input = {0};
    for (size_t i = 0; i < 300000; i++)
        buffer_add_char(&input, i % 1000 ? 'x' : '\n');
    struct process_request request = {.argv = (const char *const[]){"wc", "-lc", NULL},
                                      .input = buffer_text(&input),
                                      .max_output_octets = 100,
                                      .timeout_ms = 10000};
    assert_non_null(process_start(end->loop, &request, ended, end, &err));
    loop_run(end->loop);
    assert_non_null(strstr(end->output, "300 "));
    assert_non_null(strstr(end->output, " 300000\n"));
    request.argv = (const char *const[]){"/bin/true", NULL};
    assert_non_null(process_start(end->loop, &request, ended, end, &err));
    loop_run(end->loop);
    assert_true(end->result.has_exited);
    assert_int_equal(end->result.exit_code, 0);
}

static void output_over_the_limit_is_cut_and_the_program_goes_on(void **state)
{
    struct end *end = *state;
    run_shell(end, "head -c 300000 /dev/zero | tr '\\0' x; echo done >&2", 10, 10000);
    assert_true(end->result.has_exited);
    assert_string_equal(end->output, "xxxxxxxxxx");
    assert_string_equal(end->errors, "done\n");
    assert_true(end->result.is_cut);
}

static void output_of_many_pipes_full_is_caught_whole(void **state)
{
    struct end *end = *state;
    run_shell(end, "head -c 300000 /dev/zero | tr '\\0' x", 1 << 20, 10000);
    assert_int_equal(end->result.output.len, 300000);
    assert_false(end->result.is_cut);
}

static void output_of_just_the_limit_is_not_cut(void **state)
{
    struct end *end = *state;
    run_shell(end, "printf 1234567890", 10, 10000);
    assert_string_equal(end->output, "1234567890");
    assert_false(end->result.is_cut);
}

static void program_is_killed_at_its_deadline(void **state)
{
    struct end *end = *state;
    run_shell(end, "sleep 60; true", 100, 5);
    assert_false(end->result.has_exited);
    assert_string_equal(end->result.error.reason, "Timeout");
    assert_string_equal(end->result.error.text, "/bin/sh ran longer than 5 ms and was killed");
}

static void end_by_a_signal_is_an_error(void **state)
{
    struct end *end = *state;
    run_shell(end, "kill -TERM $$", 100, 10000);
    assert_false(end->result.has_exited);
    assert_string_equal(end->result.error.reason, "Killed");
    assert_non_null(strstr(end->result.error.text, "/bin/sh was ended by signal 15"));
}

static void what_the_program_leaves_running_is_not_waited_for(void **state)
{
    struct end *end = *state;
    run_shell(end, "sleep 60 & echo $!", 100, 10000);
    assert_true(end->result.has_exited);
    pid_t left = (pid_t)strtol(end->output, NULL, 10);
    assert_true(left > 1);
    assert_int_equal(kill(left, SIGKILL), 0);
}

static void signals_have_their_default_in_the_child(void **state)
{
    struct end *end = *state;
    run_shell(end, "kill -PIPE $$; echo survived", 100, 10000);
    assert_string_equal(end->output, "");
    assert_false(end->result.has_exited);
}

static void settings_replace_those_of_our_environment(void **state)
{
    struct end *end = *state;
    struct error err = {0};
    const char *const argv[] = {"/bin/sh", "-c", "echo \"$PROCESS_TEST $PROCESS_KEPT\"", NULL};
    const char *const additions[] = {"PROCESS_TEST=new", NULL};
    setenv("PROCESS_TEST", "old", 1);
    setenv("PROCESS_KEPT", "kept", 1);
    const struct process_request request = {
        .argv = argv, .additions = additions, .max_output_octets = 100, .timeout_ms = 10000};
    assert_non_null(process_start(end->loop, &request, ended, end, &err));
    loop_run(end->loop);
    assert_string_equal(end->output, "new kept\n");
}

static void missing_program_fails_with_its_name_and_without_arguments(void **state)
{
    struct end *end = *state;
    struct error err = {0};
    const char *const argv[] = {"/no/such/program", "hunter2", NULL};
    assert_null(start(end, argv, 100, 10000, &err));
    assert_int_equal(err.status, ENOENT);
    assert_non_null(strstr(err.text, "/no/such/program"));
    assert_null(strstr(err.text, "hunter2"));
    assert_no_children();
}

static int next_descriptor(void)
{
    int fd = dup(2);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void limit_descriptors(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Two pipes of two ends are needed: each time one end more is to be had.
static void start_gives_back_everything_whichever_descriptor_is_missing(void **state)
{
    struct end *end = *state;
    struct error err = {0};
    const char *const argv[] = {"/bin/true", NULL};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int first = next_descriptor();
    struct process *process = NULL;
    int failures = 0;
    for (rlim_t count = (rlim_t)first; !process; count++) {
        limit_descriptors(count);
        process = start(end, argv, 100, 10000, &err);
        limit_descriptors(before.rlim_cur);
        if (process)
            break;
        failures++;
        assert_int_equal(err.status, EMFILE);
        assert_int_equal(next_descriptor(), first);
        assert_no_children();
    }
    assert_true(failures >= 4);
    loop_run(end->loop);
    assert_int_equal(end->calls, 1);
    assert_int_equal(next_descriptor(), first);
}

static void cancelled_process_ends_without_a_call(void **state)
{
    struct end *end = *state;
    struct error err = {0};
    const char *const argv[] = {"sleep", "60", NULL};
    struct process *process = start(end, argv, 100, 10000, &err);
    assert_non_null(process);
    process_cancel(process);
    process_cancel(NULL);
    assert_no_children();
    assert_int_equal(end->calls, 0);
}

#define PROCESS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(program_that_succeeds_exits_with_0),
        PROCESS_TEST(both_outputs_and_the_exit_code_are_caught),
        PROCESS_TEST(program_is_found_in_the_path),
        PROCESS_TEST(standard_input_is_empty),
        PROCESS_TEST(input_is_read_from_stdin_as_far_as_the_program_wants),
        PROCESS_TEST(output_over_the_limit_is_cut_and_the_program_goes_on),
        PROCESS_TEST(output_of_many_pipes_full_is_caught_whole),
        PROCESS_TEST(output_of_just_the_limit_is_not_cut),
        PROCESS_TEST(program_is_killed_at_its_deadline),
        PROCESS_TEST(end_by_a_signal_is_an_error),
        PROCESS_TEST(what_the_program_leaves_running_is_not_waited_for),
        PROCESS_TEST(signals_have_their_default_in_the_child),
        PROCESS_TEST(settings_replace_those_of_our_environment),
        PROCESS_TEST(missing_program_fails_with_its_name_and_without_arguments),
        PROCESS_TEST(start_gives_back_everything_whichever_descriptor_is_missing),
        PROCESS_TEST(cancelled_process_ends_without_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
