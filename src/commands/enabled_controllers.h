#pragma once

#include "commands/option.h"
#include "engine/controller.h"

// The controllers that --controllers names, or the default ones, and those that join them; in the
// order of the table.

enum { ENABLED_CONTROLLERS_MAX = 32 };
struct enabled_controllers {
    const struct controller *items[ENABLED_CONTROLLERS_MAX];
    size_t count;
};

// False when one has no such name: the text says which, and the nearest.
bool enabled_controllers_init(struct enabled_controllers *out, const struct invocation *invocation,
                              struct error *err);
bool enabled_controllers_has(const struct enabled_controllers *enabled_controllers,
                             const struct controller *controller);
// Does it run, and beside it none but those that others do without?
bool enabled_controllers_is_alone(const struct enabled_controllers *enabled_controllers,
                                  const struct controller *controller);
// Does one of them that was chosen for itself look at objects of that kind?
bool enabled_controllers_is_about(const struct enabled_controllers *enabled_controllers,
                                  const struct kind *kind);
// Does any of them look at objects of that kind?
bool enabled_controllers_reads(const struct enabled_controllers *enabled_controllers,
                               const struct kind *kind);
// Do others, and it, do without where its kind is missing or may not be read?
bool controller_does_without(const struct controller *controller);
