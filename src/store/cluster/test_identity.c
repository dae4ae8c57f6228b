#include "store/cluster/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "io/test_folder.h"
#include "model/virtual_loop.h"

enum { UNIX_START_S = 1700000000 }; // 2023-11-14T22:13:20Z

// A plugin that "runs" until the test has it end.
struct process {
    process_done *done;
    void *context;
    char argv[128]; // joined by blanks
    char additions[4096];
    size_t max_octets;
    int64_t timeout_ms;
};

struct bench {
    struct identity_runner runner;
    struct process plugin;
    bool is_running;
    bool is_unstartable;
    unsigned starts;

    struct loop *loop;
    struct world world;
    struct log *log;
    struct buffer lines;
    char folder[TEST_FOLDER_MAX];
    struct arena *arena;
    struct kube_access access;
    struct identity *identity;
    struct error err;
    unsigned settled;
};

static void join(char *out, size_t size, const char *const *texts)
{
    size_t len = 0;
    for (; *texts && len < size; texts++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "", *texts);
}

static struct process *start(struct identity_runner *runner, struct loop *loop,
                             const struct identity_run *run, struct error *err)
{
    struct bench *bench = (struct bench *)runner;
    must(!bench->is_running && loop == bench->loop);
    bench->starts++;
    if (bench->is_unstartable) {
        error_set(err, FAULT_AGAIN, "SystemError", "cannot start plug");
        return NULL;
    }
    bench->is_running = true;
    bench->plugin = (struct process){.done = run->done,
                                     .context = run->context,
                                     .max_octets = run->max_output_octets,
                                     .timeout_ms = run->timeout_ms};
    join(bench->plugin.argv, sizeof bench->plugin.argv, run->argv);
    join(bench->plugin.additions, sizeof bench->plugin.additions, run->additions);
    return &bench->plugin;
}

static void cancel(struct process *process)
{
    process->done = NULL;
}

static int64_t log_now(void *context)
{
    struct bench *bench = context;
    return loop_unix_ms(bench->loop);
}

static void log_write(void *context, struct text line)
{
    struct bench *bench = context;
    buffer_add(&bench->lines, line.at, line.len);
}

static void count_settled(void *context)
{
    struct bench *bench = context;
    bench->settled++;
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->runner = (struct identity_runner){start, cancel};
    bench->loop = virtual_loop_new((int64_t)UNIX_START_S * 1000);
    bench->world = (struct world){.loop = bench->loop};
    struct log_sink sink = {log_write, log_now, bench};
    bench->log = log_new(&sink, LOG_JSON, LOG_INFO);
    test_folder_make(bench->folder);
    bench->arena = arena_new();
    must(url_parse(&bench->access.server, TEXT("https://kube.example"), NULL));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    identity_free(bench->identity);
    assert_int_equal(virtual_loop_timer_count(bench->loop), 0);
    secret_unref(bench->access.token);
    secret_unref(bench->access.ca);
    log_free(bench->log);
    loop_free(bench->loop);
    buffer_done(&bench->lines);
    test_folder_remove(bench->folder);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void run(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static const char *path_of(struct bench *bench, const char *name)
{
    return arena_printf(bench->arena, "%s/%s", bench->folder, name);
}

static const char *put(struct bench *bench, const char *name, const char *content)
{
    const char *path = path_of(bench, name);
    must(disk_replace(disk_system(), path, text_of(content), 0600, false, NULL));
    return path;
}

static enum identity_state prepare(struct bench *bench)
{
    if (!bench->identity)
        bench->identity = identity_new(&(struct identity_options){
            .world = &bench->world,
            .log = bench->log,
            .access = &bench->access,
            .runner = &bench->runner,
            .settled = count_settled,
            .context = bench,
        });
    return identity_prepare(bench->identity, &bench->err);
}

static const char *authorization(struct bench *bench)
{
    const struct identity_face *face = identity_face(bench->identity);
    return face->header_count ? face->headers[0].value : "";
}

static enum identity_state renew(struct bench *bench)
{
    return identity_renew(bench->identity, identity_face(bench->identity)->generation);
}

static size_t count_lines(const struct bench *bench, const char *part)
{
    size_t count = 0;
    for (const char *at = bench->lines.at; at && (at = strstr(at, part)); at++)
        count++;
    return count;
}

// ---- token files --------------------------------------------------------------------------------

static void a_token_file_is_read_again_ten_seconds_before_a_minute(void **state)
{
    struct bench *bench = *state;
    bench->access.token = secret_new("inline", 6);
    bench->access.token_file = put(bench, "token", " one\n");
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer one");
    put(bench, "token", "two");
    run(bench, IDENTITY_TOKEN_MS - 1);
    prepare(bench);
    assert_string_equal(authorization(bench), "Bearer one");
    run(bench, 1);
    uint64_t generation = identity_face(bench->identity)->generation;
    prepare(bench);
    assert_string_equal(authorization(bench), "Bearer two");
    assert_int_not_equal(identity_face(bench->identity)->generation, generation);
}

static void an_unreadable_token_file_leaves_the_old_token_and_one_warning(void **state)
{
    struct bench *bench = *state;
    bench->access.token_file = put(bench, "token", "one");
    prepare(bench);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            put(bench, "token", " \n");
        else
            disk_remove(disk_system(), bench->access.token_file, NULL);
        run(bench, IDENTITY_TOKEN_MS);
        assert_int_equal(prepare(bench), IDENTITY_READY);
        assert_string_equal(authorization(bench), "Bearer one");
    }
    assert_int_equal(count_lines(bench, "unreadable"), 1);
    put(bench, "token", "two");
    run(bench, IDENTITY_TOKEN_MS);
    prepare(bench);
    assert_string_equal(authorization(bench), "Bearer two");
    assert_int_equal(count_lines(bench, "readable again"), 1);
}

static void a_401_has_the_token_file_read_at_once(void **state)
{
    struct bench *bench = *state;
    bench->access.token_file = put(bench, "token", "one");
    prepare(bench);
    assert_int_equal(renew(bench), IDENTITY_FAILED);
    put(bench, "token", "two");
    uint64_t old = identity_face(bench->identity)->generation;
    assert_int_equal(identity_renew(bench->identity, old), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer two");
    assert_int_equal(identity_renew(bench->identity, old), IDENTITY_READY);
}

static void the_token_beside_a_file_serves_until_the_file_is_there(void **state)
{
    struct bench *bench = *state;
    bench->access.token = secret_new("inline", 6);
    bench->access.token_file = path_of(bench, "token");
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer inline");
    assert_int_equal(count_lines(bench, "unreadable"), 1);
    put(bench, "token", "file");
    run(bench, IDENTITY_TOKEN_MS);
    prepare(bench);
    assert_string_equal(authorization(bench), "Bearer file");
}

static void without_any_token_a_missing_file_is_a_failure_until_it_comes(void **state)
{
    struct bench *bench = *state;
    bench->access.token_file = path_of(bench, "token");
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_int_equal(bench->err.fault, FAULT_AUTH);
    assert_true(text_starts(text_of(bench->err.text), "token file: "));
    assert_non_null(identity_trouble(bench->identity));
    put(bench, "token", "one");
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_null(identity_trouble(bench->identity));
}

// ---- CA and client certificate ------------------------------------------------------------------

static void certificate_files_are_read_again_every_minute_and_after_a_tls_failure(void **state)
{
    struct bench *bench = *state;
    bench->access.ca_file = put(bench, "ca", "CA1\n");
    bench->access.certificate_file = put(bench, "crt", "CRT1");
    bench->access.key_file = put(bench, "key", "KEY1");
    prepare(bench);
    const struct http_tls *tls = &identity_face(bench->identity)->tls;
    assert_string_equal(tls->ca_pem, "CA1\n");
    assert_string_equal(tls->certificate_pem, "CRT1");
    assert_string_equal(tls->key_pem, "KEY1");
    put(bench, "ca", "CA2");
    run(bench, IDENTITY_FILE_MS - 1);
    prepare(bench);
    assert_string_equal(tls->ca_pem, "CA1\n");
    run(bench, 1);
    prepare(bench);
    assert_string_equal(tls->ca_pem, "CA2");
    put(bench, "crt", "CRT2");
    put(bench, "key", "KEY2");
    identity_doubt(bench->identity);
    prepare(bench);
    assert_string_equal(tls->certificate_pem, "CRT2");
    assert_string_equal(tls->key_pem, "KEY2");
}

static void an_unreadable_ca_file_keeps_the_old_one_but_a_first_one_must_be_there(void **state)
{
    struct bench *bench = *state;
    bench->access.ca_file = path_of(bench, "ca");
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_true(text_starts(text_of(bench->err.text), "CA file: "));
    put(bench, "ca", "CA1");
    assert_int_equal(prepare(bench), IDENTITY_READY);
    disk_remove(disk_system(), bench->access.ca_file, NULL);
    run(bench, IDENTITY_FILE_MS);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(identity_face(bench->identity)->tls.ca_pem, "CA1");
    assert_int_equal(count_lines(bench, "unreadable"), 2);
}

// ---- exec plugins -------------------------------------------------------------------------------

#define V1 "client.authentication.k8s.io/v1"
#define REPLY(status)                                                                              \
    "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":" status "}"

static void have_plugin(struct bench *bench)
{
    bench->access.exec.command = "plug";
    bench->access.exec.api_version = V1;
}

static void end_plugin(struct bench *bench, const struct process_result *result)
{
    must(bench->is_running);
    bench->is_running = false;
    bench->plugin.done(bench->plugin.context, result);
}

static void end_with(struct bench *bench, const char *output)
{
    struct process_result result = {.has_exited = true, .output = text_of(output)};
    end_plugin(bench, &result);
}

static void a_plugin_is_run_first_and_its_token_kept(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    bench->access.exec.args[0] = "get";
    bench->access.exec.args[1] = "token";
    bench->access.exec.env[0] = "A=b";
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    assert_int_equal(bench->starts, 1);
    assert_string_equal(bench->plugin.argv, "plug get token");
    assert_string_equal(bench->plugin.additions,
                        "KUBERNETES_EXEC_INFO={\"apiVersion\":\"" V1
                        "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}} A=b");
    assert_int_equal(bench->plugin.max_octets, 1024 * 1024);
    assert_int_equal(bench->plugin.timeout_ms, 60000);
    end_with(bench, REPLY("{\"token\":\"tok\"}"));
    assert_int_equal(bench->settled, 1);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer tok");
    run(bench, 1000 * 3600 * 24);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_int_equal(bench->starts, 1);
}

static void a_plugin_that_asks_is_told_the_cluster(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    bench->access.exec.provides_cluster_info = true;
    bench->access.exec.cluster_config = "{\"audience\":\"x\"}";
    bench->access.tls_server_name = "name";
    bench->access.ca_file = put(bench, "ca", "CA");
    prepare(bench);
    assert_non_null(strstr(bench->plugin.additions,
                           "\"cluster\":{\"server\":\"https://kube.example\",\"tls-server-name\":"
                           "\"name\",\"certificate-authority-data\":\"Q0E=\",\"config\":"
                           "{\"audience\":\"x\"}}"));
}

static void a_plugin_may_give_a_client_certificate(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    end_with(bench, REPLY("{\"clientCertificateData\":\"CRT\",\"clientKeyData\":\"KEY\"}"));
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(identity_face(bench->identity)->tls.certificate_pem, "CRT");
    assert_string_equal(identity_face(bench->identity)->tls.key_pem, "KEY");
    assert_int_equal(identity_face(bench->identity)->header_count, 0);
}

static void a_plugin_is_run_again_when_its_credential_expires(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    end_with(bench, REPLY("{\"token\":\"one\",\"expirationTimestamp\":\"2023-11-14T22:14:20Z\"}"));
    run(bench, 59999);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    run(bench, 1);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    end_with(bench, REPLY("{\"token\":\"two\"}"));
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer two");
}

static void a_credential_that_comes_expired_is_used_for_five_seconds(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    end_with(bench, REPLY("{\"token\":\"one\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}"));
    run(bench, 4999);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    run(bench, 1);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
}

static void after_a_401_a_plugin_is_run_again_once_in_five_seconds(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    end_with(bench, REPLY("{\"token\":\"one\"}"));
    assert_int_equal(renew(bench), IDENTITY_FAILED);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    run(bench, 5000);
    assert_int_equal(renew(bench), IDENTITY_FETCHING);
    assert_int_equal(renew(bench), IDENTITY_FETCHING);
    assert_int_equal(bench->starts, 2);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    end_with(bench, REPLY("{\"token\":\"two\"}"));
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_string_equal(authorization(bench), "Bearer two");
}

static void a_plugin_that_fails_is_told_with_its_words_and_tried_again(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    struct process_result result = {
        .has_exited = true, .exit_code = 3, .errors = TEXT("not logged\nin\n")};
    end_plugin(bench, &result);
    assert_int_equal(bench->settled, 1);
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_int_equal(bench->err.fault, FAULT_AUTH);
    assert_string_equal(bench->err.text, "exec plugin plug ended with exit code 3: not logged in");
    assert_string_equal(identity_trouble(bench->identity)->text, bench->err.text);
    assert_int_equal(count_lines(bench, "\"stderr\":\"not logged\\nin\""), 1);
    run(bench, 5000);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    end_with(bench, REPLY("{\"token\":\"tok\"}"));
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_null(identity_trouble(bench->identity));
}

static void a_plugin_that_cannot_be_started_brings_its_install_hint(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    bench->access.exec.install_hint = "install plug";
    bench->is_unstartable = true;
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_string_equal(bench->err.text, "exec plugin: cannot start plug; install plug");
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_int_equal(bench->starts, 1);
}

static void output_that_is_no_credential_is_told_without_it(void **state)
{
    static const struct {
        const char *output;
        const char *text;
    } rows[] = {
        {"secret", "exec plugin plug: its output is not JSON"},
        {"{\"kind\":\"Secret\"}", "exec plugin plug: its output is no ExecCredential"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v2\"}",
         "exec plugin plug: its output has another apiVersion than " V1},
        {REPLY("{}"),
         "exec plugin plug: its output has neither status.token nor status.clientCertificateData"},
        {REPLY("{\"token\":\"secret\",\"clientKeyData\":\"secret\"}"),
         "exec plugin plug: its output has one of status.clientCertificateData and "
         "status.clientKeyData: they belong together"},
        {REPLY("{\"token\":\"secret\\nX: y\"}"),
         "exec plugin plug: its output has a status.token with control characters"},
        {REPLY("{\"token\":\"secret\",\"expirationTimestamp\":\"soon\"}"),
         "exec plugin plug: its output has a status.expirationTimestamp that is not a time of RFC "
         "3339"},
    };
    struct bench *bench = *state;
    have_plugin(bench);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(prepare(bench), IDENTITY_FETCHING);
        end_with(bench, rows[i].output);
        assert_int_equal(prepare(bench), IDENTITY_FAILED);
        assert_string_equal(bench->err.text, rows[i].text);
        run(bench, 5000);
    }
    assert_int_equal(count_lines(bench, "secret"), 0);
}

static void output_over_the_limit_and_a_killed_plugin_are_failures(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    prepare(bench);
    struct process_result cut = {.has_exited = true, .is_cut = true};
    end_plugin(bench, &cut);
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_string_equal(bench->err.text,
                        "exec plugin plug: its output is longer than 1048576 octets");
    run(bench, 5000);
    prepare(bench);
    struct process_result late = {0};
    error_set(&late.error, FAULT_AGAIN, "Timeout", "plug ran longer than 60000 ms");
    end_plugin(bench, &late);
    assert_int_equal(prepare(bench), IDENTITY_FAILED);
    assert_string_equal(bench->err.text, "exec plugin: plug ran longer than 60000 ms");
}

static void a_token_goes_before_a_plugin(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    bench->access.token = secret_new("tok", 3);
    assert_int_equal(prepare(bench), IDENTITY_READY);
    assert_int_equal(bench->starts, 0);
}

static void a_reload_reads_all_anew(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench);
    bench->access.ca_file = put(bench, "ca", "CA1");
    prepare(bench);
    end_with(bench, REPLY("{\"token\":\"one\"}"));
    prepare(bench);
    put(bench, "ca", "CA2");
    identity_reload(bench->identity);
    assert_int_equal(prepare(bench), IDENTITY_FETCHING);
    assert_string_equal(identity_face(bench->identity)->tls.ca_pem, "CA2");
    identity_free(steal(bench->identity));
    assert_null(bench->plugin.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        ROW(a_token_file_is_read_again_ten_seconds_before_a_minute),
        ROW(an_unreadable_token_file_leaves_the_old_token_and_one_warning),
        ROW(a_401_has_the_token_file_read_at_once),
        ROW(the_token_beside_a_file_serves_until_the_file_is_there),
        ROW(without_any_token_a_missing_file_is_a_failure_until_it_comes),
        ROW(certificate_files_are_read_again_every_minute_and_after_a_tls_failure),
        ROW(an_unreadable_ca_file_keeps_the_old_one_but_a_first_one_must_be_there),
        ROW(a_plugin_is_run_first_and_its_token_kept),
        ROW(a_plugin_that_asks_is_told_the_cluster),
        ROW(a_plugin_may_give_a_client_certificate),
        ROW(a_plugin_is_run_again_when_its_credential_expires),
        ROW(a_credential_that_comes_expired_is_used_for_five_seconds),
        ROW(after_a_401_a_plugin_is_run_again_once_in_five_seconds),
        ROW(a_plugin_that_fails_is_told_with_its_words_and_tried_again),
        ROW(a_plugin_that_cannot_be_started_brings_its_install_hint),
        ROW(output_that_is_no_credential_is_told_without_it),
        ROW(output_over_the_limit_and_a_killed_plugin_are_failures),
        ROW(a_token_goes_before_a_plugin),
        ROW(a_reload_reads_all_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
