#pragma once

#include "base/list.h"
#include "base/text.h"
#include "io/curl_library.h"
#include "io/http.h"
#include "io/http_proxy.h"
#include "io/loop.h"

// Private to the libcurl client: one call from http_send to its callback. http_curl.c owns the
// calls, http_multi.c drives them on the loop, http_call.c fills the request in, http_reply.c
// gathers what comes back.

struct header_at {
    size_t name;
    size_t value;
};

// One of libcurl's, with the connections that it keeps.
struct http_multi {
    struct curl_http *owner;
    CURLM *handle;         // NULL until it is needed
    struct watched *ready; // the socket that libcurl is at work for; NULL: none, or dropped
    struct loop_timer timer;
};

struct http_call {
    struct link link;
    struct curl_http *owner;
    struct http_multi *multi;           // one of the owner's
    const struct curl_library *libcurl; // the owner's; NULL: it could not be loaded
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    struct buffer body;      // of the request
    struct buffer key;       // of the client's certificate; libcurl borrows it
    struct loop_timer timer; // of a request that could not even start, or may wait for others
    char target[300];        // host:port for error texts
    bool has_proxy;
    bool is_alone;
    bool is_unsent;    // it waits until libcurl may be told of it
    bool is_cancelled; // it waits until libcurl may be rid of it
    bool is_once;      // it must not be sent a second time
    unsigned tries;    // of libcurl to send it
    char pin[56];      // of the server; "": none
    bool reports_peer;
    int64_t timeout_ms;
    int64_t connect_timeout_ms;
    http_done *done;
    void (*piece)(void *context, struct text piece);
    void *context;

    size_t max_header_octets;
    size_t max_body_octets;
    size_t header_octets;
    bool is_too_big;
    bool has_whole_head;
    struct buffer lines; // names and values of the reply, NUL-terminated
    struct header_at *fields;
    size_t field_count;
    size_t field_capacity;
    struct buffer answer; // body of the reply
    char trouble[CURL_ERROR_SIZE];
};

struct curl_http {
    struct http http;
    struct loop *loop;
    struct curl_library libcurl; // once there is a multi
    struct http_multi shared;
    struct http_multi single; // one connection to each host and port
    char *user_agent;
    struct http_proxies proxies;
    LIST_OF(struct http_call) running;
    LIST_OF(struct http_call) spare;
    size_t spare_count;
    bool is_reporting;
    bool is_in_libcurl; // which forbids calls to it from its own callbacks
    bool has_late;      // calls that are unsent or cancelled
    bool is_freed;
};

static inline bool http_is_loaded(const struct curl_http *curl)
{
    return curl->shared.handle || curl->single.handle;
}

#define SETOPT(call, option, value)                                                                \
    do {                                                                                           \
        _Static_assert(CURL_FITS(option, value), #option " takes another type");                   \
        (call)->libcurl->easy_setopt((call)->easy, option, value);                                 \
    } while (0)

// The one for such a request, opened when the first is there. NULL when libcurl cannot be loaded;
// the next request tries it again.
struct http_multi *http_multi_open(struct curl_http *curl, bool is_single, struct error *err);
void http_multi_close(struct http_multi *multi); // also one that was never opened
// libcurl has been at work: what was put off for it is done, and what has ended is reported.
void http_multi_acted(struct http_multi *multi);
// Fills the handle in; what the request borrows is copied. False when it can never be sent.
bool http_call_prepare(struct http_call *call, const struct http_request *request,
                       struct error *err);
// Has the handle hand over what it receives.
void http_call_receive(struct http_call *call);
// What the server showed in this call's handshake, if there was one; else `out` stays.
void http_peer_read(const struct http_call *call, struct http_peer *out);
// Tells the caller how the transfer ended.
void http_call_answer(struct http_call *call, CURLcode code);
