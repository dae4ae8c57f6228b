#include "dns/zone.h"
#include "engine/state.h"

// Zones as files beside serving them (--zone-file-dir): atomically replaced, one after the other, a
// moment after they were published, so that servers do not wait for a disk.

enum { COLLECT_MS = 200, FILE_MODE = 0644 };

// "shop.example.zone"; what no file name may have stands as %XX.
static void write_path(const struct engine *engine, struct dname apex, struct buffer *out)
{
    AUTO_BUFFER name = {0};
    dname_write(&name, apex);
    buffer_printf(out, "%s/", engine->options.zone_file_dir);
    for (size_t i = 0; i < name.len; i++) {
        bool is_plain = name.at[i] != '/' && name.at[i] != '\\' && name.at[i] != '%';
        if (is_plain)
            buffer_add_char(out, name.at[i]);
        else
            buffer_printf(out, "%%%02X", (unsigned char)name.at[i]);
    }
    buffer_add_text(out, "zone");
}

static void tell_fault(struct engine *engine, const char *path, const struct error *err)
{
    bool is_told = engine->zone_file_fault.fault != FAULT_NONE;
    engine->zone_file_fault = *err;
    if (is_told)
        return;
    log_line(engine->log, LOG_ERROR, "a zone file cannot be written", LOG_TEXT("file", path),
             LOG_TEXT("error", err->text), LOG_END);
}

static void write_file(struct engine *engine, struct served *served)
{
    struct error err;
    AUTO_BUFFER path = {0};
    AUTO_BUFFER text = {0};
    write_path(engine, served->apex, &path);
    zone_write_file(&text, served->zone);
    served->is_file_due = !disk_replace(engine->options.world->disk, path.at, buffer_text(&text),
                                        FILE_MODE, true, &err);
    if (served->is_file_due)
        tell_fault(engine, path.at, &err);
    else
        engine->zone_file_fault = (struct error){.fault = FAULT_NONE};
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
    if (is_due)
        loop_timer_set(engine->loop, &engine->zone_file_timer,
                       engine->zone_file_fault.fault == FAULT_NONE ? 0 : 1000);
}

void zone_files_want(struct engine *engine, struct served *served)
{
    if (!engine->options.zone_file_dir || served->is_file_due)
        return;
    served->is_file_due = true;
    loop_timer_set(engine->loop, &engine->zone_file_timer, COLLECT_MS);
}

void zone_files_new(struct engine *engine)
{
    engine->zone_file_timer = (struct loop_timer){.call = ring, .context = engine};
}

void zone_files_free(struct engine *engine)
{
    loop_timer_cancel(engine->loop, &engine->zone_file_timer);
}
