#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/right.h"
#include "commands/backend.h"
#include "commands/configured_store.h"
#include "commands/enabled_controllers.h"
#include "commands/option.h"
#include "io/world.h"
#include "store/folder/folder.h"
#include "store/store.h"

// What each command that reconciles begins with: which controllers run, with which settings, and
// their store.

enum { SETUP_OPTION_COUNT = 3 };
extern const struct option setup_options[SETUP_OPTION_COUNT]; // controllers, owner-id, config

// Groups of what setup_init() looks at, of a command other than `run`.
#define SETUP_OPTION_GROUPS                                                                        \
    {store_options, STORE_OPTION_COUNT, true}, {setup_options, SETUP_OPTION_COUNT, true},          \
        SUBJECT_OPTIONS(SUBJECT_SETUP, true),                                                      \
    {                                                                                              \
        lease_options, LEASE_OPTION_COUNT, true                                                    \
    }

struct setup {
    const struct invocation *invocation;
    struct configured_store place;
    const struct controller *controllers[ENABLED_CONTROLLERS_MAX];
    void *settings[ENABLED_CONTROLLERS_MAX];
    size_t controller_count;
    struct configured_backends backends; // that stand in the settings
};
// From the options. Faults are the user's (exit 2).
bool setup_init(struct setup *setup, const struct invocation *invocation, struct error *err);
// The controllers and their settings alone, without secrets and a store: for decisions on what was
// seen elsewhere.
bool setup_init_settings(struct setup *setup, const struct invocation *invocation,
                         struct error *err);
void setup_done(struct setup *setup);
// How the backends that stand in the settings are used from now on.
void setup_set_access(struct setup *setup, const struct backend_access *access);
// The settings of that controller; NULL: it does not run.
void *setup_settings(const struct setup *setup, const struct controller *controller);
// Would setup_init() find fault with what stands in the options and the files that they name? No
// secret is needed for it.
bool setup_check(const struct invocation *invocation, struct error *err);
// Was that controller named, or does it run alone, with its companions? Then it counts for the
// whole.
bool setup_is_required(const struct setup *setup, const struct controller *controller);
// Does a controller that was chosen look at objects of that kind?
bool setup_reads(const struct setup *setup, const struct kind *kind);
// Do those that run carry on where it is missing or may not be read?
bool setup_does_without(const struct setup *setup, const struct kind *kind);

// Drops the controllers that cannot do without a kind that may not be read, and those that go with
// them, and writes their names: "dnsclass, dnsrecord".
void setup_leave_out(struct setup *setup,
                     bool (*is_forbidden)(const void *context, const struct kind *kind),
                     const void *context, struct buffer *names);

struct setup_store {
    const struct world *world;
    struct log *log;
    bool is_reading;         // nothing is written; the options of writers are not needed
    bool keeps_certificates; // of the admission webhook, in a cluster: their rights are asked for,
                             // too
    bool judges_bearers;     // --metrics-secure: likewise
    // Kinds, NULL-terminated, whose objects are left to others, with what is kept of them; or NULL.
    const struct kind *const *left_out;
    // A cluster's: it cannot go on.
    void (*failed)(void *context, const struct error *err);
    void *context;
};
const char *setup_lease_namespace(const struct setup *setup); // once the cluster's access is loaded
// All that `signpost run` asks of its cluster, in the arena. Of `how` the rights count.
const struct kube_right *setup_rights(const struct setup *setup, const struct setup_store *how,
                                      struct arena *arena);
// On a folder: every document that is refused, as "web.yaml:7:3: spec.ttl: ...", in the order of
// the files; texts live in the arena. Nothing in a cluster, which keeps none.
struct setup_reader {
    void (*refused)(void *context, const char *text);
    // The last state of an object whose document is gone, its status in it. May be NULL.
    void (*gone)(void *context, const struct kind *kind, const struct value *tree);
    void *context;
};
bool setup_read_folder(const struct setup *setup, struct arena *arena,
                       const struct setup_reader *reader, struct error *err);
// On a folder: all objects of these kinds, whoever looks at them. False in a cluster, and where the
// folder cannot be read.
bool setup_read_kinds(const struct setup *setup, const struct kind *const *of, size_t count,
                      struct arena *arena,
                      void (*entry)(void *context, const struct folder_entry *entry),
                      void *context);
// NULL: err says why. The setup outlives it.
struct store *setup_open_store(struct setup *setup, const struct setup_store *how,
                               struct error *err);
