#include "io/test_http_peer.h"

// Requests through proxies, as the proxy sees them.

static void begin_through(struct seen *seen, struct story *story, const char *url,
                          const char *scheme)
{
    char proxy[64];
    struct http_request request = request_to(story, "");
    snprintf(proxy, sizeof(proxy), "%s127.0.0.1:%u", scheme, story->socket.port);
    request.url = url;
    request.proxy = proxy;
    begin(seen, story, &request);
}

static void finish(struct seen *seen, struct peer *peer)
{
    say(peer, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthis");
    AWAIT(seen->story, seen->done_count == 1);
    assert_int_equal(seen->failure, HTTP_OK);
    assert_true(has_pieces(seen, "this"));
    buffer_done(&seen->pieces);
}

static void an_http_proxy_gets_the_whole_url(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct peer *peer = &story->peers[0];
    begin_through(&seen, story, "http://signpost.example/path?query", "http://");
    AWAIT(story, story->peer_count == 1 && has_request(peer, "GET "));
    assert_non_null(strstr(peer->input.at, "GET http://signpost.example/path?query HTTP/1.1\r\n"));
    finish(&seen, peer);
}

static void a_proxy_without_scheme_is_an_http_one(void **state)
{
    struct story *story = *state;
    struct seen seen;
    begin_through(&seen, story, "http://signpost.example/", "");
    AWAIT(story, story->peer_count == 1 &&
                     has_request(&story->peers[0], "GET http://signpost.example/ HTTP/1.1\r\n"));
    finish(&seen, &story->peers[0]);
}

static void a_proxy_that_is_asked_for_counts_for_local_addresses_too(void **state)
{
    struct story *story = *state;
    struct seen seen;
    begin_through(&seen, story, "http://127.0.0.1:1/", "http://");
    AWAIT(story, story->peer_count == 1 &&
                     has_request(&story->peers[0], "GET http://127.0.0.1:1/ HTTP/1.1\r\n"));
    finish(&seen, &story->peers[0]);
}

static void tls_goes_through_a_tunnel_to_the_real_place(void **state)
{
    struct story *story = *state;
    struct seen seen;
    char proxy[64];
    struct http_request request = request_to(story, "");
    struct peer *peer = &story->peers[0];
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", story->socket.port);
    request.url = "https://signpost.example:6443/";
    request.proxy = proxy;
    request.tls.server_name = "other.example";
    request.headers = &(struct http_header){"Authorization", "Bearer secret"};
    request.header_count = 1;
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 &&
                     has_request(peer, "CONNECT signpost.example:6443 HTTP/1.1\r\n"));
    assert_null(strstr(peer->input.at, "secret"));
    buffer_clear(&peer->input);
    say(peer, "HTTP/1.1 200 Connection established\r\n\r\n");
    AWAIT(story, peer->input.len > 2);
    // A record of a TLS handshake.
    assert_memory_equal(peer->input.at, "\x16\x03", 2);
    http_cancel(story->http, seen.call);
}

static void a_proxy_may_ask_for_a_password(void **state)
{
    struct story *story = *state;
    struct seen seen;
    begin_through(&seen, story, "http://signpost.example/", "http://anna:secret@");
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "GET "));
    assert_non_null(
        strstr(story->peers[0].input.at, "Proxy-Authorization: Basic YW5uYTpzZWNyZXQ=\r\n"));
    finish(&seen, &story->peers[0]);
}

static void a_socks_proxy_resolves_the_name(void **state)
{
    struct story *story = *state;
    struct seen seen;
    static const char name[] = "signpost.example";
    static const char granted[] = {5, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    struct peer *peer = &story->peers[0];
    begin_through(&seen, story, "http://signpost.example/path", "socks5://");
    AWAIT(story, story->peer_count == 1 && peer->input.len >= 3);
    assert_int_equal(peer->input.at[0], 5);
    buffer_clear(&peer->input);
    assert_int_equal(send(peer->fd, "\x05\x00", 2, MSG_NOSIGNAL), 2);
    // CONNECT to a name (RFC 1928, 4 and 5).
    AWAIT(story, peer->input.len >= 5 + sizeof(name) - 1 + 2);
    assert_memory_equal(peer->input.at, "\x05\x01\x00\x03\x10", 5);
    assert_memory_equal(peer->input.at + 5, name, sizeof(name) - 1);
    assert_memory_equal(peer->input.at + 5 + sizeof(name) - 1, "\x00\x50", 2);
    buffer_clear(&peer->input);
    assert_int_equal(send(peer->fd, granted, sizeof(granted), MSG_NOSIGNAL), sizeof(granted));
    AWAIT(story, has_request(peer, "GET /path HTTP/1.1\r\n"));
    finish(&seen, peer);
}

static void an_empty_proxy_goes_straight_whatever_the_environment_says(void **state)
{
    struct story *story = *state;
    struct seen seen;
    char url[64];
    http_free(story->http);
    setenv("HTTP_PROXY", "http://127.0.0.1:1", 1);
    story->http = http_curl_new(story->loop, "signpost/test");
    unsetenv("HTTP_PROXY");
    struct http_request request = request_to(story, "");
    // This machine, yet no loopback address.
    snprintf(url, sizeof(url), "http://0.0.0.0:%u/path", story->socket.port);
    request.url = url;
    begin(&seen, story, &request);
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.failure, HTTP_UNREACHABLE);
    assert_non_null(strstr(seen.error.text, "through the proxy"));
    request.proxy = "";
    begin(&seen, story, &request);
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "GET /path HTTP/1.1\r\n"));
    finish(&seen, &story->peers[0]);
}

static void another_proxy_gets_another_connection(void **state)
{
    struct story *story = *state;
    struct seen seen;
    static const char url[] = "http://signpost.example/";
    begin_through(&seen, story, url, "http://");
    AWAIT(story, story->peer_count == 1 && has_request(&story->peers[0], "GET "));
    finish(&seen, &story->peers[0]);
    begin_through(&seen, story, url, "socks5://");
    AWAIT(story, story->peer_count == 2 && story->peers[1].input.len >= 3);
    http_cancel(story->http, seen.call);
}

static void what_is_no_proxy_is_told_without_its_password(void **state)
{
    struct story *story = *state;
    static const char *const bad[] = {"ftp://anna:secret@127.0.0.1:1", "socks9://anna:secret@a",
                                      "http://anna:secret@a b", "http://anna:secret@127.0.0.1:x"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct seen seen;
        struct http_request request = request_to(story, "/");
        request.proxy = bad[i];
        begin(&seen, story, &request);
        AWAIT(story, seen.done_count == 1);
        assert_int_equal(seen.failure, HTTP_UNREACHABLE);
        assert_null(strstr(seen.error.text, "secret"));
        assert_non_null(strstr(seen.error.text, "is no URL of http, https or socks5"));
    }
}

static void a_proxy_that_refuses_is_told_without_its_password(void **state)
{
    struct story *story = *state;
    struct seen seen;
    struct peer *peer = &story->peers[0];
    begin_through(&seen, story, "https://signpost.example/", "http://anna:secret@");
    AWAIT(story, story->peer_count == 1 && has_request(peer, "CONNECT "));
    say(peer, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    AWAIT(story, seen.done_count == 1);
    assert_int_equal(seen.failure, HTTP_UNREACHABLE);
    assert_null(strstr(seen.error.text, "secret"));
    assert_non_null(strstr(seen.error.text, "signpost.example:443 through the proxy"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_http_proxy_gets_the_whole_url),
        TEST(a_proxy_without_scheme_is_an_http_one),
        TEST(a_proxy_that_is_asked_for_counts_for_local_addresses_too),
        TEST(tls_goes_through_a_tunnel_to_the_real_place),
        TEST(a_proxy_may_ask_for_a_password),
        TEST(a_socks_proxy_resolves_the_name),
        TEST(an_empty_proxy_goes_straight_whatever_the_environment_says),
        TEST(another_proxy_gets_another_connection),
        TEST(what_is_no_proxy_is_told_without_its_password),
        TEST(a_proxy_that_refuses_is_told_without_its_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
