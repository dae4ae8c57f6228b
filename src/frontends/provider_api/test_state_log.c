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
#include "io/test_folder.h"

enum { NOW_S = 1767088800, SETS_MAX = 8 };

struct bench {
    char top[TEST_FOLDER_MAX];
    char dir[TEST_FOLDER_MAX + 8];
    char file[TEST_FOLDER_MAX + 32];
    struct disk_ops ops; // the system's, that do not wait for the device
    struct disk quick;
    struct disk *disk;
    struct nonces *nonces;
    struct state_log *state;
    struct arena *arena;
    struct record_set sets[SETS_MAX]; // restored
    size_t set_count;
    struct error err;
};

static bool replace_unsynced(struct disk *disk, const char *path, struct text content, mode_t mode,
                             bool is_synced, struct error *err)
{
    (void)disk;
    (void)is_synced;
    return disk_replace(disk_system(), path, content, mode, false, err);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    test_folder_make(bench->top);
    snprintf(bench->dir, sizeof bench->dir, "%s/state", bench->top);
    snprintf(bench->file, sizeof bench->file, "%s/provider.log", bench->dir);
    bench->ops = *disk_system()->ops;
    bench->ops.replace = replace_unsynced;
    bench->quick.ops = &bench->ops;
    bench->disk = &bench->quick;
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

static void read_file(const struct bench *bench, struct buffer *out)
{
    assert_true(disk_read(out, bench->file, 1 << 30, NULL));
}

static void add_octets(const struct bench *bench, const char *octets)
{
    struct disk_file *file = disk_append_open(bench->disk, bench->file, 0600, NULL);
    assert_true(disk_append(bench->disk, file, text_of(octets), NULL));
    disk_append_close(bench->disk, file);
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
    AUTO_BUFFER content = {0};
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
    assert_true(start_at(bench, NOW_S + 301));
    assert_int_equal(nonces_count(bench->nonces), 0);
    read_file(bench, &content);
    assert_null(strstr(content.at, "nonce"));
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
    shut(bench);
    add_octets(bench, "{\"forgotten\":7}\n{\"forgotten\":{}}\n{\"forgotten\":{\"first\":1}}\n"
                      "{\"forgotten\":{\"first\":-9223372036854775808,"
                      "\"last\":9223372036854775807}}\n"
                      "{\"nonce\":\"00000000000000000000000000000001\","
                      "\"stamp\":9223372036854775807}\n");
    start(bench);
    use(bench, "a", NOW_S, NOW_S);
}

static void nonces_are_kept_as_digests(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER content = {0};
    start(bench);
    use(bench, "visible-nonce", NOW_S, NOW_S);
    read_file(bench, &content);
    assert_true(content.len > 0);
    assert_null(strstr(content.at, "visible-nonce"));
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

static void torn_last_line_is_dropped(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    shut(bench);
    add_octets(bench, "{\"set\":{\"type\":\"A\",\"domain\":\"example.com\",\"subd");
    start(bench);
    assert_int_equal(bench->set_count, 1);
    put(bench, set_of(RECORD_A, "b", 300));
    start(bench);
    assert_int_equal(bench->set_count, 2);
}

static void unreadable_lines_are_left_out(void **state)
{
    struct bench *bench = *state;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    shut(bench);
    add_octets(bench, "garbage\n\n[]\n{}\n{\"nonce\":7}\n{\"nonce\":\"zz\",\"stamp\":1}\n"
                      "{\"remove\":9}\n{\"remove\":\"/records/X/a/b\"}\n{\"set\":{}}\n");
    start(bench);
    assert_int_equal(bench->set_count, 1);
    assert_int_equal(nonces_count(bench->nonces), 0);
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

static void log_is_compacted_at_the_start(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER before = {0};
    AUTO_BUFFER after = {0};
    start(bench);
    for (uint32_t i = 0; i < 100; i++)
        put(bench, set_of(RECORD_A, "www", i));
    read_file(bench, &before);
    start(bench);
    read_file(bench, &after);
    assert_true(after.len < before.len / 50);
    assert_int_equal(bench->sets[0].ttl_s, 99);
}

static void log_is_compacted_while_it_grows(void **state)
{
    enum { LINES = 120, VALUES = 256, OCTETS = 400 };
    struct bench *bench = *state;
    struct disk_stat status;
    struct text *values = arena_new_array(bench->arena, struct text, VALUES);
    struct record_set set = set_of(RECORD_TXT, "big", 60);
    for (size_t i = 0; i < VALUES; i++)
        values[i] = text_of(arena_printf(bench->arena, "%0*zu", OCTETS, i));
    set.values = values;
    set.value_count = VALUES;
    start(bench);
    use(bench, "kept", NOW_S, NOW_S);
    put(bench, set_of(RECORD_A, "www", 300));
    for (uint32_t i = 0; i < LINES; i++) { // 12 MB
        set.ttl_s = i;
        put(bench, set);
    }
    assert_true(disk_stat(bench->file, &status, NULL));
    assert_true(status.size < 9 << 20);
    start(bench);
    assert_int_equal(bench->set_count, 2);
    assert_int_equal(bench->sets[1].ttl_s, LINES - 1);
    assert_int_equal(nonces_use(bench->nonces, TEXT("kept"), NOW_S, NOW_S), NONCE_USED);
}

static void folder_that_cannot_be_made_fails_the_start(void **state)
{
    struct bench *bench = *state;
    assert_true(disk_replace(bench->disk, bench->dir, TEXT("a file"), 0600, false, NULL));
    assert_false(start_at(bench, NOW_S));
    assert_true(bench->err.text[0]);
}

// ---- a disk that fails --------------------------------------------------------------------------

// Appends half of what it is given and fails, once.
struct torn_disk {
    struct disk disk;
    size_t opened;
    bool fails_next;
};

static struct disk_file *torn_open(struct disk *disk, const char *path, mode_t mode,
                                   struct error *err)
{
    ((struct torn_disk *)disk)->opened++;
    return disk_append_open(disk_system(), path, mode, err);
}

static bool torn_append(struct disk *disk, struct disk_file *file, struct text content,
                        struct error *err)
{
    struct torn_disk *torn = (struct torn_disk *)disk;
    if (!torn->fails_next)
        return disk_append(disk_system(), file, content, err);
    torn->fails_next = false;
    content.len /= 2;
    assert_true(disk_append(disk_system(), file, content, NULL));
    return error_set(err, FAULT_AGAIN, "", "no space left");
}

static void failed_line_takes_no_later_one_with_it(void **state)
{
    struct bench *bench = *state;
    struct torn_disk torn = {.disk = {&bench->ops}};
    struct record_set set = set_of(RECORD_A, "lost", 300);
    bench->ops.append_open = torn_open;
    bench->ops.append = torn_append;
    bench->disk = &torn.disk;
    start(bench);
    put(bench, set_of(RECORD_A, "www", 300));
    torn.fails_next = true;
    assert_false(state_log_record(bench->state, &set, false, &bench->err));
    assert_string_equal(bench->err.text, "no space left");
    put(bench, set_of(RECORD_A, "b", 300));
    use(bench, "a", NOW_S, NOW_S);
    assert_int_equal(torn.opened, 2);
    start(bench);
    assert_int_equal(bench->set_count, 2);
    assert_true(text_is(bench->sets[1].subdomain, "b"));
    assert_int_equal(nonces_count(bench->nonces), 1);
    shut(bench);
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
        TEST(torn_last_line_is_dropped),
        TEST(unreadable_lines_are_left_out),
        TEST(biggest_record_survives),
        TEST(log_is_compacted_at_the_start),
        TEST(log_is_compacted_while_it_grows),
        TEST(folder_that_cannot_be_made_fails_the_start),
        TEST(failed_line_takes_no_later_one_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
