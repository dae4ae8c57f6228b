#pragma once

#include "engine/inspection.h"

// The last changes at backends and the last objects whose content arrived at all servers, for
// engine_each_recent_change(). Resident; only with engine_options.keeps_states. NULL is fine.

struct recent_changes;
struct recent_changes *recent_changes_new(void);
void recent_changes_free(struct recent_changes *changes);
// Copied. A failure takes the place of the last one of the same kind.
void recent_changes_add(struct recent_changes *changes, const struct recent_change *change);
