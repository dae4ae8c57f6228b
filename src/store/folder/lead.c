#include "store/folder/lead.h"

#include "base/memory.h"
#include "store/folder/settle.h"

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
    return true;
}

bool lead_open(struct folder *folder, struct error *err)
{
    return try_lock(folder, err);
}

static void lead_fired(void *context)
{
    struct folder *folder = context;
    // Work under way was begun as a standby and has to end as one.
    if (folder->work == WORK_NONE)
        try_lock(folder, NULL);
    if (folder->is_leading)
        settle_reload(folder);
    else
        loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
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

static void tell_standby(struct folder *folder)
{
    autofree char *path = lock_path(folder);
    AUTO_BUFFER holder = {0};
    write_holder(&holder, folder->has_rival ? folder->dir : path);
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

void lead_start(struct folder *folder)
{
    folder->lead_timer = (struct loop_timer){.call = lead_fired, .context = folder};
    warn_of_file_system(folder);
    if (folder->is_leading)
        return;
    tell_standby(folder);
    loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
}

void lead_done(struct folder *folder)
{
    loop_timer_cancel(folder->world.loop, &folder->lead_timer);
    disk_unlock(folder->lock);
    disk_unlock(folder->dir_lock);
}

void lead_tell(struct folder *folder)
{
    if (!folder->is_leading || folder->has_told_leading)
        return;
    folder->has_told_leading = true;
    folder->sink.leading(folder->sink.context, true);
}
