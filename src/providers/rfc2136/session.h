#pragma once

#include <stdbool.h>

#include "base/url.h"
#include "dns/tsig.h"
#include "providers/provider.h"
#include "providers/rfc2136/txt_registry.h"

// Private to the rfc2136 provider: one zone at one primary.

struct rfc2136_session {
    struct hostport server;
    char *address; // "IP:port", for texts
    char *zone;    // normalised, no final dot
    struct tsig_key key;
    struct txt_registry registry;
    bool has_updated; // the server has taken a change under this key
};

extern const struct provider rfc2136_provider;

void *rfc2136_begin(void *session, struct job *job);
enum ask_kind rfc2136_ask(void *exchange, const struct moment *moment, struct ask *out);
void rfc2136_handle_reply(void *exchange, const struct moment *moment,
                          const struct ask_result *result);
void rfc2136_end(void *exchange);
