#include "model/model_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/must.h"

enum { FILES_MAX = 16, PROGRAMS_MAX = 16, FILE_MS = 1 };

struct model_file {
    char *path;
    char *content; // NULL: it is not there
    int number;    // errno
};

struct local_call {
    struct link link;
    struct model_local *machine;
    struct loop_timer timer;
    struct file_request file;
    file_done *file_done;
    process_done *process_done;
    void *context;
    struct process_result result;
};

struct model_local {
    struct local local;
    struct loop *loop;
    struct model_file files[FILES_MAX];
    size_t file_count;
    struct model_program programs[PROGRAMS_MAX];
    size_t program_count;
    LIST_OF(struct local_call) calls;
    struct buffer log;
    size_t killed;
};

static struct local_call *call_new(struct local *local, loop_call *answer, int64_t delay_ms,
                                   void *context)
{
    struct model_local *machine = (struct model_local *)local;
    struct local_call *call = mem_new_of(struct local_call);
    call->machine = machine;
    call->context = context;
    call->timer = (struct loop_timer){.call = answer, .context = call};
    list_prepend(&machine->calls, call);
    loop_timer_set(machine->loop, &call->timer, delay_ms);
    return call;
}

static void call_free(struct local_call *call)
{
    loop_timer_cancel(call->machine->loop, &call->timer);
    list_remove(&call->machine->calls, call);
    free(call);
}

// ---- files --------------------------------------------------------------------------------------

static struct model_file *find_file(const struct model_local *machine, const char *path)
{
    for (size_t i = 0; i < machine->file_count; i++)
        if (!strcmp(machine->files[i].path, path))
            return (struct model_file *)(uintptr_t)&machine->files[i];
    return NULL;
}

static struct model_file *get_file(struct model_local *machine, const char *path)
{
    struct model_file *file = find_file(machine, path);
    if (file)
        return file;
    must(machine->file_count < FILES_MAX);
    file = &machine->files[machine->file_count++];
    *file = (struct model_file){.path = mem_copy_text(path)};
    return file;
}

void model_local_put(struct model_local *machine, const char *path, const char *content)
{
    struct model_file *file = get_file(machine, path);
    free(file->content);
    file->content = content ? mem_copy_text(content) : NULL;
}

const char *model_local_content(const struct model_local *machine, const char *path)
{
    const struct model_file *file = find_file(machine, path);
    return file ? file->content : NULL;
}

void model_local_fail(struct model_local *machine, const char *path, int number)
{
    get_file(machine, path)->number = number;
}

static bool refuse_file(const struct file_request *request, int number, struct file_reply *reply)
{
    reply->is_absent = number == ENOENT;
    return error_set_errno(&reply->error, number, "cannot %s %s",
                           request->is_replaced ? "write" : "read", request->path);
}

static bool replace_file(struct model_file *file, const struct file_request *request,
                         struct file_reply *reply)
{
    if (request->content.len > request->max_octets)
        return refuse_file(request, EFBIG, reply);
    free(file->content);
    file->content = text_dup(request->content);
    return true;
}

static bool read_file(const struct model_file *file, const struct file_request *request,
                      struct file_reply *reply)
{
    if (!file->content)
        return refuse_file(request, ENOENT, reply);
    if (strlen(file->content) > request->max_octets)
        return refuse_file(request, EFBIG, reply);
    reply->content = text_of(file->content);
    return true;
}

static void do_file(void *context)
{
    struct local_call *call = context;
    struct model_local *machine = call->machine;
    const struct file_request *request = &call->file;
    struct model_file *file = get_file(machine, request->path);
    struct file_reply reply = {0};
    buffer_printf(&machine->log, "%s %s%s%.*s\n", request->is_replaced ? "write" : "read",
                  request->path, request->is_replaced ? " " : "", TEXT_ARGS(request->content));
    if (file->number)
        refuse_file(request, file->number, &reply);
    else
        reply.is_done = request->is_replaced ? replace_file(file, request, &reply)
                                             : read_file(file, request, &reply);
    call->file_done(call->context, &reply);
    call_free(call);
}

static struct local_call *model_file(struct local *local, const struct file_request *request,
                                     file_done *done, void *context)
{
    struct local_call *call = call_new(local, do_file, FILE_MS, context);
    call->file = *request;
    call->file_done = done;
    return call;
}

// ---- processes ----------------------------------------------------------------------------------

void model_local_add(struct model_local *machine, const struct model_program *program)
{
    must(machine->program_count < PROGRAMS_MAX);
    machine->programs[machine->program_count++] = *program;
}

static const struct model_program *find_program(const struct model_local *machine, struct text line)
{
    for (size_t i = machine->program_count; i > 0; i--)
        if (text_starts(line, machine->programs[i - 1].command))
            return &machine->programs[i - 1];
    return NULL;
}

static void end_process(void *context)
{
    struct local_call *call = context;
    call->process_done(call->context, &call->result);
    call_free(call);
}

static struct text output_of(const char *output, const struct process_request *request,
                             struct process_result *result)
{
    struct text text = text_of(output ? output : "");
    if (text.len <= request->max_output_octets)
        return text;
    result->is_cut = true;
    return (struct text){text.at, request->max_output_octets};
}

static struct process_result result_of(const struct model_program *program,
                                       const struct process_request *request)
{
    struct process_result result = {0};
    if (!program) {
        error_set_errno(&result.error, ENOENT, "cannot start %s", request->argv[0]);
    } else if (program->takes_ms > request->timeout_ms) {
        error_set(&result.error, FAULT_AGAIN, "Timeout",
                  "%s ran longer than %lld ms and was killed", request->argv[0],
                  (long long)request->timeout_ms);
    } else {
        result.has_exited = true;
        result.exit_code = program->exit_code;
        result.output = output_of(program->output, request, &result);
        result.errors = output_of(program->errors, request, &result);
    }
    return result;
}

static struct local_call *model_process(struct local *local, const struct process_request *request,
                                        process_done *done, void *context)
{
    struct model_local *machine = (struct model_local *)local;
    AUTO_BUFFER line = {0};
    for (size_t i = 0; request->argv[i]; i++)
        buffer_printf(&line, "%s%s", i ? " " : "", request->argv[i]);
    buffer_printf(&machine->log, "run %.*s", TEXT_ARGS(buffer_text(&line)));
    if (request->input.len)
        buffer_printf(&machine->log, " < %.*s", TEXT_ARGS(request->input));
    buffer_add_char(&machine->log, '\n');
    const struct model_program *program = find_program(machine, buffer_text(&line));
    int64_t takes_ms = program ? program->takes_ms : 0;
    int64_t ends_ms = takes_ms < request->timeout_ms ? takes_ms : request->timeout_ms;
    struct local_call *call = call_new(local, end_process, ends_ms, context);
    call->process_done = done;
    call->result = result_of(program, request);
    return call;
}

// ---- life ---------------------------------------------------------------------------------------

static void model_cancel(struct local *local, struct local_call *call)
{
    ((struct model_local *)local)->killed += call->process_done != NULL;
    call_free(call);
}

static void model_leave(struct local *local)
{
    (void)local;
}

struct model_local *model_local_new(struct loop *loop)
{
    static const struct local_ops ops = {model_file, model_process, model_cancel, model_leave};
    struct model_local *machine = mem_new_of(struct model_local);
    machine->local.ops = &ops;
    machine->loop = loop;
    return machine;
}

void model_local_free(struct model_local *machine)
{
    for (struct local_call *call; (call = list_first(&machine->calls));)
        call_free(call);
    for (size_t i = 0; i < machine->file_count; i++) {
        free(machine->files[i].path);
        free(machine->files[i].content);
    }
    buffer_done(&machine->log);
    free(machine);
}

struct local *model_local_own(struct model_local *machine)
{
    return &machine->local;
}

const char *model_local_log(const struct model_local *machine)
{
    return machine->log.at ? machine->log.at : "";
}

size_t model_local_killed(const struct model_local *machine)
{
    return machine->killed;
}
