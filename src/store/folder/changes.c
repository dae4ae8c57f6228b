#include "store/folder/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/folder/lead.h"
#include "store/folder/leftovers.h"
#include "store/folder/name.h"
#include "store/folder/schedule.h"
#include "store/folder/write_back.h"

// ---- what inotify tells -------------------------------------------------------------------------

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// "..data" is how a mounted ConfigMap swaps all its files at once.
static bool is_swap(const char *name)
{
    return strncmp(name, "..", 2) == 0;
}

static bool is_there(const char *path)
{
    struct disk_stat found;
    return disk_is_link(path) || disk_stat(path, &found, NULL);
}

// Our own writes of status files are told as well.
static bool is_of_interest(const char *path)
{
    const char *name = name_of(path);
    return is_swap(name) || (!name_is_skipped(name) && !(name_is_status(name) && is_there(path)));
}

static bool lies_in(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

static bool lies_in_own(const struct folder *folder, const char *path)
{
    return strcmp(path, folder->own_dir) == 0 || lies_in(folder->own_dir, path);
}

static void note_edit(struct folder *folder)
{
    folder->has_edits = true;
    folder->last_edit_ms = folder_now_ms(folder);
}

static void add_change(struct folder *folder, char *path)
{
    mem_reserve(&folder->changes, &folder->change_capacity, folder->change_count + 1);
    folder->changes[folder->change_count++] = path;
}

static void take_names(void *context, bool is_lost)
{
    struct folder *folder = context;
    size_t count = 0;
    bool is_relevant = is_lost;
    bool is_own = is_lost;
    bool is_edit = is_lost;
    char **paths = disk_watch_take(folder->watch, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_child = lies_in(folder->owned_objects.folder, paths[i]);
        bool is_own_path = lies_in_own(folder, paths[i]) && !is_child;
        is_own = is_own || is_own_path;
        if (is_own_path || !is_of_interest(paths[i])) {
            free(paths[i]);
            continue;
        }
        is_relevant = true;
        is_edit = is_edit || (!is_child && !name_is_status(name_of(paths[i])));
        add_change(folder, paths[i]);
    }
    free(paths);
    folder->needs_scan = folder->needs_scan || is_lost;
    if (is_edit)
        note_edit(folder);
    if (is_relevant)
        schedule_soon(folder);
    if (is_own)
        lead_look(folder);
}

// Of one folder that goes, changes or may not be read; its scan tells.
static bool is_its_own_fault(const struct error *err)
{
    static const int numbers[] = {ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (err->status == numbers[i])
            return true;
    return false;
}

static void report_watchless(const struct folder *folder, const struct error *err)
{
    log_line(folder->log, LOG_WARN, "changes are found by the scan every 60 s only",
             LOG_TEXT("error", err->text), LOG_END);
}

void changes_watch_folder(void *context, const char *path)
{
    struct folder *folder = context;
    struct error err = {0};
    if (folder->is_leading && folder->pass.is_load)
        leftovers_remove(folder, path);
    if (!folder->watch || disk_watch_add(folder->watch, path, &err) || is_its_own_fault(&err))
        return;
    report_watchless(folder, &err);
    disk_watch_free(steal(folder->watch));
}

// What an object made goes with it, at the start before anybody has seen it.
static void miss_child(struct folder *folder, const char *path)
{
    const struct entries *entries = &folder->entries;
    uint32_t file = files_find(entries, path);
    if (folder->work != WORK_LOAD || file == FILE_NONE)
        return;
    for (uint32_t id = entries->files[file].first; id != ENTRY_NONE; id = entries->items[id].next)
        pass_miss(folder, id);
}

void changes_report_child(void *context, const char *path, bool is_there)
{
    struct folder *folder = context;
    if (is_there)
        changes_watch_folder(folder, folder->owned_objects.folder);
    else
        miss_child(folder, path + strlen(folder->state_dir) + 1);
    add_change(folder, mem_copy_text(path));
    // What inotify names next does not put it off: somebody waits for it.
    folder->first_change_ms = folder_now_ms(folder) - DEBOUNCE_MAX_MS;
    loop_timer_set(folder->world.loop, &folder->debounce_timer, 0);
}

// ---- what became of it --------------------------------------------------------------------------

static bool knows_below(const struct folder *folder, const char *path)
{
    size_t len = strlen(path);
    for (uint32_t id = 0; id < folder->entries.file_slots.end; id++) {
        const struct file *file = &folder->entries.files[id];
        if (file->path && (file->flags & FILE_IS_PRESENT) && strncmp(file->path, path, len) == 0 &&
            file->path[len] == '/')
            return true;
    }
    return false;
}

static void take_manifest(struct folder *folder, const char *path, bool is_there)
{
    uint32_t id = files_find(&folder->entries, path);
    if (id == FILE_NONE && !is_there)
        return;
    if (id == FILE_NONE)
        id = files_need(&folder->entries, path);
    if (is_there)
        folder->entries.files[id].flags |= FILE_IS_PRESENT;
    else
        folder->entries.files[id].flags &= ~(uint32_t)FILE_IS_PRESENT;
    pass_queue(folder, id);
}

void changes_miss_status(struct folder *folder, uint32_t id)
{
    struct file *file = &folder->entries.files[id];
    struct status_file *status = status_files_find(&folder->status_files, id);
    bool is_expected = file->first != ENTRY_NONE || (file->flags & FILE_HAS_BROKEN);
    bool is_here = status && status->is_loaded;
    if (!folder->is_leading || !is_expected || !(file->flags & FILE_IS_PRESENT) ||
        (file->flags & (FILE_IS_HOMELESS | FILE_HAS_LOST_STATUS)) ||
        (is_here && (file->flags & FILE_IS_DUE)))
        return;
    folder->lost_count++;
    if (is_here) {
        status->is_missed = true;
        write_back_mark(folder, id);
        return;
    }
    file->flags |= FILE_HAS_LOST_STATUS | FILE_IS_UNSETTLED;
    pass_queue(folder, id);
}

static void take_status(struct folder *folder, const char *path)
{
    autofree char *manifest = name_copy_manifest(path);
    uint32_t id = files_find(&folder->entries, manifest);
    if (id != FILE_NONE)
        changes_miss_status(folder, id);
}

static void take_path(struct folder *folder, const char *full)
{
    struct disk_stat found;
    struct error err = {0};
    bool is_child = lies_in(folder->owned_objects.folder, full);
    const char *root = is_child ? folder->state_dir : folder->dir;
    if (!lies_in(root, full)) {
        folder->needs_scan = true;
        return;
    }
    const char *path = full + strlen(root) + 1;
    const char *name = name_of(path);
    if (is_swap(name)) {
        folder->needs_scan = true;
        return;
    }
    bool is_there = disk_stat(full, &found, &err);
    bool is_unknown = !is_there && err.status != ENOENT && err.status != ENOTDIR;
    if (is_unknown || (is_there && found.is_folder) || (!is_there && knows_below(folder, path)))
        folder->needs_scan = true;
    else if (name_is_manifest(name) && (!is_there || found.is_file))
        take_manifest(folder, path, is_there);
    else if (name_is_status(name) && !is_there)
        take_status(folder, path);
}

enum step changes_take(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    for (size_t i = 0; i < folder->change_count; i++) {
        take_path(folder, folder->changes[i]);
        free(folder->changes[i]);
    }
    folder->change_count = 0;
    folder->has_edits = false;
    return STEP_DONE;
}

void changes_start(struct folder *folder)
{
    struct error err = {0};
    folder->watch = disk_watch_new(folder->world.loop, take_names, folder, &err);
    if (!folder->watch)
        report_watchless(folder, &err);
}

void changes_done(struct folder *folder)
{
    disk_watch_free(folder->watch);
    for (size_t i = 0; i < folder->change_count; i++)
        free(folder->changes[i]);
    free(folder->changes);
}
