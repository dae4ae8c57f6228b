#pragma once

#include "commands/manifest.h"
#include "commands/setup.h"
#include "commands/subject.h"
#include "commands/view.h"
#include "controllers/ingress/ingress_controller.h"

// Pi-holes that names of Ingresses and routes are kept in, as a subject (commands/subject.h): their
// options and files, their share of an installation, the rows of the objects.

extern const struct service pihole_service;
// The settings of the controller; NULL: it does not run.
struct pihole_targets *pihole_settings(const struct setup *setup);
bool pihole_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                    struct error *err);
