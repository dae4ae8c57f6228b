#include "rig.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

// What stands in a folder may be anything: what concerns one file stops no other one, and nothing
// that is read leads out of the folder.

enum { NOBODY = 65534 };

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

// The super-user may read and write everything.
static void begin_as_nobody(struct rig *rig)
{
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(rig->dir, NOBODY, NOBODY), 0);
    assert_int_equal(seteuid(NOBODY), 0);
}

static int end_as_nobody(void **state)
{
    if (getuid() == 0 && seteuid(0) != 0)
        return 1;
    return clear(state);
}

static void path_of(struct buffer *out, const struct rig *rig, const char *path)
{
    buffer_printf(out, "%s/%s", rig->dir, path);
}

static void set_mode(const struct rig *rig, const char *path, mode_t mode)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    assert_int_equal(chmod(full.at, mode), 0);
}

static void make_folder(const struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    assert_int_equal(mkdir(full.at, 0755), 0);
}

static void make_link(const struct rig *rig, const char *target, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    assert_int_equal(symlink(target, full.at), 0);
}

static void make_pipe(const struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    assert_int_equal(mkfifo(full.at, 0644), 0);
}

// ---- what earlier runs left is input ------------------------------------------------------------

#define OUTSIDE_TEXT "somebody else's\n"

struct outside {
    char folder[TEST_FOLDER_MAX];
    struct buffer file;
};

static void outside_make(struct outside *outside)
{
    *outside = (struct outside){0};
    test_folder_make(outside->folder);
    buffer_printf(&outside->file, "%s/x.yaml.status", outside->folder);
    assert_true(
        disk_replace(disk_system(), outside->file.at, TEXT(OUTSIDE_TEXT), 0644, false, NULL));
}

static void outside_check(struct outside *outside)
{
    char **names;
    size_t count;
    AUTO_BUFFER text = {0};
    disk_read(&text, outside->file.at, 4096, NULL);
    assert_true(disk_list(outside->folder, &names, &count, NULL));
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    test_folder_remove(outside->folder);
    buffer_done(&outside->file);
    assert_string_equal(buffer_text(&text).at, OUTSIDE_TEXT);
    assert_int_equal(count, 1);
}

#define UID "8a9f1e4c-0b1d-4e2f-9a3b-5c6d7e8f9a0b"
static const char *base_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

static void rows_lead_to_no_file_outside_of_the_folder(void **state)
{
    static const char *const ways[] = {"../", "sub/../../", "./../", "/../../../../../../"};
    struct rig *rig = *state;
    struct outside outside;
    outside_make(&outside);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        AUTO_BUFFER sql = {0};
        buffer_printf(&sql,
                      "INSERT OR REPLACE INTO objects VALUES ('Thing.test.example.org shop/x', 7, "
                      "'%s%s/x.yaml', 'metadata: {uid: " UID ", resourceVersion: \"7\"}'), "
                      "('Thing.test.example.org shop/www', 9223372036854775807, 'web.yaml', NULL), "
                      "('', 8, 'web.yaml', ''), ('a', NULL, NULL, NULL), (x'00', 'a', 7, 1.5)",
                      ways[i], i < 3 ? base_name(outside.folder) : outside.folder + 1);
        rig_drop(rig);
        rig_tamper(rig, "DELETE FROM objects");
        rig_tamper(rig, sql.at);
        rig_open(rig);
        rig_run(rig, 1000);
        assert_non_null(rig_thing(rig, "www"));
        assert_null(rig_thing(rig, "x"));
    }
    rig_drop(rig);
    outside_check(&outside);
}

static void linked_folder_gets_no_status_file(void **state)
{
    struct rig *rig = *state;
    struct outside outside;
    AUTO_BUFFER sub = {0};
    outside_make(&outside);
    rig_write(rig, "sub/x.yaml", THING("x", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "x"), "[1]"));
    rig_run(rig, 1000);
    rig_remove(rig, "sub/x.yaml");
    rig_remove(rig, "sub/x.yaml.status");
    path_of(&sub, rig, "sub");
    assert_int_equal(rmdir(sub.at), 0);
    make_link(rig, outside.folder, "sub");
    rig_run(rig, 1000);
    assert_true(rig_thing(rig, "x")->deleted_s > 0);
    assert_true(rig_release(rig, rig_thing(rig, "x")));
    rig_run(rig, 1000);
    assert_null(rig_thing(rig, "x"));
    rig_restart(rig);
    rig_run(rig, 1000);
    outside_check(&outside);
}

static void linked_state_is_not_followed(void **state)
{
    struct rig *rig = *state;
    struct outside outside;
    outside_make(&outside);
    make_folder(rig, ".signpost");
    make_link(rig, outside.file.at, ".signpost/state.db");
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 5000);
    assert_non_null(strstr(rig_check(rig, "store"), "state.db (a symbolic link"));
    assert_false(rig->is_synced);
    assert_false(rig->is_leading);
    rig_remove(rig, ".signpost/state.db");
    rig_run(rig, 5000);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[2]"));
    assert_string_equal(rig_check(rig, "store"), "ok");
    outside_check(&outside);
}

static void damaged_state_is_left_and_told(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER text = {0};
    for (int i = 0; i < 500; i++)
        buffer_add_text(&text, "this is no database\n");
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, ".signpost/state.db", text.at);
    rig_open(rig);
    assert_false(rig->is_leading);
    assert_non_null(strstr(rig_check(rig, "store"), "state.db is damaged: put back a copy of it"));
    assert_string_equal(rig_read(rig, ".signpost/state.db"), text.at);
}

static void numbers_of_others_do_not_break_the_counter(void **state)
{
    static const char *const numbers[] = {"9223372036854775807", "4611686018427387904",
                                          "4611686018427387903", "2305843009213693952",
                                          "2305843009213693951"};
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        AUTO_BUFFER text = {0};
        uint64_t version;
        rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: a"));
        rig_open(rig);
        assert_true(rig_claim(rig, rig_thing(rig, "api"), "[1]"));
        rig_run(rig, 100);
        rig_drop(rig);
        AUTO_BUFFER status = {0};
        buffer_add_text(&status, rig_read(rig, "web.yaml.status"));
        char *mark = strstr(status.at, "shop/www ");
        buffer_printf(&text, "%.*s%s%s", (int)(mark - status.at + 9), status.at, numbers[i],
                      strchr(mark, '\n'));
        rig_write(rig, "web.yaml.status", text.at);
        rig_open(rig);
        for (int j = 0; j < 3; j++) {
            assert_true(object_version_number(rig_thing(rig, "api"), &version));
            assert_true(version > 0 && version < INT64_MAX);
            assert_true(rig_claim(rig, rig_thing(rig, "api"), j % 2 ? "[2]" : "[3]"));
            assert_true(rig_patch(rig, rig_thing(rig, "www"),
                                  j % 2 ? "{\"state\":\"A\"}" : "{\"state\":\"B\"}"));
            rig_run(rig, 100);
            rig_restart(rig);
        }
        assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "api"), "\"[3]\""));
        assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"state\":\"B\""));
        assert_string_equal(rig_check(rig, "store"), "ok");
        assert_false(rig_has_logged(rig, "cannot be read"));
        rig_drop(rig);
    }
}

static void number_of_the_state_does_not_break_the_counter(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_drop(rig);
    rig_tamper(rig, "UPDATE counter SET version = 9223372036854775806, owner = '0123abcd'");
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_restart(rig);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
    assert_string_equal(rig_rows(rig, "SELECT owner FROM counter"), "0123abcd\n");
    assert_false(rig_has_logged(rig, "cannot be read"));
}

static void status_document_speaks_of_no_other_object(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 100);
    rig_drop(rig);
    rig_write(rig, "other.yaml.status",
              "--- # Thing.test.example.org shop/gone 900\n"
              "apiVersion: test.example.org/v1\nkind: Thing\nmetadata:\n  name: www\n"
              "  namespace: shop\n  uid: " UID "\n  resourceVersion: \"900\"\n  generation: 1\n"
              "  finalizers:\n  - " RIG_FINALIZER "\nlastGoodSpec:\n  spec:\n    value: z\n...\n");
    rig_open(rig);
    rig_run(rig, 1000);
    assert_non_null(rig_thing(rig, "www"));
    assert_int_equal(rig_thing(rig, "www")->deleted_s, 0);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
}

// ---- one file alone -----------------------------------------------------------------------------

static void name_without_room_for_a_status_file_concerns_itself(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER name = {0};
    for (int i = 0; i < 250; i++)
        buffer_add_char(&name, 'a');
    buffer_add_text(&name, ".yaml");
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_change(rig, name.at, THING("long", "value: a"));
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_check(rig, "manifests"), "at most 248 octets"));
    assert_null(rig_thing(rig, "long"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_restart(rig);
    assert_true(rig->is_synced);
    assert_non_null(strstr(rig_list(rig, false), "at most 248 octets"));
    rig_take_away(rig, name.at);
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    rig_restart(rig);
    assert_string_equal(rig_check(rig, "store"), "ok");
}

static void add_deep(struct buffer *out, int depth)
{
    for (int i = 0; i < depth; i++)
        buffer_add_text(out, "d/");
}

static void folder_nested_too_deep_concerns_itself(void **state)
{
    struct rig *rig = *state;
    AUTO_BUFFER deep = {0};
    AUTO_BUFFER last = {0};
    add_deep(&deep, 33);
    buffer_add_text(&deep, "deep.yaml");
    add_deep(&last, 32);
    buffer_add_text(&last, "last.yaml");
    rig_write(rig, deep.at, THING("deep", "value: a"));
    rig_write(rig, last.at, THING("last", "value: a"));
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig->is_synced);
    assert_non_null(rig_thing(rig, "www"));
    assert_non_null(rig_thing(rig, "last"));
    assert_null(rig_thing(rig, "deep"));
    assert_non_null(strstr(rig_check(rig, "manifests"), "1 refused: "));
    assert_non_null(strstr(rig_check(rig, "manifests"), "nested more than 32 deep"));
    assert_non_null(strstr(rig_list(rig, false), "nested more than 32 deep"));
    buffer_clear(&rig->logged);
    rig_take_away(rig, "web.yaml");
    assert_null(rig_thing(rig, "www"));
    rig_run(rig, 120000);
    assert_false(rig_has_logged(rig, "nested"));
    rig_take_away(rig, deep.at);
    rig_run(rig, 61000);
    assert_non_null(strstr(rig_check(rig, "manifests"), "nested more than 32 deep"));
}

static void pipes_and_links_for_status_files_are_replaced(void **state)
{
    struct rig *rig = *state;
    struct outside outside;
    outside_make(&outside);
    make_pipe(rig, "pipe.yaml.status");
    make_link(rig, outside.file.at, "link.yaml.status");
    make_link(rig, "loop.yaml.status", "loop.yaml.status");
    rig_write(rig, "pipe.yaml", THING("pipe", "value: a"));
    rig_write(rig, "link.yaml", THING("link", "value: a"));
    rig_write(rig, "loop.yaml", THING("loop", "value: a"));
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 1000);
    assert_true(rig->is_synced);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    assert_non_null(rig_thing(rig, "pipe"));
    assert_non_null(rig_thing(rig, "link"));
    assert_non_null(rig_thing(rig, "loop"));
    assert_non_null(strstr(rig_read(rig, "pipe.yaml.status"), "shop/pipe"));
    assert_non_null(strstr(rig_read(rig, "loop.yaml.status"), "shop/loop"));
    outside_check(&outside);
}

static void status_file_that_cannot_be_read_is_made_again(void **state)
{
    struct rig *rig = *state;
    begin_as_nobody(rig);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "api.yaml", THING("api", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 1000);
    rig_drop(rig);
    set_mode(rig, "web.yaml.status", 0);
    rig_open(rig);
    rig_run(rig, 1000);
    assert_true(rig->is_synced);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
    assert_true(rig_patch(rig, rig_thing(rig, "api"), "{\"state\":\"Created\"}"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "state: Created"));
}

static void folder_that_takes_no_status_file_concerns_itself(void **state)
{
    struct rig *rig = *state;
    begin_as_nobody(rig);
    rig_write(rig, "sub/x.yaml", THING("x", "value: a"));
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    set_mode(rig, "sub", 0555);
    rig_open(rig);
    rig_run(rig, 1000);
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    assert_true(rig_claim(rig, rig_thing(rig, "x"), "[1]"));
    assert_true(rig_patch(rig, rig_thing(rig, "x"), "{\"state\":\"Created\"}"));
    rig_run(rig, 1000);
    assert_true(rig_has_logged(rig, "a status file cannot be written beside its manifest"));
    assert_non_null(strstr(rig_rows(rig, "SELECT body FROM objects WHERE path = 'sub/x.yaml'"),
                           "state: Created"));
    assert_non_null(strstr(rig_list(rig, true), "Created"));
    rig_restart(rig);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "x"), "\"state\":\"Created\""));
    set_mode(rig, "sub", 0755);
    assert_true(rig_patch(rig, rig_thing(rig, "x"), "{\"state\":\"Updated\"}"));
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, "sub/x.yaml.status"), "state: Updated"));
}

static void folder_that_cannot_be_read_any_more_keeps_its_objects(void **state)
{
    struct rig *rig = *state;
    begin_as_nobody(rig);
    rig_write(rig, "sub/x.yaml", THING("x", "value: a"));
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    set_mode(rig, "sub", 0);
    rig_change(rig, "later/api.yaml", THING("api", "value: a"));
    rig_take_away(rig, "web.yaml");
    rig_run(rig, 61000);
    assert_true(rig->is_synced);
    assert_string_equal(rig_check(rig, "folder"), "ok");
    assert_string_equal(rig_check(rig, "store"), "ok");
    assert_non_null(strstr(rig_check(rig, "manifests"), "sub"));
    assert_non_null(rig_thing(rig, "x"));
    assert_int_equal(rig_thing(rig, "x")->deleted_s, 0);
    assert_non_null(rig_thing(rig, "api"));
    assert_null(rig_thing(rig, "www"));
    buffer_clear(&rig->logged);
    rig_run(rig, 61000);
    assert_false(rig_has_logged(rig, "sub"));
    set_mode(rig, "sub", 0755);
    rig_run(rig, 61000);
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    rig_take_away(rig, "sub/x.yaml");
    assert_null(rig_thing(rig, "x"));
}

static void folder_that_was_never_read_leaves_inotify_to_the_others(void **state)
{
    struct rig *rig = *state;
    begin_as_nobody(rig);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    make_folder(rig, "closed");
    set_mode(rig, "closed", 0);
    rig_run(rig, 1000);
    rig_change(rig, "api.yaml", THING("api", "value: a"));
    assert_non_null(rig_thing(rig, "api"));
    assert_false(rig_has_logged(rig, "changes are found by the scan"));
    set_mode(rig, "closed", 0755);
}

static void folder_of_the_file_system_is_skipped(void **state)
{
    struct rig *rig = *state;
    begin_as_nobody(rig);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    make_folder(rig, "lost+found");
    set_mode(rig, "lost+found", 0);
    rig_open(rig);
    assert_true(rig->is_synced);
    assert_string_equal(rig_check(rig, "manifests"), "ok");
    set_mode(rig, "lost+found", 0755);
}

static void what_somebody_else_put_in_the_place_of_what_we_make_stays(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_write(rig, ".signpost/made/tokens.shop.zones.yaml",
              "apiVersion: v1\nkind: Token\nmetadata:\n  name: zones\ndata:\n  a: theirs\n");
    assert_false(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"1\"}", NULL));
    assert_string_equal(rig->error.reason, "NotOurs");
    assert_non_null(strstr(rig->error.text, "is somebody else's and stays as it is"));
    assert_non_null(strstr(rig_read(rig, ".signpost/made/tokens.shop.zones.yaml"), "theirs"));
    rig_remove(rig, ".signpost/made/tokens.shop.zones.yaml");
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"1\"}", NULL));
    assert_true(rig_put(rig, "zones", rig_thing(rig, "www"), "{\"a\":\"2\"}", NULL));
}

// ---- status files that go -----------------------------------------------------------------------

static void manifest_corrected_while_its_status_file_went_is_read(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    rig_run(rig, 1000);
    rig_reported(rig);
    rig_remove(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_int_equal(rig_thing(rig, "www")->generation, 2);
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "value: b"));
}

static void generation_goes_on_when_only_older_things_are_kept(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_change(rig, "web.yaml", THING("www", "value: b"));
    rig_change(rig, "web.yaml", THING("www", "value: c"));
    rig_run(rig, 1000);
    assert_int_equal(rig_thing(rig, "www")->generation, 3);
    rig_reported(rig);
    rig_remove(rig, "web.yaml.status");
    rig_change(rig, "web.yaml", THING("www", "value: a"));
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\n.\n");
    assert_int_equal(rig_thing(rig, "www")->generation, 4);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
}

static void removed_status_file_is_made_again(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a") THING("api", "value: a"));
    rig_write(rig, "bad.yaml", THING("bad", "valeu: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, 1000);
    rig_reported(rig);
    rig_take_away(rig, "web.yaml.status");
    rig_take_away(rig, "bad.yaml.status");
    const char *status = rig_read(rig, "web.yaml.status");
    assert_non_null(strstr(status, "shop/www"));
    assert_non_null(strstr(status, "shop/api"));
    assert_non_null(strstr(rig_read(rig, "bad.yaml.status"), "did you mean value?"));
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
    // Its status is not kept: who writes it is told, and writes it again.
    assert_string_equal(rig_reported(rig), "MODIFIED Thing shop/www\nMODIFIED Thing shop/api\n.\n");
    assert_int_equal(rig_thing(rig, "www")->generation, 1);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "state: Created"));
}

static void status_file_that_was_just_written_is_written_again_as_it_was(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_patch(rig, rig_thing(rig, "www"), "{\"state\":\"Created\"}"));
    rig_run(rig, 10);
    rig_take_away(rig, "web.yaml.status");
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_read(rig, "web.yaml.status"), "shop/www"));
}

static void removed_status_file_is_missed_by_the_scan_too(void **state)
{
    struct rig *rig = *state;
    test_folder_make(rig->state_dir);
    rig_write(rig, "web.yaml", THING("www", "value: a"));
    rig_write(rig, "sub/api.yaml", THING("api", "value: a"));
    rig_open(rig);
    rig_run(rig, 1000);
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/web.yaml.status", rig->state_dir);
    assert_int_equal(unlink(path.at), 0);
    rig_run(rig, 62000);
    assert_int_equal(access(path.at, F_OK), 0);
}

static void moved_document_keeps_its_claims_without_status_files(void **state)
{
    struct rig *rig = *state;
    rig_write(rig, "old.yaml", THING("www", "value: a"));
    rig_open(rig);
    assert_true(rig_claim(rig, rig_thing(rig, "www"), "[1]"));
    rig_run(rig, 1000);
    rig_write(rig, "new.yaml", THING("www", "value: a"));
    rig_take_away(rig, "old.yaml");
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
    rig_take_away(rig, "new.yaml.status");
    rig_run(rig, 1000);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
    assert_true(rig_thing(rig, "www")->has_finalizer);
    rig_restart(rig);
    assert_non_null(strstr(rig_get(rig, RIG_THING, "shop", "www"), "\"[1]\""));
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, make, clear)
#define ONE_AS_NOBODY(name) cmocka_unit_test_setup_teardown(name, make, end_as_nobody)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(rows_lead_to_no_file_outside_of_the_folder),
        ONE(linked_folder_gets_no_status_file),
        ONE(linked_state_is_not_followed),
        ONE(damaged_state_is_left_and_told),
        ONE(numbers_of_others_do_not_break_the_counter),
        ONE(number_of_the_state_does_not_break_the_counter),
        ONE(status_document_speaks_of_no_other_object),
        ONE(name_without_room_for_a_status_file_concerns_itself),
        ONE(folder_nested_too_deep_concerns_itself),
        ONE(pipes_and_links_for_status_files_are_replaced),
        ONE_AS_NOBODY(status_file_that_cannot_be_read_is_made_again),
        ONE_AS_NOBODY(folder_that_takes_no_status_file_concerns_itself),
        ONE_AS_NOBODY(folder_that_cannot_be_read_any_more_keeps_its_objects),
        ONE_AS_NOBODY(folder_that_was_never_read_leaves_inotify_to_the_others),
        ONE_AS_NOBODY(folder_of_the_file_system_is_skipped),
        ONE(what_somebody_else_put_in_the_place_of_what_we_make_stays),
        ONE(manifest_corrected_while_its_status_file_went_is_read),
        ONE(generation_goes_on_when_only_older_things_are_kept),
        ONE(removed_status_file_is_made_again),
        ONE(status_file_that_was_just_written_is_written_again_as_it_was),
        ONE(removed_status_file_is_missed_by_the_scan_too),
        ONE(moved_document_keeps_its_claims_without_status_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
