#pragma once

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
#include "io/http.h"
#include "io/listen.h"
#include "io/loop.h"

// A server whose connections the test reads and writes octet by octet, and a client that talks to
// it.

enum { PATIENCE_MS = 5000, MAX_PEERS = 8 };

// A connection as the server sees it.
struct peer {
    struct story *story;
    int fd;
    struct loop_fd *watch;
    struct buffer input;
    bool is_closed;
};

struct story {
    struct loop *loop;
    struct http *http;
    struct listen_socket socket;
    struct loop_fd *watch;
    struct peer peers[MAX_PEERS];
    size_t peer_count;
    char url[64];
    struct loop_timer patience;
};

// A call as its sender sees it.
struct seen {
    struct story *story;
    struct http_call *call;
    struct seen *other;
    struct buffer pieces;
    unsigned piece_count; // of those with octets
    bool has_head;        // a piece came
    unsigned done_count;
    enum http_failure failure;
    struct error error;
    bool is_unsent;
    int status;
    char body[64];
};

// ---- the server's side --------------------------------------------------------------------------

static inline void on_readable(void *context, int fd, unsigned interest)
{
    struct peer *peer = context;
    char octets[4096];
    (void)interest;
    ssize_t len = read(fd, octets, sizeof(octets));
    if (len > 0) {
        buffer_add(&peer->input, octets, (size_t)len);
    } else {
        peer->is_closed = true;
        loop_unwatch_fd(peer->story->loop, peer->watch);
        peer->watch = NULL;
    }
    loop_stop(peer->story->loop);
}

static inline void on_accept(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    struct peer *peer = &story->peers[story->peer_count++];
    (void)interest;
    assert_true(story->peer_count <= MAX_PEERS);
    *peer = (struct peer){.story = story, .fd = accept(fd, NULL, NULL)};
    peer->watch = loop_watch_fd(story->loop, peer->fd, LOOP_READ, on_readable, peer);
}

static inline void hang_up(struct peer *peer)
{
    loop_unwatch_fd(peer->story->loop, peer->watch);
    peer->watch = NULL;
    if (peer->fd >= 0)
        close(peer->fd);
    peer->fd = -1;
}

static inline void say(struct peer *peer, const char *text)
{
    assert_int_equal(send(peer->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static inline bool has_request(const struct peer *peer, const char *path)
{
    return peer->input.at && strstr(peer->input.at, path) && strstr(peer->input.at, "\r\n\r\n");
}

static inline int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    story->loop = loop_new();
    story->http = http_curl_new(story->loop, "signpost/test");
    assert_true(listen_open(&story->socket, "127.0.0.1", 0, NULL));
    story->watch = loop_watch_fd(story->loop, story->socket.fd, LOOP_READ, on_accept, story);
    *state = story;
    return 0;
}

static inline int tear_down(void **state)
{
    struct story *story = *state;
    http_free(story->http);
    for (size_t i = 0; i < story->peer_count; i++) {
        hang_up(&story->peers[i]);
        buffer_done(&story->peers[i].input);
    }
    loop_unwatch_fd(story->loop, story->watch);
    close(story->socket.fd);
    loop_free(story->loop);
    free(story);
    return 0;
}

// ---- the sender's side --------------------------------------------------------------------------

static inline void give_up(void *context)
{
    (void)context;
    fail_msg("nothing happened");
}

static inline void turn(struct story *story)
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

static inline void on_piece(void *context, struct text piece)
{
    struct seen *seen = context;
    if (piece.len)
        buffer_add(&seen->pieces, piece.at, piece.len);
    seen->piece_count += piece.len > 0;
    seen->has_head = true;
    loop_stop(seen->story->loop);
}

static inline void on_done(void *context, const struct http_reply *reply)
{
    struct seen *seen = context;
    seen->done_count++;
    seen->failure = reply->failure;
    seen->error = reply->error;
    seen->is_unsent = reply->is_unsent;
    seen->status = reply->status;
    snprintf(seen->body, sizeof(seen->body), "%.*s", TEXT_ARGS(reply->body));
    loop_stop(seen->story->loop);
}

static inline bool has_pieces(const struct seen *seen, const char *text)
{
    return text_is(buffer_text(&seen->pieces), text);
}

static inline struct http_request request_to(struct story *story, const char *path)
{
    snprintf(story->url, sizeof(story->url), "http://127.0.0.1:%u%s", story->socket.port, path);
    return (struct http_request){
        .method = "GET", .url = story->url, .connect_timeout_ms = 1000, .piece = on_piece};
}

static inline void begin(struct seen *seen, struct story *story, const struct http_request *request)
{
    *seen = (struct seen){.story = story};
    seen->call = http_send(story->http, request, on_done, seen);
}

// Up to where the server has the request; the connection is the newest.
static inline struct peer *ask(struct seen *seen, struct story *story, const char *path)
{
    struct http_request request = request_to(story, path);
    size_t index = story->peer_count;
    begin(seen, story, &request);
    AWAIT(story, story->peer_count > index && has_request(&story->peers[index], path));
    return &story->peers[index];
}
