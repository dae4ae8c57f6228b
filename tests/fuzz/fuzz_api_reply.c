#include "base/must.h"
#include "store/cluster/api_reply.h"
#include "store/cluster/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_reply(int status, const char *after, struct text body)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct http_header header = {"Retry-After", after};
    struct http_reply reply = {
        .status = status, .body = body, .headers = &header, .header_count = 1};
    struct api_question question = {.method = "PATCH", .unix_ms = 1700000000000};
    struct api_reply reported;
    api_reply_read(&reported, &question, &reply, arena);
    must(reported.is_ok || (reported.error.fault != FAULT_NONE && reported.error.text[0]));
    must(reported.error.retry_ms >= 0 && reported.error.retry_ms <= 60000);
    must(reported.error.fault != FAULT_LIMIT || reported.error.retry_ms > 0);
    must(reported.cause && reported.audit_id);
}

static void check_plugin(struct text output)
{
    struct plugin_credential credential = {0};
    struct error err = {0};
    if (!plugin_read_reply(&credential, output, "client.authentication.k8s.io/v1", &err))
        must(err.fault == FAULT_AUTH && !credential.token && !credential.certificate);
    else
        must(credential.token || (credential.certificate && credential.key));
    plugin_credential_done(&credential);
}

// The first octet is the status, a line of it Retry-After, the rest the body; the same is what a
// plugin writes.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct text rest = {(const char *)at, len};
    check_plugin(rest);
    if (len == 0)
        return 0;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text line = {NULL, 0};
    rest = (struct text){rest.at + 1, rest.len - 1};
    text_cut(&rest, '\n', &line);
    const char *after = arena_copy(arena, line.at, line.len);
    check_reply(100 + at[0] * 2, after, rest.at ? rest : TEXT(""));
    return 0;
}
