#pragma once

#include "engine/backend_state.h"
#include "providers/carrier.h"

// What only the files of exchanges (exchange.c, exchange_outcome.c, busy_names.c and those that
// write ahead or list for them) know.

// One exchange under way.
struct exchange {
    struct link link; // of its backend's
    struct engine *engine;
    struct backend *backend;
    struct job job;
    void *provider_exchange;
    struct carrier carrier;
    int64_t begun_ms;
    int64_t reported_ms; // its progress
    size_t failures;     // of changes that the controller's messages report
    struct session *session;
    struct question_state *question; // NULL: none, or it is forgotten
    uint32_t *claims;                // per change; NO_ID where it is a change request
    struct change_request **change_requests;
    uint8_t (*hashes)[FINGERPRINT_OCTETS]; // per change: of what a SET puts there
    uint32_t *busy;                        // the names that are marked busy
    bool is_outdated;                      // it waited, and something else is wanted by now
    struct listing *listing;               // of a health exchange that tells what stands there
    struct write_ahead *write_aheads;      // per change: what the ledger said of it before; or NULL
    struct table by_name;                  // of those
    struct ledger_view ledger;
    char trace[33];
};

// write_ahead.c: what the ledger of a backend remembers before and after an exchange.
// True: the exchange begins later, when that is stored.
bool write_ahead_store(struct exchange *exchange);
void write_ahead_look(struct exchange *exchange); // it changes nothing, but may read and keep facts
void write_ahead_settle(struct exchange *exchange); // the exchange has ended
void write_ahead_abort(struct exchange *exchange);  // the exchange was aborted

// busy_names.c
void busy_remove(struct engine *engine, uint32_t id);

// exchange.c
void exchange_unlink(struct exchange *exchange);
void exchange_free(struct exchange *exchange);
struct engine_change exchange_planned_change(const struct exchange *exchange, size_t at);
// A dry run: what could not be read counts as read and not known, and the plan says why.
void exchange_imagine_reading(struct exchange *exchange);
void exchange_plan_outcomes(struct exchange *exchange);

// exchange_outcome.c
void exchange_end(struct exchange *exchange);
