#include <string.h>

#include "base/memory.h"
#include "io/errno_text.h"
#include "io/http_call.h"

// ---- receiving ----------------------------------------------------------------------------------

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

static bool is_success(const struct http_call *call)
{
    long status = 0;
    call->libcurl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

static size_t on_header(char *at, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    size_t len = size * count;
    call->header_octets += len;
    if (call->is_cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (call->header_octets > call->max_header_octets) {
        call->is_too_big = true;
        return 0;
    }
    struct text line = text_trim((struct text){at, len});
    if (line.len == 0 && !call->has_whole_head && call->piece && is_success(call))
        call->piece(call->context, TEXT(""));
    if (call->is_cancelled)
        return CURL_WRITEFUNC_ERROR;
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
    if (call->is_cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (call->piece && is_success(call)) {
        call->piece(call->context, (struct text){at, len});
        return call->is_cancelled ? CURL_WRITEFUNC_ERROR : len;
    }
    if (len > call->max_body_octets - call->answer.len) {
        call->is_too_big = true;
        return 0;
    }
    buffer_add(&call->answer, at, len);
    return len;
}

void http_call_receive(struct http_call *call)
{
    SETOPT(call, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SETOPT(call, CURLOPT_ERRORBUFFER, call->trouble);
    SETOPT(call, CURLOPT_HEADERFUNCTION, on_header);
    SETOPT(call, CURLOPT_HEADERDATA, call);
    SETOPT(call, CURLOPT_WRITEFUNCTION, on_body);
    SETOPT(call, CURLOPT_WRITEDATA, call);
}

// ---- what became of it --------------------------------------------------------------------------

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
    {CURLE_SSL_CERTPROBLEM, "cannot use the client certificate for",
     "it and its key must be PEM, belong together and need no password"},
    {CURLE_SSL_CACERT_BADFILE, "cannot use the ca certificates for", "not pem certificates"},
    {CURLE_ABORTED_BY_CALLBACK, "lost the connection to",
     "whether the request was heard is not known"},
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

// OpenSSL's words for what is no record of TLS.
static bool is_plain_server(const struct http_call *call, CURLcode code)
{
    static const char *const signs[] = {"wrong version number", "packet length too long",
                                        "http request"};
    for (size_t i = 0; code == CURLE_SSL_CONNECT_ERROR && i < COUNT_OF(signs); i++)
        if (strstr(call->trouble, signs[i]))
            return true;
    return false;
}

// A connection that ended in the middle of the handshake says nothing of certificates.
static bool is_cut_off(const struct http_call *call, CURLcode code)
{
    return code == CURLE_SSL_CONNECT_ERROR &&
           (strstr(call->trouble, "SSL_ERROR_SYSCALL") || strstr(call->trouble, "unexpected eof"));
}

// Of "OpenSSL SSL_read: OpenSSL/3.0.22: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno
// 0" only what says something.
static const char *own_words(struct http_call *call)
{
    static const char mark[] = "SSL routines::", tail[] = ", errno 0";
    char *end = strstr(call->trouble, tail);
    const char *start = strstr(call->trouble, mark);
    if (end && end[sizeof(tail) - 1] == '\0')
        *end = '\0';
    return start ? start + sizeof(mark) - 1 : call->trouble;
}

static void describe_trouble(struct http_call *call, CURLcode code, struct error *err)
{
    static const struct trouble cut_off = {CURLE_SSL_CONNECT_ERROR, "lost the connection to",
                                           "it ended during the TLS handshake"};
    const struct trouble *trouble = is_cut_off(call, code) ? &cut_off : find_trouble(code);
    long number = 0;
    char words[CURL_ERROR_SIZE];
    const char *detail = trouble->detail;
    call->libcurl->easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    if (!detail && code == CURLE_COULDNT_CONNECT && number != 0)
        detail = errno_text((int)number, words);
    else if (!detail)
        detail =
            lower_first(call->trouble[0] ? own_words(call) : call->libcurl->easy_strerror(code),
                        words, sizeof(words));
    error_set(err, FAULT_AGAIN, "ServerUnreachable", "%s %s%s: %s%s", trouble->what, call->target,
              call->has_proxy ? " through the proxy" : "", detail,
              is_plain_server(call, code) ? "; the server may not speak TLS on this port" : "");
    err->status = (int)number;
}

static void describe_timeout(const struct http_call *call, struct error *err)
{
    curl_off_t connected_us = 0;
    call->libcurl->easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    int64_t limit_ms = call->timeout_ms;
    if (connected_us == 0 && call->connect_timeout_ms > 0 &&
        (limit_ms <= 0 || call->connect_timeout_ms < limit_ms))
        limit_ms = call->connect_timeout_ms;
    error_set(err, FAULT_AGAIN, "ServerUnreachable", "%s %s within %lld ms",
              connected_us == 0 ? "cannot connect to" : "no answer from", call->target,
              (long long)limit_ms);
}

// A line of the head that has no end stays within libcurl, which calls it out of memory (Debian 12)
// or too large.
static bool is_endless_line(const struct http_call *call, CURLcode code)
{
    enum { TOO_LARGE = 100 };
    return !call->has_whole_head && ((int)code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE);
}

// The same of a line behind a body in chunks, for which libcurl has 4 KiB.
static bool is_endless_trailer(const struct http_call *call, CURLcode code)
{
    return code == CURLE_RECV_ERROR && strcasestr(call->trouble, "out of memory in chunked");
}

static void describe_other_key(const struct http_call *call, struct http_reply *reply)
{
    reply->is_other_key = true;
    http_peer_read(call, &reply->peer);
    error_set(&reply->error, FAULT_AGAIN, "ServerUnreachable",
              "cannot trust %s: its key is %s, not the pinned %s", call->target,
              reply->peer.pin[0] ? reply->peer.pin : "unknown", call->pin);
}

static void describe(struct http_call *call, CURLcode code, struct http_reply *reply)
{
    bool is_endless = is_endless_line(call, code);
    if (call->is_too_big || is_endless) {
        reply->failure = HTTP_TOO_BIG;
        bool is_header = is_endless || call->header_octets > call->max_header_octets;
        error_set(&reply->error, FAULT_AGAIN, "AnswerTooBig",
                  "%s of the answer from %s is over %zu octets", is_header ? "header" : "body",
                  call->target, is_header ? call->max_header_octets : call->max_body_octets);
    } else if (is_endless_trailer(call, code)) {
        reply->failure = HTTP_TOO_BIG;
        error_set(&reply->error, FAULT_AGAIN, "AnswerTooBig",
                  "a trailer of the answer from %s is too long", call->target);
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        reply->failure = HTTP_TIMEOUT;
        describe_timeout(call, &reply->error);
    } else if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH) {
        reply->failure = HTTP_UNREACHABLE;
        describe_other_key(call, reply);
    } else if (code != CURLE_OK) {
        reply->failure = HTTP_UNREACHABLE;
        describe_trouble(call, code, &reply->error);
    }
}

// From TLS 1.3 on, a server says only after the handshake that it refuses our certificate.
static bool is_about_certificates(const struct http_call *call, CURLcode code)
{
    static const CURLcode codes[] = {CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION,
                                     CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
                                     CURLE_SSL_PINNEDPUBKEYNOTMATCH};
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (code == codes[i])
            return !is_cut_off(call, code);
    return code == CURLE_RECV_ERROR && strstr(call->trouble, "alert");
}

// libcurl is done with connecting, TLS included, when it notes this time.
static bool is_unsent(const struct http_call *call)
{
    curl_off_t connected_us = 0;
    call->libcurl->easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    return connected_us == 0 && call->tries <= 1;
}

void http_call_answer(struct http_call *call, CURLcode code)
{
    struct http_reply reply = {.failure = HTTP_OK};
    // To libcurl a head that breaks off is an answer with an empty body.
    if (code == CURLE_OK && !call->has_whole_head)
        code = CURLE_PARTIAL_FILE;
    describe(call, code, &reply);
    reply.is_unsent = reply.failure != HTTP_OK && is_unsent(call);
    reply.is_tls = reply.failure == HTTP_UNREACHABLE && is_about_certificates(call, code);
    autofree struct http_header *headers = mem_new_array(struct http_header, call->field_count + 1);
    for (size_t i = 0; i < call->field_count; i++) {
        headers[i].name = call->lines.at + call->fields[i].name;
        headers[i].value = call->lines.at + call->fields[i].value;
    }
    if (reply.failure == HTTP_OK) {
        long status = 0;
        call->libcurl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        reply.status = (int)status;
        reply.body = buffer_text(&call->answer);
        reply.headers = headers;
        reply.header_count = call->field_count;
        if (call->reports_peer)
            http_peer_read(call, &reply.peer);
    }
    call->done(call->context, &reply);
}
