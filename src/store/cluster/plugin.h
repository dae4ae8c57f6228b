#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "store/cluster/kubeconfig.h"

// Input and output of an exec plugin (client.authentication.k8s.io). Pure; identity.c runs the
// plugin.

struct plugin_credential {
    struct secret *token;       // or NULL
    struct secret *certificate; // PEM, with key; or NULL
    struct secret *key;
    int64_t expires_ms; // Unix; 0: not stated
};
void plugin_credential_done(struct plugin_credential *credential);

// Writes KUBERNETES_EXEC_INFO: an ExecCredential, with the cluster if the plugin's settings ask for
// it. `ca` may be NULL.
void plugin_write_info(struct buffer *out, const struct kube_access *access,
                       const struct secret *ca);
// Parses the ExecCredential that the plugin printed, and overwrites the printed texts. Fails with
// fault AUTH; the error never quotes the output.
bool plugin_read_reply(struct plugin_credential *out, struct text output, const char *api_version,
                       struct error *err);
