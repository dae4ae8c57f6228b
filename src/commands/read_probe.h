#pragma once

#include "commands/ledger_memory.h"
#include "commands/option.h"

// `check --live` at the backends of the settings: logs in as a visitor beside whoever keeps them,
// asks what would keep records out, looks at what stands there, and logs out. Nothing is written.

struct read_probe {
    const struct invocation *invocation;
    const struct configured_backends *backends;
    const char *owner_id;               // whose marks are ours; NULL: nobody's yet
    const struct ledger_memory *memory; // NULL: nothing is remembered
    int64_t timeout_ms;                 // for each of them
    // A line of what was found: level "ok", "warn" or "error".
    void (*reported)(void *context, const char *level, const char *what, const char *text);
    // Instead: what came of the look at a backend: the exchange's job, or NULL; and what is in the
    // way, of looking or else of writing there, or NULL. Borrowed for the length of the call.
    void (*seen)(void *context, const struct configured_backend *backend, const struct job *job,
                 const struct error *trouble);
    void *context;
};
bool read_probe(const struct read_probe *probe, struct error *err);
