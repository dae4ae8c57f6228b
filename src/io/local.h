#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "io/process.h"

// Files and processes of the machine that we run on, for whoever asks for them as for a message:
// each call is answered once, from the loop, unless it is cancelled. An interface: the real one is
// local_new, tests hand in their own.
//
//     const struct file_request request = {.path = "/etc/coredns/Corefile", .max_octets = 1 << 20};
//     call = local_file(world->local, &request, file_came, self);

// A file to be read, or to be replaced as a whole (disk_replace, synced).
struct file_request {
    const char *path;
    bool is_replaced;
    struct text content; // that replaces it
    mode_t mode;         // of the replacement; 0: 0644
    size_t max_octets;   // a larger file is not read, larger content not written
};
// Lives for the length of the callback.
struct file_reply {
    bool is_done;
    bool is_absent;      // not done: there is no such file
    struct error error;  // when not done; names the path
    struct text content; // that was read
};
typedef void file_done(void *context, const struct file_reply *reply);

struct local_call;
struct local;
struct local_ops {
    struct local_call *(*file)(struct local *local, const struct file_request *request,
                               file_done *done, void *context);
    struct local_call *(*process)(struct local *local, const struct process_request *request,
                                  process_done *done, void *context);
    void (*cancel)(struct local *local, struct local_call *call);
    void (*free)(struct local *local);
};
struct local {
    const struct local_ops *ops;
};

struct disk;
struct loop;
struct local *local_new(struct loop *loop, struct disk *disk);
static inline void local_free(struct local *local)
{
    if (local)
        local->ops->free(local);
}
// What the request points to is borrowed until the answer, which never comes from within this call.
static inline struct local_call *local_file(struct local *local, const struct file_request *request,
                                            file_done *done, void *context)
{
    return local->ops->file(local, request, done, context);
}
// One that cannot be started is answered as well: has_exited is false, and the error says why.
static inline struct local_call *local_process(struct local *local,
                                               const struct process_request *request,
                                               process_done *done, void *context)
{
    return local->ops->process(local, request, done, context);
}
// A process is killed with all that it started. Not from within the call's own answer.
static inline void local_cancel(struct local *local, struct local_call *call)
{
    local->ops->cancel(local, call);
}
