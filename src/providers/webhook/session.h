#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/secret.h"
#include "base/url.h"
#include "providers/provider.h"

// Private to the webhook provider: one class's place at its server.

enum path_form {
    PATH_FULL,     // sign what is sent
    PATH_RELATIVE, // sign without the base path of the URL
};

struct webhook_session {
    struct url url;
    char *base; // normalised URL
    char *ca_pem;
    char *server_name;
    int64_t timeout_ms;
    enum digest algorithm;
    struct hmac_key *key;      // NULL: requests are not signed
    struct hmac_key *previous; // before a rotation
    int64_t previous_until_ms;
    enum path_form path_form; // that is tried first
    bool is_path_fixed;       // by configuration or by the URL
    bool is_inline;           // MX and SRV numbers in the values
};

// What exchanges learn, and a later session knows. `capabilities` are those that /health offered
// last; `signedPath` is the form of a record request that was accepted; `triedPath` is the one that
// /health took after it had refused the other.
#define KNOWN_CAPABILITIES "capabilities"
#define KNOWN_PATH "signedPath"
#define KNOWN_TRIED "triedPath"

extern const struct provider webhook_provider;

void *webhook_begin(void *session, struct job *job);
enum ask_kind webhook_ask(void *exchange, const struct moment *moment, struct ask *out);
void webhook_handle_reply(void *exchange, const struct moment *moment,
                          const struct ask_result *result);
void webhook_end(void *exchange);
