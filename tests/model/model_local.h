#pragma once

#include "io/local.h"
#include "io/loop.h"

// The files and programs of a virtual machine behind one `struct local`, on the virtual clock. What
// was asked is kept, line by line: "read PATH", "write PATH CONTENT", "run ARGV < INPUT".
//
//     struct model_local *machine = model_local_new(loop);
//     model_local_put(machine, "/etc/hosts.own", "");
//     model_local_add(machine, &(struct model_program){.command = "reload", .exit_code = 1});
//     world.local = model_local_own(machine);

struct model_local;
struct model_local *model_local_new(struct loop *loop);
void model_local_free(struct model_local *machine); // what is under way is dropped
struct local *model_local_own(struct model_local *machine);

// A file as somebody leaves it there. Texts are copied. NULL: it is gone.
void model_local_put(struct model_local *machine, const char *path, const char *content);
const char *model_local_content(const struct model_local *machine, const char *path);
// Reading and writing that file fail with this errno; 0: not any more.
void model_local_fail(struct model_local *machine, const char *path, int number);

// What a program does whose arguments, joined by blanks, begin with `command`. The one that was
// added last counts; any other cannot be started. Texts live as long as the machine.
struct model_program {
    const char *command;
    int64_t takes_ms; // over the time limit: it is killed
    int exit_code;
    const char *output; // or NULL
    const char *errors;
};
void model_local_add(struct model_local *machine, const struct model_program *program);

const char *model_local_log(const struct model_local *machine);
size_t model_local_killed(const struct model_local *machine); // processes that were cancelled
