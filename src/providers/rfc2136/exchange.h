#pragma once

#include "providers/rfc2136/item.h"
#include "providers/rfc2136/signed_exchange.h"

// Private to the rfc2136 provider: one exchange. It is a row of DNS messages; the answer to each
// decides which step is next. exchange.c holds its life and its steps, exchange_query.c reads what
// stands there before, exchange_update.c sends UPDATEs and halves those that are refused,
// exchange_check.c judges what stands there afterwards.

enum step {
    STEP_HEALTH,    // the zone's SOA
    STEP_QUERY,     // what stands there before
    STEP_OWNERSHIP, // and its ownership record
    STEP_PROVE,     // UPDATEs of prerequisites alone: is it as the queries showed?
    STEP_UPDATE,
    STEP_CHECK, // what stands there afterwards
    STEP_SHOW,  // what else does, for the error's text
    STEP_PROBE, // is it really there, or does a wildcard or a delegation answer?
    STEP_DONE,
};

// Items [from, to) that go into one UPDATE.
struct range {
    size_t from;
    size_t to;
};

enum { RANGES_MAX = 64 };

struct exchange {
    struct rfc2136_session *session;
    struct job *job;
    struct text zone;
    struct item *items;
    size_t count;
    enum step step;
    size_t at; // QUERY, CHECK and what follows them
    struct range ranges[RANGES_MAX];
    size_t range_count;
    struct range sent;
    bool is_tcp;
    int64_t begun_ms;
    struct signed_exchange signed_exchange;
    struct arena *arena; // of one answer
};

struct answer {
    struct text octets;
    struct message message;
};

// ---- for all steps ------------------------------------------------------------------------------

void exchange_fail(struct exchange *exchange, struct item *item, const struct error *error);
// Whatever is still open shares the error; the exchange is done.
void exchange_fail_rest(struct exchange *exchange, const struct error *error);
const char *exchange_about(struct exchange *exchange, const struct item *item);
bool exchange_sign(struct exchange *exchange, const struct moment *moment, struct error *err);

// ---- queries ------------------------------------------------------------------------------------

// What the answer says about a record set. Errors: the server does not answer for the zone.
bool exchange_read_set(struct exchange *exchange, const struct answer *answer,
                       const struct item *item, struct text name, enum record_type type,
                       struct answered_set *answered, struct error *err);
// A delegation hides whether there is such a set.
bool exchange_is_hidden(const struct answered_set *answered);
// The query of that item failed; the next one is due.
void exchange_fail_query(struct exchange *exchange, const struct error *error);
void exchange_handle_query(struct exchange *exchange, const struct answer *answer);
void exchange_handle_ownership(struct exchange *exchange, const struct answer *answer);

// ---- updates ------------------------------------------------------------------------------------

// Items that are to go into an UPDATE, the last pushed first; none: nothing.
void exchange_push_range(struct exchange *exchange, size_t from, size_t to);
// Signs the next UPDATE of this step. False: there is none.
bool exchange_write_update(struct exchange *exchange, const struct moment *moment);
// Would the UPDATE that was sent last change the zone?
bool exchange_sends_change(const struct exchange *exchange);
void exchange_handle_update(struct exchange *exchange, const struct answer *answer);

// ---- checks -------------------------------------------------------------------------------------

// The check of that item failed; the next one is due.
void exchange_fail_check(struct exchange *exchange, const struct error *error);
void exchange_handle_check(struct exchange *exchange, const struct answer *answer);
void exchange_handle_show(struct exchange *exchange, const struct answer *answer);
void exchange_handle_probe(struct exchange *exchange, const struct answer *answer);
