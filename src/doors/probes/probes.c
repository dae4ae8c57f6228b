#include "doors/probes/probes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/http_server.h"

enum { CHECKS_MAX = 64 };

struct probes {
    struct probes_options options;
    struct http_server *server;
    bool is_leaving;
};

static void answer_text(struct http_exchange *exchange, int status, const char *text)
{
    http_answer(exchange, status, "text/plain; charset=utf-8", text_of(text), NULL, 0);
}

static size_t collect(const struct probes *probes, struct store_check *out)
{
    size_t count = 0;
    if (probes->is_leaving)
        out[count++] = (struct store_check){.name = "shutdown", .text = "shutting down"};
    return count + probes->options.checks(probes->options.context, out + count, CHECKS_MAX - count);
}

static void write_check(struct buffer *out, const struct store_check *check)
{
    if (check->is_ok)
        buffer_printf(out, "[+]%s ok\n", check->name);
    else
        buffer_printf(out, "[-]%s failed: %s\n", check->name, check->text);
}

static void answer_ready(const struct probes *probes, struct http_exchange *exchange,
                         const char *only, bool is_verbose)
{
    struct store_check checks[CHECKS_MAX];
    size_t count = collect(probes, checks);
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
        answer_metrics(probes, exchange);
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
    (void)context;
    (void)exchange;
}

struct probes *probes_new(struct loop *loop, const struct probes_options *options,
                          struct error *err)
{
    struct probes *probes = mem_new_of(struct probes);
    const struct http_server_options server = {.address = options->address,
                                               .port = options->port,
                                               .handle = handle,
                                               .gone = gone,
                                               .context = probes};
    probes->options = *options;
    probes->server = http_server_new(loop, &server, err);
    if (!probes->server) {
        free(probes);
        return NULL;
    }
    return probes;
}

void probes_free(struct probes *probes)
{
    if (!probes)
        return;
    http_server_free(probes->server);
    free(probes);
}

uint16_t probes_port(const struct probes *probes)
{
    return http_server_port(probes->server);
}

void probes_leave(struct probes *probes)
{
    if (probes)
        probes->is_leaving = true;
}
