#include "store/cluster/api_reply.h"

#include <string.h>

#include "base/value.h"

enum {
    RETRY_MAX_MS = 60 * 1000,
    RETRY_LIMIT_MS = 1000, // 429 that does not say how long
    STATUS_TEXT_MAX = 900,
    FOREIGN_TEXT_MAX = 200,
};

// ---- what each status means ---------------------------------------------------------------------

struct meaning {
    int first;
    int last;
    enum fault fault;
    const char *reason;
};

// 408 comes from proxies; 410 Expired is a list's continue token. The first row that fits counts.
static const struct meaning meanings[] = {
    {401, 401, FAULT_AUTH, "AuthenticationFailed"},
    {403, 403, FAULT_AUTH, "Forbidden"},
    {404, 404, FAULT_RACE, "Conflict"},
    {408, 408, FAULT_AGAIN, "ServerError"},
    {409, 409, FAULT_RACE, "Conflict"},
    {410, 410, FAULT_AGAIN, "ServerError"},
    {429, 429, FAULT_LIMIT, "RateLimited"},
    {400, 499, FAULT_SPEC, "ValidationFailed"},
    {0, 999, FAULT_AGAIN, "ServerError"},
};

static struct meaning find_meaning(const struct api_question *question, int status)
{
    if (status == 422 && question->is_json_patch)
        return (struct meaning){status, status, FAULT_RACE, "Conflict"};
    // A namespace that is not there yet, say; with any other method it is the object itself.
    if (status == 404 && !strcmp(question->method, "POST"))
        return (struct meaning){status, status, FAULT_WAIT, "Pending"};
    size_t i = 0;
    while (i + 1 < COUNT_OF(meanings) && (status < meanings[i].first || status > meanings[i].last))
        i++;
    return meanings[i];
}

// ---- 403: who said no ---------------------------------------------------------------------------

static const struct {
    const char *sign; // in the Status' message
    const char *reason;
    const char *words; // stand before it
} refusals[] = {
    {"User \"system:anonymous\"", "Forbidden",
     "no credential was sent (give the kubeconfig's user a token, a certificate or exec): "},
    {"exceeded quota", "QuotaExceeded", "a quota is used up: "},
    {"denied the request", "Forbidden", "refused by admission: "},
    {"denied request", "Forbidden", "refused by admission: "},
    {" cannot ", "Forbidden", "a right is missing (RBAC): "},
};

static const char *explain_refusal(const char *message, const char **reason)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (!strstr(message, refusals[i].sign))
            continue;
        *reason = refusals[i].reason;
        return refusals[i].words;
    }
    return "";
}

// ---- texts --------------------------------------------------------------------------------------

static const char *clean(struct arena *arena, struct text text, size_t limit)
{
    AUTO_BUFFER out = {0};
    text_clean(&out, text_trim(text), limit);
    return arena_copy(arena, out.at, out.len);
}

// An API server that does not know a group has only a plain 404 for it.
static const char *find_hint(int status)
{
    if (status == 404)
        return "the server does not know this API: is its CRD installed?";
    return status >= 300 && status < 400
               ? "redirects are never followed: name the server itself"
               : "no Status of an API server; a proxy may stand before it";
}

static void describe_foreign(struct error *err, int status, struct text body, struct arena *arena)
{
    const char *words = clean(arena, body, FOREIGN_TEXT_MAX);
    bool is_page = words[0] == '<';
    const char *hint = find_hint(status);
    if (status == 429 && words[0] && !is_page)
        error_set(err, err->fault, err->reason, "%s", words);
    else if (words[0] && !is_page)
        error_set(err, err->fault, err->reason, "HTTP %d: %s (%s)", status, words, hint);
    else
        error_set(err, err->fault, err->reason, "HTTP %d (%s)", status, hint);
}

static void describe_status(struct api_reply *out, const struct value *status, struct arena *arena)
{
    struct error *err = &out->error;
    const char *message = clean(arena, value_text_at(status, "message"), STATUS_TEXT_MAX);
    const char *reason = arena_copy_text(arena, err->reason);
    const char *words = err->status == 403 ? explain_refusal(message, &reason) : "";
    if (message[0])
        error_set(err, err->fault, reason, "%s%s", words, message);
    else
        error_set(err, err->fault, reason, "HTTP %d", out->status);
    text_clean_into(err->code, sizeof err->code, value_text_at(status, "reason"));
    out->cause = clean(arena, value_text_at(status, "details.causes[0].reason"), FOREIGN_TEXT_MAX);
}

static const struct value *read_status(struct text body, struct arena *arena)
{
    if (!text_starts(text_trim(body), "{"))
        return NULL;
    const struct value *status = value_read_json(arena, body, &value_reply_limits, NULL);
    return text_is(value_text_at(status, "kind"), "Status") ? status : NULL;
}

// ---- when again ---------------------------------------------------------------------------------

// What the server says, or -1.
static int64_t find_retry(const struct http_reply *reply, const struct value *status,
                          int64_t unix_ms)
{
    int64_t ms;
    if (http_reply_retry_after(reply, unix_ms / 1000, &ms))
        return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
    int64_t s = value_int_at(status, "details.retryAfterSeconds", -1);
    if (s < 0)
        return -1;
    return s < RETRY_MAX_MS / 1000 ? s * 1000 : RETRY_MAX_MS;
}

static void set_fault(struct error *err, const struct api_question *question, int status,
                      int64_t retry_ms)
{
    struct meaning meaning = find_meaning(question, status);
    if (status == 503 && retry_ms >= 0)
        meaning = (struct meaning){status, status, FAULT_LIMIT, "RateLimited"};
    if (meaning.fault == FAULT_LIMIT && retry_ms <= 0)
        retry_ms = RETRY_LIMIT_MS;
    error_set(err, meaning.fault, meaning.reason, "%s", "");
    err->status = status;
    err->retry_ms = retry_ms > 0 ? retry_ms : 0;
}

// ---- the whole ----------------------------------------------------------------------------------

static bool is_write(const struct api_question *question)
{
    return strcmp(question->method, "GET") && strcmp(question->method, "HEAD");
}

// The server's 422 when an object was deleted and made again under the uid that guards a write;
// where the object is gone, its word for the same is 409.
static bool is_other_uid(const struct value *status)
{
    value_each (cause, value_at(status, "details.causes", NULL))
        if (text_is(value_text_at(cause, "field"), "metadata.uid") &&
            text_is(value_text_at(cause, "reason"), "FieldValueInvalid"))
            return true;
    return false;
}

static void read_failure(struct api_reply *out, const struct api_question *question,
                         const struct http_reply *reply, struct arena *arena)
{
    const struct value *status = read_status(reply->body, arena);
    struct error whole = {0};
    int number = reply->status == 422 && is_other_uid(status) ? 409 : reply->status;
    set_fault(&whole, question, number, find_retry(reply, status, question->unix_ms));
    out->error = whole;
    if (status)
        describe_status(out, status, arena);
    else
        describe_foreign(&out->error, reply->status, reply->body, arena);
    out->error.status = whole.status;
    out->error.retry_ms = whole.retry_ms;
    out->is_fate_unknown = is_write(question) && reply->status >= 500 && whole.fault == FAULT_AGAIN;
}

static void read_silence(struct api_reply *out, const struct api_question *question,
                         const struct http_reply *reply)
{
    out->error = reply->error;
    out->error.fault = FAULT_AGAIN;
    out->error.status = 0;
    out->is_fate_unknown = is_write(question) && !reply->is_unsent;
}

void api_reply_read(struct api_reply *out, const struct api_question *question,
                    const struct http_reply *reply, struct arena *arena)
{
    const char *audit = http_reply_header(reply, "Audit-Id");
    *out = (struct api_reply){.cause = "", .audit_id = audit ? audit : ""};
    if (reply->failure != HTTP_OK) {
        read_silence(out, question, reply);
        return;
    }
    out->status = reply->status;
    out->body = reply->body;
    out->is_ok = reply->status >= 200 && reply->status < 300;
    if (!out->is_ok)
        read_failure(out, question, reply, arena);
}
