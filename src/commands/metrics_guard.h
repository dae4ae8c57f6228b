#pragma once

#include "commands/option.h"
#include "commands/process.h"
#include "frontends/probes/probes.h"

// `signpost run --metrics-secure`: /metrics over TLS, for accounts of the cluster that may `get`
// the non-resource URL /metrics. The certificate is made at the start and nobody signed for it.

extern const struct option metrics_guard_option;
// False: not asked for. Fails (exit 2) on a folder, where no server knows accounts.
bool metrics_guard_check(const struct invocation *invocation, bool is_cluster, bool *is_wanted,
                         struct error *err);

struct api;
struct metrics_guard;
struct metrics_guard *metrics_guard_new(const struct world *world, struct api *api);
void metrics_guard_free(struct metrics_guard *guard); // accepts NULL; behind its frontend
// For the callbacks of probes_options.
void metrics_guard_judge(struct metrics_guard *guard, struct text token, const char *peer,
                         void *asker);
void metrics_guard_forget(struct metrics_guard *guard, const void *asker);
// The frontend serves from now on. `address` is what it listens at; "" or a wildcard is no name.
bool metrics_guard_certify(const struct metrics_guard *guard, struct probes *frontend,
                           const char *namespace_, const char *address, struct error *err);
