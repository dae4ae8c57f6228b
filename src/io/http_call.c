#include "io/http_call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/must.h"

enum {
    DEFAULT_HEADER_OCTETS = 16 * 1024,
    DEFAULT_BODY_OCTETS = 1024 * 1024,
    CA_CACHE_S = 3600,
    UPLOAD_OCTETS = 16 * 1024, // the least that libcurl takes
};

static bool has_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

static void add_line(const struct http_call *call, struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = call->libcurl->slist_append(*list, line);
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
        add_line(call, &call->headers, line.at);
    }
    for (size_t i = 0; i < COUNT_OF(unwanted); i++) {
        if (has_header(request, unwanted[i]))
            continue;
        buffer_clear(&line);
        buffer_printf(&line, "%s:", unwanted[i]);
        add_line(call, &call->headers, line.at);
    }
    SETOPT(call, CURLOPT_HTTPHEADER, call->headers);
    return true;
}

static void set_body(struct http_call *call, const struct http_request *request)
{
    if (strcmp(request->method, "HEAD") == 0) {
        SETOPT(call, CURLOPT_NOBODY, 1L);
        return;
    }
    if (request->body.at) {
        buffer_add(&call->body, request->body.at, request->body.len);
        SETOPT(call, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
        SETOPT(call, CURLOPT_POSTFIELDS, buffer_text(&call->body).at);
    }
    SETOPT(call, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_probes(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } probes[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 15},
        {IPPROTO_TCP, TCP_KEEPINTVL, 5},
        {IPPROTO_TCP, TCP_KEEPCNT, 4},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 25 * 1000},
    };
    for (size_t i = 0; i < COUNT_OF(probes); i++)
        setsockopt(fd, probes[i].level, probes[i].name, &probes[i].value, sizeof(int));
}

// libcurl's own sockets would be inherited by child processes.
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *at)
{
    const struct http_call *call = context;
    (void)purpose;
    int fd = socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
    if (fd >= 0 && call->is_alone)
        set_probes(fd);
    return fd;
}

// RFC 9110 9.2.2: what may have been heard is not repeated unless that makes no difference.
// libcurl repeats whatever it sent on a connection that it had used before.
static int before_request(void *context, char *own_ip, char *ip, int own_port, int port)
{
    struct http_call *call = context;
    (void)own_ip, (void)ip, (void)own_port, (void)port;
    return ++call->tries > 1 && call->is_once ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_once(struct http_call *call, const struct http_request *request)
{
    call->tries = 0;
    call->is_once = !strcmp(request->method, "POST") || !strcmp(request->method, "PATCH");
    SETOPT(call, CURLOPT_PREREQFUNCTION, before_request);
    SETOPT(call, CURLOPT_PREREQDATA, call);
}

static void set_fixed(struct http_call *call)
{
    SETOPT(call, CURLOPT_PRIVATE, call);
    SETOPT(call, CURLOPT_CURLU, call->url);
    SETOPT(call, CURLOPT_PATH_AS_IS, 1L);
    SETOPT(call, CURLOPT_PROTOCOLS_STR, "http,https");
    SETOPT(call, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SETOPT(call, CURLOPT_NOSIGNAL, 1L);
    // A thread that still resolves a name must not be waited for.
    SETOPT(call, CURLOPT_QUICK_EXIT, 1L);
    SETOPT(call, CURLOPT_TCP_NODELAY, 1L);
    SETOPT(call, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SETOPT(call, CURLOPT_OPENSOCKETDATA, call);
    SETOPT(call, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SETOPT(call, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SETOPT(call, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
    // Each call keeps one, the watches as well.
    SETOPT(call, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_OCTETS);
    SETOPT(call, CURLOPT_NOPROXY, "");
}

static void set_desired(struct http_call *call, const struct http_request *request)
{
    const char *agent = request->user_agent ? request->user_agent : call->owner->user_agent;
    SETOPT(call, CURLOPT_USERAGENT, agent);
    call->is_alone = request->is_alone;
    SETOPT(call, CURLOPT_FRESH_CONNECT, (long)call->is_alone);
    SETOPT(call, CURLOPT_FORBID_REUSE, (long)call->is_alone);
    must(!request->is_alone || !request->is_single);
    must(request->max_idle_s != 1);
    // libcurl cuts the age to whole seconds, and takes 0 for no limit from some version on.
    if (request->max_idle_s)
        SETOPT(call, CURLOPT_MAXAGE_CONN, (long)request->max_idle_s - 1);
}

static void set_limits(struct http_call *call, const struct http_request *request)
{
    call->timeout_ms = request->timeout_ms;
    call->connect_timeout_ms = request->connect_timeout_ms;
    call->max_header_octets =
        request->max_header_octets ? request->max_header_octets : DEFAULT_HEADER_OCTETS;
    call->max_body_octets =
        request->max_body_octets ? request->max_body_octets : DEFAULT_BODY_OCTETS;
    SETOPT(call, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    SETOPT(call, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
}

static void set_blob(struct http_call *call, CURLoption option, const char *pem)
{
    autofree char *copy = mem_copy_text(pem);
    struct curl_blob blob = {.data = copy, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    call->libcurl->easy_setopt(call->easy, option, &blob);
}

// The default CA directory counts beside a blob, so it has to go.
static void set_ca(struct http_call *call, const struct http_tls *tls)
{
    if (tls->is_unverified || tls->pin) {
        SETOPT(call, CURLOPT_SSL_VERIFYPEER, 0L);
        SETOPT(call, CURLOPT_SSL_VERIFYHOST, 0L);
    } else if (tls->ca_pem) {
        SETOPT(call, CURLOPT_CAPATH, NULL);
        SETOPT(call, CURLOPT_CAINFO, NULL);
        set_blob(call, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    }
    if (tls->is_unverified) {
        SETOPT(call, CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
        SETOPT(call, CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
    } else if (tls->ca_pem) {
        // A proxy may be known to the system instead.
        set_blob(call, CURLOPT_PROXY_CAINFO_BLOB, tls->ca_pem);
    }
}

// To libcurl any other text is the name of a file with a key.
static bool is_pin(const char *text)
{
    static const char kind[] = "sha256//", digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                      "abcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { DIGITS = 43 };
    return strncmp(text, kind, sizeof(kind) - 1) == 0 &&
           strspn(text + sizeof(kind) - 1, digits) == DIGITS &&
           strcmp(text + sizeof(kind) - 1 + DIGITS, "=") == 0;
}

// What a session from before is taken up again shows no certificate.
static bool set_pin(struct http_call *call, const struct http_tls *tls, struct error *err)
{
    call->pin[0] = '\0';
    call->reports_peer = tls->reports_peer || tls->pin;
    if (!call->reports_peer)
        return true;
    SETOPT(call, CURLOPT_CERTINFO, 1L);
    SETOPT(call, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (!tls->pin)
        return true;
    if (!is_pin(tls->pin))
        return error_set(err, FAULT_AGAIN, "InvalidRequest",
                         "the pin for %s is not sha256// and 44 characters of base64",
                         call->target);
    snprintf(call->pin, sizeof(call->pin), "%s", tls->pin);
    SETOPT(call, CURLOPT_PINNEDPUBLICKEY, tls->pin);
    return true;
}

// libcurl would free its own copy of the key as it is, and OpenSSL asks the terminal for a password
// unless there is one.
static void set_client(struct http_call *call, const struct http_tls *tls)
{
    if (!tls->certificate_pem || !tls->key_pem)
        return;
    buffer_add_text(&call->key, tls->key_pem);
    struct curl_blob key = {.data = call->key.at, .len = call->key.len, .flags = CURL_BLOB_NOCOPY};
    set_blob(call, CURLOPT_SSLCERT_BLOB, tls->certificate_pem);
    SETOPT(call, CURLOPT_SSLKEY_BLOB, &key);
    SETOPT(call, CURLOPT_KEYPASSWD, "");
}

struct place {
    const struct curl_library *libcurl;
    bool is_https;
    char *host; // IPv6 in brackets
    char *port;
};

static void place_done(struct place *place)
{
    place->libcurl->free(place->host);
    place->libcurl->free(place->port);
}

static bool parse_place(struct http_call *call, const char *url, struct place *place,
                        struct error *err)
{
    char *scheme = NULL;
    if (call->libcurl->url_set(call->url, CURLUPART_URL, url, CURLU_PATH_AS_IS) != CURLUE_OK ||
        call->libcurl->url_get(call->url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "not a url");
    must(scheme);
    place->is_https = strcmp(scheme, "https") == 0;
    bool is_http = place->is_https || strcmp(scheme, "http") == 0;
    call->libcurl->free(scheme);
    if (!is_http)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "url is neither http nor https");
    must(call->libcurl->url_get(call->url, CURLUPART_HOST, &place->host, 0) == CURLUE_OK);
    must(call->libcurl->url_get(call->url, CURLUPART_PORT, &place->port, CURLU_DEFAULT_PORT) ==
         CURLUE_OK);
    snprintf(call->target, sizeof(call->target), "%s:%s", place->host, place->port);
    return true;
}

static const char *find_proxy(struct http_call *call, const struct place *place)
{
    char host[256];
    size_t len = strlen(place->host);
    bool has_brackets = place->host[0] == '[' && len > 1;
    snprintf(host, sizeof(host), "%.*s", (int)(has_brackets ? len - 2 : len),
             place->host + (has_brackets ? 1 : 0));
    return http_proxies_find(&call->owner->proxies, place->is_https, host,
                             (uint16_t)strtoul(place->port, NULL, 10));
}

// libcurl would show the whole of what it cannot use, with a password that may stand in it.
static bool is_proxy(const struct curl_library *libcurl, const char *url)
{
    static const char *const schemes[] = {"http", "https", "socks5", "socks5h"};
    CURLU *parsed = libcurl->url();
    char *scheme = NULL;
    bool is_known = false;
    must(parsed);
    if (libcurl->url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK)
        libcurl->url_get(parsed, CURLUPART_SCHEME, &scheme, 0);
    for (size_t i = 0; scheme && i < COUNT_OF(schemes); i++)
        is_known = is_known || strcmp(scheme, schemes[i]) == 0;
    libcurl->free(scheme);
    libcurl->url_cleanup(parsed);
    return is_known;
}

static bool set_proxy(struct http_call *call, const struct http_request *request,
                      const struct place *place, struct error *err)
{
    autofree char *own = http_proxy_copy(request->proxy);
    const char *proxy = own ? own : find_proxy(call, place);
    call->has_proxy = proxy && *proxy;
    if (call->has_proxy && !is_proxy(call->libcurl, proxy))
        return error_set(err, FAULT_AGAIN, "InvalidRequest",
                         "the proxy for %s is no URL of http, https or socks5", call->target);
    // Empty, not unset: else libcurl looks into the environment by rules of its own.
    SETOPT(call, CURLOPT_PROXY, proxy ? proxy : "");
    return true;
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
    if (call->libcurl->url_set(call->url, CURLUPART_HOST, name, 0) != CURLUE_OK)
        return error_set(err, FAULT_AGAIN, "InvalidRequest", "server name %s is not a host name",
                         name);
    buffer_printf(&line, "%s:%s:%s:%s", name, place->port, place->host, place->port);
    add_line(call, &call->connect_to, line.at);
    SETOPT(call, CURLOPT_CONNECT_TO, call->connect_to);
    if (has_header(request, "Host"))
        return true;
    buffer_clear(&line);
    bool is_default = strcmp(place->port, "443") == 0;
    buffer_printf(&line, "Host: %s%s%s", place->host, is_default ? "" : ":",
                  is_default ? "" : place->port);
    add_line(call, &call->headers, line.at);
    return true;
}

bool http_call_prepare(struct http_call *call, const struct http_request *request,
                       struct error *err)
{
    __attribute__((cleanup(place_done))) struct place place = {.libcurl = call->libcurl};
    snprintf(call->target, sizeof(call->target), "?");
    call->has_proxy = false;
    if (!parse_place(call, request->url, &place, err))
        return false;
    must(place.host && place.port);
    set_fixed(call);
    http_call_receive(call);
    set_limits(call, request);
    set_desired(call, request);
    set_ca(call, &request->tls);
    set_client(call, &request->tls);
    set_body(call, request);
    set_once(call, request);
    return set_pin(call, &request->tls, err) && set_proxy(call, request, &place, err) &&
           set_server_name(call, request, &place, err) && set_headers(call, request, err);
}
