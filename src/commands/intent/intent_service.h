#pragma once

#include "commands/subject.h"

// The REST API of DNS update records beside the engine of `signpost run`: where it listens, who may
// use it, its certificate.

enum { INTENT_OPTION_COUNT = 7 };
extern const struct option intent_options[INTENT_OPTION_COUNT];
extern const struct service intent_service;
