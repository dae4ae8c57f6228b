#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/test_folder.h"
#include "store/folder/events.h"
#include "store/folder/journal.h"
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

// ---- journal ------------------------------------------------------------------------------------

#define LINE(name, version, file)                                                                  \
    "{\"key\":\"Thing.x n/" name "\",\"version\":" version ",\"file\":\"" file                     \
    "\",\"apiVersion\":\"x/v1\",\"kind\":\"Thing\"}\n"

static void append(struct journal *journal, const char *lines)
{
    struct error err = {0};
    bool is_ok = journal_append(journal, text_of(lines), &err);
    assert_string_equal(err.text, "");
    assert_true(is_ok);
}

static void journal_index_holds_the_newest_line_of_each(void **state)
{
    const struct place *place = *state;
    struct journal journal = {0};
    journal_init(&journal, disk_system(), place->path);
    append(&journal, LINE("a", "1", "web.yaml") LINE("b", "2", "web.yaml"));
    append(&journal, LINE("a", "4", "api.yaml") LINE("c", "3", "api.yaml"));
    journal_done(&journal);
    struct journal_index *index = journal_index_new(place->path, NULL);
    assert_int_equal(index->count, 3);
    const struct journal_item *item = journal_index_find(index, "api.yaml");
    assert_true(text_is(item[0].key, "Thing.x n/a"));
    assert_int_equal(item[0].version, 4);
    assert_true(text_is(item[1].key, "Thing.x n/c"));
    item = journal_index_find(index, "web.yaml");
    assert_true(text_is(item[0].key, "Thing.x n/b"));
    assert_null(journal_index_find(index, "none.yaml"));
    journal_index_free(index);
}

static void paths_that_need_escapes_are_understood(void **state)
{
    const struct place *place = *state;
    struct journal journal = {0};
    journal_init(&journal, disk_system(), place->path);
    append(&journal, LINE("a", "1", "a\\\"b.yaml") LINE("b", "2", "\xc3\xa4.yaml"));
    journal_done(&journal);
    struct journal_index *index = journal_index_new(place->path, NULL);
    assert_non_null(journal_index_find(index, "a\"b.yaml"));
    assert_non_null(journal_index_find(index, "\xc3\xa4.yaml"));
    journal_index_free(index);
}

static void absent_journal_is_empty(void **state)
{
    const struct place *place = *state;
    struct journal_index *index = journal_index_new(place->path, NULL);
    assert_int_equal(index->count, 0);
    journal_index_free(index);
    assert_null(journal_index_new(place->folder, NULL));
}

static void renewed_journal_keeps_what_is_not_covered(void **state)
{
    const struct place *place = *state;
    struct journal journal = {0};
    journal_init(&journal, disk_system(), place->path);
    append(&journal, LINE("a", "1", "web.yaml"));
    size_t covered = journal.octets;
    append(&journal, LINE("b", "2", "web.yaml"));
    assert_true(journal_renew(&journal, covered, NULL));
    append(&journal, LINE("c", "3", "web.yaml"));
    autofree char *text = read_path(place->path);
    assert_string_equal(text, LINE("b", "2", "web.yaml") LINE("c", "3", "web.yaml"));
    assert_int_equal(journal.octets, strlen(text));
    journal_done(&journal);
}

static void lines_that_say_too_little_are_counted(void **state)
{
    const struct place *place = *state;
    struct journal journal = {0};
    journal_init(&journal, disk_system(), place->path);
    append(&journal, "nonsense\n{}\n" LINE("a", "0", "web.yaml")
                         LINE("a", "1", "") "{\"key\":\"Thing.x n/b\",\"version\":1}\n" LINE(
                             "a", "1", "web.yaml") "{\"torn");
    journal_done(&journal);
    struct journal_index *index = journal_index_new(place->path, NULL);
    assert_int_equal(index->count, 1);
    assert_int_equal(index->unreadable, 5);
    journal_index_free(index);
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

// ---- state --------------------------------------------------------------------------------------

static void numbers_go_on_behind_the_reserved_block(void **state)
{
    const struct place *place = *state;
    struct state numbers = {0};
    char owner[OWNER_ID_MAX + 1];
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_true(state_reserve(&numbers));
    assert_int_equal(state_next(&numbers), 1);
    assert_int_equal(state_next(&numbers), 2);
    memcpy(owner, numbers.owner_id, sizeof owner);
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_true(state_next(&numbers) > STATE_BLOCK);
    assert_string_equal(numbers.owner_id, owner);
    state_done(&numbers);
}

static void a_given_owner_id_replaces_the_one_that_is_kept(void **state)
{
    const struct place *place = *state;
    struct state numbers = {0};
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_false(numbers.had_owner);
    assert_true(state_reserve(&numbers));
    state_set_owner(&numbers, "home-2");
    assert_true(state_reserve(&numbers));
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_true(numbers.had_owner);
    assert_string_equal(numbers.owner_id, "home-2");
    state_done(&numbers);
}

static void an_owner_id_outlives_lost_numbers_but_not_its_own_spelling(void **state)
{
    const struct place *place = *state;
    struct state numbers = {0};
    assert_true(disk_replace(disk_system(), place->path,
                             TEXT("resourceVersion: x\nownerId: mine\n"), 0644, false, NULL));
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_true(numbers.is_new);
    assert_string_equal(numbers.owner_id, "mine");
    assert_true(disk_replace(disk_system(), place->path,
                             TEXT("resourceVersion: 7\nownerId: \"Not mine\"\n"), 0644, false,
                             NULL));
    state_load(&numbers, disk_system(), place->path, random_system());
    assert_int_equal(strlen(numbers.owner_id), 8);
    state_done(&numbers);
}

static void lost_numbers_begin_above_what_is_found(void **state)
{
    const struct place *place = *state;
    struct state numbers = {0};
    assert_true(
        disk_replace(disk_system(), place->path, TEXT("resourceVersion: [\n"), 0644, false, NULL));
    state_load(&numbers, disk_system(), place->path, random_system());
    state_raise(&numbers, 41);
    state_raise(&numbers, 7);
    assert_true(state_reserve(&numbers));
    assert_int_equal(state_next(&numbers), 42);
    assert_int_equal(strlen(numbers.owner_id), 8);
    state_done(&numbers);
}

static void numbers_go_on_when_they_cannot_be_reserved(void **state)
{
    const struct place *place = *state;
    struct state numbers = {0};
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/none/state", place->folder);
    state_load(&numbers, disk_system(), path.at, random_system());
    assert_false(state_reserve(&numbers));
    assert_int_equal(numbers.fault.fault, FAULT_AGAIN);
    assert_int_equal(state_next(&numbers), 1);
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
    struct secrets secrets = {0};
    AUTO_BUFFER path = {0};
    struct disk_stat found;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *value =
        value_read_json(arena, TEXT("{\"data\":{\"a\":\"b\"}}"), &value_reply_limits, NULL);
    buffer_printf(&path, "%s/secrets", place->folder);
    secrets_init(&secrets, disk_system(), path.at);
    secrets_sweep(&secrets, is_kept, "one");
    assert_true(secrets_write(&secrets, "one", value, NULL));
    assert_true(secrets_write(&secrets, "two", value, NULL));
    assert_true(value_equal(secrets_read(&secrets, "one", arena), value));
    buffer_add_text(&path, "/one");
    assert_true(disk_stat(path.at, &found, NULL));
    assert_int_equal(found.mode, 0600);
    secrets_sweep(&secrets, is_kept, "one");
    assert_non_null(secrets_read(&secrets, "one", arena));
    assert_null(secrets_read(&secrets, "two", arena));
    secrets_remove(&secrets, "one");
    assert_null(secrets_read(&secrets, "one", arena));
    secrets_done(&secrets);
}

// ---- events -------------------------------------------------------------------------------------

static void event_is_one_line_whatever_its_text(void **state)
{
    const struct place *place = *state;
    struct events events = {0};
    events_init(&events, disk_system(), place->path);
    events_add_manifest(&events, "web.yaml", "Invalid", "two\nlines\x1b[31m \"quoted\"", 0);
    events_write(&events);
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
            events_write(&events);
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
        CASE(journal_index_holds_the_newest_line_of_each),
        CASE(absent_journal_is_empty),
        CASE(paths_that_need_escapes_are_understood),
        CASE(renewed_journal_keeps_what_is_not_covered),
        CASE(lines_that_say_too_little_are_counted),
        CASE(path_of_a_manifest_is_one_that_a_scan_finds),
        CASE(numbers_go_on_behind_the_reserved_block),
        CASE(a_given_owner_id_replaces_the_one_that_is_kept),
        CASE(an_owner_id_outlives_lost_numbers_but_not_its_own_spelling),
        CASE(lost_numbers_begin_above_what_is_found),
        CASE(numbers_go_on_when_they_cannot_be_reserved),
        CASE(secrets_are_read_as_written_and_swept),
        CASE(event_is_one_line_whatever_its_text),
        CASE(old_events_are_kept_once),
        CASE(flood_drops_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
