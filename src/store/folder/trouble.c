#include "store/folder/trouble.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/event.h"
#include "store/folder/behind.h"

enum { UNKNOWN_KINDS_MAX = 64, SHOWN_OCTETS_MAX = 128 };

// ---- writes -------------------------------------------------------------------------------------

void trouble_set(struct folder *folder, enum trouble which, const struct error *err)
{
    char **text = &folder->troubles[which];
    bool is_known = *text != NULL;
    free(*text);
    *text = mem_copy_text(err->text);
    if (is_known)
        return;
    log_line(folder->log, LOG_ERROR, "the store cannot write", LOG_TEXT("error", *text), LOG_END);
}

void trouble_clear(struct folder *folder, enum trouble which)
{
    if (!folder->troubles[which])
        return;
    free(folder->troubles[which]);
    folder->troubles[which] = NULL;
    if (trouble_text(folder))
        return;
    log_line(folder->log, LOG_INFO, "the store can write again", LOG_END);
    folder->sink.writable(folder->sink.context);
}

const char *trouble_text(const struct folder *folder)
{
    for (size_t i = 0; i < TROUBLES; i++)
        if (folder->troubles[i])
            return folder->troubles[i];
    return NULL;
}

// ---- documents ----------------------------------------------------------------------------------

static struct fault_line *find_old(struct folder *folder, uint32_t file, const char *text)
{
    for (size_t i = 0; i < folder->fault_count; i++) {
        struct fault_line *line = &folder->faults[i];
        if (line->file == file && line->is_old && strcmp(line->text, text) == 0)
            return line;
    }
    return NULL;
}

void faults_begin(struct folder *folder, uint32_t file)
{
    for (size_t i = 0; i < folder->fault_count; i++)
        if (folder->faults[i].file == file)
            folder->faults[i].is_old = true;
}

static void tell(struct folder *folder, uint32_t file, const char *text,
                 const struct object *regarding)
{
    const char *path = folder->entries.files[file].path;
    int64_t now_ms = loop_unix_ms(folder->world.loop);
    log_line(folder->log, LOG_WARN, "a document is refused", LOG_TEXT("file", path),
             LOG_TEXT("error", text), LOG_END);
    if (!folder->is_leading)
        return;
    if (regarding) {
        struct store_note note = {regarding, true, event_reason_name(EVENT_INVALID_MANIFEST),
                                  "Read", text};
        events_add(&folder->events, &note, now_ms);
    } else {
        events_add_manifest(&folder->events, path, event_reason_name(EVENT_INVALID_MANIFEST), text,
                            now_ms);
    }
    behind_wake(folder);
}

void faults_add(struct folder *folder, uint32_t file, const char *text,
                const struct object *regarding)
{
    struct fault_line *old = find_old(folder, file, text);
    if (old) {
        old->is_old = false;
        return;
    }
    mem_reserve(&folder->faults, &folder->fault_capacity, folder->fault_count + 1);
    folder->faults[folder->fault_count++] =
        (struct fault_line){.file = file, .text = mem_copy_text(text)};
    tell(folder, file, text, regarding);
}

void faults_end(struct folder *folder, uint32_t file)
{
    size_t kept = 0;
    for (size_t i = 0; i < folder->fault_count; i++) {
        struct fault_line line = folder->faults[i];
        if (line.file == file && line.is_old)
            free(line.text);
        else
            folder->faults[kept++] = line;
    }
    folder->fault_count = kept;
}

// ---- unknown kinds ------------------------------------------------------------------------------

static bool is_known(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->unknown_kind_count; i++)
        if (strcmp(folder->unknown_kinds[i], name) == 0)
            return true;
    return false;
}

void trouble_unknown_kind(struct folder *folder, const struct document *document, const char *path)
{
    AUTO_BUFFER name = {0};
    text_clean(&name, value_text_at(document->tree, "apiVersion"), SHOWN_OCTETS_MAX);
    buffer_add_char(&name, ' ');
    text_clean(&name, value_text_at(document->tree, "kind"), SHOWN_OCTETS_MAX);
    if (folder->unknown_kind_count == UNKNOWN_KINDS_MAX || is_known(folder, name.at))
        return;
    log_line(folder->log, LOG_INFO, "documents of a kind that is not served are skipped",
             LOG_TEXT("kind", name.at), LOG_TEXT("file", path), LOG_END);
    mem_reserve(&folder->unknown_kinds, &folder->unknown_kind_capacity,
                folder->unknown_kind_count + 1);
    folder->unknown_kinds[folder->unknown_kind_count++] = buffer_steal(&name);
}

void trouble_done(struct folder *folder)
{
    for (size_t i = 0; i < folder->fault_count; i++)
        free(folder->faults[i].text);
    for (size_t i = 0; i < folder->unknown_kind_count; i++)
        free(folder->unknown_kinds[i]);
    for (size_t i = 0; i < TROUBLES; i++)
        free(folder->troubles[i]);
    free(folder->faults);
    free(folder->unknown_kinds);
}
