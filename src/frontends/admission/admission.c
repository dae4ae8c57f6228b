#include "frontends/admission/admission.h"

#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "frontends/admission/review.h"
#include "io/http_server.h"
#include "io/loop.h"

enum { ARENA_KEPT = 1 << 20 };

static const int codes[] = {200, 400, 405};

// One path and what came in by it.
struct endpoint {
    char *path;
    const struct kind *kind; // NULL: whatever comes is allowed
    struct histogram seconds;
    uint64_t requests[COUNT_OF(codes)];
};

struct admission {
    struct admission_options options;
    struct loop *loop;
    struct http_server *server;
    struct kind_patterns *patterns;
    struct arena *arena; // of one review
    struct buffer reply;
    struct endpoint *endpoints;
    size_t endpoint_count;
    size_t endpoint_capacity;
};

// ---- paths --------------------------------------------------------------------------------------

void admission_path(struct buffer *out, const char *verb, const struct kind *kind)
{
    buffer_printf(out, "/%s-", verb);
    for (const char *at = kind->group; *at; at++)
        buffer_add_char(out, *at == '.' ? '-' : *at);
    buffer_printf(out, "-%s-", kind->version);
    for (const char *at = kind->name; *at; at++)
        buffer_add_char(out, *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at);
}

static void add_endpoint(struct admission *admission, const char *verb, const struct kind *named,
                         const struct kind *kind)
{
    struct buffer path = {0};
    admission_path(&path, verb, named);
    mem_reserve(&admission->endpoints, &admission->endpoint_capacity,
                admission->endpoint_count + 1);
    admission->endpoints[admission->endpoint_count++] =
        (struct endpoint){.path = buffer_steal(&path), .kind = kind};
}

static void add_endpoints(struct admission *admission)
{
    for (size_t i = 0; i < admission->options.kind_count; i++) {
        const struct kind *kind = admission->options.kinds[i];
        if (!kind->is_foreign || kind->advised || kind->judged_with)
            add_endpoint(admission, "validate", kind, kind);
        if (!kind->is_foreign)
            add_endpoint(admission, "mutate", kind, NULL);
    }
}

static struct endpoint *find_endpoint(const struct admission *admission, const char *target)
{
    struct text path;
    struct text rest = text_of(target);
    text_cut(&rest, '?', &path);
    for (size_t i = 0; i < admission->endpoint_count; i++)
        if (text_is(path, admission->endpoints[i].path))
            return &admission->endpoints[i];
    return NULL;
}

// ---- requests -----------------------------------------------------------------------------------

static void count(struct endpoint *endpoint, int status)
{
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        endpoint->requests[i] += codes[i] == status;
}

static void answer_text(struct http_exchange *exchange, int status, const char *text,
                        const struct http_header *headers, size_t header_count)
{
    AUTO_BUFFER line = {0};
    buffer_printf(&line, "%s\n", text);
    http_answer(exchange, status, "text/plain; charset=utf-8", buffer_text(&line), headers,
                header_count);
}

static void answer_review(struct admission *admission, struct endpoint *endpoint,
                          struct http_exchange *exchange)
{
    struct error err = {0};
    const struct review_rules rules = {.patterns = admission->patterns,
                                       .judge = admission->options.judge,
                                       .context = admission->options.context};
    int64_t begun_ms = loop_mono_ms(admission->loop);
    buffer_clear(&admission->reply);
    bool is_answered = review_answer(admission->arena, &rules, endpoint->kind,
                                     http_exchange_body(exchange), &admission->reply, &err);
    count(endpoint, is_answered ? 200 : 400);
    if (is_answered)
        http_answer(exchange, 200, "application/json", buffer_text(&admission->reply), NULL, 0);
    else
        answer_text(exchange, 400, err.text, NULL, 0);
    arena_reset(admission->arena);
    histogram_add(&endpoint->seconds, loop_mono_ms(admission->loop) - begun_ms);
    if (admission->reply.capacity > ARENA_KEPT)
        buffer_done(&admission->reply);
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct admission *admission = context;
    struct endpoint *endpoint = find_endpoint(admission, http_exchange_target(exchange));
    if (!endpoint) {
        answer_text(exchange, 404, "no such path", NULL, 0);
        return;
    }
    if (strcmp(http_exchange_method(exchange), "POST") != 0) {
        const struct http_header allow = {"Allow", "POST"};
        count(endpoint, 405);
        answer_text(exchange, 405, "method not allowed: use POST", &allow, 1);
        return;
    }
    answer_review(admission, endpoint, exchange);
}

static void gone(void *context, struct http_exchange *exchange)
{
    (void)context;
    (void)exchange;
}

// ---- metrics ------------------------------------------------------------------------------------

static void write_requests(const struct endpoint *endpoint, struct buffer *out)
{
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == 200 || endpoint->requests[i])
            buffer_printf(
                out, "controller_runtime_webhook_requests_total{webhook=\"%s\",code=\"%d\"} %llu\n",
                endpoint->path, codes[i], (unsigned long long)endpoint->requests[i]);
}

static void write_latency(const struct endpoint *endpoint, struct buffer *out)
{
    AUTO_BUFFER labels = {0};
    buffer_printf(&labels, "webhook=\"%s\"", endpoint->path);
    metric_write_histogram(out, "controller_runtime_webhook_latency_seconds",
                           buffer_text(&labels).at, &endpoint->seconds);
}

// A review is answered as soon as it is complete, so that none is ever in flight here.
static void write_in_flight(const struct endpoint *endpoint, struct buffer *out)
{
    buffer_printf(out, "controller_runtime_webhook_requests_in_flight{webhook=\"%s\"} 0\n",
                  endpoint->path);
}

void admission_write_metrics(const struct admission *admission, struct buffer *out)
{
    static const struct {
        const char *name;
        const char *type;
        const char *help;
        void (*write)(const struct endpoint *endpoint, struct buffer *out);
    } families[] = {
        {"controller_runtime_webhook_requests_total", "counter", "Admission requests by code.",
         write_requests},
        {"controller_runtime_webhook_requests_in_flight", "gauge",
         "Admission requests that are being answered.", write_in_flight},
        {"controller_runtime_webhook_latency_seconds", "histogram",
         "From a complete admission request to its answer.", write_latency},
    };
    for (size_t f = 0; f < COUNT_OF(families); f++) {
        metric_write_head(out, families[f].name, families[f].type, families[f].help);
        for (size_t i = 0; i < admission->endpoint_count; i++)
            families[f].write(&admission->endpoints[i], out);
    }
}

// ---- life ---------------------------------------------------------------------------------------

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct admission *admission = context;
    admission->options.listening(admission->options.context, at, trouble);
}

struct admission *admission_new(struct loop *loop, const struct admission_options *options,
                                struct error *err)
{
    struct admission *admission = mem_new_of(struct admission);
    const struct http_server_options server = {.address = options->address,
                                               .port = options->port,
                                               .max_body_octets = REVIEW_OCTETS_MAX,
                                               .is_tls = true,
                                               .handle = handle,
                                               .gone = gone,
                                               .listening = options->listening ? listening : NULL,
                                               .context = admission};
    admission->options = *options;
    admission->loop = loop;
    admission->patterns = kind_patterns_new();
    admission->arena = arena_new();
    add_endpoints(admission);
    admission->server = http_server_new(loop, &server, err);
    if (admission->server)
        return admission;
    admission_free(admission);
    return NULL;
}

void admission_free(struct admission *admission)
{
    if (!admission)
        return;
    http_server_free(admission->server);
    for (size_t i = 0; i < admission->endpoint_count; i++)
        free(admission->endpoints[i].path);
    free(admission->endpoints);
    kind_patterns_free(admission->patterns);
    arena_free(admission->arena);
    buffer_done(&admission->reply);
    free(admission);
}

const char *admission_trouble(const struct admission *admission)
{
    return http_server_trouble(admission->server);
}

uint16_t admission_port(const struct admission *admission)
{
    return http_server_port(admission->server);
}

bool admission_set_certificate(struct admission *admission, struct text certificate_pem,
                               const struct secret *key_pem, struct error *err)
{
    const struct http_server_tls tls = {.certificate_pem = certificate_pem, .key_pem = key_pem};
    return http_server_set_tls(admission->server, &tls, err);
}

void admission_drain(struct admission *admission)
{
    http_server_drain(admission->server);
}
