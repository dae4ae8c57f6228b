#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/when.h"
#include "providers/webhook/body.h"
#include "providers/webhook/reply.h"
#include "providers/webhook/session.h"
#include "providers/webhook/sign.h"

enum {
    CONNECT_MAX_MS = 10000,
    HEADERS_MAX = 8,
    PAUSE_MAX_MS = 330000, // a server that has just started asks for at most 300 s
};

enum step {
    STEP_REQUEST, // a request is to be sent
    STEP_PAUSE,   // told to wait, then the same request
    STEP_DONE,
};

struct exchange {
    struct webhook_session *session;
    struct job *job;
    enum step step;
    enum path_form path_form;
    bool uses_previous;
    bool has_tried_path;     // the other form of the signed path
    bool has_tried_previous; // the key before the rotation
    bool has_tried_nonce;    // again after NONCE_REUSED
    bool has_paused;         // once, after TIMESTAMP_STALE with Retry-After
    int64_t pause_ms;
    // of the request under way
    struct buffer url;
    struct buffer path; // as sent, base path included
    struct buffer body;
    char timestamp[WHEN_TEXT_MAX];
    char nonce[37];
    char signature[SIGNATURE_MAX];
    char traceparent[64];
    struct http_header headers[HEADERS_MAX];
    size_t header_count;
};

void *webhook_begin(void *session, struct job *job)
{
    struct exchange *exchange = mem_new_of(struct exchange);
    must(job->kind == JOB_HEALTH || job->change_count == 1);
    exchange->session = session;
    exchange->job = job;
    exchange->path_form = exchange->session->path_form;
    return exchange;
}

void webhook_end(void *at)
{
    struct exchange *exchange = at;
    buffer_done(&exchange->url);
    buffer_done(&exchange->path);
    buffer_done(&exchange->body);
    free(exchange);
}

// ---- one request --------------------------------------------------------------------------------

static const char *method_of(const struct job *job)
{
    static const char *const methods[] = {
        [CHANGE_SET] = "POST", [CHANGE_REMOVE] = "DELETE", [CHANGE_READ] = "GET"};
    return job->kind == JOB_HEALTH ? "GET" : methods[job->changes[0].op];
}

static void write_path(struct exchange *exchange)
{
    const struct job *job = exchange->job;
    buffer_clear(&exchange->path);
    buffer_add_text(&exchange->path, exchange->session->url.path);
    if (job->kind == JOB_HEALTH) {
        buffer_add_text(&exchange->path, "/health");
        return;
    }
    const struct change *change = &job->changes[0];
    buffer_add_text(&exchange->path, "/records");
    if (change->op != CHANGE_SET)
        buffer_printf(&exchange->path, "/%s/%.*s/%.*s", record_type_name(change->set.type),
                      TEXT_ARGS(change->set.domain), TEXT_ARGS(change->set.subdomain));
}

static void write_url(struct exchange *exchange)
{
    size_t base = strlen(exchange->session->base) - strlen(exchange->session->url.path);
    buffer_clear(&exchange->url);
    buffer_add(&exchange->url, exchange->session->base, base);
    buffer_add(&exchange->url, exchange->path.at, exchange->path.len);
}

static void write_body(struct exchange *exchange)
{
    buffer_clear(&exchange->body);
    if (exchange->job->kind == JOB_CHANGES && exchange->job->changes[0].op == CHANGE_SET)
        body_write_upsert(&exchange->body, &exchange->job->changes[0].set,
                          exchange->session->is_inline);
}

static void add_header(struct exchange *exchange, const char *name, const char *value)
{
    must(exchange->header_count < HEADERS_MAX);
    exchange->headers[exchange->header_count++] = (struct http_header){name, value};
}

static void sign(struct exchange *exchange, const struct moment *moment)
{
    const struct webhook_session *session = exchange->session;
    const struct hmac_key *key = exchange->uses_previous ? session->previous : session->key;
    if (!key)
        return;
    size_t skip = exchange->path_form == PATH_RELATIVE ? strlen(session->url.path) : 0;
    when_write(moment->unix_ms / 1000, exchange->timestamp);
    random_uuid(moment->random, exchange->nonce);
    const struct sign_input input = {
        .method = text_of(method_of(exchange->job)),
        .path = text_of(exchange->path.at + skip),
        .timestamp = text_of(exchange->timestamp),
        .nonce = text_of(exchange->nonce),
        .body = buffer_text(&exchange->body),
    };
    sign_request(key, session->algorithm, &input, exchange->signature);
    add_header(exchange, "X-DNS-Timestamp", exchange->timestamp);
    add_header(exchange, "X-DNS-Nonce", exchange->nonce);
    add_header(exchange, "X-DNS-Signature", exchange->signature);
}

static void write_traceparent(struct exchange *exchange, const struct moment *moment)
{
    uint8_t span[8];
    char hex[17];
    random_fill(moment->random, span, sizeof span);
    hex_encode(span, sizeof span, hex);
    snprintf(exchange->traceparent, sizeof exchange->traceparent, "00-%s-%s-01",
             exchange->job->trace, hex);
    add_header(exchange, "traceparent", exchange->traceparent);
}

static void fill_request(struct exchange *exchange, const struct moment *moment,
                         struct http_request *out)
{
    const struct webhook_session *session = exchange->session;
    exchange->header_count = 0;
    write_path(exchange);
    write_url(exchange);
    write_body(exchange);
    sign(exchange, moment);
    write_traceparent(exchange, moment);
    if (exchange->body.len)
        add_header(exchange, "Content-Type", "application/json");
    *out = (struct http_request){
        .method = method_of(exchange->job),
        .url = exchange->url.at,
        .headers = exchange->headers,
        .header_count = exchange->header_count,
        .body = exchange->body.len ? buffer_text(&exchange->body) : (struct text){0},
        .max_body_octets = body_limits.octets,
        .timeout_ms = session->timeout_ms,
        .connect_timeout_ms =
            session->timeout_ms < CONNECT_MAX_MS ? session->timeout_ms : CONNECT_MAX_MS,
        .tls = {.ca_pem = session->ca_pem, .server_name = session->server_name},
    };
}

enum ask_kind webhook_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct exchange *exchange = at;
    switch (exchange->step) {
    case STEP_REQUEST:
        fill_request(exchange, moment, &out->http);
        return ASK_HTTP;
    case STEP_PAUSE:
        out->wait_ms = exchange->pause_ms;
        return ASK_WAIT;
    case STEP_DONE:
        break;
    }
    return ASK_DONE;
}

// ---- answers ------------------------------------------------------------------------------------

static bool try_other_path(struct exchange *exchange)
{
    if (exchange->session->is_path_fixed || exchange->has_tried_path)
        return false;
    exchange->has_tried_path = true;
    exchange->path_form = exchange->path_form == PATH_FULL ? PATH_RELATIVE : PATH_FULL;
    return true;
}

static bool try_previous_key(struct exchange *exchange, const struct moment *moment)
{
    const struct webhook_session *session = exchange->session;
    if (!session->previous || exchange->has_tried_previous ||
        moment->mono_ms > session->previous_until_ms)
        return false;
    exchange->has_tried_previous = exchange->uses_previous = true;
    exchange->has_tried_path = false;
    exchange->path_form = session->path_form;
    return true;
}

static bool try_later(struct exchange *exchange, const struct http_reply *reply,
                      const struct moment *moment)
{
    http_reply_retry_after(reply, moment->unix_ms / 1000, &exchange->pause_ms);
    if (exchange->has_paused || !exchange->pause_ms || exchange->pause_ms > PAUSE_MAX_MS)
        return false;
    exchange->has_paused = true;
    exchange->step = STEP_PAUSE;
    return true;
}

// A refusal that another form of the same request may cure.
static bool try_again(struct exchange *exchange, const struct http_reply *reply,
                      const struct moment *moment)
{
    if (reply->failure != HTTP_OK || reply->status != 401 || !exchange->session->key)
        return false;
    struct text code = reply_code(exchange->job->arena, reply);
    if (text_is(code, "TIMESTAMP_STALE"))
        return try_later(exchange, reply, moment);
    if (text_is(code, "NONCE_REUSED")) {
        bool is_first = !exchange->has_tried_nonce;
        exchange->has_tried_nonce = true;
        return is_first;
    }
    return try_other_path(exchange) || try_previous_key(exchange, moment);
}

// Many servers do not check /health: that it was answered says nothing of the path, unless the
// other form was refused before.
static void learn_path(struct exchange *exchange, const struct http_reply *reply,
                       struct value *learned)
{
    const struct job *job = exchange->job;
    bool is_health = job->kind == JOB_HEALTH;
    bool is_accepted = reply->failure == HTTP_OK && reply->status >= 200 && reply->status < 300 &&
                       (is_health ? exchange->has_tried_path : job->changes[0].outcome.is_done);
    if (exchange->session->is_path_fixed || !is_accepted)
        return;
    value_put_text(job->arena, learned, is_health ? KNOWN_TRIED : KNOWN_PATH,
                   exchange->path_form == PATH_FULL ? "Full" : "Relative");
}

// A server in trouble may leave out what it can do.
static void learn_capabilities(const struct job *job, struct value *learned)
{
    const struct value *capabilities = value_find(job->answer, "capabilities");
    if (capabilities)
        value_set(learned, TEXT(KNOWN_CAPABILITIES), value_copy(job->arena, capabilities));
    else if (job->kind == JOB_HEALTH && job->health.is_done)
        value_set(learned, TEXT(KNOWN_CAPABILITIES), value_make(job->arena, VALUE_NULL));
}

static void learn(struct exchange *exchange, const struct http_reply *reply)
{
    struct job *job = exchange->job;
    struct value *learned = value_make(job->arena, VALUE_MAP);
    learn_path(exchange, reply, learned);
    learn_capabilities(job, learned);
    job->learned = learned;
}

static void note_previous_key(struct exchange *exchange, struct outcome *outcome)
{
    if (exchange->uses_previous && outcome->is_done)
        outcome->note = "server still uses the previous secret";
}

static void advise_inline(struct exchange *exchange, struct change *change,
                          const struct http_reply *reply)
{
    bool has_numbers = change->set.type == RECORD_MX || change->set.type == RECORD_SRV;
    if (reply->failure != HTTP_OK || reply->status != 401 || !has_numbers ||
        exchange->session->is_inline || change->op != CHANGE_SET)
        return;
    struct error *error = error_copy(exchange->job->arena, change->outcome.error);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used,
             "; if other records work, the server may not know metadata: set spec.metadataStyle to "
             "Inline in the class");
    change->outcome.error = error;
}

static void handle_change(struct exchange *exchange, const struct moment *moment,
                          const struct http_reply *reply)
{
    struct change *change = &exchange->job->changes[0];
    change->outcome = (struct outcome){0};
    reply_read_change(exchange->job->arena, reply, change, moment->unix_ms / 1000);
    exchange->job->is_transport_failure =
        reply->failure == HTTP_UNREACHABLE || reply->failure == HTTP_TIMEOUT;
    note_previous_key(exchange, &change->outcome);
    advise_inline(exchange, change, reply);
}

static void handle_health(struct exchange *exchange, const struct moment *moment,
                          const struct http_reply *reply)
{
    struct job *job = exchange->job;
    job->health = (struct outcome){0};
    reply_read_health(reply, job, moment->unix_ms / 1000);
    job->is_transport_failure = reply->failure != HTTP_OK;
    note_previous_key(exchange, &job->health);
}

void webhook_handle_reply(void *at, const struct moment *moment, const struct ask_result *result)
{
    struct exchange *exchange = at;
    if (exchange->step == STEP_PAUSE) {
        exchange->step = STEP_REQUEST;
        return;
    }
    if (try_again(exchange, result->http, moment))
        return;
    if (exchange->job->kind == JOB_HEALTH)
        handle_health(exchange, moment, result->http);
    else
        handle_change(exchange, moment, result->http);
    learn(exchange, result->http);
    exchange->step = STEP_DONE;
}
