#include "io/local.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/secret.h"
#include "io/disk.h"
#include "io/loop.h"

enum { MODE = 0644 };

struct system_local {
    struct local local;
    struct loop *loop;
    struct disk *disk;
};

struct local_call {
    struct loop *loop;
    struct disk *disk;
    struct loop_timer timer;
    struct file_request request;
    file_done *file_done;
    process_done *process_done;
    void *context;
    struct process *process;
    struct error error; // why it could not be started
};

static struct local_call *call_new(const struct local *local, void *context)
{
    const struct system_local *self = (const struct system_local *)local;
    struct local_call *call = mem_new_of(struct local_call);
    *call = (struct local_call){.loop = self->loop, .disk = self->disk, .context = context};
    return call;
}

static void call_free(struct local_call *call)
{
    loop_timer_cancel(call->loop, &call->timer);
    free(call);
}

static void answer_later(struct local_call *call, loop_call *answer)
{
    call->timer = (struct loop_timer){.call = answer, .context = call};
    loop_timer_set(call->loop, &call->timer, 0);
}

// ---- files --------------------------------------------------------------------------------------

static bool replace_file(const struct local_call *call, struct error *err)
{
    const struct file_request *request = &call->request;
    if (request->content.len > request->max_octets)
        return error_set(err, FAULT_SPEC, "TooLarge",
                         "%s would have %zu octets and may have %zu: write less into it",
                         request->path, request->content.len, request->max_octets);
    return disk_replace(call->disk, request->path, request->content,
                        request->mode ? request->mode : MODE, true, err);
}

// The content may be a credential: its memory is overwritten.
static void do_file(void *context)
{
    struct local_call *call = context;
    const struct file_request *request = &call->request;
    struct file_reply reply = {0};
    AUTO_BUFFER content = {0};
    reply.is_done = request->is_replaced
                        ? replace_file(call, &reply.error)
                        : disk_read(&content, request->path, request->max_octets, &reply.error);
    reply.is_absent = !reply.is_done && reply.error.status == ENOENT;
    reply.content = buffer_text(&content);
    call->file_done(call->context, &reply);
    if (content.at)
        secret_wipe(content.at, content.capacity);
    call_free(call);
}

static struct local_call *system_file(struct local *local, const struct file_request *request,
                                      file_done *done, void *context)
{
    struct local_call *call = call_new(local, context);
    call->request = *request;
    call->file_done = done;
    answer_later(call, do_file);
    return call;
}

// ---- processes ----------------------------------------------------------------------------------

static void process_came(void *context, const struct process_result *result)
{
    struct local_call *call = context;
    call->process_done(call->context, result);
    call_free(call);
}

static void process_missing(void *context)
{
    struct local_call *call = context;
    process_came(call, &(struct process_result){.error = call->error});
}

static struct local_call *system_process(struct local *local, const struct process_request *request,
                                         process_done *done, void *context)
{
    struct local_call *call = call_new(local, context);
    call->process_done = done;
    call->process = process_start(call->loop, request, process_came, call, &call->error);
    if (!call->process)
        answer_later(call, process_missing);
    return call;
}

// ---- life ---------------------------------------------------------------------------------------

static void system_cancel(struct local *local, struct local_call *call)
{
    (void)local;
    process_cancel(call->process);
    call_free(call);
}

static void system_free(struct local *local)
{
    free(local);
}

struct local *local_new(struct loop *loop, struct disk *disk)
{
    static const struct local_ops ops = {system_file, system_process, system_cancel, system_free};
    struct system_local *self = mem_new_of(struct system_local);
    *self = (struct system_local){.local = {&ops}, .loop = loop, .disk = disk};
    return &self->local;
}
