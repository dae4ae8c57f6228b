#include "io/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/loop.h"
#include "io/loop_event.h"
#include "io/x509.h"

enum { PATIENCE_MS = 600 * 1000, SHORT_MS = 60, DAY_S = 86400, CLIENTS = 8 };

enum { OLD, NEW, PAIRS };

struct story {
    struct loop *loop;
    struct http_server_options options;
    struct http_server *server;
    struct x509_pair ca;
    struct x509_pair pairs[PAIRS];
    struct loop_timer patience;
    struct http_exchange *held; // by "/hold"
    unsigned requests;
    unsigned gone;
};

// ---- a client that sends what it is told, inside TLS or not -------------------------------------

struct client {
    struct story *story;
    SSL_CTX *context;
    SSL *tls; // of the stream
    struct bufferevent *stream;
    struct buffer input;
    bool is_connected; // the handshake is over
    bool is_closed;
};

struct client_options {
    bool is_plain;
    const char *protocols; // ALPN, as on the wire
    int max_version;
};

static void on_input(struct bufferevent *stream, void *context)
{
    struct client *client = context;
    char octets[4096];
    size_t len;
    while ((len = bufferevent_read(stream, octets, sizeof(octets))) > 0)
        buffer_add(&client->input, octets, len);
    loop_stop(client->story->loop);
}

static void on_event(struct bufferevent *stream, short what, void *context)
{
    struct client *client = context;
    on_input(stream, client);
    if (what & BEV_EVENT_CONNECTED)
        client->is_connected = true;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        client->is_closed = true;
}

static struct bufferevent *open_stream(struct client *client,
                                       const struct client_options *client_options)
{
    struct event_base *base = loop_event_base(client->story->loop);
    if (client_options->is_plain)
        return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    client->context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(client->context, client_options->max_version);
    SSL_CTX_set_security_level(client->context, 0);
    if (client_options->protocols)
        SSL_CTX_set_alpn_protos(client->context, (const unsigned char *)client_options->protocols,
                                (unsigned)strlen(client_options->protocols));
    client->tls = SSL_new(client->context);
    return bufferevent_openssl_socket_new(base, -1, client->tls, BUFFEREVENT_SSL_CONNECTING,
                                          BEV_OPT_CLOSE_ON_FREE);
}

static void client_open(struct client *client, struct story *story,
                        struct client_options client_options)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(story->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *client = (struct client){.story = story};
    client->stream = open_stream(client, &client_options);
    bufferevent_setcb(client->stream, on_input, NULL, on_event, client);
    bufferevent_enable(client->stream, EV_READ | EV_WRITE);
    assert_int_equal(bufferevent_socket_connect(client->stream, (struct sockaddr *)&at, sizeof(at)),
                     0);
    // Else the first request would wait for the server's delayed acknowledgement.
    setsockopt(bufferevent_getfd(client->stream), IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static void client_close(struct client *client)
{
    bufferevent_free(client->stream);
    SSL_CTX_free(client->context);
    buffer_done(&client->input);
}

static void client_send(struct client *client, const char *text)
{
    evbuffer_add(bufferevent_get_output(client->stream), text, strlen(text));
}

static bool has_come(const struct client *client, const char *text)
{
    return client->input.at && strstr(client->input.at, text);
}

static void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static void turn(struct story *story)
{
    story->patience = (struct loop_timer){.call = give_up};
    loop_timer_set(story->loop, &story->patience, PATIENCE_MS);
    loop_run(story->loop);
    loop_timer_cancel(story->loop, &story->patience);
}

#define AWAIT(story, condition)                                                                    \
    do {                                                                                           \
        while (!(condition))                                                                       \
            turn(story);                                                                           \
    } while (0)

// The request is answered by the connection's own text.
static void ask(struct client *client, const char *path)
{
    char request[64], answer[64];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n\r\n", path);
    snprintf(answer, sizeof(answer), "[GET %s 0]", path);
    client_send(client, request);
    AWAIT(client->story, client->is_closed || has_come(client, answer));
    assert_true(has_come(client, answer));
    buffer_clear(&client->input);
}

// Which of the story's certificates the client was shown.
static int shown_to(const struct client *client)
{
    char name[16] = "";
    X509 *certificate = SSL_get0_peer_certificate(client->tls);
    assert_non_null(certificate);
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof(name));
    return strcmp(name, "old") == 0 ? OLD : NEW;
}

// ---- the server's side --------------------------------------------------------------------------

static void handle(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    AUTO_BUFFER out = {0};
    const char *target = http_exchange_target(exchange);
    story->requests++;
    if (strcmp(target, "/hold") == 0) {
        story->held = exchange;
        loop_stop(story->loop);
        return;
    }
    buffer_printf(&out, "[%s %s %zu]", http_exchange_method(exchange), target,
                  http_exchange_body(exchange).len);
    for (unsigned i = 0; strcmp(target, "/big") == 0 && i < 1024 * 1024; i++)
        buffer_add_char(&out, 'x');
    buffer_add_text(&out, ".");
    http_answer(exchange, 200, "text/plain", buffer_text(&out), NULL, 0);
}

static void on_gone(void *context, struct http_exchange *exchange)
{
    struct story *story = context;
    assert_ptr_equal(exchange, story->held);
    story->gone++;
    loop_stop(story->loop);
}

static bool set_pair(struct story *story, int certificate, int key, struct error *err)
{
    struct http_server_tls tls = {.certificate_pem =
                                      text_of(story->pairs[certificate].certificate_pem),
                                  .key_pem = story->pairs[key].key_pem};
    return http_server_set_tls(story->server, &tls, err);
}

static void open_server(struct story *story)
{
    story->options.address = "127.0.0.1";
    story->options.is_tls = true;
    story->options.handle = handle;
    story->options.gone = on_gone;
    story->options.context = story;
    story->server = http_server_new(story->loop, &story->options, NULL);
    assert_non_null(story->server);
}

static void start(struct story *story)
{
    open_server(story);
    assert_true(set_pair(story, OLD, OLD, NULL));
}

static int set_up(void **state)
{
    static const char *const names[] = {"old", "new"};
    struct story *story = mem_new_of(struct story);
    story->loop = loop_new();
    int64_t now_s = loop_unix_ms(story->loop) / 1000;
    assert_true(x509_make_ca(&story->ca, random_system(), "ca", now_s - 60, now_s + DAY_S, NULL));
    for (int i = 0; i < PAIRS; i++) {
        struct x509_leaf leaf = {names[i], &names[i], 1, now_s - 60, now_s + DAY_S};
        assert_true(x509_make_leaf(&story->pairs[i], random_system(), &story->ca, &leaf, NULL));
    }
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    http_server_free(story->server);
    loop_free(story->loop);
    x509_pair_done(&story->ca);
    for (int i = 0; i < PAIRS; i++)
        x509_pair_done(&story->pairs[i]);
    free(story);
    return 0;
}

// ---- talking ------------------------------------------------------------------------------------

static void a_connection_is_kept_between_requests(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story, (struct client_options){0});
    ask(&client, "/a");
    ask(&client, "/b");
    assert_int_equal(SSL_version(client.tls), TLS1_3_VERSION);
    client_close(&client);
    client_open(&client, story, (struct client_options){.max_version = TLS1_2_VERSION});
    ask(&client, "/c");
    assert_int_equal(SSL_version(client.tls), TLS1_2_VERSION);
    client_close(&client);
}

static void requests_sent_ahead_are_answered_in_order(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story, (struct client_options){0});
    client_send(&client, "GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nxx"
                         "HEAD /c HTTP/1.1\r\n\r\nGET /d HTTP/1.1\r\n\r\n");
    AWAIT(story, has_come(&client, "[GET /d 0]"));
    const char *a = strstr(client.input.at, "[GET /a 0]");
    assert_true(a && strstr(a, "[POST /b 2]"));
    client_close(&client);
}

static void large_bodies_arrive_whole_both_ways(void **state)
{
    struct story *story = *state;
    struct client client;
    AUTO_BUFFER request = {0};
    start(story);
    client_open(&client, story, (struct client_options){0});
    buffer_add_text(&request, "POST /big HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
    for (unsigned i = 0; i < 1000000; i++)
        buffer_add_char(&request, 'y');
    client_send(&client, request.at);
    AWAIT(story, has_come(&client, "x."));
    const char *body = strstr(client.input.at, "[POST /big 1000000]");
    assert_non_null(body);
    assert_int_equal(strlen(body), strlen("[POST /big 1000000]") + 1024 * 1024 + 1);
    client_close(&client);
}

static void http_1_1_is_chosen_whatever_else_is_offered(void **state)
{
    struct story *story = *state;
    struct client client;
    static const char *const offers[] = {"\x02h2\x08http/1.1", "\x08http/1.1\x02h2",
                                         "\x08http/1.0\x08http/1.1"};
    start(story);
    for (size_t i = 0; i < COUNT_OF(offers); i++) {
        const unsigned char *chosen;
        unsigned len;
        client_open(&client, story, (struct client_options){.protocols = offers[i]});
        ask(&client, "/a");
        SSL_get0_alpn_selected(client.tls, &chosen, &len);
        assert_int_equal(len, 8);
        assert_memory_equal(chosen, "http/1.1", 8);
        client_close(&client);
    }
    client_open(&client, story, (struct client_options){.protocols = "\x02h2"});
    AWAIT(story, client.is_closed);
    assert_false(client.is_connected);
    client_close(&client);
}

static void old_versions_are_refused(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story, (struct client_options){.max_version = TLS1_1_VERSION});
    AWAIT(story, client.is_closed);
    assert_false(client.is_connected);
    client_close(&client);
}

static void replies_are_not_held_back_by_the_socket(void **state)
{
    struct story *story = *state;
    struct client client;
    unsigned found = 0;
    start(story);
    client_open(&client, story, (struct client_options){0});
    ask(&client, "/a");
    for (int fd = 3; fd < 64; fd++) {
        struct sockaddr_in at = {0}, peer;
        socklen_t len = sizeof(at), peer_len = sizeof(peer), value_len = sizeof(int);
        int value = 0;
        if (getsockname(fd, (struct sockaddr *)&at, &len) != 0 ||
            ntohs(at.sin_port) != http_server_port(story->server) ||
            getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
            continue;
        found++;
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &value_len), 0);
        assert_int_equal(value, 1);
    }
    assert_int_equal(found, 1);
    client_close(&client);
}

// ---- certificates -------------------------------------------------------------------------------

static void before_the_first_certificate_connections_are_closed(void **state)
{
    struct story *story = *state;
    struct client client;
    open_server(story);
    for (unsigned i = 0; i < 2; i++) {
        client_open(&client, story, (struct client_options){.is_plain = i == 0});
        client_send(&client, "GET / HTTP/1.1\r\n\r\n");
        AWAIT(story, client.is_closed);
        assert_int_equal(client.input.len, 0);
        client_close(&client);
    }
    assert_int_equal(story->requests, 0);
    assert_true(set_pair(story, NEW, NEW, NULL));
    client_open(&client, story, (struct client_options){0});
    ask(&client, "/a");
    assert_int_equal(shown_to(&client), NEW);
    client_close(&client);
}

static void a_new_certificate_is_for_new_connections(void **state)
{
    struct story *story = *state;
    struct client before, after;
    start(story);
    client_open(&before, story, (struct client_options){0});
    ask(&before, "/a");
    assert_true(set_pair(story, NEW, NEW, NULL));
    client_open(&after, story, (struct client_options){0});
    ask(&after, "/b");
    ask(&before, "/c");
    assert_int_equal(shown_to(&before), OLD);
    assert_int_equal(shown_to(&after), NEW);
    client_close(&before);
    client_close(&after);
}

static void certificates_change_under_load(void **state)
{
    struct story *story = *state;
    struct client clients[CLIENTS];
    unsigned asked = 0;
    start(story);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_open(&clients[i], story, (struct client_options){0});
    for (unsigned round = 0; round < 5 * CLIENTS; round++) {
        int pair = round % 2 ? OLD : NEW;
        struct client *fresh = &clients[round % CLIENTS];
        for (unsigned i = 0; i < CLIENTS; i++)
            client_send(&clients[i], "GET /load HTTP/1.1\r\n\r\n");
        assert_true(set_pair(story, pair, pair, NULL));
        for (unsigned i = 0; i < CLIENTS; i++) {
            AWAIT(story, has_come(&clients[i], "[GET /load 0]."));
            assert_false(clients[i].is_closed);
            buffer_clear(&clients[i].input);
        }
        asked += CLIENTS + 1;
        client_close(fresh);
        client_open(fresh, story, (struct client_options){0});
        ask(fresh, "/fresh");
        assert_int_equal(shown_to(fresh), pair);
    }
    assert_int_equal(story->requests, asked);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}

static void a_pair_that_is_no_use_changes_nothing(void **state)
{
    struct story *story = *state;
    struct client client;
    struct error err;
    struct http_server_tls tls = {.certificate_pem = TEXT("nonsense")};
    start(story);
    assert_false(set_pair(story, NEW, OLD, &err));
    assert_string_equal(err.text, "the private key does not belong to the certificate");
    assert_false(http_server_set_tls(story->server, &tls, &err));
    assert_string_equal(err.text, "no certificate: expected PEM");
    tls.certificate_pem = text_of(story->pairs[NEW].certificate_pem);
    assert_false(http_server_set_tls(story->server, &tls, &err));
    assert_non_null(strstr(err.text, "the private key cannot be read"));
    client_open(&client, story, (struct client_options){0});
    ask(&client, "/a");
    assert_int_equal(shown_to(&client), OLD);
    client_close(&client);
}

static void the_chain_is_sent_along(void **state)
{
    struct story *story = *state;
    struct client client;
    AUTO_BUFFER chain = {0};
    start(story);
    buffer_add_text(&chain, story->pairs[NEW].certificate_pem);
    buffer_add_text(&chain, story->ca.certificate_pem);
    struct http_server_tls tls = {buffer_text(&chain), story->pairs[NEW].key_pem};
    assert_true(http_server_set_tls(story->server, &tls, NULL));
    client_open(&client, story, (struct client_options){0});
    ask(&client, "/a");
    assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(client.tls)), 2);
    client_close(&client);
}

// ---- clients that are no good -------------------------------------------------------------------

static void what_is_no_tls_is_closed(void **state)
{
    struct story *story = *state;
    struct client good, bad;
    static const char *const texts[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\n",
                                        "\x16\x03\x01\x40\x01\x01\x01\x01\x01\x01\x01\x01",
                                        "\x16\x03\x01\x01\x05\x02\x01\x01\x01\x01\x01\x01"};
    start(story);
    client_open(&good, story, (struct client_options){0});
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        client_open(&bad, story, (struct client_options){.is_plain = true});
        client_send(&bad, texts[i]);
        shutdown(bufferevent_getfd(bad.stream), SHUT_WR);
        AWAIT(story, bad.is_closed);
        assert_false(has_come(&bad, "HTTP/"));
        client_close(&bad);
        ask(&good, "/a");
    }
    client_close(&good);
}

static void a_handshake_that_does_not_come_is_cut(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.head_timeout_ms = SHORT_MS;
    start(story);
    client_open(&client, story, (struct client_options){.is_plain = true});
    AWAIT(story, client.is_closed);
    client_close(&client);
}

static void a_head_that_does_not_come_is_cut_but_a_kept_connection_stays(void **state)
{
    struct story *story = *state;
    struct client half, kept;
    story->options.head_timeout_ms = SHORT_MS;
    start(story);
    client_open(&kept, story, (struct client_options){0});
    ask(&kept, "/a");
    client_open(&half, story, (struct client_options){0});
    client_send(&half, "GET / HTTP/1.1\r\nX-A");
    AWAIT(story, half.is_closed);
    assert_true(half.is_connected);
    ask(&kept, "/b");
    client_close(&half);
    client_close(&kept);
}

static void a_body_that_does_not_come_is_cut(void **state)
{
    struct story *story = *state;
    struct client client;
    story->options.body_timeout_ms = SHORT_MS;
    start(story);
    client_open(&client, story, (struct client_options){0});
    client_send(&client, "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab");
    AWAIT(story, client.is_closed);
    assert_int_equal(story->requests, 0);
    client_close(&client);
}

static void a_refusal_says_why(void **state)
{
    struct story *story = *state;
    AUTO_BUFFER long_head = {0};
    buffer_add_text(&long_head, "GET / HTTP/1.1\r\nX-A: ");
    for (unsigned i = 0; i < 20000; i++)
        buffer_add_char(&long_head, 'x');
    const struct {
        const char *request;
        const char *status;
    } refused[] = {
        {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
        {"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\nabc", "HTTP/1.1 413 "},
        {"BREW / HTTP/1.1\r\n\r\n", "HTTP/1.1 501 "},
        {long_head.at, "HTTP/1.1 431 "},
    };
    start(story);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct client client;
        client_open(&client, story, (struct client_options){0});
        client_send(&client, refused[i].request);
        AWAIT(story, client.is_closed);
        assert_true(has_come(&client, refused[i].status));
        assert_non_null(strstr(client.input.at, "\r\n\r\n"));
        client_close(&client);
    }
    assert_int_equal(story->requests, 0);
}

static void the_oldest_idle_connection_makes_room(void **state)
{
    struct story *story = *state;
    struct client clients[3];
    story->options.max_connections = 2;
    start(story);
    for (unsigned i = 0; i < 3; i++) {
        client_open(&clients[i], story, (struct client_options){0});
        ask(&clients[i], "/a");
    }
    AWAIT(story, clients[0].is_closed);
    ask(&clients[1], "/b");
    ask(&clients[2], "/b");
    for (unsigned i = 0; i < 3; i++)
        client_close(&clients[i]);
}

static void a_client_that_leaves_is_reported(void **state)
{
    struct story *story = *state;
    struct client client;
    start(story);
    client_open(&client, story, (struct client_options){0});
    client_send(&client, "GET /hold HTTP/1.1\r\n\r\n");
    AWAIT(story, story->held);
    client_close(&client);
    AWAIT(story, story->gone == 1);
}

static void draining_closes_what_is_idle_and_what_is_answered(void **state)
{
    struct story *story = *state;
    struct client idle, busy;
    start(story);
    client_open(&idle, story, (struct client_options){0});
    ask(&idle, "/a");
    client_open(&busy, story, (struct client_options){0});
    client_send(&busy, "GET /hold HTTP/1.1\r\n\r\n");
    AWAIT(story, story->held);
    http_server_drain(story->server);
    AWAIT(story, idle.is_closed);
    http_answer(story->held, 200, "text/plain", TEXT("late"), NULL, 0);
    AWAIT(story, busy.is_closed);
    assert_true(has_come(&busy, "Connection: close\r\n"));
    assert_true(has_come(&busy, "\r\n\r\nlate"));
    client_close(&idle);
    client_close(&busy);
}

static void freeing_cuts_what_is_open(void **state)
{
    struct story *story = *state;
    struct client held, shaking;
    start(story);
    client_open(&held, story, (struct client_options){0});
    client_send(&held, "GET /hold HTTP/1.1\r\n\r\n");
    client_open(&shaking, story, (struct client_options){.is_plain = true});
    AWAIT(story, story->held);
    http_server_free(story->server);
    story->server = NULL;
    assert_int_equal(story->gone, 1);
    AWAIT(story, held.is_closed && shaking.is_closed);
    client_close(&held);
    client_close(&shaking);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_connection_is_kept_between_requests),
        TEST(requests_sent_ahead_are_answered_in_order),
        TEST(large_bodies_arrive_whole_both_ways),
        TEST(http_1_1_is_chosen_whatever_else_is_offered),
        TEST(old_versions_are_refused),
        TEST(replies_are_not_held_back_by_the_socket),
        TEST(before_the_first_certificate_connections_are_closed),
        TEST(a_new_certificate_is_for_new_connections),
        TEST(certificates_change_under_load),
        TEST(a_pair_that_is_no_use_changes_nothing),
        TEST(the_chain_is_sent_along),
        TEST(what_is_no_tls_is_closed),
        TEST(a_handshake_that_does_not_come_is_cut),
        TEST(a_head_that_does_not_come_is_cut_but_a_kept_connection_stays),
        TEST(a_body_that_does_not_come_is_cut),
        TEST(a_refusal_says_why),
        TEST(the_oldest_idle_connection_makes_room),
        TEST(a_client_that_leaves_is_reported),
        TEST(draining_closes_what_is_idle_and_what_is_answered),
        TEST(freeing_cuts_what_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
