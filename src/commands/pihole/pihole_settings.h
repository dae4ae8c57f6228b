#pragma once

#include "commands/option.h"
#include "controllers/ingress/targets.h"

// The Pi-holes that are kept: their options, beside which stand variables for what is secret, and
// the file that PIHOLE_TARGETS names.

enum { PIHOLE_OPTION_COUNT = 16 };
extern const struct option pihole_options[PIHOLE_OPTION_COUNT];

// Reads all of it into zeroed `out`, certificates and tokens included; texts live in the arena of
// the invocation. Fails, with the variable or the place in a file, when what is needed is missing
// or wrong. Where only the settings are of interest (`signpost check`), no file but that of
// PIHOLE_TARGETS is read and no token is needed.
bool pihole_settings_load(const struct invocation *invocation, bool is_check,
                          struct pihole_targets *out, struct error *err);
// A variable of Pi-holes that was given, though none is named; NULL: none was.
const char *pihole_idle_setting(const struct invocation *invocation);
void pihole_settings_unload(
    struct pihole_targets *targets); // lets go of the tokens; also of what was not read
