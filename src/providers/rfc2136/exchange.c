#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/rfc2136/exchange.h"

enum {
    UDP_OCTETS_MAX = 1232,
    TIMEOUT_MS = 5000,
    EXCHANGE_MS = 25000,
    QTYPE_SOA = 6,
    QTYPE_ANY = 255,
};

void exchange_fail(struct exchange *exchange, struct item *item, const struct error *error)
{
    item_fail(item, exchange->job->arena, error);
}

// ---- beginning ----------------------------------------------------------------------------------

void *rfc2136_begin(void *session, struct job *job)
{
    struct exchange *exchange = mem_new_of(struct exchange);
    struct error err;
    exchange->session = session;
    exchange->job = job;
    exchange->zone = text_of(exchange->session->zone);
    exchange->arena = arena_new();
    exchange->step = job->kind == JOB_HEALTH ? STEP_HEALTH : STEP_QUERY;
    exchange->count = job->kind == JOB_HEALTH ? 0 : job->change_count;
    exchange->items = arena_new_array(job->arena, struct item, exchange->count);
    for (size_t i = 0; i < exchange->count; i++) {
        exchange->items[i].change = &job->changes[i];
        job->changes[i].outcome = (struct outcome){0};
        if (!item_accept(&exchange->items[i], job->arena, session, &err))
            exchange_fail(exchange, &exchange->items[i], &err);
    }
    return exchange;
}

void rfc2136_end(void *at)
{
    struct exchange *exchange = at;
    signed_exchange_done(&exchange->signed_exchange);
    arena_free(exchange->arena);
    free(exchange);
}

// Whatever is still open shares the error.
void exchange_fail_rest(struct exchange *exchange, const struct error *error)
{
    exchange->step = STEP_DONE;
    if (exchange->job->kind == JOB_HEALTH)
        exchange->job->health = (struct outcome){.error = error_copy(exchange->job->arena, error)};
    for (size_t i = 0; i < exchange->count; i++)
        if (item_is_open(&exchange->items[i]))
            exchange_fail(exchange, &exchange->items[i], error);
}

const char *exchange_about(struct exchange *exchange, const struct item *item)
{
    return item_about(exchange->arena, item);
}

bool exchange_sign(struct exchange *exchange, const struct moment *moment, struct error *err)
{
    return signed_exchange_sign(&exchange->signed_exchange, exchange->session, moment->unix_ms,
                                err);
}

// ---- asking -------------------------------------------------------------------------------------

static bool write_query(struct exchange *exchange, const struct moment *moment, struct text name,
                        uint16_t rr_type)
{
    struct error err;
    buffer_clear(&exchange->signed_exchange.octets);
    must(message_query(&exchange->signed_exchange.octets, random_u16(moment->random), name, rr_type,
                       false, &err));
    if (exchange_sign(exchange, moment, &err))
        return true;
    exchange_fail_rest(exchange, &err);
    return false;
}

// An UPDATE with a prerequisite alone changes nothing and sees no wildcard.
static bool write_probe(struct exchange *exchange, const struct moment *moment)
{
    struct error err;
    const struct item *item = &exchange->items[exchange->at];
    CLEANUP(update) struct update *update = update_new(exchange->zone, &err);
    buffer_clear(&exchange->signed_exchange.octets);
    must(update && update_require_absent(update, item->name, item->change->set.type, &err) &&
         update_write(&exchange->signed_exchange.octets, update, random_u16(moment->random), &err));
    if (exchange_sign(exchange, moment, &err))
        return true;
    exchange_fail_rest(exchange, &err);
    return false;
}

static bool needs_query(const struct item *item)
{
    return item_is_open(item) && !item->is_sent &&
           (item->plan == PLAN_PLAIN || item->plan == PLAN_QUERY);
}

static bool needs_check(const struct item *item)
{
    return item_is_open(item) && item->is_sent;
}

static bool seek(struct exchange *exchange, bool (*is_wanted)(const struct item *item))
{
    while (exchange->at < exchange->count && !is_wanted(&exchange->items[exchange->at]))
        exchange->at++;
    return exchange->at < exchange->count;
}

static void begin_updates(struct exchange *exchange, enum step step)
{
    exchange->step = step;
    exchange_push_range(exchange, 0, exchange->count);
}

// An item whose UPDATE was contradicted has another plan, or is queried once more.
static void end_updates(struct exchange *exchange)
{
    size_t unsent = 0;
    for (size_t i = 0; i < exchange->count; i++)
        unsent += item_is_open(&exchange->items[i]) && !exchange->items[i].is_sent;
    exchange->step = unsent ? STEP_QUERY : STEP_CHECK;
    exchange->at = 0;
}

// Moves on to the next step that has something to do.
static void advance(struct exchange *exchange)
{
    if (exchange->step == STEP_UPDATE && !exchange->range_count)
        end_updates(exchange);
    if (exchange->step == STEP_QUERY && !seek(exchange, needs_query))
        begin_updates(exchange, STEP_PROVE);
    if (exchange->step == STEP_PROVE && !exchange->range_count)
        begin_updates(exchange, STEP_UPDATE);
    if (exchange->step == STEP_CHECK && !seek(exchange, needs_check))
        exchange->step = STEP_DONE;
}

static bool write_step(struct exchange *exchange, const struct moment *moment)
{
    const struct item *item = &exchange->items[exchange->at];
    switch (exchange->step) {
    case STEP_HEALTH:
        return write_query(exchange, moment, exchange->zone, QTYPE_SOA);
    case STEP_QUERY:
    case STEP_CHECK:
        return write_query(exchange, moment, item->name,
                           record_type_number(item->change->set.type));
    case STEP_OWNERSHIP:
        return write_query(exchange, moment, item->txt_name, record_type_number(RECORD_TXT));
    case STEP_SHOW:
        return write_query(exchange, moment, item->name, QTYPE_ANY);
    case STEP_PROBE:
        return write_probe(exchange, moment);
    case STEP_PROVE:
    case STEP_UPDATE:
        return exchange_write_update(exchange, moment);
    case STEP_DONE:
        break;
    }
    return false;
}

static bool is_in_time(struct exchange *exchange, const struct moment *moment)
{
    struct error err;
    if (!exchange->begun_ms)
        exchange->begun_ms = moment->mono_ms;
    if (moment->mono_ms - exchange->begun_ms < EXCHANGE_MS)
        return true;
    signed_exchange_again_error(&err, "ServerUnreachable",
                                "%s did not finish %zu changes within %d s",
                                exchange->session->address, exchange->count, EXCHANGE_MS / 1000);
    exchange->job->is_transport_failure = true;
    exchange_fail_rest(exchange, &err);
    return false;
}

enum ask_kind rfc2136_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct exchange *exchange = at;
    advance(exchange);
    while (exchange->step != STEP_DONE &&
           (!is_in_time(exchange, moment) || !write_step(exchange, moment)))
        advance(exchange);
    if (exchange->step == STEP_DONE)
        return ASK_DONE;
    struct text octets = buffer_text(&exchange->signed_exchange.octets);
    exchange->is_tcp |= octets.len > UDP_OCTETS_MAX;
    out->dns = (struct dns_request){.server = exchange->session->server,
                                    .octets = octets,
                                    .use_tcp = exchange->is_tcp,
                                    .timeout_ms = TIMEOUT_MS,
                                    .is_wanted = signed_exchange_is_wanted,
                                    .context = &exchange->signed_exchange};
    return ASK_DNS;
}

// ---- answers ------------------------------------------------------------------------------------

static void handle_health(struct exchange *exchange, const struct answer *answer)
{
    const struct message *message = &answer->message;
    struct error err;
    exchange->step = STEP_DONE;
    exchange->job->health = (struct outcome){.is_done = true};
    if (message->rcode == RCODE_NOERROR && message->is_authoritative && message->has_soa)
        return;
    if (message->rcode != RCODE_NOERROR)
        signed_exchange_rcode_error(exchange->session, message->rcode, exchange->session->zone,
                                    &err);
    else
        signed_exchange_again_error(
            &err, "ServerError", "%s is not authoritative for the zone %s: check server and zone",
            exchange->session->address, exchange->session->zone);
    exchange_fail_rest(exchange, &err);
}

static void handle_answer(struct exchange *exchange, const struct answer *answer)
{
    static void (*const hearers[])(struct exchange *, const struct answer *) = {
        [STEP_HEALTH] = handle_health,
        [STEP_QUERY] = exchange_handle_query,
        [STEP_OWNERSHIP] = exchange_handle_ownership,
        [STEP_PROVE] = exchange_handle_update,
        [STEP_UPDATE] = exchange_handle_update,
        [STEP_CHECK] = exchange_handle_check,
        [STEP_SHOW] = exchange_handle_show,
        [STEP_PROBE] = exchange_handle_probe,
    };
    exchange->is_tcp = false;
    hearers[exchange->step](exchange, answer);
}

// What changes nothing may go out again; an UPDATE whose fate is unknown may not.
static bool try_tcp(struct exchange *exchange, bool is_worth_it)
{
    bool is_update = exchange->step == STEP_PROVE || exchange->step == STEP_UPDATE;
    if (exchange->is_tcp || !is_worth_it || (is_update && exchange_sends_change(exchange)))
        return false;
    if (is_update)
        exchange_push_range(exchange, exchange->sent.from, exchange->sent.to);
    exchange->is_tcp = true;
    return true;
}

// One answer is of no use; the next one may be.
static void skip(struct exchange *exchange, const struct error *error)
{
    exchange->is_tcp = false;
    if (exchange->step == STEP_QUERY || exchange->step == STEP_OWNERSHIP)
        exchange_fail_query(exchange, error);
    else if (exchange->step == STEP_CHECK || exchange->step == STEP_SHOW ||
             exchange->step == STEP_PROBE)
        exchange_fail_check(exchange, error);
    else
        exchange_fail_rest(exchange, error);
}

void rfc2136_handle_reply(void *at, const struct moment *moment, const struct ask_result *reply)
{
    struct exchange *exchange = at;
    struct error err;
    struct answer answer = {.octets = reply->dns->octets};
    arena_reset(exchange->arena);
    enum signed_exchange_result result =
        signed_exchange_read(&exchange->signed_exchange, exchange->session, reply->dns,
                             moment->unix_ms, exchange->arena, &answer.message, &err);
    if (result == SIGNED_EXCHANGE_GOOD) {
        handle_answer(exchange, &answer);
        return;
    }
    bool is_worth_it = result == SIGNED_EXCHANGE_TRUNCATED || result == SIGNED_EXCHANGE_HINT;
    if (try_tcp(exchange, is_worth_it || reply->dns->is_timeout))
        return;
    if (result == SIGNED_EXCHANGE_TRUNCATED || result == SIGNED_EXCHANGE_UNREADABLE) {
        skip(exchange, &err);
        return;
    }
    exchange->job->is_transport_failure = result == SIGNED_EXCHANGE_NONE;
    exchange_fail_rest(exchange, &err);
}
