#pragma once

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"

// Private to this room: what the files of disk.h share.

// Temporary files of disk_replace lie beside their target as ".<name>.XXXXXX.tmp": the leading "."
// hides them from whoever lists manifests, and disk_watch does not report them.
#define DISK_TEMPORARY_END ".tmp"
bool disk_name_is_temporary(const char *name);

// error_set_errno with the path and what to do:
// "cannot write /a/b (free some space there): no space left on device"
bool disk_fail(struct error *err, int number, const char *verb, const char *path);

// A descriptor that is closed at the end of its scope, errno kept, unless it is -1 or handed on.
#define AUTO_FD __attribute__((cleanup(fd_cleanup))) int
static inline void fd_cleanup(const int *fd)
{
    int kept = errno;
    if (*fd >= 0)
        close(*fd);
    errno = kept;
}
static inline int fd_steal(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}
