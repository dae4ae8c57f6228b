#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "io/disk.h"
#include "io/test_folder.h"
#include "providers/carrier.h"

// With a real file and a real program.

struct bench {
    struct world world;
    struct carrier carrier;
    struct arena *arena;
    const struct provider *larder;
    void *session;
    void *exchange;
    char folder[TEST_FOLDER_MAX];
    const char *path;
    const char *command;
    const char *seen; // what the program read
};

static const struct text one[] = {{"1", 1}};
static const struct text two[] = {{"2", 1}};

static void write_file(const char *path, const char *content, mode_t mode)
{
    must(disk_replace(disk_system(), path, text_of(content), mode, false, NULL));
}

static void open_session(struct bench *bench, struct secret *secret)
{
    struct value *config = value_make(bench->arena, VALUE_MAP);
    value_put_text(bench->arena, config, "path", bench->path);
    value_put_text(bench->arena, config, "command", bench->command);
    const struct session_setup setup = {.config = config, .secret = secret};
    must(bench->larder->open(&setup, &bench->session, NULL));
}

static void step(struct bench *bench, const struct ask_result *result)
{
    const struct moment moment = {0};
    struct ask ask = {0};
    if (result)
        bench->larder->handle_reply(bench->exchange, &moment, result);
    enum ask_kind kind = bench->larder->ask(bench->exchange, &moment, &ask);
    for (size_t i = 0; kind == ASK_PROCESS && ask.process.argv[i]; i++)
        assert_null(strstr(ask.process.argv[i], "hunter2"));
    if (!carrier_send(&bench->carrier, kind, &ask))
        loop_stop(bench->world.loop);
}

static void came(void *context, const struct ask_result *result)
{
    step(context, result);
}

static void begin(void *context)
{
    step(context, NULL);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    struct loop *loop = loop_new();
    bench->world = (struct world){.loop = loop, .local = local_new(loop, disk_system())};
    bench->carrier = (struct carrier){.world = &bench->world, .came = came, .context = bench};
    bench->arena = arena_new();
    bench->larder = provider_find("larder");
    test_folder_make(bench->folder);
    bench->path = arena_printf(bench->arena, "%s/lines", bench->folder);
    bench->command = arena_printf(bench->arena, "%s/keeper", bench->folder);
    bench->seen = arena_printf(bench->arena, "%s/seen", bench->folder);
    write_file(bench->command, "#!/bin/sh\n[ \"$1\" = reload ] && cat >\"${0%/*}/seen\"\n", 0700);
    open_session(bench, NULL);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    bench->larder->close(bench->session);
    local_free(bench->world.local);
    loop_free(bench->world.loop);
    test_folder_remove(bench->folder);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void run(struct bench *bench, struct job *job)
{
    job->arena = bench->arena;
    bench->exchange = bench->larder->begin(bench->session, job);
    loop_defer(bench->world.loop, begin, bench);
    loop_run(bench->world.loop);
    bench->larder->end(bench->exchange);
}

static struct change change_of(enum change_op op, const char *subdomain, const struct text *value)
{
    return (struct change){.op = op,
                           .set = {.type = RECORD_TXT,
                                   .domain = TEXT("example.com"),
                                   .subdomain = text_of(subdomain),
                                   .ttl_s = 300,
                                   .values = value,
                                   .value_count = 1}};
}

static struct outcome change_one(struct bench *bench, enum change_op op, const char *subdomain,
                                 const struct text *value)
{
    struct change change = change_of(op, subdomain, value);
    struct job job = {.changes = &change, .change_count = 1};
    run(bench, &job);
    return change.outcome;
}

static const char *content_of(struct bench *bench, const char *path)
{
    AUTO_BUFFER content = {0};
    must(disk_read(&content, path, 1000, NULL));
    return arena_copy(bench->arena, content.at ? content.at : "", content.len);
}

static void changes_are_lines_of_the_file_and_the_program_reads_them(void **state)
{
    struct bench *bench = *state;
    write_file(bench->path, "# somebody's own\n", 0600);
    assert_true(change_one(bench, CHANGE_SET, "www", one).is_done);
    assert_true(change_one(bench, CHANGE_SET, "www", two).is_done);
    assert_true(change_one(bench, CHANGE_SET, "mail", one).is_done);
    assert_string_equal(content_of(bench, bench->path),
                        "# somebody's own\nTXT www.example.com 300 \"2\"\n"
                        "TXT mail.example.com 300 \"1\"\n");
    assert_true(change_one(bench, CHANGE_REMOVE, "www", one).is_done);
    assert_string_equal(content_of(bench, bench->path),
                        "# somebody's own\nTXT mail.example.com 300 \"1\"\n");
    assert_string_equal(content_of(bench, bench->seen), content_of(bench, bench->path));
}

static void a_program_that_fails_fails_the_change_and_is_named(void **state)
{
    struct bench *bench = *state;
    write_file(bench->command, "#!/bin/sh\necho no room >&2\nexit 3\n", 0700);
    struct outcome outcome = change_one(bench, CHANGE_SET, "www", one);
    assert_false(outcome.is_done);
    assert_int_equal(outcome.error->fault, FAULT_AGAIN);
    assert_non_null(strstr(outcome.error->text, bench->command));
    assert_non_null(strstr(outcome.error->text, "ended with 3: no room"));
    write_file(bench->command, "", 0600);
    assert_non_null(strstr(change_one(bench, CHANGE_SET, "www", one).error->text, bench->command));
}

static void a_file_that_is_too_large_stays_as_it_is(void **state)
{
    struct bench *bench = *state;
    const char *large = arena_printf(bench->arena, "%70000d\n", 1);
    write_file(bench->path, large, 0600);
    struct outcome outcome = change_one(bench, CHANGE_SET, "www", one);
    assert_false(outcome.is_done);
    assert_non_null(strstr(outcome.error->text, bench->path));
    struct disk_stat found;
    assert_true(disk_stat(bench->path, &found, NULL));
    assert_int_equal(found.size, 70001);
}

static void a_secret_is_read_from_stdin(void **state)
{
    struct bench *bench = *state;
    struct secret *secret = secret_new("hunter2", 7);
    bench->larder->close(bench->session);
    open_session(bench, secret);
    secret_unref(secret);
    assert_true(change_one(bench, CHANGE_SET, "www", one).is_done);
    assert_string_equal(content_of(bench, bench->seen), "hunter2");
}

static void health_is_that_the_file_can_be_read(void **state)
{
    struct bench *bench = *state;
    struct job job = {.kind = JOB_HEALTH};
    run(bench, &job);
    assert_true(job.health.is_done);
    must(disk_make_folder(disk_system(), bench->path, 0700, NULL));
    run(bench, &job);
    assert_false(job.health.is_done);
    assert_non_null(strstr(job.health.error->text, bench->path));
}

static void a_larder_without_file_or_program_is_refused(void **state)
{
    (void)state;
    struct error err;
    void *session = NULL;
    assert_false(provider_find("larder")->open(&(struct session_setup){0}, &session, &err));
    assert_string_equal(err.reason, INVALID_CONFIGURATION);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(changes_are_lines_of_the_file_and_the_program_reads_them),
        TEST(a_program_that_fails_fails_the_change_and_is_named),
        TEST(a_file_that_is_too_large_stays_as_it_is),
        TEST(a_secret_is_read_from_stdin),
        TEST(health_is_that_the_file_can_be_read),
        cmocka_unit_test(a_larder_without_file_or_program_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
