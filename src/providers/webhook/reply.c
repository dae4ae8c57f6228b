#include "providers/webhook/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/value.h"
#include "base/when.h"
#include "providers/webhook/body.h"

enum { SHOWN_OCTETS = 200, MESSAGE_OCTETS = 900 };

// Which reason, code and fault a failure has: by the protocol's code first, else by status.
struct meaning {
    const char *code;
    int status;
    const char *reason;
    enum fault fault;
};
static const struct meaning meanings[] = {
    {"INVALID_RECORD", 400, "ValidationFailed", FAULT_SPEC},
    {"INVALID_DOMAIN", 0, "ValidationFailed", FAULT_SPEC},
    {"INVALID_VALUE", 0, "ValidationFailed", FAULT_SPEC},
    {"NOT_SUPPORTED", 0, "ValidationFailed", FAULT_SPEC},
    {"AUTH_FAILED", 401, "AuthenticationFailed", FAULT_AUTH},
    {"AUTH_FAILED", 403, "AuthenticationFailed", FAULT_AUTH},
    {"TIMESTAMP_STALE", 0, "AuthenticationFailed", FAULT_AUTH},
    {"NONCE_REUSED", 0, "AuthenticationFailed", FAULT_AUTH},
    {"OWNED_BY_OTHER", 0, "Conflict", FAULT_SPEC},
    {"CONFLICT", 409, "Conflict", FAULT_SPEC},
    {"RATE_LIMITED", 429, "RateLimited", FAULT_LIMIT},
    {"QUOTA_EXCEEDED", 0, "QuotaExceeded", FAULT_SPEC},
};
static const struct meaning meaning_of_rest = {"SERVER_ERROR", 0, "ServerError", FAULT_AGAIN};

static const struct meaning *meaning_by_code(struct text code)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++)
        if (text_is(code, meanings[i].code))
            return &meanings[i];
    return NULL;
}

static const struct meaning *meaning_by_status(int status)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++)
        if (meanings[i].status == status)
            return &meanings[i];
    return &meaning_of_rest;
}

static const struct value *parse(struct arena *arena, const struct http_reply *reply)
{
    struct value *tree =
        reply->body.len ? value_read_json(arena, reply->body, &body_limits, NULL) : NULL;
    return tree && tree->type == VALUE_MAP ? tree : NULL;
}

struct text reply_code(struct arena *arena, const struct http_reply *reply)
{
    return value_text_at(parse(arena, reply), "error.code");
}

static const char *cleaned(struct arena *arena, struct text text, size_t limit)
{
    struct buffer out = {0};
    text_clean(&out, text_trim(text), limit);
    const char *copy = arena_copy_text(arena, buffer_text(&out).at);
    buffer_done(&out);
    return copy;
}

static const char *clock_advice(struct arena *arena, const struct http_reply *reply, int64_t now_s)
{
    int64_t server_s;
    const char *date = http_reply_header(reply, "Date");
    if (!date || !when_parse_http(text_of(date), &server_s))
        return NULL;
    int64_t ahead_s = now_s - server_s;
    int64_t minutes = (llabs(ahead_s) + 30) / 60;
    if (minutes == 0)
        return NULL;
    return arena_printf(arena, "our clock is about %lld min %s the server", (long long)minutes,
                        ahead_s > 0 ? "ahead of" : "behind");
}

// What the server said, or its raw words, or nothing.
static const char *message_of(struct arena *arena, const struct http_reply *reply,
                              const struct value *tree)
{
    struct text message = value_text_at(tree, "error.message");
    if (!message.at)
        message = value_text_at(tree, "message");
    if (message.at && message.len)
        return cleaned(arena, message, MESSAGE_OCTETS);
    return cleaned(arena, reply->body, SHOWN_OCTETS);
}

static struct error *error_new(struct arena *arena, const struct http_reply *reply,
                               const struct meaning *meaning, struct text code, const char *text)
{
    struct error *error = arena_new_of(arena, struct error);
    error_set(error, meaning->fault, meaning->reason, "%s", text);
    error->status = reply->status;
    if (code.at && code.len && code.len < sizeof error->code) {
        struct buffer out = {0};
        text_clean(&out, code, sizeof error->code - 1);
        snprintf(error->code, sizeof error->code, "%s", out.at);
        buffer_done(&out);
    } else {
        snprintf(error->code, sizeof error->code, "%s", meaning->code);
    }
    return error;
}

static const char *with_message(struct arena *arena, const char *head, const char *message)
{
    return *message ? arena_printf(arena, "%s: %s", head, message) : head;
}

static const struct error *transport_error(struct arena *arena, const struct http_reply *reply)
{
    struct error *error = arena_new_of(arena, struct error);
    bool is_ours = reply->failure == HTTP_TOO_BIG;
    error_set(error, FAULT_AGAIN, is_ours ? "ServerError" : "ServerUnreachable", "%s",
              reply->error.text);
    snprintf(error->code, sizeof error->code, "%s",
             is_ours ? "SERVER_ERROR" : "SERVER_UNREACHABLE");
    return error;
}

static const char *status_advice(struct arena *arena, const struct http_reply *reply,
                                 enum change_op op, struct text code)
{
    int status = reply->status;
    if (status >= 300 && status < 400)
        return arena_printf(arena, "HTTP %d: redirects are not followed; check spec.server",
                            status);
    if ((status == 404 || status == 410) && op == CHANGE_SET)
        return arena_printf(arena, "HTTP %d: check spec.server", status);
    if ((status == 401 || status == 403) && (!code.len || text_is(code, "AUTH_FAILED")))
        return arena_printf(arena, "HTTP %d: compare the key and hmacAuth.algorithm at both ends",
                            status);
    return arena_printf(arena, "HTTP %d", status);
}

// Limits have their code whatever the status; else a code counts where the status says nothing.
static const struct meaning *meaning_of(int status, struct text code)
{
    const struct meaning *by_status = meaning_by_status(status);
    const struct meaning *by_code = meaning_by_code(code);
    if (!by_code || status < 400 || status >= 500)
        return by_status;
    bool is_limit = by_code->fault == FAULT_LIMIT || text_is(code, "QUOTA_EXCEEDED");
    bool is_open = by_status == &meaning_of_rest && status != 404 && status != 410;
    return is_limit || is_open ? by_code : by_status;
}

static const struct error *status_error(struct arena *arena, const struct http_reply *reply,
                                        enum change_op op, int64_t now_s)
{
    const struct value *tree = parse(arena, reply);
    struct text code = value_text_at(tree, "error.code");
    const struct meaning *meaning = meaning_of(reply->status, code);
    const char *message = message_of(arena, reply, tree);
    const char *text = with_message(arena, status_advice(arena, reply, op, code), message);
    if (text_is(code, "TIMESTAMP_STALE")) {
        const char *advice = clock_advice(arena, reply, now_s);
        if (advice)
            text = arena_printf(arena, "%s; %s", text, advice);
    }
    struct error *error = error_new(arena, reply, meaning, code, text);
    if (reply->status == 429 || reply->status == 503 || text_is(code, "TIMESTAMP_STALE"))
        http_reply_retry_after(reply, now_s, &error->retry_ms);
    return error;
}

static const struct error *refused_error(struct arena *arena, const struct http_reply *reply,
                                         const struct value *tree)
{
    struct text code = value_text_at(tree, "error.code");
    const struct meaning *meaning = meaning_by_code(code);
    const char *message = message_of(arena, reply, tree);
    return error_new(arena, reply, meaning ? meaning : &meaning_of_rest, code,
                     with_message(arena, "the server refused", message));
}

static const struct error *strange_error(struct arena *arena, const struct http_reply *reply)
{
    const char *shown = cleaned(arena, reply->body, SHOWN_OCTETS);
    const char *what = *shown ? "with a body that is not of the protocol" : "without a body";
    return error_new(
        arena, reply, &meaning_of_rest, (struct text){0},
        with_message(arena, arena_printf(arena, "HTTP %d %s", reply->status, what), shown));
}

static int32_t number_at(const struct value *record, const char *path, int32_t limit)
{
    int64_t number = value_int_at(record, path, -1);
    return number < 0 || number > limit ? -1 : (int32_t)number;
}

// "10 mail.example.com", as a server of metadataStyle Inline holds it.
static struct text take_numbers(struct record_set *found, struct text value)
{
    int32_t *const numbers[] = {&found->priority, &found->weight, &found->port};
    size_t count = found->type == RECORD_SRV ? 3 : 1;
    struct text rest = value, piece;
    int64_t taken[3];
    for (size_t i = 0; i < count; i++)
        if (!text_cut(&rest, ' ', &piece) || !rest.at || !text_to_int64(piece, &taken[i]) ||
            taken[i] < 0 || taken[i] > UINT16_MAX)
            return value;
    for (size_t i = 0; i < count; i++)
        *numbers[i] = (int32_t)taken[i];
    return rest;
}

// What the server does not return stays 0 (TTL) or -1 (numbers). False without values.
static bool read_record(struct arena *arena, const struct value *tree, struct change *change)
{
    const struct value *record = value_find(tree, "record");
    const struct value *list = value_find(record, "values");
    struct record_set *found = arena_new_of(arena, struct record_set);
    struct text *values = arena_new_array(arena, struct text, value_count(list) + 1);
    bool has_numbers = change->set.type == RECORD_MX || change->set.type == RECORD_SRV;
    if (!list || list->type != VALUE_LIST)
        return false;
    *found = change->set;
    found->values = values;
    found->value_count = 0;
    int32_t ttl_s = number_at(record, "ttl", INT32_MAX);
    found->ttl_s = ttl_s < 0 ? 0 : (uint32_t)ttl_s;
    found->priority = number_at(record, "metadata.priority", UINT16_MAX);
    found->weight = number_at(record, "metadata.weight", UINT16_MAX);
    found->port = number_at(record, "metadata.port", UINT16_MAX);
    has_numbers = has_numbers && !value_find(record, "metadata");
    value_each (item, list) {
        if (item->type != VALUE_TEXT)
            return false;
        values[found->value_count++] = has_numbers ? take_numbers(found, item->text) : item->text;
    }
    change->outcome.found = found;
    return true;
}

static void read_success(struct arena *arena, const struct http_reply *reply, struct change *change)
{
    struct outcome *outcome = &change->outcome;
    bool is_known = reply->status <= 202 || reply->status == 204;
    if (is_known && change->op != CHANGE_READ && !text_trim(reply->body).len) {
        outcome->is_done = true;
        return;
    }
    const struct value *tree = parse(arena, reply);
    const struct value *success = value_find(tree, "success");
    if (!success || success->type != VALUE_BOOL || reply->status > 202) {
        outcome->error = strange_error(arena, reply);
        return;
    }
    if (success->boolean) {
        outcome->is_done = change->op != CHANGE_READ || read_record(arena, tree, change);
        if (!outcome->is_done)
            outcome->error = strange_error(arena, reply);
        return;
    }
    if (change->op != CHANGE_SET &&
        text_is(value_text_at(tree, "error.code"), "RECORD_NOT_FOUND")) {
        outcome->is_done = outcome->was_absent = true;
        return;
    }
    outcome->error = refused_error(arena, reply, tree);
}

static void read_absent(struct arena *arena, const struct http_reply *reply, struct change *change)
{
    const struct value *tree = parse(arena, reply);
    change->outcome.is_done = true;
    change->outcome.was_absent = true;
    if (change->op == CHANGE_REMOVE && !value_find(tree, "success")) {
        change->outcome.is_uncertain = true;
        change->outcome.note = arena_printf(
            arena, "the server answered HTTP %d without a body of the protocol: check spec.server",
            reply->status);
    }
}

void reply_read_change(struct arena *arena, const struct http_reply *reply, struct change *change,
                       int64_t now_s)
{
    int status = reply->status;
    if (reply->failure != HTTP_OK)
        change->outcome.error = transport_error(arena, reply);
    else if (status >= 200 && status < 300)
        read_success(arena, reply, change);
    else if ((status == 404 || status == 410) && change->op != CHANGE_SET)
        read_absent(arena, reply, change);
    else
        change->outcome.error = status_error(arena, reply, change->op, now_s);
    if (change->op == CHANGE_REMOVE && status == 409 && reply->failure == HTTP_OK) {
        change->outcome = (struct outcome){
            .is_done = true,
            .is_uncertain = true,
            .note = "the server says that another owner holds the record: left alone",
        };
    }
}

static struct error *unhealthy(struct job *job, const struct http_reply *reply,
                               const struct value *tree)
{
    static const struct meaning meaning = {"", 0, "ServerUnhealthy", FAULT_AGAIN};
    const char *status = cleaned(job->arena, value_text_at(tree, "status"), 64);
    const char *message = cleaned(job->arena, value_text_at(tree, "message"), MESSAGE_OCTETS);
    return error_new(job->arena, reply, &meaning, TEXT(""),
                     with_message(job->arena,
                                  arena_printf(job->arena, "the server says it is %s",
                                               *status ? status : "unhealthy"),
                                  message));
}

static bool says_healthy(const struct value *tree)
{
    return text_equal_nocase(value_text_at(tree, "status"), TEXT("healthy"));
}

void reply_read_health(const struct http_reply *reply, struct job *job, int64_t now_s)
{
    const struct value *tree = reply->failure == HTTP_OK ? parse(job->arena, reply) : NULL;
    bool is_answer = reply->status == 200 || reply->status == 503;
    job->answer = is_answer ? tree : NULL;
    if (reply->failure != HTTP_OK)
        job->health.error = transport_error(job->arena, reply);
    else if (reply->status == 200 && tree && says_healthy(tree))
        job->health.is_done = true;
    else if (reply->status == 503 || (reply->status == 200 && value_text_at(tree, "status").at))
        job->health.error = unhealthy(job, reply, tree);
    else if (reply->status == 200)
        job->health.error = strange_error(job->arena, reply);
    else
        job->health.error = status_error(job->arena, reply, CHANGE_SET, now_s);
}
