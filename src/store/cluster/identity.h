#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "io/http.h"
#include "io/process.h"
#include "io/world.h"
#include "store/cluster/kubeconfig.h"

// Whom we are to an API server at this moment: the live credentials behind a kube_access. Files are
// read again from time to time, an exec plugin is run on the loop when what it gave is over or was
// refused. Nothing happens on its own: whoever is about to send asks first.
//
//     if (identity_prepare(identity, &err) == IDENTITY_READY)
//         send(identity_face(identity));

enum {
    IDENTITY_TOKEN_MS = 50 * 1000, // read again after 60 s, taken as stale 10 s early
    IDENTITY_FILE_MS = 60 * 1000,  // CA, certificate, key
    IDENTITY_PLUGIN_MS = 60 * 1000,
    IDENTITY_PLUGIN_PAUSE_MS = 5 * 1000, // between the starts of two runs
    IDENTITY_PLUGIN_OCTETS_MAX = 1024 * 1024,
};

// How a plugin is run; tests hand in their own. As process_start and process_cancel.
struct identity_run {
    const char *const *argv;
    const char *const *additions;
    size_t max_output_octets;
    int64_t timeout_ms;
    process_done *done;
    void *context;
};
struct identity_runner {
    struct process *(*start)(struct identity_runner *runner, struct loop *loop,
                             const struct identity_run *run, struct error *err);
    void (*cancel)(struct process *process);
};

struct identity_options {
    const struct world *world;
    struct log *log;
    const struct kube_access *access; // borrowed as long as the identity lives
    struct identity_runner *runner;   // NULL: real processes
    // A fetch is over: who waits may ask again.
    void (*settled)(void *context);
    void *context;
};

enum identity_state {
    IDENTITY_READY,
    IDENTITY_FETCHING, // `settled` follows
    IDENTITY_FAILED,
};

// What a request carries; borrowed until the next call to any function here, or turn of the loop.
struct identity_face {
    const struct http_header *headers; // Authorization, Impersonate-*
    size_t header_count;
    struct http_tls tls;
    uint64_t generation; // another number: another credential
};

struct identity;
struct identity *identity_new(const struct identity_options *options);
void identity_free(struct identity *identity); // accepts NULL; kills a plugin that runs
// Reads what is due, starts the plugin where it must. FAILED: there is nothing to send with; the
// fault is AUTH and says why.
enum identity_state identity_prepare(struct identity *identity, struct error *err);
const struct identity_face *identity_face(const struct identity *identity);
// The credential of this generation was refused (401). READY: there is another one by now;
// FETCHING: one is being fetched; FAILED: there is no other to be had yet.
enum identity_state identity_renew(struct identity *identity, uint64_t generation);
// TLS failed: the files are read again by the next identity_prepare.
void identity_doubt(struct identity *identity);
// All is read again, and the plugin's credential is forgotten.
void identity_reload(struct identity *identity);
// Why the last attempt to have a credential failed; NULL when it did not.
const struct error *identity_trouble(const struct identity *identity);
