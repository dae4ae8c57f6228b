#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/url.h"

// How to reach an API server and as whom, as a kubeconfig or a pod's service account says it.

enum { KUBE_ARGS_MAX = 64 };

// An exec plugin (client.authentication.k8s.io).
struct kube_exec {
    const char *command; // NULL: none
    const char *args[KUBE_ARGS_MAX + 1];
    const char *env[KUBE_ARGS_MAX + 1]; // "NAME=value"
    const char *api_version;
    const char *install_hint; // or NULL
    // JSON of the cluster's extension "client.authentication.k8s.io/exec"; or NULL
    const char *cluster_config;
    bool provides_cluster_info;
};

// Everything lives in `arena`. Paths are resolved against the file that named them.
struct kube_access {
    struct arena *arena;
    struct url server;  // with its path prefix
    const char *source; // "kubeconfig FILE, context NAME" or "service account of the pod"
    const char *tls_server_name;
    bool is_unverified;
    struct secret *ca; // PEM given inline; or NULL
    const char *ca_file;
    const char *proxy;      // NULL: the environment's
    const char *namespace_; // of the context or the service account; NULL: none

    struct secret *certificate; // PEM given inline; or NULL
    const char *certificate_file;
    struct secret *key;
    const char *key_file;
    struct secret *token;
    const char *token_file; // wins over token
    const char *username;
    struct secret *password;
    const char *as;
    const char *as_uid;
    const char *const *as_groups; // NULL-terminated or NULL
    const char *const *as_extra;  // key, value, key, value, ..., NULL; or NULL
    struct kube_exec exec;
};

struct kube_source {
    const char *kubeconfig; // --kubeconfig; NULL: not given
    const char *context;    // --context; NULL: current-context
    bool is_cluster;        // --store cluster: ~/.kube/config counts too
    // The environment, read once by the command.
    const char *env_kubeconfig;   // KUBECONFIG
    const char *env_service_host; // KUBERNETES_SERVICE_HOST
    const char *env_service_port;
    const char *home;            // HOME
    const char *service_account; // folder of token, ca.crt, namespace; NULL: the usual one
};

// Does `--store auto` mean a cluster?
bool kube_source_names_cluster(const struct kube_source *source);
// Order: --kubeconfig, KUBECONFIG, in-cluster, ~/.kube/config where that counts. Fault SPEC with
// file, line and key ("config:7:3: users[0].user.exec.apiVersion: ...").
struct kube_access *kube_access_load(const struct kube_source *source, struct error *err);
void kube_access_free(struct kube_access *access);
DEFINE_CLEANUP(kube_access, kube_access_free)
