#include "rig.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "model/faulty_disk.h"

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

// ---- refused documents --------------------------------------------------------------------------

static void broken_document_leaves_its_neighbours_alone(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml",
              THING("a", "value: x") THING("b", "value: 5") THING("c", "value: x"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/a\nADDED Thing shop/c\n.\n");
    assert_string_equal(rig_check(rig, "manifests"),
                        "1 refused: web.yaml:16:3: spec.value: expected text, found a number: "
                        "quote it");
    const char *status = rig_read(rig, "web.yaml.status");
    assert_non_null(strstr(status, "--- # broken 1 0\napiVersion: test.example.org/v1\nkind: "
                                   "Thing\nmetadata:\n  name: b\n  namespace: shop\nerror: "
                                   "\"web.yaml:16:3: spec.value"));
    assert_true(rig_has_logged(rig, "web.yaml:16:3: spec.value"));
    rig_run(rig, 100);
    assert_non_null(strstr(rig_read(rig, ".signpost/events.jsonl"), "\"InvalidManifest\""));
    rig_change(rig, "web.yaml",
               THING("a", "value: x") THING("b", "value: y") THING("c", "value: x"));
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/b\n.\n");
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "broken"));
}

static void broken_document_keeps_its_last_good_object(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("a", "value: x"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "a"), "[1]"));
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("a", "valeu: y"));
    assert_string_equal(rig_reported(rig), "");
    assert_non_null(strstr(rig_check(rig, "manifests"), "did you mean value?"));
    assert_true(rig_patch(rig, rig_thing(rig, "a"), "{\"state\":\"Created\"}"));
    rig_run(rig, 100);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "error: \"web.yaml:"));
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "state: Created"));
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/a\n.\n");
    assert_true(rig_thing(rig, "a")->has_finalizer);
    rig_take_away(rig, "web.yaml");
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/a in deletion\n.\n");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void write_refused(struct rig *rig, const char *path, unsigned count)
{
    AUTO_BUFFER text = {0};
    for (unsigned i = 0; i < count; i++)
        buffer_add_text(&text, "---\n{}\n");
    rig_write(rig, path, text.at);
}

static void thousands_of_refused_documents_are_told_by_their_number(void **state)
{
    struct rig *rig = *state;
    write_refused(rig, "many.yaml", 3000);
    write_refused(rig, "one.yaml", 1);
    rig_open(rig);
    rig_run(rig, 100);
    assert_non_null(strstr(rig_check(rig, "manifests"), "3001 refused: many.yaml:2:1: "));
    assert_int_equal(count_of(rig->logged.at, "a document is refused"), 21);
    assert_int_equal(count_of(rig->logged.at, "more documents of the file are refused"), 1);
    assert_true(rig_has_logged(rig, "\"count\":2980"));
    const char *status = rig_read(rig, "many.yaml.status");
    assert_int_equal(count_of(status, "error:"), 101);
    assert_non_null(strstr(status, "many.yaml: 2900 more documents are refused"));
    rig_run(rig, 20 * 60 * 1000);
    assert_int_equal(count_of(rig->logged.at, "refused"), 22);
}

static void refused_documents_that_come_to_many_are_told_anew_by_their_number(void **state)
{
    struct rig *rig = *state;
    write_refused(rig, "many.yaml", 200);
    rig_open(rig);
    assert_true(rig_has_logged(rig, "\"count\":180"));
    write_refused(rig, "many.yaml", 250);
    rig_run(rig, 5000);
    assert_true(rig_has_logged(rig, "\"count\":150"));
    assert_int_equal(count_of(rig->logged.at, "a document is refused"), 20);
    rig_change(rig, "many.yaml", THING("a", "value: x"));
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    assert_null(strstr(rig_read(rig, "many.yaml.status"), "error:"));
}

static void syntax_error_keeps_all_objects_of_the_file(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("a", "value: x") THING("b", "value: x"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "a"), "[1]"));
    rig_run(rig, 100);
    rig_reported(rig);
    rig_change(rig, "web.yaml", "apiVersion: [oops\n");
    assert_string_equal(rig_reported(rig), "");
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "\nerror: \"web.yaml:"));
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/a\nADDED Thing shop/b\n.\n");
    rig_change(rig, "web.yaml", THING("b", "value: x"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/a in deletion\n.\n");
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "error"));
}

static void document_without_a_kind_may_be_any_object_of_the_file(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("a", "value: x") THING("b", "value: x"));
    rig_open(rig);
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("a", "value: x") "---\nmetadata: {name: b}\n");
    assert_string_equal(rig_reported(rig), "");
    assert_string_equal(rig_check(rig, "manifests"),
                        "1 refused: web.yaml:10:1: apiVersion is required");
}

static void unknown_kinds_are_told_once_and_skipped(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "a.yaml", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}\n");
    rig_write(rig, "b.yaml",
              "{apiVersion: apps/v1, kind: Deployment, metadata: {name: y}}\n"
              "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}\n");
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "");
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    const char *first = strstr(rig->logged.at, "apps/v1 Deployment");
    assert_non_null(first);
    assert_null(strstr(first + 1, "apps/v1 Deployment"));
    assert_true(rig_has_logged(rig, "v1 ConfigMap"));
}

static void unknown_version_of_our_group_is_refused(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "a.yaml",
              "{apiVersion: test.example.org/v9, kind: Thing, metadata: {name: x}}\n");
    rig_write(rig, "b.yaml",
              "{apiVersion: test.example.org/v1, kind: Thign, metadata: {name: x}}\n");
    rig_write(rig, "c.yaml",
              "{apiVersion: test.example.org/v1, kind: Zone, metadata: {name: x}}\n");
    rig_open(rig);
    assert_string_equal(rig_check(rig, "manifests"),
                        "2 refused: a.yaml:1:1: apiVersion: unknown version v9; use "
                        "test.example.org/v1 | b.yaml:1:1: kind: unknown kind Thign; did you mean "
                        "Thing?");
}

static void first_path_holds_an_identity(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "b.yaml", THING("www", "value: b"));
    rig_write(rig, "c.yaml", THING("www", "value: c"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    assert_string_equal(
        rig_check(rig, "manifests"),
        "1 refused: c.yaml:2:1: Duplicate: Thing shop/www stands in b.yaml already; "
        "remove one of the two");
    assert_non_null(strstr(rig_read(rig, "c.yaml.status"), "Duplicate"));
    rig_change(rig, "a.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_non_null(strstr(rig_check(rig, "manifests"), "2 refused: "));
    rig_take_away(rig, "a.yaml");
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "b"));
    rig_remove(rig, "b.yaml");
    rig_take_away(rig, "c.yaml");
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\n");
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    assert_false(rig_has(rig, "c.yaml.status"));
}

static void duplicate_in_one_file_is_refused(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "b.yaml", THING("www", "value: b") THING("www", "value: c"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    struct pack_reader spec = pack_open(object_spec(rig_thing(rig, "www")));
    assert_true(text_is(unpack_text(&spec), "b"));
    assert_non_null(strstr(rig_check(rig, "manifests"), "b.yaml:10:1: Duplicate"));
}

static void file_that_is_too_large_keeps_its_objects(void **state)
{
    struct rig *rig = *state;
    autofree char *text = mem_new(1, (17 << 20) + 1);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    memset(text, '#', 17 << 20);
    rig_change(rig, "web.yaml", text);
    assert_string_equal(rig_reported(rig), "");
    assert_non_null(strstr(rig_check(rig, "manifests"), "is larger than 16777216 octets"));
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
}

static void object_that_is_too_large_is_refused_alone(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, THING("www", "value: a") THING("big", "value: "));
    text.len--; // the line feed
    for (int i = 0; i < (2 << 20); i++)
        buffer_add_char(&text, 'x');
    buffer_add_char(&text, '\n');
    rig_write(rig, "web.yaml", text.at);
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    assert_non_null(strstr(rig_check(rig, "manifests"), "web.yaml:10:1: is larger than 2097152"));
}

static void publish_event(struct rig *rig, const char *text)
{
    const struct kube_event event = {.regarding = rig_thing(rig, "www"),
                                     .is_warning = true,
                                     .reason = "Orphaned",
                                     .action = "Delete",
                                     .text = text};
    store_publish_event(rig->store, &event);
    rig_run(rig, 0);
}

static void notes_are_lines_of_the_events_file(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    publish_event(rig, "left behind");
    const char *events = rig_read(rig, ".signpost/events.jsonl");
    assert_non_null(strstr(events, "\"type\":\"Warning\",\"reason\":\"Orphaned\",\"action\":"
                                   "\"Delete\",\"regarding\":{\"apiVersion\":"
                                   "\"test.example.org/v1\",\"kind\":\"Thing\",\"namespace\":"
                                   "\"shop\",\"name\":\"www\",\"uid\":"));
    assert_non_null(strstr(events, "\"note\":\"left behind\"}\n"));
}

static void make_folder_in(struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    buffer_printf(&full, "%s/%s", rig->dir, path);
    assert_int_equal(mkdir(full.at, 0755), 0);
}

static size_t count_logged(struct rig *rig, const char *part)
{
    size_t count = 0;
    const char *at = buffer_text(&rig->logged).at;
    for (; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void events_that_cannot_be_written_are_logged_once_and_written_later(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER path = {0};
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    buffer_printf(&path, "%s/.signpost/events.jsonl", rig->dir);
    make_folder_in(rig, ".signpost/events.jsonl");
    publish_event(rig, "first");
    publish_event(rig, "second");
    assert_int_equal(count_logged(rig, "Events cannot be written"), 1);
    assert_true(rig_has_logged(rig, path.at));
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_int_equal(rmdir(path.at), 0);
    publish_event(rig, "third");
    const char *events = rig_read(rig, ".signpost/events.jsonl");
    assert_non_null(strstr(events, "first"));
    assert_non_null(strstr(events, "third"));
    assert_int_equal(count_logged(rig, "Events cannot be written"), 1);
}

static void folder_in_the_place_of_a_status_file_refuses_that_manifest_alone(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER place = {0};
    make_folder_in(rig, "web.yaml.status");
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/api\n.\n");
    const char *check = rig_check(rig, "manifests");
    assert_non_null(strstr(check, "1 refused: web.yaml: "));
    assert_non_null(strstr(check, "web.yaml.status is a folder and stands where the status of "
                                  "web.yaml goes: rename or remove it"));
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_list(rig, false), "web.yaml - - | web.yaml: "));
    buffer_clear(&rig->logged);
    assert_true(rig_patch(rig, rig_thing(rig, "api"), "{\"state\":\"Created\"}"));
    rig_run(rig, 120000);
    assert_string_equal(buffer_text(&rig->logged).at ? rig->logged.at : "", "");
    buffer_printf(&place, "%s/web.yaml.status", rig->dir);
    assert_int_equal(rmdir(place.at), 0);
    rig_run(rig, 6000);
    assert_non_null(rig_thing(rig, "www"));
    assert_string_equal(rig_check(rig, "manifests"), "ok");
}

static void folder_in_the_place_of_a_lost_status_file_keeps_claims(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER place = {0};
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_drop(rig);
    rig_remove(rig, "web.yaml.status");
    make_folder_in(rig, "web.yaml.status");
    rig_open(rig);
    assert_non_null(rig_thing(rig, "api"));
    rig_run(rig, 120000);
    assert_false(rig_has_logged(rig, "can write again"));
    assert_true(rig_thing(rig, "www")->has_finalizer);
    assert_int_equal(rig_thing(rig, "www")->deleted_s, 0);
    buffer_printf(&place, "%s/web.yaml.status", rig->dir);
    assert_int_equal(rmdir(place.at), 0);
    rig_restart(rig);
    assert_true(rig_thing(rig, "www")->has_finalizer);
}

// ---- half a file, no file -----------------------------------------------------------------------

static void empty_file_is_taken_for_half_written(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    rig_write(rig, "web.yaml", "");
    rig_run(rig, 4500);
    assert_string_equal(rig_reported(rig), "");
    rig_run(rig, 1700);
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\n");
}

static void half_written_file_that_is_filled_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    rig_write(rig, "web.yaml", "");
    rig_run(rig, 3000);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_run(rig, 10000);
    assert_string_equal(rig_reported(rig), "");
}

static void empty_file_at_the_start_keeps_its_objects(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_drop(rig);
    rig_write(rig, "web.yaml", "");
    rig_restart(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    rig_run(rig, 7000);
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/www\n.\n");
}

static void write_many(struct rig *rig, const char *path, int count)
{
    AUTO_BUFFER text = {0};
    for (int i = 0; i < count; i++)
        buffer_printf(&text, THING("n%d", "value: x"), i);
    rig_write(rig, path, text.at);
}

static void folder_that_is_suddenly_empty_is_not_believed(void **state)
{
    struct rig *rig = *state;
    write_many(rig, "a.yaml", 12);
    rig_open(rig);
    rig_reported(rig);
    rig_take_away(rig, "a.yaml");
    assert_string_equal(rig_reported(rig), "");
    assert_false(rig->is_synced);
    assert_string_equal(rig->why.at,
                        "no manifests where 12 were known; start with --allow-empty if "
                        "this is meant");
    assert_string_equal(rig_check(rig, "folder"), rig->why.at);
    write_many(rig, "a.yaml", 11);
    rig_run(rig, 300);
    assert_true(rig->is_synced);
    assert_string_equal(rig_reported(rig), "DELETED Thing shop/n11\n.\n");
}

static void folder_that_is_empty_at_the_start_is_not_believed(void **state)
{
    struct rig *rig = *state;
    write_many(rig, "a.yaml", 12);
    rig_open(rig);
    rig_drop(rig);
    rig_remove(rig, "a.yaml");
    rig_restart(rig);
    assert_false(rig->is_synced);
    assert_false(rig->is_leading);
    assert_string_equal(rig_reported(rig), "");
    assert_non_null(strstr(rig->why.at, "no manifests where 12 were known"));
    rig->allow_empty = true;
    rig_restart(rig);
    assert_true(rig->is_synced);
    assert_string_equal(rig_reported(rig), "");
}

static void manifests_that_come_back_after_an_empty_start_are_synced(void **state)
{
    struct rig *rig = *state;
    uint8_t uid[16];
    write_many(rig, "a.yaml", 12);
    rig_open(rig);
    memcpy(uid, rig_thing(rig, "n3")->uid, 16);
    rig_drop(rig);
    rig_remove(rig, "a.yaml");
    rig_restart(rig);
    write_many(rig, "a.yaml", 12);
    rig_run(rig, 300);
    assert_true(rig->is_synced);
    assert_true(rig->is_leading);
    assert_memory_equal(uid, rig_thing(rig, "n3")->uid, 16);
}

static void few_objects_may_all_go_at_once(void **state)
{
    struct rig *rig = *state;
    write_many(rig, "a.yaml", 9);
    rig_open(rig);
    rig_reported(rig);
    rig_take_away(rig, "a.yaml");
    assert_int_equal(cache_count(rig->store->cache, NULL), 0);
    assert_true(rig->is_synced);
}

static void folder_that_vanishes_deletes_nothing(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER away = {0};
    test_folder_make(rig->state_dir);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_reported(rig);
    buffer_printf(&away, "%s.away", rig->dir);
    assert_int_equal(rename(rig->dir, away.at), 0);
    rig_run(rig, 61000);
    assert_false(rig->is_synced);
    assert_string_equal(rig_reported(rig), "");
    assert_int_equal(rename(away.at, rig->dir), 0);
    rig_run(rig, 6000);
    assert_true(rig->is_synced);
    assert_string_equal(rig_reported(rig), "");
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
}

static void folder_that_cannot_be_read_does_not_open(void **state)
{
    struct rig *rig = *state;
    test_folder_remove(rig->dir);
    assert_false(rig_try_open(rig));
    assert_non_null(strstr(rig->error.text, rig->dir));
}

static void folder_without_room_for_its_state_says_where_else(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    faulty_disk_fill(rig->disk, true);
    assert_false(rig_try_open(rig));
    assert_string_equal(rig->error.text,
                        "start with --state-dir FOLDER to keep status elsewhere: cannot write: No "
                        "space left on device");
    rig_drop(rig);
    faulty_disk_fill(rig->disk, false);
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
}

static void link_out_of_the_folder_is_not_followed(void **state)
{
    struct rig *rig = *state;
    char outside[TEST_FOLDER_MAX];
    AUTO_BUFFER target = {0};
    AUTO_BUFFER link = {0};
    test_folder_make(outside);
    buffer_printf(&target, "%s/x.yaml", outside);
    buffer_printf(&link, "%s/x.yaml", rig->dir);
    assert_true(
        disk_replace(disk_system(), target.at, TEXT(THING("x", "value: a")), 0644, false, NULL));
    assert_int_equal(symlink(target.at, link.at), 0);
    rig_write(rig, "in/real.txt", THING("y", "value: a"));
    buffer_clear(&link);
    buffer_printf(&link, "%s/y.yaml", rig->dir);
    assert_int_equal(symlink("in/real.txt", link.at), 0);
    assert_string_equal(rig_list(rig, false),
                        "x.yaml - - | x.yaml: is a link out of the folder, which is not followed; "
                        "copy the file\n"
                        "y.yaml Thing y\n");
    rig_open(rig);
    test_folder_remove(outside);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/y\n.\n");
    assert_non_null(strstr(rig_check(rig, "manifests"), "x.yaml: is a link out of the folder"));
}

static void swapped_links_of_a_mounted_config_map_are_seen(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER data = {0};
    AUTO_BUFFER next = {0};
    AUTO_BUFFER file = {0};
    buffer_printf(&data, "%s/..data", rig->dir);
    buffer_printf(&next, "%s/..next", rig->dir);
    buffer_printf(&file, "%s/web.yaml", rig->dir);
    rig_write(rig, "..1/web.yaml", THING("www", "value: a"));
    rig_write(rig, "..2/web.yaml", THING("www", "value: b"));
    assert_int_equal(symlink("..1", data.at), 0);
    assert_int_equal(symlink("..data/web.yaml", file.at), 0);
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    assert_int_equal(symlink("..2", next.at), 0);
    assert_int_equal(rename(next.at, data.at), 0);
    rig_run(rig, 300);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
}

static void scan_finds_what_inotify_missed(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER link = {0};
    rig_write(rig, ".hidden/web", THING("www", "value: a"));
    buffer_printf(&link, "%s/web.yaml", rig->dir);
    assert_int_equal(symlink(".hidden/web", link.at), 0);
    rig_open(rig);
    assert_string_equal(rig_reported(rig), "ADDED Thing shop/www\n.\n");
    rig_write(rig, ".hidden/web", THING("www", "value: bb"));
    rig_run(rig, 55000);
    assert_string_equal(rig_reported(rig), "");
    rig_run(rig, 6000);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
}

// ---- a failing disk -----------------------------------------------------------------------------

static void claim_waits_while_the_disk_is_full(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 100);
    faulty_disk_fill(rig->disk, true);
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_int_equal(rig->error.fault, FAULT_AGAIN);
    assert_non_null(strstr(rig->error.text, "state.db: No space left on device"));
    assert_string_equal(rig_check(rig, "store"), rig->error.text);
    assert_false(rig_thing(rig, "www")->has_finalizer);
    assert_true(rig_has_logged(rig, "the store cannot write"));
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_reported(rig);
    rig_run(rig, 3000);
    assert_string_equal(rig_reported(rig), "");
    faulty_disk_fill(rig->disk, false);
    rig_run(rig, 1100);
    assert_string_equal(rig_reported(rig), "WRITABLE\n");
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_restart(rig);
    assert_true(rig_thing(rig, "www")->has_finalizer);
}

// Objects of ours, and Secrets that nobody reads; those of a full disk, and those of one fault.
static void objects_that_cannot_be_written_fail_until_there_is_room(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    const struct object *owner = rig_thing(rig, "www");
    assert_true(rig_put_owned_object(rig, "old", owner, "{\"value\":\"x\"}", NULL));
    rig_run(rig, 1000);
    buffer_clear(&rig->logged);
    faulty_disk_fill(rig->disk, true);
    assert_false(rig_put_owned_object(rig, "new", owner, "{\"value\":\"x\"}", NULL));
    assert_string_equal(rig_check(rig, "store"), rig->error.text);
    assert_non_null(strstr(rig->error.text, "No space left on device"));
    assert_true(rig_has_logged(rig, "the store cannot write"));
    assert_false(rig_put(rig, "token", owner, "{\"token\":\"eA==\"}", NULL));
    assert_false(rig_drop_owned_object(rig, rig_thing(rig, "old")));
    rig_run(rig, 60000);
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    assert_int_equal(count_of(rig->logged.at, "the store cannot write"), 1);
    assert_false(rig_has_logged(rig, "can write again"));
    faulty_disk_fill(rig->disk, false);
    rig_run(rig, 2000);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_int_equal(count_of(rig->logged.at, "the store can write again"), 1);
    assert_true(rig_put_owned_object(rig, "new", owner, "{\"value\":\"x\"}", NULL));
    faulty_disk_fault(rig->disk, 0, DISK_FAILS);
    assert_false(rig_put_owned_object(rig, "next", owner, "{\"value\":\"x\"}", NULL));
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_null(strstr(rig_list(rig, false), "probe"));
}

static void status_is_written_when_the_disk_has_room_again(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 100);
    faulty_disk_fault(rig->disk, 0, DISK_FAILS);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":1}"));
    rig_run(rig, 100);
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    assert_false(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":2}"));
    assert_int_equal(rig->error.fault, FAULT_AGAIN);
    rig_run(rig, 1100);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "count: 1"));
}

static void deletion_that_cannot_be_written_is_told_later(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_reported(rig);
    faulty_disk_fault(rig->disk, 0, DISK_FAILS);
    rig_take_away(rig, "web.yaml");
    assert_string_equal(rig_reported(rig), "");
    rig_run(rig, 3000);
    assert_string_equal(rig_reported(rig), "WRITABLE\nMODIFIED Thing shop/www in deletion\n.\n");
}

#define CANNOT_READ "what the store keeps of a manifest cannot be read or written"
#define CAN_READ "what the store keeps of manifests can be read and written again"

// Secrets alone cannot be written.
static void refuse_secrets(struct rig *rig)
{
    rig_tamper(rig, "CREATE TRIGGER refusal BEFORE INSERT ON secrets "
                    "BEGIN SELECT RAISE(FAIL, 'refused'); END");
}

static void secret_that_cannot_be_written_fails_until_it_is_written(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    refuse_secrets(rig);
    rig_change(rig, "t.yaml", TOKEN("t", "eA=="));
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    rig_reported(rig);
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    rig_run(rig, 3000);
    assert_string_equal(rig_reported(rig), "");
    rig_tamper(rig, "DROP TRIGGER refusal");
    rig_run(rig, 1100);
    assert_string_equal(rig_reported(rig), "ADDED Token shop/t\n.\nWRITABLE\n");
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_int_equal(count_of(rig->logged.at, CANNOT_READ), 1);
    assert_int_equal(count_of(rig->logged.at, CAN_READ), 1);
}

static void secret_that_is_given_up_fails_no_more(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    refuse_secrets(rig);
    rig_change(rig, "t.yaml", TOKEN("t", "eA=="));
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    rig_take_away(rig, "t.yaml");
    assert_string_equal(rig_check(rig, "store"), "ok");
}

static bool holds_secret(struct rig *rig, const char *secret)
{
    const struct object *place = rig_find(rig, RIG_PLACE, "", "home");
    assert_non_null(place);
    assert_true(place->has_finalizer);
    assert_int_equal(place->deleted_s, 0);
    struct pack_reader spec = pack_open(object_spec(place));
    unpack_text(&spec);
    return text_is(unpack_text(&spec), secret);
}

static void open_with_a_secret(struct rig *rig, const char *path)
{
    rig_write(rig, path, PLACE("home", "secret: whisper"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_find(rig, RIG_PLACE, "", "home"), "[1]"));
    rig_run(rig, 200);
}

static void secret_that_cannot_be_written_at_the_start_leaves_its_object_as_it_was(void **state)
{
    struct rig *rig = *state;
    open_with_a_secret(rig, "t.yaml");
    rig_drop(rig);
    refuse_secrets(rig);
    rig_write(rig, "t.yaml", PLACE("home", "secret: shout"));
    rig_open(rig);
    assert_true(holds_secret(rig, "whisper"));
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    rig_run(rig, 3000);
    assert_true(holds_secret(rig, "whisper"));
    assert_non_null(strstr(rig_rows(rig, "SELECT document FROM secrets"), "whisper"));
    rig_tamper(rig, "DROP TRIGGER refusal");
    rig_run(rig, 1100);
    assert_true(holds_secret(rig, "shout"));
    assert_string_equal(rig_check(rig, "store"), "ok");
}

static void secret_that_moved_and_cannot_be_written_at_the_start_stays_as_it_was(void **state)
{
    struct rig *rig = *state;
    open_with_a_secret(rig, "t.yaml");
    rig_drop(rig);
    refuse_secrets(rig);
    rig_write(rig, "a.yaml", PLACE("home", "secret: shout"));
    rig_write(rig, "t.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 3000);
    assert_true(holds_secret(rig, "whisper"));
    rig_tamper(rig, "DROP TRIGGER refusal");
    rig_run(rig, 1100);
    assert_true(holds_secret(rig, "shout"));
    assert_null(strstr(rig_read(rig, "t.yaml.status"), "home"));
}

// In its place stands a socket, which cannot be opened.
static void hide(struct rig *rig, const char *path)
{
    AUTO_BUFFER aside = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", rig->dir, path);
    assert_in_range(length, 1, sizeof address.sun_path - 1);
    buffer_printf(&aside, "%s/aside", rig->dir);
    if (rig_has(rig, path))
        assert_int_equal(rename(address.sun_path, aside.at), 0);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(made, (const struct sockaddr *)&address, sizeof address), 0);
    close(made);
}

static void show(struct rig *rig, const char *path)
{
    AUTO_BUFFER aside = {0};
    AUTO_BUFFER full = {0};
    buffer_printf(&aside, "%s/aside", rig->dir);
    buffer_printf(&full, "%s/%s", rig->dir, path);
    assert_int_equal(unlink(full.at), 0);
    if (rig_has(rig, "aside"))
        assert_int_equal(rename(aside.at, full.at), 0);
}

static void refused_documents_go_once_the_status_file_can_be_read(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") "---\n{}\n");
    rig_open(rig);
    rig_run(rig, 200);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "broken 1"));
    hide(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: a"));
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    show(rig, "web.yaml.status");
    rig_run(rig, 2000);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "broken"));
}

static void refused_documents_come_once_the_status_file_can_be_read(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    hide(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: a") "---\n{}\n");
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    show(rig, "web.yaml.status");
    rig_run(rig, 2000);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "broken 1"));
    assert_int_equal(count_of(rig->logged.at, "a document is refused"), 1);
}

static void status_file_that_cannot_be_read_fails_until_it_can_be(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    hide(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    rig_reported(rig);
    rig_change(rig, "api.yaml", THING("api", "value: b"));
    rig_run(rig, 3000);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/api\n.\n");
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    show(rig, "web.yaml.status");
    rig_run(rig, 1100);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\nWRITABLE\n");
    assert_int_equal(count_of(rig->logged.at, CANNOT_READ), 1);
    assert_int_equal(count_of(rig->logged.at, "the store cannot write"), 0);
}

static void object_moves_once_its_new_status_file_can_be_read(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "a.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"count\":1}"));
    rig_run(rig, 200);
    hide(rig, "b.yaml.status");
    rig_write(rig, "b.yaml", THING("www", "value: a"));
    rig_take_away(rig, "a.yaml");
    rig_run(rig, 200);
    assert_non_null(strstr(rig_read(rig, "a.yaml.status"), "count: 1"));
    show(rig, "b.yaml.status");
    rig_run(rig, 2000);
    assert_non_null(strstr(rig_read(rig, "b.yaml.status"), "count: 1"));
    assert_false(rig_has(rig, "a.yaml.status"));
}

static void disk_has_room_again_whatever_cannot_be_read(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    hide(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    faulty_disk_fill(rig->disk, true);
    assert_false(rig_claim(rig, rig_thing(rig, "api"), "[1]"));
    rig_run(rig, 3000);
    rig_reported(rig);
    faulty_disk_fill(rig->disk, false);
    rig_run(rig, 1100);
    assert_string_equal(rig_reported(rig), "WRITABLE\n");
    assert_int_equal(count_of(rig->logged.at, "the store can write again"), 1);
    assert_string_not_equal(rig_check(rig, "store"), "ok");
}

static void what_can_be_read_again_is_not_writable_while_the_disk_is_full(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    hide(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    faulty_disk_fill(rig->disk, true);
    assert_false(rig_claim(rig, rig_thing(rig, "api"), "[1]"));
    show(rig, "web.yaml.status");
    rig_run(rig, 3000);
    assert_int_equal(count_of(rig->logged.at, CAN_READ), 1);
    assert_null(strstr(rig_reported(rig), "WRITABLE"));
    faulty_disk_fill(rig->disk, false);
    rig_run(rig, 1100);
    assert_non_null(strstr(rig_reported(rig), "WRITABLE"));
}

static void secret_waits_for_the_status_file_of_its_object(void **state)
{
    struct rig *rig = *state;
    rig_open(rig);
    hide(rig, "t.yaml.status");
    rig_change(rig, "t.yaml", TOKEN("t", "eA=="));
    rig_run(rig, 5000);
    assert_string_equal(rig_rows(rig, "SELECT count(*) FROM secrets"), "0\n");
    show(rig, "t.yaml.status");
    rig_run(rig, 1100);
    assert_non_null(rig_find(rig, RIG_TOKEN, "shop", "t"));
    assert_string_equal(rig_rows(rig, "SELECT count(*) FROM secrets"), "1\n");
}

static void object_that_cannot_move_yet_is_no_duplicate_of_itself(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "b.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    hide(rig, "a.yaml.status");
    rig_change(rig, "a.yaml", THING("www", "value: a"));
    rig_run(rig, 3000);
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    rig_change(rig, "b.yaml", THING("www", "value: a") THING("www", "value: b"));
    assert_non_null(strstr(rig_check(rig, "manifests"), "1 refused: b.yaml:10:1: Duplicate"));
    rig_change(rig, "b.yaml", THING("www", "value: a"));
    show(rig, "a.yaml.status");
    rig_run(rig, 2000);
    assert_non_null(strstr(rig_check(rig, "manifests"), "Thing shop/www stands in a.yaml already"));
}

static void object_whose_status_file_cannot_be_read_goes_later_than_others(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "a.yaml", THING("a", "value: a"));
    rig_write(rig, "b.yaml", THING("b", "value: a"));
    rig_write(rig, "c.yaml", THING("c", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "a"), "[1]"));
    assert_true(rig_claim(rig, rig_thing(rig, "b"), "[2]"));
    rig_run(rig, 200);
    rig_reported(rig);
    hide(rig, "b.yaml.status");
    rig_remove(rig, "a.yaml");
    rig_remove(rig, "b.yaml");
    rig_remove(rig, "c.yaml");
    rig_run(rig, 3000);
    assert_string_equal(rig_reported(rig),
                        "DELETED Thing shop/c\nMODIFIED Thing shop/a in deletion\n.\n");
    assert_int_equal(rig_thing(rig, "b")->deleted_s, 0);
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    show(rig, "b.yaml.status");
    rig_run(rig, 2000);
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/b in deletion\n.\nWRITABLE\n");
    assert_string_equal(rig_check(rig, "store"), "ok");
}

static void status_file_that_cannot_be_read_at_the_start_is_waited_for(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 200);
    rig_drop(rig);
    hide(rig, "web.yaml.status");
    rig_reported(rig);
    rig_open(rig);
    rig_run(rig, 3000);
    assert_false(rig->is_synced);
    assert_string_equal(rig_reported(rig), "");
    assert_string_not_equal(rig_check(rig, "store"), "ok");
    show(rig, "web.yaml.status");
    rig_run(rig, 1100);
    assert_true(rig->is_synced);
    assert_true(rig_thing(rig, "www")->has_finalizer);
}

static void hide_b(struct rig *rig)
{
    hide(rig, "b.yaml.status");
}

static void status_file_that_cannot_be_opened_for_a_change_fails_until_the_next_write(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "0.yaml", THING("first", "value: a"));
    rig_write(rig, "a.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 200);
    rig_drop(rig);
    rig_write(rig, "b.yaml.status", rig_read(rig, "a.yaml.status"));
    rig->in_event = hide_b;
    rig_open(rig);
    assert_true(rig_has_logged(rig, "the store cannot write"));
    assert_string_equal(rig_check(rig, "store"), "ok");
}

// ---- two processes ------------------------------------------------------------------------------

static void second_process_is_a_standby_that_writes_nothing(void **state)
{
    struct rig *rig = *state;
    struct rig *other = rig_new();
    test_folder_remove(other->dir);
    memcpy(other->dir, rig->dir, sizeof other->dir);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_open(other);
    assert_true(other->is_synced);
    assert_false(other->is_leading);
    assert_memory_equal(rig_thing(rig, "www")->uid, rig_thing(other, "www")->uid, 16);
    unsigned calls = faulty_disk_calls(other->disk);
    assert_false(rig_claim(other, rig_thing(other, "www"), "[2]"));
    assert_int_equal(other->error.fault, FAULT_AGAIN);
    assert_false(rig_patch(other, rig_thing(other, "www"), "{\"count\":1}"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_run(other, 5000);
    assert_non_null(rig_thing(other, "api"));
    assert_int_equal(faulty_disk_calls(other->disk), calls);
    rig_drop(other);
    test_folder_make(other->dir);
    rig_free(other);
}

static void standby_takes_over_with_what_the_leader_wrote(void **state)
{
    struct rig *rig = *state;
    struct rig *other = rig_new();
    test_folder_remove(other->dir);
    memcpy(other->dir, rig->dir, sizeof other->dir);
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("gone", "value: a"));
    rig_open(rig);
    rig_open(other);
    rig_reported(other);
    other->drawn = 77;
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_run(other, 500);
    rig_run(rig, 500);
    assert_true(rig_claim(rig, rig_thing(rig, "api"), "[1]"));
    assert_true(rig_claim(rig, rig_thing(rig, "gone"), "[2]"));
    rig_change(rig, "web.yaml", THING("www", "value: a"));
    rig_run(other, 500);
    uint8_t uid[16];
    memcpy(uid, rig_thing(rig, "api")->uid, 16);
    rig_reported(other);
    rig_drop(rig);
    rig_run(other, 2000);
    assert_true(other->is_leading);
    assert_memory_equal(rig_thing(other, "api")->uid, uid, 16);
    assert_true(rig_thing(other, "api")->has_finalizer);
    assert_true(rig_thing(other, "gone")->deleted_s > 0);
    assert_true(rig_thing(other, "gone")->has_finalizer);
    assert_true(rig_claim(other, rig_thing(other, "www"), "[3]"));
    rig_drop(other);
    test_folder_make(other->dir);
    rig_free(other);
}

static void second_process_with_another_state_folder_stands_by_too(void **state)
{
    struct rig *rig = *state;
    struct rig *other = rig_new();
    test_folder_remove(other->dir);
    memcpy(other->dir, rig->dir, sizeof other->dir);
    test_folder_make(other->state_dir);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_open(other);
    assert_true(rig->is_leading);
    assert_true(other->is_synced);
    assert_false(other->is_leading);
    assert_true(
        rig_has_logged(other, "another process leads this folder with another --state-dir"));
    AUTO_BUFFER holder = {0};
    buffer_printf(&holder, "process %d\"", (int)getpid());
    assert_true(rig_has_logged(other, holder.at));
    assert_false(rig_claim(other, rig_thing(other, "www"), "[2]"));
    rig_drop(rig);
    rig_run(other, 2000);
    assert_true(other->is_leading);
    rig_open(rig);
    assert_false(rig->is_leading);
    rig_drop(rig);
    rig_drop(other);
    test_folder_make(other->dir);
    rig_free(other);
}

// ---- a state folder that goes -------------------------------------------------------------------

static void rename_in(struct rig *rig, const char *from, const char *to)
{
    AUTO_BUFFER old = {0};
    AUTO_BUFFER new = {0};
    buffer_printf(&old, "%s/%s", rig->dir, from);
    buffer_printf(&new, "%s/%s", rig->dir, to);
    assert_int_equal(rename(old.at, new.at), 0);
}

static void open_with_a_claim(struct rig *rig)
{
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    assert_true(rig->is_leading);
}

static void leader_whose_state_folder_goes_stops(void **state)
{
    struct rig *rig = *state;
    open_with_a_claim(rig);
    rename_in(rig, ".signpost", "aside");
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    assert_int_equal(rig->error.fault, FAULT_AGAIN);
    assert_non_null(strstr(rig->error.text, ".signpost was removed or replaced while in use: put "
                                            "it back, or restart signpost"));
    assert_false(rig->is_leading);
    assert_non_null(strstr(rig_check(rig, "store"), "was removed or replaced while in use"));
    assert_true(rig_has_logged(rig, "the store cannot write"));
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    rig_run(rig, 120000);
    assert_false(rig_has(rig, ".signpost"));
    assert_null(strstr(rig_read(rig, "web.yaml.status"), "value: b"));
}

static void idle_leader_notices_at_the_next_scan_that_its_state_folder_went(void **state)
{
    struct rig *rig = *state;
    open_with_a_claim(rig);
    rename_in(rig, ".signpost", "aside");
    rig_run(rig, 61000);
    assert_false(rig->is_leading);
}

static void leader_goes_on_when_its_state_folder_is_back(void **state)
{
    struct rig *rig = *state;
    open_with_a_claim(rig);
    rename_in(rig, ".signpost", "aside");
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    rig_change(rig, "web.yaml", THING("www", "value: b") THING("api", "value: a"));
    assert_null(rig_thing(rig, "api"));
    rename_in(rig, "aside", ".signpost");
    rig_run(rig, 2000);
    assert_true(rig->is_leading);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(rig_thing(rig, "api"));
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[3]"));
    assert_non_null(strstr(rig_rows(rig, "SELECT body FROM objects"), "[3]"));
}

static void another_state_folder_in_its_place_stays_untouched(void **state)
{
    struct rig *rig = *state;
    open_with_a_claim(rig);
    rename_in(rig, ".signpost", "aside");
    rig_write(rig, ".signpost/state.db", "theirs");
    rig_write(rig, ".signpost/lock", "");
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    rig_take_away(rig, "web.yaml");
    rig_run(rig, 120000);
    assert_string_equal(rig_read(rig, ".signpost/state.db"), "theirs");
    assert_non_null(rig_thing(rig, "www"));
}

static void second_process_does_not_lead_beside_one_whose_state_folder_went(void **state)
{
    struct rig *rig = *state;
    struct rig *other = rig_new();
    test_folder_remove(other->dir);
    memcpy(other->dir, rig->dir, sizeof other->dir);
    open_with_a_claim(rig);
    rename_in(rig, ".signpost", "aside");
    rig_open(other);
    assert_false(other->is_leading);
    rig_drop(other);
    test_folder_make(other->dir);
    rig_free(other);
}

static void replaced_folder_is_locked_as_well(void **state)
{
    struct rig *rig = *state;
    struct rig *other = rig_new();
    AUTO_BUFFER aside = {0};
    test_folder_make(rig->state_dir);
    open_with_a_claim(rig);
    buffer_printf(&aside, "%s/old", rig->state_dir);
    assert_int_equal(rename(rig->dir, aside.at), 0);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_run(rig, 61000);
    assert_true(rig->is_leading);
    test_folder_remove(other->dir);
    memcpy(other->dir, rig->dir, sizeof other->dir);
    test_folder_make(other->state_dir);
    rig_open(other);
    assert_false(other->is_leading);
    rig_drop(other);
    test_folder_make(other->dir);
    rig_free(other);
}

static void database_that_goes_stops_the_leader_until_it_is_back(void **state)
{
    struct rig *rig = *state;
    open_with_a_claim(rig);
    rename_in(rig, ".signpost/state.db", "aside");
    assert_false(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    assert_non_null(strstr(rig->error.text, "was removed or replaced while in use: put it back"));
    assert_false(rig->is_leading);
    rename_in(rig, "aside", ".signpost/state.db");
    rig_run(rig, 2000);
    assert_true(rig->is_leading);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[3]"));
    assert_non_null(strstr(rig_rows(rig, "SELECT body FROM objects"), "[3]"));
    assert_string_equal(rig_check(rig, "store"), "ok");
}

// ---- reading without opening --------------------------------------------------------------------

static void reading_needs_no_lock_and_writes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "b.yaml", THING("www", "value: a") THING("www", "value: b"));
    rig_write(rig, "a.yaml", THING("odd", "value: 5") "---\n{apiVersion: v1, kind: ConfigMap}\n");
    rig_write(rig, "c.yaml", "a: [\n");
    rig_write(rig, "d.yaml", THING("old", "value: x"));
    assert_string_equal(
        rig_list(rig, false),
        "a.yaml Thing odd | a.yaml:8:3: spec.value: expected text, found a number: quote it\n"
        "a.yaml - -\n"
        "b.yaml Thing www\n"
        "b.yaml Thing www | b.yaml:10:1: Duplicate: Thing shop/www stands in b.yaml already; "
        "remove "
        "one of the two\n"
        "c.yaml - - | c.yaml:2:1: did not find expected node content while parsing a flow node "
        "that began at 2:1\n"
        "d.yaml Thing old\n");
    assert_false(rig_has(rig, ".signpost"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "old"), "[1]"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_take_away(rig, "d.yaml");
    const char *list = rig_list(rig, true);
    assert_non_null(strstr(list, "d.yaml Thing old gone\n{\"apiVersion\""));
    assert_non_null(strstr(list,
                           "\"spec\":{\"value\":\"a\",\"colour\":\"green\"},\"status\":{\"state\":"
                           "\"Created\"}}"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, clear)
    const struct CMUnitTest tests[] = {
        CASE(broken_document_leaves_its_neighbours_alone),
        CASE(broken_document_keeps_its_last_good_object),
        CASE(syntax_error_keeps_all_objects_of_the_file),
        CASE(document_without_a_kind_may_be_any_object_of_the_file),
        CASE(unknown_kinds_are_told_once_and_skipped),
        CASE(thousands_of_refused_documents_are_told_by_their_number),
        CASE(refused_documents_that_come_to_many_are_told_anew_by_their_number),
        CASE(unknown_version_of_our_group_is_refused),
        CASE(first_path_holds_an_identity),
        CASE(duplicate_in_one_file_is_refused),
        CASE(file_that_is_too_large_keeps_its_objects),
        CASE(object_that_is_too_large_is_refused_alone),
        CASE(notes_are_lines_of_the_events_file),
        CASE(events_that_cannot_be_written_are_logged_once_and_written_later),
        CASE(folder_in_the_place_of_a_status_file_refuses_that_manifest_alone),
        CASE(folder_in_the_place_of_a_lost_status_file_keeps_claims),
        CASE(empty_file_is_taken_for_half_written),
        CASE(half_written_file_that_is_filled_changes_nothing),
        CASE(empty_file_at_the_start_keeps_its_objects),
        CASE(folder_that_is_suddenly_empty_is_not_believed),
        CASE(folder_that_is_empty_at_the_start_is_not_believed),
        CASE(manifests_that_come_back_after_an_empty_start_are_synced),
        CASE(few_objects_may_all_go_at_once),
        CASE(folder_that_vanishes_deletes_nothing),
        CASE(folder_that_cannot_be_read_does_not_open),
        CASE(folder_without_room_for_its_state_says_where_else),
        CASE(link_out_of_the_folder_is_not_followed),
        CASE(swapped_links_of_a_mounted_config_map_are_seen),
        CASE(scan_finds_what_inotify_missed),
        CASE(claim_waits_while_the_disk_is_full),
        CASE(objects_that_cannot_be_written_fail_until_there_is_room),
        CASE(status_is_written_when_the_disk_has_room_again),
        CASE(deletion_that_cannot_be_written_is_told_later),
        CASE(secret_that_cannot_be_written_fails_until_it_is_written),
        CASE(secret_that_is_given_up_fails_no_more),
        CASE(secret_that_cannot_be_written_at_the_start_leaves_its_object_as_it_was),
        CASE(secret_that_moved_and_cannot_be_written_at_the_start_stays_as_it_was),
        CASE(refused_documents_go_once_the_status_file_can_be_read),
        CASE(refused_documents_come_once_the_status_file_can_be_read),
        CASE(status_file_that_cannot_be_read_fails_until_it_can_be),
        CASE(object_moves_once_its_new_status_file_can_be_read),
        CASE(disk_has_room_again_whatever_cannot_be_read),
        CASE(what_can_be_read_again_is_not_writable_while_the_disk_is_full),
        CASE(secret_waits_for_the_status_file_of_its_object),
        CASE(object_that_cannot_move_yet_is_no_duplicate_of_itself),
        CASE(object_whose_status_file_cannot_be_read_goes_later_than_others),
        CASE(status_file_that_cannot_be_read_at_the_start_is_waited_for),
        CASE(status_file_that_cannot_be_opened_for_a_change_fails_until_the_next_write),
        CASE(second_process_is_a_standby_that_writes_nothing),
        CASE(standby_takes_over_with_what_the_leader_wrote),
        CASE(second_process_with_another_state_folder_stands_by_too),
        CASE(leader_whose_state_folder_goes_stops),
        CASE(idle_leader_notices_at_the_next_scan_that_its_state_folder_went),
        CASE(leader_goes_on_when_its_state_folder_is_back),
        CASE(another_state_folder_in_its_place_stays_untouched),
        CASE(second_process_does_not_lead_beside_one_whose_state_folder_went),
        CASE(replaced_folder_is_locked_as_well),
        CASE(database_that_goes_stops_the_leader_until_it_is_back),
        CASE(reading_needs_no_lock_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
