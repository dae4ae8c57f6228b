#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "commands/option.h"
#include "commands/process.h"
#include "engine/engine.h"

// The admission webhook of `signpost run`, with its options: which kinds it judges, what it asks
// the engine, where its certificate comes from.

// The first say whose certificates they are, and so which rights it takes.
enum { WEBHOOK_RIGHTS_OPTION_COUNT = 2, WEBHOOK_OPTION_COUNT = 5 };
extern const struct option webhook_options[WEBHOOK_OPTION_COUNT];

struct api;
struct kube_event;
struct webhook_options {
    const struct process_world *process;
    const struct invocation *invocation;
    struct engine *engine;
    // In a cluster; NULL on a folder, where the frontend is at 127.0.0.1 and brings no certificate
    // of its own.
    struct api *api;
    const char *namespace_;                                     // our own
    void (*note)(void *context, const struct kube_event *note); // events; may be NULL
    void *context;
};

// Is admission to judge objects of that kind of others, as an option says (kind.judged_with)?
bool webhook_judges(const struct invocation *invocation, const struct kind *kind);

struct webhook;
// Is the frontend wanted? By default in a cluster. Fails (exit 2) where options do not go together.
bool webhook_check_options(const struct invocation *invocation, bool is_cluster, bool *is_wanted,
                           struct error *err);
// Does the frontend make certificates of its own? They take rights.
bool webhook_makes_certificates(const struct invocation *invocation, bool is_cluster);
// Opens the port. Fails when it is taken.
struct webhook *webhook_new(const struct webhook_options *options, struct error *err);
// All accept NULL.
void webhook_free(struct webhook *webhook);
// Certificates of our own are written by whoever leads.
void webhook_set_leading(struct webhook *webhook, bool is_leading);
void webhook_reload(struct webhook *webhook); // SIGHUP: looks at the certificate's files
void webhook_drain(struct webhook *webhook);  // connections close with their next reply
void webhook_write_metrics(const struct webhook *webhook, struct buffer *out);
size_t webhook_checks(struct webhook *webhook, struct store_check *out, size_t capacity);
