#include "io/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/listen.h"
#include "io/loop.h"

enum { PATIENCE_MS = 600 * 1000, SHORT_MS = 40, MAX_HELD = 4 };

struct story {
    struct loop *loop;
    struct http_server_options options;
    struct http_server *server;
    struct loop_timer patience;
    struct http_exchange *held[MAX_HELD];
    unsigned held_count;
    unsigned requests;
    unsigned gone;
    size_t reply_octets;     // of "/big"
    unsigned reported_count; // of its port
    bool is_reported_of_trouble;
};

// ---- a client that sends what it is told --------------------------------------------------------

struct client {
    struct story *story;
    int fd;
    struct loop_fd *watch;
    struct buffer input;
    bool is_closed;
    const char *awaited;
    struct loop_timer dribble;
    unsigned dribbled;
};

static void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static void run(struct story *story)
{
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

static bool has_come(const struct client *client)
{
    return client->awaited && client->input.at && strstr(client->input.at, client->awaited);
}

static void on_client(void *context, int fd, unsigned interest)
{
    struct client *client = context;
    char piece[65536];
    (void)interest;
    ssize_t len = read(fd, piece, sizeof(piece));
    if (len > 0) {
        buffer_add(&client->input, piece, (size_t)len);
    } else {
        client->is_closed = true;
        loop_unwatch_fd(client->story->loop, client->watch);
        client->watch = NULL;
    }
    if (client->is_closed || has_come(client))
        loop_stop(client->story->loop);
}

static void client_open(struct client *client, struct story *story)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(story->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *client = (struct client){.story = story, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(connect(client->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    client->watch = loop_watch_fd(story->loop, client->fd, LOOP_READ, on_client, client);
}

static void client_close(struct client *client)
{
    loop_timer_cancel(client->story->loop, &client->dribble);
    loop_unwatch_fd(client->story->loop, client->watch);
    client->watch = NULL;
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    buffer_done(&client->input);
}

static void client_send(struct client *client, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(send(client->fd, text, len, MSG_NOSIGNAL), len);
}

static void await(struct client *client, const char *text)
{
    client->awaited = text;
    while (!client->is_closed && !has_come(client))
        run(client->story);
    if (!has_come(client))
        print_message("got: %s\n", client->input.at ? client->input.at : "");
    assert_true(has_come(client));
}

static void await_end(struct client *client)
{
    client->awaited = NULL;
    while (!client->is_closed)
        run(client->story);
}

static void stop(void *context)
{
    struct story *story = context;
    loop_stop(story->loop);
}

static void wait_ms(struct story *story, int64_t ms)
{
    struct loop_timer timer = {.call = stop, .context = story};
    loop_timer_set(story->loop, &timer, ms);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &timer);
}

// ---- the server's side --------------------------------------------------------------------------

static unsigned count_headers(const struct http_exchange *exchange, const char *name)
{
    unsigned count = 0;
    while (http_exchange_header(exchange, name, count))
        count++;
    return count;
}

static void show(struct http_exchange *exchange)
{
    AUTO_BUFFER out = {0};
    struct text body = http_exchange_body(exchange);
    buffer_printf(&out, "[%s %s %u %.*s]", http_exchange_method(exchange),
                  http_exchange_target(exchange), count_headers(exchange, "x-thing"),
                  TEXT_ARGS(body));
    http_answer(exchange, 200, "text/plain", buffer_text(&out), NULL, 0);
}

static void answer_big(struct story *story, struct http_exchange *exchange)
{
    autofree char *body = mem_new(1, story->reply_octets + 1);
    memset(body, 'x', story->reply_octets);
    http_answer(exchange, 200, "text/plain", (struct text){body, story->reply_octets}, NULL, 0);
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    const char *target = http_exchange_target(exchange);
    story->requests++;
    if (strncmp(target, "/hold", 5) == 0) {
        assert_true(story->held_count < MAX_HELD);
        http_exchange_set_data(exchange, story);
        story->held[story->held_count++] = exchange;
        loop_stop(story->loop);
    } else if (strcmp(target, "/big") == 0) {
        answer_big(story, exchange);
    } else if (strcmp(target, "/none") == 0) {
        http_answer(exchange, 204, NULL, TEXT(""), NULL, 0);
    } else if (strcmp(target, "/429") == 0) {
        http_answer(exchange, 429, "text/plain", TEXT("slow"),
                    &(struct http_header){"Retry-After", "7"}, 1);
    } else if (strcmp(target, "/peer") == 0) {
        http_answer(exchange, 200, "text/plain", text_of(http_exchange_peer(exchange)), NULL, 0);
    } else {
        show(exchange);
    }
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    assert_ptr_equal(http_exchange_data(exchange), story);
    story->gone++;
    loop_stop(story->loop);
}

static void start(struct story *story)
{
    story->options.address = "127.0.0.1";
    story->options.handle = handle;
    story->options.gone = on_gone;
    story->options.context = story;
    story->server = http_server_new(story->loop, &story->options, NULL);
    assert_non_null(story->server);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    story->loop = loop_new();
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    http_server_free(story->server);
    loop_free(story->loop);
    free(story);
    return 0;
}

// ---- tests --------------------------------------------------------------------------------------

static void a_connection_is_kept_between_requests(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
    await(&client, "[GET /a?b 0 ]");
    assert_non_null(strstr(client.input.at, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(client.input.at, "Content-Type: text/plain\r\n"));
    assert_non_null(strstr(client.input.at, "Content-Length: 13\r\n"));
    assert_non_null(strstr(client.input.at, "Date: "));
    client_send(&client, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    await(&client, "[POST /b 0 abc]");
    client_close(&client);
}

static void repeated_headers_can_be_counted(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /a HTTP/1.1\r\nX-Thing: 1\r\nx-thing: 2\r\nX-Thing: 3\r\n\r\n");
    await(&client, "[GET /a 3 ]");
    client_close(&client);
}

static void every_method_reaches_the_handler(void **state)
{
    struct story *story = *state;
    struct client client;
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    start(story);
    client_open(&client, story);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        char request[64], shown[64];
        snprintf(request, sizeof(request), "%s /m HTTP/1.1\r\n\r\n", methods[i]);
        snprintf(shown, sizeof(shown), "[%s /m 0 ]", methods[i]);
        client_send(&client, request);
        await(&client, shown);
    }
    client_close(&client);
}

static void head_gets_the_length_without_the_body(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "HEAD /a HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
    await(&client, "[GET /next 0 ]");
    assert_null(strstr(client.input.at, "[HEAD"));
    assert_non_null(strstr(client.input.at, "Content-Length: 12\r\n"));
    client_close(&client);
}

static void statuses_and_headers_are_passed_on(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client,
                "GET /429 HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
    await(&client, "[GET /x 0 ]");
    assert_non_null(strstr(client.input.at, "HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(client.input.at, "Retry-After: 7\r\n"));
    assert_non_null(strstr(client.input.at, "HTTP/1.1 204 No Content\r\n"));
    client_close(&client);
}

static void the_peer_is_an_address_without_port(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /peer HTTP/1.1\r\n\r\n");
    await(&client, "\r\n\r\n127.0.0.1");
    client_close(&client);
}

static void an_absolute_target_shows_its_path(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\n\r\n");
    await(&client, "[GET /p?q 0 ]");
    client_close(&client);
}

static void requests_sent_ahead_are_answered_in_order(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /1 HTTP/1.1\r\n\r\n"
                         "POST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"
                         "GET /3 HTTP/1.1\r\n\r\n");
    await(&client, "[GET /3 0 ]");
    const char *first = strstr(client.input.at, "[GET /1 0 ]");
    const char *second = strstr(client.input.at, "[POST /2 0 hi]");
    assert_true(first && second && first < second);
    client_close(&client);
}

static void what_comes_while_an_answer_is_awaited_waits(void **state)
{
    struct story *story = *state;
    static const char *const holds[] = {"GET /hold HTTP/1.1\r\n\r\n",
                                        "POST /hold HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"};
    start(story);
    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        struct client client;
        client_open(&client, story);
        client_send(&client, holds[i]);
        run(story);
        client_send(&client, "GET /after HTTP/1.1\r\n\r\n");
        wait_ms(story, 5);
        http_answer(story->held[i], 200, NULL, TEXT("held"), NULL, 0);
        await(&client, "[GET /after 0 ]");
        client_close(&client);
    }
    assert_int_equal(story->gone, 0);
}

static void a_body_in_chunks_is_joined(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    wait_ms(story, 2);
    client_send(&client, "2\r\nde\r\n0\r\n\r\n");
    await(&client, "[POST /c 0 abcde]");
    client_close(&client);
}

static void a_client_that_expects_continue_gets_it(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST /e HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    await(&client, "HTTP/1.1 100 Continue\r\n\r\n");
    client_send(&client, "ok");
    await(&client, "[POST /e 0 ok]");
    client_close(&client);
}

static void an_odd_version_may_expect_continue_too(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST /e HTTP/1.13\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    await(&client, " 100 Continue\r\n\r\n");
    client_send(&client, "ok");
    await(&client, "[POST /e 0 ok]");
    client_close(&client);
}

static void a_client_that_wants_to_close_is_obeyed(void **state)
{
    struct story *story = *state;
    static const char *const requests[] = {"GET /z HTTP/1.1\r\nConnection: close\r\n\r\n",
                                           "GET /z HTTP/1.0\r\n\r\n"};
    start(story);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct client client;
        client_open(&client, story);
        client_send(&client, requests[i]);
        await_end(&client);
        assert_non_null(strstr(client.input.at, "[GET /z 0 ]"));
        client_close(&client);
    }
}

static void a_half_closed_client_gets_its_answer(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /h HTTP/1.1\r\n\r\n");
    shutdown(client.fd, SHUT_WR);
    await_end(&client);
    assert_non_null(strstr(client.input.at, "[GET /h 0 ]"));
    client_close(&client);
}

// ---- what is refused ----------------------------------------------------------------------------

static void refuses(struct story *story, const char *request, const char *status)
{
    struct client client;
    unsigned before = story->requests;
    client_open(&client, story);
    client_send(&client, request);
    await_end(&client);
    struct text answer = buffer_text(&client.input);
    if (!text_starts(answer, status))
        print_message("%s\n-> %s\n", request, answer.at);
    assert_true(text_starts(answer, status));
    assert_non_null(strstr(answer.at, "Connection: close\r\n"));
    assert_null(strchr(answer.at, '<'));
    assert_int_equal(story->requests, before);
    client_close(&client);
}

static void malformed_requests_are_refused_in_plain_text(void **state)
{
    struct story *story = *state;
    static const char *const requests[] = {
        "nonsense\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET / FTP/1.1\r\n\r\n",
        "GET / x HTTP/1.1\r\n\r\n",
        "GET /\tx HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    start(story);
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        refuses(story, requests[i], "HTTP/1.1 400 ");
}

static void a_doubtful_body_length_is_refused(void **state)
{
    struct story *story = *state;
    start(story);
    refuses(story, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.1 400 ");
    refuses(story,
            "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 400 ");
    static const char *const lengths[] = {"+5", "0x5", "5 5", "5,5", "\t5", "+", ""};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        char request[128];
        snprintf(request, sizeof(request), "POST / HTTP/1.1\r\nContent-Length: %s\r\n\r\nabcde",
                 lengths[i]);
        refuses(story, request, "HTTP/1.1 400 ");
    }
    refuses(story, "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 400 ");
}

static void nothing_is_read_behind_a_refused_request(void **state)
{
    struct story *story = *state;
    start(story);
    refuses(story, "nonsense\r\nGET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ");
    refuses(story, "CONNECT h:1 FTP/1.1\r\nGET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ");
    refuses(story, "CONNECT h:1 FTP/1.1\r\n", "HTTP/1.1 400 ");
    refuses(story,
            "CONNECT h:1 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"
            "GET /x HTTP/1.1\r\n\r\n",
            "HTTP/1.1 400 ");
}

static void unknown_methods_are_refused(void **state)
{
    struct story *story = *state;
    start(story);
    refuses(story, "BREW / HTTP/1.1\r\n\r\n", "HTTP/1.1 501 ");
}

static void a_head_over_the_limit_is_refused(void **state)
{
    struct story *story = *state;
    start(story);
    autofree char *long_line = mem_new(1, 20 * 1024);
    memset(long_line, 'x', 20 * 1024 - 1);
    refuses(story, long_line, "HTTP/1.1 414 ");
    memcpy(long_line, "GET / HTTP/1.1\r\nA: ", 19);
    refuses(story, long_line, "HTTP/1.1 431 ");
    AUTO_BUFFER many = {0};
    buffer_add_text(&many, "GET / HTTP/1.1\r\n");
    while (many.len < 20 * 1024)
        buffer_add_text(&many, "X-Thing: something\r\n");
    refuses(story, many.at, "HTTP/1.1 431 ");
    buffer_add_text(&many, "\r\n");
    refuses(story, many.at, "HTTP/1.1 431 ");
}

static void a_body_over_the_limit_is_refused(void **state)
{
    struct story *story = *state;
    story->options.max_body_octets = 1000;
    start(story);
    AUTO_BUFFER request = {0};
    buffer_add_text(&request, "POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n");
    for (unsigned i = 0; i < 1001; i++)
        buffer_add_char(&request, 'x');
    refuses(story, request.at, "HTTP/1.1 413 ");
    refuses(story, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\nx",
            "HTTP/1.1 413 ");
}

static void an_announced_body_over_the_limit_is_refused_at_once(void **state)
{
    struct story *story = *state;
    static const char *const lengths[] = {
        "1001",       "2147483647",          "2147483648",
        "4294967301", "9223372036854775807", "99999999999999999999"};
    story->options.max_body_octets = 1000;
    story->options.body_timeout_ms = 60000;
    start(story);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        char request[128];
        snprintf(request, sizeof(request), "POST / HTTP/1.1\r\nContent-Length: %s\r\n\r\n",
                 lengths[i]);
        refuses(story, request, "HTTP/1.1 413 ");
        snprintf(request, sizeof(request),
                 "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %s\r\n\r\n",
                 lengths[i]);
        refuses(story, request, "HTTP/1.1 413 ");
    }
}

static void what_follows_a_refusal_is_dropped_lest_a_reset_overtakes_it(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.max_body_octets = 1000;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST / HTTP/1.1\r\nContent-Length: 90000\r\n\r\n");
    loop_unwatch_fd(story->loop, client.watch);
    client.watch = NULL;
    autofree char *body = mem_new(1, 30001);
    memset(body, 'x', 30000);
    for (unsigned i = 0; i < 3; i++) {
        client_send(&client, body);
        wait_ms(story, 2);
    }
    client.watch = loop_watch_fd(story->loop, client.fd, LOOP_READ, on_client, &client);
    await_end(&client);
    assert_true(text_starts(buffer_text(&client.input), "HTTP/1.1 413 "));
    client_close(&client);
}

static void a_reply_to_connect_says_where_it_ends(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    client_send(&client, "CONNECT h:1 HTTP/1.1\r\n\r\n");
    await(&client, "[CONNECT h:1 0 ]");
    assert_non_null(strstr(client.input.at, "Content-Length: 16\r\n"));
    client_close(&client);
}

static void a_body_of_just_the_limit_is_taken(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.max_body_octets = 4;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST /l HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd");
    await(&client, "[POST /l 0 abcd]");
    client_close(&client);
}

static void a_body_is_never_read_as_a_request(void **state)
{
    struct story *story = *state;
    static const char *const methods[] = {"GET",  "HEAD",    "DELETE", "OPTIONS",
                                          "POST", "CONNECT", "TRACE"};
    static const char *const bodies[] = {
        "Content-Length: 23\r\n\r\nGET /evil HTTP/1.1\r\n\r\n ",
        "Transfer-Encoding: chunked\r\n\r\n16\r\nGET /evil HTTP/1.1\r\n\r\n\r\n0\r\n\r\n",
    };
    start(story);
    for (size_t i = 0; i < COUNT_OF(methods) * COUNT_OF(bodies); i++) {
        struct client client;
        char request[256], shown[64];
        const char *method = methods[i / COUNT_OF(bodies)];
        snprintf(request, sizeof(request), "%s /d HTTP/1.1\r\n%s", method,
                 bodies[i % COUNT_OF(bodies)]);
        client_open(&client, story);
        client_send(&client, request);
        await(&client, "HTTP/1.1 200 OK");
        wait_ms(story, 2);
        snprintf(shown, sizeof(shown), "[%s /d 0 GET /evil HTTP/1.1\r\n\r\n", method);
        assert_true(client.is_closed || strstr(client.input.at, shown));
        client_close(&client);
    }
    assert_int_equal(story->requests, COUNT_OF(methods) * COUNT_OF(bodies));
}

// ---- time ---------------------------------------------------------------------------------------

static void send_one(void *context)
{
    struct client *client = context;
    static const char octets[] = "GET / HTTP/1.1\r\nX-Thing: 1234567890";
    if (client->is_closed || client->dribbled + 1 == sizeof(octets))
        return;
    send(client->fd, octets + client->dribbled++, 1, MSG_NOSIGNAL);
    loop_timer_set(client->story->loop, &client->dribble, 4);
}

static void a_dribbled_head_is_cut(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.head_timeout_ms = SHORT_MS;
    start(story);
    client_open(&client, story);
    client.dribble = (struct loop_timer){.call = send_one, .context = &client};
    int64_t start_ms = loop_mono_ms(story->loop);
    send_one(&client);
    await_end(&client);
    int64_t taken_ms = loop_mono_ms(story->loop) - start_ms;
    assert_true(taken_ms >= SHORT_MS - 1);
    client_close(&client);
}

static void a_body_that_does_not_come_is_cut(void **state)
{
    struct story *story = *state;
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
        "POST / HTTP/1.1\nContent-Length: 10\n\nabc",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    };
    story->options.head_timeout_ms = 60000;
    story->options.body_timeout_ms = SHORT_MS;
    start(story);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct client client;
        client_open(&client, story);
        client_send(&client, heads[i]);
        await_end(&client);
        assert_int_equal(client.input.len, 0);
        client_close(&client);
    }
}

static void a_slow_body_has_its_own_time(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.head_timeout_ms = SHORT_MS;
    start(story);
    client_open(&client, story);
    client_send(&client, "POST /s HTTP/1.1\r\nContent-Length: 2\r\n\r\na");
    wait_ms(story, 2 * SHORT_MS);
    client_send(&client, "b");
    await(&client, "[POST /s 0 ab]");
    client_close(&client);
}

static void a_connection_without_request_is_cut_but_a_kept_one_stays(void **state)
{
    struct story *story = *state;
    struct client silent, kept;
    story->options.head_timeout_ms = SHORT_MS;
    start(story);
    client_open(&silent, story);
    client_open(&kept, story);
    client_send(&kept, "GET /k HTTP/1.1\r\n\r\n");
    await(&kept, "[GET /k 0 ]");
    await_end(&silent);
    wait_ms(story, SHORT_MS);
    assert_false(kept.is_closed);
    client_send(&kept, "GET /again HTTP/1.1\r\n\r\n");
    await(&kept, "[GET /again 0 ]");
    client_close(&silent);
    client_close(&kept);
}

static void a_client_that_does_not_read_is_cut(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.body_timeout_ms = SHORT_MS;
    story->reply_octets = 64 * 1024 * 1024;
    start(story);
    client_open(&client, story);
    loop_unwatch_fd(story->loop, client.watch);
    client.watch = NULL;
    client_send(&client, "GET /big HTTP/1.1\r\n\r\n");
    wait_ms(story, 3 * SHORT_MS);
    client.watch = loop_watch_fd(story->loop, client.fd, LOOP_READ, on_client, &client);
    await_end(&client);
    assert_true(client.input.len < story->reply_octets);
    client_close(&client);
}

static void an_answer_may_take_its_time(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.head_timeout_ms = SHORT_MS;
    story->options.body_timeout_ms = SHORT_MS;
    start(story);
    client_open(&client, story);
    client_send(&client, "GET /hold HTTP/1.1\r\n\r\n");
    run(story);
    wait_ms(story, 2 * SHORT_MS);
    http_answer(story->held[0], 200, NULL, TEXT("at last"), NULL, 0);
    await(&client, "at last");
    client_close(&client);
}

// ---- connections --------------------------------------------------------------------------------

static void the_oldest_idle_connection_makes_room(void **state)
{
    struct story *story = *state;
    struct client busy, idle, other, fresh;
    story->options.max_connections = 3;
    start(story);
    client_open(&busy, story);
    client_send(&busy, "GET /hold HTTP/1.1\r\n\r\n");
    run(story);
    client_open(&idle, story);
    client_send(&idle, "GET /1 HTTP/1.1\r\n\r\n");
    await(&idle, "[GET /1 0 ]");
    wait_ms(story, 3);
    client_open(&other, story);
    client_send(&other, "GET /2 HTTP/1.1\r\n\r\n");
    await(&other, "[GET /2 0 ]");
    client_open(&fresh, story);
    await_end(&idle);
    client_send(&fresh, "GET /3 HTTP/1.1\r\n\r\n");
    await(&fresh, "[GET /3 0 ]");
    assert_false(other.is_closed || busy.is_closed);
    http_answer(story->held[0], 200, NULL, TEXT("held"), NULL, 0);
    await(&busy, "held");
    client_close(&busy);
    client_close(&idle);
    client_close(&other);
    client_close(&fresh);
}

static void while_all_are_busy_a_new_one_is_told_so(void **state)
{
    struct story *story = *state;
    struct client busy[2], fresh;
    story->options.max_connections = 2;
    start(story);
    for (size_t i = 0; i < COUNT_OF(busy); i++) {
        client_open(&busy[i], story);
        client_send(&busy[i], "GET /hold HTTP/1.1\r\n\r\n");
        while (story->held_count <= i)
            wait_ms(story, 1);
    }
    client_open(&fresh, story);
    client_send(&fresh, "GET /in HTTP/1.1\r\n\r\n");
    await(&fresh, "HTTP/1.1 503 too many connections\r\n");
    await_end(&fresh);
    assert_non_null(strstr(fresh.input.at, "\r\nRetry-After: 1\r\n"));
    for (size_t i = 0; i < COUNT_OF(busy); i++) {
        http_answer(story->held[i], 200, NULL, TEXT("held"), NULL, 0);
        await(&busy[i], "held");
        client_close(&busy[i]);
    }
    client_close(&fresh);
}

// A server that has closed its end for good answers what comes with a reset.
static bool is_cut(struct client *client)
{
    send(client->fd, "x", 1, MSG_NOSIGNAL);
    wait_ms(client->story, 2);
    return send(client->fd, "x", 1, MSG_NOSIGNAL) < 0;
}

static void as_many_as_are_served_are_told_that_they_are_not(void **state)
{
    struct story *story = *state;
    struct client idle[8];
    story->options.max_connections = 2;
    start(story);
    for (size_t i = 0; i < COUNT_OF(idle); i++) {
        client_open(&idle[i], story);
        wait_ms(story, 2);
    }
    for (size_t i = 0; i < 6; i++)
        await_end(&idle[i]);
    assert_true(is_cut(&idle[0]) && is_cut(&idle[3]));
    assert_non_null(strstr(idle[4].input.at, "HTTP/1.1 503 "));
    assert_false(idle[6].is_closed || idle[7].is_closed);
    for (size_t i = 0; i < COUNT_OF(idle); i++)
        client_close(&idle[i]);
}

// All are accepted in one pass of the loop, which takes longer than the clock's millisecond.
static void the_newest_of_a_burst_keeps_its_place(void **state)
{
    struct story *story = *state;
    struct client burst[100], fresh;
    story->options.max_connections = 4;
    start(story);
    for (size_t i = 0; i < COUNT_OF(burst); i++)
        client_open(&burst[i], story);
    client_open(&fresh, story);
    client_send(&fresh, "GET /in HTTP/1.1\r\n\r\n");
    await(&fresh, "[GET /in 0 ]");
    client_close(&fresh);
    for (size_t i = 0; i < COUNT_OF(burst); i++)
        client_close(&burst[i]);
}

static void half_requests_keep_nobody_out(void **state)
{
    struct story *story = *state;
    static const char *const halves[] = {
        "", "GET / HT", "GET / HTTP/1.1\r\nA: b\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"};
    story->options.max_connections = 2;
    start(story);
    for (size_t i = 0; i < COUNT_OF(halves); i++) {
        struct client first, second, fresh;
        client_open(&first, story);
        client_send(&first, halves[i]);
        wait_ms(story, 2);
        client_open(&second, story);
        client_send(&second, halves[i]);
        wait_ms(story, 2);
        client_open(&fresh, story);
        client_send(&fresh, "GET /in HTTP/1.1\r\n\r\n");
        await_end(&first);
        assert_non_null(strstr(first.input.at, "HTTP/1.1 503 "));
        assert_non_null(strstr(first.input.at, "too many connections"));
        await(&fresh, "[GET /in 0 ]");
        assert_false(second.is_closed);
        client_close(&first);
        client_close(&second);
        client_close(&fresh);
        wait_ms(story, 2);
    }
}

// Half of a body of 100,000 octets.
static void send_half(struct client *client, size_t octets)
{
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "POST /half HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
    for (size_t i = 0; i < octets; i++)
        buffer_add_char(&text, 'x');
    client_send(client, text.at);
    wait_ms(client->story, 5);
}

static void send_more(struct client *client, size_t octets)
{
    AUTO_BUFFER text = {0};
    for (size_t i = 0; i < octets; i++)
        buffer_add_char(&text, 'x');
    client_send(client, text.at);
}

static void of_halves_that_are_too_much_together_the_largest_goes(void **state)
{
    struct story *story = *state;
    struct client large, small;
    story->options.max_held_octets = 110000;
    start(story);
    client_open(&large, story);
    client_open(&small, story);
    send_half(&large, 70000);
    send_half(&small, 30000);
    assert_false(large.is_closed || small.is_closed);
    send_more(&small, 20000);
    await_end(&large);
    send_more(&small, 50000);
    await(&small, "[POST /half 0 x");
    client_close(&large);
    client_close(&small);
}

static void what_is_answered_is_held_no_more(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.max_held_octets = 150000;
    start(story);
    client_open(&client, story);
    for (int i = 0; i < 5; i++) {
        buffer_clear(&client.input);
        send_half(&client, 90000);
        send_more(&client, 10000);
        await(&client, "[POST /half 0 x");
    }
    client_close(&client);
}

static void without_idle_ones_a_new_connection_is_refused(void **state)
{
    struct story *story = *state;
    struct client busy, fresh;
    story->options.max_connections = 1;
    start(story);
    client_open(&busy, story);
    client_send(&busy, "GET /hold HTTP/1.1\r\n\r\n");
    run(story);
    client_open(&fresh, story);
    await_end(&fresh);
    http_answer(story->held[0], 200, NULL, TEXT("held"), NULL, 0);
    await(&busy, "held");
    client_close(&busy);
    client_close(&fresh);
}

// As many more as are asked for can be opened from then on; returns the limit that was there.
static struct rlimit leave_descriptors(unsigned count)
{
    struct rlimit before;
    int next = dup(STDIN_FILENO);
    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit lowered = {.rlim_cur = (rlim_t)next + count, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lowered), 0);
    return before;
}

static void without_descriptors_the_oldest_makes_room(void **state)
{
    struct story *story = *state;
    struct client clients[5];
    start(story);
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_open(&clients[i], story);
        client_send(&clients[i], "GET /a HTTP/1.1\r\n\r\n");
    }
    struct rlimit before = leave_descriptors(2);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        await(&clients[i], "[GET /a 0 ]");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    await_end(&clients[0]);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        client_close(&clients[i]);
}

static void a_server_may_be_freed_while_it_has_no_descriptors(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story);
    struct rlimit before = leave_descriptors(0);
    wait_ms(story, 5);
    http_server_free(story->server);
    story->server = NULL;
    wait_ms(story, 5);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    client_close(&client);
}

static void a_client_that_leaves_is_reported(void **state)
{
    struct story *story = *state;
    static const char *const holds[] = {"GET /hold HTTP/1.1\r\n\r\n",
                                        "POST /hold HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"};
    start(story);
    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        struct client client;
        client_open(&client, story);
        client_send(&client, holds[i]);
        run(story);
        client_close(&client);
        run(story);
        assert_int_equal(story->gone, i + 1);
    }
}

static void freeing_reports_open_exchanges(void **state)
{
    struct story *story = *state;
    struct client client, idle, fresh;
    start(story);
    client_open(&idle, story);
    client_open(&client, story);
    client_send(&client, "GET /hold HTTP/1.1\r\n\r\n");
    run(story);
    client_open(&fresh, story);
    http_server_free(story->server);
    story->server = NULL;
    assert_int_equal(story->gone, 1);
    await_end(&client);
    await_end(&idle);
    await_end(&fresh);
    client_close(&client);
    client_close(&idle);
    client_close(&fresh);
}

static void draining_closes_what_is_idle_and_what_is_answered(void **state)
{
    struct story *story = *state;
    struct client idle, busy, fresh;
    start(story);
    client_open(&idle, story);
    client_send(&idle, "GET /i HTTP/1.1\r\n\r\n");
    await(&idle, "[GET /i 0 ]");
    client_open(&busy, story);
    client_send(&busy, "GET /hold HTTP/1.1\r\n\r\n");
    run(story);
    http_server_drain(story->server);
    await_end(&idle);
    http_answer(story->held[0], 200, NULL, TEXT("held"), NULL, 0);
    await_end(&busy);
    assert_non_null(strstr(busy.input.at, "Connection: close\r\n"));
    client_open(&fresh, story);
    client_send(&fresh, "GET /f HTTP/1.1\r\n\r\n");
    await_end(&fresh);
    assert_non_null(strstr(fresh.input.at, "[GET /f 0 ]"));
    client_close(&idle);
    client_close(&busy);
    client_close(&fresh);
}

static void a_taken_port_is_named(void **state)
{
    struct story *story = *state;
    struct error err;
    char expected[64];
    start(story);
    struct http_server_options options = story->options;
    options.port = http_server_port(story->server);
    assert_null(http_server_new(story->loop, &options, &err));
    snprintf(expected, sizeof(expected), "127.0.0.1:%u: address already in use", options.port);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.status, EADDRINUSE);
}

static void note_listening(void *context, const struct hostport *at, const char *trouble)
{
    struct story *story = context;
    assert_string_equal(at->host, "127.0.0.1");
    story->reported_count++;
    story->is_reported_of_trouble = trouble != NULL;
    if (!trouble)
        loop_stop(story->loop);
}

static void a_taken_port_is_had_once_it_is_free(void **state)
{
    struct story *story = *state;
    struct client client;
    struct listen_socket holder;
    assert_true(listen_open(&holder, "127.0.0.1", 0, NULL));
    story->options.port = holder.port;
    story->options.listening = note_listening;
    start(story);
    assert_true(story->is_reported_of_trouble);
    assert_non_null(strstr(http_server_trouble(story->server), "address already in use"));
    wait_ms(story, 5);
    close(holder.fd);
    run(story);
    assert_int_equal(story->reported_count, 2);
    assert_null(http_server_trouble(story->server));
    client_open(&client, story);
    client_send(&client, "GET /a HTTP/1.1\r\n\r\n");
    await(&client, "[GET /a 0 ]");
    client_close(&client);
}

static void an_address_that_is_never_had_ends_the_start(void **state)
{
    struct story *story = *state;
    struct error err;
    struct http_server_options options = {
        .address = "ff02::1", .handle = handle, .listening = note_listening, .context = story};
    assert_null(http_server_new(story->loop, &options, &err));
    assert_int_equal(story->reported_count, 0);
}

static void a_wildcard_takes_ipv4_too(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    http_server_free(story->server);
    story->options.address = "";
    story->server = http_server_new(story->loop, &story->options, NULL);
    assert_non_null(story->server);
    client_open(&client, story);
    client_send(&client, "GET /peer HTTP/1.1\r\n\r\n");
    await(&client, "\r\n\r\n127.0.0.1");
    client_close(&client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_connection_is_kept_between_requests),
        TEST(repeated_headers_can_be_counted),
        TEST(every_method_reaches_the_handler),
        TEST(head_gets_the_length_without_the_body),
        TEST(statuses_and_headers_are_passed_on),
        TEST(the_peer_is_an_address_without_port),
        TEST(an_absolute_target_shows_its_path),
        TEST(requests_sent_ahead_are_answered_in_order),
        TEST(what_comes_while_an_answer_is_awaited_waits),
        TEST(a_body_in_chunks_is_joined),
        TEST(a_client_that_expects_continue_gets_it),
        TEST(an_odd_version_may_expect_continue_too),
        TEST(a_client_that_wants_to_close_is_obeyed),
        TEST(a_half_closed_client_gets_its_answer),
        TEST(malformed_requests_are_refused_in_plain_text),
        TEST(a_doubtful_body_length_is_refused),
        TEST(nothing_is_read_behind_a_refused_request),
        TEST(unknown_methods_are_refused),
        TEST(a_head_over_the_limit_is_refused),
        TEST(a_body_over_the_limit_is_refused),
        TEST(an_announced_body_over_the_limit_is_refused_at_once),
        TEST(what_follows_a_refusal_is_dropped_lest_a_reset_overtakes_it),
        TEST(a_reply_to_connect_says_where_it_ends),
        TEST(a_body_of_just_the_limit_is_taken),
        TEST(a_body_is_never_read_as_a_request),
        TEST(a_dribbled_head_is_cut),
        TEST(a_body_that_does_not_come_is_cut),
        TEST(a_slow_body_has_its_own_time),
        TEST(a_connection_without_request_is_cut_but_a_kept_one_stays),
        TEST(a_client_that_does_not_read_is_cut),
        TEST(an_answer_may_take_its_time),
        TEST(the_oldest_idle_connection_makes_room),
        TEST(while_all_are_busy_a_new_one_is_told_so),
        TEST(as_many_as_are_served_are_told_that_they_are_not),
        TEST(the_newest_of_a_burst_keeps_its_place),
        TEST(half_requests_keep_nobody_out),
        TEST(of_halves_that_are_too_much_together_the_largest_goes),
        TEST(what_is_answered_is_held_no_more),
        TEST(without_idle_ones_a_new_connection_is_refused),
        TEST(without_descriptors_the_oldest_makes_room),
        TEST(a_server_may_be_freed_while_it_has_no_descriptors),
        TEST(a_client_that_leaves_is_reported),
        TEST(freeing_reports_open_exchanges),
        TEST(draining_closes_what_is_idle_and_what_is_answered),
        TEST(a_taken_port_is_named),
        TEST(a_taken_port_is_had_once_it_is_free),
        TEST(an_address_that_is_never_had_ends_the_start),
        TEST(a_wildcard_takes_ipv4_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
