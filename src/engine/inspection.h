#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/dname.h"
#include "engine/controller.h"

// A view for frontends that show people what goes on: what became of each object, the backends, the
// servers of zones and the last changes. It is read-only. What a call gets is borrowed until that
// returns.

struct engine;

// ---- objects ------------------------------------------------------------------------------------

enum object_readiness {
    OBJECT_NOT_READY,
    OBJECT_UNKNOWN, // not decided yet, under way, or nobody can tell
    OBJECT_READY,
    OBJECT_OVER, // nobody has to do anything about it any more
    OBJECT_READINESSES,
};
// What the last reconciliation of a key said. A key whose controller writes no status is shown
// while it claims something or something is in its way.
struct object_state {
    const struct object *object;
    const char *controller;
    enum object_readiness readiness;
    bool is_going;       // it is being deleted
    const char *reason;  // of the condition that counts; "" where there is none
    const char *message; // for people; "" for what is ready
    int64_t since_s;     // Unix; 0: not known
};
// Calls back for each key, by kind, namespace and name. Calls nobody unless
// engine_options.keeps_states is set.
void engine_each_state(struct engine *engine,
                       void (*call)(void *context, const struct object_state *state),
                       void *context);

// Does a controller of that name run here, whether it has objects or not?
bool engine_runs(const struct engine *engine, const char *controller);

// ---- backends -----------------------------------------------------------------------------------

struct backend_state {
    const struct backend_view *view;
    const char *provider; // NULL: there is none of that name
    size_t claims;        // that go through it
    size_t due;           // of them: wait to be sent
    size_t in_flight;     // exchanges
    size_t backing_off;   // claims that failed and wait for their next attempt
    int64_t next_ms;      // Unix: the first of those attempts; 0: there is none
    int64_t wait_ms;      // for so long the server wants to be left alone; 0: it does not
    unsigned failures;    // exchanges in a row that did not reach the server
};
void engine_each_backend(struct engine *engine,
                         void (*call)(void *context, const struct backend_state *state),
                         void *context);

// ---- zones --------------------------------------------------------------------------------------

// The zones themselves are those of engine_published().
size_t engine_zone_servers(const struct engine *engine, struct dname apex,
                           const struct server_view **servers);

// ---- changes ------------------------------------------------------------------------------------

enum recent_change_type {
    CHANGE_WAS_CREATED,
    CHANGE_WAS_UPDATED,
    CHANGE_WAS_DELETED,
    CHANGE_HAS_FAILED,
    CHANGE_HAS_ARRIVED, // of an object whose content is now at all servers
};
// Without the values of records, which may be secrets of others.
struct recent_change {
    int64_t at_ms; // Unix
    enum recent_change_type type;
    const char *what;    // "www.example.com A"; "" where the object says it
    const char *object;  // "DNSRecord default/web"; "" for what no object claims
    const char *backend; // "" where there is none
    int64_t took_ms;     // since it was wanted; -1: not known
    unsigned times;      // of a failure: in a row
    const char *error;   // of a failure; ""
};
enum { RECENT_CHANGES_MAX = 100 };
// The newest first. Nothing unless engine_options.keeps_states is set.
void engine_each_recent_change(const struct engine *engine,
                               void (*call)(void *context, const struct recent_change *change),
                               void *context);
