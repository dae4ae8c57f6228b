#include "io/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/disk_private.h"

enum { TEMPORARY_STEM_MAX = 200 }; // octets of the target's name in that of its temporary file

struct disk_file {
    int fd;
    char *path;
    bool is_broken; // what stands on the disk is not known any more
};

static const struct {
    int number;
    const char *what_to_do;
} advices[] = {
    {ENOSPC, "free some space there"},
    {EDQUOT, "free some space there or raise the quota"},
    {EROFS, "mount it writable or name another folder"},
    {EACCES, "the user of this process needs the right"},
    {EPERM, "the user of this process needs the right"},
    {ENOENT, "check the path"},
    {ENOTDIR, "a part of the path is no folder"},
    {EISDIR, "name a file instead of a folder"},
    {ELOOP, "a symbolic link leads in a circle"},
    {EMFILE, "raise the limit of open files (ulimit -n)"},
    {ENFILE, "raise fs.file-max"},
    {ENAMETOOLONG, "use a shorter name"},
    {EIO, "check the disk"},
    {ESTALE, "mount the network file system again"},
};

bool disk_fail(struct error *err, int number, const char *verb, const char *path)
{
    const char *advice = NULL;
    for (size_t i = 0; i < COUNT_OF(advices) && !advice; i++)
        if (advices[i].number == number)
            advice = advices[i].what_to_do;
    if (!advice)
        return error_set_errno(err, number, "cannot %s %s", verb, path);
    return error_set_errno(err, number, "cannot %s %s (%s)", verb, path, advice);
}

bool disk_name_is_temporary(const char *name)
{
    return name[0] == '.' && text_ends(text_of(name), DISK_TEMPORARY_END);
}

bool disk_temporary_target(const char *name, struct text *target)
{
    static const char pattern[] = ".XXXXXX" DISK_TEMPORARY_END;
    size_t len = strlen(name);
    size_t end = sizeof pattern - 1;
    if (!disk_name_is_temporary(name) || len < 2 + end || name[len - end] != '.')
        return false;
    *target = (struct text){name + 1, len - 1 - end};
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *disk_folder_of(const char *path)
{
    size_t len = (size_t)(base_name(path) - path);
    if (len == 0)
        return mem_copy_text(".");
    char *folder = mem_copy_text(path);
    folder[len > 1 ? len - 1 : 1] = '\0';
    return folder;
}

static bool write_all(int fd, struct text content)
{
    while (content.len) {
        ssize_t written = write(fd, content.at, content.len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        content.at += written;
        content.len -= (size_t)written;
    }
    return true;
}

// Some file systems cannot sync a folder and say EINVAL; they keep its order by themselves.
static bool sync_folder_of(const char *path, struct error *err)
{
    autofree char *folder = disk_folder_of(path);
    AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return disk_fail(err, errno, "open", folder);
    if (fsync(fd) < 0 && errno != EINVAL)
        return disk_fail(err, errno, "sync", folder);
    return true;
}

static char *temporary_path(const char *path)
{
    const char *name = base_name(path);
    AUTO_BUFFER out = {0};
    buffer_add(&out, path, (size_t)(name - path));
    buffer_printf(&out, ".%.*s.XXXXXX" DISK_TEMPORARY_END, TEMPORARY_STEM_MAX, name);
    return buffer_steal(&out);
}

static bool fill_file(int fd, struct text content, mode_t mode, bool is_synced)
{
    return fchmod(fd, mode) == 0 && write_all(fd, content) && (!is_synced || fsync(fd) == 0);
}

// The close is checked too: network file systems report a full disk there.
static bool write_temporary(char *temporary, struct text content, mode_t mode, bool is_synced)
{
    AUTO_FD fd = mkostemps(temporary, sizeof DISK_TEMPORARY_END - 1, O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fill_file(fd, content, mode, is_synced) && close(fd_steal(&fd)) == 0)
        return true;
    int number = errno;
    unlink(temporary);
    errno = number;
    return false;
}

static bool system_replace(struct disk *disk, const char *path, struct text content, mode_t mode,
                           bool is_synced, struct error *err)
{
    (void)disk;
    autofree char *temporary = temporary_path(path);
    if (!write_temporary(temporary, content, mode, is_synced))
        return disk_fail(err, errno, "write", path);
    if (rename(temporary, path) < 0) {
        int number = errno;
        unlink(temporary);
        return disk_fail(err, number, "replace", path);
    }
    return !is_synced || sync_folder_of(path, err);
}

static struct disk_file *system_append_open(struct disk *disk, const char *path, mode_t mode,
                                            struct error *err)
{
    (void)disk;
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    AUTO_FD fd = open(path, flags | O_CREAT | O_EXCL, mode);
    bool is_created = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open(path, flags);
    if (fd < 0) {
        disk_fail(err, errno, "open", path);
        return NULL;
    }
    if (is_created && !sync_folder_of(path, err))
        return NULL;
    struct disk_file *file = mem_new_of(struct disk_file);
    file->fd = fd_steal(&fd);
    file->path = mem_copy_text(path);
    return file;
}

static bool check_whole(const struct disk_file *file, struct error *err)
{
    if (!file->is_broken)
        return true;
    error_set_errno(err, EIO,
                    "cannot write %s: an earlier write or sync failed, so its content on the disk "
                    "is not known; write it anew",
                    file->path);
    return false;
}

static bool system_append(struct disk *disk, struct disk_file *file, struct text content,
                          struct error *err)
{
    (void)disk;
    if (!check_whole(file, err))
        return false;
    struct stat before;
    if (fstat(file->fd, &before) < 0)
        return disk_fail(err, errno, "look at", file->path);
    if (write_all(file->fd, content))
        return true;
    int number = errno;
    file->is_broken = ftruncate(file->fd, before.st_size) < 0;
    return disk_fail(err, number, "write", file->path);
}

// A failed sync leaves pages that the kernel takes for clean, so a second one would lie.
static bool system_sync(struct disk *disk, struct disk_file *file, struct error *err)
{
    (void)disk;
    if (!check_whole(file, err))
        return false;
    if (fdatasync(file->fd) == 0)
        return true;
    file->is_broken = true;
    return disk_fail(err, errno, "sync", file->path);
}

static void system_append_close(struct disk *disk, struct disk_file *file)
{
    (void)disk;
    close(file->fd);
    free(file->path);
    free(file);
}

static bool system_remove(struct disk *disk, const char *path, struct error *err)
{
    (void)disk;
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    return disk_fail(err, errno, "remove", path);
}

static bool is_folder(const char *path)
{
    struct stat stat_of_path;
    return stat(path, &stat_of_path) == 0 && S_ISDIR(stat_of_path.st_mode);
}

static bool make_one_folder(const char *path, mode_t mode, struct error *err)
{
    if (mkdir(path, mode) == 0)
        return sync_folder_of(path, err);
    int number = errno;
    if (is_folder(path))
        return true;
    return disk_fail(err, number == EEXIST ? ENOTDIR : number, "make folder", path);
}

static bool system_make_folder(struct disk *disk, const char *path, mode_t mode, struct error *err)
{
    (void)disk;
    autofree char *part = mem_copy_text(path);
    size_t len = strlen(part);
    while (len > 1 && part[len - 1] == '/')
        part[--len] = '\0';
    if (is_folder(part))
        return true;
    for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        bool is_made = make_one_folder(part, mode, err);
        *at = '/';
        if (!is_made)
            return false;
    }
    return make_one_folder(part, mode, err);
}

struct disk *disk_system(void)
{
    static const struct disk_ops ops = {
        .replace = system_replace,
        .append_open = system_append_open,
        .append = system_append,
        .sync = system_sync,
        .append_close = system_append_close,
        .remove = system_remove,
        .make_folder = system_make_folder,
    };
    static struct disk system = {.ops = &ops};
    return &system;
}
