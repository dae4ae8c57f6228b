#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/when.h"
#include "providers/webhook/body.h"
#include "providers/webhook/reply.h"
#include "providers/webhook/seat.h"
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

struct talk {
    struct webhook_seat *seat;
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

void *webhook_begin(void *seat, struct job *job)
{
    struct talk *talk = mem_new_of(struct talk);
    must(job->kind == JOB_HEALTH || job->change_count == 1);
    talk->seat = seat;
    talk->job = job;
    talk->path_form = talk->seat->path_form;
    return talk;
}

void webhook_end(void *at)
{
    struct talk *talk = at;
    buffer_done(&talk->url);
    buffer_done(&talk->path);
    buffer_done(&talk->body);
    free(talk);
}

// ---- one request --------------------------------------------------------------------------------

static const char *method_of(const struct job *job)
{
    static const char *const methods[] = {
        [CHANGE_SET] = "POST", [CHANGE_REMOVE] = "DELETE", [CHANGE_READ] = "GET"};
    return job->kind == JOB_HEALTH ? "GET" : methods[job->changes[0].op];
}

static void write_path(struct talk *talk)
{
    const struct job *job = talk->job;
    buffer_clear(&talk->path);
    buffer_add_text(&talk->path, talk->seat->url.path);
    if (job->kind == JOB_HEALTH) {
        buffer_add_text(&talk->path, "/health");
        return;
    }
    const struct change *change = &job->changes[0];
    buffer_add_text(&talk->path, "/records");
    if (change->op != CHANGE_SET)
        buffer_printf(&talk->path, "/%s/%.*s/%.*s", record_type_name(change->set.type),
                      TEXT_ARGS(change->set.domain), TEXT_ARGS(change->set.subdomain));
}

static void write_url(struct talk *talk)
{
    size_t base = strlen(talk->seat->base) - strlen(talk->seat->url.path);
    buffer_clear(&talk->url);
    buffer_add(&talk->url, talk->seat->base, base);
    buffer_add(&talk->url, talk->path.at, talk->path.len);
}

static void write_body(struct talk *talk)
{
    buffer_clear(&talk->body);
    if (talk->job->kind == JOB_CHANGES && talk->job->changes[0].op == CHANGE_SET)
        body_write_upsert(&talk->body, &talk->job->changes[0].set, talk->seat->is_inline);
}

static void add_header(struct talk *talk, const char *name, const char *value)
{
    must(talk->header_count < HEADERS_MAX);
    talk->headers[talk->header_count++] = (struct http_header){name, value};
}

static void sign(struct talk *talk, const struct moment *moment)
{
    const struct webhook_seat *seat = talk->seat;
    const struct hmac_key *key = talk->uses_previous ? seat->previous : seat->key;
    if (!key)
        return;
    size_t skip = talk->path_form == PATH_RELATIVE ? strlen(seat->url.path) : 0;
    when_write(moment->unix_ms / 1000, talk->timestamp);
    random_uuid(moment->random, talk->nonce);
    const struct sign_input input = {
        .method = text_of(method_of(talk->job)),
        .path = text_of(talk->path.at + skip),
        .timestamp = text_of(talk->timestamp),
        .nonce = text_of(talk->nonce),
        .body = buffer_text(&talk->body),
    };
    sign_request(key, seat->algorithm, &input, talk->signature);
    add_header(talk, "X-DNS-Timestamp", talk->timestamp);
    add_header(talk, "X-DNS-Nonce", talk->nonce);
    add_header(talk, "X-DNS-Signature", talk->signature);
}

static void write_traceparent(struct talk *talk, const struct moment *moment)
{
    uint8_t span[8];
    char hex[17];
    random_fill(moment->random, span, sizeof span);
    hex_encode(span, sizeof span, hex);
    snprintf(talk->traceparent, sizeof talk->traceparent, "00-%s-%s-01", talk->job->trace, hex);
    add_header(talk, "traceparent", talk->traceparent);
}

static void fill_request(struct talk *talk, const struct moment *moment, struct http_request *out)
{
    const struct webhook_seat *seat = talk->seat;
    talk->header_count = 0;
    write_path(talk);
    write_url(talk);
    write_body(talk);
    sign(talk, moment);
    write_traceparent(talk, moment);
    if (talk->body.len)
        add_header(talk, "Content-Type", "application/json");
    *out = (struct http_request){
        .method = method_of(talk->job),
        .url = talk->url.at,
        .headers = talk->headers,
        .header_count = talk->header_count,
        .body = talk->body.len ? buffer_text(&talk->body) : (struct text){0},
        .max_body_octets = body_limits.octets,
        .timeout_ms = seat->timeout_ms,
        .connect_timeout_ms = seat->timeout_ms < CONNECT_MAX_MS ? seat->timeout_ms : CONNECT_MAX_MS,
        .tls = {.ca_pem = seat->ca_pem, .server_name = seat->server_name},
    };
}

enum ask_kind webhook_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct talk *talk = at;
    switch (talk->step) {
    case STEP_REQUEST:
        fill_request(talk, moment, &out->http);
        return ASK_HTTP;
    case STEP_PAUSE:
        out->wait_ms = talk->pause_ms;
        return ASK_WAIT;
    case STEP_DONE:
        break;
    }
    return ASK_DONE;
}

// ---- answers ------------------------------------------------------------------------------------

static bool try_other_path(struct talk *talk)
{
    if (talk->seat->is_path_fixed || talk->has_tried_path)
        return false;
    talk->has_tried_path = true;
    talk->path_form = talk->path_form == PATH_FULL ? PATH_RELATIVE : PATH_FULL;
    return true;
}

static bool try_previous_key(struct talk *talk, const struct moment *moment)
{
    const struct webhook_seat *seat = talk->seat;
    if (!seat->previous || talk->has_tried_previous || moment->mono_ms > seat->previous_until_ms)
        return false;
    talk->has_tried_previous = talk->uses_previous = true;
    talk->has_tried_path = false;
    talk->path_form = seat->path_form;
    return true;
}

static bool try_later(struct talk *talk, const struct http_reply *reply,
                      const struct moment *moment)
{
    talk->pause_ms = reply_retry_after_ms(reply, moment->unix_ms / 1000);
    if (talk->has_paused || !talk->pause_ms || talk->pause_ms > PAUSE_MAX_MS)
        return false;
    talk->has_paused = true;
    talk->step = STEP_PAUSE;
    return true;
}

// A refusal that another form of the same request may cure.
static bool try_again(struct talk *talk, const struct http_reply *reply,
                      const struct moment *moment)
{
    if (reply->failure != HTTP_OK || reply->status != 401 || !talk->seat->key)
        return false;
    struct text code = reply_code(talk->job->arena, reply);
    if (text_is(code, "TIMESTAMP_STALE"))
        return try_later(talk, reply, moment);
    if (text_is(code, "NONCE_REUSED")) {
        bool is_first = !talk->has_tried_nonce;
        talk->has_tried_nonce = true;
        return is_first;
    }
    return try_other_path(talk) || try_previous_key(talk, moment);
}

// Many servers do not check /health: that it was answered says nothing of the path, unless the
// other form was refused before.
static void learn_path(struct talk *talk, const struct http_reply *reply, struct value *learned)
{
    const struct job *job = talk->job;
    bool is_health = job->kind == JOB_HEALTH;
    bool is_accepted = reply->failure == HTTP_OK && reply->status >= 200 && reply->status < 300 &&
                       (is_health ? talk->has_tried_path : job->changes[0].outcome.is_done);
    if (talk->seat->is_path_fixed || !is_accepted)
        return;
    value_put_text(job->arena, learned, is_health ? KNOWN_TRIED : KNOWN_PATH,
                   talk->path_form == PATH_FULL ? "Full" : "Relative");
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

static void learn(struct talk *talk, const struct http_reply *reply)
{
    struct job *job = talk->job;
    struct value *learned = value_make(job->arena, VALUE_MAP);
    learn_path(talk, reply, learned);
    learn_capabilities(job, learned);
    job->learned = learned;
}

static void note_previous_key(struct talk *talk, struct outcome *outcome)
{
    if (talk->uses_previous && outcome->is_done)
        outcome->note = "server still uses the previous secret";
}

static void advise_inline(struct talk *talk, struct change *change, const struct http_reply *reply)
{
    bool has_numbers = change->set.type == RECORD_MX || change->set.type == RECORD_SRV;
    if (reply->failure != HTTP_OK || reply->status != 401 || !has_numbers ||
        talk->seat->is_inline || change->op != CHANGE_SET)
        return;
    struct error *error = arena_new_of(talk->job->arena, struct error);
    *error = *change->outcome.error;
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used,
             "; if other records work, the server may not know metadata: set spec.metadataStyle to "
             "Inline in the class");
    change->outcome.error = error;
}

static void hear_change(struct talk *talk, const struct moment *moment,
                        const struct http_reply *reply)
{
    struct change *change = &talk->job->changes[0];
    change->outcome = (struct outcome){0};
    reply_read_change(talk->job->arena, reply, change, moment->unix_ms / 1000);
    talk->job->is_transport_failure =
        reply->failure == HTTP_UNREACHABLE || reply->failure == HTTP_TIMEOUT;
    note_previous_key(talk, &change->outcome);
    advise_inline(talk, change, reply);
}

static void hear_health(struct talk *talk, const struct moment *moment,
                        const struct http_reply *reply)
{
    struct job *job = talk->job;
    job->health = (struct outcome){0};
    reply_read_health(reply, job, moment->unix_ms / 1000);
    job->is_transport_failure = reply->failure != HTTP_OK;
    note_previous_key(talk, &job->health);
}

void webhook_hear(void *at, const struct moment *moment, const struct heard *heard)
{
    struct talk *talk = at;
    if (talk->step == STEP_PAUSE) {
        talk->step = STEP_REQUEST;
        return;
    }
    if (try_again(talk, heard->http, moment))
        return;
    if (talk->job->kind == JOB_HEALTH)
        hear_health(talk, moment, heard->http);
    else
        hear_change(talk, moment, heard->http);
    learn(talk, heard->http);
    talk->step = STEP_DONE;
}
