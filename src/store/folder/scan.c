#include "store/folder/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "store/folder/name.h"

enum { NAMES_PER_LOOK = 32 }; // between two looks at the clock

static void push_folder(struct scan *scan, const char *folder)
{
    mem_reserve(&scan->folders, &scan->folder_capacity, scan->folder_count + 1);
    scan->folders[scan->folder_count++] = mem_copy_text(folder);
}

bool scan_check_link(const char *root, const char *manifest, struct error *err)
{
    size_t len = strlen(root);
    autofree char *real = disk_real_path(manifest, err);
    if (!real)
        return false;
    if (strncmp(real, root, len) == 0 && (real[len] == '/' || root[len - 1] == '/'))
        return true;
    return error_set(err, FAULT_SPEC, "OutsideLink",
                     "is a link out of the folder, which is not followed; copy the file");
}

void scan_begin(struct scan *scan, const char *root, const struct scan_calls *calls, void *context)
{
    *scan = (struct scan){.calls = calls, .context = context, .root = mem_copy_text(root)};
    push_folder(scan, "");
}

static void drop_names(struct scan *scan)
{
    for (size_t i = 0; i < scan->name_count; i++)
        free(scan->names[i]);
    free(scan->names);
    free(scan->folder);
    scan->names = NULL;
    scan->folder = NULL;
    scan->name_count = scan->next = 0;
}

void scan_end(struct scan *scan)
{
    drop_names(scan);
    for (size_t i = 0; i < scan->folder_count; i++)
        free(scan->folders[i]);
    free(scan->folders);
    free(scan->root);
    *scan = (struct scan){0};
}

static void write_absolute(struct buffer *out, const struct scan *scan, const char *path)
{
    buffer_add_text(out, scan->root);
    if (*path)
        buffer_printf(out, "/%s", path);
}

static void write_relative(struct buffer *out, const char *folder, const char *name)
{
    buffer_printf(out, "%s%s%s", folder, *folder ? "/" : "", name);
}

// What vanished since the listing is simply gone.
static void report_unreadable(const struct scan *scan, const char *path, const struct error *err)
{
    if (err->status != ENOENT && err->status != ENOTDIR && err->status != ELOOP)
        scan->calls->unreadable(scan->context, path, err);
}

static bool open_folder(struct scan *scan)
{
    AUTO_BUFFER path = {0};
    struct error err = {0};
    scan->folder = scan->folders[--scan->folder_count];
    write_absolute(&path, scan, scan->folder);
    if (scan->calls->folder)
        scan->calls->folder(scan->context, path.at);
    if (disk_list(path.at, &scan->names, &scan->name_count, &err))
        return true;
    if (*scan->folder)
        report_unreadable(scan, scan->folder, &err);
    else
        scan->calls->unreadable(scan->context, "", &err);
    drop_names(scan);
    return false;
}

static size_t depth_of(const char *path)
{
    size_t depth = 1;
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

// A folder whose real path is another one lies behind a link.
static void take_folder(struct scan *scan, const char *path, const char *full)
{
    struct error err = {0};
    autofree char *real = disk_real_path(full, &err);
    if (!real) {
        report_unreadable(scan, path, &err);
        return;
    }
    if (strcmp(real, full) != 0)
        return;
    if (depth_of(path) <= SCAN_DEPTH_MAX) {
        push_folder(scan, path);
        return;
    }
    if (scan->calls->too_deep)
        scan->calls->too_deep(scan->context, path);
}

static void take_name(struct scan *scan, const char *name)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER full = {0};
    struct disk_stat found;
    struct error err = {0};
    if (name_is_skipped(name))
        return;
    write_relative(&path, scan->folder, name);
    if (name_is_status(name)) {
        if (scan->calls->status)
            scan->calls->status(scan->context, path.at);
        return;
    }
    write_absolute(&full, scan, path.at);
    if (!disk_stat(full.at, &found, &err)) {
        if (scan->calls->dangling && name_is_manifest(name) && disk_is_link(full.at))
            scan->calls->dangling(scan->context, path.at);
        report_unreadable(scan, path.at, &err);
        return;
    }
    if (found.is_folder)
        take_folder(scan, path.at, full.at);
    else if (found.is_file && name_is_manifest(name) && scan->calls->manifest)
        scan->calls->manifest(scan->context, path.at, &found);
}

static bool take_some(struct scan *scan)
{
    if (!scan->folder)
        return scan->folder_count && (open_folder(scan) || true);
    for (int i = 0; i < NAMES_PER_LOOK && scan->next < scan->name_count; i++)
        take_name(scan, scan->names[scan->next++]);
    if (scan->next == scan->name_count)
        drop_names(scan);
    return true;
}

bool scan_step(struct scan *scan, struct loop *loop, int64_t until_ms)
{
    while (take_some(scan))
        if (loop && loop_mono_ms(loop) >= until_ms)
            return false;
    return true;
}
