#include <stdlib.h>
#include <string.h>

#include "dns/zone.h"
#include "engine/state.h"
#include "engine/zone_file_names.h"

// Zones as files beside serving them (--zone-file-dir): atomically replaced, one after the other, a
// moment after they were published, so that servers do not wait for a disk. They go with their
// zones.

enum { COLLECT_MS = 200, RETRY_MS = 1000, LEFT_BEHIND_MS = 60 * 1000, FILE_MODE = 0644 };

static void write_path(const struct engine *engine, struct text name, struct buffer *out)
{
    buffer_printf(out, "%s/%.*s", engine->options.zone_file_dir, TEXT_ARGS(name));
}

static void report_fault(struct engine *engine, const char *what, const char *path,
                         const struct error *err)
{
    bool is_reported = engine->zone_file_fault.fault != FAULT_NONE;
    engine->zone_file_fault = *err;
    if (is_reported)
        return;
    log_line(engine->log, LOG_ERROR, what, LOG_TEXT("file", path), LOG_TEXT("error", err->text),
             LOG_END);
}

static void write_file(struct engine *engine, struct served *served)
{
    struct error err;
    AUTO_BUFFER name = {0};
    AUTO_BUFFER path = {0};
    AUTO_BUFFER text = {0};
    zone_file_name_write(&name, served->apex);
    write_path(engine, buffer_text(&name), &path);
    zone_file_mark_write(&text, served->apex);
    zone_write_file(&text, served->zone);
    served->is_file_due = !disk_replace(engine->options.world->disk, path.at, buffer_text(&text),
                                        FILE_MODE, true, &err);
    if (served->is_file_due)
        report_fault(engine, "a zone file cannot be written", path.at, &err);
    else
        engine->zone_file_fault = (struct error){.fault = FAULT_NONE};
}

// ---- files of zones that are gone ---------------------------------------------------------------

// Is it ours by its first line? What a crash left may end within that line.
static bool is_marked(const char *path, struct dname apex, bool is_temporary)
{
    AUTO_BUFFER mark = {0};
    AUTO_BUFFER head = {0};
    zone_file_mark_write(&mark, apex);
    if (disk_is_link(path) || !disk_read_head(&head, path, mark.len, NULL))
        return false;
    return (is_temporary || head.len == mark.len) && !memcmp(head.at, mark.at, head.len);
}

// Another process may be about to put a younger one in its place.
static bool is_left_behind(const struct engine *engine, const char *path)
{
    struct disk_stat found;
    return disk_stat(path, &found, NULL) &&
           found.mtime_ns / 1000000 + LEFT_BEHIND_MS < loop_unix_ms(engine->loop);
}

static bool is_over(const struct engine *engine, struct text name, const char *path)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    if (zone_file_name_read_temporary(name, octets, &apex))
        return is_left_behind(engine, path) && is_marked(path, apex, true);
    return zone_file_name_read(name, octets, &apex) && !publish_find(engine, apex) &&
           is_marked(path, apex, false);
}

static bool remove_if_over(struct engine *engine, const char *name)
{
    struct error err;
    AUTO_BUFFER path = {0};
    write_path(engine, text_of(name), &path);
    if (!is_over(engine, text_of(name), path.at))
        return true;
    if (!disk_remove(engine->options.world->disk, path.at, &err)) {
        report_fault(engine, "a zone file cannot be removed", path.at, &err);
        return false;
    }
    log_line(engine->log, LOG_INFO, "zone file is removed: no such zone is served",
             LOG_TEXT("file", path.at), LOG_END);
    return true;
}

static bool tidy(struct engine *engine)
{
    struct error err;
    char **names;
    size_t count;
    bool is_done = true;
    if (!disk_list(engine->options.zone_file_dir, &names, &count, &err)) {
        report_fault(engine, "zone files cannot be looked through", engine->options.zone_file_dir,
                     &err);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        is_done &= remove_if_over(engine, names[i]);
        free(names[i]);
    }
    free(names);
    if (is_done)
        engine->zone_file_fault = (struct error){.fault = FAULT_NONE};
    return is_done;
}

// ---- one after the other ------------------------------------------------------------------------

static void set_timer(struct engine *engine, int64_t delay_ms)
{
    loop_timer_set(engine->loop, &engine->zone_file_timer, delay_ms);
}

static void ring(void *context)
{
    struct engine *engine = context;
    bool is_due = false;
    bool is_done = false;
    for (uint32_t id = 0; id < engine->served_used; id++) {
        struct served *served = engine->served[id];
        if (!served || !served->is_file_due)
            continue;
        if (!is_done)
            write_file(engine, served);
        is_due |= served->is_file_due;
        is_done |= !served->is_file_due;
    }
    if (!is_done && engine->are_zone_files_untidy)
        engine->are_zone_files_untidy = !tidy(engine);
    if (is_due || engine->are_zone_files_untidy)
        set_timer(engine, engine->zone_file_fault.fault == FAULT_NONE ? 0 : RETRY_MS);
}

void zone_files_want(struct engine *engine, struct served *served)
{
    if (!engine->options.zone_file_dir || served->is_file_due)
        return;
    served->is_file_due = true;
    set_timer(engine, COLLECT_MS);
}

void zone_files_tidy(struct engine *engine)
{
    if (!engine->options.zone_file_dir || !engine->is_first_pass_done)
        return;
    engine->are_zone_files_untidy = true;
    set_timer(engine, COLLECT_MS);
}

void zone_files_new(struct engine *engine)
{
    engine->zone_file_timer = (struct loop_timer){.call = ring, .context = engine};
}

void zone_files_free(struct engine *engine)
{
    loop_timer_cancel(engine->loop, &engine->zone_file_timer);
}
