#include "io/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/loop.h"
#include "io/test_folder.h"

// A watched folder with a file "old" and a sub-folder "sub" (not watched yet).
struct place {
    char folder[TEST_FOLDER_MAX];
    char path[512];
    struct loop *loop;
    struct disk_watch *watch;
    struct loop_timer end;
    unsigned calls;
    bool is_lost;
};

static const char *in(struct place *place, const char *name)
{
    snprintf(place->path, sizeof place->path, "%s/%s", place->folder, name);
    return place->path;
}

static void changed(void *context, bool is_lost)
{
    struct place *place = context;
    place->calls++;
    place->is_lost |= is_lost;
}

static void stop(void *context)
{
    loop_stop(context);
}

static void write_file(struct place *place, const char *name)
{
    assert_true(disk_replace(disk_system(), in(place, name), TEXT("x"), 0644, false, NULL));
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    test_folder_make(place->folder);
    write_file(place, "old");
    assert_int_equal(mkdir(in(place, "sub"), 0755), 0);
    place->loop = loop_new();
    place->end = (struct loop_timer){.call = stop, .context = place->loop};
    place->watch = disk_watch_new(place->loop, changed, place, NULL);
    assert_non_null(place->watch);
    assert_true(disk_watch_add(place->watch, place->folder, NULL));
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    disk_watch_free(place->watch);
    loop_timer_cancel(place->loop, &place->end);
    loop_free(place->loop);
    test_folder_remove(place->folder);
    free(place);
    return 0;
}

// The kernel queues an event before the call that made it returns, so one round sees them all.
static void listen(struct place *place)
{
    loop_timer_set(place->loop, &place->end, 1);
    loop_run(place->loop);
}

// The paths told, without the folder in front.
static void assert_changes(struct place *place, const char *expected)
{
    AUTO_BUFFER found = {0};
    size_t count = 0;
    char **paths = disk_watch_take(place->watch, &count);
    assert_true(count > 0 || !paths);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strncmp(paths[i], place->folder, strlen(place->folder)), 0);
        buffer_printf(&found, "%s ", paths[i] + strlen(place->folder));
        free(paths[i]);
    }
    free(paths);
    assert_string_equal(buffer_text(&found).at, expected);
}

static void written_file_is_told_when_it_is_closed(void **state)
{
    struct place *place = *state;
    int fd = open(in(place, "new"), O_WRONLY | O_CREAT, 0644);
    assert_int_equal(write(fd, "x", 1), 1);
    listen(place);
    assert_int_equal(place->calls, 0);
    close(fd);
    listen(place);
    assert_int_equal(place->calls, 1);
    assert_false(place->is_lost);
    assert_changes(place, "/new ");
}

static void changes_are_told_once_each_in_byte_order(void **state)
{
    struct place *place = *state;
    write_file(place, "b");
    write_file(place, "a");
    write_file(place, "b");
    assert_int_equal(unlink(in(place, "old")), 0);
    listen(place);
    assert_changes(place, "/a /b /old ");
    assert_changes(place, "");
}

static void temporary_files_of_a_replacement_are_not_told(void **state)
{
    struct place *place = *state;
    write_file(place, "old");
    listen(place);
    assert_changes(place, "/old ");
}

static void renamed_file_is_told_under_both_names(void **state)
{
    struct place *place = *state;
    char from[512];
    snprintf(from, sizeof from, "%s/old", place->folder);
    assert_int_equal(rename(from, in(place, "new")), 0);
    listen(place);
    assert_changes(place, "/new /old ");
}

static void new_folders_and_links_are_told(void **state)
{
    struct place *place = *state;
    char from[512];
    snprintf(from, sizeof from, "%s/old", place->folder);
    assert_int_equal(mkdir(in(place, "folder"), 0755), 0);
    assert_int_equal(symlink("old", in(place, "soft")), 0);
    assert_int_equal(link(from, in(place, "hard")), 0);
    listen(place);
    assert_changes(place, "/folder /hard /soft ");
}

static void added_folder_is_watched_too(void **state)
{
    struct place *place = *state;
    assert_true(disk_watch_add(place->watch, in(place, "sub/"), NULL));
    assert_true(disk_watch_add(place->watch, in(place, "sub"), NULL));
    write_file(place, "sub/a");
    listen(place);
    assert_changes(place, "/sub/a ");
}

static void moved_folder_is_told_and_forgotten_until_added_again(void **state)
{
    struct place *place = *state;
    char from[512];
    snprintf(from, sizeof from, "%s/sub", place->folder);
    assert_int_equal(mkdir(in(place, "sub/deep"), 0755), 0);
    assert_true(disk_watch_add(place->watch, from, NULL));
    assert_true(disk_watch_add(place->watch, in(place, "sub/deep"), NULL));
    assert_int_equal(rename(from, in(place, "moved")), 0);
    listen(place);
    assert_changes(place, "/moved /sub ");
    write_file(place, "moved/a");
    write_file(place, "moved/deep/a");
    listen(place);
    assert_changes(place, "");
    assert_true(disk_watch_add(place->watch, in(place, "moved"), NULL));
    write_file(place, "moved/a");
    listen(place);
    assert_changes(place, "/moved/a ");
    assert_false(place->is_lost);
}

static void deleted_sub_folder_is_told(void **state)
{
    struct place *place = *state;
    assert_true(disk_watch_add(place->watch, in(place, "sub"), NULL));
    assert_int_equal(rmdir(in(place, "sub")), 0);
    listen(place);
    assert_changes(place, "/sub ");
    assert_false(place->is_lost);
}

static void loss_of_the_last_folder_is_told(void **state)
{
    struct place *place = *state;
    test_folder_remove(place->folder);
    listen(place);
    assert_true(place->is_lost);
    assert_changes(place, "");
}

// More than the kernel's queue or, where that is larger, ours takes.
static void too_many_changes_are_told_as_loss(void **state)
{
    struct place *place = *state;
    char a[512], b[512];
    snprintf(a, sizeof a, "%s/old", place->folder);
    snprintf(b, sizeof b, "%s/new", place->folder);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(rename(a, b), 0);
        assert_int_equal(rename(b, a), 0);
    }
    for (int i = 0; i < 10 && !place->is_lost; i++)
        listen(place);
    assert_true(place->is_lost);
}

static void file_cannot_be_added_as_a_folder(void **state)
{
    struct place *place = *state;
    struct error err = {0};
    assert_false(disk_watch_add(place->watch, in(place, "old"), &err));
    assert_int_equal(err.status, ENOTDIR);
    assert_non_null(strstr(err.text, place->path));
    assert_false(disk_watch_add(place->watch, in(place, "absent"), &err));
    assert_int_equal(err.status, ENOENT);
}

#define WATCH_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCH_TEST(written_file_is_told_when_it_is_closed),
        WATCH_TEST(changes_are_told_once_each_in_byte_order),
        WATCH_TEST(temporary_files_of_a_replacement_are_not_told),
        WATCH_TEST(renamed_file_is_told_under_both_names),
        WATCH_TEST(new_folders_and_links_are_told),
        WATCH_TEST(added_folder_is_watched_too),
        WATCH_TEST(moved_folder_is_told_and_forgotten_until_added_again),
        WATCH_TEST(deleted_sub_folder_is_told),
        WATCH_TEST(loss_of_the_last_folder_is_told),
        WATCH_TEST(too_many_changes_are_told_as_loss),
        WATCH_TEST(file_cannot_be_added_as_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
