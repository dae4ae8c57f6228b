#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model_api.h"
#include "model/virtual_loop.h"

// What the real server was seen to do, asked of the model.

#define GROUP "notes.example"
#define NOTES "/apis/" GROUP "/v1/namespaces/default/notes"
#define ALL_NOTES "/apis/" GROUP "/v1/notes"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define APPLY "application/apply-patch+yaml"
#define MERGE "application/merge-patch+json"
#define EDIT "application/json-patch+json"
#define STREAMING                                                                                  \
    "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static const struct field note_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
    {.path = "spec.text", .type = FIELD_TEXT, .max = 100},
    {.path = "spec.fixed", .type = FIELD_TEXT, .max = 100, .flags = FIELD_IMMUTABLE},
};
static const struct kind note_kind = {
    .group = GROUP,
    .version = "v1",
    .name = "Note",
    .plural = "notes",
    .singular = "note",
    .is_namespaced = true,
    .has_status = true,
    .fields = note_fields,
    .field_count = COUNT_OF(note_fields),
};

struct reply {
    bool is_done;
    enum http_failure failure;
    int status;
    char retry_after[16];
    char type[64];
    struct buffer body; // in pieces or whole
    struct http_call *call;
    struct http *http;
    bool cancels; // within the first piece
    size_t pieces;
};

static struct {
    struct loop *loop;
    struct model_server *server;
    struct model_api *api;
    struct arena *arena;
} bench;

static int set_up(void **state)
{
    static const struct store_kind kinds[] = {{.kind = &note_kind, .finalizer = GROUP "/done"}};
    (void)state;
    bench.loop = virtual_loop_new(1767225600000);
    bench.server = model_server_new(bench.loop, kinds, 1);
    bench.api = model_api_new(bench.server, "https://api.test", NULL);
    bench.arena = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model_api_free(bench.api);
    model_server_free(bench.server);
    loop_free(bench.loop);
    arena_free(bench.arena);
    return 0;
}

// ---- asking -------------------------------------------------------------------------------------

static void copy_header(char *out, size_t size, const struct http_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->header_count; i++)
        if (!strcmp(reply->headers[i].name, name))
            snprintf(out, size, "%s", reply->headers[i].value);
}

static void heard(void *context, const struct http_reply *reply)
{
    struct reply *out = context;
    out->is_done = true;
    out->failure = reply->failure;
    out->status = reply->status;
    buffer_add(&out->body, reply->body.at ? reply->body.at : "", reply->body.len);
    copy_header(out->retry_after, sizeof out->retry_after, reply, "Retry-After");
    copy_header(out->type, sizeof out->type, reply, "Content-Type");
}

static void piece(void *context, struct text text)
{
    struct reply *out = context;
    out->pieces += text.len > 0;
    buffer_add(&out->body, text.at, text.len);
    if (out->cancels && text.len)
        http_cancel(out->http, out->call);
}

static void send_call(struct reply *out, const char *method, const char *path, const char *type,
                      const char *body)
{
    char url[512];
    snprintf(url, sizeof url, "https://api.test%s", path);
    const struct http_header headers[] = {{"Content-Type", type ? type : "application/json"},
                                          {"Authorization", "Bearer right"}};
    out->http = model_api_http(bench.api);
    out->call = http_send(out->http,
                          &(struct http_request){.method = method,
                                                 .url = url,
                                                 .headers = headers,
                                                 .header_count = COUNT_OF(headers),
                                                 .body = body ? text_of(body) : (struct text){0},
                                                 .timeout_ms = strstr(path, "watch=1") ? 0 : MINUTE,
                                                 .piece = piece},
                          heard, out);
}

static void pass(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

static void reply_done(struct reply *reply)
{
    buffer_done(&reply->body);
}
#define AUTO_REPLY __attribute__((cleanup(reply_done))) struct reply

static const char *body_of(const struct reply *reply)
{
    return reply->body.at ? reply->body.at : "";
}

static const struct value *tree_of(const struct reply *reply)
{
    const char *copy = arena_copy_text(bench.arena, body_of(reply));
    const struct value *tree =
        value_read_json(bench.arena, text_of(copy), &value_manifest_limits, NULL);
    assert_non_null(tree);
    return tree;
}

// The status; the body's tree goes to *tree unless that is NULL.
static int ask(const char *method, const char *path, const char *type, const char *body,
               const struct value **tree)
{
    AUTO_REPLY reply = {0};
    send_call(&reply, method, path, type, body);
    assert_false(reply.is_done);
    pass(5 * SECOND);
    assert_true(reply.is_done);
    if (tree)
        *tree = tree_of(&reply);
    return reply.failure == HTTP_OK ? reply.status : -1;
}

static const char *text_at(const struct value *tree, const char *path)
{
    struct text text = value_text(value_at(tree, path, NULL));
    return text.at ? arena_copy(bench.arena, text.at, text.len) : "";
}

static void assert_refused(const char *method, const char *path, const char *type, const char *body,
                           int status, const char *reason, const char *message)
{
    const struct value *tree;
    assert_int_equal(ask(method, path, type, body, &tree), status);
    assert_string_equal(text_at(tree, "kind"), "Status");
    assert_string_equal(text_at(tree, "reason"), reason);
    assert_int_equal(value_int_at(tree, "code", 0), status);
    if (!strstr(text_at(tree, "message"), message))
        fail_msg("\"%s\" does not say \"%s\"", text_at(tree, "message"), message);
}

static const struct value *post(const char *name)
{
    const struct value *tree;
    const char *body = arena_printf(bench.arena,
                                    "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Note\","
                                    "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"text\":\"x\"}}",
                                    name);
    assert_int_equal(ask("POST", NOTES, NULL, body, &tree), 201);
    return tree;
}

static const char *version_of(const struct value *tree)
{
    return text_at(tree, "metadata.resourceVersion");
}

static const struct value *get(const char *name)
{
    const struct value *tree;
    assert_int_equal(ask("GET", arena_printf(bench.arena, NOTES "/%s", name), NULL, NULL, &tree),
                     200);
    return tree;
}

static const char *merged(const char *version, const char *rest)
{
    return arena_printf(bench.arena, "{\"metadata\":{\"resourceVersion\":\"%s\"}%s}", version,
                        rest);
}

static void change(const char *name, const char *text)
{
    const char *path = arena_printf(bench.arena, NOTES "/%s", name);
    const char *body = arena_printf(bench.arena, "{\"spec\":{\"text\":\"%s\"}}", text);
    assert_int_equal(ask("PATCH", path, MERGE, body, NULL), 200);
}

// "ADDED a, BOOKMARK!, MODIFIED b" of a stream.
static const char *reported(const struct reply *reply)
{
    AUTO_BUFFER out = {0};
    struct text line;
    struct text rest = text_of(arena_copy_text(bench.arena, body_of(reply)));
    while (text_cut(&rest, '\n', &line)) {
        const struct value *event =
            line.len > 1 ? value_read_json(bench.arena, line, &value_manifest_limits, NULL) : NULL;
        if (!event)
            continue;
        bool is_end =
            value_at(event, "object.metadata.annotations[k8s.io/initial-events-end]", NULL) != NULL;
        const char *name = text_at(event, "object.metadata.name");
        buffer_printf(&out, "%s%s%s%s%s", out.len ? ", " : "", text_at(event, "type"),
                      *name ? " " : "", name, is_end ? "!" : "");
    }
    return arena_copy_text(bench.arena, buffer_text(&out).at);
}

// ---- one object ---------------------------------------------------------------------------------

static void an_object_is_created_read_and_not_created_twice(void **state)
{
    (void)state;
    const struct value *made = post("a");
    assert_int_equal(value_int_at(made, "metadata.generation", 0), 1);
    assert_string_equal(version_of(get("a")), version_of(made));
    assert_refused("POST", NOTES, NULL, "{\"metadata\":{\"name\":\"a\"}}", 409, "AlreadyExists",
                   "notes." GROUP " \"a\" already exists");
    assert_refused("GET", NOTES "/b", NULL, NULL, 404, "NotFound",
                   "notes." GROUP " \"b\" not found");
    assert_refused("POST", NOTES, NULL, "{", 400, "BadRequest", "unrecognized");
    assert_refused("PATCH", NOTES "/a", "application/strategic-merge-patch+json", "{}", 415,
                   "UnsupportedMediaType", "accepted media types");
}

static void the_main_endpoint_ignores_status_and_the_other_way_round(void **state)
{
    (void)state;
    const struct value *tree;
    post("a");
    const char *both = "{\"spec\":{\"text\":\"y\"},\"status\":{\"n\":1}}";
    assert_int_equal(ask("PATCH", NOTES "/a", MERGE, both, &tree), 200);
    assert_string_equal(text_at(tree, "spec.text"), "y");
    assert_null(value_find(tree, "status"));
    assert_int_equal(value_int_at(tree, "metadata.generation", 0), 2);
    both = "{\"spec\":{\"text\":\"z\"},\"status\":{\"n\":1}}";
    assert_int_equal(ask("PATCH", NOTES "/a/status", MERGE, both, &tree), 200);
    assert_string_equal(text_at(tree, "spec.text"), "y");
    assert_int_equal(value_int_at(value_find(tree, "status"), "n", 0), 1);
    assert_int_equal(value_int_at(tree, "metadata.generation", 0), 2);
}

static void a_stale_version_conflicts_and_a_change_of_nothing_keeps_the_version(void **state)
{
    (void)state;
    const struct value *tree;
    const char *old = version_of(post("a"));
    change("a", "y");
    assert_refused("PATCH", NOTES "/a/status", MERGE, merged(old, ",\"status\":{\"n\":1}"), 409,
                   "Conflict", "the object has been modified; please apply your changes");
    const char *now = version_of(get("a"));
    assert_int_equal(ask("PATCH", NOTES "/a", MERGE, merged(now, ""), &tree), 200);
    assert_string_equal(version_of(tree), now);
}

static void the_schema_refuses_what_does_not_fit(void **state)
{
    (void)state;
    post("a");
    assert_refused("PATCH", NOTES "/a", MERGE, "{\"spec\":{\"text\":5}}", 422, "Invalid",
                   "Note." GROUP " \"a\" is invalid: spec.text");
    assert_int_equal(ask("PATCH", NOTES "/a", MERGE, "{\"spec\":{\"fixed\":\"1\"}}", NULL), 422);
}

static void a_failed_test_of_a_json_patch_is_422_without_details(void **state)
{
    (void)state;
    const struct value *tree;
    post("a");
    const char *wrong = "[{\"op\":\"test\",\"path\":\"/spec/text\",\"value\":\"y\"},"
                        "{\"op\":\"replace\",\"path\":\"/spec/text\",\"value\":\"z\"}]";
    assert_refused("PATCH", NOTES "/a", EDIT, wrong, 422, "Invalid", "rejected our request");
    const char *right = "[{\"op\":\"test\",\"path\":\"/spec/text\",\"value\":\"x\"},"
                        "{\"op\":\"replace\",\"path\":\"/spec/text\",\"value\":\"z\"},"
                        "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}},"
                        "{\"op\":\"add\",\"path\":\"/metadata/annotations/a~1b\",\"value\":\"1\"}]";
    assert_int_equal(ask("PATCH", NOTES "/a", EDIT, right, &tree), 200);
    assert_string_equal(text_at(tree, "spec.text"), "z");
    assert_string_equal(text_at(tree, "metadata.annotations[a/b]"), "1");
}

static const char *lease_body(const char *version, const char *when)
{
    return arena_printf(bench.arena,
                        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                        "\"metadata\":{\"name\":\"l\"%s},\"spec\":{\"renewTime\":\"%s\"}}",
                        version, when);
}

static void an_update_wants_the_version(void **state)
{
    (void)state;
    const struct value *tree;
    const char *time = "2026-01-02T03:04:07.250000Z";
    const char *plain = "2026-01-02T03:04:07Z";
    assert_refused("POST", LEASES, NULL, lease_body("", plain), 422, "Invalid", "MicroTime");
    assert_int_equal(ask("POST", LEASES, NULL, lease_body("", time), &tree), 201);
    assert_refused("PUT", LEASES "/l", NULL, lease_body("", time), 422, "Invalid",
                   "must be specified for an update");
    const char *version =
        arena_printf(bench.arena, ",\"resourceVersion\":\"%s\"", version_of(tree));
    const char *later = "2026-01-02T03:04:09.250000Z";
    assert_int_equal(ask("PUT", LEASES "/l", NULL, lease_body(version, later), NULL), 200);
    assert_refused("PUT", LEASES "/l", NULL, lease_body(version, later), 409, "Conflict",
                   "the object has been modified");
}

// ---- apply --------------------------------------------------------------------------------------

static const char *applied(const char *uid, const char *rest)
{
    return arena_printf(bench.arena,
                        "{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Note\",\"metadata\":{"
                        "\"name\":\"a\"%s%s%s%s}}",
                        *uid ? ",\"uid\":\"" : "", uid, *uid ? "\"" : "", rest);
}

static void apply_is_guarded_by_the_uid(void **state)
{
    (void)state;
    const char *path = NOTES "/a?fieldManager=me&force=true";
    const char *other = "00000000-0000-4000-8000-00000000ffff";
    assert_refused("PATCH", path, APPLY, applied(other, ""), 409, "Conflict", "uid mismatch");
    const char *uid = text_at(post("a"), "metadata.uid");
    assert_refused("PATCH", path, APPLY, applied(other, ""), 422, "Invalid",
                   "metadata.uid: Invalid value");
    assert_int_equal(ask("PATCH", path, APPLY, applied(uid, ""), NULL), 200);
    assert_refused("PATCH", NOTES "/a", APPLY, applied(uid, ""), 422, "Invalid",
                   "fieldManager: Required value");
    assert_int_equal(ask("PATCH", NOTES "/b?fieldManager=me", APPLY, applied("", ""), NULL), 201);
}

static void what_a_later_apply_leaves_out_goes_unless_another_holds_it(void **state)
{
    (void)state;
    const struct value *tree;
    const char *path = NOTES "/a?fieldManager=me&force=true";
    post("a");
    assert_int_equal(ask("PATCH", NOTES "/a?fieldManager=old", MERGE,
                         "{\"metadata\":{\"finalizers\":[\"x/old\"]}}", NULL),
                     200);
    const char *both = ",\"finalizers\":[\"x/old\",\"x/new\"],\"annotations\":{\"k\":\"1\"}";
    assert_int_equal(ask("PATCH", path, APPLY, applied("", both), &tree), 200);
    assert_string_equal(text_at(tree, "metadata.finalizers[1]"), "x/new");
    assert_string_equal(text_at(tree, "metadata.annotations.k"), "1");
    assert_int_equal(ask("PATCH", path, APPLY, applied("", ""), &tree), 200);
    assert_int_equal(value_count(value_at(tree, "metadata.finalizers", NULL)), 1);
    assert_string_equal(text_at(tree, "metadata.finalizers[0]"), "x/old");
    assert_string_equal(text_at(tree, "metadata.annotations.k"), "");
}

static void another_managers_value_is_a_conflict_without_force(void **state)
{
    (void)state;
    const struct value *tree;
    const char *one = ",\"annotations\":{\"k\":\"1\"}";
    const char *two = ",\"annotations\":{\"k\":\"2\"}";
    post("a");
    assert_int_equal(ask("PATCH", NOTES "/a?fieldManager=you", APPLY, applied("", one), NULL), 200);
    assert_int_equal(ask("PATCH", NOTES "/a?fieldManager=me", APPLY, applied("", two), &tree), 409);
    assert_string_equal(text_at(tree, "details.causes[0].reason"), "FieldManagerConflict");
    assert_int_equal(
        ask("PATCH", NOTES "/a?fieldManager=me&force=true", APPLY, applied("", two), NULL), 200);
    assert_int_equal(ask("PATCH", NOTES "/a?fieldManager=you", APPLY, applied("", ""), &tree), 200);
    assert_string_equal(text_at(tree, "metadata.annotations.k"), "2");
}

// ---- deletion -----------------------------------------------------------------------------------

static void a_finalizer_holds_a_deletion(void **state)
{
    (void)state;
    const struct value *tree;
    post("a");
    assert_int_equal(
        ask("PATCH", NOTES "/a", MERGE, "{\"metadata\":{\"finalizers\":[\"x/y\"]}}", NULL), 200);
    assert_int_equal(ask("DELETE", NOTES "/a", NULL, NULL, &tree), 200);
    assert_string_not_equal(text_at(tree, "metadata.deletionTimestamp"), "");
    assert_int_equal(value_int_at(tree, "metadata.generation", 0), 2);
    assert_refused("PATCH", NOTES "/a?fieldManager=me", APPLY,
                   applied("", ",\"finalizers\":[\"x/z\"]"), 422, "Invalid",
                   "no new finalizers can be added if the object is being deleted");
    const char *none = merged(version_of(get("a")), "");
    none = arena_printf(bench.arena, "%.*s,\"finalizers\":[]}}", (int)strlen(none) - 2, none);
    assert_int_equal(ask("PATCH", NOTES "/a", MERGE, none, NULL), 200);
    assert_int_equal(ask("GET", NOTES "/a", NULL, NULL, NULL), 404);
}

static void a_deletion_has_preconditions(void **state)
{
    (void)state;
    const struct value *tree;
    const char *uid = text_at(post("a"), "metadata.uid");
    assert_refused("DELETE", NOTES "/a", NULL, "{\"preconditions\":{\"uid\":\"1\"}}", 409,
                   "Conflict", "Precondition failed: UID");
    const char *body = arena_printf(bench.arena, "{\"preconditions\":{\"uid\":\"%s\"}}", uid);
    assert_int_equal(ask("DELETE", NOTES "/a", NULL, body, &tree), 200);
    assert_string_equal(text_at(tree, "status"), "Success");
    assert_string_equal(text_at(tree, "details.uid"), uid);
}

static void what_is_tried_is_not_done(void **state)
{
    (void)state;
    const struct value *tree;
    post("a");
    assert_int_equal(
        ask("PATCH", NOTES "/a?dryRun=All", MERGE, "{\"spec\":{\"text\":\"y\"}}", &tree), 200);
    assert_string_equal(text_at(tree, "spec.text"), "y");
    assert_string_equal(text_at(get("a"), "spec.text"), "x");
    assert_int_equal(ask("DELETE", NOTES "/a?dryRun=All", NULL, NULL, NULL), 200);
    get("a");
}

// ---- lists --------------------------------------------------------------------------------------

static const char *names_of(const struct value *list)
{
    AUTO_BUFFER out = {0};
    value_each (item, value_find(list, "items"))
        buffer_printf(&out, "%s%s", out.len ? " " : "", text_at(item, "metadata.name"));
    return arena_copy_text(bench.arena, buffer_text(&out).at);
}

static void post_five(void)
{
    static const char *const names[] = {"d", "b", "e", "a", "c"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        post(names[i]);
}

static void pages_show_what_stood_at_the_first(void **state)
{
    (void)state;
    const struct value *tree;
    post_five();
    assert_int_equal(ask("GET", ALL_NOTES "?limit=2", NULL, NULL, &tree), 200);
    assert_string_equal(text_at(tree, "kind"), "NoteList");
    assert_string_equal(names_of(tree), "a b");
    assert_int_equal(value_int_at(tree, "metadata.remainingItemCount", 0), 3);
    const char *version = version_of(tree);
    const char *next = text_at(tree, "metadata.continue");
    post("cc");
    change("d", "y");
    assert_int_equal(ask("DELETE", NOTES "/e", NULL, NULL, NULL), 200);
    const char *path = arena_printf(bench.arena, ALL_NOTES "?limit=9&continue=%s", next);
    assert_int_equal(ask("GET", path, NULL, NULL, &tree), 200);
    assert_string_equal(names_of(tree), "c d e");
    assert_string_equal(text_at(tree, "items[1].spec.text"), "x");
    assert_string_equal(version_of(tree), version);
    assert_string_equal(text_at(tree, "metadata.continue"), "");
    path = arena_printf(bench.arena, "%s&resourceVersion=%s", path, version);
    assert_refused("GET", path, NULL, NULL, 400, "BadRequest", "not allowed when using continue");
    assert_refused("GET", ALL_NOTES "?continue=?", NULL, NULL, 400, "BadRequest", "not valid");
}

static void a_page_that_is_too_old_is_gone(void **state)
{
    (void)state;
    const struct value *tree;
    model_server_set_window(bench.server, 2);
    post_five();
    assert_int_equal(ask("GET", ALL_NOTES "?limit=2", NULL, NULL, &tree), 200);
    const char *path =
        arena_printf(bench.arena, ALL_NOTES "?continue=%s", text_at(tree, "metadata.continue"));
    for (int i = 0; i < 6; i++)
        change("a", arena_printf(bench.arena, "%d", i));
    assert_refused("GET", path, NULL, NULL, 410, "Expired", "continue parameter is too old");
    assert_refused("GET", ALL_NOTES "?resourceVersion=1&resourceVersionMatch=Exact", NULL, NULL,
                   410, "Expired", "The resourceVersion for the provided list is too old.");
    assert_int_equal(ask("GET", ALL_NOTES "?resourceVersion=1", NULL, NULL, NULL), 200);
}

static void the_limit_counts_for_nothing_at_version_0(void **state)
{
    (void)state;
    const struct value *tree;
    post_five();
    assert_int_equal(ask("GET", ALL_NOTES "?limit=2&resourceVersion=0", NULL, NULL, &tree), 200);
    assert_string_equal(names_of(tree), "a b c d e");
    assert_int_equal(ask("GET", ALL_NOTES "?fieldSelector=metadata.name%3Dc", NULL, NULL, &tree),
                     200);
    assert_string_equal(names_of(tree), "c");
}

static void a_version_that_is_yet_to_come_times_out(void **state)
{
    (void)state;
    const struct value *tree;
    int64_t asked_ms = loop_mono_ms(bench.loop);
    AUTO_REPLY reply = {0};
    send_call(&reply, "GET", ALL_NOTES "?resourceVersion=900", NULL, NULL);
    pass(3 * SECOND - 1);
    assert_false(reply.is_done);
    pass(1);
    assert_int_equal(reply.status, 504);
    assert_int_equal(loop_mono_ms(bench.loop), asked_ms + 3 * SECOND);
    tree = tree_of(&reply);
    assert_string_equal(text_at(tree, "reason"), "Timeout");
    assert_string_equal(text_at(tree, "details.causes[0].reason"), "ResourceVersionTooLarge");
    assert_int_equal(value_int_at(tree, "details.retryAfterSeconds", 0), 1);
}

// ---- watches ------------------------------------------------------------------------------------

static void a_streaming_list_is_all_the_end_mark_and_what_follows(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    post_five();
    send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
    pass(SECOND);
    assert_string_equal(reported(&stream),
                        "ADDED a, ADDED b, ADDED c, ADDED d, ADDED e, BOOKMARK!");
    change("c", "y");
    assert_int_equal(ask("DELETE", NOTES "/a", NULL, NULL, NULL), 200);
    assert_non_null(strstr(reported(&stream), "BOOKMARK!, MODIFIED c, DELETED a"));
    assert_false(stream.is_done);
}

static void a_streaming_list_has_conditions(void **state)
{
    (void)state;
    AUTO_REPLY plain = {0};
    const char *without = ALL_NOTES "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true";
    assert_refused("GET", without, NULL, NULL, 422, "Invalid",
                   "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    model_api_set_streaming(bench.api, false);
    assert_refused("GET", ALL_NOTES STREAMING, NULL, NULL, 422, "Invalid",
                   "sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
                   "enabled");
    model_api_set_streaming(bench.api, true);
    post("a");
    send_call(&plain, "GET",
              ALL_NOTES "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", NULL,
              NULL);
    pass(SECOND);
    assert_string_equal(reported(&plain), "ADDED a");
}

static void a_watch_tells_what_came_since_its_version(void **state)
{
    (void)state;
    AUTO_REPLY all = {0};
    AUTO_REPLY one = {0};
    AUTO_REPLY old = {0};
    model_server_set_window(bench.server, 3);
    const char *version = version_of(post("a"));
    post("b");
    change("a", "y");
    send_call(&all, "GET",
              arena_printf(bench.arena, ALL_NOTES "?watch=1&resourceVersion=%s", version), NULL,
              NULL);
    send_call(&one, "GET",
              arena_printf(bench.arena,
                           NOTES "?watch=1&resourceVersion=%s&fieldSelector=metadata.name=b",
                           version),
              NULL, NULL);
    pass(SECOND);
    assert_string_equal(reported(&all), "ADDED b, MODIFIED a");
    assert_string_equal(reported(&one), "ADDED b");
    for (int i = 0; i < 9; i++)
        change("a", arena_printf(bench.arena, "%d", i));
    send_call(&old, "GET", ALL_NOTES "?watch=1&resourceVersion=1", NULL, NULL);
    pass(SECOND);
    assert_int_equal(old.status, 200);
    assert_string_equal(reported(&old), "ERROR");
    assert_non_null(strstr(body_of(&old), "\"reason\":\"Expired\",\"code\":410"));
    assert_true(old.is_done);
}

static void bookmarks_come_each_minute_and_before_the_clean_end(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    const char *version = version_of(post("a"));
    send_call(&stream, "GET",
              arena_printf(bench.arena,
                           ALL_NOTES "?watch=1&allowWatchBookmarks=true&timeoutSeconds=150&"
                                     "resourceVersion=%s",
                           version),
              NULL, NULL);
    pass(MINUTE - 1);
    assert_string_equal(reported(&stream), "");
    assert_int_equal(ask("POST", LEASES, NULL, "{\"metadata\":{\"name\":\"l\"}}", NULL), 201);
    pass(MINUTE);
    assert_string_equal(reported(&stream), "BOOKMARK, BOOKMARK");
    assert_non_null(strstr(body_of(&stream), "\"resourceVersion\":\"2\""));
    pass(MINUTE);
    assert_string_equal(reported(&stream), "BOOKMARK, BOOKMARK, BOOKMARK");
    assert_true(stream.is_done);
    assert_int_equal(stream.failure, HTTP_OK);
}

static void pieces_put_together_are_the_whole(void **state)
{
    (void)state;
    AUTO_REPLY whole = {0};
    AUTO_REPLY cut = {0};
    post_five();
    send_call(&whole, "GET", ALL_NOTES STREAMING, NULL, NULL);
    pass(SECOND);
    model_api_set_pieces(bench.api, 7, 3);
    send_call(&cut, "GET", ALL_NOTES STREAMING, NULL, NULL);
    pass(SECOND);
    assert_string_equal(body_of(&whole), body_of(&cut));
    assert_int_equal(whole.pieces, 1);
    assert_true(cut.pieces > 100);
}

static void a_call_may_be_cancelled_within_a_piece(void **state)
{
    (void)state;
    AUTO_REPLY stream = {.cancels = true};
    post_five();
    model_api_set_pieces(bench.api, 7, 3);
    send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
    pass(SECOND);
    assert_int_equal(stream.pieces, 1);
    assert_int_equal(model_api_stream_count(bench.api, NULL), 0);
    assert_false(stream.is_done);
}

static void an_event_comes_before_or_after_the_reply(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    AUTO_REPLY reply = {0};
    post("a");
    send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
    model_server_set_delays(bench.server, 5, 1);
    send_call(&reply, "PATCH", NOTES "/a", MERGE, "{\"spec\":{\"text\":\"y\"}}");
    pass(2);
    assert_false(reply.is_done);
    assert_string_equal(reported(&stream), "ADDED a, BOOKMARK!, MODIFIED a");
    model_server_set_delays(bench.server, 1, 5);
    pass(3);
    assert_true(reply.is_done);
    AUTO_REPLY second = {0};
    send_call(&second, "PATCH", NOTES "/a", MERGE, "{\"spec\":{\"text\":\"z\"}}");
    pass(2);
    assert_true(second.is_done);
    assert_string_equal(reported(&stream), "ADDED a, BOOKMARK!, MODIFIED a");
    pass(3);
    assert_string_equal(reported(&stream), "ADDED a, BOOKMARK!, MODIFIED a, MODIFIED a");
}

// ---- faults -------------------------------------------------------------------------------------

static void a_busy_server_answers_in_plain_text(void **state)
{
    (void)state;
    AUTO_REPLY reply = {0};
    model_server_fault(bench.server, MODEL_GET, 0, MODEL_LIMIT);
    send_call(&reply, "GET", NOTES "/a", NULL, NULL);
    pass(SECOND);
    assert_int_equal(reply.status, 429);
    assert_string_equal(reply.type, "text/plain; charset=utf-8");
    assert_string_equal(reply.retry_after, "2");
    assert_int_equal(ask("GET", NOTES "/a", NULL, NULL, NULL), 404);
}

static void a_lost_reply_was_done_and_a_failed_call_was_not(void **state)
{
    (void)state;
    post("a");
    model_server_fault(bench.server, MODEL_APPLY, 0, MODEL_LOSES);
    assert_int_equal(ask("PATCH", NOTES "/a?fieldManager=me", APPLY,
                         applied("", ",\"annotations\":{\"k\":\"1\"}"), NULL),
                     -1);
    assert_string_equal(text_at(get("a"), "metadata.annotations.k"), "1");
    model_server_fault(bench.server, MODEL_PATCH_STATUS, 0, MODEL_FAILS);
    assert_int_equal(ask("PATCH", NOTES "/a/status", MERGE, "{\"status\":{\"n\":1}}", NULL), 500);
    assert_null(value_find(get("a"), "status"));
    model_server_fault(bench.server, MODEL_WATCH, 0, MODEL_EXPIRED);
    AUTO_REPLY stream = {0};
    send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
    pass(SECOND);
    assert_string_equal(reported(&stream), "ERROR");
    model_server_fault(bench.server, MODEL_LIST, 0, MODEL_EXPIRED);
    assert_int_equal(ask("GET", ALL_NOTES, NULL, NULL, NULL), 410);
}

static void a_death_stops_the_loop_and_nothing_is_heard(void **state)
{
    (void)state;
    AUTO_REPLY reply = {0};
    post("a");
    model_server_fault(bench.server, MODEL_ANY_WRITE, 0, MODEL_MISSING);
    send_call(&reply, "PATCH", NOTES "/a", MERGE, "{\"spec\":{\"text\":\"y\"}}");
    assert_true(virtual_loop_is_stopped(bench.loop));
    pass(SECOND);
    assert_false(reply.is_done);
    assert_string_equal(text_at(get("a"), "spec.text"), "y");
    http_cancel(reply.http, reply.call);
}

static const char *review_body(const char *verb)
{
    return arena_printf(bench.arena,
                        "{\"spec\":{\"resourceAttributes\":{\"verb\":\"%s\",\"resource\":\"notes\","
                        "\"subresource\":\"status\"}}}",
                        verb);
}

static void who_is_not_known_or_not_allowed_is_refused(void **state)
{
    (void)state;
    const struct value *tree;
    post("a");
    model_api_set_token(bench.api, "other");
    assert_refused("GET", NOTES "/a", NULL, NULL, 401, "Unauthorized", "Unauthorized");
    model_api_set_token(bench.api, "right");
    model_api_deny(bench.api, "patch", "notes/status");
    assert_refused("PATCH", NOTES "/a/status", MERGE, "{}", 403, "Forbidden",
                   "cannot patch resource \"notes/status\" in API group \"" GROUP "\"");
    assert_int_equal(ask("PATCH", NOTES "/a", MERGE, "{}", NULL), 200);
    const char *path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_int_equal(ask("POST", path, NULL, review_body("patch"), &tree), 201);
    assert_false(value_bool_at(tree, "status.allowed", true));
    assert_int_equal(ask("POST", path, NULL, review_body("get"), &tree), 201);
    assert_true(value_bool_at(tree, "status.allowed", false));
}

static void a_restart_ends_watches_and_forgets_versions(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    AUTO_REPLY old = {0};
    const char *version = version_of(post("a"));
    const char *path = arena_printf(bench.arena, ALL_NOTES "?watch=1&resourceVersion=%s", version);
    send_call(&stream, "GET", path, NULL, NULL);
    pass(SECOND);
    model_api_restart(bench.api);
    pass(SECOND);
    assert_int_equal(stream.failure, HTTP_UNREACHABLE);
    AUTO_REPLY first = {0};
    send_call(&first, "GET", path, NULL, NULL);
    pass(SECOND);
    assert_int_equal(first.status, 429);
    assert_string_equal(first.retry_after, "1");
    assert_string_equal(text_at(tree_of(&first), "message"), "storage is (re)initializing");
    send_call(&old, "GET", path, NULL, NULL);
    pass(SECOND);
    assert_string_equal(reported(&old), "ERROR");
}

static void a_watch_beyond_the_servers_version_is_silent(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    post_five();
    int64_t version = value_int_at(get("c"), "metadata.generation", 0) + 900;
    model_api_rewind(bench.api, 5);
    pass(SECOND);
    AUTO_REPLY first = {0};
    send_call(&first, "GET", ALL_NOTES "?watch=1", NULL, NULL);
    pass(SECOND);
    send_call(
        &stream, "GET",
        arena_printf(bench.arena, ALL_NOTES "?watch=1&resourceVersion=%lld", (long long)version),
        NULL, NULL);
    change("a", "y");
    pass(SECOND);
    assert_string_equal(reported(&stream), "");
    assert_int_equal(ask("GET", ALL_NOTES "?resourceVersion=900", NULL, NULL, NULL), 504);
}

static void a_stream_meets_what_a_network_does(void **state)
{
    (void)state;
    static const struct {
        enum model_stream_fault fault;
        bool is_done; // at once
        enum http_failure failure;
    } rows[] = {{STREAM_ENDS, true, HTTP_OK},
                {STREAM_BREAKS, true, HTTP_UNREACHABLE},
                {STREAM_TORN, true, HTTP_UNREACHABLE},
                {STREAM_FREEZES, false, HTTP_OK},
                {STREAM_DIES, false, HTTP_OK}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_REPLY stream = {0};
        send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
        pass(SECOND);
        model_api_meet(bench.api, "notes", rows[i].fault);
        pass(SECOND);
        assert_int_equal(stream.is_done, rows[i].is_done);
        assert_int_equal(stream.failure, rows[i].failure);
        size_t octets = stream.body.len;
        pass(5 * MINUTE);
        if (!rows[i].is_done)
            assert_int_equal(stream.body.len, octets);
        assert_int_equal(stream.is_done, rows[i].is_done || rows[i].fault == STREAM_DIES);
        if (!stream.is_done)
            http_cancel(stream.http, stream.call);
    }
}

static void an_event_may_come_twice_and_an_error_within(void **state)
{
    (void)state;
    AUTO_REPLY stream = {0};
    send_call(&stream, "GET", ALL_NOTES STREAMING, NULL, NULL);
    post("a");
    model_api_meet(bench.api, NULL, STREAM_REPEATS);
    pass(SECOND);
    assert_string_equal(reported(&stream), "BOOKMARK!, ADDED a, ADDED a");
    model_api_meet(bench.api, NULL, STREAM_FAILS);
    pass(SECOND);
    assert_string_equal(reported(&stream), "BOOKMARK!, ADDED a, ADDED a, ERROR");
    assert_true(stream.is_done);
}

static void a_kind_that_is_not_installed_has_no_page(void **state)
{
    (void)state;
    AUTO_REPLY reply = {0};
    const struct value *tree;
    model_api_set_installed(bench.api, "notes", false);
    send_call(&reply, "GET", ALL_NOTES, NULL, NULL);
    pass(SECOND);
    assert_int_equal(reply.status, 404);
    assert_string_equal(body_of(&reply), "404 page not found\n");
    model_api_set_installed(bench.api, "notes", true);
    assert_int_equal(ask("GET", "/apis/" GROUP "/v1", NULL, NULL, &tree), 200);
    assert_string_equal(text_at(tree, "resources[0].name"), "notes");
}

static void a_server_that_is_down_takes_no_call(void **state)
{
    (void)state;
    model_api_set_down(bench.api, true);
    assert_int_equal(ask("GET", ALL_NOTES, NULL, NULL, NULL), -1);
    model_api_set_down(bench.api, false);
    assert_int_equal(ask("GET", ALL_NOTES, NULL, NULL, NULL), 200);
    assert_int_equal(model_api_calls(bench.api, "list", "notes"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_created_read_and_not_created_twice),
        TEST(the_main_endpoint_ignores_status_and_the_other_way_round),
        TEST(a_stale_version_conflicts_and_a_change_of_nothing_keeps_the_version),
        TEST(the_schema_refuses_what_does_not_fit),
        TEST(a_failed_test_of_a_json_patch_is_422_without_details),
        TEST(an_update_wants_the_version),
        TEST(apply_is_guarded_by_the_uid),
        TEST(what_a_later_apply_leaves_out_goes_unless_another_holds_it),
        TEST(another_managers_value_is_a_conflict_without_force),
        TEST(a_finalizer_holds_a_deletion),
        TEST(a_deletion_has_preconditions),
        TEST(what_is_tried_is_not_done),
        TEST(pages_show_what_stood_at_the_first),
        TEST(a_page_that_is_too_old_is_gone),
        TEST(the_limit_counts_for_nothing_at_version_0),
        TEST(a_version_that_is_yet_to_come_times_out),
        TEST(a_streaming_list_is_all_the_end_mark_and_what_follows),
        TEST(a_streaming_list_has_conditions),
        TEST(a_watch_tells_what_came_since_its_version),
        TEST(bookmarks_come_each_minute_and_before_the_clean_end),
        TEST(pieces_put_together_are_the_whole),
        TEST(a_call_may_be_cancelled_within_a_piece),
        TEST(an_event_comes_before_or_after_the_reply),
        TEST(a_busy_server_answers_in_plain_text),
        TEST(a_lost_reply_was_done_and_a_failed_call_was_not),
        TEST(a_death_stops_the_loop_and_nothing_is_heard),
        TEST(who_is_not_known_or_not_allowed_is_refused),
        TEST(a_restart_ends_watches_and_forgets_versions),
        TEST(a_watch_beyond_the_servers_version_is_silent),
        TEST(a_stream_meets_what_a_network_does),
        TEST(an_event_may_come_twice_and_an_error_within),
        TEST(a_kind_that_is_not_installed_has_no_page),
        TEST(a_server_that_is_down_takes_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
