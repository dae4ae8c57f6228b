#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/secret.h"

// How an API server is reached and as whom, out of a kubeconfig that is kept in a Secret: the one
// of its current context. All must stand in it: files and programs that it names are those of
// whoever wrote it, so they are neither read nor run here, and the reader of the store's own
// kubeconfig (which does both) is another.

struct access {
    char *server;          // normalised URL without a "/" at its end
    char *tls_server_name; // NULL: the host of the URL
    char *proxy;           // NULL: as the environment says
    bool is_unverified;
    struct secret *ca;          // PEM; NULL: the system's
    struct secret *certificate; // PEM; NULL: none
    struct secret *key;
    struct secret *authorization; // value of that header; NULL: none
    struct secret *credential;    // the token or password in it
};
// Errors: fault SPEC, with line, column and key ("kubeconfig:7:3: users[0].user.exec: ..."); no
// value stands in one. On failure `out` is untouched.
bool access_read(struct access *out, const struct secret *kubeconfig, struct error *err);
void access_done(struct access *access); // of one that was read, or zeroed
