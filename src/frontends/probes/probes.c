#include "frontends/probes/probes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "io/http_server.h"

enum { CHECKS_FIRST = 64, CHECK_OCTETS_MAX = 4096 };

struct probes {
    struct probes_options options;
    struct http_server *server;
    bool is_leaving;
};

// A request whose token is being judged.
struct asker {
    const struct probes *probes;
    struct http_exchange *exchange;
    void (*answer)(const struct probes *probes, struct http_exchange *exchange);
};

static void answer_text(struct http_exchange *exchange, int status, const char *text)
{
    http_answer(exchange, status, "text/plain; charset=utf-8", text_of(text), NULL, 0);
}

// All of them: the one that fails may be the last.
static struct store_check *collect(const struct probes *probes, size_t *count)
{
    const struct probes_options *options = &probes->options;
    struct store_check *checks = NULL;
    size_t capacity = 0;
    size_t own = probes->is_leaving;
    do {
        mem_reserve(&checks, &capacity, capacity + CHECKS_FIRST);
        *count = own + options->checks(options->context, checks + own, capacity - own);
    } while (*count == capacity);
    if (own)
        checks[0] = (struct store_check){.name = "shutdown", .text = "shutting down"};
    return checks;
}

// The text may name a file whose name could pass for another line.
static void write_failed(struct buffer *out, const struct store_check *check)
{
    buffer_printf(out, "[-]%s failed: ", check->name);
    text_clean(out, text_of(check->text), CHECK_OCTETS_MAX);
    buffer_add_char(out, '\n');
}

static void write_check(struct buffer *out, const struct store_check *check)
{
    if (check->is_ok)
        buffer_printf(out, "[+]%s ok\n", check->name);
    else
        write_failed(out, check);
}

static void answer_ready(const struct probes *probes, struct http_exchange *exchange,
                         const char *only, bool is_verbose)
{
    size_t count;
    autofree struct store_check *checks = collect(probes, &count);
    AUTO_BUFFER out = {0};
    bool is_ok = true;
    bool is_found = !*only;
    for (size_t i = 0; i < count; i++) {
        if (*only && strcmp(checks[i].name, only))
            continue;
        is_found = true;
        is_ok &= checks[i].is_ok || (!*only && checks[i].is_advice);
        if (is_verbose || !checks[i].is_ok)
            write_check(&out, &checks[i]);
    }
    if (!is_found) {
        answer_text(exchange, 404, "no such check\n");
        return;
    }
    if (is_ok && !is_verbose)
        buffer_clear(&out);
    buffer_add_text(&out, is_ok ? "ok\n" : "");
    answer_text(exchange, is_ok ? 200 : 503, buffer_text(&out).at);
}

static void answer_health(const struct probes *probes, struct http_exchange *exchange)
{
    const struct probes_options *options = &probes->options;
    const char *trouble = options->trouble ? options->trouble(options->context) : NULL;
    answer_text(exchange, trouble ? 503 : 200, trouble ? trouble : "ok");
}

static void answer_metrics(const struct probes *probes, struct http_exchange *exchange)
{
    AUTO_BUFFER out = {0};
    probes->options.metrics(probes->options.context, &out);
    http_answer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", buffer_text(&out), NULL,
                0);
}

static void answer_page(const struct probes *probes, struct http_exchange *exchange)
{
    probes->options.answer_page(probes->options.context, exchange);
}

// ---- who may read them --------------------------------------------------------------------------

void probes_judged(void *context, enum probes_result result)
{
    static const struct {
        int status;
        const char *text;
    } refusals[] = {
        [PROBES_UNKNOWN] = {401, "unauthorized: send `Authorization: Bearer TOKEN`\n"},
        [PROBES_FORBIDDEN] = {403, "forbidden: the account needs the verb get on the non-resource "
                                   "URL /metrics\n"},
        [PROBES_UNSURE] = {503, "the API server does not say who this is; try again\n"},
    };
    static const struct http_header bearer = {"WWW-Authenticate", "Bearer"};
    struct asker *asker = context;
    struct http_exchange *exchange = asker->exchange;
    http_exchange_set_data(exchange, NULL);
    if (result == PROBES_ALLOWED)
        asker->answer(asker->probes, exchange);
    else
        http_answer(exchange, refusals[result].status, "text/plain; charset=utf-8",
                    text_of(refusals[result].text), &bearer, result == PROBES_UNKNOWN);
    free(asker);
}

// Absent unless there is exactly one.
static struct text token_of(const struct http_exchange *exchange)
{
    static const char scheme[] = "Bearer ";
    const char *header = http_exchange_header(exchange, "Authorization", 0);
    if (!header || http_exchange_header(exchange, "Authorization", 1) ||
        strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return TEXT("");
    return text_trim(text_of(header + sizeof scheme - 1));
}

static void judge(const struct probes *probes, struct http_exchange *exchange,
                  void (*answer)(const struct probes *probes, struct http_exchange *exchange))
{
    const struct probes_options *options = &probes->options;
    struct text token = token_of(exchange);
    if (!options->judge) {
        answer(probes, exchange);
        return;
    }
    struct asker *asker = mem_new_of(struct asker);
    *asker = (struct asker){probes, exchange, answer};
    http_exchange_set_data(exchange, asker);
    if (token.len)
        options->judge(options->context, token, http_exchange_peer(exchange), asker);
    else
        probes_judged(asker, PROBES_UNKNOWN);
}

static bool is_path(struct text path, const char *wanted)
{
    return text_is(path, wanted);
}

static void route(const struct probes *probes, struct http_exchange *exchange, struct text path,
                  bool is_verbose)
{
    bool has_checks = probes->options.checks != NULL;
    if (has_checks && is_path(path, "/healthz"))
        answer_health(probes, exchange);
    else if (has_checks && is_path(path, "/readyz"))
        answer_ready(probes, exchange, "", is_verbose);
    else if (has_checks && text_starts(path, "/readyz/")) {
        AUTO_BUFFER name = {0};
        buffer_add(&name, path.at + 8, path.len - 8);
        answer_ready(probes, exchange, buffer_text(&name).at, is_verbose);
    } else if (probes->options.metrics && is_path(path, "/metrics"))
        judge(probes, exchange, answer_metrics);
    else if (probes->options.has_page && probes->options.has_page(path))
        judge(probes, exchange, answer_page);
    else
        answer_text(exchange, 404, "not found\n");
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct text rest = text_of(http_exchange_target(exchange));
    const char *method = http_exchange_method(exchange);
    struct text path;
    text_cut(&rest, '?', &path);
    if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
        const struct http_header allow = {"Allow", "GET, HEAD"};
        http_answer(exchange, 405, "text/plain", TEXT("method not allowed\n"), &allow, 1);
        return;
    }
    route(context, exchange, path, text_starts(rest, "verbose"));
}

static void gone(void *context, struct http_exchange *exchange)
{
    const struct probes *probes = context;
    struct asker *asker = http_exchange_data(exchange);
    if (!asker)
        return;
    probes->options.forget(probes->options.context, asker);
    free(asker);
}

static void listening(void *context, const struct hostport *at, const char *trouble)
{
    const struct probes *probes = context;
    probes->options.listening(probes->options.context, at, trouble);
}

struct probes *probes_new(struct loop *loop, const struct probes_options *options,
                          struct error *err)
{
    struct probes *probes = mem_new_of(struct probes);
    const struct http_server_options server = {.address = options->address,
                                               .port = options->port,
                                               .is_tls = options->is_tls,
                                               .handle = handle,
                                               .gone = gone,
                                               .listening = options->listening ? listening : NULL,
                                               .context = probes};
    probes->options = *options;
    probes->server = http_server_new(loop, &server, err);
    if (!probes->server) {
        free(probes);
        return NULL;
    }
    return probes;
}

const char *probes_trouble(const struct probes *probes)
{
    return http_server_trouble(probes->server);
}

void probes_free(struct probes *probes)
{
    if (!probes)
        return;
    http_server_free(probes->server);
    free(probes);
}

bool probes_set_certificate(struct probes *probes, struct text certificate_pem,
                            const struct secret *key_pem, struct error *err)
{
    const struct http_server_tls tls = {.certificate_pem = certificate_pem, .key_pem = key_pem};
    return http_server_set_tls(probes->server, &tls, err);
}

void probes_leave(struct probes *probes)
{
    if (probes)
        probes->is_leaving = true;
}
