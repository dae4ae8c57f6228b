#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/errno_text.h"
#include "io/http.h"
#include "io/http_proxy.h"
#include "io/loop.h"

enum {
    DEFAULT_HEADER_OCTETS = 16 * 1024,
    DEFAULT_BODY_OCTETS = 1024 * 1024,
    MAX_SPARE_CALLS = 32,
    MAX_SPARE_OCTETS = 64 * 1024,
    MAX_IDLE_CONNECTIONS = 64,
    CA_CACHE_S = 3600,
};

struct header_at {
    size_t name;
    size_t value;
};

struct http_call {
    struct curl_http *owner;
    struct http_call *previous;
    struct http_call *next;
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    struct buffer body;      // of the request
    struct loop_timer early; // reports a request that could not even start
    char target[300];        // host:port for error texts
    const char *proxy;
    int64_t timeout_ms;
    int64_t connect_timeout_ms;
    http_done *done;
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

struct watched {
    struct curl_http *owner;
    struct loop_fd *watch;
    unsigned interest;
};

struct curl_http {
    struct http http;
    struct loop *loop;
    CURLM *multi;
    char *user_agent;
    struct http_proxies proxies;
    struct loop_timer timer;
    struct http_call *running;
    struct http_call *spare;
    size_t spare_count;
    bool is_reporting;
    bool is_freed;
};

// ---- what libcurl asks of the loop ----

static void report_finished(struct curl_http *curl);

static void on_timer(void *context)
{
    struct curl_http *curl = context;
    int running;
    must(curl_multi_socket_action(curl->multi, CURL_SOCKET_TIMEOUT, 0, &running) == CURLM_OK);
    report_finished(curl);
}

static int on_timer_wish(CURLM *multi, long delay_ms, void *context)
{
    (void)multi;
    struct curl_http *curl = context;
    if (delay_ms < 0)
        loop_timer_cancel(curl->loop, &curl->timer);
    else
        loop_timer_set(curl->loop, &curl->timer, delay_ms);
    return 0;
}

static void on_ready(void *context, int fd, unsigned interest)
{
    struct watched *watched = context;
    struct curl_http *curl = watched->owner;
    int what = ((interest & LOOP_READ) ? CURL_CSELECT_IN : 0) |
               ((interest & LOOP_WRITE) ? CURL_CSELECT_OUT : 0);
    int running;
    must(curl_multi_socket_action(curl->multi, fd, what, &running) == CURLM_OK);
    report_finished(curl);
}

static void drop_watch(struct curl_http *curl, curl_socket_t fd, struct watched *watched)
{
    if (!watched)
        return;
    loop_unwatch_fd(curl->loop, watched->watch);
    curl_multi_assign(curl->multi, fd, NULL);
    free(watched);
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *context, void *socket)
{
    (void)easy;
    struct curl_http *curl = context;
    struct watched *watched = socket;
    if (what == CURL_POLL_REMOVE) {
        drop_watch(curl, fd, watched);
        return 0;
    }
    unsigned interest =
        ((what & CURL_POLL_IN) ? LOOP_READ : 0u) | ((what & CURL_POLL_OUT) ? LOOP_WRITE : 0u);
    if (!watched) {
        watched = mem_new_of(struct watched);
        watched->owner = curl;
        curl_multi_assign(curl->multi, fd, watched);
    } else if (watched->interest == interest) {
        return 0;
    } else {
        loop_unwatch_fd(curl->loop, watched->watch);
    }
    watched->interest = interest;
    watched->watch = loop_watch_fd(curl->loop, fd, interest, on_ready, watched);
    return 0;
}

// ---- receiving ----

static void keep_field(struct http_call *call, struct text line)
{
    struct text value = line, name;
    if (!text_cut(&value, ':', &name) || !value.at)
        return;
    value = text_trim(value);
    mem_reserve(&call->fields, &call->field_capacity, call->field_count + 1);
    struct header_at *field = &call->fields[call->field_count++];
    field->name = call->lines.len;
    buffer_add(&call->lines, name.at, name.len);
    buffer_add_char(&call->lines, '\0');
    field->value = call->lines.len;
    buffer_add(&call->lines, value.at, value.len);
    buffer_add_char(&call->lines, '\0');
}

static size_t on_header(char *at, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    size_t len = size * count;
    call->header_octets += len;
    if (call->header_octets > call->max_header_octets) {
        call->is_too_big = true;
        return 0;
    }
    struct text line = text_trim((struct text){at, len});
    if (line.len == 0)
        call->has_whole_head = true;
    if (text_starts(line, "HTTP/")) {
        call->has_whole_head = false;
        buffer_clear(&call->lines);
        call->field_count = 0;
    } else {
        keep_field(call, line);
    }
    return len;
}

static size_t on_body(char *at, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    size_t len = size * count;
    if (len > call->max_body_octets - call->answer.len) {
        call->is_too_big = true;
        return 0;
    }
    buffer_add(&call->answer, at, len);
    return len;
}

// ---- life of a call ----

static void call_free(struct http_call *call)
{
    curl_easy_cleanup(call->easy);
    curl_url_cleanup(call->url);
    buffer_done(&call->body);
    buffer_done(&call->lines);
    buffer_done(&call->answer);
    free(call->fields);
    free(call);
}

static struct http_call *take_spare(struct curl_http *curl)
{
    struct http_call *call = curl->spare;
    if (call) {
        curl->spare = call->next;
        curl->spare_count--;
    } else {
        call = mem_new_of(struct http_call);
        call->owner = curl;
        call->easy = curl_easy_init();
        call->url = curl_url();
        must(call->easy && call->url);
    }
    call->previous = NULL;
    call->next = curl->running;
    if (call->next)
        call->next->previous = call;
    curl->running = call;
    return call;
}

static void unlink_running(struct http_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        call->owner->running = call->next;
    if (call->next)
        call->next->previous = call->previous;
}

static void shrink(struct buffer *buffer)
{
    if (buffer->capacity > MAX_SPARE_OCTETS)
        buffer_done(buffer);
    else
        buffer_clear(buffer);
}

static void give_back(struct http_call *call)
{
    struct curl_http *curl = call->owner;
    loop_timer_cancel(curl->loop, &call->early);
    curl_easy_reset(call->easy);
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    call->headers = NULL;
    call->connect_to = NULL;
    if (curl->is_freed || curl->spare_count == MAX_SPARE_CALLS) {
        call_free(call);
        return;
    }
    // A request's body may hold what nobody should find in our memory later.
    if (call->body.at)
        explicit_bzero(call->body.at, call->body.len);
    shrink(&call->body);
    shrink(&call->lines);
    shrink(&call->answer);
    call->field_count = 0;
    call->header_octets = 0;
    call->is_too_big = false;
    call->has_whole_head = false;
    call->trouble[0] = '\0';
    call->next = curl->spare;
    curl->spare = call;
    curl->spare_count++;
}

// ---- what became of it ----

struct trouble {
    CURLcode code;
    const char *what;   // stands before the target
    const char *detail; // NULL: libcurl's own words
};

static const struct trouble troubles[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "cannot resolve the name of", "no address found"},
    {CURLE_COULDNT_RESOLVE_PROXY, "cannot resolve the proxy for", "no address found"},
    {CURLE_COULDNT_CONNECT, "cannot connect to", NULL},
    {CURLE_SSL_CONNECT_ERROR, "tls handshake failed with", NULL},
    {CURLE_PEER_FAILED_VERIFICATION, "cannot trust", NULL},
    {CURLE_SSL_CACERT_BADFILE, "cannot use the ca certificates for", "not pem certificates"},
    {CURLE_GOT_NOTHING, "no answer from", "connection closed"},
    {CURLE_PARTIAL_FILE, "lost the connection to", "answer is incomplete"},
    {CURLE_SEND_ERROR, "lost the connection to", NULL},
    {CURLE_RECV_ERROR, "lost the connection to", NULL},
    {CURLE_WEIRD_SERVER_REPLY, "no http answer from", NULL},
    {CURLE_UNSUPPORTED_PROTOCOL, "no http answer from", NULL},
};

static const struct trouble *find_trouble(CURLcode code)
{
    static const struct trouble other = {CURLE_OK, "request failed at", NULL};
    for (size_t i = 0; i < COUNT_OF(troubles); i++) {
        if (troubles[i].code == code)
            return &troubles[i];
    }
    return &other;
}

static void describe_trouble(const struct http_call *call, CURLcode code, struct error *err)
{
    const struct trouble *trouble = find_trouble(code);
    long number = 0;
    char words[CURL_ERROR_SIZE];
    const char *detail = trouble->detail;
    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    if (!detail && code == CURLE_COULDNT_CONNECT && number != 0)
        detail = errno_text((int)number, words);
    else if (!detail)
        detail = lower_first(call->trouble[0] ? call->trouble : curl_easy_strerror(code), words,
                             sizeof(words));
    error_set(err, FAULT_AGAIN, "ServerUnreachable", "%s %s%s: %s", trouble->what, call->target,
              call->proxy ? " through the proxy" : "", detail);
    err->status = (int)number;
}

static void describe_timeout(const struct http_call *call, struct error *err)
{
    curl_off_t connected_us = 0;
    curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    int64_t limit_ms = call->timeout_ms;
    if (connected_us == 0 && call->connect_timeout_ms > 0 &&
        (limit_ms <= 0 || call->connect_timeout_ms < limit_ms))
        limit_ms = call->connect_timeout_ms;
    error_set(err, FAULT_AGAIN, "ServerUnreachable", "%s %s within %lld ms",
              connected_us == 0 ? "cannot connect to" : "no answer from", call->target,
              (long long)limit_ms);
}

static void describe(const struct http_call *call, CURLcode code, struct http_reply *reply)
{
    if (call->is_too_big) {
        reply->failure = HTTP_TOO_BIG;
        bool is_header = call->header_octets > call->max_header_octets;
        error_set(&reply->error, FAULT_AGAIN, "AnswerTooBig",
                  "%s of the answer from %s is over %zu octets", is_header ? "header" : "body",
                  call->target, is_header ? call->max_header_octets : call->max_body_octets);
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        reply->failure = HTTP_TIMEOUT;
        describe_timeout(call, &reply->error);
    } else if (code != CURLE_OK) {
        reply->failure = HTTP_UNREACHABLE;
        describe_trouble(call, code, &reply->error);
    }
}

static void answer(struct http_call *call, const struct http_reply *failed)
{
    autofree struct http_header *headers = mem_new_array(struct http_header, call->field_count + 1);
    for (size_t i = 0; i < call->field_count; i++) {
        headers[i].name = call->lines.at + call->fields[i].name;
        headers[i].value = call->lines.at + call->fields[i].value;
    }
    struct http_reply reply = *failed;
    if (reply.failure == HTTP_OK) {
        long status = 0;
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        reply.status = (int)status;
        reply.body = buffer_text(&call->answer);
        reply.headers = headers;
        reply.header_count = call->field_count;
    }
    call->done(call->context, &reply);
}

static void finish(struct http_call *call, CURLcode code)
{
    struct http_reply reply = {.failure = HTTP_OK};
    // To libcurl a head that breaks off is an answer with an empty body.
    if (code == CURLE_OK && !call->has_whole_head)
        code = CURLE_PARTIAL_FILE;
    describe(call, code, &reply);
    curl_multi_remove_handle(call->owner->multi, call->easy);
    unlink_running(call);
    answer(call, &reply);
    give_back(call);
}

static void destroy(struct curl_http *curl);

// Callbacks may send, cancel and even free; only the last has to wait.
static void report_finished(struct curl_http *curl)
{
    CURLMsg *message;
    int left;
    curl->is_reporting = true;
    while (!curl->is_freed && (message = curl_multi_info_read(curl->multi, &left))) {
        struct http_call *call;
        if (message->msg != CURLMSG_DONE)
            continue;
        must(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK);
        finish(call, message->data.result);
    }
    curl->is_reporting = false;
    if (curl->is_freed)
        destroy(curl);
}

// ---- sending ----

static void set_up_multi(struct curl_http *curl)
{
    if (curl->multi)
        return;
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    curl->multi = curl_multi_init();
    must(curl->multi);
    curl_multi_setopt(curl->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wish);
    curl_multi_setopt(curl->multi, CURLMOPT_SOCKETDATA, curl);
    curl_multi_setopt(curl->multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
    curl_multi_setopt(curl->multi, CURLMOPT_TIMERDATA, curl);
    curl_multi_setopt(curl->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(curl->multi, CURLMOPT_MAXCONNECTS, (long)MAX_IDLE_CONNECTIONS);
}

static bool has_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

static void add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    must(longer);
    *list = longer;
}

static bool set_headers(struct http_call *call, const struct http_request *request,
                        struct error *err)
{
    static const char *const unwanted[] = {"Accept", "Content-Type", "Expect"};
    AUTO_BUFFER line = {0};
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (strpbrk(header->name, "\r\n:") || strpbrk(header->value, "\r\n"))
            return error_set(err, FAULT_AGAIN, "InvalidRequest",
                             "request to %s: header %s holds a line break", call->target,
                             header->name);
        buffer_clear(&line);
        // libcurl's way to say "this header with an empty value".
        if (*header->value)
            buffer_printf(&line, "%s: %s", header->name, header->value);
        else
            buffer_printf(&line, "%s;", header->name);
        add_line(&call->headers, line.at);
    }
    for (size_t i = 0; i < COUNT_OF(unwanted); i++) {
        if (has_header(request, unwanted[i]))
            continue;
        buffer_clear(&line);
        buffer_printf(&line, "%s:", unwanted[i]);
        add_line(&call->headers, line.at);
    }
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    return true;
}

static void set_body(struct http_call *call, const struct http_request *request)
{
    if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (request->body.at) {
        buffer_add(&call->body, request->body.at, request->body.len);
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, buffer_text(&call->body).at);
    }
    curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_fixed(struct http_call *call)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_CURLU, call->url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, call->owner->user_agent);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // A thread that still resolves a name must not be waited for.
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->trouble);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

static void set_limits(struct http_call *call, const struct http_request *request)
{
    call->timeout_ms = request->timeout_ms;
    call->connect_timeout_ms = request->connect_timeout_ms;
    call->max_header_octets =
        request->max_header_octets ? request->max_header_octets : DEFAULT_HEADER_OCTETS;
    call->max_body_octets =
        request->max_body_octets ? request->max_body_octets : DEFAULT_BODY_OCTETS;
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
}

// The default CA directory counts beside a blob, so it has to go.
static void set_ca(struct http_call *call, const char *pem)
{
    if (!pem)
        return;
    struct curl_blob blob = {.len = strlen(pem), .flags = CURL_BLOB_COPY};
    autofree char *copy = mem_copy_text(pem);
    blob.data = copy;
    curl_easy_setopt(call->easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(call->easy, CURLOPT_CAINFO, NULL);
    curl_easy_setopt(call->easy, CURLOPT_CAINFO_BLOB, &blob);
}

struct place {
    bool is_https;
    char *host; // IPv6 in brackets
    char *port;
};

static void place_done(struct place *place)
{
    curl_free(place->host);
    curl_free(place->port);
}

static bool parse_place(struct http_call *call, const char *url, struct place *place,
                        struct error *err)
{
    char *scheme = NULL;
    if (curl_url_set(call->url, CURLUPART_URL, url, CURLU_PATH_AS_IS) != CURLUE_OK ||
        curl_url_get(call->url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "not a url");
    place->is_https = strcmp(scheme, "https") == 0;
    bool is_http = place->is_https || strcmp(scheme, "http") == 0;
    curl_free(scheme);
    if (!is_http)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "url is neither http nor https");
    must(curl_url_get(call->url, CURLUPART_HOST, &place->host, 0) == CURLUE_OK);
    must(curl_url_get(call->url, CURLUPART_PORT, &place->port, CURLU_DEFAULT_PORT) == CURLUE_OK);
    snprintf(call->target, sizeof(call->target), "%s:%s", place->host, place->port);
    return true;
}

static void set_proxy(struct http_call *call, const struct place *place)
{
    char host[256];
    size_t len = strlen(place->host);
    bool has_brackets = place->host[0] == '[' && len > 1;
    snprintf(host, sizeof(host), "%.*s", (int)(has_brackets ? len - 2 : len),
             place->host + (has_brackets ? 1 : 0));
    call->proxy = http_proxies_find(&call->owner->proxies, place->is_https, host,
                                    (uint16_t)strtoul(place->port, NULL, 10));
    // Empty, not unset: else libcurl looks into the environment by rules of its own.
    curl_easy_setopt(call->easy, CURLOPT_PROXY, call->proxy ? call->proxy : "");
}

// The certificate is checked against another name than the URL's: that name goes into the URL,
// the connection to the real place and the real name into the Host header.
static bool set_server_name(struct http_call *call, const struct http_request *request,
                            const struct place *place, struct error *err)
{
    const char *name = request->tls.server_name;
    if (!name || !place->is_https || strcasecmp(name, place->host) == 0)
        return true;
    AUTO_BUFFER line = {0};
    if (curl_url_set(call->url, CURLUPART_HOST, name, 0) != CURLUE_OK)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "server name %s is not a host name",
                         name);
    buffer_printf(&line, "%s:%s:%s:%s", name, place->port, place->host, place->port);
    add_line(&call->connect_to, line.at);
    curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to);
    if (has_header(request, "Host"))
        return true;
    buffer_clear(&line);
    bool is_default = strcmp(place->port, "443") == 0;
    buffer_printf(&line, "Host: %s%s%s", place->host, is_default ? "" : ":",
                  is_default ? "" : place->port);
    add_line(&call->headers, line.at);
    return true;
}

static bool prepare(struct http_call *call, const struct http_request *request, struct error *err)
{
    __attribute__((cleanup(place_done))) struct place place = {0};
    snprintf(call->target, sizeof(call->target), "?");
    call->proxy = NULL;
    if (!parse_place(call, request->url, &place, err))
        return false;
    set_fixed(call);
    set_limits(call, request);
    set_proxy(call, &place);
    set_ca(call, request->tls.ca_pem);
    set_body(call, request);
    return set_server_name(call, request, &place, err) && set_headers(call, request, err);
}

static void on_early(void *context)
{
    struct http_call *call = context;
    struct curl_http *curl = call->owner;
    struct http_reply reply = {.failure = HTTP_UNREACHABLE};
    error_set(&reply.error, FAULT_AGAIN, "InvalidRequest", "%s", buffer_text(&call->lines).at);
    curl->is_reporting = true;
    unlink_running(call);
    answer(call, &reply);
    give_back(call);
    curl->is_reporting = false;
    if (curl->is_freed)
        destroy(curl);
}

static struct http_call *curl_send(struct http *http, const struct http_request *request,
                                   http_done *done, void *context)
{
    struct curl_http *curl = (struct curl_http *)http;
    struct error err = {0};
    set_up_multi(curl);
    struct http_call *call = take_spare(curl);
    call->done = done;
    call->context = context;
    call->early = (struct loop_timer){.call = on_early, .context = call};
    if (prepare(call, request, &err)) {
        must(curl_multi_add_handle(curl->multi, call->easy) == CURLM_OK);
    } else {
        buffer_add_text(&call->lines, err.text);
        loop_timer_set(curl->loop, &call->early, 0);
    }
    return call;
}

static void curl_cancel(struct http *http, struct http_call *call)
{
    struct curl_http *curl = (struct curl_http *)http;
    curl_multi_remove_handle(curl->multi, call->easy);
    unlink_running(call);
    give_back(call);
}

static void destroy(struct curl_http *curl)
{
    while (curl->spare) {
        struct http_call *call = curl->spare;
        curl->spare = call->next;
        call_free(call);
    }
    if (curl->multi)
        curl_multi_cleanup(curl->multi);
    loop_timer_cancel(curl->loop, &curl->timer);
    http_proxies_done(&curl->proxies);
    free(curl->user_agent);
    free(curl);
}

static void curl_free_all(struct http *http)
{
    struct curl_http *curl = (struct curl_http *)http;
    while (curl->running)
        curl_cancel(http, curl->running);
    curl->is_freed = true;
    if (!curl->is_reporting)
        destroy(curl);
}

struct http *http_curl_new(struct loop *loop, const char *user_agent)
{
    static const struct http_ops ops = {
        .send = curl_send,
        .cancel = curl_cancel,
        .free = curl_free_all,
    };
    struct curl_http *curl = mem_new_of(struct curl_http);
    curl->http.ops = &ops;
    curl->loop = loop;
    curl->user_agent = mem_copy_text(user_agent);
    curl->timer = (struct loop_timer){.call = on_timer, .context = curl};
    http_proxies_init(&curl->proxies);
    return &curl->http;
}
