#pragma once

#include "commands/option.h"

// Adds which server block of the Corefile of the configured store takes a query, and what becomes
// of it there, in the words of `signpost corefile route`; nothing where there is no such Corefile.
// Plugins are those of a standard build, and files that it imports are not read.
void corefile_route_explain(const struct invocation *invocation, struct text name, uint16_t type,
                            struct buffer *out);
