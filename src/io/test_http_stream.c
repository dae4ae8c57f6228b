#include <netinet/in.h>
#include <netinet/tcp.h>

#include "io/test_http_peer.h"

static void settle(struct story *story)
{
    struct seen seen;
    struct peer *peer = ask(&seen, story, "/settle");
    say(peer, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    AWAIT(story, seen.done_count == 1);
    buffer_done(&seen.pieces);
}

static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// ---- pieces -------------------------------------------------------------------------------------

static void a_body_comes_piece_by_piece(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct peer *peer = ask(&seen, story, "/");
    say(peer, head);
    AWAIT(story, seen.has_head);
    assert_int_equal(seen.piece_count, 0);
    say(peer, "3\r\none\r\n");
    AWAIT(story, has_pieces(&seen, "one"));
    say(peer, "3\r\ntwo\r\n");
    AWAIT(story, has_pieces(&seen, "onetwo"));
    assert_int_equal(seen.done_count, 0);
    say(peer, "0\r\n\r\n");
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.failure, HTTP_OK);
    assert_int_equal(seen.status, 200);
    assert_string_equal(seen.body, "");
    buffer_done(&seen.pieces);
}

static void only_a_success_comes_in_pieces(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct peer *peer = ask(&seen, story, "/");
    say(peer, "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\nlost");
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.status, 410);
    assert_string_equal(seen.body, "lost");
    assert_int_equal(seen.piece_count, 0);
}

static void a_body_in_pieces_has_no_limit(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct http_request request = request_to(story, "/");
    request.max_body_octets = 4;
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    say(&story->peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.failure, HTTP_OK);
    assert_true(has_pieces(&seen, "0123456789"));
    buffer_done(&seen.pieces);
}

static void a_stream_that_is_cut_fails_behind_its_pieces(void **state)
{
    struct story *story = *state;
    static const char *const rests[] = {"", "5\r\nha", "3\r\ntwo\r\n"};
    for (size_t i = 0; i < COUNT_OF(rests); i++) {
        struct seen seen;
        struct peer *peer = ask(&seen, story, "/");
        say(peer, head);
        say(peer, "3\r\none\r\n");
        AWAIT(story, seen.piece_count == 1);
        say(peer, rests[i]);
        hang_up(peer);
        AWAIT(story, seen.done_count == 1);
        assert_int_equal(seen.failure, HTTP_UNREACHABLE);
        assert_int_equal(seen.error.fault, FAULT_AGAIN);
        assert_non_null(strstr(seen.error.text, "lost the connection to 127.0.0.1:"));
        buffer_done(&seen.pieces);
    }
}

// ---- what a piece may do ------------------------------------------------------------------------

static void cancel_own(void *context, struct text piece)
{
    struct seen *seen = context;
    on_piece(seen, piece);
    if (piece.len)
        http_cancel(seen->story->http, seen->call);
}

static void cancel_at_head(void *context, struct text piece)
{
    struct seen *seen = context;
    on_piece(seen, piece);
    http_cancel(seen->story->http, seen->call);
}

static void take_until_cancelled(struct story *story, struct seen *seen,
                                 void (*piece)(void *context, struct text piece))
{
    struct http_request request = request_to(story, "/");
    request.piece = piece;
    begin(seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    say(&story->peers[0], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    AWAIT(story, story->peers[0].is_closed);
    settle(story);
    assert_int_equal(seen->done_count, 0);
}

static void a_piece_may_cancel_its_call(void **state)
{
    struct seen seen;
    take_until_cancelled(*state, &seen, cancel_own);
    assert_true(has_pieces(&seen, "one"));
    buffer_done(&seen.pieces);
}

static void who_cancels_at_the_head_hears_no_more(void **state)
{
    struct seen seen;
    take_until_cancelled(*state, &seen, cancel_at_head);
    assert_true(seen.has_head);
    assert_int_equal(seen.piece_count, 0);
}

static void cancel_other(void *context, struct text piece)
{
    struct seen *seen = context;
    on_piece(seen, piece);
    if (!piece.len || !seen->other)
        return;
    http_cancel(seen->story->http, seen->other->call);
    seen->other = NULL;
}

static void a_piece_may_cancel_another_call(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct peer *other = ask(&second, story, "/second");
    struct http_request request = request_to(story, "/first");
    request.piece = cancel_other;
    begin(&first, story, &request);
    first.other = &second;
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/first"));
    say(&story->peers[1], head);
    say(&story->peers[1], "3\r\none\r\n");
    AWAIT(story, other->is_closed);
    say(&story->peers[1], "0\r\n\r\n");
    AWAIT(story, first.done_count == 1);
    assert_int_equal(second.piece_count + second.done_count, 0);
    buffer_done(&first.pieces);
}

static void send_another(void *context, struct text piece)
{
    struct seen *seen = context;
    struct http_request request = request_to(seen->story, "/another");
    on_piece(seen, piece);
    if (!piece.len)
        return;
    seen->other->call = http_send(seen->story->http, &request, on_done, seen->other);
}

static void a_piece_may_send_another_request(void **state)
{
    struct story *story = *state;
    struct seen first, second = {.story = story};
    struct http_request request = request_to(story, "/");
    request.piece = send_another;
    begin(&first, story, &request);
    first.other = &second;
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    say(&story->peers[0], head);
    say(&story->peers[0], "3\r\none\r\n");
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/another"));
    say(&story->peers[1], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    AWAIT(story, second.done_count == 1);
    assert_true(has_pieces(&second, "yes"));
    assert_int_equal(first.done_count, 0);
    buffer_done(&first.pieces);
    buffer_done(&second.pieces);
}

static void send_and_cancel(void *context, struct text piece)
{
    struct seen *seen = context;
    send_another(seen, piece);
    if (piece.len)
        http_cancel(seen->story->http, seen->other->call);
}

static void what_a_piece_sends_and_cancels_never_goes_out(void **state)
{
    struct story *story = *state;
    struct seen first, second = {.story = story};
    struct http_request request = request_to(story, "/");
    request.piece = send_and_cancel;
    begin(&first, story, &request);
    first.other = &second;
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    say(&story->peers[0], head);
    say(&story->peers[0], "3\r\none\r\n");
    AWAIT(story, first.piece_count == 1);
    settle(story);
    assert_int_equal(story->peer_count, 2);
    assert_int_equal(second.done_count, 0);
    buffer_done(&first.pieces);
}

static void free_at_head(void *context, struct text piece)
{
    struct seen *seen = context;
    on_piece(seen, piece);
    http_free(seen->story->http);
    seen->story->http = NULL;
}

static void free_client(void *context, struct text piece)
{
    if (piece.len)
        free_at_head(context, piece);
}

static void a_head_may_free_the_client(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct http_request request = request_to(story, "/");
    request.piece = free_at_head;
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    say(&story->peers[0], head);
    AWAIT(story, story->peers[0].is_closed);
    assert_int_equal(seen.piece_count + seen.done_count, 0);
    buffer_done(&seen.pieces);
}

static void a_piece_may_free_the_client(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct peer *other = ask(&second, story, "/second");
    struct http_request request = request_to(story, "/first");
    request.piece = free_client;
    begin(&first, story, &request);
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/first"));
    say(&story->peers[1], head);
    say(&story->peers[1], "3\r\none\r\n3\r\ntwo\r\n");
    AWAIT(story, other->is_closed && story->peers[1].is_closed);
    assert_true(has_pieces(&first, "one"));
    assert_int_equal(first.done_count + second.done_count, 0);
    buffer_done(&first.pieces);
}

// ---- a connection of its own --------------------------------------------------------------------

static void get_once(struct story *story, bool is_alone, size_t peer)
{
    struct seen seen;
    struct http_request request = request_to(story, "/once");
    request.is_alone = is_alone;
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count > peer && has_request(&story->peers[peer], "/once"));
    say(&story->peers[peer], "HTTP/1.1 204 No Content\r\n\r\n");
    AWAIT(story, seen.done_count == 1);
    buffer_clear(&story->peers[peer].input);
}

static void a_call_alone_shares_its_connection_with_nobody(void **state)
{
    struct story *story = *state;
    get_once(story, false, 0);
    get_once(story, true, 1);
    AWAIT(story, story->peers[1].is_closed);
    get_once(story, false, 0);
    get_once(story, true, 2);
    AWAIT(story, story->peers[2].is_closed);
    assert_false(story->peers[0].is_closed);
    assert_int_equal(story->peer_count, 3);
}

static bool leads_to(int fd, uint16_t port)
{
    struct sockaddr_in at = {0};
    socklen_t len = sizeof(at);
    return getpeername(fd, (struct sockaddr *)&at, &len) == 0 && ntohs(at.sin_port) == port;
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

// Up to where the server has this second request of a connection, which then breaks.
static void lose(struct seen *seen, struct story *story, const char *method)
{
    struct seen first;
    struct peer *peer = ask(&first, story, "/first");
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    AWAIT(story, first.done_count);
    struct http_request request = request_to(story, "/lost");
    request.method = method;
    request.body = TEXT("x");
    begin(seen, story, &request);
    AWAIT(story, has_request(peer, "/lost"));
    hang_up(peer);
}

static void expect_sent_once(struct story *story, const char *method)
{
    struct seen seen;
    lose(&seen, story, method);
    AWAIT(story, seen.done_count);
    assert_int_equal(seen.failure, HTTP_UNREACHABLE);
    for (size_t i = 1; i < story->peer_count; i++)
        assert_false(has_request(&story->peers[i], "/lost"));
}

static void a_post_that_may_have_been_heard_is_not_sent_again(void **state)
{
    expect_sent_once(*state, "POST");
}

static void a_patch_that_may_have_been_heard_is_not_sent_again(void **state)
{
    expect_sent_once(*state, "PATCH");
}

static void what_makes_no_difference_twice_is_sent_again(void **state)
{
    struct seen seen;
    struct story *story = *state;
    lose(&seen, story, "DELETE");
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/lost"));
    say(&story->peers[1], "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    AWAIT(story, seen.done_count);
    assert_int_equal(seen.failure, HTTP_OK);
}

static void a_connection_alone_is_probed(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct http_request request = request_to(story, "/");
    int fd = 3;
    request.is_alone = true;
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    assert_null(strcasestr(story->peers[0].input.at, "Accept-Encoding"));
    while (fd < 64 && !leads_to(fd, story->socket.port))
        fd++;
    assert_true(fd < 64);
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 15);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 25000);
    http_cancel(story->http, seen.call);
}

static void a_request_may_bring_its_own_user_agent(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct http_request request = request_to(story, "/");
    request.user_agent = "signpost/test/leader-election";
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/"));
    assert_non_null(
        strstr(story->peers[0].input.at, "User-Agent: signpost/test/leader-election\r\n"));
    http_cancel(story->http, seen.call);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_body_comes_piece_by_piece),
        TEST(only_a_success_comes_in_pieces),
        TEST(a_body_in_pieces_has_no_limit),
        TEST(a_stream_that_is_cut_fails_behind_its_pieces),
        TEST(a_piece_may_cancel_its_call),
        TEST(who_cancels_at_the_head_hears_no_more),
        TEST(a_piece_may_cancel_another_call),
        TEST(a_piece_may_send_another_request),
        TEST(what_a_piece_sends_and_cancels_never_goes_out),
        TEST(a_head_may_free_the_client),
        TEST(a_piece_may_free_the_client),
        TEST(a_call_alone_shares_its_connection_with_nobody),
        TEST(a_post_that_may_have_been_heard_is_not_sent_again),
        TEST(a_patch_that_may_have_been_heard_is_not_sent_again),
        TEST(what_makes_no_difference_twice_is_sent_again),
        TEST(a_connection_alone_is_probed),
        TEST(a_request_may_bring_its_own_user_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
