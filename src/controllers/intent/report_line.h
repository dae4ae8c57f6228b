#pragma once

#include "engine/controller.h"
#include "kinds/condition.h"

// A log line about the subject of a decision, as its condition says: `key` names what it is
// ("cluster"), `text` is the condition's message. All are borrowed until the decision is done.
void report_line_add(const struct snapshot *in, struct decision *out, enum log_level level,
                     const char *message, const char *key, enum reason reason, const char *text);
