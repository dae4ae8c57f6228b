#include "store/folder/lead.h"

#include <string.h>

#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/leftovers.h"
#include "store/folder/schedule.h"
#include "store/folder/write_back.h"

static char *lock_path(const struct folder *folder)
{
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/lock", folder->own_dir);
    return buffer_steal(&path);
}

// ---- taking -------------------------------------------------------------------------------------

// Where the folder cannot be locked at all, the lock of the state alone has to do.
static bool lock_folder(struct folder *folder)
{
    bool is_held = false;
    folder->dir_lock = disk_lock_folder(folder->dir, &is_held, NULL);
    return !is_held;
}

static bool try_lock(struct folder *folder, struct error *err)
{
    autofree char *path = lock_path(folder);
    bool is_held = false;
    struct error local = {0};
    folder->lock = disk_lock(path, &is_held, &local);
    if (folder->lock < 0 && !is_held && err)
        *err = local;
    folder->has_rival = false;
    if (folder->lock < 0)
        return is_held;
    folder->is_leading = lock_folder(folder);
    folder->has_rival = !folder->is_leading;
    if (folder->has_rival) {
        disk_unlock(folder->lock);
        folder->lock = -1;
    }
    if (folder->is_leading)
        leftovers_remove_all(folder, folder->own_dir);
    return true;
}

bool lead_open(struct folder *folder, struct error *err)
{
    return try_lock(folder, err);
}

// ---- keeping ------------------------------------------------------------------------------------

static bool keeps_state(const struct folder *folder, struct error *err)
{
    autofree char *path = lock_path(folder);
    if (disk_lock_is_at(folder->lock, path) && state_is_in_place(&folder->state))
        return true;
    return error_set(err, FAULT_AGAIN, "SystemError",
                     "%s was removed or replaced while in use: put it back, or restart signpost to "
                     "begin a new one",
                     folder->own_dir);
}

// Another folder in its place is locked as well; one that is gone has no manifests to lead.
static bool keeps_folder(struct folder *folder, struct error *err)
{
    bool is_held = false;
    if (folder->dir_lock < 0 || disk_lock_is_at(folder->dir_lock, folder->dir))
        return true;
    int lock = disk_lock_folder(folder->dir, &is_held, NULL);
    if (lock >= 0) {
        disk_unlock(folder->dir_lock);
        folder->dir_lock = lock;
    }
    if (!is_held)
        return true;
    return error_set(err, FAULT_AGAIN, "SystemError",
                     "%s was replaced, and another process leads the new one: stop one of the two",
                     folder->dir);
}

static bool keeps_all(struct folder *folder, struct error *err)
{
    return keeps_state(folder, err) && keeps_folder(folder, err);
}

static void lose_locks(struct folder *folder, const struct error *err)
{
    degraded_set(folder, DEGRADED_LOST, err);
    loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
    folder->is_lost = true;
    if (!folder->has_reported_leading)
        return;
    folder->has_reported_leading = false;
    folder->sink.leading(folder->sink.context, false);
    folder->sink.fenced(folder->sink.context);
}

static void look_again(struct folder *folder)
{
    struct error err = {0};
    if (!keeps_all(folder, &err)) {
        lose_locks(folder, &err);
        return;
    }
    folder->is_lost = false;
    degraded_clear(folder, DEGRADED_LOST);
    write_back_wake(folder);
    schedule_scan(folder);
}

bool lead_look(struct folder *folder)
{
    struct error err = {0};
    if (folder->is_leading && !folder->is_lost && !keeps_all(folder, &err))
        lose_locks(folder, &err);
    return !folder->is_lost;
}

// ---- telling ------------------------------------------------------------------------------------

static void warn_of_file_system(struct folder *folder)
{
    if (disk_is_remote(folder->own_dir))
        log_line(folder->log, LOG_WARN,
                 "the state lies on a network file system, whose locks may fail: let one process "
                 "alone use it",
                 LOG_TEXT("folder", folder->own_dir), LOG_END);
    if (folder->is_leading && folder->dir_lock < 0)
        log_line(folder->log, LOG_WARN,
                 "the folder lies on a file system that locks no folders: let one process alone "
                 "use it",
                 LOG_TEXT("folder", folder->dir), LOG_END);
}

static void write_holder(struct buffer *out, const char *path)
{
    pid_t pid = disk_lock_holder(path);
    if (pid)
        buffer_printf(out, "process %d", (int)pid);
    else
        buffer_add_text(out, "another process");
}

void lead_write_holder(struct buffer *out, const struct folder *folder)
{
    autofree char *path = lock_path(folder);
    write_holder(out, folder->has_rival ? folder->dir : path);
}

static void report_standby(struct folder *folder)
{
    AUTO_BUFFER holder = {0};
    lead_write_holder(&holder, folder);
    if (folder->has_rival)
        log_line(folder->log, LOG_WARN,
                 "another process leads this folder with another --state-dir; standing by until it "
                 "ends: stop one of the two",
                 LOG_TEXT("folder", folder->dir), LOG_TEXT("holder", holder.at),
                 LOG_TEXT("state", folder->own_dir), LOG_END);
    else
        log_line(folder->log, LOG_INFO,
                 "another process leads this folder; standing by until it ends",
                 LOG_TEXT("folder", folder->own_dir), LOG_TEXT("holder", holder.at), LOG_END);
}

static void lead_fired(void *context)
{
    struct folder *folder = context;
    if (folder->is_lost) {
        look_again(folder);
        return;
    }
    // Work under way was begun as a standby and has to end as one.
    if (folder->work == WORK_NONE)
        try_lock(folder, NULL);
    if (folder->is_leading)
        schedule_reload(folder);
    else
        loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
}

void lead_start(struct folder *folder)
{
    folder->lead_timer = (struct loop_timer){.call = lead_fired, .context = folder};
    if (folder->is_reading)
        return;
    warn_of_file_system(folder);
    if (folder->is_leading)
        return;
    report_standby(folder);
    loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
}

void lead_done(struct folder *folder)
{
    loop_timer_cancel(folder->world.loop, &folder->lead_timer);
    disk_unlock(folder->lock);
    disk_unlock(folder->dir_lock);
}

// Drawn or given, it is on disk before anything is done in its name.
static void keep_owner(struct folder *folder)
{
    struct state *state = &folder->state;
    const char *given = folder->owner_id;
    if (given && state->had_owner && strcmp(given, state->owner_id) && !folder->has_reported_owner)
        log_line(folder->log, LOG_WARN, "the owner id is replaced",
                 LOG_TEXT("old", state->owner_id), LOG_TEXT("owner", given), LOG_END);
    if (given)
        state_set_owner(state, given);
    if (state->is_new && !state_reserve(state))
        degraded_set(folder, DEGRADED_STATE, &state->fault);
    if (!folder->has_reported_owner)
        log_line(folder->log, LOG_INFO, "owner id", LOG_TEXT("owner", state->owner_id), LOG_END);
    folder->has_reported_owner = true;
}

void lead_report(struct folder *folder)
{
    if (!folder->is_leading || folder->is_lost || folder->has_reported_leading)
        return;
    keep_owner(folder);
    folder->has_reported_leading = true;
    folder->sink.leading(folder->sink.context, true);
}
