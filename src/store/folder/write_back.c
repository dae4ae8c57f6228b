#include "store/folder/write_back.h"

#include <stdlib.h>

#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/draft.h"
#include "store/folder/lead.h"

// ---- status files -------------------------------------------------------------------------------

static const char *path_of(const struct folder *folder, uint32_t file)
{
    return folder->entries.files[file].path;
}

static void wake_at(struct folder *folder, int64_t at_ms)
{
    int64_t now_ms = folder_now_ms(folder);
    if (at_ms < now_ms)
        at_ms = now_ms;
    // Setting a timer that is due again and again would put it off for ever.
    if (folder->write_back_at_ms && folder->write_back_at_ms <= at_ms)
        return;
    folder->write_back_at_ms = at_ms;
    loop_timer_set(folder->world.loop, &folder->write_back_timer, at_ms - now_ms);
}

void write_back_wake(struct folder *folder)
{
    if (folder->is_leading)
        wake_at(folder, folder_now_ms(folder));
}

void write_back_mark(struct folder *folder, uint32_t file)
{
    struct file *marked = &folder->entries.files[file];
    struct status_file *status = status_files_find(&folder->status_files, file);
    if (!folder->is_leading || !status || !status_file_is_changed(status))
        return;
    if (!(marked->flags & FILE_IS_DUE)) {
        marked->flags |= FILE_IS_DUE;
        id_list_add(&folder->due, file);
    }
    wake_at(folder, status_files_due_ms(status));
}

static bool write_file(struct folder *folder, uint32_t file, struct error *err)
{
    struct status_file *status = status_files_find(&folder->status_files, file);
    return !status || status_files_write(&folder->status_files, status, path_of(folder, file),
                                         folder_now_ms(folder), err);
}

static void note_home(struct folder *folder, uint32_t file, const struct status_file *status)
{
    uint32_t *flags = &folder->entries.files[file].flags;
    bool was_homeless = *flags & FILE_IS_HOMELESS;
    *flags &= ~(uint32_t)FILE_IS_HOMELESS;
    if (!status || !status->is_homeless)
        return;
    *flags |= FILE_IS_HOMELESS;
    if (status->is_refused && !was_homeless)
        log_line(folder->log, LOG_WARN,
                 "a status file cannot be written beside its manifest; it is kept with the state",
                 LOG_TEXT("file", path_of(folder, file)), LOG_END);
}

// Writes one if its time has come. When it is to be looked at again goes to *next_ms; 0: never.
static bool write_due(struct folder *folder, uint32_t file, bool is_forced, int64_t *next_ms)
{
    struct error err = {0};
    const struct status_file *status = status_files_find(&folder->status_files, file);
    int64_t due_ms = status ? status_files_due_ms(status) : 0;
    *next_ms = 0;
    if (!is_forced && due_ms > folder_now_ms(folder)) {
        *next_ms = due_ms;
        return true;
    }
    if (write_file(folder, file, &err)) {
        folder->entries.files[file].flags &= ~(uint32_t)FILE_IS_DUE;
        note_home(folder, file, status);
        return true;
    }
    degraded_set(folder, DEGRADED_STATUS, &err);
    *next_ms = folder_now_ms(folder) + RETRY_MS;
    return false;
}

static bool write_all_due(struct folder *folder, bool is_forced, int64_t *next_ms)
{
    size_t kept = 0;
    bool is_ok = true;
    *next_ms = 0;
    for (size_t i = 0; i < folder->due.count; i++) {
        uint32_t file = folder->due.items[i];
        int64_t at_ms;
        is_ok = write_due(folder, file, is_forced, &at_ms) && is_ok;
        if (!at_ms)
            continue;
        folder->due.items[kept++] = file;
        if (!*next_ms || at_ms < *next_ms)
            *next_ms = at_ms;
    }
    folder->due.count = kept;
    return is_ok;
}

// What came back before it was gone stays.
static void forget_moves(struct folder *folder, uint32_t from, struct text key)
{
    size_t kept = 0;
    for (size_t i = 0; i < folder->move_count; i++) {
        struct move move = folder->moves[i];
        if (move.from == from && text_is(key, move.key))
            free(move.key);
        else
            folder->moves[kept++] = move;
    }
    folder->move_count = kept;
}

void write_back_move(struct folder *folder, uint32_t from, uint32_t to, struct text key,
                     uint64_t version)
{
    AUTO_BUFFER copy = {0};
    forget_moves(folder, to, key);
    buffer_add(&copy, key.at, key.len);
    mem_reserve(&folder->moves, &folder->move_capacity, folder->move_count + 1);
    folder->moves[folder->move_count++] = (struct move){from, to, version, buffer_steal(&copy)};
    write_back_wake(folder);
}

static void finish_move(struct folder *folder, const struct move *move)
{
    struct error err = {0};
    struct status_file *status = folder_open_status(folder, move->from, &err);
    const struct status_doc *doc = status ? status_file_find(status, text_of(move->key)) : NULL;
    if (doc && doc->version <= move->version)
        folder_drop(folder, move->from, text_of(move->key));
}

// Those whose new place is written.
static void finish_moves(struct folder *folder)
{
    size_t kept = 0;
    for (size_t i = 0; i < folder->move_count; i++) {
        struct move move = folder->moves[i];
        const struct status_file *to = status_files_find(&folder->status_files, move.to);
        if (to && status_file_is_changed(to)) {
            folder->moves[kept++] = move;
            continue;
        }
        finish_move(folder, &move);
        free(move.key);
    }
    folder->move_count = kept;
}

// An outage is logged when it begins. Nothing depends on Events, so the store stays ready.
static void write_events(struct folder *folder)
{
    struct error err;
    bool was_failing = folder->events.is_failing;
    folder->events.is_failing = !events_write(&folder->events, &err);
    if (folder->events.is_failing && !was_failing)
        log_line(folder->log, LOG_WARN, "Events cannot be written", LOG_TEXT("error", err.text),
                 LOG_END);
}

static void write_all(struct folder *folder, bool is_forced)
{
    int64_t next_ms;
    if (!folder->is_leading || !lead_look(folder))
        return;
    write_events(folder);
    if (write_all_due(folder, is_forced, &next_ms))
        degraded_clear(folder, DEGRADED_STATUS);
    finish_moves(folder);
    status_files_tidy(&folder->status_files, folder_now_ms(folder));
    if (next_ms)
        wake_at(folder, next_ms);
}

static void write_back_fired(void *context)
{
    struct folder *folder = context;
    folder->write_back_at_ms = 0;
    write_all(folder, false);
}

// Twice: a move ends with a second write.
void write_back_flush(struct folder *folder)
{
    write_all(folder, true);
    write_all(folder, true);
}

// ---- recovery -----------------------------------------------------------------------------------

static void warn_of_loss(const struct folder *folder, uint32_t file,
                         const struct status_file *status)
{
    bool is_known = folder->entries.files[file].flags & (FILE_IS_HOMELESS | FILE_HAS_LOST_STATUS);
    if (is_known || status->is_homeless || !(status->was_torn || status->is_absent))
        return;
    log_line(folder->log, LOG_WARN, "a status file got lost and is made again",
             LOG_TEXT("file", path_of(folder, file)), LOG_END);
}

bool folder_recover_status(struct folder *folder, uint32_t file, struct status_file *status,
                           struct error *err)
{
    if (!status_files_merge(&folder->status_files, status, path_of(folder, file), err))
        return false;
    write_back_mark(folder, file);
    return true;
}

// What was written while the rest is still being loaded.
static bool take_home(struct folder *folder, uint32_t file, struct status_file *status,
                      struct error *err)
{
    if (!(folder->entries.files[file].flags & FILE_IS_HOMELESS))
        return true;
    if (!status_files_merge(&folder->status_files, status, path_of(folder, file), err))
        return false;
    write_back_mark(folder, file);
    return true;
}

struct status_file *folder_open_status(struct folder *folder, uint32_t file, struct error *err)
{
    const struct status_file *known = status_files_find(&folder->status_files, file);
    bool was_loaded = known && known->is_loaded;
    struct status_file *status =
        status_files_open(&folder->status_files, file, path_of(folder, file), err);
    if (!status || was_loaded || !folder->is_leading)
        return status;
    uint32_t flags = folder->entries.files[file].flags;
    if (folder->pass.is_load)
        return take_home(folder, file, status, err) ? status : NULL;
    bool is_expected =
        folder->entries.files[file].first != ENTRY_NONE && !status_file_is_changed(status);
    if (!status->was_torn && !(status->is_absent && is_expected) && !(flags & FILE_IS_HOMELESS))
        return status;
    warn_of_loss(folder, file, status);
    return folder_recover_status(folder, file, status, err) ? status : NULL;
}

// ---- the state ----------------------------------------------------------------------------------

void write_back_probe_state(struct folder *folder)
{
    if (folder->is_leading)
        loop_timer_set(folder->world.loop, &folder->probe_timer, RETRY_MS);
}

static bool probe_state(struct folder *folder)
{
    if (!state_probe(&folder->state))
        return false;
    degraded_clear(folder, DEGRADED_STATE);
    degraded_clear(folder, DEGRADED_WRITE_AHEAD);
    return true;
}

// The name is that of a temporary file, so that nobody takes it for a manifest.
static bool can_write_in(struct folder *folder, const char *dir, size_t octets)
{
    AUTO_BUFFER path = {0};
    autofree char *content = mem_new(1, octets + 1);
    struct disk *disk = folder->world.disk;
    buffer_printf(&path, "%s/.probe.000000.tmp", dir);
    return disk_make_folder(disk, dir, 0755, NULL) &&
           disk_replace(disk, path.at, (struct text){content, octets}, 0600, true, NULL) &&
           disk_remove(disk, path.at, NULL);
}

static bool probe_files(struct folder *folder)
{
    if (!folder->failed_dir)
        return true;
    if (!can_write_in(folder, folder->failed_dir, folder->failed_octets))
        return false;
    free(folder->failed_dir);
    folder->failed_dir = NULL;
    degraded_clear(folder, DEGRADED_FILES);
    return true;
}

static void probe_fired(void *context)
{
    struct folder *folder = context;
    bool is_in_place = lead_look(folder);
    bool has_state = is_in_place && probe_state(folder);
    bool has_files = is_in_place && probe_files(folder);
    if (!has_state || !has_files)
        write_back_probe_state(folder);
}

void write_back_probe_files(void *context, const char *dir, size_t octets, const struct error *err)
{
    struct folder *folder = context;
    if (!folder->is_leading || !lead_look(folder) || can_write_in(folder, dir, octets))
        return;
    free(folder->failed_dir);
    folder->failed_dir = mem_copy_text(dir);
    folder->failed_octets = octets;
    degraded_set(folder, DEGRADED_FILES, err);
    write_back_probe_state(folder);
}

void write_back_init(struct folder *folder)
{
    folder->write_back_timer = (struct loop_timer){.call = write_back_fired, .context = folder};
    folder->probe_timer = (struct loop_timer){.call = probe_fired, .context = folder};
}

void write_back_done(struct folder *folder)
{
    loop_timer_cancel(folder->world.loop, &folder->write_back_timer);
    loop_timer_cancel(folder->world.loop, &folder->probe_timer);
    for (size_t i = 0; i < folder->move_count; i++)
        free(folder->moves[i].key);
    free(folder->moves);
    free(folder->failed_dir);
    free(folder->due.items);
}
