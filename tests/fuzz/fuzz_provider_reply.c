#include "base/must.h"
#include "providers/webhook/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { HEADERS_MAX = 16, NOW_S = 1767088800, HOUR_MS = 3600000 };

// A reply as it stands on paper: a line with the status, lines "name: value", an empty line, body.
static struct http_reply reply_cut(struct arena *arena, struct text rest,
                                   struct http_header headers[HEADERS_MAX])
{
    int64_t status = 0;
    struct text line, name;
    struct http_reply reply = {.headers = headers};
    if (text_cut(&rest, '\n', &line) && text_to_int64(line, &status) && status >= 100)
        reply.status = (int)(status % 1000);
    while (text_cut(&rest, '\n', &line) && line.len && reply.header_count < HEADERS_MAX) {
        text_cut(&line, ':', &name);
        line = text_trim(line);
        headers[reply.header_count++] = (struct http_header){arena_copy(arena, name.at, name.len),
                                                             arena_copy(arena, line.at, line.len)};
    }
    reply.body = rest;
    return reply;
}

// Error texts go into statuses and logs: bound, clean UTF-8.
static void check_error(const struct error *err)
{
    struct text rest = text_of(err->text);
    must(err->fault != FAULT_NONE && err->reason[0] && rest.len);
    must(err->retry_ms >= 0 && err->retry_ms <= HOUR_MS);
    while (rest.len) {
        uint32_t code;
        size_t len = utf8_decode(rest, &code);
        must(len > 0 && !utf8_is_control(code));
        rest = (struct text){rest.at + len, rest.len - len};
    }
}

static void check_change(const struct http_reply *reply, enum change_op op)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct change change = {
        .op = op,
        .set = {.type = RECORD_A, .domain = TEXT("example.com"), .subdomain = TEXT("www")}};
    reply_read_change(arena, reply, &change, NOW_S);
    const struct outcome *outcome = &change.outcome;
    must(outcome->is_done || (outcome->error && outcome->error->code[0]));
    if (!outcome->is_done)
        check_error(outcome->error);
    must(outcome->is_done || !outcome->is_uncertain);
    must(!outcome->is_done || reply->status < 300 || op != CHANGE_SET);
    if (op == CHANGE_READ && outcome->is_done)
        must(outcome->was_absent != (outcome->found != NULL));
    reply_code(arena, reply);
}

static void check_health(const struct http_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct job job = {.kind = JOB_HEALTH, .arena = arena};
    reply_read_health(reply, &job, NOW_S);
    must(job.health.is_done != (job.health.error != NULL));
    if (!job.health.is_done)
        check_error(job.health.error);
    must(!job.health.is_done || (reply->status == 200 && job.answer));
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct http_header headers[HEADERS_MAX];
    struct http_reply reply = reply_cut(arena, (struct text){(const char *)at, len}, headers);
    check_change(&reply, CHANGE_SET);
    check_change(&reply, CHANGE_REMOVE);
    check_change(&reply, CHANGE_READ);
    check_health(&reply);
    return 0;
}
