#include "io/dnsnet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
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
#include "io/listen.h"
#include "io/loop.h"

enum { PATIENCE_MS = 600 * 1000, MAX_SEEN = 8, MAX_CLIENTS = 4 };

struct seen {
    bool is_answered;
    bool is_timeout;
    struct error error;
    size_t len;
    char octets[64];
};

struct peer {
    struct story *story;
    int fd;
    struct loop_fd *watch;
};

// A server of both kinds on one machine, answering as `answers` says.
struct story {
    struct loop *loop;
    struct dnsnet *net;
    struct loop_timer patience;
    struct seen seen[MAX_SEEN];
    size_t count;
    size_t wanted;
    struct hostport server;
    int udp;
    struct loop_fd *udp_watch;
    struct listen_socket tcp;
    struct loop_fd *tcp_watch;
    struct peer peers[MAX_CLIENTS];
    unsigned accepted;
    unsigned ended;
    unsigned awaited_ends;
    unsigned requests;
    unsigned heard;
    void (*answer)(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                   size_t len);
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

static void on_done(void *context, const struct dns_reply *reply)
{
    struct story *story = context;
    struct seen *seen = &story->seen[story->count++];
    seen->is_answered = reply->is_answered;
    seen->is_timeout = reply->is_timeout;
    seen->error = reply->error;
    seen->len = reply->octets.len;
    if (reply->is_answered)
        snprintf(seen->octets, sizeof(seen->octets), "%.*s", TEXT_ARGS(reply->octets));
    if (story->count == story->wanted)
        loop_stop(story->loop);
}

// ---- the server ---------------------------------------------------------------------------------

static void on_udp(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    struct sockaddr_in from;
    socklen_t from_len = sizeof(from);
    char octets[65536];
    (void)interest;
    ssize_t len = recvfrom(fd, octets, sizeof(octets), 0, (struct sockaddr *)&from, &from_len);
    assert_true(len >= 12);
    story->requests++;
    if (story->answer)
        story->answer(story, fd, &from, octets, (size_t)len);
}

static void drop_peer(struct peer *peer)
{
    loop_unwatch_fd(peer->story->loop, peer->watch);
    peer->watch = NULL;
    close(peer->fd);
}

static void on_tcp(void *context, int fd, unsigned interest)
{
    struct peer *peer = context;
    struct story *story = peer->story;
    unsigned char head[2];
    (void)interest;
    if (recv(fd, head, sizeof(head), 0) != sizeof(head)) {
        drop_peer(peer);
        if (++story->ended == story->awaited_ends)
            loop_stop(story->loop);
        return;
    }
    size_t len = (size_t)head[0] << 8 | head[1];
    autofree char *octets = mem_new(1, len + 1);
    // The requests of these tests come in one piece, or wait for the rest here.
    for (size_t got = 0; got < len;) {
        ssize_t more = recv(fd, octets + got, len - got, MSG_WAITALL);
        got += more > 0 ? (size_t)more : 0;
    }
    story->requests++;
    if (story->answer)
        story->answer(story, fd, NULL, octets, len);
}

static void on_accept(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    (void)interest;
    assert_true(story->accepted < MAX_CLIENTS);
    struct peer *peer = &story->peers[story->accepted++];
    *peer = (struct peer){.story = story, .fd = accept(fd, NULL, NULL)};
    peer->watch = loop_watch_fd(story->loop, peer->fd, LOOP_READ, on_tcp, peer);
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    story->loop = loop_new();
    story->net = dnsnet_new(story->loop);
    assert_true(listen_open(&story->tcp, "127.0.0.1", 0, NULL));
    at.sin_port = htons(story->tcp.port);
    story->udp = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(story->udp, (struct sockaddr *)&at, sizeof(at)), 0);
    story->udp_watch = loop_watch_fd(story->loop, story->udp, LOOP_READ, on_udp, story);
    story->tcp_watch = loop_watch_fd(story->loop, story->tcp.fd, LOOP_READ, on_accept, story);
    story->server = (struct hostport){.host = "127.0.0.1", .port = story->tcp.port};
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    dnsnet_free(story->net);
    for (unsigned i = 0; i < story->accepted; i++) {
        if (story->peers[i].watch)
            drop_peer(&story->peers[i]);
    }
    loop_unwatch_fd(story->loop, story->udp_watch);
    loop_unwatch_fd(story->loop, story->tcp_watch);
    close(story->udp);
    close(story->tcp.fd);
    loop_free(story->loop);
    free(story);
    return 0;
}

static void send_octets(int fd, const struct sockaddr_in *to, const char *octets, size_t len)
{
    if (to) {
        sendto(fd, octets, len, 0, (const struct sockaddr *)to, sizeof(*to));
        return;
    }
    AUTO_BUFFER out = {0};
    buffer_add_char(&out, (char)(len >> 8));
    buffer_add_char(&out, (char)len);
    buffer_add(&out, octets, len);
    for (size_t sent = 0; sent < out.len;) {
        ssize_t done = send(fd, out.at + sent, out.len - sent, MSG_NOSIGNAL);
        assert_true(done > 0);
        sent += (size_t)done;
    }
}

static void echo(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                 size_t len)
{
    (void)story;
    send_octets(fd, to, octets, len);
}

static void echo_most(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                      size_t len)
{
    if (octets[0] != 'z')
        echo(story, fd, to, octets, len);
}

static void lie(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                size_t len)
{
    (void)octets, (void)len;
    (void)story;
    send_octets(fd, to, "XX34567890ab", 12);
}

static void lie_first(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                      size_t len)
{
    lie(story, fd, to, octets, len);
    send_octets(fd, to, octets, 2);
    echo(story, fd, to, octets, len);
}

static void answer_from_elsewhere(struct story *story, int fd, const struct sockaddr_in *to,
                                  const char *octets, size_t len)
{
    int other = socket(AF_INET, SOCK_DGRAM, 0);
    (void)story, (void)fd;
    send_octets(other, to, octets, len);
    close(other);
}

static void hang_up(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                    size_t len)
{
    (void)story, (void)to, (void)octets, (void)len;
    shutdown(fd, SHUT_RDWR);
}

static void echo_once(struct story *story, int fd, const struct sockaddr_in *to, const char *octets,
                      size_t len)
{
    if (story->requests == 2)
        hang_up(story, fd, to, octets, len);
    else
        echo(story, fd, to, octets, len);
}

static void answer_half(struct story *story, int fd, const struct sockaddr_in *to,
                        const char *octets, size_t len)
{
    (void)octets, (void)len;
    send(fd, "\0\x20xx", 4, MSG_NOSIGNAL);
    hang_up(story, fd, to, octets, len);
}

static struct dns_request request_to(struct story *story, bool use_tcp)
{
    return (struct dns_request){.server = story->server,
                                .octets = TEXT("ab\x01"
                                               "4567890123"),
                                .use_tcp = use_tcp,
                                .timeout_ms = PATIENCE_MS};
}

static const struct seen *ask(struct story *story, const struct dns_request *request)
{
    size_t index = story->count;
    assert_non_null(dns_send(story->net, request, on_done, story));
    assert_int_equal(story->count, index);
    run_until(story, index + 1);
    return &story->seen[index];
}

// ---- tests --------------------------------------------------------------------------------------

static void a_question_is_answered_over_either(void **state)
{
    struct story *story = *state;
    story->answer = echo;
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        const struct seen *seen = ask(story, &request);
        assert_true(seen->is_answered);
        assert_string_equal(seen->octets, "ab\x01"
                                          "4567890123");
    }
}

static bool has_mark(const void *context, struct text octets)
{
    return octets.at[octets.len - 1] == *(const char *)context;
}

static void answer_twice(struct story *story, int fd, const struct sockaddr_in *to,
                         const char *octets, size_t len)
{
    char other[64];
    memcpy(other, octets, len);
    other[len - 1] = '?';
    send_octets(fd, to, other, len);
    if (story->requests > 1)
        send_octets(fd, to, octets, len);
}

static void an_unwanted_datagram_is_passed_over(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, false);
    request.is_wanted = has_mark;
    request.context = "3";
    request.timeout_ms = 60;
    story->answer = answer_twice;
    const struct seen *seen = ask(story, &request);
    assert_false(seen->is_answered);
    assert_true(seen->is_timeout);
    assert_int_equal(seen->len, 13); // what came shows
    request.timeout_ms = PATIENCE_MS;
    seen = ask(story, &request);
    assert_true(seen->is_answered);
    assert_int_equal(seen->octets[12], '3');
}

static void a_datagram_with_another_id_is_passed_over(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, false);
    story->answer = lie_first;
    const struct seen *seen = ask(story, &request);
    assert_true(seen->is_answered);
    assert_int_equal(seen->len, 13);
}

static void a_datagram_from_another_address_is_passed_over(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, false);
    request.timeout_ms = 30;
    story->answer = answer_from_elsewhere;
    assert_true(ask(story, &request)->is_timeout);
}

static void silence_is_a_time_out(void **state)
{
    struct story *story = *state;
    char expected[128];
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        request.timeout_ms = 20;
        const struct seen *seen = ask(story, &request);
        assert_false(seen->is_answered);
        assert_true(seen->is_timeout);
        snprintf(expected, sizeof(expected), "no answer from 127.0.0.1:%u (%s): none within 20 ms",
                 story->server.port, tcp ? "tcp" : "udp");
        assert_string_equal(seen->error.text, expected);
        assert_int_equal(seen->error.fault, FAULT_AGAIN);
    }
}

static void an_unreachable_port_is_named(void **state)
{
    struct story *story = *state;
    struct listen_socket closed;
    assert_true(listen_open(&closed, "127.0.0.1", 0, NULL));
    close(closed.fd);
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        request.server.port = closed.port;
        const struct seen *seen = ask(story, &request);
        assert_false(seen->is_answered || seen->is_timeout);
        assert_non_null(strstr(seen->error.text, "connection refused"));
    }
}

static void a_name_is_no_address(void **state)
{
    struct story *story = *state;
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        snprintf(request.server.host, sizeof(request.server.host), "ns.example.org");
        const struct seen *seen = ask(story, &request);
        assert_false(seen->is_answered || seen->is_timeout);
        assert_non_null(strstr(seen->error.text, "ns.example.org"));
    }
}

static void a_connection_is_used_again(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = echo;
    for (unsigned i = 0; i < 4; i++)
        assert_true(ask(story, &request)->is_answered);
    assert_int_equal(story->accepted, 1);
}

static void requests_at_once_have_connections_of_their_own(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = echo;
    dns_send(story->net, &request, on_done, story);
    dns_send(story->net, &request, on_done, story);
    run_until(story, 2);
    assert_int_equal(story->accepted, 2);
    assert_true(story->seen[0].is_answered && story->seen[1].is_answered);
}

static void the_largest_message_goes_through(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    autofree char *octets = mem_new(1, 65535);
    memset(octets, 'x', 65535);
    request.octets = (struct text){octets, 65535};
    story->answer = echo;
    assert_int_equal(ask(story, &request)->len, 65535);
}

static void a_stream_with_another_id_is_an_error(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = lie;
    const struct seen *seen = ask(story, &request);
    assert_false(seen->is_answered || seen->is_timeout);
    assert_non_null(strstr(seen->error.text, "message id is another"));
}

static void a_stream_that_ends_early_is_an_error(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = answer_half;
    assert_non_null(strstr(ask(story, &request)->error.text, "connection closed"));
    story->answer = hang_up;
    assert_non_null(strstr(ask(story, &request)->error.text, "connection closed"));
}

static void a_query_survives_the_end_of_a_kept_connection(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = echo_once;
    assert_true(ask(story, &request)->is_answered);
    assert_true(ask(story, &request)->is_answered);
    assert_int_equal(story->accepted, 2);
    assert_int_equal(story->requests, 3);
}

static void an_update_is_never_sent_twice(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    request.octets = TEXT("ab\x28"
                          "4567890123");
    story->answer = echo_once;
    assert_true(ask(story, &request)->is_answered);
    assert_false(ask(story, &request)->is_answered);
    assert_int_equal(story->requests, 2);
}

static void a_kept_connection_that_ended_is_not_used(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    request.octets = TEXT("ab\x28"
                          "4567890123");
    story->answer = echo;
    assert_true(ask(story, &request)->is_answered);
    drop_peer(&story->peers[0]);
    struct dns_request other = request_to(story, false);
    assert_true(ask(story, &other)->is_answered);
    assert_true(ask(story, &request)->is_answered);
    assert_int_equal(story->accepted, 2);
}

// A loop whose timers run a hundred times as fast.
struct quick {
    struct loop loop;
    struct loop *slow;
};

static void quick_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    loop_timer_set(((struct quick *)loop)->slow, timer, delay_ms / 100);
}

static void quick_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    loop_timer_cancel(((struct quick *)loop)->slow, timer);
}

static struct loop_fd *quick_watch_fd(struct loop *loop, int fd, unsigned interest,
                                      loop_fd_call *call, void *context)
{
    return loop_watch_fd(((struct quick *)loop)->slow, fd, interest, call, context);
}

static void quick_unwatch_fd(struct loop *loop, struct loop_fd *watched)
{
    loop_unwatch_fd(((struct quick *)loop)->slow, watched);
}

static void a_kept_connection_is_closed_after_two_seconds(void **state)
{
    struct story *story = *state;
    static const struct loop_ops ops = {.timer_set = quick_timer_set,
                                        .timer_cancel = quick_timer_cancel,
                                        .watch_fd = quick_watch_fd,
                                        .unwatch_fd = quick_unwatch_fd};
    struct quick quick = {.loop.ops = &ops, .slow = story->loop};
    struct dns_request request = request_to(story, true);
    dnsnet_free(story->net);
    story->net = dnsnet_new(&quick.loop);
    story->answer = echo;
    request.timeout_ms = 100000;
    assert_true(ask(story, &request)->is_answered);
    int64_t start_ms = loop_mono_ms(story->loop);
    story->awaited_ends = 1;
    run_until(story, 2);
    assert_int_equal(story->ended, 1);
    assert_true(loop_mono_ms(story->loop) - start_ms >= 15);
    assert_true(ask(story, &request)->is_answered);
    assert_int_equal(story->accepted, 2);
    dnsnet_free(story->net);
    story->net = NULL;
}

static void never(void *context, const struct dns_reply *reply)
{
    (void)context, (void)reply;
    fail_msg("a cancelled call came back");
}

static void a_cancelled_call_ends_in_silence(void **state)
{
    struct story *story = *state;
    story->answer = echo_most;
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        request.octets = TEXT("zz34567890ab");
        dns_cancel(story->net, dns_send(story->net, &request, never, story));
        struct dns_call *held = dns_send(story->net, &request, never, story);
        snprintf(request.server.host, sizeof(request.server.host), "nonsense");
        dns_cancel(story->net, dns_send(story->net, &request, never, story));
        request = request_to(story, false);
        ask(story, &request);
        dns_cancel(story->net, held);
        ask(story, &request);
    }
}

static void free_all(void *context, const struct dns_reply *reply)
{
    struct story *story = context;
    assert_true(reply->is_answered);
    dnsnet_free(story->net);
    story->net = NULL;
    // What the reply borrows must outlive the net.
    assert_int_equal(memcmp(reply->octets.at, "ab", 2), 0);
    story->count++;
    loop_stop(story->loop);
}

static void a_callback_may_free_the_net(void **state)
{
    struct story *story = *state;
    story->answer = echo;
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        struct dns_request request = request_to(story, tcp);
        dnsnet_free(story->net);
        story->net = dnsnet_new(story->loop);
        dns_send(story->net, &request, free_all, story);
        run_until(story, story->count + 1);
        assert_null(story->net);
    }
}

// ---- answers of many messages -------------------------------------------------------------------

static void answer_four_times(struct story *story, int fd, const struct sockaddr_in *to,
                              const char *octets, size_t len)
{
    AUTO_BUFFER message = {0};
    buffer_add(&message, octets, len);
    for (unsigned i = 0; i < 4; i++) {
        message.at[message.len - 1] = (char)('0' + i);
        send_octets(fd, to, message.at, message.len);
        buffer_add(&message, octets, len); // each is longer
    }
    (void)story;
}

static void answer_twice_and_hang_up(struct story *story, int fd, const struct sockaddr_in *to,
                                     const char *octets, size_t len)
{
    send_octets(fd, to, octets, len);
    send_octets(fd, to, octets, len);
    hang_up(story, fd, to, octets, len);
}

static bool handle_reply(void *context, struct text octets)
{
    struct story *story = context;
    story->heard++;
    return octets.at[octets.len - 1] != '3';
}

static bool handle_without_end(void *context, struct text octets)
{
    struct story *story = context;
    (void)octets;
    story->heard++;
    return true;
}

static void an_answer_of_many_messages_is_heard_to_its_end(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    request.has_more = handle_reply;
    story->answer = answer_four_times;
    const struct seen *seen = ask(story, &request);
    assert_true(seen->is_answered);
    assert_int_equal(story->heard, 4);
    assert_int_equal(seen->len, 4 * 13);
    // And the connection is good for more.
    story->answer = echo;
    request.has_more = NULL;
    assert_true(ask(story, &request)->is_answered);
    assert_int_equal(story->accepted, 1);
}

static void each_of_many_messages_has_its_time(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    request.has_more = handle_without_end;
    request.timeout_ms = 30;
    story->answer = answer_four_times;
    const struct seen *seen = ask(story, &request);
    assert_true(seen->is_timeout);
    assert_int_equal(story->heard, 4);
}

static void an_answer_may_not_go_on_for_ever(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    request.has_more = handle_without_end;
    request.max_octets = 13 + 26;
    story->answer = answer_four_times;
    const struct seen *seen = ask(story, &request);
    assert_false(seen->is_answered || seen->is_timeout);
    assert_non_null(strstr(seen->error.text, "it has more than 39 octets"));
    assert_int_equal(story->heard, 2);
}

static void what_ends_between_messages_is_not_asked_again(void **state)
{
    struct story *story = *state;
    struct dns_request request = request_to(story, true);
    story->answer = echo;
    assert_true(ask(story, &request)->is_answered); // the connection is kept
    request.has_more = handle_without_end;
    story->answer = answer_twice_and_hang_up;
    const struct seen *seen = ask(story, &request);
    assert_false(seen->is_answered);
    assert_non_null(strstr(seen->error.text, "connection closed"));
    assert_int_equal(story->heard, 2);
    assert_int_equal(story->requests, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_is_answered_over_either),
        TEST(a_datagram_with_another_id_is_passed_over),
        TEST(an_unwanted_datagram_is_passed_over),
        TEST(a_datagram_from_another_address_is_passed_over),
        TEST(silence_is_a_time_out),
        TEST(an_unreachable_port_is_named),
        TEST(a_name_is_no_address),
        TEST(a_connection_is_used_again),
        TEST(requests_at_once_have_connections_of_their_own),
        TEST(the_largest_message_goes_through),
        TEST(a_stream_with_another_id_is_an_error),
        TEST(a_stream_that_ends_early_is_an_error),
        TEST(a_query_survives_the_end_of_a_kept_connection),
        TEST(an_update_is_never_sent_twice),
        TEST(a_kept_connection_that_ended_is_not_used),
        TEST(a_kept_connection_is_closed_after_two_seconds),
        TEST(a_cancelled_call_ends_in_silence),
        TEST(a_callback_may_free_the_net),
        TEST(an_answer_of_many_messages_is_heard_to_its_end),
        TEST(each_of_many_messages_has_its_time),
        TEST(an_answer_may_not_go_on_for_ever),
        TEST(what_ends_between_messages_is_not_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
