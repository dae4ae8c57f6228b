#include "store/folder/lead.h"

#include "store/folder/settle.h"

static bool try_lock(struct folder *folder, struct error *err)
{
    AUTO_BUFFER path = {0};
    bool is_held = false;
    struct error local = {0};
    buffer_printf(&path, "%s/lock", folder->own_dir);
    folder->lock = disk_lock(path.at, &is_held, &local);
    folder->is_leading = folder->lock >= 0;
    if (!folder->is_leading && !is_held && err)
        *err = local;
    return folder->is_leading || is_held;
}

bool lead_open(struct folder *folder, struct error *err)
{
    folder->lock = -1;
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

void lead_start(struct folder *folder)
{
    folder->lead_timer = (struct loop_timer){.call = lead_fired, .context = folder};
    if (disk_is_remote(folder->own_dir))
        log_line(folder->log, LOG_WARN,
                 "the state lies on a network file system, whose locks may fail: let one process "
                 "alone use it",
                 LOG_TEXT("folder", folder->own_dir), LOG_END);
    if (!folder->is_leading) {
        log_line(folder->log, LOG_INFO,
                 "another process leads this folder; standing by until it ends",
                 LOG_TEXT("folder", folder->own_dir), LOG_END);
        loop_timer_set(folder->world.loop, &folder->lead_timer, LEAD_MS);
    }
}

void lead_done(struct folder *folder)
{
    loop_timer_cancel(folder->world.loop, &folder->lead_timer);
    disk_unlock(folder->lock);
}

void lead_tell(struct folder *folder)
{
    if (!folder->is_leading || folder->has_told_leading)
        return;
    folder->has_told_leading = true;
    folder->sink.leading(folder->sink.context, true);
}
