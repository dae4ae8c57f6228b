#include "io/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/test_folder.h"

// A folder of its own per test; `path` is for names in it.
struct place {
    char folder[TEST_FOLDER_MAX];
    char path[512];
    struct disk *disk;
    struct error err;
};

static const char *in(struct place *place, const char *name)
{
    snprintf(place->path, sizeof place->path, "%s/%s", place->folder, name);
    return place->path;
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    test_folder_make(place->folder);
    place->disk = disk_system();
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    test_folder_remove(place->folder);
    free(place);
    return 0;
}

static void put(struct place *place, const char *name, const char *content)
{
    assert_true(
        disk_replace(place->disk, in(place, name), text_of(content), 0644, false, &place->err));
}

static void assert_content(struct place *place, const char *name, const char *content)
{
    AUTO_BUFFER found = {0};
    assert_true(disk_read(&found, in(place, name), 1000, &place->err));
    assert_int_equal(found.len, strlen(content));
    assert_string_equal(buffer_text(&found).at, content);
}

static void assert_names(struct place *place, const char *expected)
{
    AUTO_BUFFER found = {0};
    char **names = NULL;
    size_t count = 0;
    assert_true(disk_list(place->folder, &names, &count, &place->err));
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&found, "%s ", names[i]);
        free(names[i]);
    }
    free(names);
    assert_string_equal(buffer_text(&found).at, expected);
}

// Files may not grow beyond `octets`: a write stops in the middle, as on a full disk.
static void limit_files(rlim_t octets)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = octets < limit.rlim_max ? octets : limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void replaced_file_holds_the_new_content_alone(void **state)
{
    struct place *place = *state;
    put(place, "a.yaml", "the old and longer content");
    assert_true(
        disk_replace(place->disk, in(place, "a.yaml"), TEXT("new"), 0644, true, &place->err));
    assert_content(place, "a.yaml", "new");
    assert_names(place, "a.yaml ");
}

static void replaced_file_has_the_mode_whatever_the_umask(void **state)
{
    struct place *place = *state;
    mode_t old = umask(0077);
    put(place, "open", "x");
    umask(0);
    assert_true(disk_replace(place->disk, in(place, "open"), TEXT("y"), 0600, false, &place->err));
    umask(old);
    struct disk_stat found;
    assert_true(disk_stat(in(place, "open"), &found, &place->err));
    assert_int_equal(found.mode, 0600);
}

static void failed_replacement_leaves_the_old_file_and_nothing_else(void **state)
{
    struct place *place = *state;
    put(place, "a", "old");
    limit_files(4);
    bool is_done =
        disk_replace(place->disk, in(place, "a"), TEXT("new content"), 0644, true, &place->err);
    limit_files(RLIM_INFINITY);
    assert_false(is_done);
    assert_int_equal(place->err.status, EFBIG);
    assert_non_null(strstr(place->err.text, place->path));
    assert_content(place, "a", "old");
    assert_names(place, "a ");
}

static void folder_in_the_place_of_a_file_is_not_replaced(void **state)
{
    struct place *place = *state;
    assert_true(disk_make_folder(place->disk, in(place, "a"), 0755, &place->err));
    assert_false(disk_replace(place->disk, in(place, "a"), TEXT("x"), 0644, false, &place->err));
    assert_names(place, "a ");
}

static void names_without_a_folder_are_in_the_current_one(void **state)
{
    struct place *place = *state;
    autofree char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(place->folder), 0);
    bool is_done = disk_replace(place->disk, "a", TEXT("x"), 0644, true, &place->err);
    assert_int_equal(chdir(before), 0);
    assert_true(is_done);
    assert_content(place, "a", "x");
}

static void longest_name_can_be_replaced(void **state)
{
    struct place *place = *state;
    char name[256] = {0};
    memset(name, 'n', sizeof name - 1);
    put(place, name, "x");
    assert_content(place, name, "x");
}

static void missing_folder_fails_with_the_path_and_advice(void **state)
{
    struct place *place = *state;
    assert_false(disk_replace(place->disk, in(place, "no/a"), TEXT("x"), 0644, true, &place->err));
    assert_int_equal(place->err.status, ENOENT);
    assert_int_equal(place->err.fault, FAULT_AGAIN);
    assert_non_null(strstr(place->err.text, "/no/a (check the path)"));
}

static struct disk_file *open_journal(struct place *place)
{
    struct disk_file *file = disk_append_open(place->disk, in(place, "journal"), 0600, &place->err);
    assert_non_null(file);
    return file;
}

static void appended_content_follows_what_is_there(void **state)
{
    struct place *place = *state;
    put(place, "journal", "one\n");
    struct disk_file *file = open_journal(place);
    assert_true(disk_append(place->disk, file, TEXT("two\n"), &place->err));
    assert_true(disk_sync(place->disk, file, &place->err));
    assert_true(disk_append(place->disk, file, TEXT("three\n"), &place->err));
    disk_append_close(place->disk, file);
    assert_content(place, "journal", "one\ntwo\nthree\n");
}

static void nothing_is_appended_where_a_link_leads(void **state)
{
    struct place *place = *state;
    put(place, "theirs", "x");
    autofree char *theirs = mem_copy_text(in(place, "theirs"));
    assert_int_equal(symlink(theirs, in(place, "journal")), 0);
    assert_null(disk_append_open(place->disk, in(place, "journal"), 0600, &place->err));
    assert_int_equal(place->err.status, ELOOP);
    assert_content(place, "theirs", "x");
}

static void torn_append_is_cut_back(void **state)
{
    struct place *place = *state;
    struct disk_file *file = open_journal(place);
    assert_true(disk_append(place->disk, file, TEXT("one\n"), &place->err));
    limit_files(8);
    bool is_done = disk_append(place->disk, file, TEXT("much too long\n"), &place->err);
    limit_files(RLIM_INFINITY);
    assert_false(is_done);
    assert_content(place, "journal", "one\n");
    assert_true(disk_append(place->disk, file, TEXT("two\n"), &place->err));
    disk_append_close(place->disk, file);
    assert_content(place, "journal", "one\ntwo\n");
}

static void journal_in_an_absent_folder_is_not_opened(void **state)
{
    struct place *place = *state;
    assert_null(disk_append_open(place->disk, in(place, "no/journal"), 0600, &place->err));
    assert_int_equal(place->err.status, ENOENT);
    disk_append_close(place->disk, NULL);
}

// A pipe can neither be synced nor cut back, and takes 64 KiB before it is full.
static struct disk_file *open_pipe(struct place *place, int *reader)
{
    assert_int_equal(mkfifo(in(place, "pipe"), 0600), 0);
    *reader = open(place->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(*reader >= 0);
    struct disk_file *file = disk_append_open(place->disk, place->path, 0600, &place->err);
    assert_non_null(file);
    return file;
}

static void file_that_cannot_be_cut_back_takes_no_more(void **state)
{
    struct place *place = *state;
    int reader;
    struct disk_file *file = open_pipe(place, &reader);
    AUTO_BUFFER content = {0};
    buffer_reserve(&content, 4 << 20);
    memset(content.at, 'x', 4 << 20);
    content.len = 4 << 20;
    bool is_done = disk_append(place->disk, file, buffer_text(&content), &place->err);
    int status = place->err.status;
    bool takes_more = disk_append(place->disk, file, TEXT(""), &place->err);
    bool is_synced = disk_sync(place->disk, file, NULL);
    disk_append_close(place->disk, file);
    close(reader);
    assert_false(is_done);
    assert_int_equal(status, EAGAIN);
    assert_false(takes_more || is_synced);
    assert_int_equal(place->err.status, EIO);
    assert_non_null(strstr(place->err.text, "/pipe: an earlier write or sync failed"));
}

static void failed_sync_is_not_forgotten(void **state)
{
    struct place *place = *state;
    int reader;
    struct disk_file *file = open_pipe(place, &reader);
    bool is_synced = disk_sync(place->disk, file, &place->err);
    int status = place->err.status;
    bool takes_more = disk_append(place->disk, file, TEXT("x"), &place->err);
    disk_append_close(place->disk, file);
    close(reader);
    assert_false(is_synced);
    assert_int_equal(status, EINVAL);
    assert_false(takes_more);
    assert_int_equal(place->err.status, EIO);
}

static void removing_what_is_absent_is_fine(void **state)
{
    struct place *place = *state;
    put(place, "a", "x");
    assert_true(disk_remove(place->disk, in(place, "a"), &place->err));
    assert_true(disk_remove(place->disk, in(place, "a"), &place->err));
    assert_names(place, "");
    assert_false(disk_remove(place->disk, place->folder, &place->err));
    assert_int_equal(place->err.status, EISDIR);
}

static void folders_are_made_with_their_parents_once(void **state)
{
    struct place *place = *state;
    assert_true(disk_make_folder(place->disk, in(place, "a/b//c/"), 0750, &place->err));
    assert_true(disk_make_folder(place->disk, in(place, "a/b/c"), 0700, &place->err));
    struct disk_stat found;
    assert_true(disk_stat(in(place, "a/b/c"), &found, &place->err));
    assert_true(found.is_folder && !found.is_file);
    assert_int_equal(found.mode, 0750);
}

static void folder_below_a_file_cannot_be_made(void **state)
{
    struct place *place = *state;
    put(place, "a", "x");
    assert_false(disk_make_folder(place->disk, in(place, "a/b"), 0755, &place->err));
    assert_int_equal(place->err.status, ENOTDIR);
    assert_false(disk_make_folder(place->disk, in(place, "a"), 0755, &place->err));
    assert_int_equal(place->err.status, ENOTDIR);
}

static void file_of_just_the_limit_is_read(void **state)
{
    struct place *place = *state;
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "before ");
    put(place, "a", "12345");
    assert_true(disk_read(&out, in(place, "a"), 5, &place->err));
    assert_string_equal(out.at, "before 12345");
}

static void file_over_the_limit_is_refused_and_nothing_is_added(void **state)
{
    struct place *place = *state;
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "before");
    put(place, "a", "12345");
    assert_false(disk_read(&out, in(place, "a"), 4, &place->err));
    assert_int_equal(place->err.status, EFBIG);
    assert_int_equal(place->err.fault, FAULT_SPEC);
    assert_string_equal(out.at, "before");
}

static void the_head_of_a_larger_file_is_read(void **state)
{
    struct place *place = *state;
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "before ");
    put(place, "a", "12345");
    assert_true(disk_read_head(&out, in(place, "a"), 3, &place->err));
    assert_string_equal(out.at, "before 123");
    assert_true(disk_read_head(&out, in(place, "a"), 9, &place->err));
    assert_string_equal(out.at, "before 12312345");
    assert_false(disk_read_head(&out, place->folder, 9, &place->err));
}

static void file_that_claims_no_size_is_read_up_to_the_limit(void **state)
{
    struct place *place = *state;
    AUTO_BUFFER out = {0};
    assert_true(disk_read(&out, "/proc/self/stat", 4096, &place->err));
    assert_true(out.len > 20);
    assert_int_equal(out.at[out.len - 1], '\n');
    buffer_clear(&out);
    assert_false(disk_read(&out, "/proc/self/stat", 5, &place->err));
    assert_int_equal(out.len, 0);
}

static void empty_file_reads_as_empty(void **state)
{
    struct place *place = *state;
    put(place, "a", "");
    assert_content(place, "a", "");
}

static void pipes_and_folders_are_not_read(void **state)
{
    struct place *place = *state;
    AUTO_BUFFER out = {0};
    assert_int_equal(mkfifo(in(place, "pipe"), 0600), 0);
    assert_false(disk_read(&out, in(place, "pipe"), 100, &place->err));
    assert_string_equal(place->err.reason, "NotAFile");
    assert_false(disk_read(&out, place->folder, 100, &place->err));
    assert_int_equal(place->err.status, EISDIR);
    assert_false(disk_read(&out, in(place, "absent"), 100, &place->err));
    assert_int_equal(place->err.status, ENOENT);
}

static void stat_tells_size_time_and_kind_through_links(void **state)
{
    struct place *place = *state;
    struct disk_stat file, link_to_it;
    put(place, "a", "12345");
    assert_true(disk_stat(in(place, "a"), &file, &place->err));
    assert_int_equal(symlink("a", in(place, "link")), 0);
    assert_true(disk_stat(in(place, "link"), &link_to_it, &place->err));
    assert_int_equal(file.size, 5);
    assert_true(file.is_file && !file.is_folder && file.mtime_ns > 0);
    assert_int_equal(link_to_it.inode, file.inode);
    assert_int_equal(link_to_it.device, file.device);
    assert_false(disk_stat(in(place, "absent"), &file, &place->err));
    assert_int_equal(place->err.status, ENOENT);
    assert_int_equal(file.size, 5);
}

static void names_are_listed_in_byte_order(void **state)
{
    struct place *place = *state;
    put(place, "b", "");
    put(place, "\xc3\xa4", "");
    put(place, "a", "");
    put(place, ".hidden", "");
    put(place, "B", "");
    assert_names(place, ".hidden B a b \xc3\xa4 ");
}

static void list_of_an_absent_folder_fails(void **state)
{
    struct place *place = *state;
    char **names = NULL;
    size_t count = 7;
    assert_false(disk_list(in(place, "no"), &names, &count, &place->err));
    assert_int_equal(place->err.status, ENOENT);
    assert_null(names);
    assert_int_equal(count, 7);
}

static void real_path_resolves_links(void **state)
{
    struct place *place = *state;
    put(place, "a", "");
    autofree char *expected = disk_real_path(in(place, "a"), &place->err);
    assert_int_equal(symlink("a", in(place, "link")), 0);
    autofree char *found = disk_real_path(in(place, "link"), &place->err);
    assert_string_equal(found, expected);
    assert_null(disk_real_path(in(place, "no"), &place->err));
    assert_int_equal(place->err.status, ENOENT);
}

static void folder_of_a_path_is_what_stands_before_the_last_slash(void **state)
{
    static const char *const rows[][2] = {
        {"a", "."}, {"a/b", "a"}, {"/a", "/"}, {"/a/b/c", "/a/b"}, {"/", "/"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        autofree char *folder = disk_folder_of(rows[i][0]);
        assert_string_equal(folder, rows[i][1]);
    }
}

static void lock_is_held_by_one_at_a_time(void **state)
{
    struct place *place = *state;
    bool is_held = true;
    int first = disk_lock(in(place, "lock"), &is_held, &place->err);
    assert_true(first >= 0);
    assert_false(is_held);
    assert_int_equal(disk_lock(in(place, "lock"), &is_held, &place->err), -1);
    assert_true(is_held);
    assert_int_equal(place->err.fault, FAULT_WAIT);
    disk_unlock(first);
    int second = disk_lock(in(place, "lock"), &is_held, &place->err);
    assert_true(second >= 0);
    disk_unlock(second);
    assert_int_equal(disk_lock(in(place, "no/lock"), &is_held, &place->err), -1);
    assert_false(is_held);
}

static void folder_is_locked_without_a_file_in_it(void **state)
{
    struct place *place = *state;
    bool is_held = true;
    int first = disk_lock_folder(place->folder, &is_held, &place->err);
    assert_true(first >= 0);
    assert_false(is_held);
    assert_int_equal(disk_lock_folder(place->folder, &is_held, &place->err), -1);
    assert_true(is_held);
    assert_int_equal(disk_lock_holder(place->folder), getpid());
    assert_names(place, "");
    disk_unlock(first);
    assert_int_equal(disk_lock_holder(place->folder), 0);
    assert_int_equal(disk_lock_folder(in(place, "no"), &is_held, &place->err), -1);
    assert_false(is_held);
}

static void lock_knows_that_its_file_was_replaced(void **state)
{
    struct place *place = *state;
    bool is_held;
    int lock = disk_lock(in(place, "lock"), &is_held, &place->err);
    assert_true(disk_lock_is_at(lock, in(place, "lock")));
    assert_true(disk_remove(place->disk, in(place, "lock"), &place->err));
    assert_false(disk_lock_is_at(lock, in(place, "lock")));
    put(place, "lock", "");
    assert_false(disk_lock_is_at(lock, in(place, "lock")));
    disk_unlock(lock);
}

#define DISK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void local_folder_is_not_remote(void **state)
{
    const struct place *place = *state;
    assert_false(disk_is_remote(place->folder));
    assert_false(disk_is_remote("/absent/folder"));
}

static void a_temporary_file_tells_what_it_was_for(void **state)
{
    (void)state;
    static const char *const others[] = {"web.yaml",       ".web.yaml",           ".web.yaml.tmp",
                                         ".AbCdEf.tmp",    "web.yaml.AbCdEf.tmp", ".tmp",
                                         ".web-AbCdEf.tmp"};
    struct text target;
    assert_true(disk_temporary_target(".web.yaml.AbCdEf.tmp", &target));
    assert_true(text_is(target, "web.yaml"));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(disk_temporary_target(others[i], &target));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DISK_TEST(replaced_file_holds_the_new_content_alone),
        DISK_TEST(replaced_file_has_the_mode_whatever_the_umask),
        DISK_TEST(failed_replacement_leaves_the_old_file_and_nothing_else),
        DISK_TEST(folder_in_the_place_of_a_file_is_not_replaced),
        DISK_TEST(names_without_a_folder_are_in_the_current_one),
        DISK_TEST(longest_name_can_be_replaced),
        DISK_TEST(missing_folder_fails_with_the_path_and_advice),
        DISK_TEST(appended_content_follows_what_is_there),
        DISK_TEST(nothing_is_appended_where_a_link_leads),
        DISK_TEST(torn_append_is_cut_back),
        DISK_TEST(journal_in_an_absent_folder_is_not_opened),
        DISK_TEST(file_that_cannot_be_cut_back_takes_no_more),
        DISK_TEST(failed_sync_is_not_forgotten),
        DISK_TEST(removing_what_is_absent_is_fine),
        DISK_TEST(folders_are_made_with_their_parents_once),
        DISK_TEST(folder_below_a_file_cannot_be_made),
        DISK_TEST(file_of_just_the_limit_is_read),
        DISK_TEST(file_over_the_limit_is_refused_and_nothing_is_added),
        DISK_TEST(the_head_of_a_larger_file_is_read),
        DISK_TEST(file_that_claims_no_size_is_read_up_to_the_limit),
        DISK_TEST(empty_file_reads_as_empty),
        DISK_TEST(pipes_and_folders_are_not_read),
        DISK_TEST(stat_tells_size_time_and_kind_through_links),
        DISK_TEST(names_are_listed_in_byte_order),
        DISK_TEST(list_of_an_absent_folder_fails),
        DISK_TEST(real_path_resolves_links),
        DISK_TEST(folder_of_a_path_is_what_stands_before_the_last_slash),
        DISK_TEST(lock_is_held_by_one_at_a_time),
        DISK_TEST(folder_is_locked_without_a_file_in_it),
        DISK_TEST(lock_knows_that_its_file_was_replaced),
        DISK_TEST(local_folder_is_not_remote),
        cmocka_unit_test(a_temporary_file_tells_what_it_was_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
