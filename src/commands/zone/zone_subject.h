#pragma once

#include "commands/manifest.h"
#include "commands/setup.h"
#include "commands/subject.h"

// Zones that we serve ourselves, as a subject (commands/subject.h): their configuration, the hidden
// primary, their share of an installation.

extern const struct service zone_service;
extern const struct preview zone_preview;
enum { ZONE_INSTALL_OPTION_COUNT = 4 };
extern const struct option zone_install_options[ZONE_INSTALL_OPTION_COUNT];
bool zone_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                  struct error *err);
