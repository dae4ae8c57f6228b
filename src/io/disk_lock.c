#include "io/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/disk_private.h"

enum { LOCKS_OCTETS_MAX = 4 * 1024 * 1024 };

static int lock_open(int opened, const char *path, bool *is_held, struct error *err)
{
    AUTO_FD fd = opened;
    *is_held = false;
    if (fd < 0) {
        disk_fail(err, errno, "open", path);
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd_steal(&fd);
    *is_held = errno == EWOULDBLOCK;
    if (*is_held)
        error_set(err, FAULT_WAIT, "Locked", "%s is locked by another process; wait or stop it",
                  path);
    else
        disk_fail(err, errno, "lock", path);
    return -1;
}

int disk_lock(const char *path, bool *is_held, struct error *err)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    return lock_open(open(path, flags, 0600), path, is_held, err);
}

int disk_lock_folder(const char *path, bool *is_held, struct error *err)
{
    return lock_open(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path, is_held, err);
}

bool disk_lock_is_at(int fd, const char *path)
{
    struct stat locked, found;
    return fstat(fd, &locked) == 0 && stat(path, &found) == 0 && locked.st_dev == found.st_dev &&
           locked.st_ino == found.st_ino;
}

static struct text next_word(struct text *rest)
{
    struct text word = {0};
    while (text_cut(rest, ' ', &word) && !word.len)
        ;
    return word;
}

// "1: FLOCK  ADVISORY  WRITE 4711 fd:01:131 0 EOF"; who only waits has "->" in front: proc(5).
static pid_t holder_in(struct text line, const char *place)
{
    int64_t pid = 0;
    next_word(&line);
    bool is_flock = text_is(next_word(&line), "FLOCK");
    next_word(&line);
    next_word(&line);
    bool has_pid = text_to_int64(next_word(&line), &pid);
    bool is_here = text_is(next_word(&line), place);
    return is_flock && has_pid && is_here && pid > 0 ? (pid_t)pid : 0;
}

pid_t disk_lock_holder(const char *path)
{
    AUTO_BUFFER locks = {0};
    AUTO_BUFFER place = {0};
    struct stat locked;
    struct text line;
    pid_t pid = 0;
    if (stat(path, &locked) < 0 || !disk_read(&locks, "/proc/locks", LOCKS_OCTETS_MAX, NULL))
        return 0;
    buffer_printf(&place, "%02x:%02x:%llu", major(locked.st_dev), minor(locked.st_dev),
                  (unsigned long long)locked.st_ino);
    struct text rest = buffer_text(&locks);
    while (!pid && text_cut(&rest, '\n', &line))
        pid = holder_in(line, place.at);
    return pid;
}

void disk_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}
