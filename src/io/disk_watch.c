#include "io/disk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/disk_private.h"
#include "io/loop.h"

enum {
    CHANGES_MAX = 16384, // paths not taken yet; beyond, all is taken for changed
    READS_MAX = 16,      // per wake-up
    READ_OCTETS = 16 * 1024,
};

static const uint32_t events_wanted = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE |
                                      IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
static const uint32_t events_of_names =
    IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE;
static const uint32_t events_of_itself = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT;

struct watched_folder {
    int descriptor;
    char *path; // without "/" at the end
};

struct disk_watch {
    struct loop *loop;
    struct loop_fd *watched;
    int fd;
    disk_changed *changed;
    void *context;
    struct watched_folder *folders; // by descriptor, which the kernel hands out in rising order
    size_t folder_count;
    size_t folder_capacity;
    char **changes;
    size_t change_count;
    size_t change_capacity;
    bool has_news;
    bool is_lost;
};

static void drop_changes(struct disk_watch *watch)
{
    for (size_t i = 0; i < watch->change_count; i++)
        free(watch->changes[i]);
    watch->change_count = 0;
}

static void lose(struct disk_watch *watch)
{
    drop_changes(watch);
    watch->is_lost = true;
}

static char *join(const char *folder, const char *name)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%s/%s", folder, name);
    return buffer_steal(&out);
}

static void note_change(struct disk_watch *watch, const char *path)
{
    watch->has_news = true;
    if (watch->change_count == CHANGES_MAX)
        lose(watch);
    if (watch->is_lost)
        return;
    mem_reserve(&watch->changes, &watch->change_capacity, watch->change_count + 1);
    watch->changes[watch->change_count++] = mem_copy_text(path);
}

// Index of the first folder whose descriptor is not below.
static size_t folder_slot(const struct disk_watch *watch, int descriptor)
{
    size_t low = 0, high = watch->folder_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (watch->folders[middle].descriptor < descriptor)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct watched_folder *folder_find(const struct disk_watch *watch, int descriptor)
{
    size_t slot = folder_slot(watch, descriptor);
    if (slot == watch->folder_count || watch->folders[slot].descriptor != descriptor)
        return NULL;
    return &watch->folders[slot];
}

static void folder_add(struct disk_watch *watch, int descriptor, char *path)
{
    mem_reserve(&watch->folders, &watch->folder_capacity, watch->folder_count + 1);
    size_t slot = folder_slot(watch, descriptor);
    struct watched_folder *at = &watch->folders[slot];
    memmove(at + 1, at, (watch->folder_count - slot) * sizeof *at);
    watch->folder_count++;
    *at = (struct watched_folder){descriptor, path};
}

static void folder_drop(struct disk_watch *watch, struct watched_folder *folder)
{
    size_t slot = (size_t)(folder - watch->folders);
    free(folder->path);
    memmove(folder, folder + 1, (--watch->folder_count - slot) * sizeof *folder);
    if (watch->folder_count == 0)
        lose(watch);
}

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

// A folder that moved away keeps its watches under names that are no longer true.
static void forget_tree(struct disk_watch *watch, const char *top)
{
    for (size_t i = watch->folder_count; i-- > 0;) {
        struct watched_folder *folder = &watch->folders[i];
        if (!is_below(folder->path, top))
            continue;
        inotify_rm_watch(watch->fd, folder->descriptor);
        folder_drop(watch, folder);
    }
}

// Other files are told by the CLOSE_WRITE that follows; a link, soft or hard, is whole at once.
static bool is_created_whole(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && (S_ISLNK(found.st_mode) || found.st_nlink > 1);
}

static void take_name_event(struct disk_watch *watch, const char *folder,
                            const struct inotify_event *event)
{
    bool is_folder = event->mask & IN_ISDIR;
    if (!is_folder && disk_name_is_temporary(event->name))
        return;
    autofree char *path = join(folder, event->name);
    if (event->mask & IN_CREATE && !is_folder && !is_created_whole(path))
        return;
    if (event->mask & IN_MOVED_FROM && is_folder)
        forget_tree(watch, path);
    note_change(watch, path);
}

static void take_event(struct disk_watch *watch, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        lose(watch);
        return;
    }
    struct watched_folder *folder = folder_find(watch, event->wd);
    if (!folder)
        return;
    if (event->mask & events_of_names && event->len) {
        take_name_event(watch, folder->path, event);
    } else if (event->mask & events_of_itself) {
        autofree char *path = mem_copy_text(folder->path);
        note_change(watch, path);
        forget_tree(watch, path);
    } else if (event->mask & IN_IGNORED) {
        folder_drop(watch, folder);
    }
}

static bool read_events(struct disk_watch *watch)
{
    _Alignas(struct inotify_event) char octets[READ_OCTETS];
    ssize_t got = read(watch->fd, octets, sizeof octets);
    for (char *at = octets; got > 0 && at < octets + got;) {
        const struct inotify_event *event = (const void *)at;
        take_event(watch, event);
        at += sizeof *event + event->len;
    }
    return got > 0;
}

static void watch_ready(void *context, int fd, unsigned interest)
{
    struct disk_watch *watch = context;
    (void)fd, (void)interest;
    for (int i = 0; i < READS_MAX && read_events(watch); i++)
        continue;
    bool is_lost = watch->is_lost;
    if (!watch->has_news && !is_lost)
        return;
    watch->has_news = watch->is_lost = false;
    watch->changed(watch->context, is_lost);
}

struct disk_watch *disk_watch_new(struct loop *loop, disk_changed *changed, void *context,
                                  struct error *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        error_set_errno(err, errno,
                        "cannot watch files (raise fs.inotify.max_user_instances or the limit of "
                        "open files)");
        return NULL;
    }
    struct disk_watch *watch = mem_new_of(struct disk_watch);
    watch->loop = loop;
    watch->fd = fd;
    watch->changed = changed;
    watch->context = context;
    watch->watched = loop_watch_fd(loop, fd, LOOP_READ, watch_ready, watch);
    return watch;
}

// The kernel says ENOSPC when the number of watches is used up.
static bool fail_to_add(struct error *err, int number, const char *folder)
{
    if (number != ENOSPC)
        return error_set_errno(err, number, "cannot watch folder %s", folder);
    error_set(err, FAULT_AGAIN, "WatchLimit",
              "cannot watch folder %s: no inotify watch is left; raise "
              "fs.inotify.max_user_watches",
              folder);
    if (err)
        err->status = number;
    return false;
}

bool disk_watch_add(struct disk_watch *watch, const char *folder, struct error *err)
{
    int descriptor = inotify_add_watch(watch->fd, folder, events_wanted | IN_ONLYDIR);
    if (descriptor < 0)
        return fail_to_add(err, errno, folder);
    char *path = mem_copy_text(folder);
    for (size_t len = strlen(path); len && path[len - 1] == '/'; len--)
        path[len - 1] = '\0';
    struct watched_folder *known = folder_find(watch, descriptor);
    if (!known) {
        folder_add(watch, descriptor, path);
        return true;
    }
    free(known->path);
    known->path = path;
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **disk_watch_take(struct disk_watch *watch, size_t *count)
{
    char **paths = steal(watch->changes);
    size_t kept = 0;
    if (watch->change_count)
        qsort(paths, watch->change_count, sizeof *paths, compare_paths);
    for (size_t i = 0; i < watch->change_count; i++) {
        if (kept && strcmp(paths[kept - 1], paths[i]) == 0)
            free(paths[i]);
        else
            paths[kept++] = paths[i];
    }
    watch->change_count = watch->change_capacity = 0;
    *count = kept;
    if (kept == 0)
        free(steal(paths));
    return paths;
}

void disk_watch_forget(struct disk_watch *watch)
{
    size_t count;
    char **paths = disk_watch_take(watch, &count);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void disk_watch_free(struct disk_watch *watch)
{
    if (!watch)
        return;
    loop_unwatch_fd(watch->loop, watch->watched);
    close(watch->fd);
    for (size_t i = 0; i < watch->folder_count; i++)
        free(watch->folders[i].path);
    free(watch->folders);
    drop_changes(watch);
    free(watch->changes);
    free(watch);
}
