#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/memory.h"
#include "frontends/provider_api/state_log.h"
#include "io/database.h"
#include "io/test_folder.h"
#include "model/faulty_disk.h"

enum { NOW_S = 1767088800, SETS_MAX = 8 };

struct bench {
    char top[TEST_FOLDER_MAX];
    char dir[TEST_FOLDER_MAX + 8];
    char file[TEST_FOLDER_MAX + 32];
    struct disk *disk;
    struct nonces *nonces;
    struct state_log *state;
    struct arena *arena;
    struct record_set sets[SETS_MAX]; // restored
    size_t set_count;
    struct error err;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    test_folder_make(bench->top);
    snprintf(bench->dir, sizeof bench->dir, "%s/state", bench->top);
    snprintf(bench->file, sizeof bench->file, "%s/provider.db", bench->dir);
    bench->disk = disk_system();
    bench->arena = arena_new();
    *state = bench;
    return 0;
}

static void shut(struct bench *bench)
{
    state_log_free(steal(bench->state));
    nonces_free(steal(bench->nonces));
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    shut(bench);
    arena_free(bench->arena);
    test_folder_remove(bench->top);
    free(bench);
    return 0;
}

static void restore(void *context, const struct record_set *set)
{
    struct bench *bench = context;
    assert_true(bench->set_count < SETS_MAX);
    bench->sets[bench->set_count++] = record_set_copy(bench->arena, set);
}

static bool start_at(struct bench *bench, int64_t now_s)
{
    const struct state_log_reader reader = {restore, bench};
    shut(bench);
    bench->set_count = 0;
    bench->nonces = nonces_new(1000000);
    bench->state =
        state_log_open(bench->disk, bench->dir, bench->nonces, &reader, now_s, NULL, &bench->err);
    return bench->state;
}

static void start(struct bench *bench)
{
    if (!start_at(bench, NOW_S))
        fail_msg("%s", bench->err.text);
}

static const struct text one[] = {{"192.0.2.1", 9}};
#define ODD "a \"quoted\" \\ text <&> \xc3\xa4\t"
static const struct text odd[] = {{ODD, sizeof ODD - 1}, {"second", 6}};
static const struct text target[] = {{"sip.example.com", 15}};

static struct record_set set_of(enum record_type type, const char *subdomain, uint32_t ttl_s)
{
    return (struct record_set){.type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = text_of(subdomain),
                               .ttl_s = ttl_s,
                               .values = one,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static void put(struct bench *bench, struct record_set set)
{
    assert_true(state_log_record(bench->state, &set, false, &bench->err));
}

// As the frontend hands it in: the key alone.
static void drop(struct bench *bench, struct record_set set)
{
    set.values = NULL;
    set.value_count = 0;
    set.ttl_s = 0;
    assert_true(state_log_record(bench->state, &set, true, &bench->err));
}

static void use(struct bench *bench, const char *nonce, int64_t stamp_s, int64_t now_s)
{
    assert_int_equal(nonces_use(bench->nonces, text_of(nonce), stamp_s, now_s), NONCE_NEW);
    assert_true(state_log_nonce(bench->state, text_of(nonce), stamp_s, &bench->err));
}

// Somebody else's hands: runs statements while the log is shut.
static void tamper(struct bench *bench, const char *sql)
{
    const struct database_options options = {
        .path = bench->file, .schema = "", .version = 1, .is_exclusive = true};
    shut(bench);
    CLEANUP(database)
    struct database *database = database_open(disk_system(), &options, NULL);
    assert_non_null(database);
    assert_true(database_do(database, &bench->err, sql, ""));
}

static int64_t count(struct bench *bench, const char *sql)
{
    int64_t found = -1;
    const struct database_options options = {
        .path = bench->file, .schema = "", .version = 1, .is_exclusive = true};
    shut(bench);
    CLEANUP(database)
    struct database *database = database_open(disk_system(), &options, NULL);
    assert_non_null(database);
    struct rows rows = database_ask(database, sql, "");
    while (rows_next(&rows))
        found = rows_int(&rows, 0);
    assert_true(rows_end(&rows, NULL));
    return found;
}

static void folder_and_file_are_made_for_the_owner_alone(void **state)
{
    struct bench *bench = *state;
    struct stat status;
    start(bench);
    assert_int_equal(stat(bench->dir, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(stat(bench->file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void used_nonces_survive_a_restart(void **state)
{
    struct bench *bench = *state;
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
    use(bench, "b", NOW_S + 5, NOW_S);
    start(bench);
    assert_int_equal(nonces_count(bench->nonces), 2);
    assert_int_equal(nonces_use(bench->nonces, TEXT("a"), NOW_S, NOW_S), NONCE_USED);
    start(bench);
    assert_int_equal(nonces_use(bench->nonces, TEXT("b"), NOW_S, NOW_S), NONCE_USED);
}

static void expired_nonces_are_left_out_and_leave_the_file(void **state)
{
    struct bench *bench = *state;
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
    assert_true(start_at(bench, NOW_S + 301));
    assert_int_equal(nonces_count(bench->nonces), 0);
    assert_int_equal(count(bench, "SELECT count(*) FROM nonces"), 0);
}

static void nonce_stays_used_when_the_clock_jumps_ahead_and_back_over_restarts(void **state)
{
    struct bench *bench = *state;
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
    for (size_t round = 0; round < 2; round++) {
        assert_true(start_at(bench, NOW_S + 400));
        assert_int_equal(nonces_use(bench->nonces, TEXT("a"), NOW_S, NOW_S + 5), NONCE_FORGOTTEN);
        assert_true(start_at(bench, NOW_S + 5));
        assert_int_equal(nonces_use(bench->nonces, TEXT("a"), NOW_S, NOW_S + 5), NONCE_FORGOTTEN);
    }
    use(bench, "b", NOW_S + 5, NOW_S + 5);
}

static void nonce_that_was_forgotten_while_running_stays_so_over_a_restart(void **state)
{
    struct bench *bench = *state;
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
    use(bench, "b", NOW_S + 400, NOW_S + 400);
    assert_true(start_at(bench, NOW_S + 400));
    assert_int_equal(nonces_use(bench->nonces, TEXT("a"), NOW_S, NOW_S + 5), NONCE_FORGOTTEN);
}

static void nonsense_in_place_of_seconds_is_left_out(void **state)
{
    struct bench *bench = *state;
    start(bench);
    tamper(bench, "INSERT INTO forgotten VALUES (NULL, NULL), ('x', 7), (9, 3),"
                  " (-9223372036854775808, 9223372036854775807)");
    tamper(bench, "INSERT INTO nonces VALUES (9223372036854775807, zeroblob(16)), (1, 'short')");
    start(bench);
    assert_int_equal(nonces_count(bench->nonces), 0);
}

static void nonces_are_kept_as_digests(void **state)
{
    struct bench *bench = *state;
    start(bench);
    use(bench, "visible-nonce", NOW_S, NOW_S);
    assert_int_equal(count(bench, "SELECT count(*) FROM nonces WHERE length(digest) = 16"), 1);
    assert_int_equal(count(bench, "SELECT count(*) FROM nonces"
                                  " WHERE instr(digest, 'visible-nonce')"),
                     0);
}

static void records_survive_in_the_order_of_their_creation(void **state)
{
    struct bench *bench = *state;
    struct record_set txt = set_of(RECORD_TXT, "@", 60);
    struct record_set srv = set_of(RECORD_SRV, "_sip._tcp", 60);
    txt.values = odd;
    txt.value_count = 2;
    srv.values = target;
    srv.priority = 1;
    srv.weight = 2;
    srv.port = 3;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    put(bench, txt);
    put(bench, srv);
    put(bench, set_of(RECORD_A, "www", 600));
    for (size_t round = 0; round < 2; round++) {
        start(bench);
        assert_int_equal(bench->set_count, 3);
        assert_true(text_is(bench->sets[0].subdomain, "www"));
        assert_int_equal(bench->sets[0].ttl_s, 600);
        assert_true(record_set_equal(&bench->sets[1], &txt));
        assert_true(record_set_equal(&bench->sets[2], &srv));
    }
}

static void removed_records_stay_away(void **state)
{
    struct bench *bench = *state;
    struct record_set mx = set_of(RECORD_MX, "@", 60);
    mx.values = target;
    mx.priority = 10;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    put(bench, mx);
    drop(bench, set_of(RECORD_A, "www", 300));
    drop(bench, mx);
    start(bench);
    assert_int_equal(bench->set_count, 0);
    put(bench, set_of(RECORD_A, "www", 60));
    start(bench);
    assert_int_equal(bench->set_count, 1);
    assert_int_equal(bench->sets[0].ttl_s, 60);
}

static void last_word_on_a_name_counts_whatever_its_split(void **state)
{
    struct bench *bench = *state;
    struct record_set set = set_of(RECORD_A, "www", 60);
    struct record_set whole = set;
    whole.domain = TEXT("www.example.com");
    whole.subdomain = TEXT("@");
    whole.ttl_s = 300;
    start(bench);
    assert_true(state_log_record(bench->state, &set, false, NULL));
    assert_true(state_log_record(bench->state, &whole, false, NULL));
    start(bench);
    assert_int_equal(bench->set_count, 1);
    assert_int_equal(bench->sets[0].ttl_s, 300);
    assert_true(state_log_record(bench->state, &set, true, NULL));
    start(bench);
    assert_int_equal(bench->set_count, 0);
}

static void unreadable_records_are_left_out(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    tamper(bench, "INSERT INTO records (name, record) VALUES ('a', 'garbage'), ('b', '[]'),"
                  " ('c', '{}'), ('d', NULL), ('e', x'00ff')");
    start(bench);
    assert_int_equal(bench->set_count, 1);
}

static void biggest_record_survives(void **state)
{
    enum { VALUES = 256, OCTETS = 4096 };
    struct bench *bench = *state;
    struct text *values = arena_new_array(bench->arena, struct text, VALUES);
    struct record_set set = set_of(RECORD_TXT, "big", 60);
    for (size_t i = 0; i < VALUES; i++) {
        char *value = arena_alloc(bench->arena, OCTETS, 1);
        memset(value, '<', OCTETS); // six octets each in the log
        value[0] = (char)('A' + i % 26);
        value[1] = (char)('A' + i / 26);
        values[i] = (struct text){value, OCTETS};
    }
    set.values = values;
    set.value_count = VALUES;
    start(bench);
    put(bench, set);
    start(bench);
    assert_int_equal(bench->set_count, 1);
    assert_true(record_set_equal(&bench->sets[0], &set));
}

static void file_does_not_grow_with_changes(void **state)
{
    struct bench *bench = *state;
    struct disk_stat found;
    start(bench);
    use(bench, "kept", NOW_S, NOW_S);
    for (uint32_t i = 0; i < 1000; i++)
        put(bench, set_of(RECORD_A, "www", i));
    shut(bench);
    assert_true(disk_stat(bench->file, &found, NULL));
    assert_true(found.size <= 64 * 1024);
    start(bench);
    assert_int_equal(bench->set_count, 1);
    assert_int_equal(bench->sets[0].ttl_s, 999);
    assert_int_equal(nonces_use(bench->nonces, TEXT("kept"), NOW_S, NOW_S), NONCE_USED);
}

static void second_process_is_refused_the_folder(void **state)
{
    struct bench *bench = *state;
    const struct state_log_reader reader = {restore, bench};
    struct nonces *nonces = nonces_new(10);
    start(bench);
    assert_null(
        state_log_open(disk_system(), bench->dir, nonces, &reader, NOW_S, NULL, &bench->err));
    assert_int_equal(bench->err.fault, FAULT_WAIT);
    assert_non_null(strstr(bench->err.text, "is used by another process; give each its own"));
    nonces_free(nonces);
}

static void folder_that_cannot_be_made_fails_the_start(void **state)
{
    struct bench *bench = *state;
    assert_true(disk_replace(disk_system(), bench->dir, TEXT("a file"), 0600, false, NULL));
    assert_false(start_at(bench, NOW_S));
    assert_true(bench->err.text[0]);
}

// ---- a disk that fails --------------------------------------------------------------------------

static void change_that_finds_no_room_is_refused_and_takes_no_other_with_it(void **state)
{
    struct bench *bench = *state;
    struct disk *disk = faulty_disk_new(disk_system(), NULL);
    bench->disk = disk;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    struct record_set lost = set_of(RECORD_A, "lost", 300);
    faulty_disk_fill(disk, true);
    assert_false(state_log_record(bench->state, &lost, false, &bench->err));
    assert_non_null(strstr(bench->err.text, "No space left on device"));
    assert_false(state_log_nonce(bench->state, TEXT("lost"), NOW_S, &bench->err));
    faulty_disk_fill(disk, false);
    put(bench, set_of(RECORD_A, "b", 300));
    use(bench, "a", NOW_S, NOW_S);
    start(bench);
    assert_int_equal(bench->set_count, 2);
    assert_true(text_is(bench->sets[1].subdomain, "b"));
    assert_int_equal(nonces_count(bench->nonces), 1);
    shut(bench);
    bench->disk = disk_system();
    faulty_disk_free(disk);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(folder_and_file_are_made_for_the_owner_alone),
        TEST(used_nonces_survive_a_restart),
        TEST(expired_nonces_are_left_out_and_leave_the_file),
        TEST(nonce_stays_used_when_the_clock_jumps_ahead_and_back_over_restarts),
        TEST(nonce_that_was_forgotten_while_running_stays_so_over_a_restart),
        TEST(nonsense_in_place_of_seconds_is_left_out),
        TEST(nonces_are_kept_as_digests),
        TEST(records_survive_in_the_order_of_their_creation),
        TEST(removed_records_stay_away),
        TEST(last_word_on_a_name_counts_whatever_its_split),
        TEST(unreadable_records_are_left_out),
        TEST(biggest_record_survives),
        TEST(file_does_not_grow_with_changes),
        TEST(second_process_is_refused_the_folder),
        TEST(folder_that_cannot_be_made_fails_the_start),
        TEST(change_that_finds_no_room_is_refused_and_takes_no_other_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
