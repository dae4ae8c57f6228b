#include "store/folder/degraded.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/events.def"
#include "store/folder/write_back.h"

enum { UNKNOWN_KINDS_MAX = 64, SHOWN_OCTETS_MAX = 128, FAULTS_REPORTED = 20 };

// ---- writes -------------------------------------------------------------------------------------

void degraded_set(struct folder *folder, enum degraded which, const struct error *err)
{
    char **text = &folder->degraded_texts[which];
    bool is_known = *text != NULL;
    free(*text);
    *text = mem_copy_text(err->text);
    if (is_known)
        return;
    log_line(folder->log, LOG_ERROR,
             which == DEGRADED_READING
                 ? "what the store keeps of a manifest cannot be read or written"
                 : "the store cannot write",
             LOG_TEXT("error", *text), LOG_END);
}

static bool can_write(const struct folder *folder)
{
    for (size_t i = 0; i < DEGRADED_COUNT; i++)
        if (i != DEGRADED_READING && folder->degraded_texts[i])
            return false;
    return true;
}

void degraded_clear(struct folder *folder, enum degraded which)
{
    if (!folder->degraded_texts[which])
        return;
    free(folder->degraded_texts[which]);
    folder->degraded_texts[which] = NULL;
    bool is_writable = can_write(folder);
    if (which == DEGRADED_READING)
        log_line(folder->log, LOG_INFO,
                 "what the store keeps of manifests can be read and written again", LOG_END);
    else if (is_writable)
        log_line(folder->log, LOG_INFO, "the store can write again", LOG_END);
    if (is_writable)
        folder->sink.writable(folder->sink.context);
}

const char *degraded_text(const struct folder *folder)
{
    for (size_t i = 0; i < DEGRADED_COUNT; i++)
        if (folder->degraded_texts[i])
            return folder->degraded_texts[i];
    return NULL;
}

// ---- documents ----------------------------------------------------------------------------------

static void fault_done(struct fault_line *line)
{
    free(line->folder);
    free(line->text);
}

static struct file_faults **faults_of(struct folder *folder, uint32_t file)
{
    return file == FILE_NONE ? &folder->folder_faults : &folder->entries.files[file].faults;
}

static struct file_faults *faults_need(struct folder *folder, uint32_t file)
{
    struct file_faults *faults = *faults_of(folder, file);
    if (faults)
        return faults;
    faults = mem_new_of(struct file_faults);
    list_append(&folder->faults, faults);
    *faults_of(folder, file) = faults;
    return faults;
}

static void faults_free(struct file_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        fault_done(&faults->lines[i]);
    free(faults->lines);
    free(faults);
}

static void faults_drop(struct folder *folder, uint32_t file)
{
    struct file_faults *faults = *faults_of(folder, file);
    list_remove(&folder->faults, faults);
    *faults_of(folder, file) = NULL;
    faults_free(faults);
}

void faults_begin(struct folder *folder, uint32_t file)
{
    struct file_faults *faults = *faults_of(folder, file);
    if (!faults)
        return;
    for (size_t i = 0; i < faults->count; i++)
        faults->lines[i].is_old = true;
    faults->unlisted = faults->found - faults->count;
    faults->found = faults->reported = 0;
}

static void report_refusal(struct folder *folder, const char *path, const char *text,
                           const struct object *regarding)
{
    int64_t now_ms = loop_unix_ms(folder->world.loop);
    log_line(folder->log, LOG_WARN, "a document is refused", LOG_TEXT("file", path),
             LOG_TEXT("error", text), LOG_END);
    if (!folder->is_leading)
        return;
    if (regarding) {
        struct kube_event note = {.regarding = regarding,
                                  .is_warning = true,
                                  .reason = EVENT_INVALID_MANIFEST,
                                  .action = "Read",
                                  .text = text};
        events_add(&folder->events, &note, now_ms);
    } else {
        events_add_manifest(&folder->events, path, EVENT_INVALID_MANIFEST, text, now_ms);
    }
    write_back_wake(folder);
}

static struct fault_line *find_old(const struct file_faults *faults, const char *text)
{
    for (size_t i = 0; i < faults->count; i++)
        if (faults->lines[i].is_old && strcmp(faults->lines[i].text, text) == 0)
            return &faults->lines[i];
    return NULL;
}

static void add_fault(struct folder *folder, uint32_t file, const char *path, const char *text,
                      const struct object *regarding)
{
    struct file_faults *faults = faults_need(folder, file);
    if (faults->found++ >= FAULTS_LISTED)
        return;
    struct fault_line *old = find_old(faults, text);
    if (old) {
        old->is_old = false;
        return;
    }
    mem_reserve(&faults->lines, &faults->capacity, faults->count + 1);
    faults->lines[faults->count++] = (struct fault_line){
        .folder = file == FILE_NONE ? mem_copy_text(path) : NULL,
        .text = mem_copy_text(text),
    };
    if (++faults->reported <= FAULTS_REPORTED)
        report_refusal(folder, path, text, regarding);
}

void faults_add(struct folder *folder, uint32_t file, const char *text,
                const struct object *regarding)
{
    add_fault(folder, file, folder->entries.files[file].path, text, regarding);
}

void faults_add_folder(struct folder *folder, const char *path, const char *text)
{
    add_fault(folder, FILE_NONE, path, text, NULL);
}

static void drop_old_lines(struct file_faults *faults)
{
    size_t kept = 0;
    for (size_t i = 0; i < faults->count; i++) {
        struct fault_line line = faults->lines[i];
        if (line.is_old)
            fault_done(&line);
        else
            faults->lines[kept++] = line;
    }
    faults->count = kept;
}

// Those that had no line in the log.
static size_t count_untold(const struct file_faults *faults)
{
    size_t unlisted = faults->found - faults->count;
    size_t untold = faults->reported > FAULTS_REPORTED ? faults->reported - FAULTS_REPORTED : 0;
    return untold + (unlisted > faults->unlisted ? unlisted : 0);
}

static void report_untold(const struct folder *folder, uint32_t file, size_t count)
{
    if (file == FILE_NONE)
        log_line(folder->log, LOG_WARN, "more folders are refused", LOG_INT("count", count),
                 LOG_END);
    else
        log_line(folder->log, LOG_WARN, "more documents of the file are refused",
                 LOG_TEXT("file", folder->entries.files[file].path), LOG_INT("count", count),
                 LOG_END);
}

void faults_end(struct folder *folder, uint32_t file)
{
    struct file_faults *faults = *faults_of(folder, file);
    if (!faults)
        return;
    drop_old_lines(faults);
    folder->fault_count += faults->found - faults->counted;
    faults->counted = faults->found;
    size_t untold = count_untold(faults);
    if (untold)
        report_untold(folder, file, untold);
    if (!faults->found)
        faults_drop(folder, file);
}

void faults_forget(struct folder *folder, uint32_t file)
{
    faults_begin(folder, file);
    faults_end(folder, file);
}

// ---- unknown kinds ------------------------------------------------------------------------------

static bool is_known(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->unknown_kind_count; i++)
        if (strcmp(folder->unknown_kinds[i], name) == 0)
            return true;
    return false;
}

void degraded_log_unknown_kind(struct folder *folder, const struct document *document,
                               const char *path)
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

void degraded_done(struct folder *folder)
{
    list_each (faults, &folder->faults)
        faults_free(faults);
    for (size_t i = 0; i < folder->unknown_kind_count; i++)
        free(folder->unknown_kinds[i]);
    for (size_t i = 0; i < DEGRADED_COUNT; i++)
        free(folder->degraded_texts[i]);
    free(folder->unknown_kinds);
}
