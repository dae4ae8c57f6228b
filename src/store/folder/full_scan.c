#include "store/folder/full_scan.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "store/folder/changes.h"
#include "store/folder/degraded.h"
#include "store/folder/leftovers.h"
#include "store/folder/load.h"
#include "store/folder/name.h"
#include "store/folder/schedule.h"

static void saw_manifest(void *context, const char *path, const struct disk_stat *found)
{
    struct folder *folder = context;
    uint32_t id = files_need(&folder->entries, path);
    struct file *file = &folder->entries.files[id];
    bool was_present = file->flags & FILE_IS_PRESENT;
    file->flags |= FILE_IS_PRESENT;
    file->scan = folder->scan_number;
    if (!was_present || folder->pass.is_load || !files_is_same(file, found))
        pass_queue(folder, id);
}

static void saw_status(void *context, const char *path)
{
    struct folder *folder = context;
    autofree char *manifest = name_copy_manifest(path);
    uint32_t id = files_find(&folder->entries, manifest);
    if (id != FILE_NONE)
        folder->entries.files[id].status_scan = folder->scan_number;
    if (folder->pass.is_load)
        load_note(folder, manifest);
}

static void fail_scan(struct folder *folder, const struct error *err)
{
    if (folder->scan_error.fault == FAULT_NONE)
        folder->scan_error = *err;
    schedule_retry(folder, UNREADABLE_RETRY_MS);
    folder->needs_scan = true;
}

// At the start nobody knows what lies there. Later the rest goes on without it.
static void saw_unreadable(void *context, const char *path, const struct error *err)
{
    struct folder *folder = context;
    if (!*path || folder->pass.is_load) {
        fail_scan(folder, err);
        return;
    }
    unread_add(&folder->unread, path, err->text);
    faults_add_folder(folder, path, err->text);
}

static void saw_too_deep(void *context, const char *path)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: is not read, as it is nested more than %d deep; move it up", path,
                  SCAN_DEPTH_MAX);
    faults_add_folder(context, path, text.at);
}

// State folders that are not there yet hold nothing.
static void saw_no_children(void *context, const char *path, const struct error *err)
{
    if (*path || err->status != ENOENT)
        fail_scan(context, err);
}

static void saw_no_state(void *context, const char *path, const struct error *err)
{
    struct folder *folder = context;
    folder->is_state_unread = true;
    if (folder->pass.is_load)
        saw_no_children(context, path, err);
}

static const struct scan_calls manifest_calls = {
    .folder = changes_watch_folder,
    .manifest = saw_manifest,
    .status = saw_status,
    .too_deep = saw_too_deep,
    .unreadable = saw_unreadable,
};

static void saw_state_folder(void *context, const char *path)
{
    const struct folder *folder = context;
    if (folder->is_leading && folder->pass.is_load)
        leftovers_remove(folder, path);
}

static const struct scan_calls status_calls = {
    .folder = saw_state_folder,
    .status = saw_status,
    .unreadable = saw_no_state,
};

static void child_path(struct buffer *out, const char *path)
{
    buffer_printf(out, NAME_CHILDREN "/%s", path);
}

static void saw_child(void *context, const char *path, const struct disk_stat *found)
{
    AUTO_BUFFER whole = {0};
    child_path(&whole, path);
    saw_manifest(context, whole.at, found);
}

static void saw_child_status(void *context, const char *path)
{
    AUTO_BUFFER whole = {0};
    child_path(&whole, path);
    saw_status(context, whole.at);
}

static const struct scan_calls child_calls = {
    .folder = changes_watch_folder,
    .manifest = saw_child,
    .status = saw_child_status,
    .unreadable = saw_no_children,
};

enum step full_scan_begin(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    changes_watch_folder(folder, folder->own_dir);
    folder->needs_scan = false;
    error_clear(&folder->scan_error);
    unread_clear(&folder->unread);
    folder->is_state_unread = false;
    faults_begin(folder, FILE_NONE);
    folder->scan_number++;
    scan_begin(&folder->scan, folder->dir, &manifest_calls, folder);
    return STEP_DONE;
}

enum step full_scan_run(struct folder *folder, int64_t until_ms)
{
    if (!scan_step(&folder->scan, folder->world.loop, until_ms))
        return STEP_AGAIN;
    scan_end(&folder->scan);
    return STEP_DONE;
}

// One that was not found is gone, if all that it may lie in could be looked at.
static void judge_file(struct folder *folder, uint32_t id)
{
    struct file *file = &folder->entries.files[id];
    bool has_state = !folder->is_state_unread && !folder->pass.is_load;
    if (file->scan == folder->scan_number) {
        if (has_state && file->status_scan != folder->scan_number)
            changes_miss_status(folder, id);
        return;
    }
    if (unread_covers(&folder->unread, file->path))
        return;
    file->flags &= ~(uint32_t)FILE_IS_PRESENT;
    pass_queue(folder, id);
}

enum step full_scan_judge(struct folder *folder, int64_t until_ms)
{
    const struct entries *entries = &folder->entries;
    (void)until_ms;
    faults_end(folder, FILE_NONE);
    for (uint32_t id = 0; id < entries->file_slots.end; id++) {
        const struct file *file = &entries->files[id];
        if (file->path && (file->flags & FILE_IS_PRESENT) && folder->scan_error.fault == FAULT_NONE)
            judge_file(folder, id);
    }
    return STEP_DONE;
}

enum step full_scan_begin_state(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    if (strcmp(folder->state_dir, folder->dir) == 0)
        return STEP_DONE;
    scan_begin(&folder->scan, folder->state_dir, &status_calls, folder);
    return STEP_DONE;
}

enum step full_scan_begin_children(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    scan_begin(&folder->scan, folder->owned_objects.folder, &child_calls, folder);
    return STEP_DONE;
}
