#pragma once

#include "commands/option.h"
#include "commands/view.h"

// `status --live`: each backend of the settings is a row, too, as a visitor finds it.

// Adds them; view_close() comes behind. False: which there are, or the store, could not be read.
bool status_add_backends(struct view *view, const struct invocation *invocation, struct error *err);
