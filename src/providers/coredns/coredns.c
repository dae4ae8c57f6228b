#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/url.h"
#include "dns/corefile/canary.h"
#include "providers/provider.h"

// Asks a CoreDNS which Corefile it has loaded, and keeps the Corefile of one that runs without
// Kubernetes. It takes no record sets.

enum {
    DNS_PORT = 53,
    TRIES = 2,
    TRY_MS = 500, // both within a second
    COREFILE_OCTETS_MAX = 1024 * 1024,
};

enum step { STEP_CONFIG, STEP_READ, STEP_WRITE, STEP_DONE };

struct exchange {
    struct job *job;
    enum step step;
    struct hostport server;
    unsigned tries;
    uint16_t id;
    struct buffer octets; // of the query
    char *path;
    struct text content; // that the file is to have; absent: it is only read
    struct buffer found; // that it had
};

static bool coredns_open(const struct session_setup *setup, void **out, struct error *err)
{
    (void)setup;
    (void)err;
    *out = mem_new(1, 1); // a session knows nothing
    return true;
}

static void coredns_close(void *session)
{
    free(session);
}

static void coredns_fingerprint(const void *session, const struct record_set *set,
                                uint8_t out[FINGERPRINT_OCTETS])
{
    (void)session;
    (void)set;
    memset(out, 0, FINGERPRINT_OCTETS);
}

// ---- the end ------------------------------------------------------------------------------------

static void fail_changes(struct exchange *exchange, const struct error *error)
{
    struct job *job = exchange->job;
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome = (struct outcome){.error = error};
}

static void end_job(struct exchange *exchange, const struct error *error)
{
    struct job *job = exchange->job;
    struct error *copy = error ? arena_new_of(job->arena, struct error) : NULL;
    if (copy)
        *copy = *error;
    exchange->step = STEP_DONE;
    job->health = (struct outcome){.is_done = !copy, .error = copy};
    fail_changes(exchange, copy);
}

static void refuse(struct exchange *exchange, const char *text)
{
    struct error err;
    (void)error_set(&err, FAULT_SPEC, INVALID_CONFIGURATION, "%s", text);
    end_job(exchange, &err);
}

// ---- the beginning ------------------------------------------------------------------------------

static void begin_config(struct exchange *exchange)
{
    struct error err;
    struct text address = value_text_at(exchange->job->about, "address");
    exchange->step = STEP_CONFIG;
    if (!hostport_parse(&exchange->server, address, DNS_PORT, false, &err))
        end_job(exchange, &err);
}

static void begin_corefile(struct exchange *exchange)
{
    struct text path = value_text_at(exchange->job->about, "path");
    exchange->step = STEP_READ;
    exchange->content = value_text_at(exchange->job->about, "text");
    exchange->path = text_dup(path.at ? path : TEXT(""));
    if (!path.len)
        refuse(exchange, "the question corefile needs a path");
}

static void begin_question(struct exchange *exchange)
{
    if (!strcmp(exchange->job->question, "config"))
        begin_config(exchange);
    else
        begin_corefile(exchange);
}

static void *coredns_begin(void *session, struct job *job)
{
    struct exchange *exchange = mem_new_of(struct exchange);
    (void)session;
    exchange->job = job;
    if (job->kind == JOB_QUESTION)
        begin_question(exchange);
    else if (job->kind == JOB_CHANGES)
        refuse(exchange, "a CoreDNS takes no record sets");
    else
        end_job(exchange, NULL);
    return exchange;
}

static void coredns_end(void *at)
{
    struct exchange *exchange = at;
    buffer_done(&exchange->octets);
    buffer_done(&exchange->found);
    free(exchange->path);
    free(exchange);
}

// ---- asking -------------------------------------------------------------------------------------

static bool is_wanted(const void *context, struct text octets)
{
    const struct exchange *exchange = context;
    return canary_is_reply(octets, exchange->id);
}

static enum ask_kind ask_config(struct exchange *exchange, const struct moment *moment,
                                struct ask *out)
{
    exchange->id = random_u16(moment->random);
    buffer_clear(&exchange->octets);
    canary_query(&exchange->octets, exchange->id);
    out->dns = (struct dns_request){.server = exchange->server,
                                    .octets = buffer_text(&exchange->octets),
                                    .timeout_ms = TRY_MS,
                                    .is_wanted = is_wanted,
                                    .context = exchange};
    return ASK_DNS;
}

static enum ask_kind ask_file(const struct exchange *exchange, struct ask *out)
{
    out->file = (struct file_request){.path = exchange->path, .max_octets = COREFILE_OCTETS_MAX};
    if (exchange->step == STEP_WRITE) {
        out->file.is_replaced = true;
        out->file.content = exchange->content;
    }
    return ASK_FILE;
}

static enum ask_kind coredns_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct exchange *exchange = at;
    if (exchange->step == STEP_DONE)
        return ASK_DONE;
    return exchange->step == STEP_CONFIG ? ask_config(exchange, moment, out)
                                         : ask_file(exchange, out);
}

// ---- answers ------------------------------------------------------------------------------------

static void answer_config(struct exchange *exchange, const struct canary_reply *reply)
{
    struct arena *arena = exchange->job->arena;
    struct value *answer = value_make(arena, VALUE_MAP);
    const char *id = canary_config_id(reply);
    if (id)
        value_put_text(arena, answer, "id", arena_copy_text(arena, id));
    else
        value_put_text(arena, answer, "text", arena_copy_text(arena, reply->text));
    exchange->job->answer = answer;
    end_job(exchange, NULL);
}

static void handle_dns(struct exchange *exchange, const struct dns_reply *result)
{
    struct canary_reply reply;
    struct error err = result->error;
    if (result->is_answered && canary_read(result->octets, exchange->id, &reply, &err))
        answer_config(exchange, &reply);
    else if (++exchange->tries == TRIES)
        end_job(exchange, &err);
}

static void answer_corefile(struct exchange *exchange, struct text text, bool is_written)
{
    struct arena *arena = exchange->job->arena;
    struct value *answer = value_make(arena, VALUE_MAP);
    const char *copy = arena_copy(arena, text.at ? text.at : "", text.len);
    value_set(answer, TEXT("text"), value_make_text(arena, (struct text){copy, text.len}));
    value_put_bool(arena, answer, "written", is_written);
    exchange->job->answer = answer;
    end_job(exchange, NULL);
}

// It is written only if it differs: CoreDNS loads what has changed.
static void take_content(struct exchange *exchange, const struct file_reply *reply)
{
    bool is_same = !reply->is_absent && text_equal(reply->content, exchange->content);
    if (exchange->content.at && !is_same)
        exchange->step = STEP_WRITE;
    else
        answer_corefile(exchange, reply->content, false);
}

static void handle_file(struct exchange *exchange, const struct file_reply *reply)
{
    bool is_new = exchange->step == STEP_READ && reply->is_absent;
    if (!reply->is_done && !is_new)
        end_job(exchange, &reply->error);
    else if (exchange->step == STEP_READ)
        take_content(exchange, reply);
    else
        answer_corefile(exchange, exchange->content, true);
}

static void coredns_handle_reply(void *at, const struct moment *moment,
                                 const struct ask_result *result)
{
    (void)moment;
    if (result->kind == ASK_DNS)
        handle_dns(at, result->dns);
    else
        handle_file(at, result->file);
}

static const char *const questions[] = {"config", "corefile", NULL};

extern const struct provider coredns_provider;
const struct provider coredns_provider = {
    .name = "coredns",
    .title = "CoreDNS",
    .unreachable = "ServerUnreachable",
    .max_changes = 1,
    .questions = questions,
    .open = coredns_open,
    .close = coredns_close,
    .fingerprint = coredns_fingerprint,
    .begin = coredns_begin,
    .ask = coredns_ask,
    .handle_reply = coredns_handle_reply,
    .end = coredns_end,
};
