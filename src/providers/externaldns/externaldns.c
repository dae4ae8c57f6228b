#include <stdlib.h>

#include "providers/externaldns/scrape.h"
#include "providers/metrics_page.h"
#include "providers/provider.h"

struct external_dns_exchange {
    struct job *job;
    bool is_over;
    struct buffer url;
};

// ---- exchange -----------------------------------------------------------------------------------

// The outcome is that of the question alone: one server that is silent does not make the backend
// fail.
static void fail(struct external_dns_exchange *exchange, const struct error *error)
{
    exchange->is_over = true;
    exchange->job->health = (struct outcome){.error = error_copy(exchange->job->arena, error)};
}

static void *external_dns_begin(void *session, struct job *job)
{
    struct external_dns_exchange *exchange = mem_new_of(struct external_dns_exchange);
    (void)session;
    *exchange = (struct external_dns_exchange){.job = job, .is_over = job->kind != JOB_QUESTION};
    job->health = (struct outcome){.is_done = true};
    provider_refuse_changes(job, "an external-dns takes no records: it can only be asked");
    return exchange;
}

static void external_dns_end(void *at)
{
    struct external_dns_exchange *exchange = at;
    buffer_done(&exchange->url);
    free(exchange);
}

static enum ask_kind external_dns_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct hostport server;
    struct error err;
    AUTO_BUFFER address = {0};
    struct external_dns_exchange *exchange = at;
    (void)moment;
    if (exchange->is_over)
        return ASK_DONE;
    if (!provider_question_address(exchange->job, &server, &err)) {
        fail(exchange, &err);
        return ASK_DONE;
    }
    hostport_write(&address, &server);
    metrics_page_request(&exchange->url, buffer_text(&address), &out->http);
    return ASK_HTTP;
}

static void external_dns_handle_reply(void *at, const struct moment *moment,
                                      const struct ask_result *result)
{
    struct external_dns_exchange *exchange = at;
    struct text page;
    struct error err;
    (void)moment;
    if (!metrics_page_read(exchange->job->arena, result->http, exchange->url.at, &page, &err)) {
        fail(exchange, &err);
        return;
    }
    exchange->job->answer = external_dns_scrape_read(exchange->job->arena, page, &err);
    exchange->is_over = true;
    if (exchange->job->answer)
        return;
    error_prefix(&err, "%s: ", exchange->url.at);
    fail(exchange, &err);
}

static const char *const questions[] = {"metrics", NULL};

extern const struct provider externaldns_provider;
const struct provider externaldns_provider = {
    .name = "externaldns",
    .title = "external-dns",
    .unreachable = "ServerUnreachable",
    .max_changes = 1,
    .questions = questions,
    .open = provider_open_none,
    .close = provider_close_none,
    .fingerprint = provider_fingerprint_none,
    .begin = external_dns_begin,
    .ask = external_dns_ask,
    .handle_reply = external_dns_handle_reply,
    .end = external_dns_end,
};
