#pragma once

#include "engine/controller.h"
#include "kinds/condition.h"

// A log line about the subject of a decision, as its condition says: `key` names what it is
// ("cluster"), `text` is the condition's message. `message` and `key` outlive the decision, as
// literals do; `text` is borrowed until it is done. There must be room for the line.
void report_line_add(const struct snapshot *in, struct decision *out, enum log_level level,
                     const char *message, const char *key, enum reason reason, const char *text);
