#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/secret.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/watch.h"
#include "store/store.h"

// Keeps the certificates of the admission webhook that we make ourselves: watches the Secret and
// the webhook configuration by name, hands each new pair to the frontend, on every replica, and,
// where it leads, carries out what webhook_plan says, a write at a time. A Secret is made if
// absent, else patched at the version that was seen; caBundle is patched if it is what was seen.
// A write that comes too late is refused, and the watch tells what to do next.

struct webhook_keeper;
struct webhook_keeper_options {
    const struct world *world;
    struct log *log; // may be NULL
    struct api *api;
    struct watch_memory *memory;
    const char *namespace_; // of the Secret: our own
    const char *secret;     // "signpost-webhook-cert"
    const char *configuration;
    const char *const *hosts; // that the certificate is good for, copied; 1 to 32
    size_t host_count;
    // Takes a pair over for new connections.
    bool (*use)(void *context, struct text certificate_pem, const struct secret *key_pem,
                struct error *err);
    // An event about the configuration, when somebody's caBundle was repaired; may be NULL.
    void (*note)(void *context, const struct kube_event *note);
    void *context;
};

struct webhook_keeper *webhook_keeper_new(const struct webhook_keeper_options *options);
void webhook_keeper_start(struct webhook_keeper *keeper);
void webhook_keeper_free(struct webhook_keeper *keeper);
void webhook_keeper_set_leading(struct webhook_keeper *keeper, bool is_leading);
// "webhook-certificate": ok as soon as a pair is in use; and the two watches' own. Three at most.
size_t webhook_keeper_checks(struct webhook_keeper *keeper, struct store_check *out,
                             size_t capacity);
