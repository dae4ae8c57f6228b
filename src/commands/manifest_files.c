#include "commands/manifest_files.h"

#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "io/disk.h"
#include "store/folder/name.h"
#include "store/folder/scan.h"

enum { FILE_OCTETS_MAX = 16 * 1024 * 1024 };

static void unreadable(struct manifest_files *files, const char *text)
{
    files->unreadable_count++;
    command_fail(2, "%s", text);
}

// A file that was given twice, or stands in a folder that was given too, is read once.
#define INPUT_NAME "<stdin>"

static void add_file(struct manifest_files *files, const char *shown, const char *opened)
{
    struct error err;
    AUTO_BUFFER key = {0};
    autofree char *real = disk_real_path(opened, &err);
    if (!real) {
        unreadable(files, err.text);
        return;
    }
    buffer_printf(&key, "file %s", real);
    if (check_set_file(files->set, key.at, (struct spot){shown, 1, 1}))
        return;
    mem_reserve(&files->items, &files->capacity, files->count + 1);
    files->items[files->count++] = (struct manifest_file){shown, opened};
}

static void found_manifest(void *context, const char *path, const struct disk_stat *found)
{
    struct manifest_files *files = context;
    struct error err = {0};
    files->found_count++;
    const char *shown = arena_printf(files->arena, "%s/%s", files->folder, path);
    const char *opened = arena_printf(files->arena, "%s/%s", files->real, path);
    (void)found;
    if (scan_check_link(files->real, opened, &err))
        add_file(files, shown, opened);
    else if (err.fault == FAULT_SPEC)
        report_add(files->report, REPORT_ERROR, (struct spot){shown, 1, 1}, "%s", err.text);
    else
        unreadable(files, err.text);
}

static void found_dangling(void *context, const char *path)
{
    struct manifest_files *files = context;
    const char *shown = arena_printf(files->arena, "%s/%s", files->folder, path);
    report_add(files->report, REPORT_WARNING, (struct spot){shown, 1, 1},
               "is a link that leads nowhere, and counts as absent");
}

static void found_unreadable(void *context, const char *path, const struct error *err)
{
    (void)path;
    unreadable(context, err->text);
}

static void walk(struct manifest_files *files, const char *path)
{
    static const struct scan_calls calls = {
        .manifest = found_manifest, .dangling = found_dangling, .unreadable = found_unreadable};
    struct scan scan;
    struct error err;
    autofree char *real = disk_real_path(path, &err);
    if (!real) {
        unreadable(files, err.text);
        return;
    }
    files->folder = path;
    files->real = real;
    scan_begin(&scan, real, &calls, files);
    scan_step(&scan, NULL, 0);
    scan_end(&scan);
}

static bool has_entries(const char *path)
{
    char **names = NULL;
    size_t count = 0;
    if (!disk_list(path, &names, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return count > 0;
}

static const char *without_slashes(struct arena *arena, const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return arena_copy(arena, path, len);
}

// Adds what `signpost run` reads of a folder whose state lies in `state`.
static void add_folder(struct manifest_files *files, const char *path, const char *state)
{
    size_t before = files->found_count;
    const char *folder = without_slashes(files->arena, path);
    const char *children =
        arena_printf(files->arena, "%s/" NAME_CHILDREN, without_slashes(files->arena, state));
    walk(files, folder);
    if (has_entries(children))
        walk(files, children);
    if (before == files->found_count && !files->unreadable_count)
        report_add(files->report, REPORT_WARNING, (struct spot){folder, 1, 1},
                   "no manifest (*.yaml, *.yml, *.json) in this folder");
}

// Read once, however often it is named.
static void add_input(struct manifest_files *files)
{
    if (check_set_file(files->set, "file -", (struct spot){INPUT_NAME, 1, 1}))
        return;
    mem_reserve(&files->items, &files->capacity, files->count + 1);
    files->items[files->count++] = (struct manifest_file){INPUT_NAME, NULL};
}

void manifest_files_add(struct manifest_files *files, const char *path)
{
    struct disk_stat found;
    struct error err;
    if (!strcmp(path, "-"))
        add_input(files);
    else if (!disk_stat(path, &found, &err))
        unreadable(files, err.text);
    else if (found.is_folder)
        add_folder(files, path, path);
    else
        add_file(files, path, path);
}

void manifest_files_add_store(struct manifest_files *files, const struct invocation *invocation)
{
    const char *dir = option_text(invocation, "dir");
    const char *state = option_text(invocation, "state-dir");
    add_folder(files, dir, state ? state : dir);
}

static int compare_files(const void *left, const void *right)
{
    const struct manifest_file *a = left;
    const struct manifest_file *b = right;
    return strcmp(a->shown, b->shown);
}

void manifest_files_sort(struct manifest_files *files)
{
    if (files->count)
        qsort(files->items, files->count, sizeof *files->items, compare_files);
}

bool manifest_is_file(const char *path)
{
    struct text name = text_of(path);
    return text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json");
}

void manifest_files_done(struct manifest_files *files)
{
    free(files->items);
}

bool manifest_files_read(struct manifest_files *files, const struct manifest_file *file,
                         struct buffer *out)
{
    struct error err;
    if (file->opened ? disk_read(out, file->opened, FILE_OCTETS_MAX, &err)
                     : disk_read_input(out, FILE_OCTETS_MAX, &err))
        return true;
    unreadable(files, err.text);
    return false;
}

void manifest_files_report_syntax(struct manifest_files *files, const char *path,
                                  const struct error *err)
{
    size_t skipped = strlen(path) + 1;
    struct text rest = text_of(err->text);
    struct text line;
    struct text column;
    int64_t numbers[2];
    struct spot place = {path, 1, 1};
    if (text_starts(rest, path) && rest.len > skipped) {
        rest = (struct text){rest.at + skipped, rest.len - skipped};
        struct text whole = rest;
        if (text_cut(&rest, ':', &line) && text_cut(&rest, ':', &column) &&
            text_to_int64(line, &numbers[0]) && text_to_int64(column, &numbers[1]))
            place = (struct spot){path, (uint32_t)numbers[0], (uint32_t)numbers[1]};
        else
            rest = whole;
    }
    rest = text_trim(rest);
    report_add(files->report, REPORT_ERROR, place, "%.*s", TEXT_ARGS(rest));
}

void manifest_files_report_broken(struct manifest_files *files, const char *path,
                                  const struct document *document)
{
    struct error err;
    error_set(&err, FAULT_SPEC, "", "%s", document->fault);
    manifest_files_report_syntax(files, path, &err);
}

bool manifest_files_read_documents(struct manifest_files *files, const struct manifest_file *file,
                                   const struct kind *const *wanted, size_t wanted_count,
                                   struct kind_patterns *patterns, document_call *call,
                                   void *context)
{
    AUTO_BUFFER content = {0};
    struct error err;
    if (!manifest_files_read(files, file, &content))
        return false;
    const struct document_source source = {.path = file->shown,
                                           .text = buffer_text(&content),
                                           .kinds = wanted,
                                           .kind_count = wanted_count,
                                           .patterns = patterns,
                                           .is_draft = true};
    if (documents_read(&source, call, context, &err))
        return true;
    manifest_files_report_syntax(files, file->shown, &err);
    return false;
}

const char *manifest_fault_text(const char *path, const char *fault, uint32_t line, uint32_t column)
{
    AUTO_BUFFER prefix = {0};
    buffer_printf(&prefix, "%s:%u:%u: ", path, line, column);
    return text_starts(text_of(fault), prefix.at) ? fault + prefix.len : fault;
}
