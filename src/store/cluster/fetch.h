#pragma once

#include "store/cluster/identity.h"
#include "store/cluster/plugin.h"

// A credential that an exec plugin fetches. It is used until it expires or the server refuses it;
// then the plugin runs again, at least 5 s after the last start. Part of an identity.

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
// Is there a credential to use? If not, starts a run when one may start. The plugin gets `ca`,
// which may be NULL.
enum identity_state fetch_prepare(struct fetch *fetch, const struct secret *ca, struct error *err);
// Called when the server refused the credential.
enum identity_state fetch_renew(struct fetch *fetch, const struct secret *ca);
// Has the next fetch_prepare() run the plugin in any case.
void fetch_forget(struct fetch *fetch);
// Empty before the first run.
const struct plugin_credential *fetch_credential(const struct fetch *fetch);
// Why the last run brought no credential; NULL: it brought one.
const struct error *fetch_trouble(const struct fetch *fetch);
