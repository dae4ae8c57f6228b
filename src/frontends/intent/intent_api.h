#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"
#include "engine/engine.h"
#include "io/http_server.h"
#include "io/world.h"

// EMCO's REST API for DNS update records and what they need (projects, logical clouds, clusters,
// deployment intent groups, traffic group intents). It keeps nothing: a read comes from the objects
// that the engine knows, a write is an object written through the engine, answered when it is
// stored. Resident, one for each address.

enum intent_answer { INTENT_ALLOWED, INTENT_UNKNOWN, INTENT_FORBIDDEN, INTENT_UNSURE };

// What a request wants to do, as the API server's authorization knows it.
struct intent_access {
    struct text token;       // absent: it brings none
    const char *peer;        // its address
    struct text user;        // header X-Remote-User; absent: it has none
    const char *verb;        // "get", "list", "create", "update", "delete"
    const struct kind *kind; // of the object
    struct text namespace_;  // empty: the kind has none
};

struct intent_api_options {
    const struct world *world;
    struct engine *engine;
    struct log *log;
    const char *address;
    uint16_t port;
    size_t max_body_octets;
    bool is_tls;
    bool makes_projects;          // the Namespace of a project comes with its first child
    const char *secret_namespace; // of kubeconfigs of clusters, which have no namespace
    // Leads to exactly one intent_api_judged(asker), perhaps from within; NULL: everybody may.
    void (*judge)(void *context, const struct intent_access *access, void *asker);
    void (*forget)(void *context, void *asker); // nobody waits for the answer any more
    // As http_server_options has it.
    void (*listening)(void *context, const struct hostport *at, const char *trouble);
    void *context;
};

struct intent_api;
struct intent_api *intent_api_new(const struct intent_api_options *options, struct error *err);
void intent_api_close(struct intent_api *api); // listens no more, and answers nobody
void intent_api_free(struct intent_api *api);  // behind the engine; accepts NULL
void intent_api_judged(void *asker, enum intent_answer answer);
bool intent_api_set_tls(struct intent_api *api, const struct http_server_tls *tls,
                        struct error *err);
const char *intent_api_trouble(const struct intent_api *api); // why it does not listen, or NULL
// Prometheus text: the requests to all of them.
void intent_apis_write_metrics(struct intent_api *const *apis, size_t count, struct buffer *out);
