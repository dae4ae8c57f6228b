#include "store/cluster/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/must.h"
#include "io/test_folder.h"
#include "model/virtual_loop.h"

enum { HEADERS_SHOWN_MAX = 2048, SENT_MAX = 16 };

// A client that keeps what it is asked and answers when told to.
struct http_call {
    http_done *done;
    void *context;
    struct http_request request; // its texts are gone; the fields below are copies
    char method[16];
    char url[512];
    char agent[128];
    char body[256];
    char headers[HEADERS_SHOWN_MAX]; // "Name: value\n" each
    bool is_over;
};

struct bench {
    struct http http;
    struct loop *loop;
    struct world world;
    struct log *log;
    struct buffer lines;
    char folder[TEST_FOLDER_MAX];
    struct kube_access *access;
    struct api *api;
    struct http_call sent[SENT_MAX];
    size_t sent_count;
    // Of the last reply:
    unsigned reply_count;
    struct api_reply reply;
    char body[256];
    char refused[64];
    char cause[64];
    char pieces[256];
};

static struct http_call *keep_call(struct http *http, const struct http_request *request,
                                   http_done *done, void *context)
{
    struct bench *bench = (struct bench *)http;
    must(bench->sent_count < SENT_MAX);
    struct http_call *call = &bench->sent[bench->sent_count++];
    *call = (struct http_call){.done = done, .context = context, .request = *request};
    snprintf(call->method, sizeof call->method, "%s", request->method);
    snprintf(call->url, sizeof call->url, "%s", request->url);
    snprintf(call->agent, sizeof call->agent, "%s", request->user_agent);
    if (request->body.at)
        snprintf(call->body, sizeof call->body, "%.*s", TEXT_ARGS(request->body));
    for (size_t i = 0; i < request->header_count; i++) {
        size_t len = strlen(call->headers);
        snprintf(call->headers + len, sizeof call->headers - len, "%s: %s\n",
                 request->headers[i].name, request->headers[i].value);
    }
    return call;
}

static void drop_call(struct http *http, struct http_call *call)
{
    (void)http;
    call->is_over = true;
}

static int64_t log_now(void *context)
{
    struct bench *bench = context;
    return loop_unix_ms(bench->loop);
}

static void log_write(void *context, struct text line)
{
    struct bench *bench = context;
    buffer_add(&bench->lines, line.at, line.len);
}

static int set_up(void **state)
{
    static const struct http_ops ops = {.send = keep_call, .cancel = drop_call};
    struct bench *bench = mem_new_of(struct bench);
    bench->http.ops = &ops;
    bench->loop = virtual_loop_new(1700000000000);
    bench->world = (struct world){.loop = bench->loop, .http = &bench->http};
    struct log_sink sink = {log_write, log_now, bench};
    bench->log = log_new(&sink, LOG_JSON, LOG_DEBUG);
    test_folder_make(bench->folder);
    struct arena *arena = arena_new();
    bench->access = arena_new_of(arena, struct kube_access);
    bench->access->arena = arena;
    bench->access->source = "kubeconfig k, context c";
    must(url_parse(&bench->access->server, TEXT("https://kube.example:6443/prefix"), NULL));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    if (bench->api)
        api_free(bench->api);
    else
        kube_access_free(bench->access);
    assert_int_equal(virtual_loop_timer_count(bench->loop), 0);
    log_free(bench->log);
    loop_free(bench->loop);
    buffer_done(&bench->lines);
    test_folder_remove(bench->folder);
    free(bench);
    return 0;
}

static void run(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static void keep_reply(void *context, const struct api_reply *reply)
{
    struct bench *bench = context;
    bench->reply_count++;
    bench->reply = *reply;
    snprintf(bench->body, sizeof bench->body, "%.*s", TEXT_ARGS(reply->body));
    snprintf(bench->cause, sizeof bench->cause, "%s", reply->cause);
}

static void keep_piece(void *context, struct text piece)
{
    struct bench *bench = context;
    size_t len = strlen(bench->pieces);
    snprintf(bench->pieces + len, sizeof bench->pieces - len, "%.*s", TEXT_ARGS(piece));
}

static struct api_call *send_request(struct bench *bench, const struct api_request *request)
{
    if (!bench->api)
        bench->api = api_new(&bench->world, bench->log, bench->access);
    return api_send(bench->api, request, keep_reply, bench);
}

static struct http_call *ask(struct bench *bench, const char *method)
{
    struct api_request request = {.method = method, .path = "/api/v1/things"};
    size_t before = bench->sent_count;
    send_request(bench, &request);
    run(bench, 0);
    return bench->sent_count > before ? &bench->sent[bench->sent_count - 1] : NULL;
}

static void answer_whole(struct bench *bench, const struct http_reply *reply)
{
    struct http_call *call = &bench->sent[bench->sent_count - 1];
    must(!call->is_over);
    call->is_over = true;
    call->done(call->context, reply);
    run(bench, 0);
}

static void answer(struct bench *bench, int status, const char *body)
{
    struct http_header header = {"Audit-Id", "audit-7"};
    struct http_reply reply = {
        .status = status, .body = text_of(body), .headers = &header, .header_count = 1};
    answer_whole(bench, &reply);
}

static void give_token(struct bench *bench, const char *token)
{
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/token", bench->folder);
    must(disk_replace(disk_system(), path.at, text_of(token), 0600, false, NULL));
    if (!bench->api)
        bench->access->token_file = arena_copy_text(bench->access->arena, path.at);
}

static size_t count_lines(const struct bench *bench, const char *part)
{
    size_t count = 0;
    for (const char *at = bench->lines.at; at && (at = strstr(at, part)); at++)
        count++;
    return count;
}

#define STATUS(reason, message)                                                                    \
    "{\"kind\":\"Status\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"

// ---- going out ----------------------------------------------------------------------------------

static void requests_go_behind_the_servers_prefix_with_our_headers(void **state)
{
    struct bench *bench = *state;
    bench->access->token = secret_new("t0", 2);
    struct api_request request = {
        .method = "PATCH",
        .path = "/api/v1/things/a",
        .content_type = "application/merge-patch+json",
        .body = TEXT("{}"),
        .agent = "/leader-election",
    };
    send_request(bench, &request);
    const struct http_call *call = &bench->sent[0];
    assert_string_equal(call->method, "PATCH");
    assert_string_equal(call->url, "https://kube.example:6443/prefix/api/v1/things/a");
    assert_string_equal(call->headers, "Accept: application/json\n"
                                       "Content-Type: application/merge-patch+json\n"
                                       "Authorization: Bearer t0\n");
    assert_string_equal(call->body, "{}");
    assert_non_null(strstr(call->agent, "signpost/" SIGNPOST_VERSION " (linux/"));
    assert_non_null(strstr(call->agent, ")/leader-election"));
    assert_int_equal(call->request.connect_timeout_ms, 10000);
    assert_int_equal(call->request.timeout_ms, 60000);
    assert_int_equal(call->request.max_body_octets, 3 * 1024 * 1024);
    assert_false(call->request.is_alone);
}

static void impersonation_and_tls_go_along(void **state)
{
    static const char *const groups[] = {"g1", "g2", NULL};
    static const char *const extra[] = {"Scopes", "view", "a/b", "c", NULL};
    struct bench *bench = *state;
    struct kube_access *access = bench->access;
    access->username = "joe";
    access->password = secret_new("pw", 2);
    access->as = "jane";
    access->as_uid = "7";
    access->as_groups = groups;
    access->as_extra = extra;
    access->tls_server_name = "other.example";
    access->proxy = "socks5://proxy.example:1080";
    access->ca = secret_new("CA", 2);
    access->certificate = secret_new("CERT", 4);
    access->key = secret_new("KEY", 3);
    const struct http_call *call = ask(bench, "GET");
    assert_string_equal(call->headers, "Accept: application/json\n"
                                       "Authorization: Basic am9lOnB3\n"
                                       "Impersonate-User: jane\n"
                                       "Impersonate-Uid: 7\n"
                                       "Impersonate-Group: g1\n"
                                       "Impersonate-Group: g2\n"
                                       "Impersonate-Extra-scopes: view\n"
                                       "Impersonate-Extra-a%2Fb: c\n");
    assert_string_equal(call->request.tls.ca_pem, "CA");
    assert_string_equal(call->request.tls.certificate_pem, "CERT");
    assert_string_equal(call->request.tls.key_pem, "KEY");
    assert_string_equal(call->request.tls.server_name, "other.example");
    assert_string_equal(call->request.proxy, "socks5://proxy.example:1080");
}

static void a_watch_has_a_connection_of_its_own_and_no_end(void **state)
{
    struct bench *bench = *state;
    struct api_request request = {
        .method = "GET", .path = "/api/v1/things?watch=1", .is_watch = true, .piece = keep_piece};
    send_request(bench, &request);
    struct http_call *call = &bench->sent[0];
    assert_true(call->request.is_alone);
    assert_int_equal(call->request.timeout_ms, 0);
    call->request.piece(call->context, TEXT("{\"ty"));
    call->request.piece(call->context, TEXT("pe\"}"));
    assert_string_equal(bench->pieces, "{\"type\"}");
    answer(bench, 200, "");
    assert_true(bench->reply.is_ok);
}

static void a_call_that_was_cancelled_is_not_answered(void **state)
{
    struct bench *bench = *state;
    struct api_request request = {.method = "GET", .path = "/version"};
    struct api_call *call = send_request(bench, &request);
    api_cancel(bench->api, call);
    assert_true(bench->sent[0].is_over);
    run(bench, 1000);
    assert_int_equal(bench->reply_count, 0);
}

static void paths_and_queries_are_escaped(void **state)
{
    static const struct kind core = {.group = "", .version = "v1", .plural = "secrets"};
    static const struct kind ours = {.group = "g.example", .version = "v2", .plural = "things"};
    AUTO_BUFFER out = {0};
    (void)state;
    api_path(&out, &core, TEXT("ns"), TEXT("a b/c"), NULL);
    assert_string_equal(out.at, "/api/v1/namespaces/ns/secrets/a%20b%2Fc");
    buffer_clear(&out);
    api_path(&out, &ours, TEXT(""), TEXT("x"), "status");
    assert_string_equal(out.at, "/apis/g.example/v2/things/x/status");
    buffer_clear(&out);
    api_path(&out, &ours, TEXT(""), TEXT(""), NULL);
    assert_string_equal(out.at, "/apis/g.example/v2/things");
    buffer_clear(&out);
    api_query_escape(&out, TEXT("metadata.name=a&b~\xc3\xa4"));
    assert_string_equal(out.at, "metadata.name%3Da%26b~%C3%A4");
}

// ---- replies to faults --------------------------------------------------------------------------

static void each_status_has_its_fault(void **state)
{
    static const struct {
        const char *method;
        int status;
        enum fault fault;
        bool is_fate_unknown;
    } rows[] = {
        {"GET", 302, FAULT_AGAIN, false},   {"PATCH", 400, FAULT_SPEC, false},
        {"GET", 403, FAULT_AUTH, false},    {"PATCH", 404, FAULT_RACE, false},
        {"POST", 404, FAULT_WAIT, false},   {"PATCH", 409, FAULT_RACE, false},
        {"POST", 409, FAULT_RACE, false},   {"GET", 410, FAULT_AGAIN, false},
        {"PATCH", 413, FAULT_SPEC, false},  {"PATCH", 415, FAULT_SPEC, false},
        {"PATCH", 422, FAULT_SPEC, false},  {"GET", 429, FAULT_LIMIT, false},
        {"PATCH", 500, FAULT_AGAIN, true},  {"GET", 500, FAULT_AGAIN, false},
        {"DELETE", 502, FAULT_AGAIN, true}, {"PUT", 503, FAULT_AGAIN, true},
        {"POST", 504, FAULT_AGAIN, true},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->sent_count = 0;
        ask(bench, rows[i].method);
        answer(bench, rows[i].status, STATUS("Some", "words of the server"));
        assert_false(bench->reply.is_ok);
        assert_int_equal(bench->reply.status, rows[i].status);
        assert_int_equal(bench->reply.error.status, rows[i].status);
        assert_int_equal(bench->reply.error.fault, rows[i].fault);
        assert_string_equal(bench->reply.error.text, "words of the server");
        assert_string_equal(bench->reply.error.code, "Some");
        assert_int_equal(bench->reply.is_fate_unknown, rows[i].is_fate_unknown);
    }
}

static void a_failed_test_of_a_json_patch_is_a_race(void **state)
{
    struct bench *bench = *state;
    struct api_request request = {.method = "PATCH",
                                  .path = "/x",
                                  .content_type = "application/json-patch+json",
                                  .body = TEXT("[]")};
    send_request(bench, &request);
    answer(bench, 422, STATUS("Invalid", "the server rejected our request"));
    assert_int_equal(bench->reply.error.fault, FAULT_RACE);
}

static void an_object_of_another_uid_is_a_race_like_one_that_is_gone(void **state)
{
    struct bench *bench = *state;
    ask(bench, "PATCH");
    answer(bench, 422,
           "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"field is immutable\","
           "\"details\":{\"causes\":[{\"reason\":\"FieldValueInvalid\",\"field\":"
           "\"metadata.uid\"}]}}");
    assert_int_equal(bench->reply.error.fault, FAULT_RACE);
    assert_int_equal(bench->reply.error.status, 409);
    assert_int_equal(bench->reply.status, 422);
}

static void a_status_tells_its_first_cause_and_when_to_retry(void **state)
{
    struct bench *bench = *state;
    ask(bench, "GET");
    answer(bench, 504,
           "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":\"Too large resource version\","
           "\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],"
           "\"retryAfterSeconds\":1}}");
    assert_int_equal(bench->reply.error.fault, FAULT_AGAIN);
    assert_string_equal(bench->reply.error.code, "Timeout");
    assert_string_equal(bench->cause, "ResourceVersionTooLarge");
    assert_int_equal(bench->reply.error.retry_ms, 1000);
}

static void retry_after_decides_and_is_capped(void **state)
{
    static const struct {
        int status;
        const char *after;
        enum fault fault;
        int64_t retry_ms;
    } rows[] = {
        {429, "7", FAULT_LIMIT, 7000},
        {429, "600", FAULT_LIMIT, 60000},
        {429, "soon", FAULT_LIMIT, 1000},
        {429, "-9000000000000000000", FAULT_LIMIT, 1000},
        {429, "Tue, 14 Nov 2023 22:13:30 GMT", FAULT_LIMIT, 10000},
        {503, "2", FAULT_LIMIT, 2000},
        {503, "", FAULT_AGAIN, 0},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_header header = {"Retry-After", rows[i].after};
        struct http_reply reply = {.status = rows[i].status,
                                   .body = TEXT("Too many requests, please try again later.\n"),
                                   .headers = &header,
                                   .header_count = 1};
        bench->sent_count = 0;
        ask(bench, "PATCH");
        answer_whole(bench, &reply);
        assert_int_equal(bench->reply.error.fault, rows[i].fault);
        assert_int_equal(bench->reply.error.retry_ms, rows[i].retry_ms);
        assert_int_equal(bench->reply.is_fate_unknown, rows[i].fault == FAULT_AGAIN);
        if (rows[i].status == 429)
            assert_string_equal(bench->reply.error.text,
                                "Too many requests, please try again later.");
    }
}

static void a_403_tells_who_said_no(void **state)
{
    static const struct {
        const char *body;
        const char *reason;
        const char *start;
    } rows[] = {
        {STATUS("Forbidden", "things is forbidden: User \\\"u\\\" cannot list resource \\\"x\\\""),
         "Forbidden", "a right is missing (RBAC): things is"},
        {STATUS("Forbidden", "things \\\"a\\\" is forbidden: exceeded quota: q"), "QuotaExceeded",
         "a quota is used up: things"},
        {STATUS("Forbidden", "admission webhook \\\"w\\\" denied the request: no"), "Forbidden",
         "refused by admission: admission"},
        {STATUS("Forbidden", "forbidden: User \\\"system:anonymous\\\" cannot get path"),
         "Forbidden", "no credential was sent (give"},
        {STATUS("Forbidden", "namespace is being terminated"), "Forbidden", "namespace is"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->sent_count = 0;
        ask(bench, "POST");
        answer(bench, 403, rows[i].body);
        assert_int_equal(bench->reply.error.fault, FAULT_AUTH);
        assert_string_equal(bench->reply.error.reason, rows[i].reason);
        assert_true(text_starts(text_of(bench->reply.error.text), rows[i].start));
    }
}

static void note_refusal(void *context, const char *method, const char *path)
{
    struct bench *bench = context;
    snprintf(bench->refused, sizeof bench->refused, "%s %s", method, path);
}

static void each_403_is_reported_with_its_request(void **state)
{
    struct bench *bench = *state;
    bench->api = api_new(&bench->world, bench->log, bench->access);
    api_watch_refusals(bench->api, note_refusal, bench);
    ask(bench, "PATCH");
    answer(bench, 409, STATUS("Conflict", "no"));
    assert_string_equal(bench->refused, "");
    ask(bench, "PATCH");
    answer(bench, 403, STATUS("Forbidden", "no"));
    assert_string_equal(bench->refused, "PATCH /api/v1/things");
}

static void only_a_status_says_that_an_object_is_not_there(void **state)
{
    struct bench *bench = *state;
    ask(bench, "GET");
    answer(bench, 404, STATUS("NotFound", "things \\\"a\\\" not found"));
    assert_true(api_reply_is_absent(&bench->reply));
    ask(bench, "GET");
    answer(bench, 404, "404 page not found\n");
    assert_false(api_reply_is_absent(&bench->reply));
}

static void what_is_no_status_comes_from_something_else(void **state)
{
    struct bench *bench = *state;
    ask(bench, "GET");
    answer(bench, 502, "<html>Bad Gateway</html>");
    assert_string_equal(bench->reply.error.text,
                        "HTTP 502 (no Status of an API server; a proxy may stand before it)");
    ask(bench, "GET");
    answer(bench, 400, "no\nway");
    assert_string_equal(
        bench->reply.error.text,
        "HTTP 400: no way (no Status of an API server; a proxy may stand before it)");
    ask(bench, "GET");
    answer(bench, 404, "404 page not found\n");
    assert_string_equal(bench->reply.error.text,
                        "HTTP 404: 404 page not found (the server does not know this API: is its "
                        "CRD installed?)");
    ask(bench, "GET");
    answer(bench, 307, "");
    assert_string_equal(bench->reply.error.text,
                        "HTTP 307 (redirects are never followed: name the server itself)");
}

static void silence_leaves_the_fate_of_a_write_open(void **state)
{
    struct bench *bench = *state;
    struct http_reply reply = {.failure = HTTP_TIMEOUT};
    error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "no answer");
    ask(bench, "PATCH");
    answer_whole(bench, &reply);
    assert_int_equal(bench->reply.error.fault, FAULT_AGAIN);
    assert_int_equal(bench->reply.status, 0);
    assert_true(bench->reply.is_fate_unknown);
    ask(bench, "GET");
    answer_whole(bench, &reply);
    assert_false(bench->reply.is_fate_unknown);
}

// ---- credentials --------------------------------------------------------------------------------

static void a_401_is_tried_once_more_with_a_new_token(void **state)
{
    struct bench *bench = *state;
    give_token(bench, "old\n");
    ask(bench, "GET");
    assert_non_null(strstr(bench->sent[0].headers, "Bearer old\n"));
    give_token(bench, "new\n");
    answer(bench, 401, STATUS("Unauthorized", "Unauthorized"));
    assert_int_equal(bench->reply_count, 0);
    assert_int_equal(bench->sent_count, 2);
    assert_non_null(strstr(bench->sent[1].headers, "Bearer new\n"));
    answer(bench, 200, "{}");
    assert_int_equal(bench->reply_count, 1);
    assert_true(bench->reply.is_ok);
    assert_true(api_check(bench->api).is_ok);
}

static void a_401_with_nothing_fresher_is_told_at_once(void **state)
{
    struct bench *bench = *state;
    give_token(bench, "old");
    ask(bench, "GET");
    answer(bench, 401, STATUS("Unauthorized", "Unauthorized"));
    assert_int_equal(bench->sent_count, 1);
    assert_int_equal(bench->reply.error.fault, FAULT_AUTH);
    assert_int_equal(bench->reply.error.retry_ms, 800);
    assert_false(api_check(bench->api).is_ok);
    assert_string_equal(
        api_check(bench->api).text,
        "the server refuses the credential of kubeconfig k, context c: Unauthorized");
}

static void a_second_401_is_not_tried_again(void **state)
{
    struct bench *bench = *state;
    give_token(bench, "one");
    ask(bench, "GET");
    give_token(bench, "two");
    answer(bench, 401, "");
    give_token(bench, "three");
    answer(bench, 401, "");
    assert_int_equal(bench->sent_count, 2);
    assert_int_equal(bench->reply_count, 1);
    assert_int_equal(bench->reply.status, 401);
}

static void refused_credentials_back_off_to_half_a_minute_in_one_line_a_minute(void **state)
{
    static const int64_t waits[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    struct bench *bench = *state;
    bench->access->token = secret_new("t", 1);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        ask(bench, "GET");
        answer(bench, 401, "");
        assert_int_equal(bench->reply.error.retry_ms, waits[i]);
        if (i == 4)
            assert_int_equal(count_lines(bench, "refuses our credential"), 1);
        run(bench, waits[i]);
    }
    assert_int_equal(count_lines(bench, "refuses our credential"), 2);
    assert_int_equal(count_lines(bench, "\"auditId\":\"audit-7\""), 2 + COUNT_OF(waits));
    ask(bench, "GET");
    answer(bench, 200, "{}");
    assert_true(api_check(bench->api).is_ok);
    assert_int_equal(count_lines(bench, "takes our credential again"), 1);
}

static void a_watch_that_begins_to_tell_has_its_credential_taken(void **state)
{
    struct bench *bench = *state;
    struct api_request request = {
        .method = "GET", .path = "/api/v1/things", .is_watch = true, .piece = keep_piece};
    ask(bench, "GET");
    answer(bench, 401, "");
    assert_false(api_check(bench->api).is_ok);
    send_request(bench, &request);
    const struct http_call *call = &bench->sent[bench->sent_count - 1];
    call->request.piece(call->context, TEXT("{"));
    assert_true(api_check(bench->api).is_ok);
    assert_string_equal(bench->pieces, "{");
}

static void a_token_file_that_cannot_be_read_fails_later_than_the_call(void **state)
{
    struct bench *bench = *state;
    bench->access->token_file = "/nonexistent/token";
    struct api_request request = {.method = "GET", .path = "/version"};
    send_request(bench, &request);
    assert_int_equal(bench->reply_count, 0);
    run(bench, 0);
    assert_int_equal(bench->reply_count, 1);
    assert_int_equal(bench->sent_count, 0);
    assert_int_equal(bench->reply.error.fault, FAULT_AUTH);
    assert_false(bench->reply.is_fate_unknown);
    assert_false(api_check(bench->api).is_ok);
}

static void have_plugin(struct bench *bench, const char *script)
{
    struct kube_exec *exec = &bench->access->exec;
    exec->command = "/bin/sh";
    exec->args[0] = "-c";
    exec->args[1] = script;
    exec->api_version = "client.authentication.k8s.io/v1";
}

// The clock would run ahead of a child that still lives.
static void wait_for_child(void)
{
    siginfo_t end;
    must(waitid(P_ALL, 0, &end, WEXITED | WNOWAIT) == 0);
}

static void calls_wait_for_a_plugin_and_go_out_together(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench, "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                       "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"tok\"}}'");
    struct api_request request = {.method = "GET", .path = "/version"};
    send_request(bench, &request);
    api_cancel(bench->api, send_request(bench, &request));
    send_request(bench, &request);
    assert_int_equal(bench->sent_count, 0);
    wait_for_child();
    run(bench, 0);
    assert_int_equal(bench->sent_count, 2);
    assert_non_null(strstr(bench->sent[1].headers, "Authorization: Bearer tok\n"));
    assert_int_equal(bench->reply_count, 0);
}

static void a_call_waits_no_longer_for_a_plugin_than_for_the_server(void **state)
{
    struct bench *bench = *state;
    have_plugin(bench, "exec sleep 1000");
    struct api_request request = {.method = "PUT", .path = "/lease", .timeout_ms = 5000};
    send_request(bench, &request);
    run(bench, 4999);
    assert_int_equal(bench->reply_count, 0);
    run(bench, 1);
    assert_int_equal(bench->reply_count, 1);
    assert_string_equal(bench->reply.error.text, "no credential within 5000 ms");
    assert_int_equal(bench->reply.error.fault, FAULT_AGAIN);
    assert_false(bench->reply.is_fate_unknown);
}

// ---- what is counted and logged -----------------------------------------------------------------

static void requests_are_counted_as_client_go_does(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER out = {0};
    struct http_reply lost = {.failure = HTTP_UNREACHABLE};
    give_token(bench, "a");
    ask(bench, "GET");
    give_token(bench, "b");
    answer(bench, 401, "");
    answer(bench, 200, "");
    ask(bench, "PATCH");
    answer_whole(bench, &lost);
    api_count_wait(bench->api, "PATCH", 1500);
    api_write_metrics(bench->api, &out);
    const char *const parts[] = {
        "rest_client_requests_total{code=\"<error>\",method=\"PATCH\",host=\"kube.example:6443\"} "
        "1\n",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"kube.example:6443\"} 1\n",
        "rest_client_requests_total{code=\"401\",method=\"GET\",host=\"kube.example:6443\"} 1\n",
        "rest_client_request_duration_seconds_count{verb=\"GET\",host=\"kube.example:6443\"} 2\n",
        "rest_client_rate_limiter_duration_seconds_sum{verb=\"PATCH\",host=\"kube.example:6443\"} "
        "1.5\n",
        "rest_client_request_retries_total{code=\"401\",verb=\"GET\",host=\"kube.example:6443\"} "
        "1\n",
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_non_null(strstr(out.at, parts[i]));
}

static void refused_writes_are_told_with_their_audit_id_every_ten_seconds(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 5; i++) {
        ask(bench, "PATCH");
        answer(bench, 422, STATUS("Invalid", "no"));
        run(bench, 3000);
    }
    assert_int_equal(count_lines(bench, "\"auditId\":\"audit-7\""), 5);
    assert_int_equal(count_lines(bench, "\"level\":\"DEBUG\",\"msg\":\"API request failed\""), 3);
}

static void what_the_server_warns_of_is_told_once(void **state)
{
    struct bench *bench = *state;
    struct http_header headers[] = {
        {"Audit-Id", "a"},
        {"warning", "299 - \"unknown field \\\"spec.x\\\"\""},
        {"Warning", "299 - \"v1alpha1 will go\""},
        {"Warning", "199 - \"other\""},
        {"Warning", "299 - \""},
    };
    struct http_reply reply = {.status = 200, .headers = headers, .header_count = 5};
    for (int i = 0; i < 2; i++) {
        ask(bench, "PATCH");
        answer_whole(bench, &reply);
    }
    assert_int_equal(count_lines(bench, "API server warns"), 2);
    assert_int_equal(count_lines(bench, "\"unknown field \\\"spec.x\\\"\""), 1);
    assert_int_equal(count_lines(bench, "\"v1alpha1 will go\""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        ROW(requests_go_behind_the_servers_prefix_with_our_headers),
        ROW(impersonation_and_tls_go_along),
        ROW(a_watch_has_a_connection_of_its_own_and_no_end),
        ROW(a_call_that_was_cancelled_is_not_answered),
        ROW(paths_and_queries_are_escaped),
        ROW(each_status_has_its_fault),
        ROW(a_failed_test_of_a_json_patch_is_a_race),
        ROW(an_object_of_another_uid_is_a_race_like_one_that_is_gone),
        ROW(a_status_tells_its_first_cause_and_when_to_retry),
        ROW(retry_after_decides_and_is_capped),
        ROW(a_403_tells_who_said_no),
        ROW(each_403_is_reported_with_its_request),
        ROW(only_a_status_says_that_an_object_is_not_there),
        ROW(what_is_no_status_comes_from_something_else),
        ROW(silence_leaves_the_fate_of_a_write_open),
        ROW(a_401_is_tried_once_more_with_a_new_token),
        ROW(a_401_with_nothing_fresher_is_told_at_once),
        ROW(a_second_401_is_not_tried_again),
        ROW(refused_credentials_back_off_to_half_a_minute_in_one_line_a_minute),
        ROW(a_watch_that_begins_to_tell_has_its_credential_taken),
        ROW(a_token_file_that_cannot_be_read_fails_later_than_the_call),
        ROW(calls_wait_for_a_plugin_and_go_out_together),
        ROW(a_call_waits_no_longer_for_a_plugin_than_for_the_server),
        ROW(requests_are_counted_as_client_go_does),
        ROW(what_the_server_warns_of_is_told_once),
        ROW(refused_writes_are_told_with_their_audit_id_every_ten_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
