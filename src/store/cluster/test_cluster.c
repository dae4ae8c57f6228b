#include "store/cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/must.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "store/cache.h"

// The store as a whole, on an API server that is made up but for its manners.

#define GROUP "test.example.org"
#define FINALIZER GROUP "/cleanup"
#define NOTES "notes"

enum { SECOND = 1000, MINUTE = 60 * SECOND, REPLIES_MAX = 6000 };

// ---- kinds --------------------------------------------------------------------------------------

static void pack_data(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.text"));
    pack_text(out, value_text_at(object, "data.key"));
}

static const struct field note_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
    {.path = "spec.text", .type = FIELD_TEXT, .max = 100},
};
static const struct kind note_kind = {
    .group = GROUP,
    .version = "v1",
    .name = "Note",
    .plural = NOTES,
    .singular = "note",
    .is_namespaced = true,
    .has_status = true,
    .condition_types = (const char *const[]){"Ready", NULL},
    .fields = note_fields,
    .field_count = COUNT_OF(note_fields),
    .pack_spec = pack_data,
};

static const struct kind plan_kind = {
    .group = GROUP,
    .version = "v1",
    .name = "Plan",
    .plural = "plans",
    .singular = "plan",
    .is_namespaced = true,
    .has_status = true,
    .is_status_ahead = true,
    .fields = note_fields,
    .field_count = COUNT_OF(note_fields),
    .pack_spec = pack_data,
};

static const struct field key_fields[] = {
    {.path = "data", .type = FIELD_TEXT_MAP, .flags = FIELD_SECRET},
};
static const struct kind key_kind = {
    .group = GROUP,
    .version = "v1",
    .name = "Key",
    .plural = "keys",
    .singular = "key",
    .is_namespaced = true,
    .is_secret = true,
    .fields = key_fields,
    .field_count = COUNT_OF(key_fields),
    .pack_spec = pack_data,
};

static const struct store_kind kinds[] = {
    {.kind = &note_kind, .finalizer = FINALIZER, .is_required = true},
    {.kind = &plan_kind, .is_required = true},
    {.kind = &key_kind, .is_by_name = true, .is_required = true},
};

static const struct kube_right rights[] = {
    {.group = GROUP,
     .resource = NOTES,
     .verbs = (const char *const[]){"list", "watch", "patch", NULL},
     .scope = RIGHT_OBJECTS,
     .why = "Notes."},
    {0},
};

// ---- bench --------------------------------------------------------------------------------------

struct bench {
    struct loop *loop;
    struct world world;
    struct model_server *server;
    struct model_api *api;
    struct store *store;
    struct arena *arena;
    struct buffer reported; // what the sink heard, in order
    struct buffer replies;  // the same of writes
    unsigned in_flight;     // as the store is opened with
    const char *const *namespaces;
    const char *labels; // selector of Notes; NULL: none
};

static void on_event(void *context, const struct store_event *event)
{
    static const char signs[] = {'+', '~', '-'};
    struct bench *bench = context;
    buffer_printf(&bench->reported, "%c%.*s%s ", signs[event->type],
                  TEXT_ARGS(object_name(event->object)), event->object->is_lost ? "(lost)" : "");
}

static void on_batch_end(void *context)
{
    (void)context;
}

static void on_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    struct bench *bench = context;
    (void)why;
    assert_true(is_synced);
    buffer_printf(&bench->reported, "synced:%s ", kind->plural);
}

static void on_known(void *context, const struct object_ref_key *key)
{
    struct bench *bench = context;
    buffer_printf(&bench->reported, "known:%.*s ", TEXT_ARGS(key->name));
}

static void on_leading(void *context, bool is_leading)
{
    struct bench *bench = context;
    buffer_add_text(&bench->reported, is_leading ? "leading " : "standby ");
}

static void on_fenced(void *context)
{
    struct bench *bench = context;
    buffer_add_text(&bench->reported, "fenced ");
}

static void on_room(void *context)
{
    struct bench *bench = context;
    assert_false(store_is_full(bench->store, true));
    buffer_add_text(&bench->reported, "room ");
}

static void on_failed(void *context, const struct error *err)
{
    (void)context;
    fail_msg("%s", err->text);
}

static struct kube_access *access_new(void)
{
    struct arena *arena = arena_new();
    struct kube_access *access = arena_new_of(arena, struct kube_access);
    access->arena = arena;
    access->source = "the test";
    access->token = secret_new("token", 5);
    must(url_parse(&access->server, text_of(MODEL_CLUSTER_URL), NULL));
    return access;
}

static void open_store(struct bench *bench)
{
    struct store_kind *selected = arena_new_array(bench->arena, struct store_kind, COUNT_OF(kinds));
    memcpy(selected, kinds, sizeof kinds);
    selected[0].selectors[0] = bench->labels;
    const struct cluster_options options = {
        .access = access_new(),
        .namespaces = bench->namespaces,
        .own_namespace = "signpost",
        .lease_namespace = "signpost",
        .instance = "signpost-0",
        .kinds = selected,
        .kind_count = COUNT_OF(kinds),
        .lease_name = "signpost",
        .lease_duration_ms = 15 * SECOND,
        .lease_renew_deadline_ms = 10 * SECOND,
        .lease_retry_ms = 2 * SECOND,
        .is_elected = true,
        .owner_id = "owner",
        .max_in_flight = bench->in_flight,
        .rights = rights,
        .failed = on_failed,
        .context = bench,
    };
    bench->store = cluster_new(&bench->world, &options, NULL);
}

static int set_up(void **state)
{
    static struct random even = {model_fill_even};
    struct bench *bench = mem_new_of(struct bench);
    bench->loop = virtual_loop_new(1767225600000);
    bench->server = model_server_new(bench->loop, kinds, COUNT_OF(kinds));
    bench->api = model_api_new(bench->server, MODEL_CLUSTER_URL, NULL);
    bench->world =
        (struct world){.loop = bench->loop, .http = model_api_http(bench->api), .random = &even};
    bench->arena = arena_new();
    bench->in_flight = 16;
    model_cluster_prepare(bench->server);
    model_server_set_delays(bench->server, 1, 5);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    store_free(bench->store);
    model_api_free(bench->api);
    model_server_free(bench->server);
    loop_free(bench->loop);
    arena_free(bench->arena);
    buffer_done(&bench->reported);
    buffer_done(&bench->replies);
    free(bench);
    return 0;
}

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static void start(struct bench *bench)
{
    struct error err = {0};
    const struct store_sink sink = {.event = on_event,
                                    .batch_end = on_batch_end,
                                    .synced = on_synced,
                                    .known = on_known,
                                    .leading = on_leading,
                                    .fenced = on_fenced,
                                    .room = on_room,
                                    .context = bench};
    if (!bench->store)
        open_store(bench);
    assert_true(store_start(bench->store, &sink, &err));
    pass(bench, 10 * SECOND);
    assert_true(store_may_write(bench->store));
    buffer_clear(&bench->reported);
}

static const char *text_of_buffer(const struct buffer *buffer)
{
    return buffer->len ? buffer->at : "";
}

static void expect_reported(struct bench *bench, const char *reported)
{
    assert_string_equal(text_of_buffer(&bench->reported), reported);
    buffer_clear(&bench->reported);
}

static void expect_replies(struct bench *bench, const char *replies)
{
    assert_string_equal(text_of_buffer(&bench->replies), replies);
    buffer_clear(&bench->replies);
}

static void apply(struct bench *bench, const char *yaml)
{
    struct error err = {0};
    if (!model_server_apply_yaml(bench->server, text_of(yaml), &err))
        fail_msg("%s", err.text);
}

static void make(struct bench *bench, const char *kind, const char *name, const char *more)
{
    apply(bench, arena_printf(bench->arena,
                              "{apiVersion: " GROUP "/v1, kind: %s, metadata: {name: %s, "
                              "namespace: default%s}}",
                              kind, name, more));
}

static void write_text(struct bench *bench, const char *name, const char *text)
{
    apply(bench, arena_printf(bench->arena,
                              "{apiVersion: " GROUP "/v1, kind: Note, metadata: {name: %s, "
                              "namespace: default}, spec: {text: %s}}",
                              name, text));
}

static struct object_ref_key key_of(const struct kind *kind, const char *name)
{
    return (struct object_ref_key){kind, TEXT("default"), text_of(name)};
}

static void remove_object(struct bench *bench, const struct kind *kind, const char *name)
{
    const struct object_ref_key key = key_of(kind, name);
    assert_true(model_server_delete(bench->server, &key));
}

static const struct object *find(struct bench *bench, const struct kind *kind, const char *name)
{
    return cache_find(bench->store->cache, kind, TEXT("default"), text_of(name));
}

static const struct object *note(struct bench *bench, const char *name)
{
    const struct object *object = find(bench, &note_kind, name);
    assert_non_null(object);
    return object;
}

// As the server has it: "metadata.finalizers" as JSON, or "".
static const char *stored(struct bench *bench, const char *name, const char *path)
{
    AUTO_BUFFER json = {0};
    const struct object_ref_key key = key_of(&note_kind, name);
    struct value *tree = model_server_find(bench->server, bench->arena, &key);
    const struct value *at = tree ? value_at(tree, path, NULL) : NULL;
    if (!at)
        return "";
    value_write_json(&json, at);
    return arena_copy(bench->arena, json.at, json.len);
}

// ---- writing ------------------------------------------------------------------------------------

static void on_reply(void *context, const struct store_reply *reply)
{
    struct bench *bench = context;
    if (!reply->is_ok)
        buffer_printf(&bench->replies, "%s:%d ", reply->error.reason, reply->error.status);
    else
        buffer_printf(&bench->replies, "ok%s ", reply->object ? "" : ":gone");
}

static void add_finalizer(struct bench *bench, const struct object *object)
{
    const struct metadata_change annotation = {.key = GROUP "/claims", .value = "a"};
    store_apply(bench->store,
                &(struct store_apply){.object = object,
                                      .add_finalizer = true,
                                      .metadata_changes = &annotation,
                                      .metadata_change_count = 1},
                on_reply, bench);
}

static void drop_finalizer(struct bench *bench, const struct object *object)
{
    store_remove_finalizer(bench->store, object, on_reply, bench);
}

static void set_ready(struct bench *bench, const struct object *object, const char *status)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err = {0};
    const char *json =
        arena_printf(arena, "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}", status);
    const struct value *tree = value_read_json(arena, text_of(json), &value_reply_limits, &err);
    assert_non_null(tree);
    store_patch_status(bench->store, object, tree, on_reply, bench);
}

static void an_apply_leaves_what_others_wrote(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", ", finalizers: [other.org/f], annotations: {theirs: x}");
    start(bench);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 100);
    expect_replies(bench, "ok ");
    assert_string_equal(stored(bench, "a", "metadata.finalizers"),
                        "[\"other.org/f\",\"" FINALIZER "\"]");
    assert_string_equal(stored(bench, "a", "metadata.annotations"),
                        "{\"theirs\":\"x\",\"" GROUP "/claims\":\"a\"}");
    assert_true(note(bench, "a")->has_finalizer);
}

static void ours_goes_and_the_finalizer_of_others_stays(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", ", finalizers: [other.org/f, " FINALIZER "]");
    start(bench);
    drop_finalizer(bench, note(bench, "a"));
    pass(bench, 100);
    expect_replies(bench, "ok ");
    assert_string_equal(stored(bench, "a", "metadata.finalizers"), "[\"other.org/f\"]");
    assert_false(note(bench, "a")->has_finalizer);
}

// What was read for the first try is not there any more at the second.
static void the_finalizer_of_others_stays_when_the_server_asks_for_patience(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", ", finalizers: [other.org/f, " FINALIZER "]");
    start(bench);
    model_server_fault(bench->server, MODEL_REMOVE_FINALIZER, 0, MODEL_LIMIT);
    drop_finalizer(bench, note(bench, "a"));
    pass(bench, 5 * SECOND);
    expect_replies(bench, "ok ");
    assert_string_equal(stored(bench, "a", "metadata.finalizers"), "[\"other.org/f\"]");
}

// An apply takes nothing away that is another manager's, too.
static void an_annotation_that_others_wrote_as_well_goes(void **state)
{
    struct bench *bench = *state;
    const struct metadata_change gone = {.key = GROUP "/claims", .value = NULL};
    make(bench, "Note", "a", ", annotations: {" GROUP "/claims: x, theirs: y}");
    start(bench);
    store_apply(bench->store,
                &(struct store_apply){.object = note(bench, "a"),
                                      .add_finalizer = true,
                                      .metadata_changes = &gone,
                                      .metadata_change_count = 1},
                on_reply, bench);
    pass(bench, 100);
    expect_replies(bench, "ok ");
    assert_string_equal(stored(bench, "a", "metadata.annotations"), "{\"theirs\":\"y\"}");
    assert_string_equal(stored(bench, "a", "metadata.finalizers"), "[\"" FINALIZER "\"]");
    assert_true(note(bench, "a")->has_finalizer);
    pass(bench, SECOND);
    assert_int_equal(model_api_calls(bench->api, "patch", NOTES), 2);
}

static void judge(struct bench *bench, const char *name)
{
    const struct object_ref_key key = key_of(&note_kind, name);
    assert_true(model_server_judge(bench->server, &key, "Audited", "True"));
    pass(bench, 100);
}

static void conditions_of_others_stay_when_the_server_asks_for_patience(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    set_ready(bench, note(bench, "a"), "False");
    pass(bench, 100);
    judge(bench, "a");
    model_server_fault(bench->server, MODEL_PATCH_STATUS, 0, MODEL_LIMIT);
    set_ready(bench, note(bench, "a"), "True");
    pass(bench, 5 * SECOND);
    expect_replies(bench, "ok ok ");
    assert_string_equal(stored(bench, "a", "status.conditions"),
                        "[{\"type\":\"Ready\",\"status\":\"True\"},"
                        "{\"type\":\"Audited\",\"status\":\"True\"}]");
}

// ---- what we make ourselves ---------------------------------------------------------------------

static struct value *read_json(struct arena *arena, const char *json)
{
    return value_read_json(arena, text_of(json), &value_reply_limits, NULL);
}

// Of an owner, by whom what stands there is known to be ours.
static void put(struct bench *bench, const char *json, const char *kept)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = read_json(arena, json);
    value_put(arena, tree, "metadata.ownerReferences",
              read_json(arena, "[{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"Note\","
                               "\"name\":\"zones\",\"uid\":\"1\"}]"));
    store_write_object(bench->store,
                       &(struct store_object_write){.key = key_of(&model_config_map_kind, "zones"),
                                                    .tree = tree,
                                                    .is_unread = true,
                                                    .kept = kept ? read_json(arena, kept) : NULL},
                       on_reply, bench);
    pass(bench, 100);
}

static const char *made(struct bench *bench, const char *path)
{
    AUTO_BUFFER json = {0};
    const struct object_ref_key key = key_of(&model_config_map_kind, "zones");
    struct value *tree = model_server_find(bench->server, bench->arena, &key);
    const struct value *at = tree ? value_at(tree, path, NULL) : NULL;
    if (!at)
        return "";
    value_write_json(&json, at);
    return arena_copy(bench->arena, json.at, json.len);
}

static void an_object_of_ours_is_made_and_then_set(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"data\":{\"x\":\"1\"}}", NULL);
    expect_replies(bench, "ok:gone ");
    assert_string_equal(made(bench, "data"), "{\"x\":\"1\"}");
    assert_string_equal(made(bench, "metadata.labels"), "{\"a\":\"b\"}");
    put(bench, "{\"data\":{\"x\":\"2\"}}", NULL);
    expect_replies(bench, "ok:gone ");
    assert_string_equal(made(bench, "data"), "{\"x\":\"2\"}");
    assert_string_equal(made(bench, "metadata.labels"), "{}");
    assert_int_equal(model_api_calls(bench->api, "get", "configmaps"), 2);
}

static void what_is_kept_is_read_and_sent_again(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, "{\"data\":{\"x\":\"1\"}}", "[\"old\"]");
    expect_replies(bench, "ok:gone ");
    put(bench, "{\"data\":{\"y\":\"2\"}}", "[\"x\",\"y\",\"none\"]");
    expect_replies(bench, "ok:gone ");
    assert_string_equal(made(bench, "data"), "{\"x\":\"1\",\"y\":\"2\"}");
    assert_int_equal(model_api_calls(bench->api, "get", "configmaps"), 2);
}

static void who_may_not_make_an_object_hears_which(void **state)
{
    struct bench *bench = *state;
    start(bench);
    model_api_deny(bench->api, "patch", "configmaps");
    put(bench, "{\"data\":{}}", NULL);
    expect_replies(bench, "Forbidden:403 ");
    assert_string_equal(made(bench, "data"), "");
}

// ---- children -----------------------------------------------------------------------------------

static void write_owned_object(struct bench *bench, const char *name, const char *json,
                               const struct object *seen)
{
    store_write_object(bench->store,
                       &(struct store_object_write){.key = key_of(&note_kind, name),
                                                    .tree = read_json(bench->arena, json),
                                                    .seen = seen},
                       on_reply, bench);
    pass(bench, SECOND);
}

static void put_owned_object(struct bench *bench, const char *name, const char *text,
                             const struct object *seen)
{
    const char *json = arena_printf(
        bench->arena, "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"text\":\"%s\"}}", text);
    write_owned_object(bench, name, json, seen);
}

static void drop_owned_object(struct bench *bench, const struct object *seen)
{
    store_write_object(
        bench->store,
        &(struct store_object_write){.key = {seen->kind, object_namespace(seen), object_name(seen)},
                                     .seen = seen},
        on_reply, bench);
    pass(bench, SECOND);
}

static void a_child_is_made_changed_and_dropped_as_it_was_seen(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put_owned_object(bench, "a", "1", NULL);
    expect_replies(bench, "ok:gone ");
    expect_reported(bench, "+a ");
    assert_string_equal(stored(bench, "a", "metadata.labels"), "{\"a\":\"b\"}");
    const struct object *first = object_ref(note(bench, "a"));
    put_owned_object(bench, "a", "2", first);
    expect_replies(bench, "ok:gone ");
    expect_reported(bench, "~a ");
    assert_string_equal(stored(bench, "a", "spec.text"), "\"2\"");
    put_owned_object(bench, "a", "3", first);
    drop_owned_object(bench, first);
    expect_replies(bench, "Conflict:409 Conflict:409 ");
    const struct object *second = object_ref(note(bench, "a"));
    drop_owned_object(bench, second);
    drop_owned_object(bench, second);
    expect_replies(bench, "ok:gone ok:gone ");
    expect_reported(bench, "-a ");
    object_unref(first);
    object_unref(second);
}

static void null_takes_a_field_out_of_a_child_and_what_is_not_named_stays(void **state)
{
    struct bench *bench = *state;
    start(bench);
    write_owned_object(bench, "a",
                       "{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":\"d\"}},"
                       "\"spec\":{\"text\":\"1\"}}",
                       NULL);
    write_owned_object(bench, "a", "{\"metadata\":{\"labels\":{\"a\":null}}}", note(bench, "a"));
    expect_replies(bench, "ok:gone ok:gone ");
    assert_string_equal(stored(bench, "a", "metadata.labels"), "{\"c\":\"d\"}");
    assert_string_equal(stored(bench, "a", "spec.text"), "\"1\"");
}

static void a_child_is_not_made_over_what_others_have_made(void **state)
{
    struct bench *bench = *state;
    start(bench);
    model_server_set_delays(bench->server, 1, 2 * SECOND);
    write_text(bench, "a", "theirs");
    put_owned_object(bench, "a", "ours", NULL);
    expect_replies(bench, "Conflict:409 ");
    assert_string_equal(stored(bench, "a", "spec.text"), "\"theirs\"");
}

// Of an owner, or of none.
static const char *labelled(struct bench *bench, const char *owner, const char *text)
{
    const char *owners = arena_printf(bench->arena,
                                      ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
                                      "\"Plan\",\"name\":\"p\",\"uid\":\"%s\"}]",
                                      owner);
    return arena_printf(bench->arena,
                        "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":{\"is\":"
                        "\"x\"}%s},\"spec\":{\"text\":\"%s\"}}",
                        *owner ? owners : "", text);
}

static void make_unlabelled(struct bench *bench, const char *name, const char *more)
{
    apply(bench, arena_printf(bench->arena,
                              "{apiVersion: " GROUP "/v1, kind: Note, metadata: {name: %s, "
                              "namespace: default, %s}, spec: {text: theirs}}",
                              name, more));
    pass(bench, SECOND);
}

#define OWNER(uid) "ownerReferences: [{apiVersion: v1, kind: Plan, name: p, uid: " uid "}]"
#define WRITER(name) "managedFields: [{manager: " name ", operation: Update}]"

static void labels_that_somebody_took_off_a_child_are_put_back(void **state)
{
    struct bench *bench = *state;
    bench->labels = "a=b";
    start(bench);
    make_unlabelled(bench, "a", OWNER("u1"));
    make_unlabelled(bench, "b", "annotations: {is: x}, " WRITER("signpost"));
    write_owned_object(bench, "a", labelled(bench, "u1", "ours"), NULL);
    write_owned_object(bench, "b", labelled(bench, "", "ours"), NULL);
    expect_replies(bench, "ok:gone ok:gone ");
    assert_string_equal(stored(bench, "a", "metadata.labels"), "{\"a\":\"b\"}");
    assert_string_equal(stored(bench, "b", "metadata.labels"), "{\"a\":\"b\"}");
    assert_string_equal(stored(bench, "a", "spec.text"), "\"theirs\"");
    write_owned_object(bench, "a", labelled(bench, "u1", "ours"), NULL);
    expect_replies(bench, "Conflict:409 "); // an event shows that it is there
}

static void what_lacks_our_labels_and_is_not_ours_stays(void **state)
{
    struct bench *bench = *state;
    bench->labels = "a=b";
    start(bench);
    make_unlabelled(bench, "a", OWNER("u2"));
    make_unlabelled(bench, "b", "annotations: {is: x}, " WRITER("kubectl"));
    make_unlabelled(bench, "c", "annotations: {is: y}, " WRITER("signpost"));
    write_owned_object(bench, "a", labelled(bench, "u1", "ours"), NULL);
    write_owned_object(bench, "b", labelled(bench, "", "ours"), NULL);
    write_owned_object(bench, "c", labelled(bench, "", "ours"), NULL);
    expect_replies(bench, "NotOurs:0 NotOurs:0 NotOurs:0 ");
    assert_string_equal(stored(bench, "a", "metadata.labels"), "");
    assert_string_equal(stored(bench, "b", "metadata.labels"), "");
    assert_string_equal(stored(bench, "c", "metadata.labels"), "");
}

static void a_dry_run_puts_no_labels_back(void **state)
{
    struct bench *bench = *state;
    bench->labels = "a=b";
    start(bench);
    make_unlabelled(bench, "a", OWNER("u1"));
    store_write_object(
        bench->store,
        &(struct store_object_write){.key = key_of(&note_kind, "a"),
                                     .tree = read_json(bench->arena, labelled(bench, "u1", "ours")),
                                     .is_dry_run = true},
        on_reply, bench);
    pass(bench, SECOND);
    expect_replies(bench, "Conflict:409 ");
    assert_string_equal(stored(bench, "a", "metadata.labels"), "");
}

static void a_child_that_was_made_again_by_others_is_not_dropped(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put_owned_object(bench, "a", "1", NULL);
    const struct object *seen = object_ref(note(bench, "a"));
    const struct object_ref_key key = key_of(&note_kind, "a");
    model_server_delete(bench->server, &key);
    write_text(bench, "a", "theirs");
    drop_owned_object(bench, seen);
    expect_replies(bench, "ok:gone Conflict:409 ");
    assert_string_equal(stored(bench, "a", "spec.text"), "\"theirs\"");
    object_unref(seen);
}

// ---- order of replies and events ----------------------------------------------------------------

static void a_reply_before_its_event_is_not_told_twice(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 3);
    expect_replies(bench, "ok ");
    assert_true(note(bench, "a")->has_finalizer);
    pass(bench, SECOND);
    expect_reported(bench, "");
}

static void an_event_before_its_reply_is_told_once(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_server_set_delays(bench->server, 50, 1);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 10);
    expect_reported(bench, "~a ");
    pass(bench, SECOND);
    expect_replies(bench, "ok ");
    expect_reported(bench, "");
}

static void a_deletion_before_the_reply_is_final(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_server_set_delays(bench->server, 50, 1);
    set_ready(bench, note(bench, "a"), "True");
    pass(bench, 5);
    remove_object(bench, &note_kind, "a");
    pass(bench, SECOND);
    expect_reported(bench, "~a -a ");
    expect_replies(bench, "ok:gone ");
    assert_null(find(bench, &note_kind, "a"));
}

static void who_writes_on_a_stale_state_hears_of_the_conflict(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    write_text(bench, "a", "new");
    set_ready(bench, note(bench, "a"), "True");
    pass(bench, SECOND);
    expect_replies(bench, "Conflict:409 ");
    expect_reported(bench, "~a ");
    assert_string_equal(stored(bench, "a", "status"), "");
}

static void what_is_gone_is_not_made_again(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    make(bench, "Note", "b", ", finalizers: [" FINALIZER "]");
    start(bench);
    const struct object *a = object_ref(note(bench, "a"));
    remove_object(bench, &note_kind, "a");
    add_finalizer(bench, a);
    set_ready(bench, a, "True");
    pass(bench, SECOND);
    object_unref(a);
    expect_replies(bench, "Conflict:409 Conflict:404 ");
    assert_int_equal(model_server_count(bench->server, &note_kind), 1);
}

static void one_that_was_deleted_and_made_again_is_left_alone(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    const struct object *old = object_ref(note(bench, "a"));
    remove_object(bench, &note_kind, "a");
    make(bench, "Note", "a", "");
    add_finalizer(bench, old);
    pass(bench, SECOND);
    object_unref(old);
    expect_replies(bench, "Conflict:409 ");
    expect_reported(bench, "-a +a ");
    assert_string_equal(stored(bench, "a", "metadata.finalizers"), "");
}

static void a_write_whose_reply_is_lost_is_read_back(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_server_fault(bench->server, MODEL_APPLY, 0, MODEL_LOSES);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 4);
    expect_reported(bench, "~a ");
    expect_replies(bench, "ServerUnreachable:0 ");
    assert_true(note(bench, "a")->has_finalizer);
    pass(bench, SECOND);
    expect_reported(bench, "");
}

static void a_write_is_told_to_wait_ten_times_at_most(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    for (int i = 0; i < 9; i++)
        model_server_fault(bench->server, MODEL_APPLY, 0, MODEL_LIMIT);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 5 * MINUTE);
    expect_replies(bench, "ok ");
    for (int i = 0; i < 10; i++)
        model_server_fault(bench->server, MODEL_APPLY, 0, MODEL_LIMIT);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 5 * MINUTE);
    expect_replies(bench, "RateLimited:429 ");
}

// ---- leading ------------------------------------------------------------------------------------

static void a_fence_breaks_off_what_is_in_flight_and_what_waits(void **state)
{
    struct bench *bench = *state;
    bench->in_flight = 2;
    for (int i = 0; i < 5; i++)
        make(bench, "Note", arena_printf(bench->arena, "n%d", i), "");
    start(bench);
    model_server_set_delays(bench->server, 100 * SECOND, 1);
    pass(bench, 5 * SECOND);
    for (int i = 0; i < 5; i++)
        add_finalizer(bench, note(bench, arena_printf(bench->arena, "n%d", i)));
    pass(bench, 20 * SECOND);
    expect_replies(bench, "Standby:0 Standby:0 Standby:0 Standby:0 Standby:0 ");
    assert_int_equal(model_api_calls(bench->api, "patch", NOTES), 2);
    expect_reported(bench, "~n0 ~n1 standby fenced ");
}

static void a_standby_sends_no_write_however_many_wait(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_cluster_take_lease(bench->server);
    pass(bench, 30 * SECOND);
    assert_false(store_may_write(bench->store));
    size_t calls = model_api_calls(bench->api, "patch", NULL);
    for (int i = 0; i < REPLIES_MAX; i++)
        add_finalizer(bench, note(bench, "a"));
    pass(bench, SECOND);
    assert_int_equal(bench->replies.len, REPLIES_MAX * strlen("Standby:0 "));
    assert_int_equal(model_api_calls(bench->api, "patch", NULL), calls);
}

// What another leader has ended meanwhile would still stand in the cache.
static void who_does_not_see_what_goes_on_does_not_come_to_lead(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_cluster_take_lease(bench->server);
    pass(bench, 5 * SECOND);
    assert_false(store_may_write(bench->store));
    model_api_deny(bench->api, "watch", NOTES);
    model_api_meet(bench->api, NOTES, STREAM_BREAKS);
    remove_object(bench, &note_kind, "a");
    model_cluster_free_lease(bench->server);
    pass(bench, 50 * SECOND);
    assert_false(store_may_write(bench->store));
    buffer_clear(&bench->reported);
    model_api_allow_all(bench->api);
    pass(bench, 10 * SECOND);
    expect_reported(bench, "-a leading ");
}

// The path of its watches died without a word, so they still count as up.
static void who_comes_to_lead_asks_anew_where_nothing_was_heard_since(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_cluster_take_lease(bench->server);
    pass(bench, 5 * SECOND);
    assert_false(store_may_write(bench->store));
    model_api_meet(bench->api, NOTES, STREAM_FREEZES);
    remove_object(bench, &note_kind, "a");
    pass(bench, 5 * SECOND);
    buffer_clear(&bench->reported);
    size_t watches = model_api_calls(bench->api, "watch", NULL);
    model_cluster_free_lease(bench->server);
    pass(bench, SECOND);
    expect_reported(bench, "-a leading ");
    pass(bench, 20 * SECOND);
    assert_int_equal(model_api_calls(bench->api, "watch", NULL), watches + 2);
}

// All processes have the same rights: nobody else has ended anything without them.
static void a_right_that_is_taken_away_for_long_keeps_nobody_from_leading(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_cluster_take_lease(bench->server);
    pass(bench, 5 * SECOND);
    model_api_deny(bench->api, "watch", NOTES);
    model_api_meet(bench->api, NOTES, STREAM_BREAKS);
    model_cluster_free_lease(bench->server);
    pass(bench, 2 * MINUTE);
    assert_true(store_may_write(bench->store));
}

static bool is_right_missing(struct bench *bench, const char *name)
{
    struct store_check checks[16];
    size_t count = store_checks(bench->store, checks, COUNT_OF(checks));
    for (size_t i = 0; i < count; i++)
        if (!checks[i].is_ok && !strcmp(checks[i].name, name))
            return true;
    return false;
}

static void a_right_to_write_that_is_taken_away_is_named_until_it_is_back(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_api_deny(bench->api, "patch", NOTES);
    add_finalizer(bench, note(bench, "a"));
    pass(bench, 15 * SECOND);
    expect_replies(bench, "Forbidden:403 ");
    assert_true(is_right_missing(bench, "may-patch-notes." GROUP));
    model_api_allow_all(bench->api);
    pass(bench, MINUTE);
    assert_false(is_right_missing(bench, "may-patch-notes." GROUP));
}

static void a_right_to_read_that_is_taken_away_is_named_until_it_is_back(void **state)
{
    struct bench *bench = *state;
    start(bench);
    model_api_deny(bench->api, "watch", NOTES);
    model_api_meet(bench->api, NOTES, STREAM_BREAKS);
    make(bench, "Note", "a", "");
    pass(bench, 15 * SECOND);
    assert_true(is_right_missing(bench, "may-watch-notes." GROUP));
    assert_false(is_right_missing(bench, "may-list-notes." GROUP));
    model_api_allow_all(bench->api);
    pass(bench, MINUTE);
    assert_false(is_right_missing(bench, "may-watch-notes." GROUP));
}

// ---- the queue ----------------------------------------------------------------------------------

static void a_full_queue_tells_when_there_is_room(void **state)
{
    struct bench *bench = *state;
    bench->in_flight = 1;
    make(bench, "Note", "a", "");
    start(bench);
    for (int i = 0; i < 127; i++)
        add_finalizer(bench, note(bench, "a"));
    assert_false(store_is_full(bench->store, false));
    add_finalizer(bench, note(bench, "a"));
    assert_true(store_is_full(bench->store, false));
    pass(bench, 20);
    assert_true(store_is_full(bench->store, false));
    buffer_clear(&bench->reported);
    pass(bench, MINUTE);
    assert_int_equal(bench->replies.len, 128 * strlen("ok "));
    expect_reported(bench, "room ");
}

static void on_apply(void *context, const struct store_reply *reply)
{
    struct bench *bench = context;
    assert_true(reply->is_ok);
    buffer_add_text(&bench->replies, "a");
}

static void on_status(void *context, const struct store_reply *reply)
{
    struct bench *bench = context;
    assert_true(reply->is_ok);
    buffer_add_text(&bench->replies, "s");
}

static void on_plan(void *context, const struct store_reply *reply)
{
    struct bench *bench = context;
    (void)reply; // many write one state
    buffer_add_text(&bench->replies, "p");
}

static void patch_plans(struct bench *bench, int count)
{
    const struct value *status = value_make(bench->arena, VALUE_MAP);
    for (int i = 0; i < count; i++)
        store_patch_status(bench->store,
                           find(bench, &plan_kind, arena_printf(bench->arena, "p%d", i)), status,
                           on_plan, bench);
}

// So many statuses, behind them so many applies, one in flight at a time.
static void queue_all(struct bench *bench, int statuses, int applies)
{
    bench->in_flight = 1;
    make(bench, "Note", "a", "");
    for (int i = 0; i < statuses; i++)
        make(bench, "Note", arena_printf(bench->arena, "n%d", i), "");
    start(bench);
    const struct value *status = value_make(bench->arena, VALUE_MAP);
    for (int i = 0; i < statuses; i++)
        store_patch_status(bench->store, note(bench, arena_printf(bench->arena, "n%d", i)), status,
                           on_status, bench);
    for (int i = 0; i < applies; i++)
        store_apply(bench->store,
                    &(struct store_apply){.object = note(bench, "a"), .add_finalizer = true},
                    on_apply, bench);
}

static void queue_both(struct bench *bench, int statuses, int applies)
{
    queue_all(bench, statuses, applies);
    pass(bench, MINUTE);
}

static void what_an_exchange_waits_for_goes_before_what_tells_of_one(void **state)
{
    struct bench *bench = *state;
    queue_both(bench, 3, 4);
    expect_replies(bench, "aaaasss");
}

static void what_waits_behind_has_a_turn_now_and_then(void **state)
{
    struct bench *bench = *state;
    queue_both(bench, 3, 40);
    expect_replies(bench, "aaaaaaaaaaaaaaasaaaaaaaaaaaaaaasaaaaaaaaaas");
}

static void what_is_written_ahead_goes_before_all_others(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 40; i++)
        make(bench, "Plan", arena_printf(bench->arena, "p%d", i), "");
    queue_all(bench, 3, 20);
    patch_plans(bench, 2);
    pass(bench, MINUTE);
    expect_replies(bench, "ppaaaaaaaaaaaaaaasaaaaass");
}

// Each 16th is of the others.
static void what_is_written_ahead_lets_others_through(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 40; i++)
        make(bench, "Plan", arena_printf(bench->arena, "p%d", i), "");
    queue_all(bench, 2, 1);
    patch_plans(bench, 40);
    pass(bench, MINUTE);
    expect_replies(bench, "pppppppppppppppa"
                          "pppppppppppppppspppppppppps");
}

static void what_is_written_ahead_waits_for_its_like_alone(void **state)
{
    struct bench *bench = *state;
    make(bench, "Plan", "p0", "");
    queue_all(bench, 0, 128);
    assert_true(store_is_full(bench->store, false));
    assert_false(store_is_full(bench->store, true));
    for (int i = 0; i < 128; i++)
        patch_plans(bench, 1);
    assert_true(store_is_full(bench->store, true));
    buffer_clear(&bench->reported);
    pass(bench, MINUTE);
    expect_reported(bench, "room room ");
    assert_false(store_is_full(bench->store, false));
}

static void statuses_that_wait_fill_the_queue_later(void **state)
{
    struct bench *bench = *state;
    bench->in_flight = 1;
    make(bench, "Note", "a", "");
    start(bench);
    const struct value *status = value_make(bench->arena, VALUE_MAP);
    for (int i = 0; i < 1024; i++) {
        assert_false(store_is_full(bench->store, false));
        store_patch_status(bench->store, note(bench, "a"), status, on_reply, bench);
    }
    assert_true(store_is_full(bench->store, false));
    buffer_clear(&bench->reported);
    pass(bench, 10 * MINUTE);
    expect_reported(bench, "room ");
}

static void a_queue_that_waits_for_a_lost_lease_has_room_again(void **state)
{
    struct bench *bench = *state;
    bench->in_flight = 1;
    make(bench, "Note", "a", "");
    start(bench);
    model_server_set_delays(bench->server, 100 * SECOND, 1);
    pass(bench, 5 * SECOND);
    for (int i = 0; i < 200; i++)
        add_finalizer(bench, note(bench, "a"));
    pass(bench, 20 * SECOND);
    assert_false(store_is_full(bench->store, false));
    expect_reported(bench, "~a standby room fenced ");
}

// ---- passes -------------------------------------------------------------------------------------

static void what_went_while_nobody_watched_is_lost(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", ", finalizers: [" FINALIZER "]");
    make(bench, "Note", "b", "");
    make(bench, "Note", "c", "");
    start(bench);
    const struct object_ref_key a = key_of(&note_kind, "a");
    model_server_set_window(bench->server, 1);
    model_api_set_down(bench->api, true);
    model_api_restart(bench->api);
    assert_true(model_server_lose(bench->server, &a));
    remove_object(bench, &note_kind, "b");
    pass(bench, 5 * SECOND);
    expect_reported(bench, "");
    model_api_set_down(bench->api, false);
    pass(bench, MINUTE);
    expect_reported(bench, "-a(lost) -b ");
}

static void one_that_was_replaced_while_nobody_watched_goes_and_comes(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", ", finalizers: [" FINALIZER "]");
    start(bench);
    const struct object_ref_key a = key_of(&note_kind, "a");
    model_server_set_window(bench->server, 1);
    model_api_set_down(bench->api, true);
    model_api_restart(bench->api);
    assert_true(model_server_lose(bench->server, &a));
    make(bench, "Note", "a", "");
    pass(bench, 5 * SECOND);
    model_api_set_down(bench->api, false);
    pass(bench, MINUTE);
    expect_reported(bench, "-a(lost) +a ");
    assert_false(note(bench, "a")->has_finalizer);
}

// Nothing but the pass tells that it is there, or not.
static void a_late_reply_keeps_nothing_from_the_sweep(void **state)
{
    struct bench *bench = *state;
    make(bench, "Note", "a", "");
    start(bench);
    model_server_set_delays(bench->server, 2 * SECOND, 3 * SECOND);
    set_ready(bench, note(bench, "a"), "True");
    pass(bench, 1);
    remove_object(bench, &note_kind, "a");
    model_api_restart(bench->api);
    pass(bench, MINUTE);
    expect_replies(bench, "ok ");
    expect_reported(bench, "-a ");
    assert_null(find(bench, &note_kind, "a"));
}

static void a_namespace_that_is_named_twice_is_watched_once(void **state)
{
    struct bench *bench = *state;
    bench->namespaces = (const char *const[]){"other", "default", "other", "default", NULL};
    make(bench, "Note", "a", "");
    start(bench);
    assert_int_equal(model_api_stream_count(bench->api, NOTES), 2);
    note(bench, "a");
}

static void watches_of_several_namespaces_are_counted_together(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER metrics = {0};
    bench->namespaces = (const char *const[]){"other", "default", NULL};
    start(bench);
    model_api_meet(bench->api, NOTES, STREAM_EXPIRES);
    pass(bench, MINUTE);
    store_write_metrics(bench->store, &metrics);
    assert_non_null(strstr(text_of_buffer(&metrics),
                           "\nsignpost_relists_total{kind=\"Note\",reason=\"expired\"} 2\n"));
    assert_null(strstr(text_of_buffer(&metrics), "kind=\"Key\""));
}

static void of_many_namespaces_the_others_are_not_seen(void **state)
{
    struct bench *bench = *state;
    bench->namespaces =
        (const char *const[]){"b", "c", "d", "e", "f", "g", "h", "i", "default", NULL};
    make(bench, "Note", "a", "");
    apply(bench, "{apiVersion: " GROUP "/v1, kind: Note, metadata: {name: x, namespace: far}}");
    start(bench);
    assert_int_equal(model_api_stream_count(bench->api, NOTES), 1);
    assert_int_equal(cache_count(bench->store->cache, &note_kind), 1);
    apply(bench, "{apiVersion: " GROUP "/v1, kind: Note, metadata: {name: y, namespace: far}}");
    pass(bench, SECOND);
    expect_reported(bench, "");
}

// ---- held by name -------------------------------------------------------------------------------

static void want(struct bench *bench, const char *name, bool is_wanted)
{
    const struct object_ref_key key = key_of(&key_kind, name);
    store_want(bench->store, &key, is_wanted);
}

static bool knows(struct bench *bench, const char *name)
{
    const struct object_ref_key key = key_of(&key_kind, name);
    return store_knows(bench->store, &key);
}

static void an_object_that_is_held_comes_changes_and_goes(void **state)
{
    struct bench *bench = *state;
    start(bench);
    want(bench, "k", true);
    assert_false(knows(bench, "k"));
    pass(bench, SECOND);
    expect_reported(bench, "known:k ");
    make(bench, "Key", "k", "");
    make(bench, "Key", "stranger", "");
    pass(bench, SECOND);
    expect_reported(bench, "+k ");
    make(bench, "Key", "k", ", annotations: {a: b}");
    pass(bench, SECOND);
    expect_reported(bench, "~k ");
    remove_object(bench, &key_kind, "k");
    pass(bench, SECOND);
    expect_reported(bench, "-k ");
    assert_true(knows(bench, "k"));
}

static void one_that_nobody_wants_is_forgotten(void **state)
{
    struct bench *bench = *state;
    make(bench, "Key", "k", "");
    start(bench);
    want(bench, "k", true);
    want(bench, "k", true);
    pass(bench, SECOND);
    expect_reported(bench, "+k known:k ");
    want(bench, "k", false);
    pass(bench, SECOND);
    assert_non_null(find(bench, &key_kind, "k"));
    want(bench, "k", false);
    pass(bench, SECOND);
    assert_null(find(bench, &key_kind, "k"));
    assert_false(knows(bench, "k"));
    assert_int_equal(model_api_stream_count(bench->api, "keys"), 0);
    expect_reported(bench, "");
}

static void one_that_is_wanted_again_at_once_is_known_again(void **state)
{
    struct bench *bench = *state;
    make(bench, "Key", "k", "");
    start(bench);
    want(bench, "k", true);
    pass(bench, SECOND);
    buffer_clear(&bench->reported);
    want(bench, "k", false);
    want(bench, "k", true);
    assert_false(knows(bench, "k"));
    pass(bench, SECOND);
    expect_reported(bench, "known:k ");
    assert_non_null(find(bench, &key_kind, "k"));
    assert_int_equal(model_api_stream_count(bench->api, "keys"), 1);
}

static void want_crowd(struct bench *bench)
{
    for (int i = 0; i < 32; i++)
        want(bench, arena_printf(bench->arena, "crowd-%d", i), true);
    pass(bench, SECOND);
    buffer_clear(&bench->reported);
}

static const char *unreadable(struct bench *bench, const char *name)
{
    const struct object_ref_key key = key_of(&key_kind, name);
    return store_unreadable(bench->store, &key);
}

static void one_that_may_not_be_read_is_told(void **state)
{
    struct bench *bench = *state;
    make(bench, "Key", "k", "");
    start(bench);
    for (int i = 0; i < 3; i++)
        model_server_fault(bench->server, MODEL_WATCH, i, MODEL_FORBIDDEN);
    want(bench, "k", true);
    pass(bench, SECOND);
    assert_null(unreadable(bench, "k"));
    pass(bench, 8 * SECOND);
    expect_reported(bench, "known:k ");
    assert_non_null(strstr(unreadable(bench, "k"), "forbidden: cannot watch keys in namespace "));
    assert_false(knows(bench, "k"));
    pass(bench, 2 * MINUTE);
    expect_reported(bench, "+k known:k ");
    assert_null(unreadable(bench, "k"));
}

static void the_33rd_is_looked_at_each_minute(void **state)
{
    struct bench *bench = *state;
    start(bench);
    want_crowd(bench);
    want(bench, "k", true);
    pass(bench, SECOND);
    expect_reported(bench, "known:k ");
    assert_int_equal(model_api_stream_count(bench->api, "keys"), 32);
    make(bench, "Key", "k", "");
    pass(bench, MINUTE);
    expect_reported(bench, "+k ");
    remove_object(bench, &key_kind, "k");
    pass(bench, MINUTE);
    expect_reported(bench, "-k ");
}

static void the_33rd_is_not_known_while_it_cannot_be_read(void **state)
{
    struct bench *bench = *state;
    make(bench, "Key", "k", "");
    start(bench);
    want_crowd(bench);
    model_api_deny(bench->api, "get", "keys");
    want(bench, "k", true);
    pass(bench, SECOND);
    assert_false(knows(bench, "k"));
    assert_non_null(unreadable(bench, "k"));
    expect_reported(bench, "known:k ");
    model_api_allow_all(bench->api);
    pass(bench, MINUTE);
    assert_null(unreadable(bench, "k"));
    expect_reported(bench, "+k known:k ");
}

// A server that was restored from a backup has an older version, and it is the newer state.
static void the_33rd_follows_a_server_that_was_restored(void **state)
{
    struct bench *bench = *state;
    make(bench, "Key", "k", "");
    start(bench);
    want_crowd(bench);
    want(bench, "k", true);
    make(bench, "Key", "k", ", annotations: {a: b}");
    pass(bench, SECOND);
    buffer_clear(&bench->reported);
    model_api_rewind(bench->api, 5);
    make(bench, "Key", "k", ", annotations: {a: c}");
    pass(bench, 2 * MINUTE);
    expect_reported(bench, "~k ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_apply_leaves_what_others_wrote),
        TEST(ours_goes_and_the_finalizer_of_others_stays),
        TEST(the_finalizer_of_others_stays_when_the_server_asks_for_patience),
        TEST(an_annotation_that_others_wrote_as_well_goes),
        TEST(conditions_of_others_stay_when_the_server_asks_for_patience),
        TEST(an_object_of_ours_is_made_and_then_set),
        TEST(what_is_kept_is_read_and_sent_again),
        TEST(who_may_not_make_an_object_hears_which),
        TEST(a_child_is_made_changed_and_dropped_as_it_was_seen),
        TEST(null_takes_a_field_out_of_a_child_and_what_is_not_named_stays),
        TEST(a_child_is_not_made_over_what_others_have_made),
        TEST(labels_that_somebody_took_off_a_child_are_put_back),
        TEST(what_lacks_our_labels_and_is_not_ours_stays),
        TEST(a_dry_run_puts_no_labels_back),
        TEST(a_child_that_was_made_again_by_others_is_not_dropped),
        TEST(a_reply_before_its_event_is_not_told_twice),
        TEST(an_event_before_its_reply_is_told_once),
        TEST(a_deletion_before_the_reply_is_final),
        TEST(who_writes_on_a_stale_state_hears_of_the_conflict),
        TEST(what_is_gone_is_not_made_again),
        TEST(one_that_was_deleted_and_made_again_is_left_alone),
        TEST(a_write_whose_reply_is_lost_is_read_back),
        TEST(a_write_is_told_to_wait_ten_times_at_most),
        TEST(a_fence_breaks_off_what_is_in_flight_and_what_waits),
        TEST(a_standby_sends_no_write_however_many_wait),
        TEST(who_does_not_see_what_goes_on_does_not_come_to_lead),
        TEST(who_comes_to_lead_asks_anew_where_nothing_was_heard_since),
        TEST(a_right_that_is_taken_away_for_long_keeps_nobody_from_leading),
        TEST(a_right_to_write_that_is_taken_away_is_named_until_it_is_back),
        TEST(a_right_to_read_that_is_taken_away_is_named_until_it_is_back),
        TEST(a_full_queue_tells_when_there_is_room),
        TEST(what_an_exchange_waits_for_goes_before_what_tells_of_one),
        TEST(what_waits_behind_has_a_turn_now_and_then),
        TEST(what_is_written_ahead_goes_before_all_others),
        TEST(what_is_written_ahead_lets_others_through),
        TEST(what_is_written_ahead_waits_for_its_like_alone),
        TEST(statuses_that_wait_fill_the_queue_later),
        TEST(a_queue_that_waits_for_a_lost_lease_has_room_again),
        TEST(what_went_while_nobody_watched_is_lost),
        TEST(one_that_was_replaced_while_nobody_watched_goes_and_comes),
        TEST(a_late_reply_keeps_nothing_from_the_sweep),
        TEST(a_namespace_that_is_named_twice_is_watched_once),
        TEST(watches_of_several_namespaces_are_counted_together),
        TEST(of_many_namespaces_the_others_are_not_seen),
        TEST(an_object_that_is_held_comes_changes_and_goes),
        TEST(one_that_nobody_wants_is_forgotten),
        TEST(one_that_is_wanted_again_at_once_is_known_again),
        TEST(one_that_may_not_be_read_is_told),
        TEST(the_33rd_is_looked_at_each_minute),
        TEST(the_33rd_is_not_known_while_it_cannot_be_read),
        TEST(the_33rd_follows_a_server_that_was_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
