#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// A child process by argv, never through a shell: it reads its input from stdin, stdout and stderr
// are caught, each up to a limit. At the deadline it is killed together with what it started. On
// the loop; done is called exactly once, never from within process_start. What the child leaves
// running when it ends by itself is not waited for.
//
//     const struct process_request request = {
//         .argv = (const char *const[]){"nsd-control", "reload", zone, NULL},
//         .max_output_octets = 64 * 1024, .timeout_ms = 60000};
//     process_start(loop, &request, reload_done, self, err);
struct loop;
struct process;
// Everybody on the machine sees argv: a secret goes into the input or the environment.
struct process_request {
    const char *const *argv; // ends with NULL; without "/" the program is looked for in PATH
    const char *const
        *additions; // "NAME=value" ..., NULL: replace or join our environment; or NULL
    struct text input;
    size_t max_output_octets; // of stdout and of stderr
    int64_t timeout_ms;
};
struct process_result {
    bool has_exited;
    int exit_code;      // when it exited
    struct error error; // when it was killed or ran out of time
    struct text output; // stdout
    struct text errors; // stderr
    bool is_cut;        // one of the two was longer than the limit; the rest was dropped
};
// The texts live for the length of the callback; their memory is overwritten afterwards, as they
// may hold a credential.
typedef void process_done(void *context, const struct process_result *result);
// NULL when it cannot start, err then names the program and never its arguments. The request is
// borrowed for the length of the call.
struct process *process_start(struct loop *loop, const struct process_request *request,
                              process_done *done, void *context, struct error *err);
// Kills, reaps, no callback. Accepts NULL; not from within the process's own done.
void process_cancel(struct process *process);
