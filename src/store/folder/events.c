#include "store/folder/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"
#include "base/when.h"

enum { LINES_MAX = 1000, FILE_OCTETS_MAX = 1024 * 1024, NOTE_OCTETS_MAX = 1024 };

void events_init(struct events *events, struct disk *disk, const char *path)
{
    events->disk = disk;
    events->path = mem_copy_text(path);
}

static void drop_lines(struct events *events)
{
    for (size_t i = 0; i < events->count; i++)
        free(events->lines[i].text);
    events->count = 0;
}

void events_done(struct events *events)
{
    drop_lines(events);
    free(events->lines);
    free(events->path);
    disk_append_close(events->disk, events->file);
    events->file = NULL;
}

// ---- lines --------------------------------------------------------------------------------------

static void add_field(struct buffer *out, const char *name, struct text text)
{
    if (!text.len)
        return;
    buffer_printf(out, "%s\"%s\":", out->at[out->len - 1] == '{' ? "" : ",", name);
    value_write_json_text(out, text);
}

static void add_regarding(struct buffer *out, const struct object *object)
{
    char uid[37];
    AUTO_BUFFER version = {0};
    kind_api_version(&version, object->kind);
    object_write_uid(object, uid);
    buffer_add_text(out, ",\"regarding\":{");
    add_field(out, "apiVersion", buffer_text(&version));
    add_field(out, "kind", text_of(object->kind->name));
    add_field(out, "namespace", object_namespace(object));
    add_field(out, "name", object_name(object));
    add_field(out, "uid", text_of(uid));
    buffer_add_char(out, '}');
}

static void add_cleaned(struct buffer *out, const char *name, const char *text)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(text), NOTE_OCTETS_MAX);
    add_field(out, name, buffer_text(&clean));
}

static void begin_line(struct buffer *out, bool is_warning, const char *reason, int64_t now_ms)
{
    char now[WHEN_TEXT_MAX];
    when_write_ms(now_ms, now);
    buffer_add_char(out, '{');
    add_field(out, "eventTime", text_of(now));
    add_field(out, "type", text_of(is_warning ? "Warning" : "Normal"));
    add_field(out, "reason", text_of(reason));
}

static bool make_room(struct events *events, bool is_warning)
{
    if (events->count < LINES_MAX)
        return true;
    events->dropped++;
    for (size_t i = 0; is_warning && i < events->count; i++) {
        if (events->lines[i].is_warning)
            continue;
        free(events->lines[i].text);
        memmove(&events->lines[i], &events->lines[i + 1],
                (--events->count - i) * sizeof *events->lines);
        return true;
    }
    return false;
}

static void end_line(struct events *events, struct buffer *out, bool is_warning)
{
    buffer_add_text(out, "}\n");
    if (!make_room(events, is_warning))
        return;
    mem_reserve(&events->lines, &events->capacity, events->count + 1);
    events->lines[events->count++] = (struct event_line){buffer_steal(out), is_warning};
}

void events_add(struct events *events, const struct kube_event *note, int64_t now_ms)
{
    AUTO_BUFFER out = {0};
    begin_line(&out, note->is_warning, note->reason, now_ms);
    add_field(&out, "action", text_of(note->action));
    add_regarding(&out, note->regarding);
    add_cleaned(&out, "note", note->text);
    end_line(events, &out, note->is_warning);
}

void events_add_manifest(struct events *events, const char *path, const char *reason,
                         const char *text, int64_t now_ms)
{
    AUTO_BUFFER out = {0};
    begin_line(&out, true, reason, now_ms);
    add_cleaned(&out, "manifest", path);
    add_cleaned(&out, "note", text);
    end_line(events, &out, true);
}

// ---- the file -----------------------------------------------------------------------------------

static bool open_file(struct events *events, struct error *err)
{
    struct disk_stat found;
    if (events->file)
        return true;
    events->file = disk_append_open(events->disk, events->path, 0644, err);
    if (!events->file)
        return false;
    events->octets = disk_stat(events->path, &found, NULL) ? (size_t)found.size : 0;
    return true;
}

// The old file is replaced first, so that at each moment the newest events stand in one of the two.
static void rotate_file(struct events *events)
{
    AUTO_BUFFER old_path = {0};
    AUTO_BUFFER text = {0};
    buffer_printf(&old_path, "%s.1", events->path);
    if (disk_read(&text, events->path, (size_t)4 * FILE_OCTETS_MAX, NULL) &&
        !disk_replace(events->disk, old_path.at, buffer_text(&text), 0644, false, NULL))
        return;
    disk_append_close(events->disk, events->file);
    events->file = NULL;
    disk_replace(events->disk, events->path, TEXT(""), 0644, false, NULL);
}

bool events_write(struct events *events, struct error *err)
{
    AUTO_BUFFER text = {0};
    if (!events->count)
        return true;
    if (!open_file(events, err))
        return false;
    for (size_t i = 0; i < events->count; i++)
        buffer_add_text(&text, events->lines[i].text);
    if (events->octets && events->octets + text.len > FILE_OCTETS_MAX) {
        rotate_file(events);
        if (!open_file(events, err))
            return false;
    }
    if (disk_append(events->disk, events->file, buffer_text(&text), err)) {
        events->octets += text.len;
        drop_lines(events);
        return true;
    }
    disk_append_close(events->disk, events->file);
    events->file = NULL;
    return false;
}
