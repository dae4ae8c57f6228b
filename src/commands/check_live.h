#pragma once

#include "base/memory.h"
#include "commands/option.h"

// `check --live`: is what `signpost run` needs there? A line for each answer on stdout; the exit
// code: 0 all is well, 1 something is not, 2 not all could be read.
// `json`: NULL, or where its lines go as maps in a list rather than onto stdout.
int check_live(struct invocation *invocation, struct buffer *json);
