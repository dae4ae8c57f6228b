#include "io/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/disk_private.h"

enum {
    LIST_MAX = 1000000, // names in one folder
    READ_STEP = 64 * 1024,
};

static bool refuse(struct error *err, int number, const char *reason, const char *path,
                   const char *why)
{
    error_set(err, FAULT_SPEC, reason, "%s %s", path, why);
    if (err)
        err->status = number;
    return false;
}

// O_NONBLOCK so that a pipe that someone put there cannot hold up the process.
static int open_regular(const char *path, struct stat *stat_of_file, struct error *err)
{
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, stat_of_file) < 0) {
        disk_fail(err, errno, "read", path);
        return -1;
    }
    if (S_ISDIR(stat_of_file->st_mode)) {
        disk_fail(err, EISDIR, "read", path);
        return -1;
    }
    if (!S_ISREG(stat_of_file->st_mode)) {
        refuse(err, EINVAL, "NotAFile", path, "is not a regular file; name one");
        return -1;
    }
    return fd_steal(&fd);
}

static bool refuse_size(const char *path, size_t limit, struct error *err)
{
    error_set(err, FAULT_SPEC, "TooLarge", "%s is larger than %zu octets", path, limit);
    if (err)
        err->status = EFBIG;
    return false;
}

// Reads to the end whatever the size says: files of /proc and /sys claim 0.
static bool read_all(struct buffer *out, int fd, const char *path, size_t limit, struct error *err)
{
    size_t start = out->len;
    for (;;) {
        size_t room = limit - (out->len - start) + 1;
        if (out->capacity - out->len < 2)
            buffer_reserve(out, room < READ_STEP ? room : READ_STEP);
        size_t free_octets = out->capacity - out->len - 1;
        ssize_t got = read(fd, out->at + out->len, room < free_octets ? room : free_octets);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return disk_fail(err, errno, "read", path);
        if (got == 0)
            return true;
        out->len += (size_t)got;
        out->at[out->len] = '\0';
        if (out->len - start > limit)
            return refuse_size(path, limit, err);
    }
}

static void cut_back(struct buffer *out, size_t len)
{
    out->len = len;
    if (out->at)
        out->at[len] = '\0';
}

bool disk_read(struct buffer *out, const char *path, size_t limit, struct error *err)
{
    must(limit < SIZE_MAX / 2);
    struct stat stat_of_file;
    AUTO_FD fd = open_regular(path, &stat_of_file, err);
    if (fd < 0)
        return false;
    if (stat_of_file.st_size > 0 && (uint64_t)stat_of_file.st_size > limit)
        return refuse_size(path, limit, err);
    size_t start = out->len;
    buffer_reserve(out, (size_t)stat_of_file.st_size + 2);
    if (read_all(out, fd, path, limit, err))
        return true;
    cut_back(out, start);
    return false;
}

bool disk_read_input(struct buffer *out, size_t limit, struct error *err)
{
    size_t start = out->len;
    if (read_all(out, STDIN_FILENO, "standard input", limit, err))
        return true;
    cut_back(out, start);
    return false;
}

bool disk_read_head(struct buffer *out, const char *path, size_t octets, struct error *err)
{
    struct stat stat_of_file;
    AUTO_FD fd = open_regular(path, &stat_of_file, err);
    if (fd < 0)
        return false;
    buffer_reserve(out, octets + 1);
    ssize_t got = pread(fd, out->at + out->len, octets, 0);
    if (got < 0)
        return disk_fail(err, errno, "read", path);
    cut_back(out, out->len + (size_t)got);
    return true;
}

bool disk_stat(const char *path, struct disk_stat *out, struct error *err)
{
    struct stat found;
    if (stat(path, &found) < 0)
        return disk_fail(err, errno, "look at", path);
    *out = (struct disk_stat){
        .device = found.st_dev,
        .inode = found.st_ino,
        .size = found.st_size,
        .mtime_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec,
        .mode = found.st_mode & 07777,
        .is_folder = S_ISDIR(found.st_mode),
        .is_file = S_ISREG(found.st_mode),
    };
    return true;
}

bool disk_is_link(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
}

struct name_list {
    char **names;
    size_t count;
    size_t capacity;
};

static void name_list_cleanup(struct name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
}

static void folder_cleanup(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_names(DIR *folder, struct name_list *list)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return errno == 0;
        if (is_dots(entry->d_name))
            continue;
        if (list->count == LIST_MAX) {
            errno = EOVERFLOW;
            return false;
        }
        mem_reserve(&list->names, &list->capacity, list->count + 1);
        list->names[list->count++] = mem_copy_text(entry->d_name);
    }
}

bool disk_list(const char *path, char ***names, size_t *count, struct error *err)
{
    __attribute__((cleanup(folder_cleanup))) DIR *folder = opendir(path);
    if (!folder)
        return disk_fail(err, errno, "list", path);
    __attribute__((cleanup(name_list_cleanup))) struct name_list list = {0};
    if (!read_names(folder, &list))
        return errno == EOVERFLOW
                   ? refuse(err, errno, "TooLarge", path,
                            "holds more than 1000000 names; spread them over folders")
                   : disk_fail(err, errno, "list", path);
    if (list.count)
        qsort(list.names, list.count, sizeof *list.names, compare_names);
    *count = list.count;
    *names = steal(list.names);
    list.count = 0;
    return true;
}

char *disk_real_path(const char *path, struct error *err)
{
    char *real = realpath(path, NULL);
    if (!real)
        disk_fail(err, errno, "resolve", path);
    return real;
}

bool disk_is_remote(const char *path)
{
    // NFS, SMB, CIFS, SMB2, 9P, AFS, Coda, Ceph, NCP: statfs(2), linux/magic.h.
    static const uint32_t remote[] = {0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x01021997,
                                      0x5346414f, 0x73757245, 0x00c36400, 0x564c};
    struct statfs found;
    if (statfs(path, &found) < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(remote); i++)
        if ((uint32_t)found.f_type == remote[i])
            return true;
    return false;
}
