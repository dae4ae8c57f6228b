#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"
#include "engine/engine.h"
#include "io/world.h"

// The receiving side of the signed webhook protocol: checks who asks, reads the request, submits a
// change request to the backend that serves the name, and answers with its receipt.

struct hostport;
struct provider_api_options {
    const struct world *world;
    struct engine *engine;
    struct log *log;
    const char *address;
    uint16_t port;
    unsigned max_connections; // 0: 256
    unsigned rate;            // requests a second; 0: no limit
    enum digest algorithm;
    const char *base_path;    // "" or "/api"
    const struct text *zones; // normalised; none: every name
    size_t zone_count;
    bool has_type[RECORD_TYPES];
    bool is_open;          // --insecure-no-auth: requests need no signature
    const char *state_dir; // NULL: nothing survives a restart
    bool keeps_records;    // the state holds the records too (memory backend)
    // Which backend serves a zone ("" when there are no zones).
    const char *(*backend_of)(void *context, struct text zone);
    // As http_server_options has it.
    void (*listening)(void *context, const struct hostport *at, const char *trouble);
    void *context;
};

struct provider_api;
// Restores state, then listens. Fails with a text that says what to do.
struct provider_api *provider_api_new(const struct provider_api_options *options,
                                      struct error *err);
void provider_api_free(struct provider_api *api);
const char *provider_api_trouble(const struct provider_api *api); // why it does not listen, or NULL
uint16_t provider_api_port(const struct provider_api *api);
// All keys that are accepted from now on; takes its own references.
void provider_api_set_keys(struct provider_api *api, struct secret *const *keys, size_t count);
void provider_api_drain(struct provider_api *api);
void provider_api_write_metrics(const struct provider_api *api, struct buffer *out);
