#include "model/faulty_disk.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct faulty_disk {
    struct disk disk;
    struct disk *real;
    struct loop *loop;
    unsigned calls;
    unsigned fault_at; // the number of the call
    enum disk_fault fault;
    bool has_fault;
    bool is_stopped;
    bool is_full;
    sqlite3_vfs vfs; // of the databases: SQLite's own, whose changes are judged, too
    char vfs_name[32];
};

enum result { GO, GO_HALF, REFUSE };

static struct faulty_disk *of(struct disk *disk)
{
    return (struct faulty_disk *)disk;
}

static bool refuse(struct error *err)
{
    return error_set_errno(err, ENOSPC, "cannot write");
}

static enum result judge(struct disk *disk)
{
    struct faulty_disk *self = of(disk);
    bool is_met = self->has_fault && self->calls == self->fault_at;
    self->calls++;
    if (self->is_stopped)
        return REFUSE;
    if (!is_met)
        return self->is_full ? REFUSE : GO;
    self->has_fault = false;
    self->is_stopped = self->fault != DISK_FAILS;
    if (self->is_stopped)
        loop_stop(self->loop);
    if (self->fault == DISK_ACTS_LAST)
        return GO;
    return self->fault == DISK_TORN ? GO_HALF : REFUSE;
}

static bool faulty_replace(struct disk *disk, const char *path, struct text content, mode_t mode,
                           bool is_synced, struct error *err)
{
    if (judge(disk) != GO)
        return refuse(err);
    return disk_replace(of(disk)->real, path, content, mode, is_synced, err);
}

static struct disk_file *faulty_append_open(struct disk *disk, const char *path, mode_t mode,
                                            struct error *err)
{
    if (of(disk)->is_stopped) {
        refuse(err);
        return NULL;
    }
    return disk_append_open(of(disk)->real, path, mode, err);
}

static bool faulty_append(struct disk *disk, struct disk_file *file, struct text content,
                          struct error *err)
{
    enum result result = judge(disk);
    if (result == GO)
        return disk_append(of(disk)->real, file, content, err);
    if (result == GO_HALF) {
        content.len /= 2;
        disk_append(of(disk)->real, file, content, NULL);
    }
    return refuse(err);
}

static bool faulty_sync(struct disk *disk, struct disk_file *file, struct error *err)
{
    if (judge(disk) != GO)
        return refuse(err);
    return disk_sync(of(disk)->real, file, err);
}

static void faulty_append_close(struct disk *disk, struct disk_file *file)
{
    disk_append_close(of(disk)->real, file);
}

static bool faulty_remove(struct disk *disk, const char *path, struct error *err)
{
    if (judge(disk) != GO)
        return refuse(err);
    return disk_remove(of(disk)->real, path, err);
}

static bool faulty_make_folder(struct disk *disk, const char *path, mode_t mode, struct error *err)
{
    if (judge(disk) != GO)
        return refuse(err);
    return disk_make_folder(of(disk)->real, path, mode, err);
}

static const struct disk_ops faulty_ops = {
    .replace = faulty_replace,
    .append_open = faulty_append_open,
    .append = faulty_append,
    .sync = faulty_sync,
    .append_close = faulty_append_close,
    .remove = faulty_remove,
    .make_folder = faulty_make_folder,
};

// ---- databases ----------------------------------------------------------------------------------

// Lies behind SQLite's own state of an open file.
struct faulty_file {
    struct disk *disk;
    const sqlite3_io_methods *real;
    sqlite3_io_methods methods;
};

static size_t own_octets(void)
{
    return ((size_t)sqlite3_vfs_find(NULL)->szOsFile + 15) / 16 * 16;
}

static struct faulty_file *faulty_file_of(sqlite3_file *file)
{
    return (struct faulty_file *)((char *)file + own_octets());
}

static int faulty_write_at(sqlite3_file *file, const void *octets, int count, sqlite3_int64 offset)
{
    const struct faulty_file *faulty = faulty_file_of(file);
    enum result result = judge(faulty->disk);
    if (result == GO)
        return faulty->real->xWrite(file, octets, count, offset);
    if (result == GO_HALF)
        faulty->real->xWrite(file, octets, count / 2, offset);
    return SQLITE_FULL;
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    const struct faulty_file *faulty = faulty_file_of(file);
    return judge(faulty->disk) == GO ? faulty->real->xTruncate(file, size) : SQLITE_IOERR_TRUNCATE;
}

static int faulty_sync_file(sqlite3_file *file, int flags)
{
    const struct faulty_file *faulty = faulty_file_of(file);
    return judge(faulty->disk) == GO ? faulty->real->xSync(file, flags) : SQLITE_IOERR_FSYNC;
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    const sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    struct faulty_file *faulty = faulty_file_of(file);
    int result = real->xOpen((sqlite3_vfs *)(uintptr_t)real, name, file, flags, out);
    if (result != SQLITE_OK || !file->pMethods)
        return result;
    *faulty = (struct faulty_file){vfs->pAppData, file->pMethods, *file->pMethods};
    faulty->methods.xWrite = faulty_write_at;
    faulty->methods.xTruncate = faulty_truncate;
    faulty->methods.xSync = faulty_sync_file;
    file->pMethods = &faulty->methods;
    return result;
}

static int faulty_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (of(vfs->pAppData)->is_stopped)
        return SQLITE_IOERR_DELETE;
    return real->xDelete(real, name, is_synced);
}

static void register_vfs(struct faulty_disk *self)
{
    sqlite3_initialize();
    self->vfs = *sqlite3_vfs_find(NULL);
    snprintf(self->vfs_name, sizeof self->vfs_name, "faulty-%" PRIxPTR, (uintptr_t)self);
    self->vfs.szOsFile = (int)(own_octets() + sizeof(struct faulty_file));
    self->vfs.pNext = NULL;
    self->vfs.zName = self->vfs_name;
    self->vfs.pAppData = &self->disk;
    self->vfs.xOpen = faulty_open;
    self->vfs.xDelete = faulty_delete;
    sqlite3_vfs_register(&self->vfs, 0);
    self->disk.vfs = self->vfs_name;
}

struct disk *faulty_disk_new(struct disk *real, struct loop *loop)
{
    struct faulty_disk *self = mem_new_of(struct faulty_disk);
    self->disk.ops = &faulty_ops;
    self->real = real;
    self->loop = loop;
    register_vfs(self);
    return &self->disk;
}

void faulty_disk_free(struct disk *disk)
{
    if (disk)
        sqlite3_vfs_unregister(&of(disk)->vfs);
    free(disk);
}

void faulty_disk_fault(struct disk *disk, unsigned skip, enum disk_fault fault)
{
    struct faulty_disk *self = of(disk);
    self->has_fault = true;
    self->fault = fault;
    self->fault_at = self->calls + skip;
}

void faulty_disk_heal(struct disk *disk)
{
    of(disk)->has_fault = of(disk)->is_stopped = false;
}

void faulty_disk_fill(struct disk *disk, bool is_full)
{
    of(disk)->is_full = is_full;
}

unsigned faulty_disk_calls(const struct disk *disk)
{
    return ((const struct faulty_disk *)disk)->calls;
}

bool faulty_disk_is_stopped(const struct disk *disk)
{
    return ((const struct faulty_disk *)disk)->is_stopped;
}
