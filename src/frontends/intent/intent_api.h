#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/url.h"
#include "engine/engine.h"
#include "io/http_server.h"
#include "io/world.h"

// EMCO's REST API for DNS update records and what they depend on, below /v2. It keeps nothing: each
// answer comes from the engine's objects, and a write is answered when the store has it. Resident;
// one listens at one address.
//
//     struct intent_api *api = intent_api_new(&options, &err);

enum intent_judgement {
    INTENT_ALLOWED,
    INTENT_UNKNOWN,   // who asks is not known: 401
    INTENT_FORBIDDEN, // known, and may not: 403
    INTENT_UNSURE,    // it cannot be said now: 503
};
// Who asks, and what for.
struct intent_access {
    const char *authorization; // headers; NULL: there is none, or there are several
    const char *remote_user;
    const char *origin; // the page in a browser that asks
    const char *peer;   // address
    const char *verb;   // "get", "list", "create", "update", "delete"
    const struct kind *kind;
    struct text namespace_; // empty: of a cluster-scoped kind
    struct text name;       // empty: of all
};

struct intent_api_options {
    const struct world *world;
    struct log *log;
    struct engine *engine;
    const char *address;
    uint16_t port;
    size_t max_body_octets;
    bool is_tls;               // intent_api_set_certificate() brings it
    bool makes_projects;       // with their first child; else they are posted first
    const char *own_namespace; // where Secrets with kubeconfigs of clusters go
    // Decides about each request, and calls intent_api_judged() once, from within or later. NULL:
    // everybody may do everything.
    void (*judge)(void *context, const struct intent_access *access, void *asker);
    void (*forget)(void *context, void *asker); // the asker has gone
    void (*listening)(void *context, const struct hostport *at, const char *trouble); // or NULL
    void *context;
};
struct intent_api;
struct intent_api *intent_api_new(const struct intent_api_options *options, struct error *err);
void intent_api_free(struct intent_api *api); // accepts NULL; before its engine
void intent_api_judged(void *asker, enum intent_judgement judgement);
bool intent_api_set_certificate(struct intent_api *api, const struct http_server_tls *tls,
                                struct error *err);
const char *intent_api_trouble(const struct intent_api *api); // why it does not listen, or NULL
// Every address of both families was asked for, but this machine has no IPv6.
bool intent_api_is_ipv4_fallback(const struct intent_api *api);

// How many requests were answered, by route and code. Several APIs share them.
struct intent_counts;
struct intent_counts *intent_counts_new(void);
void intent_counts_free(struct intent_counts *counts); // accepts NULL
void intent_counts_write(const struct intent_counts *counts, struct buffer *out);
void intent_api_count_in(struct intent_api *api, struct intent_counts *counts);
