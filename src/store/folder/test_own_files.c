#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/test_folder.h"
#include "store/folder/events.h"
#include "store/folder/name.h"
#include "store/folder/secrets.h"
#include "store/folder/state.h"

// The files of .signpost, each by itself on the real disk.

struct place {
    char folder[TEST_FOLDER_MAX];
    char path[TEST_FOLDER_MAX + 16];
};

static int make(void **state)
{
    struct place *place = mem_new_of(struct place);
    test_folder_make(place->folder);
    snprintf(place->path, sizeof place->path, "%s/file", place->folder);
    *state = place;
    return 0;
}

static int clear(void **state)
{
    struct place *place = *state;
    test_folder_remove(place->folder);
    free(place);
    return 0;
}

static char *read_path(const char *path)
{
    AUTO_BUFFER text = {0};
    disk_read(&text, path, (size_t)16 << 20, NULL);
    return buffer_steal(&text);
}

// ---- objects ------------------------------------------------------------------------------------

static struct state open_state(const struct place *place)
{
    struct state opened = {0};
    struct error err = {0};
    state_init(&opened, disk_system(), place->path);
    if (!state_load(&opened, random_system(), true, &err))
        fail_msg("%s", err.text);
    return opened;
}

static void put(struct state *opened, const char *key, uint64_t version, const char *path,
                const char *body)
{
    state_put(opened, &(struct state_row){text_of(key), version, text_of(path),
                                          body ? text_of(body) : (struct text){0}});
}

static void describe(void *context, const struct state_row *row)
{
    buffer_printf(context, "%.*s %d %.*s %s\n", TEXT_ARGS(row->key), (int)row->version,
                  TEXT_ARGS(row->path), row->body.at ? "stands" : "gone");
}

static void state_holds_the_newest_row_of_each(void **state)
{
    const struct place *place = *state;
    AUTO_BUFFER all = {0};
    AUTO_BUFFER some = {0};
    struct state opened = open_state(place);
    put(&opened, "a", 1, "web.yaml", "one");
    put(&opened, "b", 2, "web.yaml", "two");
    put(&opened, "a", 4, "a\"b.yaml", "three");
    put(&opened, "c", 3, "\xc3\xa4.yaml", NULL);
    put(&opened, "d", 5, "../web.yaml", "a path that leads elsewhere");
    assert_true(state_commit(&opened, NULL));
    state_done(&opened);
    opened = open_state(place);
    assert_true(state_each(&opened, STATE_ALL, TEXT(""), describe, &all, NULL));
    assert_string_equal(all.at,
                        "a 4 a\"b.yaml stands\nb 2 web.yaml stands\nc 3 \xc3\xa4.yaml gone\n");
    assert_true(state_each(&opened, STATE_OF_PATH, TEXT("web.yaml"), describe, &some, NULL));
    assert_true(state_each(&opened, STATE_OF_KEY, TEXT("c"), describe, &some, NULL));
    assert_string_equal(some.at, "b 2 web.yaml stands\nc 3 \xc3\xa4.yaml gone\n");
    state_done(&opened);
}

static void who_only_reads_makes_no_state_and_sees_what_was_committed(void **state)
{
    const struct place *place = *state;
    AUTO_BUFFER all = {0};
    struct disk_stat found;
    struct state reader = {0};
    state_init(&reader, disk_system(), place->path);
    assert_true(state_load(&reader, random_system(), false, NULL));
    assert_false(disk_stat(place->path, &found, NULL));
    struct state opened = open_state(place);
    put(&opened, "a", 1, "web.yaml", "one");
    assert_true(state_reserve(&opened));
    put(&opened, "b", 2, "web.yaml", "not committed");
    assert_true(state_load(&reader, random_system(), false, NULL));
    assert_true(state_each(&reader, STATE_ALL, TEXT(""), describe, &all, NULL));
    assert_string_equal(all.at, "a 1 web.yaml stands\n");
    assert_string_equal(reader.owner_id, opened.owner_id);
    state_done(&reader);
    state_done(&opened);
}

// ---- names --------------------------------------------------------------------------------------

static void path_of_a_manifest_is_one_that_a_scan_finds(void **state)
{
    static const char *const good[] = {"web.yaml", "a b/c.json", "x/y/z.yml",
                                       ".signpost/children/things.shop.a.yaml"};
    static const char *const bad[] = {"",
                                      "web",
                                      "/web.yaml",
                                      "a//web.yaml",
                                      "../web.yaml",
                                      "a/../web.yaml",
                                      "./web.yaml",
                                      "a/.hidden/web.yaml",
                                      "lost+found/web.yaml",
                                      "a/",
                                      ".signpost/state.yaml",
                                      ".signpost/children/../web.yaml",
                                      ".signpost/children/a/web.yaml",
                                      ".signpost/children/web"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(name_is_path(text_of(good[i])));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(name_is_path(text_of(bad[i])));
    assert_false(name_is_path(TEXT("a\0b.yaml")));
}

// ---- numbers ------------------------------------------------------------------------------------

static void numbers_go_on_behind_the_reserved_block(void **state)
{
    const struct place *place = *state;
    char owner[OWNER_ID_MAX + 1];
    struct state numbers = open_state(place);
    assert_true(state_reserve(&numbers));
    assert_int_equal(state_next(&numbers), 1);
    assert_int_equal(state_next(&numbers), 2);
    memcpy(owner, numbers.owner_id, sizeof owner);
    state_done(&numbers);
    numbers = open_state(place);
    assert_true(state_next(&numbers) > STATE_BLOCK);
    assert_string_equal(numbers.owner_id, owner);
    state_done(&numbers);
}

static void a_given_owner_id_replaces_the_one_that_is_kept(void **state)
{
    const struct place *place = *state;
    struct state numbers = open_state(place);
    assert_false(numbers.had_owner);
    assert_true(state_reserve(&numbers));
    state_set_owner(&numbers, "home-2");
    assert_true(state_reserve(&numbers));
    state_done(&numbers);
    numbers = open_state(place);
    assert_true(numbers.had_owner);
    assert_string_equal(numbers.owner_id, "home-2");
    state_done(&numbers);
}

static void lost_numbers_begin_above_what_is_found(void **state)
{
    const struct place *place = *state;
    struct state numbers = open_state(place);
    state_raise(&numbers, 41);
    state_raise(&numbers, 7);
    assert_true(state_reserve(&numbers));
    assert_int_equal(state_next(&numbers), 42);
    assert_int_equal(strlen(numbers.owner_id), 8);
    state_done(&numbers);
}

// ---- secrets ------------------------------------------------------------------------------------

static bool is_kept(const void *context, const char *uid)
{
    return strcmp(uid, context) == 0;
}

static void secrets_are_read_as_written_and_swept(void **state)
{
    const struct place *place = *state;
    struct state opened = open_state(place);
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *value =
        value_read_json(arena, TEXT("{\"data\":{\"a\":\"b\"}}"), &value_reply_limits, NULL);
    secrets_sweep(&opened, is_kept, "one");
    assert_true(secrets_write(&opened, "one", value, NULL));
    assert_true(secrets_write(&opened, "two", value, NULL));
    assert_true(value_equal(secrets_read(&opened, "one", arena), value));
    secrets_sweep(&opened, is_kept, "one");
    assert_non_null(secrets_read(&opened, "one", arena));
    assert_null(secrets_read(&opened, "two", arena));
    secrets_remove(&opened, "one");
    assert_null(secrets_read(&opened, "one", arena));
    state_done(&opened);
}

// ---- events -------------------------------------------------------------------------------------

static void event_is_one_line_whatever_its_text(void **state)
{
    const struct place *place = *state;
    struct events events = {0};
    events_init(&events, disk_system(), place->path);
    events_add_manifest(&events, "web.yaml", "Invalid", "two\nlines\x1b[31m \"quoted\"", 0);
    assert_true(events_write(&events, NULL));
    autofree char *text = read_path(place->path);
    assert_string_equal(text, "{\"eventTime\":\"1970-01-01T00:00:00.000Z\",\"type\":\"Warning\","
                              "\"reason\":\"Invalid\",\"manifest\":\"web.yaml\","
                              "\"note\":\"two lines [31m \\\"quoted\\\"\"}\n");
    events_done(&events);
}

static void old_events_are_kept_once(void **state)
{
    const struct place *place = *state;
    struct events events = {0};
    AUTO_BUFFER old = {0};
    char note[1000];
    struct disk_stat found;
    buffer_printf(&old, "%s.1", place->path);
    memset(note, 'x', sizeof note);
    note[sizeof note - 1] = '\0';
    events_init(&events, disk_system(), place->path);
    for (int i = 0; i < 2500; i++) {
        events_add_manifest(&events, "web.yaml", "Invalid", note, i);
        if (i % 100 == 99)
            assert_true(events_write(&events, NULL));
    }
    events_done(&events);
    assert_true(disk_stat(place->path, &found, NULL));
    assert_true(found.size > 0 && found.size <= 1024 * 1024);
    assert_true(disk_stat(old.at, &found, NULL));
    assert_true(found.size > 900 * 1024 && found.size <= 1024 * 1024);
}

static void flood_drops_the_oldest(void **state)
{
    const struct place *place = *state;
    struct events events = {0};
    events_init(&events, disk_system(), place->path);
    for (int i = 0; i < 1500; i++)
        events_add_manifest(&events, "web.yaml", "Invalid", "x", i);
    assert_int_equal(events.count, 1000);
    assert_int_equal(events.dropped, 500);
    events_done(&events);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make, clear)
    const struct CMUnitTest tests[] = {
        CASE(state_holds_the_newest_row_of_each),
        CASE(who_only_reads_makes_no_state_and_sees_what_was_committed),
        CASE(path_of_a_manifest_is_one_that_a_scan_finds),
        CASE(numbers_go_on_behind_the_reserved_block),
        CASE(a_given_owner_id_replaces_the_one_that_is_kept),
        CASE(lost_numbers_begin_above_what_is_found),
        CASE(secrets_are_read_as_written_and_swept),
        CASE(event_is_one_line_whatever_its_text),
        CASE(old_events_are_kept_once),
        CASE(flood_drops_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
