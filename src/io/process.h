#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// A child process by argv, never through a shell: output caught up to a limit, killed at a
// deadline. On the loop; done is called exactly once, never from within process_start.
struct loop;
struct process;
struct process_result {
    bool has_exited;
    int exit_code;      // when it exited
    struct error error; // when it could not start, was killed, or ran out of time
    struct text output; // stdout
    struct text errors; // stderr
};
typedef void process_done(void *context, const struct process_result *result);
struct process *process_start(struct loop *loop, const char *const *argv, size_t max_output_octets,
                              int64_t timeout_ms, process_done *done, void *context,
                              struct error *err);
void process_cancel(struct process *process); // kills, reaps, no callback
