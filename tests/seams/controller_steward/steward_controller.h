#pragma once

#include "engine/controller.h"

extern const struct controller steward_controller;

struct steward_settings {
    const char *book;
    const char *greeting;
    const char *gate;
    const char *const *wings;
    struct setting_file rules;
};
