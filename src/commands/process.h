#pragma once

#include <stdbool.h>

#include "base/log.h"
#include "base/url.h"
#include "commands/option.h"
#include "io/world.h"

// What every long-running command needs: the real world, a log on stderr, and an orderly end.

struct process_world {
    struct world world;
    struct log *log;
    struct leaving *leaving;
};

// Options of a long-running command: log-level, log-format.
enum { LOG_OPTION_COUNT = 2 };
extern const struct option log_options[LOG_OPTION_COUNT];
// The same for a command whose output is what counts: warnings and worse.
extern const struct option quiet_log_options[LOG_OPTION_COUNT];

bool process_world_init(struct process_world *process, const struct invocation *invocation,
                        struct error *err);
void process_world_done(struct process_world *process);
// Logs what became of a port that was taken, for `listening` of http_server_options.
void process_world_report_port(const struct process_world *process, const struct hostport *at,
                               const char *trouble);
// SIGTERM and SIGINT call `leave` once; a second one ends the process at once with exit 1.
void process_world_on_signal(struct process_world *process, loop_call *leave, void *context);
// SIGHUP calls `reload` each time.
void process_world_on_hangup(struct process_world *process, loop_call *reload, void *context);
