#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/model_backend.h"
#include "model/virtual_loop.h"

// A Pi-hole on the virtual network, as a client meets it.

#define URL "http://pi.test/sub"
#define HOSTS URL "/api/config/dns/hosts"
#define CNAMES URL "/api/config/dns/cnameRecords"

enum { TIMEOUT_MS = 30000, UNIX_MS = 1000 };

struct bench {
    struct loop *loop;
    struct model_backend *backend;
    struct model_pihole *pihole;
    unsigned heard;
    enum http_failure failure;
    bool is_unsent;
    int status;
    char *body;
    int64_t at_ms;
    struct http_call *call; // sent last
    const char *next;       // sent from within the callback
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->loop = virtual_loop_new(1767225600LL * UNIX_MS);
    bench->backend = model_backend_new(bench->loop);
    bench->pihole = model_backend_add_pihole(bench->backend, URL, "");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    model_backend_free(bench->backend);
    loop_free(bench->loop);
    free(bench->body);
    free(bench);
    return 0;
}

static void send(struct bench *bench, const char *method, const char *url);

static void handle_reply(void *context, const struct http_reply *reply)
{
    struct bench *bench = context;
    bench->heard++;
    bench->failure = reply->failure;
    bench->is_unsent = reply->is_unsent;
    bench->status = reply->status;
    free(bench->body);
    bench->body = text_dup(reply->body.at ? reply->body : TEXT(""));
    bench->at_ms = loop_mono_ms(bench->loop);
    if (reply->failure == HTTP_OK)
        assert_non_null(http_reply_header(reply, "date"));
    if (bench->next)
        send(bench, "GET", steal(bench->next));
}

static void send(struct bench *bench, const char *method, const char *url)
{
    const struct http_request request = {.method = method,
                                         .url = url,
                                         .timeout_ms = TIMEOUT_MS,
                                         .user_agent = "signpost/1.0 (1a2b3c4d)"};
    bench->call = http_send(model_backend_http(bench->backend), &request, handle_reply, bench);
}

static int64_t took(struct bench *bench, const char *method, const char *url)
{
    int64_t before_ms = loop_mono_ms(bench->loop);
    send(bench, method, url);
    virtual_loop_run_until(bench->loop, before_ms + TIMEOUT_MS + 1);
    return bench->at_ms - before_ms;
}

static void set(struct bench *bench, const char *name, const char *value)
{
    assert_true(model_pihole_set(bench->pihole, loop_mono_ms(bench->loop), name, value, NULL));
}

static void a_pihole_answers_in_its_own_time(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(took(bench, "PUT", HOSTS "/192.0.2.1%20a"), 5);
    assert_int_equal(bench->status, 201);
    assert_int_equal(took(bench, "GET", HOSTS), 1);
    assert_string_equal(bench->body,
                        "{\"config\":{\"dns\":{\"hosts\":[\"192.0.2.1 a\"]}},\"took\":0.001}");
    const struct model_request *put = model_backend_request(bench->backend, 0);
    const struct model_request *get = model_backend_request(bench->backend, 1);
    assert_string_equal(put->path, "/api/config/dns/hosts/192.0.2.1%20a");
    assert_string_equal(model_host_url(put->host), URL);
    assert_int_equal(put->status, 201);
    assert_false(put->is_question);
    assert_true(get->is_question);
    assert_null(model_backend_find(bench->backend, URL));
}

static void one_that_is_down_hears_nothing_and_one_that_hangs_runs_into_the_timeout(void **state)
{
    struct bench *bench = *state;
    set(bench, "up", "false");
    took(bench, "GET", HOSTS);
    assert_int_equal(bench->failure, HTTP_UNREACHABLE);
    assert_true(bench->is_unsent);
    set(bench, "up", "true");
    set(bench, "hangs", "true");
    assert_int_equal(took(bench, "GET", HOSTS), TIMEOUT_MS);
    assert_int_equal(bench->failure, HTTP_TIMEOUT);
    assert_false(bench->is_unsent);
}

static void a_restart_refuses_then_answers_again(void **state)
{
    struct bench *bench = *state;
    send(bench, "PUT", CNAMES "/a%2Cb");
    int64_t sent_ms = loop_mono_ms(bench->loop);
    virtual_loop_run_until(bench->loop, sent_ms + 300);
    assert_int_equal(bench->status, 201);
    send(bench, "GET", CNAMES);
    virtual_loop_run_until(bench->loop, sent_ms + 310);
    assert_int_equal(bench->failure, HTTP_UNREACHABLE);
    virtual_loop_run_until(bench->loop, sent_ms + 400);
    took(bench, "GET", CNAMES);
    assert_int_equal(bench->status, 200);
}

static void what_the_process_took_with_it_is_never_answered(void **state)
{
    struct bench *bench = *state;
    send(bench, "PUT", HOSTS "/192.0.2.1%20a");
    set(bench, "up", "false");
    set(bench, "up", "true");
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + 10);
    assert_int_equal(bench->failure, HTTP_UNREACHABLE);
    assert_false(bench->is_unsent);
    assert_int_equal(model_pihole_count(bench->pihole, PIHOLE_HOSTS), 1);
}

static void faults_of_the_network_count_every_request(void **state)
{
    struct bench *bench = *state;
    model_backend_fault(bench->backend, 0, NETWORK_FAILS);
    model_backend_fault(bench->backend, 1, NETWORK_LOSES);
    took(bench, "PUT", HOSTS "/192.0.2.1%20a");
    assert_int_equal(bench->failure, HTTP_UNREACHABLE);
    assert_int_equal(model_pihole_count(bench->pihole, PIHOLE_HOSTS), 0);
    took(bench, "PUT", HOSTS "/192.0.2.1%20a");
    assert_int_equal(bench->failure, HTTP_UNREACHABLE);
    assert_int_equal(model_pihole_count(bench->pihole, PIHOLE_HOSTS), 1);
    took(bench, "GET", HOSTS);
    assert_int_equal(bench->status, 200);
    assert_int_equal(model_backend_change_count(bench->backend), 3);
    assert_null(model_pihole_breach(bench->pihole));
}

static void one_after_the_other_is_no_breach_and_two_at_once_are(void **state)
{
    struct bench *bench = *state;
    bench->next = CNAMES;
    took(bench, "GET", HOSTS);
    assert_int_equal(bench->heard, 2);
    send(bench, "GET", HOSTS);
    http_cancel(model_backend_http(bench->backend), bench->call);
    took(bench, "GET", HOSTS);
    assert_null(model_pihole_breach(bench->pihole));
    send(bench, "GET", HOSTS);
    took(bench, "GET", CNAMES);
    assert_non_null(model_pihole_breach(bench->pihole));
}

static void the_process_that_dies_leaves_no_request_behind(void **state)
{
    struct bench *bench = *state;
    model_backend_fault(bench->backend, 0, NETWORK_SILENCE);
    send(bench, "PUT", HOSTS "/192.0.2.1%20a");
    assert_true(virtual_loop_is_stopped(bench->loop));
    assert_int_equal(model_pihole_count(bench->pihole, PIHOLE_HOSTS), 1);
    http_cancel(model_backend_http(bench->backend), bench->call);
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + 1);
    took(bench, "GET", HOSTS);
    assert_int_equal(bench->heard, 1);
    assert_null(model_pihole_breach(bench->pihole));
}

#define WITH_NETWORK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NETWORK(a_pihole_answers_in_its_own_time),
        WITH_NETWORK(one_that_is_down_hears_nothing_and_one_that_hangs_runs_into_the_timeout),
        WITH_NETWORK(a_restart_refuses_then_answers_again),
        WITH_NETWORK(what_the_process_took_with_it_is_never_answered),
        WITH_NETWORK(faults_of_the_network_count_every_request),
        WITH_NETWORK(one_after_the_other_is_no_breach_and_two_at_once_are),
        WITH_NETWORK(the_process_that_dies_leaves_no_request_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
