#include "rig.h"

#include <string.h>

#include "model/virtual_loop.h"
#include "store/cache.h"

static int make(void **state)
{
    *state = rig_new();
    return 0;
}

static int clear(void **state)
{
    rig_free(*state);
    return 0;
}

static void first_pass_is_one_batch_then_synced_then_leading(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "b.yaml", THING("b1", "value: x") THING("b2", "value: x"));
    rig_write(rig, "a.yaml", PLACE("home", "server: x"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Place home\nADDED Thing shop/b1\n"
                                           "ADDED Thing shop/b2\n.\n");
    assert_true(rig->is_synced);
    assert_true(rig->is_leading);
    assert_string_equal(rig_check(rig, "folder"), "ok");
    assert_string_equal(rig_check(rig, "store"), "ok");
}

static void empty_folder_is_synced(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "");
    assert_true(rig->is_synced);
}

static void object_gets_what_a_cluster_would_give(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    const struct object *object = rig_thing(rig, "www");
    assert_int_equal(object->generation, 1);
    assert_int_equal(object->created_s, RIG_START_S);
    assert_int_equal(object->deleted_s, 0);
    assert_false(object->has_finalizer);
    assert_true(object_version(object).len > 0);
    uint8_t none[16] = {0};
    assert_memory_not_equal(object->uid, none, 16);
}

static void status_file_lies_beside_the_manifest(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "sub/web.yaml", THING("www", "value: a"));
    rig_open(rig);
    const char *text = rig_read(rig, "sub/web.yaml.status");
    assert_non_null(strstr(text, "--- # Thing.test.example.org shop/www 1\n"));
    assert_non_null(strstr(text, "creationTimestamp: \"2023-11-14T22:13:20Z\"\n"));
    assert_non_null(strstr(text, "\nlastGoodSpec:\n  spec:\n    value: a\n    colour: green\n"));
    assert_string_equal(text + strlen(text) - 4, "...\n");
}

static void restart_of_a_settled_folder_writes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: b"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig->object, "{\"state\":\"Created\"}"));
    rig_run(rig, 100);
    struct object *before = object_ref(rig_thing(rig, "www"));
    autofree char *text = mem_copy_text(rig_read(rig, "web.yaml.status"));
    rig_restart(rig);
    const struct object *after = rig_thing(rig, "www");
    assert_memory_equal(before->uid, after->uid, 16);
    assert_true(text_equal(object_version(before), object_version(after)));
    assert_true(text_equal(object_managed(before), object_managed(after)));
    assert_true(text_equal(object_spec(before), object_spec(after)));
    assert_true(content_id_equal(before->status_id, after->status_id));
    assert_int_equal(before->generation, after->generation);
    assert_int_equal(before->created_s, after->created_s);
    assert_true(after->has_finalizer);
    assert_string_equal(rig_read(rig, "web.yaml.status"), text);
    object_unref(before);
}

static void edit_is_told_after_settling_with_a_new_generation(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: b"));
    rig_open(rig);
    rig_reported(rig);
    rig_write(rig, "web.yaml", THING("www", "value: c") THING("api", "value: b"));
    rig_run(rig, 99);
    assert_string_equal(rig_reported(rig), "");
    rig_run(rig, 1);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_int_equal(rig_thing(rig, "www")->generation, 2);
    assert_int_equal(rig_thing(rig, "api")->generation, 1);
}

static unsigned count_lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

// Its documents one by one, a slice of the work each.
static void step_until_reported(struct rig *rig, unsigned lines)
{
    for (unsigned known = 0; known < lines;) {
        assert_true(virtual_loop_step(rig->loop));
        unsigned reported = rig->reported.at ? count_lines(rig->reported.at) : 0;
        assert_true(reported <= known + 1);
        known = reported;
    }
}

static void file_is_read_over_several_steps_and_is_whole_all_the_same(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml",
              THING("a", "value: x") THING("b", "value: x") THING("c", "value: x")
                  THING("d", "value: x"));
    rig_open(rig);
    rig_reported(rig);
    virtual_loop_slow_down(rig->loop, 20);
    rig_write(rig, "web.yaml",
              THING("d", "value: y") THING("a", "value: y") THING("e", "value: y")
                  THING("b", "value: y") THING("f", "value: y"));
    step_until_reported(rig, 2);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/d\nMODIFIED Thing shop/a\n");
    assert_int_equal(rig_thing(rig, "c")->deleted_s, 0);
    rig_write(rig, "web.yaml", THING("a", "value: z"));
    step_until_reported(rig, 2);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/e\nMODIFIED Thing shop/b\n");
    assert_int_equal(rig_thing(rig, "c")->deleted_s, 0);
    virtual_loop_slow_down(rig->loop, 0);
    rig_run(rig, 1000);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/f\n.\n"
                                           "MODIFIED Thing shop/a\nDELETED Thing shop/b\n"
                                           "DELETED Thing shop/d\nDELETED Thing shop/e\n"
                                           "DELETED Thing shop/f\nDELETED Thing shop/c\n.\n");
}

static void ask_to_release(struct rig *rig, const char *name)
{
    rig->is_answered = false;
    store_remove_finalizer(rig->store, rig_thing(rig, name), rig_answered, rig);
}

// Half a file would be acted upon as if it were all of it.
static void answer_does_not_end_the_batch_of_a_half_read_file(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "gone.yaml", THING("gone", "value: x"));
    rig_write(rig, "web.yaml", THING("a", "value: x") THING("b", "value: x"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "gone"), "[]"));
    rig_take_away(rig, "gone.yaml");
    rig_reported(rig);
    virtual_loop_slow_down(rig->loop, 20);
    rig_write(rig, "web.yaml",
              THING("a", "value: y") THING("c", "value: y") THING("d", "value: y"));
    step_until_reported(rig, 1);
    ask_to_release(rig, "gone");
    while (!rig->is_answered)
        assert_true(virtual_loop_step(rig->loop));
    assert_true(rig->is_ok);
    virtual_loop_slow_down(rig->loop, 0);
    rig_run(rig, 1000);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/a\nADDED Thing shop/c\n"
                                           "DELETED Thing shop/gone\nADDED Thing shop/d\n"
                                           "DELETED Thing shop/b\n.\n");
}

static void half_read_file_is_read_anew_by_the_next_process(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("a", "value: x") THING("b", "value: x"));
    rig_open(rig);
    rig_reported(rig);
    virtual_loop_slow_down(rig->loop, 20);
    rig_write(rig, "web.yaml", THING("a", "value: y") THING("b", "value: y"));
    step_until_reported(rig, 1);
    virtual_loop_slow_down(rig->loop, 0);
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/a\nADDED Thing shop/b\n.\n");
    assert_int_equal(rig_thing(rig, "b")->generation, 2);
}

static void steady_changes_are_looked_at_within_a_second(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    for (int i = 0; i < 19; i++) {
        rig_write(rig, "web.yaml", THING("www", "value: c"));
        rig_run(rig, 50);
    }
    assert_string_equal(rig_reported(rig), "");
    rig_write(rig, "web.yaml", THING("www", "value: c"));
    rig_run(rig, 50);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
}

// It writes on while the folder is looked at, and ends a while later.
static void what_a_slow_editor_has_not_written_yet_is_not_gone(void **state)
{
    struct rig *rig = *state;
    static const char *const parts[] = {THING("a", "value: x"), THING("b", "value: x"),
                                        THING("c", "value: x")};
    AUTO_BUFFER text = {0};
    rig_write(rig, "web.yaml",
              THING("a", "value: y") THING("b", "value: x") THING("c", "value: x"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "c"), "[]"));
    rig_reported(rig);
    for (int i = 0; i < 45; i++) {
        if (i % 15 == 0)
            buffer_add_text(&text, parts[i / 15]);
        buffer_add_text(&text, "# more\n");
        rig_write(rig, "web.yaml", text.at);
        rig_run(rig, 90);
        assert_true(i < 15 || rig_thing(rig, "a")->generation == 2);
    }
    rig_run(rig, 1000);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/a\n.\n");
    assert_int_equal(rig_thing(rig, "c")->deleted_s, 0);
    rig_change(rig, "web.yaml", THING("a", "value: x"));
    assert_null(rig_thing(rig, "b"));
    assert_true(rig_thing(rig, "c")->deleted_s > 0);
}

static void what_is_gone_is_believed_after_a_while_however_busy_the_folder_is(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "busy.yaml", THING("busy", "value: x"));
    rig_write(rig, "web.yaml", THING("www", "value: x"));
    rig_open(rig);
    rig_reported(rig);
    rig_remove(rig, "web.yaml");
    for (int i = 0; i < 70; i++) {
        rig_write(rig, "busy.yaml", i % 2 ? THING("busy", "value: x") : THING("busy", "value: y"));
        rig_run(rig, 90);
        assert_true(i > 50 || rig_thing(rig, "www"));
    }
    assert_null(rig_thing(rig, "www"));
}

// Two files that swap what they hold, and swap it back while the second is being read.
static void what_moves_back_behind_the_reader_is_not_gone(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "a.yaml", THING("a", "value: x"));
    rig_write(rig, "b.yaml", THING("b", "value: x") THING("c", "value: x") THING("d", "value: x"));
    rig_open(rig);
    rig_reported(rig);
    rig_write(rig, "a.yaml", THING("b", "value: y") THING("c", "value: y"));
    rig_write(rig, "b.yaml", THING("a", "value: y") THING("d", "value: y"));
    virtual_loop_slow_down(rig->loop, 20);
    step_until_reported(rig, 2);
    rig_write(rig, "a.yaml", THING("a", "value: z"));
    rig_write(rig, "b.yaml", THING("b", "value: z") THING("c", "value: z") THING("d", "value: z"));
    virtual_loop_slow_down(rig->loop, 0);
    rig_run(rig, 2000);
    assert_null(strstr(rig_reported(rig), "DELETED"));
}

static void labels_and_formatting_make_no_generation(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    rig_change(rig, "web.yaml", "# just a comment\n" THING("www", "value: \"a\""));
    assert_string_equal(rig_reported(rig), "");
    rig_change(rig, "web.yaml",
               "{\"apiVersion\":\"test.example.org/v1\",\"kind\":\"Thing\",\"metadata\":"
               "{\"name\":\"www\",\"namespace\":\"shop\",\"annotations\":{\"paused\":\"true\"}},"
               "\"spec\":{\"value\":\"a\"}}");
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_int_equal(rig_thing(rig, "www")->generation, 1);
}

static void document_without_namespace_is_in_default(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml",
              "apiVersion: test.example.org/v1\nkind: Thing\nmetadata: {name: www}\n"
              "spec: {value: a}\n");
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing default/www\n.\n");
}

static void gone_document_without_finalizer_is_deleted_at_once(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: b"));
    rig_open(rig);
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/api\n.\n");
    assert_null(rig_thing(rig, "api"));
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "shop/api"));
    rig_take_away(rig, "web.yaml");
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\n");
    assert_false(rig_has(rig, "web.yaml.status"));
}

static void finalizer_holds_a_deletion(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig->object->has_finalizer);
    rig_reported(rig);
    rig_take_away(rig, "web.yaml");
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www in deletion\n.\n");
    const struct object *object = rig_thing(rig, "www");
    assert_int_equal(object->deleted_s, RIG_START_S);
    struct pack_reader spec = pack_open(object_spec(object));
    assert_true(text_is(unpack_text(&spec), "a"));
    struct pack_reader ours = pack_open(object_managed(object));
    assert_true(text_is(unpack_text(&ours), "[1]"));
    assert_true(rig_has(rig, "web.yaml.status"));
    assert_true(rig_release(rig, object));
    assert_false(rig->object->has_finalizer);
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\n");
    rig_run(rig, 100);
    assert_null(rig_thing(rig, "www"));
    assert_false(rig_has(rig, "web.yaml.status"));
}

static void deletion_survives_a_restart(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_take_away(rig, "web.yaml");
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www in deletion\n.\n");
    const struct object *object = rig_thing(rig, "www");
    struct pack_reader spec = pack_open(object_spec(object));
    assert_true(text_is(unpack_text(&spec), "a"));
    assert_true(rig_release(rig, object));
    rig_run(rig, 100);
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "");
}

static void document_removed_while_down_is_deleted_at_the_start(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: b"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_drop(rig);
    rig_remove(rig, "web.yaml");
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n"
                                           "MODIFIED Thing shop/www in deletion\n.\n");
}

static void document_that_comes_back_in_deletion_is_made_again(void **state)
{
    struct rig *rig = *state;
    uint8_t uid[16];
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    memcpy(uid, rig->object->uid, 16);
    rig_take_away(rig, "web.yaml");
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_equal(rig_reported(rig), "");
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "a"));
    assert_true(rig_release(rig, rig_thing(rig, "www")));
    rig_run(rig, 100);
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\nADDED Thing shop/www\n.\n");
    assert_memory_not_equal(uid, rig_thing(rig, "www")->uid, 16);
    assert_int_equal(rig_thing(rig, "www")->deleted_s, 0);
}

static void annotations_reach_an_object_in_deletion(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_take_away(rig, "web.yaml");
    rig_reported(rig);
    rig_change(rig, "web.yaml",
               "apiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: www\n"
               "  namespace: shop\n  annotations: {paused: \"yes\"}\nspec: {value: other}\n");
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www in deletion\n.\n");
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "a"));
    unpack_signed(&spec);
    unpack_text(&spec);
    assert_true(text_is(unpack_text(&spec), "yes"));
}

static void document_that_moves_between_files_is_the_same_object(void **state)
{
    struct rig *rig = *state;
    uint8_t uid[16];
    rig_write(rig, "b.yaml", THING("www", "value: a") THING("api", "value: b"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig->object, "{\"state\":\"Created\"}"));
    memcpy(uid, rig->object->uid, 16);
    rig_reported(rig);
    rig_write(rig, "b.yaml", THING("api", "value: b"));
    rig_change(rig, "c.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "");
    assert_memory_equal(uid, rig_thing(rig, "www")->uid, 16);
    assert_null(strstr(rig_read(rig, "b.yaml.status"), "shop/www"));
    assert_non_null(strstr(rig_read(rig, "c.yaml.status"), "state: Created"));
    rig_write(rig, "c.yaml", "");
    rig_remove(rig, "c.yaml");
    rig_change(rig, "a.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "");
    assert_memory_equal(uid, rig_thing(rig, "www")->uid, 16);
    assert_false(rig_has(rig, "c.yaml.status"));
    assert_non_null(strstr(rig_read(rig, "a.yaml.status"), "state: Created"));
}

static void document_that_moved_while_down_is_the_same_object(void **state)
{
    struct rig *rig = *state;
    uint8_t uid[16];
    rig_write(rig, "b.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    memcpy(uid, rig->object->uid, 16);
    rig_run(rig, 100);
    rig_drop(rig);
    rig_remove(rig, "b.yaml");
    rig_write(rig, "sub/c.yaml", THING("www", "value: a"));
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    assert_memory_equal(uid, rig_thing(rig, "www")->uid, 16);
    assert_true(rig_thing(rig, "www")->has_finalizer);
    assert_false(rig_has(rig, "b.yaml.status"));
    assert_true(rig_has(rig, "sub/c.yaml.status"));
}

static void get_answers_the_whole_object(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml",
              "apiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: www\n"
              "  namespace: shop\n  labels: {a: b}\n  annotations: {paused: \"yes\"}\n"
              "spec: {value: x}\n");
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig->object, "{\"state\":\"Created\"}"));
    const char *json = rig_get(rig, RIG_THING, "shop", "www");
    assert_non_null(strstr(json, "\"labels\":{\"a\":\"b\"}"));
    assert_non_null(strstr(json, "\"annotations\":{\"paused\":\"yes\","
                                 "\"test.example.org/claims\":\"[1]\"}"));
    assert_non_null(strstr(json, "\"finalizers\":[\"test.example.org/finalizer\"]"));
    assert_non_null(strstr(json, "\"spec\":{\"value\":\"x\",\"colour\":\"green\"}"));
    assert_non_null(strstr(json, "\"status\":{\"state\":\"Created\"}"));
    assert_string_equal(rig_get(rig, RIG_THING, "shop", "none"), "");
    assert_int_equal(rig->error.fault, FAULT_RACE);
    assert_int_equal(rig->error.status, 404);
}

static void state_folder_keeps_the_manifests_clean(void **state)
{
    struct rig *rig = *state;
    test_folder_make(rig->state_dir);
    rig_write(rig, "sub/web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    assert_false(rig_has(rig, "sub/web.yaml.status"));
    assert_false(rig_has(rig, ".signpost"));
    rig_restart(rig);
    assert_true(rig_thing(rig, "www")->has_finalizer);
}

static void remove_sub_folder(struct rig *rig)
{
    static const char *const names[] = {"/sub/web.yaml", "/sub/web.yaml.status", "/sub"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_BUFFER path = {0};
        buffer_printf(&path, "%s%s", rig->dir, names[i]);
        assert_int_equal(remove(path.at), 0);
    }
}

static void a_folder_that_its_user_removed_is_not_made_again(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "sub/web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, 200);
    assert_true(rig_has(rig, "sub/web.yaml.status"));
    remove_sub_folder(rig);
    rig_run(rig, 20000);
    assert_true(rig_thing(rig, "www")->deleted_s > 0);
    assert_false(rig_has(rig, "sub"));
    for (int i = 0; i < 2; i++) {
        rig_restart(rig);
        assert_true(rig_thing(rig, "www")->has_finalizer);
        assert_true(rig_thing(rig, "www")->deleted_s > 0);
        assert_false(rig_has(rig, "sub"));
    }
    assert_true(rig_release(rig, rig_thing(rig, "www")));
    rig_run(rig, 1000);
    assert_null(rig_thing(rig, "www"));
    rig_restart(rig);
    assert_null(rig_thing(rig, "www"));
    assert_false(rig_has(rig, "sub"));
    assert_false(rig_has_logged(rig, "got lost"));
}

static void new_folder_is_watched(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    rig_change(rig, "new/er/web.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    rig_change(rig, "new/er/api.yaml", THING("api", "value: a"));
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/api\n.\n");
}

// A dry run puts what would be made into the cache, and takes out what would go.
static void a_dry_run_in_the_cache_is_no_contradiction(void **state)
{
    struct rig *rig = *state;
    struct error err;
    CLEANUP(arena) struct arena *arena = arena_new();
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    struct value *tree = value_read_json(
        arena,
        TEXT("{\"metadata\":{\"name\":\"new\",\"namespace\":\"shop\",\"uid\":\"dry\"},"
             "\"spec\":{\"value\":\"b\"}}"),
        &value_reply_limits, &err);
    const struct object *www = rig_thing(rig, "www");
    struct object *made = object_new(www->kind, NULL, tree);
    assert_null(cache_put(rig->store->cache, made));
    assert_ptr_equal(cache_take(rig->store->cache, www->kind, TEXT("shop"), TEXT("www")), www);
    rig_write(rig, "new.yaml", THING("new", "value: c"));
    rig_take_away(rig, "web.yaml");
    assert_non_null(strstr(rig_reported(rig), "MODIFIED Thing shop/new\n"));
    assert_null(rig_thing(rig, "www"));
    assert_string_equal(rig_check(rig, "store"), "ok");
    object_unref(www);
}

static void list_objects_are_opened(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "list.yaml",
              "apiVersion: v1\nkind: List\nitems:\n"
              "- {apiVersion: test.example.org/v1, kind: Thing, metadata: {name: a}, spec: {value: "
              "x}}\n"
              "- {apiVersion: test.example.org/v1, kind: Place, metadata: {name: b}, spec: {}}\n");
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing default/a\nADDED Place b\n.\n");
}

static void files_that_are_no_manifests_are_skipped(void **state)
{
    static const char *const names[] = {".web.yaml",    "#web.yaml", "web.yaml~",    "web.yaml.tmp",
                                        "web.yaml.swp", "web.txt",   ".git/web.yaml"};
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        rig_write(rig, names[i], THING("www", "value: a"));
    rig_write(rig, "ok.yml", THING("yml", "value: a"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/yml\n.\n");
}

static void patch_b(struct rig *rig)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *status = value_make(arena, VALUE_MAP);
    value_set(status, TEXT("state"), value_make_text(arena, TEXT("Created")));
    store_patch_status(rig->store, rig_thing(rig, "b"), status, rig_answered, rig);
}

static void a_reply_does_not_lead_back_behind_an_edit(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("a", "value: a") THING("b", "value: b"));
    rig_open(rig);
    rig->in_event = patch_b;
    rig->is_answered = false;
    rig_change(rig, "web.yaml", THING("a", "value: c") THING("b", "value: d"));
    rig_run(rig, 1000);
    assert_true(rig->is_answered && rig->is_ok);
    assert_ptr_equal(rig->object, rig_thing(rig, "b"));
    assert_int_equal(rig->object->generation, 2);
}

#define MADE ".signpost/made/tokens.shop.zones.yaml"

static void what_we_make_is_a_manifest_beside_the_state(void **state)
{
    struct rig *rig = *state;
    rig->kind_count = 2; // nobody reads Tokens
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"1\",\"b\":\"2\"}", NULL));
    assert_null(rig->object);
    assert_non_null(strstr(rig_read(rig, MADE), "kind: Token\nmetadata:\n  name: zones\n"));
    assert_non_null(strstr(rig_read(rig, MADE), "data:\n  a: \"1\"\n  b: \"2\"\n"));
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"c\":\"3\"}", "[\"b\",\"d\"]"));
    assert_non_null(strstr(rig_read(rig, MADE), "data:\n  c: \"3\"\n  b: \"2\"\n"));
    rig_run(rig, 2000);
    assert_string_equal(rig_reported(rig), "");
}

static void what_we_made_and_cannot_read_stays_as_it_is(void **state)
{
    struct rig *rig = *state;
    rig->kind_count = 2; // nobody reads Tokens
    AUTO_BUFFER large = {0};
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"1\"}", NULL));
    buffer_printf(&large, "data: {a: \"1\"}\n#%*s\n", 16 << 20, "");
    rig_write(rig, MADE, large.at);
    assert_false(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"b\":\"2\"}", "[\"a\"]"));
    assert_non_null(strstr(rig->error.text, MADE));
    rig_remove(rig, MADE);
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"b\":\"2\"}", "[\"a\"]"));
    assert_non_null(strstr(rig_read(rig, MADE), "data:\n  b: \"2\"\n"));
}

static void what_we_made_goes_with_its_owner(void **state)
{
    struct rig *rig = *state;
    rig->kind_count = 2; // nobody reads Tokens
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "mail.yaml", THING("mail", "value: a"));
    rig_open(rig);
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"1\"}", NULL));
    assert_true(rig_put(rig, "more", rig_thing(rig, "mail"), "{\"a\":\"1\"}", NULL));
    rig_restart(rig);
    assert_true(rig_has(rig, MADE));
    rig_take_away(rig, "web.yaml");
    assert_false(rig_has(rig, MADE));
    assert_true(rig_has(rig, ".signpost/made/tokens.shop.more.yaml"));
    rig_drop(rig);
    rig_remove(rig, "mail.yaml");
    rig_open(rig);
    rig_run(rig, 10000);
    assert_false(rig_has(rig, ".signpost/made/tokens.shop.more.yaml"));
}

#define CHILD ".signpost/children/things.shop.child.yaml"

static void a_child_is_an_object_like_those_of_users(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    assert_true(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"1\"}", NULL));
    rig_run(rig, 300);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/child\n.\n");
    assert_true(rig_claim(rig, rig_thing(rig, "child"), "x"));
    assert_true(rig_patch(rig, rig_thing(rig, "child"), "{\"state\":\"Made\"}"));
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, CHILD ".status"), "state: Made"));
    assert_non_null(strstr(rig_list(rig, false), CHILD " Thing child"));
    rig_reported(rig);
    rig_restart(rig);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "child"), "\"state\":\"Made\""));
    assert_true(rig_release(rig, rig_thing(rig, "child")));
    assert_true(rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"2\"}",
                                     rig_thing(rig, "child")));
    rig_run(rig, 300);
    assert_int_equal(rig_thing(rig, "child")->generation, 2);
    assert_non_null(strstr(rig_read(rig, CHILD), "value:"));
    assert_true(rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":null}",
                                     rig_thing(rig, "child")));
    rig_run(rig, 300);
    assert_null(strstr(rig_read(rig, CHILD), "value:"));
    assert_true(rig_drop_owned_object(rig, rig_thing(rig, "child")));
    rig_run(rig, 1000);
    assert_null(rig_thing(rig, "child"));
    assert_false(rig_has(rig, CHILD));
    assert_false(rig_has(rig, CHILD ".status"));
}

static void a_child_never_takes_the_place_of_what_was_not_seen(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("mail", "value: a"));
    rig_open(rig);
    assert_false(
        rig_put_owned_object(rig, "mail", rig_thing(rig, "www"), "{\"value\":\"1\"}", NULL));
    assert_int_equal(rig->error.status, 409);
    assert_false(rig_put_owned_object(rig, "mail", rig_thing(rig, "www"), "{\"value\":\"1\"}",
                                      rig_thing(rig, "mail")));
    assert_int_equal(rig->error.fault, FAULT_SPEC);
    assert_false(rig_drop_owned_object(rig, rig_thing(rig, "mail")));
    assert_int_equal(rig->error.fault, FAULT_SPEC);
    assert_true(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"1\"}", NULL));
    assert_false(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"2\"}", NULL));
    assert_int_equal(rig->error.status, 409);
    rig_run(rig, 300);
    const struct object *seen = object_ref(rig_thing(rig, "child"));
    assert_true(rig_patch(rig, seen, "{\"state\":\"Made\"}"));
    assert_false(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"2\"}", seen));
    assert_int_equal(rig->error.status, 409);
    assert_false(rig_drop_owned_object(rig, seen));
    assert_int_equal(rig->error.status, 409);
    assert_true(rig_drop_owned_object(rig, rig_thing(rig, "child")));
    rig_run(rig, 300);
    assert_true(rig_drop_owned_object(rig, seen));
    object_unref(seen);
    assert_non_null(strstr(rig_read(rig, "web.yaml"), "mail"));
}

static void labels_that_somebody_took_off_a_child_are_put_back(void **state)
{
    struct rig *rig = *state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char uid[37];
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("mail", "value: a"));
    rig_open(rig);
    object_write_uid(rig_thing(rig, "www"), uid);
    rig_write(rig, CHILD,
              arena_printf(arena,
                           "apiVersion: test.example.org/v1\nkind: Thing\nmetadata: {name: child, "
                           "namespace: shop, ownerReferences: [{uid: %s}]}\nspec: {value: b}\n",
                           uid));
    assert_false(
        rig_put_owned_object(rig, "child", rig_thing(rig, "mail"), "{\"value\":\"1\"}", NULL));
    assert_int_equal(rig->error.status, 409);
    assert_null(strstr(rig_read(rig, CHILD), "made: here"));
    assert_true(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"1\"}", NULL));
    assert_non_null(strstr(rig_read(rig, CHILD), "made: here"));
    assert_non_null(strstr(rig_read(rig, CHILD), "value: b"));
}

static void a_child_goes_with_its_owner(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "mail.yaml", THING("mail", "value: a"));
    rig_open(rig);
    assert_true(
        rig_put_owned_object(rig, "child", rig_thing(rig, "www"), "{\"value\":\"1\"}", NULL));
    assert_true(
        rig_put_owned_object(rig, "other", rig_thing(rig, "mail"), "{\"value\":\"1\"}", NULL));
    rig_run(rig, 300);
    rig_take_away(rig, "web.yaml");
    rig_run(rig, 300);
    assert_null(rig_thing(rig, "child"));
    assert_false(rig_has(rig, CHILD));
    assert_non_null(rig_thing(rig, "other"));
    // While nobody is there: it is gone before anybody hears that all is read.
    rig_drop(rig);
    rig_remove(rig, "mail.yaml");
    rig_reported(rig);
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/other\nDELETED Thing shop/other\n.\n");
    assert_null(rig_thing(rig, "other"));
}

static void children_are_no_reason_to_believe_an_empty_folder(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER many = {0};
    for (int i = 0; i < 12; i++)
        buffer_printf(&many, THING("t%d", "value: a"), i);
    rig_write(rig, "web.yaml", many.at);
    rig_open(rig);
    assert_true(
        rig_put_owned_object(rig, "child", rig_thing(rig, "t0"), "{\"value\":\"1\"}", NULL));
    rig_run(rig, 300);
    rig_take_away(rig, "web.yaml");
    assert_non_null(strstr(rig->why.at, "no manifests where 12 were known"));
    assert_non_null(rig_thing(rig, "t0"));
    assert_non_null(rig_thing(rig, "child"));
}

// A folded multiplication hashed both texts to the same 64 bits.
static void an_edit_that_another_text_was_made_to_hide_is_read(void **state)
{
    static const char before[] =
        "---\napiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: a\n"
        "  namespace: shop\n  annotations: {nnnnnnnnnnnnn: \"00041292\"}\nspec:\n"
        "  value: aaaaaaaa.055m--R\n# the end of the file\n";
    char after[sizeof before];
    struct rig *rig = *state;
    memcpy(after, before, sizeof before);
    memset(strstr(after, "aaaaaaaa"), 'b', 8);
    rig_write(rig, "web.yaml", before);
    rig_open(rig);
    rig_reported(rig);
    rig_change(rig, "web.yaml", after);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/a\n.\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, clear)
    const struct CMUnitTest tests[] = {
        CASE(first_pass_is_one_batch_then_synced_then_leading),
        CASE(empty_folder_is_synced),
        CASE(object_gets_what_a_cluster_would_give),
        CASE(status_file_lies_beside_the_manifest),
        CASE(restart_of_a_settled_folder_writes_nothing),
        CASE(edit_is_told_after_settling_with_a_new_generation),
        CASE(file_is_read_over_several_steps_and_is_whole_all_the_same),
        CASE(answer_does_not_end_the_batch_of_a_half_read_file),
        CASE(half_read_file_is_read_anew_by_the_next_process),
        CASE(steady_changes_are_looked_at_within_a_second),
        CASE(what_a_slow_editor_has_not_written_yet_is_not_gone),
        CASE(what_is_gone_is_believed_after_a_while_however_busy_the_folder_is),
        CASE(what_moves_back_behind_the_reader_is_not_gone),
        CASE(labels_and_formatting_make_no_generation),
        CASE(document_without_namespace_is_in_default),
        CASE(gone_document_without_finalizer_is_deleted_at_once),
        CASE(finalizer_holds_a_deletion),
        CASE(deletion_survives_a_restart),
        CASE(document_removed_while_down_is_deleted_at_the_start),
        CASE(document_that_comes_back_in_deletion_is_made_again),
        CASE(annotations_reach_an_object_in_deletion),
        CASE(document_that_moves_between_files_is_the_same_object),
        CASE(document_that_moved_while_down_is_the_same_object),
        CASE(get_answers_the_whole_object),
        CASE(state_folder_keeps_the_manifests_clean),
        CASE(a_folder_that_its_user_removed_is_not_made_again),
        CASE(new_folder_is_watched),
        CASE(a_dry_run_in_the_cache_is_no_contradiction),
        CASE(list_objects_are_opened),
        CASE(files_that_are_no_manifests_are_skipped),
        CASE(a_reply_does_not_lead_back_behind_an_edit),
        CASE(what_we_make_is_a_manifest_beside_the_state),
        CASE(what_we_made_and_cannot_read_stays_as_it_is),
        CASE(what_we_made_goes_with_its_owner),
        CASE(a_child_is_an_object_like_those_of_users),
        CASE(a_child_never_takes_the_place_of_what_was_not_seen),
        CASE(labels_that_somebody_took_off_a_child_are_put_back),
        CASE(a_child_goes_with_its_owner),
        CASE(children_are_no_reason_to_believe_an_empty_folder),
        CASE(an_edit_that_another_text_was_made_to_hide_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
