#include "store/folder/settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/folder/behind.h"
#include "store/folder/lead.h"
#include "store/folder/leftovers.h"
#include "store/folder/load.h"
#include "store/folder/name.h"
#include "store/folder/pass.h"
#include "store/folder/trouble.h"

#define STATUS_END ".status"

static void start_work(struct folder *folder);

// ---- looking again ------------------------------------------------------------------------------

void settle_retry(struct folder *folder, int64_t delay_ms)
{
    int64_t at_ms = folder_now_ms(folder) + delay_ms;
    if (folder->retry_at_ms && folder->retry_at_ms <= at_ms)
        return;
    folder->retry_at_ms = at_ms;
    loop_timer_set(folder->world.loop, &folder->retry_timer, delay_ms);
}

void settle_again(struct folder *folder, uint32_t file, int64_t delay_ms)
{
    folder->entries.files[file].flags |= FILE_IS_UNSETTLED;
    settle_retry(folder, delay_ms);
}

static void retry_fired(void *context)
{
    struct folder *folder = context;
    folder->retry_at_ms = 0;
    if (folder->work == WORK_NONE)
        start_work(folder);
    else
        settle_retry(folder, SETTLE_MS);
}

static void arm_settling(struct folder *folder)
{
    int64_t now_ms = folder_now_ms(folder);
    if (!folder->first_change_ms)
        folder->first_change_ms = now_ms;
    int64_t left_ms = folder->first_change_ms + SETTLE_MAX_MS - now_ms;
    int64_t delay_ms = left_ms < SETTLE_MS ? left_ms : SETTLE_MS;
    loop_timer_set(folder->world.loop, &folder->settle_timer, delay_ms > 0 ? delay_ms : 0);
}

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

static void folder_changed(void *context, bool is_lost)
{
    struct folder *folder = context;
    size_t count = 0;
    bool is_relevant = is_lost;
    bool is_own = is_lost;
    bool is_edit = is_lost;
    char **paths = disk_watch_take(folder->watch, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_child = lies_in(folder->children.folder, paths[i]);
        bool is_own_path = lies_in_own(folder, paths[i]) && !is_child;
        is_own = is_own || is_own_path;
        if (is_own_path || !is_of_interest(paths[i])) {
            free(paths[i]);
            continue;
        }
        is_relevant = true;
        is_edit = is_edit || (!is_child && !name_is_status(name_of(paths[i])));
        mem_reserve(&folder->changes, &folder->change_capacity, folder->change_count + 1);
        folder->changes[folder->change_count++] = paths[i];
    }
    free(paths);
    folder->needs_scan = folder->needs_scan || is_lost;
    if (is_edit)
        note_edit(folder);
    if (is_relevant)
        arm_settling(folder);
    if (is_own)
        lead_look(folder);
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

// Of one folder that goes, changes or may not be read; its scan tells.
static bool is_its_own_fault(const struct error *err)
{
    static const int numbers[] = {ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (err->status == numbers[i])
            return true;
    return false;
}

static void saw_folder(void *context, const char *path)
{
    struct folder *folder = context;
    struct error err = {0};
    if (folder->is_leading && folder->pass.is_load)
        leftovers_remove(folder, path);
    if (!folder->watch || disk_watch_add(folder->watch, path, &err) || is_its_own_fault(&err))
        return;
    log_line(folder->log, LOG_WARN, "changes are found by the scan every 60 s only",
             LOG_TEXT("error", err.text), LOG_END);
    disk_watch_free(steal(folder->watch));
}

void settle_child(void *context, const char *path, bool is_there)
{
    struct folder *folder = context;
    if (is_there)
        saw_folder(folder, folder->children.folder);
    else
        miss_child(folder, path + strlen(folder->state_dir) + 1);
    mem_reserve(&folder->changes, &folder->change_capacity, folder->change_count + 1);
    folder->changes[folder->change_count++] = mem_copy_text(path);
    if (!folder->first_change_ms)
        folder->first_change_ms = folder_now_ms(folder);
    loop_timer_set(folder->world.loop, &folder->settle_timer, 0);
}

static void settle_fired(void *context)
{
    struct folder *folder = context;
    if (folder->work != WORK_NONE) {
        loop_timer_set(folder->world.loop, &folder->settle_timer, SETTLE_MS);
        return;
    }
    folder->first_change_ms = 0;
    start_work(folder);
}

void settle_scan(struct folder *folder)
{
    folder->needs_scan = true;
    if (folder->work == WORK_NONE)
        start_work(folder);
}

static void slow_fired(void *context)
{
    struct folder *folder = context;
    loop_timer_set(folder->world.loop, &folder->slow_timer, SLOW_SCAN_MS);
    settle_scan(folder);
}

void settle_reload(struct folder *folder)
{
    folder->needs_load = true;
    if (folder->work == WORK_NONE)
        start_work(folder);
}

// ---- what changed -------------------------------------------------------------------------------

static bool knows_below(const struct folder *folder, const char *path)
{
    size_t len = strlen(path);
    for (uint32_t id = 0; id < folder->entries.file_count; id++) {
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

// As it was where that is still in memory; else its manifest is read as if it had changed.
static void miss_status(struct folder *folder, uint32_t id)
{
    struct file *file = &folder->entries.files[id];
    struct status_file *status = status_book_find(&folder->book, id);
    bool is_expected = file->first != ENTRY_NONE || (file->flags & FILE_HAS_BROKEN);
    bool is_here = status && status->is_loaded;
    if (!folder->is_leading || !is_expected || !(file->flags & FILE_IS_PRESENT) ||
        (file->flags & (FILE_IS_HOMELESS | FILE_IS_MISSED)) ||
        (is_here && (file->flags & FILE_IS_DUE)))
        return;
    folder->lost_count++;
    if (is_here) {
        status->is_missed = true;
        behind_mark(folder, id);
        return;
    }
    file->flags |= FILE_IS_MISSED | FILE_IS_UNSETTLED;
    pass_queue(folder, id);
}

static void take_status(struct folder *folder, const char *path)
{
    autofree char *manifest = mem_copy_text(path);
    manifest[strlen(manifest) - (sizeof STATUS_END - 1)] = '\0';
    uint32_t id = files_find(&folder->entries, manifest);
    if (id != FILE_NONE)
        miss_status(folder, id);
}

static void take_path(struct folder *folder, const char *full)
{
    struct disk_stat found;
    struct error err = {0};
    bool is_child = lies_in(folder->children.folder, full);
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

static enum step take_changes(struct folder *folder, int64_t until_ms)
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

// ---- scanning -----------------------------------------------------------------------------------

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
    autofree char *manifest = mem_copy_text(path);
    manifest[strlen(manifest) - (sizeof STATUS_END - 1)] = '\0';
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
    settle_retry(folder, UNREADABLE_RETRY_MS);
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
    .folder = saw_folder,
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
    .folder = saw_folder,
    .manifest = saw_child,
    .status = saw_child_status,
    .unreadable = saw_no_children,
};
static const struct scan_calls child_status_calls = {
    .status = saw_child_status,
    .unreadable = saw_no_children,
};

static enum step begin_scan(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    saw_folder(folder, folder->own_dir);
    folder->needs_scan = false;
    error_clear(&folder->scan_error);
    unread_clear(&folder->unread);
    folder->is_state_unread = false;
    faults_begin(folder, FILE_NONE);
    folder->scan_number++;
    scan_begin(&folder->scan, folder->dir, &manifest_calls, folder);
    return STEP_DONE;
}

static enum step run_scan(struct folder *folder, int64_t until_ms)
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
            miss_status(folder, id);
        return;
    }
    if (unread_covers(&folder->unread, file->path))
        return;
    file->flags &= ~(uint32_t)FILE_IS_PRESENT;
    pass_queue(folder, id);
}

static enum step end_scan(struct folder *folder, int64_t until_ms)
{
    const struct entries *entries = &folder->entries;
    (void)until_ms;
    faults_end(folder, FILE_NONE);
    for (uint32_t id = 0; id < entries->file_count; id++) {
        const struct file *file = &entries->files[id];
        if (file->path && (file->flags & FILE_IS_PRESENT) && folder->scan_error.fault == FAULT_NONE)
            judge_file(folder, id);
    }
    return STEP_DONE;
}

static enum step begin_state_scan(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    if (strcmp(folder->state_dir, folder->dir) == 0)
        return STEP_DONE;
    scan_begin(&folder->scan, folder->state_dir, &status_calls, folder);
    return STEP_DONE;
}

static enum step begin_child_scan(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    scan_begin(&folder->scan, folder->children.folder, &child_calls, folder);
    return STEP_DONE;
}

static enum step begin_child_checkpoint_scan(struct folder *folder, int64_t until_ms)
{
    AUTO_BUFFER root = {0};
    (void)until_ms;
    buffer_printf(&root, "%s/" NAME_CHILDREN, folder->book.checkpoints);
    scan_begin(&folder->scan, root.at, &child_status_calls, folder);
    return STEP_DONE;
}

static enum step begin_checkpoint_scan(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    scan_begin(&folder->scan, folder->book.checkpoints, &status_calls, folder);
    return STEP_DONE;
}

// ---- work ---------------------------------------------------------------------------------------

static enum step add_doubtful(struct folder *folder, int64_t until_ms)
{
    (void)until_ms;
    pass_queue_doubtful(folder);
    return STEP_DONE;
}

struct stage {
    enum step (*run)(struct folder *folder, int64_t until_ms);
    int64_t slice_ms;
};

static const struct stage load_stages[] = {
    {load_begin, SLICE_MS},
    {take_changes, SLICE_MS},
    {begin_scan, SLICE_MS},
    {run_scan, SLICE_MS},
    {begin_child_scan, SLICE_MS},
    {run_scan, SLICE_MS},
    {end_scan, SLICE_MS},
    {begin_state_scan, SLICE_MS},
    {run_scan, SLICE_MS},
    {begin_checkpoint_scan, SLICE_MS},
    {run_scan, SLICE_MS},
    {begin_child_checkpoint_scan, SLICE_MS},
    {run_scan, SLICE_MS},
    {load_index, SLICE_MS},
    {load_merge, SLICE_MS},
    {pass_read, SLICE_MS},
    {load_orphans, SLICE_MS},
    {pass_finish, SLICE_MS},
    {NULL, 0},
};
static const struct stage scan_stages[] = {
    {take_changes, SLICE_MS},  {begin_scan, SCAN_SLICE_MS},
    {run_scan, SCAN_SLICE_MS}, {begin_child_scan, SCAN_SLICE_MS},
    {run_scan, SCAN_SLICE_MS}, {begin_state_scan, SCAN_SLICE_MS},
    {run_scan, SCAN_SLICE_MS}, {end_scan, SLICE_MS},
    {add_doubtful, SLICE_MS},  {pass_read, SLICE_MS},
    {pass_finish, SLICE_MS},   {NULL, 0},
};
static const struct stage change_stages[] = {
    {add_doubtful, SLICE_MS},
    {pass_read, SLICE_MS},
    {pass_finish, SLICE_MS},
    {NULL, 0},
};
static const struct stage *const stages_of[] = {
    [WORK_LOAD] = load_stages,
    [WORK_SCAN] = scan_stages,
    [WORK_CHANGES] = change_stages,
};

static void forget_files(struct folder *folder)
{
    struct entries *entries = &folder->entries;
    for (uint32_t id = 0; id < entries->file_count; id++) {
        const struct file *file = &entries->files[id];
        uint32_t held = FILE_IS_PRESENT | FILE_IS_QUEUED | FILE_IS_DUE | FILE_IS_COVERED |
                        FILE_HAS_BROKEN | FILE_IS_UNSETTLED;
        if (file->path && file->first == ENTRY_NONE && !(file->flags & held) &&
            !status_book_find(&folder->book, id)) {
            faults_forget(folder, id);
            files_forget(entries, id);
        }
    }
}

static void tell_lost(struct folder *folder)
{
    if (folder->lost_count)
        log_line(folder->log, LOG_WARN, "status files were removed and are made again",
                 LOG_INT("files", (int64_t)folder->lost_count), LOG_END);
    folder->lost_count = 0;
}

// What belonged to objects that are gone, and could not be removed then.
static void clear_made(struct folder *folder)
{
    if (!folder->is_leading)
        return;
    bool is_clear = made_clear(&folder->made);
    if (!made_clear(&folder->children) || !is_clear)
        settle_retry(folder, RETRY_MS);
}

static void end_work(struct folder *folder, enum step result)
{
    bool was_load = folder->work == WORK_LOAD;
    folder->work = WORK_NONE;
    folder->pass.is_open = false;
    if (result == STEP_FAILED) {
        folder_end_batch(folder);
        folder->needs_load = folder->needs_load || was_load;
        settle_retry(folder, folder->why ? UNREADABLE_RETRY_MS : RETRY_MS);
        return;
    }
    if (folder->scan_error.fault == FAULT_NONE && folder->is_synced)
        lead_tell(folder);
    clear_made(folder);
    tell_lost(folder);
    // Both know files by number.
    if (!folder->is_checkpointing && !folder->move_count)
        forget_files(folder);
    if (folder->needs_load)
        start_work(folder);
}

static void work_fired(void *context)
{
    struct folder *folder = context;
    int64_t start_ms = folder_now_ms(folder);
    for (;;) {
        const struct stage *stage = &stages_of[folder->work][folder->stage];
        if (!stage->run) {
            end_work(folder, STEP_DONE);
            return;
        }
        enum step step = stage->run(folder, start_ms + stage->slice_ms);
        if (step == STEP_FAILED) {
            end_work(folder, step);
            return;
        }
        if (step == STEP_AGAIN)
            break;
        folder->stage++;
    }
    loop_timer_set(folder->world.loop, &folder->work_timer, 0);
}

static void start_work(struct folder *folder)
{
    bool is_load = folder->needs_load;
    if (!lead_look(folder))
        return;
    pass_begin(folder, is_load);
    if (!is_load && !folder->needs_scan)
        take_changes(folder, 0);
    folder->work = is_load ? WORK_LOAD : folder->needs_scan ? WORK_SCAN : WORK_CHANGES;
    folder->needs_load = false;
    folder->stage = 0;
    scan_end(&folder->scan);
    loop_timer_set(folder->world.loop, &folder->work_timer, 0);
}

bool settle_gather(struct folder *folder)
{
    pass_begin(folder, true);
    for (const struct stage *stage = load_stages; stage->run != pass_read; stage++)
        if (stage->run(folder, INT64_MAX) == STEP_FAILED)
            return false;
    return true;
}

// ---- beginning and end --------------------------------------------------------------------------

void settle_init(struct folder *folder)
{
    folder->settle_timer = (struct loop_timer){.call = settle_fired, .context = folder};
    folder->slow_timer = (struct loop_timer){.call = slow_fired, .context = folder};
    folder->retry_timer = (struct loop_timer){.call = retry_fired, .context = folder};
    folder->work_timer = (struct loop_timer){.call = work_fired, .context = folder};
}

void settle_start(struct folder *folder)
{
    struct error err = {0};
    folder->watch = disk_watch_new(folder->world.loop, folder_changed, folder, &err);
    if (!folder->watch)
        log_line(folder->log, LOG_WARN, "changes are found by the scan every 60 s only",
                 LOG_TEXT("error", err.text), LOG_END);
    loop_timer_set(folder->world.loop, &folder->slow_timer, SLOW_SCAN_MS);
    settle_reload(folder);
}

void settle_done(struct folder *folder)
{
    struct loop *loop = folder->world.loop;
    loop_timer_cancel(loop, &folder->settle_timer);
    loop_timer_cancel(loop, &folder->slow_timer);
    loop_timer_cancel(loop, &folder->retry_timer);
    loop_timer_cancel(loop, &folder->work_timer);
    disk_watch_free(folder->watch);
    for (size_t i = 0; i < folder->change_count; i++)
        free(folder->changes[i]);
    free(folder->changes);
    scan_end(&folder->scan);
    unread_done(&folder->unread);
    load_done(folder);
    pass_done(folder);
    free(folder->missing.items);
}
