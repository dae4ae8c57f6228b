#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// A child process by argv, never through a shell: stdin is empty, stdout and stderr are caught,
// each up to a limit. At the deadline it is killed together with what it started. On the loop; done
// is called exactly once, never from within process_start. What the child leaves running when it
// ends by itself is not waited for.
//
//     const char *const argv[] = {"nsd-control", "reload", zone, NULL};
//     process_start(loop, argv, 64 * 1024, 60000, reload_done, self, err);
struct loop;
struct process;
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
// argv ends with NULL; a program without "/" is looked for in PATH. NULL when it cannot start, err
// then names the program and never its arguments. Borrowed for the length of the call.
struct process *process_start(struct loop *loop, const char *const *argv, size_t max_output_octets,
                              int64_t timeout_ms, process_done *done, void *context,
                              struct error *err);
// The same with "NAME=value" settings, ended by NULL, that replace or join our environment.
struct process *process_start_with(struct loop *loop, const char *const *argv,
                                   const char *const *additions, size_t max_output_octets,
                                   int64_t timeout_ms, process_done *done, void *context,
                                   struct error *err);
// Kills, reaps, no callback. Accepts NULL; not from within the process's own done.
void process_cancel(struct process *process);
