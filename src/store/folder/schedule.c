#include "store/folder/schedule.h"

#include <stdlib.h>

#include "base/memory.h"
#include "store/folder/changes.h"
#include "store/folder/degraded.h"
#include "store/folder/full_scan.h"
#include "store/folder/lead.h"
#include "store/folder/load.h"
#include "store/folder/pass.h"

static void start_work(struct folder *folder);

// ---- looking again ------------------------------------------------------------------------------

void schedule_retry(struct folder *folder, int64_t delay_ms)
{
    int64_t at_ms = folder_now_ms(folder) + delay_ms;
    if (folder->retry_at_ms && folder->retry_at_ms <= at_ms)
        return;
    folder->retry_at_ms = at_ms;
    loop_timer_set(folder->world.loop, &folder->retry_timer, delay_ms);
}

void schedule_again(struct folder *folder, uint32_t file, int64_t delay_ms)
{
    folder->entries.files[file].flags |= FILE_IS_UNSETTLED;
    schedule_retry(folder, delay_ms);
}

static void retry_fired(void *context)
{
    struct folder *folder = context;
    folder->retry_at_ms = 0;
    if (folder->work == WORK_NONE)
        start_work(folder);
    else
        schedule_retry(folder, DEBOUNCE_MS);
}

void schedule_soon(struct folder *folder)
{
    int64_t now_ms = folder_now_ms(folder);
    if (!folder->first_change_ms)
        folder->first_change_ms = now_ms;
    int64_t left_ms = folder->first_change_ms + DEBOUNCE_MAX_MS - now_ms;
    int64_t delay_ms = left_ms < DEBOUNCE_MS ? left_ms : DEBOUNCE_MS;
    loop_timer_set(folder->world.loop, &folder->debounce_timer, delay_ms > 0 ? delay_ms : 0);
}

static void debounce_fired(void *context)
{
    struct folder *folder = context;
    if (folder->work != WORK_NONE) {
        loop_timer_set(folder->world.loop, &folder->debounce_timer, DEBOUNCE_MS);
        return;
    }
    folder->first_change_ms = 0;
    start_work(folder);
}

void schedule_scan(struct folder *folder)
{
    folder->needs_scan = true;
    if (folder->work == WORK_NONE)
        start_work(folder);
}

static void slow_fired(void *context)
{
    struct folder *folder = context;
    loop_timer_set(folder->world.loop, &folder->slow_timer, SLOW_SCAN_MS);
    schedule_scan(folder);
}

void schedule_reload(struct folder *folder)
{
    folder->needs_load = true;
    if (folder->work == WORK_NONE)
        start_work(folder);
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
    {changes_take, SLICE_MS},
    {full_scan_begin, SLICE_MS},
    {full_scan_run, SLICE_MS},
    {full_scan_begin_children, SLICE_MS},
    {full_scan_run, SLICE_MS},
    {full_scan_judge, SLICE_MS},
    {full_scan_begin_state, SLICE_MS},
    {full_scan_run, SLICE_MS},
    {load_index, SLICE_MS},
    {load_merge, SLICE_MS},
    {pass_read, SLICE_MS},
    {load_orphans, SLICE_MS},
    {pass_finish, SLICE_MS},
    {NULL, 0},
};
static const struct stage scan_stages[] = {
    {changes_take, SLICE_MS},       {full_scan_begin, SCAN_SLICE_MS},
    {full_scan_run, SCAN_SLICE_MS}, {full_scan_begin_children, SCAN_SLICE_MS},
    {full_scan_run, SCAN_SLICE_MS}, {full_scan_begin_state, SCAN_SLICE_MS},
    {full_scan_run, SCAN_SLICE_MS}, {full_scan_judge, SLICE_MS},
    {add_doubtful, SLICE_MS},       {pass_read, SLICE_MS},
    {pass_finish, SLICE_MS},        {NULL, 0},
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
    for (uint32_t id = 0; id < entries->file_slots.end; id++) {
        const struct file *file = &entries->files[id];
        uint32_t held =
            FILE_IS_PRESENT | FILE_IS_QUEUED | FILE_IS_DUE | FILE_HAS_BROKEN | FILE_IS_UNSETTLED;
        if (file->path && file->first == ENTRY_NONE && !(file->flags & held) &&
            !status_files_find(&folder->status_files, id)) {
            faults_forget(folder, id);
            files_forget(entries, id);
        }
    }
}

static void report_lost(struct folder *folder)
{
    if (folder->lost_count)
        log_line(folder->log, LOG_WARN, "status files were removed and are made again",
                 LOG_INT("files", (int64_t)folder->lost_count), LOG_END);
    folder->lost_count = 0;
}

// What belonged to objects that are gone, and could not be removed then.
static void clear_generated(struct folder *folder)
{
    if (!folder->is_leading)
        return;
    bool is_clear = generated_clear(&folder->generated);
    if (!generated_clear(&folder->owned_objects) || !is_clear)
        schedule_retry(folder, RETRY_MS);
}

static void end_work(struct folder *folder, enum step result)
{
    bool was_load = folder->work == WORK_LOAD;
    folder->work = WORK_NONE;
    folder->pass.is_open = false;
    if (result == STEP_FAILED) {
        folder_end_batch(folder);
        folder->needs_load = folder->needs_load || was_load;
        schedule_retry(folder, folder->why ? UNREADABLE_RETRY_MS : RETRY_MS);
        return;
    }
    if (!folder->pass.has_put_off)
        degraded_clear(folder, DEGRADED_READING);
    if (folder->scan_error.fault == FAULT_NONE && folder->is_synced)
        lead_report(folder);
    clear_generated(folder);
    report_lost(folder);
    // Moves know files by number.
    if (!folder->move_count)
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
        changes_take(folder, 0);
    folder->work = is_load ? WORK_LOAD : folder->needs_scan ? WORK_SCAN : WORK_CHANGES;
    folder->needs_load = false;
    folder->stage = 0;
    scan_end(&folder->scan);
    loop_timer_set(folder->world.loop, &folder->work_timer, 0);
}

bool schedule_collect(struct folder *folder)
{
    pass_begin(folder, true);
    for (const struct stage *stage = load_stages; stage->run != pass_read; stage++)
        if (stage->run(folder, INT64_MAX) == STEP_FAILED)
            return false;
    return true;
}

// ---- beginning and end --------------------------------------------------------------------------

void schedule_init(struct folder *folder)
{
    folder->debounce_timer = (struct loop_timer){.call = debounce_fired, .context = folder};
    folder->slow_timer = (struct loop_timer){.call = slow_fired, .context = folder};
    folder->retry_timer = (struct loop_timer){.call = retry_fired, .context = folder};
    folder->work_timer = (struct loop_timer){.call = work_fired, .context = folder};
}

void schedule_start(struct folder *folder)
{
    changes_start(folder);
    loop_timer_set(folder->world.loop, &folder->slow_timer, SLOW_SCAN_MS);
    schedule_reload(folder);
}

void schedule_done(struct folder *folder)
{
    struct loop *loop = folder->world.loop;
    loop_timer_cancel(loop, &folder->debounce_timer);
    loop_timer_cancel(loop, &folder->slow_timer);
    loop_timer_cancel(loop, &folder->retry_timer);
    loop_timer_cancel(loop, &folder->work_timer);
    changes_done(folder);
    scan_end(&folder->scan);
    unread_done(&folder->unread);
    load_done(folder);
    pass_done(folder);
    free(folder->missing.items);
}
