#pragma once

#include "base/url.h"
#include "commands/setup.h"
#include "commands/subject.h"
#include "frontends/intent/intent_api.h"

// Inside this folder: the REST API of `signpost run`, which opens where the controller of DNS
// publications runs.

enum {
    INTENT_OPTION_COUNT = 9,
    INTENT_RUN_ONLY = 2,     // so many of the first are not for `signpost manifests`,
    INTENT_INSTALL_ONLY = 1, // so many of the last for that alone
    INTENT_ADDRESSES_MAX = 8,
};
extern const struct option intent_options[INTENT_OPTION_COUNT];
extern const struct service intent_service;
extern const struct preview intent_preview;
extern const struct manifest_renderer intent_renderer;

enum intent_auth { INTENT_AUTH_NONE, INTENT_AUTH_GATEWAY, INTENT_AUTH_KUBERNETES };
struct intent_place {
    struct hostport at;
    bool needs_ipv6; // and is left out on a machine that has none
};
struct intent_config {
    enum intent_auth auth;
    struct intent_place places[INTENT_ADDRESSES_MAX];
    size_t place_count;
    bool makes_projects;
    int64_t max_body;
    const char *certificate; // files; NULL: no TLS
    const char *key;
};
// From the options. Faults are the user's.
bool intent_options_load(const struct invocation *invocation, bool is_cluster,
                         struct intent_config *out, struct error *err);
// Fills in all but the certificate, whose options `signpost manifests` does not have.
bool intent_options_load_access(const struct invocation *invocation, bool is_cluster,
                                struct intent_config *out, struct error *err);
// Adds what the REST API needs in a cluster to `signpost manifests` (intent_install.c).
bool intent_install(const struct manifest *manifest, bool has_deployment, struct installation *out,
                    struct error *err);

// intent_access.c: who may ask.
struct intent_access_rules;
struct api;
// `api` is needed for KUBERNETES alone.
struct intent_access_rules *intent_access_new(const struct invocation *invocation,
                                              const struct intent_config *config,
                                              const struct world *world, struct api *api,
                                              struct error *err);
void intent_access_free(struct intent_access_rules *rules); // accepts NULL
void intent_access_judge(struct intent_access_rules *rules, const struct intent_access *access,
                         void *asker);
void intent_access_forget(struct intent_access_rules *rules, const void *asker);
