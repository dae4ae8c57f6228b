#pragma once

#include "commands/option.h"
#include "engine/controller.h"

// The settings that controllers declare, as options of a command.

// All of them, each once; rows live in the arena.
struct option_group settings_options(struct arena *arena);
// The controller's settings struct from the options, in the invocation's arena. NULL when its own
// check refuses them.
void *settings_resolve(const struct invocation *invocation, const struct controller *controller,
                       struct error *err);
