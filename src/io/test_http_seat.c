#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>
#include <time.h>

#include "io/test_http_peer.h"

// What small servers need that serve one request at a time: acknowledgements at once, and one
// connection that is given up early.

static const char nothing[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

// A whole request and its answer, at the peer of that number.
static void get(struct story *story, size_t index, const struct http_request *request)
{
    struct seen seen;
    begin(&seen, story, request);
    AWAIT(story, story->peer_count > index && has_request(&story->peers[index], "/"));
    buffer_clear(&story->peers[index].input);
    say(&story->peers[index], nothing);
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.failure, HTTP_OK);
}

// ---- acknowledgements ---------------------------------------------------------------------------

static unsigned unacknowledged(const struct peer *peer)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    assert_int_equal(getsockopt(peer->fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
    return info.tcpi_unacked;
}

// A kernel that saw a few requests and answers go by waits for the next request to acknowledge
// with.
static void what_is_received_is_acknowledged_at_once(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "/");
    struct seen seen;
    for (unsigned i = 0; i < 4; i++)
        get(story, 0, &request);
    begin(&seen, story, &request);
    struct peer *peer = &story->peers[0];
    AWAIT(story, has_request(peer, "/"));
    say(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    AWAIT(story, has_pieces(&seen, "one"));
    assert_int_equal(unacknowledged(peer), 0);
    say(peer, "3\r\ntwo\r\n");
    AWAIT(story, has_pieces(&seen, "onetwo"));
    assert_int_equal(unacknowledged(peer), 0);
    buffer_done(&seen.pieces);
}

static struct peer *quick; // answers before the client has sent, in its own eyes

// In place of the library's, for libcurl as well.
ssize_t send(int fd, const void *at, size_t len, int flags)
{
    struct peer *peer = quick;
    ssize_t sent = syscall(SYS_sendto, fd, at, len, flags, NULL, 0);
    quick = NULL;
    if (peer)
        say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
    return sent;
}

// libcurl reads it in the same breath, before the socket is watched.
static void what_comes_before_the_socket_is_watched_is_acknowledged_at_once(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "/");
    struct seen seen;
    for (unsigned i = 0; i < 4; i++)
        get(story, 0, &request);
    begin(&seen, story, &request);
    struct peer *peer = quick = &story->peers[0];
    AWAIT(story, has_request(peer, "/"));
    assert_null(quick);
    assert_int_equal(unacknowledged(peer), 0);
    say(peer, "one");
    AWAIT(story, seen.done_count == 1);
    assert_true(has_pieces(&seen, "one"));
    buffer_done(&seen.pieces);
}

// ---- one connection -----------------------------------------------------------------------------

static struct http_request single_to(struct story *story, const char *path)
{
    struct http_request request = request_to(story, path);
    request.is_single = true;
    return request;
}

static void a_second_request_waits_for_the_one_connection(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct http_request request = single_to(story, "/first");
    begin(&first, story, &request);
    request = single_to(story, "/second");
    begin(&second, story, &request);
    AWAIT(story, story->peer_count > 0 && has_request(&story->peers[0], "/"));
    struct peer *peer = &story->peers[0];
    assert_null(strstr(peer->input.at, "/second"));
    say(peer, nothing);
    AWAIT(story, first.done_count == 1 && has_request(peer, "/second"));
    say(peer, nothing);
    AWAIT(story, second.done_count == 1);
    assert_int_equal(story->peer_count, 1);
}

static void a_request_that_waits_can_be_cancelled(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct http_request request = single_to(story, "/first");
    begin(&first, story, &request);
    request = single_to(story, "/second");
    begin(&second, story, &request);
    AWAIT(story, story->peer_count > 0 && has_request(&story->peers[0], "/first"));
    http_cancel(story->http, second.call);
    buffer_clear(&story->peers[0].input);
    say(&story->peers[0], nothing);
    AWAIT(story, first.done_count == 1);
    request = single_to(story, "/third");
    get(story, 0, &request);
    assert_int_equal(second.done_count, 0);
}

static void a_request_that_waits_too_long_ends(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct http_request request = single_to(story, "/first");
    begin(&first, story, &request);
    request = single_to(story, "/second");
    request.timeout_ms = 50;
    begin(&second, story, &request);
    AWAIT(story, second.done_count == 1);
    assert_int_equal(second.failure, HTTP_TIMEOUT);
    assert_true(second.is_unsent);
    http_cancel(story->http, first.call);
}

static void a_cancelled_request_gives_its_place_free(void **state)
{
    struct story *story = *state;
    struct seen first, second;
    struct http_request request = single_to(story, "/first");
    begin(&first, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/first"));
    request = single_to(story, "/second");
    begin(&second, story, &request);
    http_cancel(story->http, first.call);
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/second"));
    assert_true(story->peers[0].is_closed);
    http_cancel(story->http, second.call);
}

static void send_in_place_of_itself(void *context, struct text piece)
{
    struct seen *seen = context;
    struct http_request request = single_to(seen->story, "/second");
    on_piece(seen, piece);
    seen->other->call = http_send(seen->story->http, &request, on_done, seen->other);
    http_cancel(seen->story->http, seen->call);
}

static void a_place_can_be_taken_from_within_a_call(void **state)
{
    struct story *story = *state;
    struct seen first, second = {.story = story};
    struct http_request request = single_to(story, "/first");
    request.piece = send_in_place_of_itself;
    begin(&first, story, &request);
    first.other = &second;
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "/first"));
    say(&story->peers[0], "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\none");
    AWAIT(story, story->peer_count == 2 && has_request(&story->peers[1], "/second"));
    assert_true(story->peers[0].is_closed);
    http_cancel(story->http, second.call);
    buffer_done(&first.pieces);
}

// Another's connection to the same place is no concern of theirs.
static void the_one_connection_is_shared_with_nobody_else(void **state)
{
    struct story *story = *state;
    struct http_request request = request_to(story, "/");
    get(story, 0, &request);
    request.is_single = true;
    get(story, 1, &request);
    request.is_single = false;
    get(story, 0, &request);
    assert_int_equal(story->peer_count, 2);
}

// ---- age ----------------------------------------------------------------------------------------

static time_t skipped_s;

// In place of the library's: libcurl reads the clock as well.
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, clock, now) != 0)
        return -1;
    now->tv_sec += skipped_s;
    return 0;
}

static void a_connection_that_was_idle_too_long_is_closed_before_the_next_is_opened(void **state)
{
    struct story *story = *state;
    struct http_request request = single_to(story, "/");
    request.max_idle_s = 4;
    get(story, 0, &request);
    skipped_s += 3;
    get(story, 0, &request);
    skipped_s += 4;
    get(story, 1, &request);
    AWAIT(story, story->peers[0].is_closed);
    assert_int_equal(story->peer_count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_received_is_acknowledged_at_once),
        TEST(what_comes_before_the_socket_is_watched_is_acknowledged_at_once),
        TEST(a_second_request_waits_for_the_one_connection),
        TEST(a_request_that_waits_can_be_cancelled),
        TEST(a_request_that_waits_too_long_ends),
        TEST(a_cancelled_request_gives_its_place_free),
        TEST(a_place_can_be_taken_from_within_a_call),
        TEST(the_one_connection_is_shared_with_nobody_else),
        TEST(a_connection_that_was_idle_too_long_is_closed_before_the_next_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
