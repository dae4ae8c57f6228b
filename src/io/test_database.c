#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "io/database.h"
#include "io/test_folder.h"

#define SCHEMA "CREATE TABLE things (name TEXT PRIMARY KEY, number INTEGER, octets BLOB)"
#define PUT "INSERT OR REPLACE INTO things VALUES (?, ?, ?)"

struct bench {
    char dir[TEST_FOLDER_MAX];
    char path[TEST_FOLDER_MAX + 16];
    struct database *database;
    struct error err;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    test_folder_make(bench->dir);
    snprintf(bench->path, sizeof bench->path, "%s/state.db", bench->dir);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    database_free(bench->database);
    test_folder_remove(bench->dir);
    free(bench);
    return 0;
}

static struct database *open_as(struct bench *bench, struct database_options options)
{
    options.path = bench->path;
    options.schema = SCHEMA;
    options.version = options.version ? options.version : 1;
    return database_open(disk_system(), &options, &bench->err);
}

static void start(struct bench *bench)
{
    database_free(bench->database);
    bench->database = open_as(bench, (struct database_options){.is_exclusive = true});
    if (!bench->database)
        fail_msg("%s", bench->err.text);
}

static void put(struct bench *bench, const char *name, int64_t number)
{
    assert_true(database_do(bench->database, &bench->err, PUT, "tib", text_of(name), number,
                            text_of("octets")));
}

static int64_t sum(struct database *database)
{
    int64_t total = 0;
    struct rows rows = database_ask(database, "SELECT number FROM things", "");
    while (rows_next(&rows))
        total += rows_int(&rows, 0);
    assert_true(rows_end(&rows, NULL));
    return total;
}

static void what_is_written_is_there_after_a_restart_for_its_owner_alone(void **state)
{
    struct bench *bench = *state;
    struct stat found;
    start(bench);
    put(bench, "a", 1);
    assert_int_equal(stat(bench->path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    start(bench);
    put(bench, "b", 2);
    put(bench, "a", 5);
    start(bench);
    assert_int_equal(sum(bench->database), 7);
}

static void values_of_each_type_come_back_as_they_were(void **state)
{
    struct bench *bench = *state;
    static const char octets[] = "a\0b";
    start(bench);
    assert_true(database_do(bench->database, NULL, PUT, "tib", TEXT("n"), INT64_MIN,
                            ((struct text){octets, 3})));
    assert_true(database_do(bench->database, NULL, PUT, "tib", TEXT("o"), (int64_t)0,
                            ((struct text){NULL, 0})));
    struct rows rows = database_ask(bench->database, "SELECT * FROM things ORDER BY name", "");
    assert_true(rows_next(&rows));
    assert_true(text_is(rows_text(&rows, 0), "n"));
    assert_true(rows_int(&rows, 1) == INT64_MIN);
    assert_int_equal(rows_text(&rows, 2).len, 3);
    assert_memory_equal(rows_text(&rows, 2).at, octets, 3);
    assert_true(rows_next(&rows));
    assert_null(rows_text(&rows, 2).at);
    assert_false(rows_next(&rows));
    assert_true(rows_end(&rows, NULL));
}

static void queries_of_one_text_can_be_read_within_each_other(void **state)
{
    struct bench *bench = *state;
    int64_t product = 0;
    start(bench);
    put(bench, "a", 1);
    put(bench, "b", 2);
    struct rows rows = database_ask(bench->database, "SELECT number FROM things WHERE 1", "");
    while (rows_next(&rows))
        product += rows_int(&rows, 0) * sum(bench->database);
    assert_true(rows_end(&rows, NULL));
    assert_int_equal(product, 9);
}

static void transaction_that_is_rolled_back_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, "a", 1);
    database_begin(bench->database);
    database_begin(bench->database);
    put(bench, "b", 2);
    database_roll_back(bench->database);
    database_roll_back(bench->database);
    assert_int_equal(sum(bench->database), 1);
    database_begin(bench->database);
    put(bench, "b", 2);
    assert_true(database_commit(bench->database, NULL));
    assert_true(database_commit(bench->database, NULL));
    start(bench);
    assert_int_equal(sum(bench->database), 3);
}

static void transaction_with_a_failed_statement_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, "a", 1);
    database_begin(bench->database);
    put(bench, "b", 2);
    assert_false(
        database_do(bench->database, NULL, "INSERT INTO things (name) VALUES (?)", "t", TEXT("a")));
    assert_false(database_do(bench->database, NULL, PUT, "tib", TEXT("c"), (int64_t)4, TEXT("")));
    assert_false(database_commit(bench->database, &bench->err));
    assert_non_null(strstr(bench->err.text, "UNIQUE constraint failed"));
    assert_int_equal(sum(bench->database), 1);
    put(bench, "d", 8);
    assert_true(database_commit(bench->database, NULL));
    assert_int_equal(sum(bench->database), 9);
}

static void transaction_that_was_not_committed_is_lost_with_the_process(void **state)
{
    struct bench *bench = *state;
    start(bench);
    database_begin(bench->database);
    put(bench, "a", 1);
    start(bench);
    assert_int_equal(sum(bench->database), 0);
}

static void query_that_fails_has_no_rows_and_says_why(void **state)
{
    struct bench *bench = *state;
    start(bench);
    struct rows rows = database_ask(bench->database, "SELECT * FROM elsewhere", "");
    assert_false(rows_next(&rows));
    assert_false(rows_end(&rows, &bench->err));
    assert_non_null(strstr(bench->err.text, "no such table: elsewhere"));
    assert_non_null(strstr(bench->err.text, bench->path));
}

static void exclusive_database_is_refused_to_a_second_one(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, "a", 1);
    assert_null(open_as(bench, (struct database_options){.is_exclusive = true}));
    assert_int_equal(bench->err.fault, FAULT_WAIT);
    assert_non_null(strstr(bench->err.text, "state.db is used by another process"));
}

static void reader_sees_what_was_committed_while_it_is_written(void **state)
{
    struct bench *bench = *state;
    bench->database = open_as(bench, (struct database_options){.is_exclusive = false});
    put(bench, "a", 1);
    CLEANUP(database)
    struct database *reader = open_as(bench, (struct database_options){.is_reading = true});
    assert_non_null(reader);
    assert_int_equal(sum(reader), 1);
    put(bench, "b", 2);
    assert_int_equal(sum(reader), 3);
    assert_false(database_do(reader, &bench->err, PUT, "tib", TEXT("c"), (int64_t)3, TEXT("")));
}

static void reader_makes_no_file(void **state)
{
    struct bench *bench = *state;
    struct disk_stat found;
    assert_null(open_as(bench, (struct database_options){.is_reading = true}));
    assert_int_equal(bench->err.status, ENOENT);
    assert_false(disk_stat(bench->path, &found, NULL));
}

static void database_without_tables_is_absent_for_a_reader(void **state)
{
    struct bench *bench = *state;
    assert_true(disk_replace(disk_system(), bench->path, TEXT(""), 0600, false, NULL));
    assert_null(open_as(bench, (struct database_options){.is_reading = true}));
    assert_int_equal(bench->err.status, ENOENT);
}

static void database_of_a_later_version_is_refused(void **state)
{
    struct bench *bench = *state;
    database_free(open_as(bench, (struct database_options){.version = 2}));
    assert_null(open_as(bench, (struct database_options){.version = 1}));
    assert_non_null(strstr(bench->err.text, "was written by a later version"));
}

static void file_that_is_no_database_is_refused_and_left(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER text = {0};
    for (int i = 0; i < 200; i++)
        buffer_add_text(&text, "not a database\n");
    assert_true(disk_replace(disk_system(), bench->path, buffer_text(&text), 0600, false, NULL));
    assert_null(open_as(bench, (struct database_options){.is_exclusive = true}));
    assert_non_null(strstr(bench->err.text, "is damaged: put back a copy of it"));
    AUTO_BUFFER after = {0};
    assert_true(disk_read(&after, bench->path, 1 << 20, NULL));
    assert_string_equal(text.at, after.at);
}

static void link_in_place_of_the_file_is_refused(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(symlink("elsewhere", bench->path), 0);
    assert_null(open_as(bench, (struct database_options){.is_exclusive = true}));
    assert_int_equal(bench->err.status, ELOOP);
}

static void database_in_memory_needs_no_file(void **state)
{
    struct bench *bench = *state;
    const struct database_options options = {.schema = SCHEMA, .version = 1};
    bench->database = database_open(disk_system(), &options, &bench->err);
    assert_non_null(bench->database);
    put(bench, "a", 1);
    assert_int_equal(sum(bench->database), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_there_after_a_restart_for_its_owner_alone),
        TEST(values_of_each_type_come_back_as_they_were),
        TEST(queries_of_one_text_can_be_read_within_each_other),
        TEST(transaction_that_is_rolled_back_leaves_nothing),
        TEST(transaction_with_a_failed_statement_leaves_nothing),
        TEST(transaction_that_was_not_committed_is_lost_with_the_process),
        TEST(query_that_fails_has_no_rows_and_says_why),
        TEST(exclusive_database_is_refused_to_a_second_one),
        TEST(reader_sees_what_was_committed_while_it_is_written),
        TEST(reader_makes_no_file),
        TEST(database_without_tables_is_absent_for_a_reader),
        TEST(database_of_a_later_version_is_refused),
        TEST(file_that_is_no_database_is_refused_and_left),
        TEST(link_in_place_of_the_file_is_refused),
        TEST(database_in_memory_needs_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
