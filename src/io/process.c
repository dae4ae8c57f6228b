#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "io/loop.h"

enum { ARGUMENT_SHOWN_MAX = 200 };

struct stream {
    struct process *process;
    int fd;
    struct loop_fd *watched;
    struct buffer content;
};

struct process {
    struct loop *loop;
    pid_t pid;
    int pidfd;
    struct loop_fd *watched;
    struct loop_timer deadline;
    struct stream output;
    struct stream errors;
    size_t max_octets;
    int64_t timeout_ms;
    bool is_late;
    bool is_cut;
    char name[ARGUMENT_SHOWN_MAX + 1];
    process_done *done;
    void *context;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void stream_close(struct stream *stream)
{
    loop_unwatch_fd(stream->process->loop, steal(stream->watched));
    close_fd(&stream->fd);
}

static void stream_done(struct stream *stream)
{
    stream_close(stream);
    if (stream->content.at)
        secret_wipe(stream->content.at, stream->content.capacity);
    buffer_done(&stream->content);
}

static void keep(struct stream *stream, const char *octets, size_t len)
{
    size_t room = stream->process->max_octets - stream->content.len;
    if (len > room)
        stream->process->is_cut = true;
    buffer_add(&stream->content, octets, len < room ? len : room);
}

// What is over the limit is read and dropped, so that the child is not held up. One pipe's worth
// per wake-up: a child that never stops writing must not hold up the loop.
static void stream_read(struct stream *stream)
{
    char octets[4096];
    for (int i = 0; i < 16 && stream->fd >= 0; i++) {
        ssize_t got = read(stream->fd, octets, sizeof octets);
        if (got > 0)
            keep(stream, octets, (size_t)got);
        else if (got < 0 && errno == EAGAIN)
            break;
        else if (got == 0 || errno != EINTR)
            stream_close(stream);
    }
    secret_wipe(octets, sizeof octets);
}

static void stream_ready(void *context, int fd, unsigned interest)
{
    (void)fd, (void)interest;
    stream_read(context);
}

// Room for all of it at once: growing would leave copies, and the output may be a credential.
static void stream_watch(struct process *process, struct stream *stream)
{
    buffer_reserve(&stream->content, process->max_octets);
    stream->watched = loop_watch_fd(process->loop, stream->fd, LOOP_READ, stream_ready, stream);
}

static void process_free(struct process *process)
{
    loop_timer_cancel(process->loop, &process->deadline);
    loop_unwatch_fd(process->loop, process->watched);
    close_fd(&process->pidfd);
    stream_done(&process->output);
    stream_done(&process->errors);
    free(process);
}

static void kill_group(const struct process *process)
{
    if (kill(-process->pid, SIGKILL) < 0)
        kill(process->pid, SIGKILL);
}

static siginfo_t reap(pid_t pid)
{
    siginfo_t end = {0};
    while (waitid(P_PID, (id_t)pid, &end, WEXITED) < 0)
        must(errno == EINTR);
    return end;
}

static void judge(const struct process *process, const siginfo_t *end,
                  struct process_result *result)
{
    result->has_exited = end->si_code == CLD_EXITED;
    if (result->has_exited)
        result->exit_code = end->si_status;
    else if (process->is_late)
        error_set(&result->error, FAULT_AGAIN, "Timeout",
                  "%s ran longer than %lld ms and was killed", process->name,
                  (long long)process->timeout_ms);
    else
        error_set(&result->error, FAULT_AGAIN, "Killed", "%s was ended by signal %d (%s)",
                  process->name, end->si_status, strsignal(end->si_status));
}

// The end of the child counts, not that of its pipes: a daemon that it left behind may hold them.
static void process_ended(void *context, int fd, unsigned interest)
{
    struct process *process = context;
    (void)fd, (void)interest;
    siginfo_t end = reap(process->pid);
    stream_read(&process->output);
    stream_read(&process->errors);
    struct process_result result = {
        .output = buffer_text(&process->output.content),
        .errors = buffer_text(&process->errors.content),
        .is_cut = process->is_cut,
    };
    judge(process, &end, &result);
    process->done(process->context, &result);
    process_free(process);
}

static void process_late(void *context)
{
    struct process *process = context;
    process->is_late = true;
    kill_group(process);
}

// posix_spawn promises not to write to what it takes as char *const[].
static char *const *spawn_vector(const char *const *strings)
{
    union {
        const char *const *in;
        char *const *out;
    } same = {.in = strings};
    return same.out;
}

static bool is_set_in(const char *const *settings, const char *setting)
{
    size_t name_len = strcspn(setting, "=") + 1;
    for (; settings && *settings; settings++)
        if (strncmp(*settings, setting, name_len) == 0)
            return true;
    return false;
}

static const char **join_environment(const char *const *additions)
{
    const char **all = NULL;
    size_t count = 0, capacity = 0;
    for (const char *const *at = additions; at && *at; at++) {
        mem_reserve(&all, &capacity, count + 1);
        all[count++] = *at;
    }
    for (char **at = environ; at && *at; at++) {
        if (is_set_in(additions, *at))
            continue;
        mem_reserve(&all, &capacity, count + 1);
        all[count++] = *at;
    }
    mem_reserve(&all, &capacity, count + 1);
    all[count] = NULL;
    return all;
}

// Signals as a fresh login has them (we ignore SIGPIPE), and a group of its own, so that a kill
// reaches what it started.
static void set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    must(posix_spawnattr_init(attributes) == 0);
    must(posix_spawnattr_setsigmask(attributes, &none) == 0);
    must(posix_spawnattr_setsigdefault(attributes, &all) == 0);
    must(posix_spawnattr_setpgroup(attributes, 0) == 0);
    must(posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP) == 0);
}

// What the child has as stdin, stdout and stderr.
struct ends {
    int input;
    int output;
    int errors;
};

static void set_actions(posix_spawn_file_actions_t *actions, const struct ends *ends)
{
    must(posix_spawn_file_actions_init(actions) == 0);
    must(posix_spawn_file_actions_adddup2(actions, ends->input, 0) == 0);
    must(posix_spawn_file_actions_adddup2(actions, ends->output, 1) == 0);
    must(posix_spawn_file_actions_adddup2(actions, ends->errors, 2) == 0);
    must(posix_spawn_file_actions_addclosefrom_np(actions, 3) == 0);
}

static int spawn(pid_t *pid, const struct process_request *request, const struct ends *ends)
{
    autofree const char **environment = join_environment(request->additions);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    set_attributes(&attributes);
    set_actions(&actions, ends);
    int number = posix_spawnp(pid, request->argv[0], &actions, &attributes,
                              spawn_vector(request->argv), spawn_vector(environment));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

static bool open_pipe(struct stream *stream, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    stream->fd = ends[0];
    *write_end = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// In memory, so that a child that does not read it holds up nobody.
static bool open_input(int *fd, struct text input)
{
    *fd = input.len ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t at = 0; *fd >= 0 && at < input.len;) {
        ssize_t written = pwrite(*fd, input.at + at, input.len - at, (off_t)at);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return *fd >= 0;
}

// Without watchers yet: on failure nothing but descriptors is to be given back.
static int start_child(struct process *process, const struct process_request *request)
{
    struct ends ends = {-1, -1, -1};
    int number = 0;
    if (!open_input(&ends.input, request->input) || !open_pipe(&process->output, &ends.output) ||
        !open_pipe(&process->errors, &ends.errors))
        number = errno;
    else
        number = spawn(&process->pid, request, &ends);
    close_fd(&ends.input);
    close_fd(&ends.output);
    close_fd(&ends.errors);
    if (number)
        return number;
    process->pidfd = pidfd_open(process->pid, 0);
    if (process->pidfd >= 0)
        return 0;
    number = errno;
    kill_group(process);
    reap(process->pid);
    return number;
}

static struct process *process_make(struct loop *loop, const char *program)
{
    struct process *process = mem_new_of(struct process);
    process->loop = loop;
    process->pidfd = process->output.fd = process->errors.fd = -1;
    process->output.process = process->errors.process = process;
    process->deadline = (struct loop_timer){.call = process_late, .context = process};
    strncat(process->name, program, ARGUMENT_SHOWN_MAX);
    return process;
}

struct process *process_start(struct loop *loop, const struct process_request *request,
                              process_done *done, void *context, struct error *err)
{
    must(request->argv[0] && done);
    // Inherited as ignored, it would have the kernel reap the child before us.
    must(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    struct process *process = process_make(loop, request->argv[0]);
    process->max_octets = request->max_output_octets;
    process->timeout_ms = request->timeout_ms;
    process->done = done;
    process->context = context;
    int number = start_child(process, request);
    if (number) {
        error_set_errno(err, number, "cannot start %s (check its path and rights)", process->name);
        process_free(process);
        return NULL;
    }
    stream_watch(process, &process->output);
    stream_watch(process, &process->errors);
    process->watched = loop_watch_fd(loop, process->pidfd, LOOP_READ, process_ended, process);
    loop_timer_set(loop, &process->deadline, process->timeout_ms);
    return process;
}

void process_cancel(struct process *process)
{
    if (!process)
        return;
    kill_group(process);
    reap(process->pid);
    process_free(process);
}
