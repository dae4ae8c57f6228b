#include <stdlib.h>
#include <string.h>

#include "dns/corefile/canary.h"
#include "providers/coredns/failing.h"
#include "providers/coredns/scrape.h"
#include "providers/metrics_page.h"
#include "providers/provider.h"

enum {
    CANARY_TIMEOUT_MS = 500, // both tries within a second
    CANARY_TRIES = 2,
    COREFILE_OCTETS_MAX = 1 << 20,
};

struct coredns_exchange;

// How one question is asked.
struct coredns_question {
    const char *name;
    bool (*begin)(struct coredns_exchange *exchange, struct error *err);
    enum ask_kind (*ask)(struct coredns_exchange *exchange, const struct moment *moment,
                         struct ask *out);
    void (*handle_reply)(struct coredns_exchange *exchange, const struct moment *moment,
                         const struct ask_result *result);
};

struct coredns_exchange {
    struct failing *failing; // the session's
    struct job *job;
    const struct coredns_question *question; // NULL: nothing is left to do
    struct hostport server;
    struct buffer address;
    struct buffer sent; // the query, or the URL
    uint16_t id;
    unsigned tries;
    char *path;
    struct text content; // that the file is to have; absent: it is only read
    bool is_written;     // the file was read, and differs
};

// ---- session ------------------------------------------------------------------------------------

static bool coredns_open(const struct session_setup *setup, void **session, struct error *err)
{
    (void)setup;
    (void)err;
    *session = failing_new();
    return true;
}

static void coredns_close(void *session)
{
    failing_free(session);
}

// ---- the end of an exchange ---------------------------------------------------------------------

// The outcome is that of the question alone: one server that is silent does not make the backend
// fail.
static void fail(struct coredns_exchange *exchange, const struct error *error)
{
    exchange->question = NULL;
    exchange->job->health = (struct outcome){.error = error_copy(exchange->job->arena, error)};
}

static void answer(struct coredns_exchange *exchange, const struct value *value)
{
    exchange->question = NULL;
    exchange->job->health = (struct outcome){.is_done = true};
    exchange->job->answer = value;
}

// ---- config: the canary -------------------------------------------------------------------------

static bool is_canary(const void *context, struct text octets)
{
    const struct coredns_exchange *exchange = context;
    return canary_is_reply(octets, exchange->id);
}

static enum ask_kind ask_config(struct coredns_exchange *exchange, const struct moment *moment,
                                struct ask *out)
{
    exchange->id = random_u16(moment->random);
    exchange->tries++;
    buffer_clear(&exchange->sent);
    canary_query(&exchange->sent, exchange->id);
    out->dns = (struct dns_request){.server = exchange->server,
                                    .octets = buffer_text(&exchange->sent),
                                    .timeout_ms = CANARY_TIMEOUT_MS,
                                    .is_wanted = is_canary,
                                    .context = exchange};
    return ASK_DNS;
}

static const struct value *make_config(struct arena *arena, const struct canary_reply *reply)
{
    const char *id = canary_config_id(reply);
    struct value *value = value_make(arena, VALUE_MAP);
    value_put_text(arena, value, id ? "id" : "text", arena_copy_text(arena, id ? id : reply->text));
    return value;
}

static void handle_silence(struct coredns_exchange *exchange, const struct dns_reply *reply)
{
    struct error err;
    if (exchange->tries < CANARY_TRIES)
        return;
    if (reply->is_timeout)
        error_set(&err, FAULT_AGAIN, "ServerUnreachable",
                  "%s did not say which Corefile it runs: no answer to %d queries of %d ms each",
                  exchange->address.at, CANARY_TRIES, CANARY_TIMEOUT_MS);
    else
        err = reply->error;
    fail(exchange, &err);
}

static void handle_config(struct coredns_exchange *exchange, const struct moment *moment,
                          const struct ask_result *result)
{
    (void)moment;
    struct canary_reply reply;
    struct error why, err;
    if (!result->dns->is_answered) {
        handle_silence(exchange, result->dns);
        return;
    }
    if (canary_read(result->dns->octets, exchange->id, &reply, &why)) {
        answer(exchange, make_config(exchange->job->arena, &reply));
        return;
    }
    error_set(&err, FAULT_AGAIN, "ServerError", "%s: %s", exchange->address.at, why.text);
    fail(exchange, &err);
}

// ---- metrics ------------------------------------------------------------------------------------

static enum ask_kind ask_metrics(struct coredns_exchange *exchange, const struct moment *moment,
                                 struct ask *out)
{
    (void)moment;
    metrics_page_request(&exchange->sent, buffer_text(&exchange->address), &out->http);
    return ASK_HTTP;
}

static const struct value *read_metrics(const struct coredns_exchange *exchange,
                                        const struct http_reply *reply, struct error *err)
{
    struct text page;
    struct arena *arena = exchange->job->arena;
    if (!metrics_page_read(arena, reply, exchange->sent.at, &page, err))
        return NULL;
    const struct value *value = scrape_read(arena, page, err);
    if (!value)
        error_prefix(err, "%s: ", exchange->sent.at);
    return value;
}

// Numbers that grow with each look would make each answer another one.
static const struct value *make_metrics(struct coredns_exchange *exchange,
                                        const struct value *counted, int64_t mono_ms)
{
    struct arena *arena = exchange->job->arena;
    struct value *answer = value_copy(arena, counted);
    struct value *failing = failing_note(exchange->failing, arena, buffer_text(&exchange->address),
                                         value_find(counted, "healthFailures"), mono_ms);
    value_remove(answer, "healthFailures");
    value_remove(answer, "broken");
    value_set(answer, TEXT("failing"), failing);
    return answer;
}

static void handle_metrics(struct coredns_exchange *exchange, const struct moment *moment,
                           const struct ask_result *result)
{
    struct error err;
    const struct value *value = read_metrics(exchange, result->http, &err);
    if (value)
        answer(exchange, make_metrics(exchange, value, moment->mono_ms));
    else
        fail(exchange, &err);
}

// ---- corefile -----------------------------------------------------------------------------------

static bool take_path(struct coredns_exchange *exchange, struct error *err)
{
    struct text path = value_text_at(exchange->job->about, "path");
    if (!path.len)
        return error_set(err, FAULT_SPEC, "", "question corefile: path: name a file");
    exchange->path = text_dup(path);
    exchange->content = value_text_at(exchange->job->about, "text");
    return true;
}

static enum ask_kind ask_corefile(struct coredns_exchange *exchange, const struct moment *moment,
                                  struct ask *out)
{
    (void)moment;
    out->file = (struct file_request){.path = exchange->path, .max_octets = COREFILE_OCTETS_MAX};
    if (exchange->is_written) {
        out->file.is_replaced = true;
        out->file.content = exchange->content;
    }
    return ASK_FILE;
}

static void answer_corefile(struct coredns_exchange *exchange, struct text text)
{
    struct arena *arena = exchange->job->arena;
    struct value *value = value_make(arena, VALUE_MAP);
    const char *copy = arena_copy(arena, text.at ? text.at : "", text.len);
    value_set(value, TEXT("text"), value_make_text(arena, (struct text){copy, text.len}));
    value_put_bool(arena, value, "written", exchange->is_written);
    answer(exchange, value);
}

// The file is written only if it differs: CoreDNS loads it anew whenever it changed.
static void handle_corefile(struct coredns_exchange *exchange, const struct moment *moment,
                            const struct ask_result *result)
{
    const struct file_reply *reply = result->file;
    bool is_new = !exchange->is_written && reply->is_absent;
    (void)moment;
    if (!reply->is_done && !is_new)
        fail(exchange, &reply->error);
    else if (exchange->is_written)
        answer_corefile(exchange, exchange->content);
    else if (exchange->content.at && (is_new || !text_equal(reply->content, exchange->content)))
        exchange->is_written = true;
    else
        answer_corefile(exchange, reply->content);
}

// ---- exchange -----------------------------------------------------------------------------------

static bool take_address(struct coredns_exchange *exchange, struct error *err)
{
    if (!provider_question_address(exchange->job, &exchange->server, err))
        return false;
    hostport_write(&exchange->address, &exchange->server);
    return true;
}

static const struct coredns_question rows[] = {
    {"config", take_address, ask_config, handle_config},
    {"metrics", take_address, ask_metrics, handle_metrics},
    {"corefile", take_path, ask_corefile, handle_corefile},
};
static const char *const questions[] = {"config", "metrics", "corefile", NULL};

static const struct coredns_question *find_question(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static void *coredns_begin(void *session, struct job *job)
{
    struct coredns_exchange *exchange = mem_new_of(struct coredns_exchange);
    struct error err;
    exchange->failing = session;
    exchange->job = job;
    job->health = (struct outcome){.is_done = true};
    provider_refuse_changes(job, "a CoreDNS takes no records: it can only be asked");
    if (job->kind != JOB_QUESTION)
        return exchange;
    exchange->question = find_question(job->question);
    if (!exchange->question->begin(exchange, &err))
        fail(exchange, &err);
    return exchange;
}

static void coredns_end(void *at)
{
    struct coredns_exchange *exchange = at;
    buffer_done(&exchange->address);
    buffer_done(&exchange->sent);
    free(exchange->path);
    free(exchange);
}

static enum ask_kind coredns_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct coredns_exchange *exchange = at;
    return exchange->question ? exchange->question->ask(exchange, moment, out) : ASK_DONE;
}

static void coredns_handle_reply(void *at, const struct moment *moment,
                                 const struct ask_result *result)
{
    struct coredns_exchange *exchange = at;
    exchange->question->handle_reply(exchange, moment, result);
}

extern const struct provider coredns_provider;
const struct provider coredns_provider = {
    .name = "coredns",
    .title = "CoreDNS",
    .unreachable = "ServerUnreachable",
    .max_changes = 1,
    .questions = questions,
    .open = coredns_open,
    .close = coredns_close,
    .fingerprint = provider_fingerprint_none,
    .begin = coredns_begin,
    .ask = coredns_ask,
    .handle_reply = coredns_handle_reply,
    .end = coredns_end,
};
