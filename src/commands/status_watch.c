#include "commands/status_watch.h"

#include <stdlib.h>
#include <string.h>

#include "io/disk.h"
#include "store/folder/name.h"
#include "store/folder/scan.h"

enum {
    OLD_MS = 2000, // a file that was moved here was saved before
    NS_PER_MS = 1000000,
};

struct status_watch {
    struct loop *loop;
    struct status_watch_calls calls;
    struct disk_watch *disk; // NULL: inotify is not to be had
    char *root;              // real path of the folder; NULL: saves are not told
    bool is_complete;
};

// ---- folders ------------------------------------------------------------------------------------

static void watch_folder(void *context, const char *path)
{
    struct status_watch *watch = context;
    struct error err;
    watch->is_complete = disk_watch_add(watch->disk, path, &err) && watch->is_complete;
}

static void ignore_unreadable(void *context, const char *path, const struct error *err)
{
    (void)context;
    (void)path;
    (void)err;
}

static void watch_below(struct status_watch *watch, const char *path)
{
    static const struct scan_calls calls = {.folder = watch_folder,
                                            .unreadable = ignore_unreadable};
    struct scan scan;
    autofree char *real = disk_real_path(path, NULL);
    if (!real) {
        watch->is_complete = false;
        return;
    }
    scan_begin(&scan, real, &calls, watch);
    scan_step(&scan, NULL, 0);
    scan_end(&scan);
}

bool status_watch_folders(struct status_watch *watch, const struct folder_options *folder)
{
    watch->is_complete = watch->disk != NULL;
    if (!watch->disk)
        return false;
    watch_below(watch, folder->dir);
    if (folder->state_dir)
        watch_below(watch, folder->state_dir);
    return watch->is_complete;
}

// ---- saves --------------------------------------------------------------------------------------

// The moment of a save is the file's own time, unless it came from elsewhere.
static int64_t save_time(const struct status_watch *watch, const struct disk_stat *found)
{
    int64_t now_ms = loop_unix_ms(watch->loop);
    int64_t saved_ms = found->mtime_ns / NS_PER_MS;
    return saved_ms <= now_ms && saved_ms > now_ms - OLD_MS ? saved_ms : now_ms;
}

static void report_save(const struct status_watch *watch, const char *path,
                        const struct disk_stat *found)
{
    const struct save save = {.path = path, .at_ms = save_time(watch, found)};
    watch->calls.saved(watch->calls.context, &save);
}

struct new_folder {
    struct status_watch *watch;
    const char *path; // relative to the root
};

static void report_manifest(void *context, const char *path, const struct disk_stat *found)
{
    const struct new_folder *folder = context;
    AUTO_BUFFER full = {0};
    buffer_printf(&full, "%s/%s", folder->path, path);
    report_save(folder->watch, full.at, found);
}

static void watch_new_folder(void *context, const char *path)
{
    const struct new_folder *folder = context;
    watch_folder(folder->watch, path);
}

// Files may have come into it before it was watched.
static void take_folder(struct status_watch *watch, const char *full, const char *path)
{
    static const struct scan_calls calls = {
        .folder = watch_new_folder, .manifest = report_manifest, .unreadable = ignore_unreadable};
    struct new_folder folder = {watch, path};
    struct scan scan;
    scan_begin(&scan, full, &calls, &folder);
    scan_step(&scan, NULL, 0);
    scan_end(&scan);
}

static void take_change(struct status_watch *watch, const char *full)
{
    const struct status_watch_calls *calls = &watch->calls;
    struct disk_stat found = {0};
    size_t root = strlen(watch->root);
    bool is_there = disk_stat(full, &found, NULL);
    if (strncmp(full, watch->root, root) != 0 || full[root] != '/')
        return;
    const char *path = full + root + 1;
    const char *name = strrchr(full, '/') + 1;
    const struct save gone = {path, loop_unix_ms(watch->loop), true, false};
    if (found.is_folder && !name_is_skipped(name))
        take_folder(watch, full, path);
    else if (found.is_file && name_is_manifest(name))
        report_save(watch, path, &found);
    else if (!is_there && (name_is_manifest(name) || calls->has_rows_below(calls->context, path)))
        calls->saved(calls->context, &gone);
}

static void changed(void *context, bool is_lost)
{
    struct status_watch *watch = context;
    size_t count;
    char **paths = disk_watch_take(watch->disk, &count);
    (void)is_lost;
    for (size_t i = 0; i < count; i++) {
        if (watch->root)
            take_change(watch, paths[i]);
        free(paths[i]);
    }
    free(paths);
    watch->calls.changed(watch->calls.context);
}

// ---- life ---------------------------------------------------------------------------------------

struct status_watch *status_watch_new(struct loop *loop, const struct status_watch_calls *calls)
{
    struct error ignored;
    struct status_watch *watch = mem_new_of(struct status_watch);
    *watch = (struct status_watch){.loop = loop, .calls = *calls};
    watch->disk = disk_watch_new(loop, changed, watch, &ignored);
    return watch;
}

bool status_watch_saves(struct status_watch *watch, const char *dir)
{
    watch->root = disk_real_path(dir, NULL);
    return watch->root != NULL;
}

void status_watch_free(struct status_watch *watch)
{
    if (!watch)
        return;
    disk_watch_free(watch->disk);
    free(watch->root);
    free(watch);
}
