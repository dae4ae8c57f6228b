#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/value.h"
#include "providers/provider.h"

enum { CHANGES_MAX = 8, LINES_OCTETS_MAX = 64 * 1024, SERIES_MAX = 16, TIMEOUT_MS = 10000 };

struct abacus_session {
    char *url; // of the series
    char series[SERIES_MAX + 1];
    struct buffer lines;
    uint64_t count;
};

struct abacus_exchange {
    struct abacus_session *session;
    struct job *job;
    struct error error; // of the exchange
};

static bool abacus_open(const struct session_setup *setup, void **out, struct error *err)
{
    struct text server = value_text_at(setup->config, "server");
    if (!server.len)
        return error_set(err, FAULT_SPEC, "InvalidConfiguration",
                         "a abacus needs the URL of its server: set server");
    AUTO_BUFFER url = {0};
    buffer_printf(&url, "%.*s/series", TEXT_ARGS(server));
    struct abacus_session *session = mem_new_of(struct abacus_session);
    session->url = buffer_steal(&url);
    *out = session;
    return true;
}

static void abacus_close(void *at)
{
    struct abacus_session *session = at;
    buffer_done(&session->lines);
    free(session->url);
    free(session);
}

// ---- lines --------------------------------------------------------------------------------------

static void line_add_name(struct buffer *line, const struct record_set *set)
{
    if (!text_is(set->subdomain, "@"))
        buffer_printf(line, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_add(line, set->domain.at, set->domain.len);
}

// What a set says, without its name.
static void line_add_content(struct buffer *line, const struct record_set *set)
{
    buffer_printf(line, " %u", set->ttl_s);
    if (set->priority >= 0)
        buffer_printf(line, " %d", set->priority);
    if (set->weight >= 0)
        buffer_printf(line, " %d", set->weight);
    if (set->port >= 0)
        buffer_printf(line, " %d", set->port);
    for (size_t i = 0; i < set->value_count; i++) {
        buffer_add_char(line, ' ');
        value_write_json_text(line, set->values[i]);
    }
}

static void lines_trim(struct buffer *lines)
{
    if (lines->len <= LINES_OCTETS_MAX)
        return;
    size_t drop = lines->len - LINES_OCTETS_MAX;
    const char *end = memchr(lines->at + drop, '\n', lines->len - drop);
    buffer_drop_front(lines, (size_t)(end + 1 - lines->at));
}

static void abacus_write(struct abacus_session *session, const struct change *change)
{
    struct buffer *lines = &session->lines;
    buffer_printf(lines, "%s%llu %s %s ", session->series, (unsigned long long)++session->count,
                  change->op == CHANGE_SET ? "set" : "remove", record_type_name(change->set.type));
    line_add_name(lines, &change->set);
    if (change->op == CHANGE_SET)
        line_add_content(lines, &change->set);
    buffer_add_char(lines, '\n');
    lines_trim(lines);
}

static void abacus_fingerprint(const void *at, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS])
{
    const struct abacus_session *session = at;
    uint8_t full[DIGEST_MAX];
    AUTO_BUFFER content = {0};
    buffer_add_text(&content, session->series);
    line_add_content(&content, set);
    digest_of(DIGEST_SHA256, buffer_text(&content), full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

// ---- talk ---------------------------------------------------------------------------------------

static void *abacus_begin(void *session, struct job *job)
{
    struct abacus_exchange *exchange = mem_new_of(struct abacus_exchange);
    exchange->session = session;
    exchange->job = job;
    return exchange;
}

static const struct error *job_error(struct job *job, const struct error *error)
{
    struct error *copy = arena_new_of(job->arena, struct error);
    *copy = *error;
    return copy;
}

static void job_fail(struct job *job, const struct error *error)
{
    const struct error *copy = job_error(job, error);
    job->health.error = copy;
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome.error = copy;
}

static void write_changes(struct abacus_exchange *exchange)
{
    struct error unread;
    error_set(&unread, FAULT_SPEC, "", "a abacus can't be read");
    for (size_t i = 0; i < exchange->job->change_count; i++) {
        struct change *change = &exchange->job->changes[i];
        change->outcome.is_done = change->op != CHANGE_READ;
        if (change->outcome.is_done)
            abacus_write(exchange->session, change);
        else
            change->outcome.error = job_error(exchange->job, &unread);
    }
}

static void report_health(struct abacus_exchange *exchange)
{
    struct arena *arena = exchange->job->arena;
    const struct buffer *lines = &exchange->session->lines;
    struct value *answer = value_make(arena, VALUE_MAP);
    const char *copy = arena_copy(arena, buffer_text(lines).at, lines->len);
    value_set(answer, TEXT("status"), value_make_text(arena, TEXT("healthy")));
    value_set(answer, TEXT("lines"), value_make_text(arena, text_of(copy)));
    exchange->job->health.is_done = true;
    exchange->job->answer = answer;
}

static enum ask_kind abacus_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct abacus_exchange *exchange = at;
    (void)moment;
    if (exchange->error.fault != FAULT_NONE)
        return ASK_DONE;
    if (!*exchange->session->series) {
        out->http = (struct http_request){
            .method = "GET", .url = exchange->session->url, .timeout_ms = TIMEOUT_MS};
        return ASK_HTTP;
    }
    if (exchange->job->kind == JOB_HEALTH)
        report_health(exchange);
    else
        write_changes(exchange);
    return ASK_DONE;
}

static bool learn_series(struct abacus_exchange *exchange, const struct http_reply *reply,
                         struct error *err)
{
    if (reply->failure != HTTP_OK) {
        *err = reply->error;
        return false;
    }
    struct arena *arena = exchange->job->arena;
    const struct value *body = value_read_json(arena, reply->body, &value_reply_limits, NULL);
    struct text series = value_text_at(body, "series");
    if (reply->status != 200 || !series.len || series.len > SERIES_MAX)
        return error_set(err, FAULT_AGAIN, "ServerError",
                         "%s answered %d without a series of 1 to %d octets",
                         exchange->session->url, reply->status, SERIES_MAX);
    text_clean_into(exchange->session->series, sizeof exchange->session->series, series);
    return true;
}

static void abacus_handle_reply(void *at, const struct moment *moment,
                                const struct ask_result *result)
{
    struct abacus_exchange *exchange = at;
    (void)moment;
    if (learn_series(exchange, result->http, &exchange->error))
        return;
    exchange->job->is_transport_failure = result->http->failure != HTTP_OK;
    job_fail(exchange->job, &exchange->error);
}

extern const struct provider abacus_provider;
const struct provider abacus_provider = {
    .name = "abacus",
    .max_changes = CHANGES_MAX,
    .open = abacus_open,
    .close = abacus_close,
    .fingerprint = abacus_fingerprint,
    .begin = abacus_begin,
    .ask = abacus_ask,
    .handle_reply = abacus_handle_reply,
    .end = free,
};
