#pragma once

#include "store/cluster/identity.h"
#include "store/cluster/plugin.h"

// A credential that an exec plugin fetches: kept until it expires or is refused, and the runs that
// bring the next one, 5 s between two starts at least. Part of an identity.

struct fetch_options {
    struct loop *loop;
    struct log *log;
    const struct kube_access *access;
    struct identity_runner *runner; // NULL: real processes
    void (*settled)(void *context); // a run has ended
    void *context;
};

struct fetch;
struct fetch *fetch_new(const struct fetch_options *options);
void fetch_free(struct fetch *fetch); // accepts NULL; kills a run
// Is there a credential to use? Else starts a run, where it may. The plugin is told `ca` (or NULL).
enum identity_state fetch_prepare(struct fetch *fetch, const struct secret *ca, struct error *err);
// What it gave was refused.
enum identity_state fetch_renew(struct fetch *fetch, const struct secret *ca);
// The next fetch_prepare runs the plugin whatever was before.
void fetch_forget(struct fetch *fetch);
// Empty before the first.
const struct plugin_credential *fetch_credential(const struct fetch *fetch);
// Why the last run gave none; NULL when it did.
const struct error *fetch_trouble(const struct fetch *fetch);
