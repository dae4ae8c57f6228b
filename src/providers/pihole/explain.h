#pragma once

#include "providers/provider.h"

// What a visitor found at a Pi-hole, in lines for people (struct provider's explain).

void pihole_explain(const struct job *job, bool has_owner,
                    void (*report_line)(void *context, const char *level, const char *text),
                    void *context);
