#pragma once

#include "commands/process.h"
#include "commands/setup.h"

// Who writes to a backend by hand takes the lock of the folder or the Lease of the cluster first,
// as `signpost run` does, so that nobody else does meanwhile.

// Begins with setup_init(); the options of writers are checked, too.
bool writer_setup_init(struct setup *setup, const struct invocation *invocation, struct error *err);

struct writer;
struct writer_calls {
    // We lead: begin. writer_end() when all is done.
    void (*begin)(void *context, struct writer *writer);
    // We lead no more: nothing may be written from now on; writer_end() is not needed.
    void (*lost)(void *context);
    void *context;
};
// From beginning to end, on a loop of its own. False: it could not begin, or the lead was lost;
// where somebody else leads, the text says who.
bool writer_run(struct setup *setup, int64_t timeout_ms, const struct writer_calls *calls,
                struct error *err);
const struct world *writer_world(const struct writer *writer);
struct store *writer_store(const struct writer *writer);
void writer_end(struct writer *writer);
