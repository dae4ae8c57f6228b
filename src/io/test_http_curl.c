#include "io/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/http_server.h"
#include "io/listen.h"
#include "io/loop.h"

enum { PATIENCE_MS = 600 * 1000, MAX_SEEN = 8 };

struct seen {
    enum http_failure failure;
    struct error error;
    bool is_unsent;
    bool is_tls;
    int status;
    char body[4096];
    size_t body_len;
    char header[128]; // X-Reply
    size_t header_count;
};

struct story {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
    struct http_exchange *held; // by "/hold"
    struct loop_timer patience;
    struct seen seen[MAX_SEEN];
    size_t count;
    size_t wanted;
    unsigned gone;
    char peers[MAX_SEEN][64];
    char url[128];
    size_t reply_octets; // of "/big"
};

static void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static void run_until(struct story *story, size_t wanted)
{
    story->wanted = wanted;
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    if (story->count < wanted)
        loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

static void on_done(void *context, const struct http_reply *reply)
{
    struct story *story = context;
    struct seen *seen = &story->seen[story->count++];
    const char *header = http_reply_header(reply, "x-reply");
    seen->failure = reply->failure;
    seen->error = reply->error;
    seen->is_unsent = reply->is_unsent;
    seen->is_tls = reply->is_tls;
    seen->status = reply->status;
    seen->body_len = reply->body.len;
    seen->header_count = reply->header_count;
    snprintf(seen->body, sizeof(seen->body), "%.*s", TEXT_ARGS(reply->body));
    snprintf(seen->header, sizeof(seen->header), "%s", header ? header : "(none)");
    if (story->count == story->wanted)
        loop_stop(story->loop);
}

static void echo(struct http_exchange *exchange)
{
    static const char *const names[] = {"Host",         "User-Agent",     "Accept",
                                        "Content-Type", "Content-Length", "Transfer-Encoding",
                                        "Expect",       "Accept-Encoding"};
    AUTO_BUFFER out = {0};
    struct http_header extra = {"X-Reply", "here"};
    buffer_printf(&out, "%s %s\n", http_exchange_method(exchange), http_exchange_target(exchange));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = http_exchange_header(exchange, names[i], 0);
        if (value && strcmp(names[i], "Host") != 0)
            buffer_printf(&out, "%s: %s\n", names[i], value);
    }
    struct text body = http_exchange_body(exchange);
    buffer_printf(&out, "\n%.*s", TEXT_ARGS(body));
    http_answer(exchange, 200, "text/plain", buffer_text(&out), &extra, 1);
}

static void answer_big(struct story *story, struct http_exchange *exchange)
{
    autofree char *body = mem_new(1, story->reply_octets + 1);
    memset(body, 'x', story->reply_octets);
    http_answer(exchange, 200, "text/plain", (struct text){body, story->reply_octets}, NULL, 0);
}

static void answer_long_header(struct story *story, struct http_exchange *exchange)
{
    autofree char *value = mem_new(1, story->reply_octets + 1);
    memset(value, 'x', story->reply_octets);
    struct http_header header = {"X-Reply", value};
    http_answer(exchange, 200, "text/plain", TEXT(""), &header, 1);
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    const char *target = http_exchange_target(exchange);
    if (strcmp(target, "/big") == 0)
        answer_big(story, exchange);
    else if (strcmp(target, "/header") == 0)
        answer_long_header(story, exchange);
    else if (strcmp(target, "/hold") == 0)
        story->held = exchange;
    else if (strcmp(target, "/moved") == 0)
        http_answer(exchange, 302, NULL, TEXT(""), &(struct http_header){"Location", "/elsewhere"},
                    1);
    else if (strcmp(target, "/empty") == 0)
        http_answer(exchange, 204, NULL, TEXT(""), NULL, 0);
    else if (strcmp(target, "/teapot") == 0)
        http_answer(exchange, 503, "text/plain", TEXT("later"), NULL, 0);
    else
        echo(exchange);
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    assert_ptr_equal(exchange, story->held);
    story->gone++;
    story->count++;
    loop_stop(story->loop);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    story->loop = loop_new();
    story->http = http_curl_new(story->loop, "signpost/test");
    struct http_server_options options = {
        .address = "127.0.0.1", .handle = handle, .gone = on_gone, .context = story};
    story->server = http_server_new(story->loop, &options, NULL);
    assert_non_null(story->server);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    http_free(story->http);
    http_server_free(story->server);
    loop_free(story->loop);
    free(story);
    return 0;
}

static struct http_request request_to(struct story *story, const char *method, const char *path)
{
    snprintf(story->url, sizeof(story->url), "http://127.0.0.1:%u%s",
             http_server_port(story->server), path);
    return (struct http_request){.method = method,
                                 .url = story->url,
                                 .timeout_ms = PATIENCE_MS,
                                 .connect_timeout_ms = PATIENCE_MS};
}

static const struct seen *get(struct story *story, const struct http_request *request)
{
    size_t index = story->count;
    assert_non_null(http_send(story->http, request, on_done, story));
    assert_int_equal(story->count, index);
    run_until(story, index + 1);
    return &story->seen[index];
}

static void an_answer_comes_with_status_headers_and_body(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/a?b=c");
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->failure, HTTP_OK);
    assert_int_equal(seen->error.fault, FAULT_NONE);
    assert_int_equal(seen->status, 200);
    assert_string_equal(seen->header, "here");
    assert_string_equal(seen->body, "GET /a?b=c\nUser-Agent: signpost/test\n\n");
}

static void a_body_is_sent_with_its_length_and_nothing_else(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "POST", "/records");
    struct http_header header = {"Content-Type", "application/json"};
    request.headers = &header;
    request.header_count = 1;
    request.body = TEXT("{\"a\":1}");
    const struct seen *seen = get(story, &request);
    assert_string_equal(seen->body, "POST /records\n"
                                    "User-Agent: signpost/test\n"
                                    "Content-Type: application/json\n"
                                    "Content-Length: 7\n\n{\"a\":1}");
}

static void an_empty_body_has_length_zero_and_an_absent_one_none(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "POST", "/records");
    request.body = TEXT("");
    assert_string_equal(get(story, &request)->body,
                        "POST /records\nUser-Agent: signpost/test\nContent-Length: 0\n\n");
    request.body = (struct text){NULL, 0};
    assert_string_equal(get(story, &request)->body, "POST /records\nUser-Agent: signpost/test\n\n");
}

static void a_large_body_arrives_without_expect(void **state)
{
    struct story *story = *state;
    static char body[900 * 1024];
    memset(body, 'x', sizeof(body));
    struct http_request request = request_to(story, "PUT", "/records");
    request.body = (struct text){body, sizeof(body)};
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->status, 200);
    assert_null(strstr(seen->body, "Expect"));
    assert_non_null(strstr(seen->body, "Content-Length: 921600\n"));
}

static void every_method_goes_through(void **state)
{
    struct story *story = *state;
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct http_request request = request_to(story, methods[i], "/x");
        const struct seen *seen = get(story, &request);
        assert_int_equal(strncmp(seen->body, methods[i], strlen(methods[i])), 0);
    }
}

static void head_has_no_body(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "HEAD", "/x");
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->failure, HTTP_OK);
    assert_int_equal(seen->status, 200);
    assert_int_equal(seen->body_len, 0);
    assert_string_equal(seen->header, "here");
}

static void error_statuses_are_answers(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/teapot");
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->failure, HTTP_OK);
    assert_int_equal(seen->status, 503);
    assert_string_equal(seen->body, "later");
}

static void an_answer_without_content_is_empty(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "DELETE", "/empty");
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->status, 204);
    assert_int_equal(seen->body_len, 0);
}

static void redirects_are_not_followed(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/moved");
    assert_int_equal(get(story, &request)->status, 302);
}

static void the_path_is_sent_as_it_is(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/a/../%41/./b");
    assert_int_equal(strncmp(get(story, &request)->body, "GET /a/../%41/./b\n", 18), 0);
}

static void a_body_over_the_limit_is_too_big(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/big");
    request.max_body_octets = 100000;
    story->reply_octets = 100000;
    assert_int_equal(get(story, &request)->failure, HTTP_OK);
    story->reply_octets = 100001;
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->failure, HTTP_TOO_BIG);
    assert_int_equal(seen->error.fault, FAULT_AGAIN);
    assert_non_null(strstr(seen->error.text, "is over 100000 octets"));
    assert_int_equal(seen->body_len, 0);
}

static void a_header_over_the_limit_is_too_big(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/header");
    story->reply_octets = 15 * 1024;
    assert_int_equal(get(story, &request)->failure, HTTP_OK);
    const size_t sizes[] = {16 * 1024, 64 * 1024, 1024 * 1024};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        story->reply_octets = sizes[i];
        const struct seen *seen = get(story, &request);
        assert_int_equal(seen->failure, HTTP_TOO_BIG);
        assert_non_null(strstr(seen->error.text, "header of the answer from 127.0.0.1:"));
        assert_non_null(strstr(seen->error.text, "is over 16384 octets"));
    }
}

static void a_silent_server_times_out(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/hold");
    request.timeout_ms = 30;
    http_send(story->http, &request, on_done, story);
    run_until(story, 1);
    assert_int_equal(story->seen[0].failure, HTTP_TIMEOUT);
    assert_non_null(strstr(story->seen[0].error.text, "no answer from 127.0.0.1:"));
    assert_non_null(strstr(story->seen[0].error.text, "within 30 ms"));
    assert_false(story->seen[0].is_unsent);
    run_until(story, 2);
    assert_int_equal(story->gone, 1);
}

static void an_unreachable_port_is_named(void **state)
{
    struct story *story = *state;
    struct listen_socket socket;
    char expected[128];
    struct http_request request = request_to(story, "GET", "/");
    assert_true(listen_open(&socket, "127.0.0.1", 0, NULL));
    close(socket.fd);
    snprintf(story->url, sizeof(story->url), "http://127.0.0.1:%u/", socket.port);
    const struct seen *seen = get(story, &request);
    snprintf(expected, sizeof(expected), "cannot connect to 127.0.0.1:%u: connection refused",
             socket.port);
    assert_int_equal(seen->failure, HTTP_UNREACHABLE);
    assert_string_equal(seen->error.text, expected);
    assert_int_equal(seen->error.fault, FAULT_AGAIN);
    assert_true(seen->is_unsent);
    assert_false(seen->is_tls);
}

static void what_is_no_request_fails_afterwards(void **state)
{
    struct story *story = *state;
    static const char *const urls[] = {"", "127.0.0.1", "ftp://127.0.0.1/", "http://a b/",
                                       "http:///"};
    struct http_request request = request_to(story, "GET", "/");
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        request.url = urls[i];
        assert_int_equal(get(story, &request)->failure, HTTP_UNREACHABLE);
    }
}

static void a_line_break_in_a_header_is_refused(void **state)
{
    struct story *story = *state;
    struct http_header header = {"Authorization", "Bearer secret\r\nX: y"};
    struct http_request request = request_to(story, "GET", "/");
    request.headers = &header;
    request.header_count = 1;
    const struct seen *seen = get(story, &request);
    assert_int_equal(seen->failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(seen->error.text, "Authorization"));
    assert_null(strstr(seen->error.text, "secret"));
}

static void never(void *context, const struct http_reply *reply)
{
    (void)context, (void)reply;
    fail_msg("a cancelled call came back");
}

static void a_cancelled_call_ends_in_silence(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/hold");
    struct http_call *unsent = http_send(story->http, &request, never, story);
    http_cancel(story->http, unsent);
    struct http_call *sent = http_send(story->http, &request, never, story);
    request.url = "nonsense";
    struct http_call *failed = http_send(story->http, &request, never, story);
    http_cancel(story->http, failed);
    request = request_to(story, "GET", "/ping");
    get(story, &request);
    assert_non_null(story->held);
    http_cancel(story->http, sent);
    run_until(story, 2);
    assert_int_equal(story->gone, 1);
}

struct chain {
    struct story *story;
    struct http_call *other;
};

static void cancel_other(void *context, const struct http_reply *reply)
{
    struct chain *chain = context;
    assert_int_equal(reply->failure, HTTP_OK);
    http_cancel(chain->story->http, chain->other);
    struct http_request request = request_to(chain->story, "GET", "/next");
    http_send(chain->story->http, &request, on_done, chain->story);
}

static void a_callback_may_cancel_and_send(void **state)
{
    struct story *story = *state;
    struct chain chain = {.story = story};
    struct http_request request = request_to(story, "GET", "/hold");
    chain.other = http_send(story->http, &request, never, story);
    request = request_to(story, "GET", "/first");
    http_send(story->http, &request, cancel_other, &chain);
    run_until(story, 1);
    run_until(story, 2);
    assert_int_equal(story->gone, 1);
}

static void free_all(void *context, const struct http_reply *reply)
{
    struct story *story = context;
    assert_int_equal(reply->status, 200);
    http_free(story->http);
    story->http = NULL;
    story->count++;
    loop_stop(story->loop);
}

static void a_callback_may_free_the_client(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/hold");
    http_send(story->http, &request, never, story);
    request = request_to(story, "GET", "/x");
    http_send(story->http, &request, free_all, story);
    run_until(story, 1);
    assert_null(story->http);
}

// ---- against a bare socket ----------------------------------------------------------------------

struct bare {
    struct story *story;
    struct listen_socket socket;
    struct loop_fd *watch;
    struct loop_fd *client_watch;
    int client;
    unsigned accepted;
    unsigned requests;
    const char *answer;
    bool closes;
};

static void bare_read(void *context, int fd, unsigned interest)
{
    struct bare *bare = context;
    char request[4096];
    (void)interest;
    ssize_t len = read(fd, request, sizeof(request));
    if (len <= 0) {
        loop_unwatch_fd(bare->story->loop, bare->client_watch);
        bare->client_watch = NULL;
        return;
    }
    bare->requests++;
    assert_true(write(fd, bare->answer, strlen(bare->answer)) >= 0);
    if (bare->closes)
        shutdown(fd, SHUT_RDWR);
}

static void bare_accept(void *context, int fd, unsigned interest)
{
    struct bare *bare = context;
    (void)interest;
    if (bare->client >= 0) {
        loop_unwatch_fd(bare->story->loop, bare->client_watch);
        close(bare->client);
    }
    bare->client = accept(fd, NULL, NULL);
    bare->accepted++;
    bare->client_watch = loop_watch_fd(bare->story->loop, bare->client, LOOP_READ, bare_read, bare);
}

static void bare_open(struct bare *bare, struct story *story, const char *answer)
{
    *bare = (struct bare){.story = story, .answer = answer, .client = -1};
    assert_true(listen_open(&bare->socket, "127.0.0.1", 0, NULL));
    bare->watch = loop_watch_fd(story->loop, bare->socket.fd, LOOP_READ, bare_accept, bare);
    snprintf(story->url, sizeof(story->url), "http://127.0.0.1:%u/", bare->socket.port);
}

static void bare_close(struct bare *bare)
{
    loop_unwatch_fd(bare->story->loop, bare->watch);
    loop_unwatch_fd(bare->story->loop, bare->client_watch);
    close(bare->socket.fd);
    if (bare->client >= 0)
        close(bare->client);
}

static void a_connection_is_used_again(void **state)
{
    struct story *story = *state;
    struct bare bare;
    struct http_request request = request_to(story, "GET", "/");
    bare_open(&bare, story, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(get(story, &request)->body, "ok");
    assert_int_equal(bare.accepted, 1);
    assert_int_equal(bare.requests, 4);
    bare_close(&bare);
}

static bool leads_to(int fd, uint16_t port)
{
    struct sockaddr_in at = {0};
    socklen_t len = sizeof(at);
    return getpeername(fd, (struct sockaddr *)&at, &len) == 0 && ntohs(at.sin_port) == port;
}

static void connections_are_not_inherited_by_children(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/x");
    unsigned found = 0;
    get(story, &request);
    for (int fd = 3; fd < 64; fd++) {
        if (!leads_to(fd, http_server_port(story->server)))
            continue;
        found++;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(found, 1);
}

static void repeated_headers_are_all_there(void **state)
{
    struct story *story = *state;
    struct bare bare;
    struct http_request request = request_to(story, "GET", "/");
    bare_open(&bare, story,
              "HTTP/1.1 100 Continue\r\nX-Reply: early\r\n\r\n"
              "HTTP/1.1 200 OK\r\nx-REPLY:  one \r\nX-Reply: two\r\nContent-Length: 0\r\n\r\n");
    const struct seen *seen = get(story, &request);
    assert_string_equal(seen->header, "one");
    assert_int_equal(seen->header_count, 3);
    bare_close(&bare);
}

static void a_chunked_answer_is_joined(void **state)
{
    struct story *story = *state;
    struct bare bare;
    struct http_request request = request_to(story, "GET", "/");
    bare_open(
        &bare, story,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    assert_string_equal(get(story, &request)->body, "abc");
    bare_close(&bare);
}

static void a_broken_answer_is_a_lost_connection(void **state)
{
    struct story *story = *state;
    struct bare bare;
    static const char *const answers[] = {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                                          "HTTP/1.1 200 OK\r\n", "SSH-2.0-dropbear\r\n"};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct http_request request = request_to(story, "GET", "/");
        bare_open(&bare, story, answers[i]);
        bare.closes = true;
        const struct seen *seen = get(story, &request);
        if (seen->failure != HTTP_UNREACHABLE)
            print_message("%zu: %s\n", i, seen->error.text);
        assert_int_equal(seen->failure, HTTP_UNREACHABLE);
        bare_close(&bare);
    }
}

enum { ENDLESS_OCTETS = 300 * 1024 };

static void a_head_over_the_limit_is_too_big_wherever_it_grows(void **state)
{
    struct story *story = *state;
    struct bare bare;
    static const struct {
        const char *start;
        const char *again; // over and over
    } answers[] = {
        {"HTTP/1.1 ", "2"},
        {"HTTP/1.1 200 ", "x"},
        {"HTTP/1.1 200 OK\r\nX-Reply: ", "x"},
        {"HTTP/1.1 200 OK\r\n", "x"},
        {"HTTP/1.1 200 OK\r\nX-Reply: a\r\n ", "x"},
        {"HTTP/1.1 200 OK\r\nX-Reply: a\r\n", " x\r\n"},
        {"HTTP/1.1 200 OK\r\n", "X-Reply: a\r\n"},
        {"", "HTTP/1.1 100 Continue\r\n\r\n"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Reply: ", "x"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Reply: ", "x"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Reply: a\r\n"},
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        AUTO_BUFFER answer = {0};
        buffer_add_text(&answer, answers[i].start);
        while (answer.len < ENDLESS_OCTETS)
            buffer_add_text(&answer, answers[i].again);
        struct http_request request = request_to(story, "GET", "/");
        bare_open(&bare, story, answer.at);
        const struct seen *seen = get(story, &request);
        if (seen->failure != HTTP_TOO_BIG)
            print_message("%zu: %s\n", i, seen->error.text);
        assert_int_equal(seen->failure, HTTP_TOO_BIG);
        assert_non_null(strstr(seen->error.text, "er of the answer from 127.0.0.1:"));
        story->count = 0;
        bare_close(&bare);
    }
}

static void a_proxy_gets_what_is_not_local(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "GET", "/");
    http_free(story->http);
    setenv("HTTP_PROXY", story->url, 1);
    story->http = http_curl_new(story->loop, "signpost/test");
    unsetenv("HTTP_PROXY");
    request.url = "http://signpost.example/path";
    // The server reads the absolute form and shows its path.
    assert_int_equal(strncmp(get(story, &request)->body, "GET /path\n", 10), 0);
}

int main(void)
{
    unsetenv("HTTP_PROXY");
    unsetenv("http_proxy");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_head_over_the_limit_is_too_big_wherever_it_grows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_comes_with_status_headers_and_body, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_body_is_sent_with_its_length_and_nothing_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_empty_body_has_length_zero_and_an_absent_one_none,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_body_arrives_without_expect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_method_goes_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_has_no_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(error_statuses_are_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_without_content_is_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(redirects_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_path_is_sent_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_over_the_limit_is_too_big, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_header_over_the_limit_is_too_big, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_server_times_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unreachable_port_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_request_fails_afterwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_break_in_a_header_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_call_ends_in_silence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callback_may_cancel_and_send, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callback_may_free_the_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_connection_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(connections_are_not_inherited_by_children, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(repeated_headers_are_all_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_chunked_answer_is_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_answer_is_a_lost_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_proxy_gets_what_is_not_local, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
