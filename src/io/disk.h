#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

// Files. Changing calls go through an interface, so that a test can make any one of them fail or
// stop; disk_system is the real one. All calls block: they are short and local, or rare.

struct disk_file; // an open append file
struct disk;
struct disk_ops {
    // Temporary file in the same folder, (fsync,) rename, (fsync of the folder).
    bool (*replace)(struct disk *disk, const char *path, struct text content, mode_t mode,
                    bool is_synced, struct error *err);
    struct disk_file *(*append_open)(struct disk *disk, const char *path, mode_t mode,
                                     struct error *err);
    bool (*append)(struct disk *disk, struct disk_file *file, struct text content,
                   struct error *err);
    bool (*sync)(struct disk *disk, struct disk_file *file, struct error *err); // fdatasync
    void (*append_close)(struct disk *disk, struct disk_file *file);
    bool (*remove)(struct disk *disk, const char *path, struct error *err); // absent is fine
    bool (*make_folder)(struct disk *disk, const char *path, mode_t mode, struct error *err);
};
struct disk {
    const struct disk_ops *ops;
    const char *vfs; // name of the file layer of databases (sqlite3_vfs); NULL: SQLite's own
};
struct disk *disk_system(void); // static

// A temporary file of disk_replace, as its name in a folder gives it away: `target` is the name
// (200 octets at most) of what was to be replaced. False: this is none.
bool disk_temporary_target(const char *name, struct text *target);
// Atomic replacement: readers see the old file or the whole new one, also after a crash when
// is_synced. The file has exactly this mode, whatever the umask. On failure the old file is
// untouched and no temporary one stays; only when the folder's own sync fails is the new content in
// place, but not safe from a crash. A crash may leave a temporary file ".<name>.XXXXXX.tmp" behind.
// A symbolic link at `path` is replaced itself.
static inline bool disk_replace(struct disk *disk, const char *path, struct text content,
                                mode_t mode, bool is_synced, struct error *err)
{
    return disk->ops->replace(disk, path, content, mode, is_synced, err);
}
// Made if absent, its entry in the folder synced then. `mode` is subject to the umask. A symbolic
// link at `path` is not followed: ELOOP.
static inline struct disk_file *disk_append_open(struct disk *disk, const char *path, mode_t mode,
                                                 struct error *err)
{
    return disk->ops->append_open(disk, path, mode, err);
}
// All or nothing as far as the file system can: after a failure the file is cut back. Where even
// that fails, and after a failed disk_sync, what stands on the disk is not known: all later calls
// on this file fail, and the caller writes the content anew (disk_replace, then disk_append_open).
static inline bool disk_append(struct disk *disk, struct disk_file *file, struct text content,
                               struct error *err)
{
    return disk->ops->append(disk, file, content, err);
}
static inline bool disk_sync(struct disk *disk, struct disk_file *file, struct error *err)
{
    return disk->ops->sync(disk, file, err);
}
static inline void disk_append_close(struct disk *disk, struct disk_file *file)
{
    if (file)
        disk->ops->append_close(disk, file);
}
static inline bool disk_remove(struct disk *disk, const char *path, struct error *err)
{
    return disk->ops->remove(disk, path, err);
}
// Parents too, with the same mode; existing is fine. Entries made are synced in their folders.
static inline bool disk_make_folder(struct disk *disk, const char *path, mode_t mode,
                                    struct error *err)
{
    return disk->ops->make_folder(disk, path, mode, err);
}

// Reading. `status` of the error is errno (ENOENT, ...). A file over `limit` octets is refused
// (EFBIG), and so is what is no regular file. The content is added to `out`, with one allocation,
// so that a secret leaves no copies; on failure `out` keeps its old content.
bool disk_read(struct buffer *out, const char *path, size_t limit, struct error *err);
// The same of standard input, to its end.
bool disk_read_input(struct buffer *out, size_t limit, struct error *err);
// Only the first `octets` of a file of any size.
bool disk_read_head(struct buffer *out, const char *path, size_t octets, struct error *err);
struct disk_stat {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t mtime_ns;
    mode_t mode;
    bool is_folder;
    bool is_file;
};
bool disk_stat(const char *path, struct disk_stat *out, struct error *err); // follows links
bool disk_is_link(const char *path); // a symbolic one, also one that leads nowhere
// Names in a folder in byte order without "." and ".."; caller frees each and the array. At most
// 1,000,000 names.
bool disk_list(const char *path, char ***names, size_t *count, struct error *err);
// Absolute, links resolved; caller frees. NULL on failure.
char *disk_real_path(const char *path, struct error *err);
// What stands before the last slash: "." where there is none; caller frees.
char *disk_folder_of(const char *path);
// Does it lie on a network file system, where locks and inotify are not to be relied on? False when
// that is not known.
bool disk_is_remote(const char *path);
// Takes an exclusive flock without waiting, of a file (made if absent) or of a folder itself, which
// need not be writable: the descriptor, -1 when another holds it (*is_held) or on failure. The lock
// goes with the descriptor (disk_unlock) or the process. Fault WAIT when held.
int disk_lock(const char *path, bool *is_held, struct error *err);
int disk_lock_folder(const char *path, bool *is_held, struct error *err);
// Does the path still lead to what is locked? False when that was removed or replaced.
bool disk_lock_is_at(int fd, const char *path);
// The process that holds the flock of what lies at the path; 0 when that is not known (it runs in
// another container, say).
pid_t disk_lock_holder(const char *path);
void disk_unlock(int fd);

// Folders watched by inotify (CLOSE_WRITE, MOVED, CREATE of folders and links, DELETE, *_SELF),
// each for the names directly in it. A new sub-folder is reported like a file: the caller adds it
// and then looks into it, as names may have come before the watch. A folder that goes or moves away
// is reported and forgotten with all below it. Temporary files of disk_replace are not reported.
// `changed` is called once per burst and says only that something did; `is_lost` after an overflow
// or when no watched folder is left: look at everything and add the folders again.
struct disk_watch;
struct loop;
typedef void disk_changed(void *context, bool is_lost);
struct disk_watch *disk_watch_new(struct loop *loop, disk_changed *changed, void *context,
                                  struct error *err);
// Adding a folder again is fine. Symbolic links are followed. Fails with status ENOSPC when the
// kernel has no watch left: look at the folder from time to time instead.
bool disk_watch_add(struct disk_watch *watch, const char *folder, struct error *err);
// Takes the paths that changed since the last call ("folder/name", or a folder that went), each
// once and in byte order; caller frees each and the array (NULL when *count is 0). *count is 0 when
// none did; changes from before an is_lost are not listed.
char **disk_watch_take(struct disk_watch *watch, size_t *count);
// For who looks at everything anyhow.
void disk_watch_forget(struct disk_watch *watch);
void disk_watch_free(struct disk_watch *watch);
