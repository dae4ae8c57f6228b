#include "rig.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "model/faulty_disk.h"
#include "model/virtual_loop.h"

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

// ---- guards -------------------------------------------------------------------------------------

static void stale_status_patch_is_a_race(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    struct object *seen = object_ref(rig_thing(rig, "www"));
    assert_true(rig_patch(rig, seen, "{\"state\":\"Created\"}"));
    assert_false(rig_patch(rig, seen, "{\"state\":\"Error\"}"));
    assert_int_equal(rig->error.fault, FAULT_RACE);
    assert_int_equal(rig->error.status, 409);
    assert_non_null(strstr(rig->error.text, "Thing shop/www: the object has been modified"));
    object_unref(seen);
}

static void apply_is_guarded_by_uid_alone(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    struct object *seen = object_ref(rig_thing(rig, "www"));
    assert_true(rig_patch(rig, seen, "{\"state\":\"Created\"}"));
    assert_true(rig_claim(rig, seen, "[1]"));
    rig_take_away(rig, "web.yaml");
    assert_true(rig_release(rig, rig_thing(rig, "www")));
    assert_false(rig_claim(rig, seen, "[2]"));
    assert_int_equal(rig->error.fault, FAULT_RACE);
    assert_int_equal(rig->error.status, 404);
    rig_change(rig, "web.yaml", THING("www", "value: a"));
    assert_false(rig_claim(rig, seen, "[2]"));
    assert_int_equal(rig->error.fault, FAULT_RACE);
    assert_int_equal(rig->error.status, 409);
    assert_non_null(strstr(rig->error.text, "uid mismatch"));
    object_unref(seen);
}

static void stale_removal_of_the_finalizer_is_a_race(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    struct object *seen = object_ref(rig_thing(rig, "www"));
    assert_true(rig_claim(rig, seen, "[1]"));
    assert_false(rig_release(rig, seen));
    assert_int_equal(rig->error.status, 409);
    assert_true(rig_release(rig, rig_thing(rig, "www")));
    assert_false(rig_thing(rig, "www")->has_finalizer);
    object_unref(seen);
}

static void claims_can_change_in_deletion(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_take_away(rig, "web.yaml");
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    struct pack_reader ours = pack_open(object_managed(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&ours), "[2]"));
    assert_int_equal(rig_thing(rig, "www")->deleted_s, RIG_START_S);
}

static void kind_without_finalizer_gets_none(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "t.yaml", TOKEN("t", "abcd"));
    rig_open(rig);
    assert_false(rig_claim(rig, rig_find(rig, RIG_TOKEN, "shop", "t"), "[1]"));
    assert_int_equal(rig->error.fault, FAULT_SPEC);
    assert_int_equal(rig->error.status, 422);
}

static void writes_that_change_nothing_keep_the_version(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig->object, "{\"state\":\"Created\",\"count\":null}"));
    struct object *seen = object_ref(rig->object);
    assert_true(rig_claim(rig, seen, "[1]"));
    assert_true(text_equal(object_version(rig->object), object_version(seen)));
    assert_true(rig_patch(rig, seen, "{\"state\":\"Created\"}"));
    assert_true(text_equal(object_version(rig->object), object_version(seen)));
    object_unref(seen);
}

static void status_patch_keeps_fields_of_others(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"A\",\"theirs\":{\"x\":1}}"));
    assert_true(rig->object->has_foreign_status);
    assert_true(rig_patch(rig, rig->object, "{\"state\":null,\"count\":3}"));
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"),
                           "\"status\":{\"theirs\":{\"x\":1},\"count\":3}"));
}

static void status_and_claims_give_no_event(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig->object, "{\"state\":\"Created\"}"));
    assert_ptr_equal(rig->object, rig_thing(rig, "www"));
    rig_run(rig, 61000);
    assert_string_equal(rig_reported(rig), "");
}

static void annotation_is_removed_by_null(void **state)
{
    struct rig *rig = *state;
    const struct metadata_change gone = {.key = RIG_CLAIMS};
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_apply(rig, &(struct store_apply){rig->object, false, &gone, 1}));
    struct pack_reader ours = pack_open(object_managed(rig->object));
    assert_null(unpack_text(&ours).at);
    assert_true(rig->object->has_finalizer);
}

static void immutable_field_keeps_the_last_good_object(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a\n  place: here"));
    rig_open(rig);
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("www", "value: b\n  place: there"));
    assert_string_equal(rig_reported(rig), "");
    assert_int_equal(rig_thing(rig, "www")->generation, 1);
    assert_string_equal(rig_check(rig, "manifests"),
                        "1 refused: web.yaml:9:3: spec.place is immutable");
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"),
                           "error: \"web.yaml:9:3: spec.place is immutable\"\n"));
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "a"));
    rig_change(rig, "web.yaml", THING("www", "value: b\n  place: here"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "error:"));
}

// ---- the journal --------------------------------------------------------------------------------

static void claim_is_on_the_disk_when_it_is_answered(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    const char *rows = rig_rows(rig, "SELECT body FROM objects");
    assert_non_null(strstr(rows, "test.example.org/claims: \"[1]\""));
    assert_non_null(strstr(rows, "- test.example.org/finalizer"));
    assert_string_equal(rig_rows(rig, "SELECT count(*) || path FROM objects"), "1web.yaml\n");
    rig_restart(rig);
    struct pack_reader ours = pack_open(object_managed(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&ours), "[1]"));
    assert_true(rig_thing(rig, "www")->has_finalizer);
}

// Changes of the disk that claims of one turn take.
static unsigned claim_together(struct rig *rig, const char *const *names, size_t count,
                               const char *value)
{
    const struct metadata_change claims = {.key = RIG_CLAIMS, .value = value};
    rig_run(rig, 1000);
    unsigned calls = faulty_disk_calls(rig->disk);
    for (size_t i = 0; i < count; i++)
        store_apply(rig->store, &(struct store_apply){rig_thing(rig, names[i]), true, &claims, 1},
                    rig_answered, rig);
    rig->is_answered = false;
    while (!rig->is_answered)
        rig_run(rig, 0);
    return faulty_disk_calls(rig->disk) - calls;
}

static void claims_of_one_turn_share_one_commit(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct rig *rig = *state;
    rig_write(rig, "web.yaml",
              THING("a", "value: a") THING("b", "value: a") THING("c", "value: a"));
    rig_open(rig);
    claim_together(rig, names, 3, "[0]");
    unsigned alone = claim_together(rig, names, 1, "[1]");
    unsigned together = claim_together(rig, names, 3, "[2]");
    assert_int_equal(together, alone);
    assert_string_equal(rig_rows(rig, "SELECT count(*) FROM objects WHERE body LIKE '%[2]%'"),
                        "3\n");
}

static void two_claims_of_one_object_in_one_turn_both_count(void **state)
{
    struct rig *rig = *state;
    const struct metadata_change one = {.key = "one", .value = "1"},
                                 two = {.key = "two", .value = "2"};
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    const struct object *seen = rig_thing(rig, "www");
    store_apply(rig->store, &(struct store_apply){seen, true, &one, 1}, rig_answered, rig);
    store_apply(rig->store, &(struct store_apply){seen, true, &two, 1}, rig_answered, rig);
    rig_run(rig, 100);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"),
                           "\"annotations\":{\"one\":\"1\",\"two\":\"2\"}"));
    rig_restart(rig);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"),
                           "\"annotations\":{\"one\":\"1\",\"two\":\"2\"}"));
}

static void lost_status_files_are_made_again_from_the_state(void **state)
{
    struct rig *rig = *state;
    uint8_t uid[16];
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    memcpy(uid, rig->object->uid, 16);
    rig_run(rig, 100);
    static const char *const losses[] = {NULL, "", "--- # Thing.test.example.org shop/www 1\napiV"};
    for (size_t i = 0; i < COUNT_OF(losses); i++) {
        rig_drop(rig);
        if (losses[i])
            rig_write(rig, "web.yaml.status", losses[i]);
        else
            rig_remove(rig, "web.yaml.status");
        rig_restart(rig);
        assert_memory_equal(rig_thing(rig, "www")->uid, uid, 16);
        assert_true(rig_thing(rig, "www")->has_finalizer);
        rig_run(rig, 100);
        assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "shop/www"));
    }
}

static void folder_removed_with_its_status_files_keeps_its_claims(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "sub/web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_reported(rig);
    AUTO_BUFFER sub = {0};
    buffer_printf(&sub, "%s/sub", rig->dir);
    test_folder_remove(sub.at);
    rig_run(rig, 300);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www in deletion\n.\n");
    struct pack_reader ours = pack_open(object_managed(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&ours), "[1]"));
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "a"));
}

// What is loaded of it is written elsewhere before the manifests are read.
static void folder_removed_while_down_keeps_its_claims_however_long_the_start_takes(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER sub = {0};
    rig_write(rig, "sub/web.yaml", THING("www", "value: a"));
    rig_write(rig, "web.yaml", THING("a", "value: a") THING("b", "value: b"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_drop(rig);
    buffer_printf(&sub, "%s/sub", rig->dir);
    test_folder_remove(sub.at);
    virtual_loop_slow_down(rig->loop, 20);
    rig_restart(rig);
    rig_run(rig, 10000);
    assert_non_null(rig_thing(rig, "www"));
    assert_true(rig_thing(rig, "www")->deleted_s > 0);
    struct pack_reader ours = pack_open(object_managed(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&ours), "[1]"));
}

static void state_does_not_grow_with_changes(void **state)
{
    struct rig *rig = *state;
    autofree char *claims = mem_new(1, 600 * 1024);
    memset(claims, 'x', 600 * 1024 - 1);
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: a"));
    rig_write(rig, "old.yaml", THING("old", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "api"), "[1]"));
    assert_true(rig_claim(rig, rig_thing(rig, "old"), "[1]"));
    rig_take_away(rig, "old.yaml");
    assert_true(rig_release(rig, rig_thing(rig, "old")));
    for (int i = 0; i < 15; i++) {
        claims[0] = (char)('a' + i);
        assert_true(rig_claim(rig, rig_thing(rig, "www"), claims));
    }
    rig_run(rig, 1000);
    rig_drop(rig);
    assert_true(strlen(rig_rows(rig, "SELECT body FROM objects")) < 1024 * 1024);
    rig_remove(rig, "web.yaml.status");
    rig_restart(rig);
    assert_true(rig_thing(rig, "api")->has_finalizer);
    assert_null(rig_thing(rig, "old"));
    struct pack_reader ours = pack_open(object_managed(rig_thing(rig, "www")));
    assert_int_equal(unpack_text(&ours).at[0], 'a' + 14);
}

// ---- status files -------------------------------------------------------------------------------

static void status_file_is_written_at_once_and_then_every_50_ms(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 1000);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":1}"));
    rig_run(rig, 0);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "count: 1"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":2}"));
    rig_run(rig, 49);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "count: 1"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":3}"));
    rig_run(rig, 1);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "count: 3"));
}

static void flush_writes_what_waits(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 1000);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":1}"));
    rig_run(rig, 0);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":2}"));
    store_flush(rig->store);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "count: 2"));
}

static void large_status_file_is_written_seldom_whatever_else_is_written(void **state)
{
    enum { LARGE = 1400 * 1024, PAUSE_MS = LARGE / (20 * 1024) };
    struct rig *rig = *state;
    autofree char *claims = mem_new(1, LARGE + 1);
    memset(claims, 'x', LARGE);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "small.yaml", THING("small", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), claims));
    rig_run(rig, 1000);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, PAUSE_MS - 10);
    assert_true(rig_patch(rig, rig_thing(rig, "small"), "{\"state\":\"Created\"}"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Gone\"}"));
    rig_run(rig, 5);
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "state: Gone"));
    rig_run(rig, 10);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "state: Gone"));
}

static void documents_of_kinds_that_are_not_served_stay_in_the_status_file(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") PLACE("home", "server: x"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_find(rig, RIG_PLACE, "", "home"), "[1]"));
    rig_run(rig, 100);
    rig->kind_count = 1;
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":1}"));
    rig_run(rig, 100);
    rig->kind_count = 0;
    rig_restart(rig);
    assert_true(rig_find(rig, RIG_PLACE, "", "home")->has_finalizer);
}

// ---- secrets ------------------------------------------------------------------------------------

static bool appears_anywhere(struct rig *rig, const char *word)
{
    static const char *const files[] = {"t.yaml.status", ".signpost/events.jsonl"};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (strstr(rig_read(rig, files[i]), word))
            return true;
    return strstr(rig_rows(rig, "SELECT body FROM objects"), word) || rig_has_logged(rig, word);
}

static void secrets_lie_aside(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER full = {0};
    struct stat found;
    rig_write(rig, "t.yaml", TOKEN("t", "aHVzaGh1c2g=") PLACE("home", "secret: whisper"));
    rig_open(rig);
    const struct object *place = rig_find(rig, RIG_PLACE, "", "home");
    assert_true(rig_claim(rig, place, "[1]"));
    rig_run(rig, 100);
    assert_non_null(strstr(rig_rows(rig, "SELECT document FROM secrets"), "whisper"));
    static const char *const files[] = {"state.db", "state.db-wal", "state.db-shm"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        buffer_clear(&full);
        buffer_printf(&full, "%s/.signpost/%s", rig->dir, files[i]);
        assert_int_equal(stat(full.at, &found), 0);
        assert_int_equal(found.st_mode & 0777, 0600);
    }
    rig_change(rig, "t.yaml", "");
    rig_remove(rig, "t.yaml");
    rig_run(rig, 300);
    assert_int_equal(rig_find(rig, RIG_PLACE, "", "home")->deleted_s > 0, 1);
    assert_false(appears_anywhere(rig, "whisper"));
    assert_false(appears_anywhere(rig, "aHVzaGh1c2g="));
    rig_restart(rig);
    place = rig_find(rig, RIG_PLACE, "", "home");
    struct pack_reader spec = pack_open(object_spec(place));
    unpack_text(&spec);
    assert_true(text_is(unpack_text(&spec), "whisper"));
    assert_true(rig_release(rig, place));
    rig_run(rig, 100);
    assert_string_equal(rig_rows(rig, "SELECT count(*) FROM secrets"), "0\n");
}

static void secret_in_an_open_file_gets_one_warning(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "t.yaml", TOKEN("a", "eA==") TOKEN("b", "eA=="));
    rig_open(rig);
    rig_change(rig, "t.yaml", TOKEN("a", "eQ==") TOKEN("b", "eA=="));
    const char *first = strstr(rig->logged.at, "a file with secrets can be read by others");
    assert_non_null(first);
    assert_null(strstr(first + 1, "a file with secrets can be read by others"));
}

static void unchanged_secret_keeps_its_generation_over_a_restart(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "t.yaml", TOKEN("t", "eA=="));
    rig_open(rig);
    rig_restart(rig);
    assert_int_equal(rig_find(rig, RIG_TOKEN, "shop", "t")->generation, 1);
    rig_change(rig, "t.yaml", TOKEN("t", "eQ=="));
    assert_int_equal(rig_find(rig, RIG_TOKEN, "shop", "t")->generation, 2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, clear)
    const struct CMUnitTest tests[] = {
        CASE(stale_status_patch_is_a_race),
        CASE(apply_is_guarded_by_uid_alone),
        CASE(stale_removal_of_the_finalizer_is_a_race),
        CASE(claims_can_change_in_deletion),
        CASE(kind_without_finalizer_gets_none),
        CASE(writes_that_change_nothing_keep_the_version),
        CASE(status_patch_keeps_fields_of_others),
        CASE(status_and_claims_give_no_event),
        CASE(annotation_is_removed_by_null),
        CASE(immutable_field_keeps_the_last_good_object),
        CASE(claim_is_on_the_disk_when_it_is_answered),
        CASE(claims_of_one_turn_share_one_commit),
        CASE(two_claims_of_one_object_in_one_turn_both_count),
        CASE(lost_status_files_are_made_again_from_the_state),
        CASE(folder_removed_with_its_status_files_keeps_its_claims),
        CASE(folder_removed_while_down_keeps_its_claims_however_long_the_start_takes),
        CASE(state_does_not_grow_with_changes),
        CASE(status_file_is_written_at_once_and_then_every_50_ms),
        CASE(flush_writes_what_waits),
        CASE(large_status_file_is_written_seldom_whatever_else_is_written),
        CASE(documents_of_kinds_that_are_not_served_stay_in_the_status_file),
        CASE(secrets_lie_aside),
        CASE(secret_in_an_open_file_gets_one_warning),
        CASE(unchanged_secret_keeps_its_generation_over_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
