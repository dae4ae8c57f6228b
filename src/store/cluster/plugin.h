#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "store/cluster/kubeconfig.h"

// The words spoken with an exec plugin (client.authentication.k8s.io): what it is told and what it
// answers. Pure; the running is identity's.

struct plugin_credential {
    struct secret *token;       // or NULL
    struct secret *certificate; // PEM, with key; or NULL
    struct secret *key;
    int64_t expires_ms; // Unix; 0: it does not say
};
void plugin_credential_done(struct plugin_credential *credential);

// KUBERNETES_EXEC_INFO: an ExecCredential with the cluster where the plugin asked for it. `ca` may
// be NULL.
void plugin_write_info(struct buffer *out, const struct kube_access *access,
                       const struct secret *ca);
// Reads the ExecCredential on its stdout, whose texts are overwritten on the way. Fault AUTH; no
// part of the output stands in its text.
bool plugin_read_reply(struct plugin_credential *out, struct text output, const char *api_version,
                       struct error *err);
