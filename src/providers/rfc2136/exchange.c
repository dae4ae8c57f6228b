#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/rfc2136/item.h"
#include "providers/rfc2136/signed_exchange.h"

enum {
    UDP_OCTETS_MAX = 1232,
    MESSAGE_OCTETS_MAX = 65000, // leaves room for the answer that holds the same
    UPDATE_OCTETS_MAX = 64000,  // its records: header, question and TSIG come on top
    TIMEOUT_MS = 5000,
    EXCHANGE_MS = 25000,
    RANGES_MAX = 64,
    QTYPE_SOA = 6,
    QTYPE_ANY = 255,
};

enum step {
    STEP_HEALTH, // the zone's SOA
    STEP_QUERY,  // what stands there before
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

struct exchange {
    struct rfc2136_session *session;
    struct job *job;
    struct text zone;
    struct item *items;
    size_t count;
    enum step step;
    size_t at; // QUERY, CHECK and what follows it
    struct range ranges[RANGES_MAX];
    size_t range_count;
    struct range sent;
    bool is_tcp;
    int64_t begun_ms;
    struct signed_exchange signed_exchange;
    struct arena *arena; // of one answer
};

static void fail(struct exchange *exchange, struct item *item, const struct error *error)
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
            fail(exchange, &exchange->items[i], &err);
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
static void fail_rest(struct exchange *exchange, const struct error *error)
{
    exchange->step = STEP_DONE;
    if (exchange->job->kind == JOB_HEALTH) {
        struct error *copy = arena_new_of(exchange->job->arena, struct error);
        *copy = *error;
        exchange->job->health = (struct outcome){.error = copy};
    }
    for (size_t i = 0; i < exchange->count; i++)
        if (item_is_open(&exchange->items[i]))
            fail(exchange, &exchange->items[i], error);
}

static const char *about(struct exchange *exchange, const struct item *item)
{
    return item_about(exchange->arena, item);
}

// ---- updates ------------------------------------------------------------------------------------

static void push_range(struct exchange *exchange, size_t from, size_t to)
{
    if (from == to)
        return;
    must(exchange->range_count < RANGES_MAX);
    exchange->ranges[exchange->range_count++] = (struct range){from, to};
}

// As many open items as fit into one message; the rest of the range goes back. False when an item
// had to be refused (begin again), or none is open.
static bool fill_update(struct exchange *exchange, struct update *update, struct range range)
{
    struct error err;
    size_t octets = 0, count = 0, i = range.from;
    for (; i < range.to; i++) {
        struct item *item = &exchange->items[i];
        if (!item_is_open(item))
            continue;
        octets += item_octets(item);
        if (count && octets > UPDATE_OCTETS_MAX)
            break;
        if (!item_add(update, item, &err)) {
            item_refuse(item, exchange->job->arena, &err);
            push_range(exchange, range.from, range.to);
            return false;
        }
        count++;
    }
    push_range(exchange, i, range.to);
    exchange->sent = (struct range){range.from, i};
    return count;
}

static bool sign(struct exchange *exchange, const struct moment *moment, struct error *err)
{
    return signed_exchange_sign(&exchange->signed_exchange, exchange->session, moment->unix_ms,
                                err);
}

static bool fits(const struct exchange *exchange, struct error *err)
{
    size_t len = exchange->signed_exchange.octets.len;
    return len < MESSAGE_OCTETS_MAX ||
           error_set(err, FAULT_SPEC, "",
                     "a DNS message of %zu octets would be needed: fewer than "
                     "%d are allowed",
                     len, MESSAGE_OCTETS_MAX);
}

// A single set that outgrows a message is the only way to fail here.
static void refuse_sent(struct exchange *exchange, const struct error *cause)
{
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (item_is_open(&exchange->items[i]))
            item_refuse(&exchange->items[i], exchange->job->arena, cause);
}

static bool write_update(struct exchange *exchange, const struct moment *moment)
{
    struct error err;
    while (exchange->range_count) {
        CLEANUP(update) struct update *update = update_new(exchange->zone, &err);
        must(update);
        if (!fill_update(exchange, update, exchange->ranges[--exchange->range_count]))
            continue;
        buffer_clear(&exchange->signed_exchange.octets);
        if (update_write(&exchange->signed_exchange.octets, update, random_u16(moment->random),
                         &err) &&
            sign(exchange, moment, &err) && fits(exchange, &err))
            return true;
        refuse_sent(exchange, &err);
    }
    return false;
}

// ---- asking -------------------------------------------------------------------------------------

static bool write_query(struct exchange *exchange, const struct moment *moment, struct text name,
                        uint16_t rr_type)
{
    struct error err;
    buffer_clear(&exchange->signed_exchange.octets);
    must(message_query(&exchange->signed_exchange.octets, random_u16(moment->random), name, rr_type,
                       false, &err));
    if (sign(exchange, moment, &err))
        return true;
    fail_rest(exchange, &err);
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
    if (sign(exchange, moment, &err))
        return true;
    fail_rest(exchange, &err);
    return false;
}

static bool seek(struct exchange *exchange, bool is_sent)
{
    while (exchange->at < exchange->count && (!item_is_open(&exchange->items[exchange->at]) ||
                                              exchange->items[exchange->at].is_sent != is_sent))
        exchange->at++;
    return exchange->at < exchange->count;
}

// Moves on to the next step that has something to do.
static void advance(struct exchange *exchange)
{
    if (exchange->step == STEP_QUERY && !seek(exchange, false)) {
        exchange->step = STEP_UPDATE;
        push_range(exchange, 0, exchange->count);
    }
    if (exchange->step == STEP_UPDATE && !exchange->range_count) {
        exchange->step = STEP_CHECK;
        exchange->at = 0;
    }
    if (exchange->step == STEP_CHECK && !seek(exchange, true))
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
    case STEP_SHOW:
        return write_query(exchange, moment, item->name, QTYPE_ANY);
    case STEP_PROBE:
        return write_probe(exchange, moment);
    case STEP_UPDATE:
        return write_update(exchange, moment);
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
    fail_rest(exchange, &err);
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

struct answer {
    struct text octets;
    struct message message;
};

static bool is_usable(const struct message *message)
{
    return message->rcode == RCODE_NOERROR || message->rcode == RCODE_NXDOMAIN;
}

static bool read_answered_set(struct exchange *exchange, const struct answer *answer,
                              const struct item *item, struct answered_set *answered,
                              struct error *err)
{
    if (!is_usable(&answer->message)) {
        signed_exchange_rcode_error(exchange->session, answer->message.rcode, about(exchange, item),
                                    err);
        return false;
    }
    *answered = answered_set_read(exchange->arena, answer->octets, &answer->message, exchange->zone,
                                  item->name, item->change->set.type);
    return answered->is_authoritative ||
           signed_exchange_again_error(err, "ServerError",
                                       "%s: %s is not authoritative for it: check server and zone",
                                       about(exchange, item), exchange->session->address);
}

static struct record_set *copy_set(struct arena *arena, const struct record_set *set)
{
    struct record_set *copy = arena_new_of(arena, struct record_set);
    *copy = record_set_copy(arena, set);
    return copy;
}

static void keep_found(struct exchange *exchange, struct item *item,
                       const struct answered_set *answered)
{
    struct record_set *found = copy_set(exchange->job->arena, answered->set);
    found->domain = item->change->set.domain;
    found->subdomain = item->change->set.subdomain;
    item->found = found;
}

static bool has_name(struct arena *arena, const struct record_set *set, struct text name)
{
    for (size_t i = 0; i < set->value_count; i++)
        if (text_equal(record_value_canonical(arena, set->type, set->values[i]), name))
            return true;
    return false;
}

static bool is_apex_servers(const struct exchange *exchange, const struct item *item)
{
    return item->change->set.type == RECORD_NS && text_equal(item->name, exchange->zone);
}

static const struct record_set *surplus_of(const struct exchange *exchange, const struct item *item,
                                           const struct record_set *answered)
{
    struct arena *arena = exchange->job->arena;
    struct record_set *surplus = copy_set(arena, answered);
    struct text *values = arena_new_array(arena, struct text, answered->value_count);
    size_t count = 0;
    for (size_t i = 0; i < surplus->value_count; i++)
        if (!has_name(arena, &item->change->set, surplus->values[i]))
            values[count++] = surplus->values[i];
    surplus->values = values;
    surplus->value_count = count;
    return surplus;
}

static bool is_hidden(const struct answered_set *answered)
{
    return answered->delegation.at && !answered->set;
}

// A referral says nothing of what else the zone holds below the cut. Whether there is something to
// read or to remove shows in the UPDATE.
static void handle_hidden(struct exchange *exchange, struct item *item,
                          const struct answered_set *answered)
{
    struct error err;
    bool is_set = item->change->op == CHANGE_SET;
    if (is_set && answered->is_glue)
        return;
    if (is_set) {
        item_hidden_error(item, answered->delegation, "never with this record", &err);
        fail(exchange, item, &err);
        return;
    }
    item->delegation = text_of(
        arena_copy(exchange->job->arena, answered->delegation.at, answered->delegation.len));
}

// Below a delegation no wildcard answers. Elsewhere the UPDATE tells.
static void handle_found(struct exchange *exchange, struct item *item,
                         const struct answered_set *answered)
{
    keep_found(exchange, item, answered);
    if (answered->delegation.at)
        item_end_found(item);
}

static void handle_query(struct exchange *exchange, const struct answer *answer)
{
    struct item *item = &exchange->items[exchange->at++];
    struct answered_set answered;
    struct error err;
    if (!read_answered_set(exchange, answer, item, &answered, &err)) {
        fail(exchange, item, &err);
        return;
    }
    item->was_there = answered.set;
    if (is_hidden(&answered))
        handle_hidden(exchange, item, &answered);
    else if (item->change->op == CHANGE_READ && !answered.set)
        item_end_absent(item);
    else if (item->change->op == CHANGE_READ)
        handle_found(exchange, item, &answered);
    else if (is_apex_servers(exchange, item) && answered.set)
        item->surplus = surplus_of(exchange, item, answered.set);
}

static bool concerns_all(unsigned rcode)
{
    return rcode == RCODE_NOTAUTH || rcode == RCODE_NOTIMP;
}

static size_t open_count(const struct exchange *exchange, struct range range)
{
    size_t count = 0;
    for (size_t i = range.from; i < range.to; i++)
        count += item_is_open(&exchange->items[i]);
    return count;
}

static void take_sent(struct exchange *exchange, struct item *item)
{
    struct error err;
    item->is_sent = true;
    if (item->change->op != CHANGE_READ)
        return;
    if (item->found) {
        item_end_found(item);
        return;
    }
    item_hidden_error(item, item->delegation, "never with the record that the zone holds", &err);
    fail(exchange, item, &err);
}

static bool sends_change(const struct exchange *exchange)
{
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (item_is_open(&exchange->items[i]) && exchange->items[i].change->op != CHANGE_READ)
            return true;
    return false;
}

static void mark_sent(struct exchange *exchange)
{
    exchange->session->has_updated |= sends_change(exchange);
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (item_is_open(&exchange->items[i]))
            take_sent(exchange, &exchange->items[i]);
}

// Does a query tell enough where no UPDATE is taken? Then none stands in the server's line either.
static bool is_shown(const struct item *item)
{
    return item->found || item_is_unseen_removal(item);
}

static void believe_query(struct item *item)
{
    if (item->found)
        item_end_found(item);
    else
        item_end_absent(item);
}

static void end_item(struct exchange *exchange, struct item *item, unsigned rcode)
{
    struct error err;
    if (rcode == RCODE_NXRRSET && item->change->op != CHANGE_SET) {
        item_end_absent(item);
        return;
    }
    if (rcode == RCODE_REFUSED && is_shown(item)) { // who may not update can still read
        believe_query(item);
        return;
    }
    if (rcode == RCODE_REFUSED)
        signed_exchange_refused_record_error(exchange->session, about(exchange, item), &err);
    else
        signed_exchange_rcode_error(exchange->session, rcode, about(exchange, item), &err);
    fail(exchange, item, &err);
}

static void believe_queries(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->count; i++)
        if (item_is_open(&exchange->items[i]) && is_shown(&exchange->items[i]))
            believe_query(&exchange->items[i]);
}

static void end_sent(struct exchange *exchange, unsigned rcode)
{
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (item_is_open(&exchange->items[i]))
            end_item(exchange, &exchange->items[i], rcode);
}

static void handle_update(struct exchange *exchange, const struct answer *answer)
{
    unsigned rcode = answer->message.rcode;
    struct error err;
    if (rcode == RCODE_NOERROR) {
        mark_sent(exchange);
        return;
    }
    if (concerns_all(rcode)) {
        believe_queries(exchange);
        signed_exchange_rcode_error(exchange->session, rcode, exchange->session->zone, &err);
        fail_rest(exchange, &err);
        return;
    }
    if (open_count(exchange, exchange->sent) < 2) {
        end_sent(exchange, rcode);
        return;
    }
    size_t middle = exchange->sent.from + (exchange->sent.to - exchange->sent.from) / 2;
    push_range(exchange, middle, exchange->sent.to);
    push_range(exchange, exchange->sent.from, middle);
}

static void finish(struct exchange *exchange)
{
    struct item *item = &exchange->items[exchange->at++];
    exchange->step = STEP_CHECK;
    item->change->outcome = (struct outcome){
        .is_done = true,
        .was_created = item->change->op == CHANGE_SET && !item->was_there,
        .was_absent = item_is_unseen_removal(item),
    };
}

static void fail_check(struct exchange *exchange, const struct error *error)
{
    exchange->step = STEP_CHECK;
    fail(exchange, &exchange->items[exchange->at++], error);
}

static void refuse_dropped(struct exchange *exchange, const char *shown)
{
    struct error err;
    const struct item *item = &exchange->items[exchange->at];
    signed_exchange_spec_error(&err, "INVALID_RECORD",
                               "%s: the server accepted the change without making it: it holds %s",
                               about(exchange, item), shown);
    fail_check(exchange, &err);
}

static void refuse_hidden(struct exchange *exchange, struct text delegation)
{
    struct error err;
    item_hidden_error(&exchange->items[exchange->at], delegation,
                      "not with this record, which it took: delete one of the two", &err);
    fail_check(exchange, &err);
}

static bool holds(const struct answered_set *answered, const struct record_set *set)
{
    return answered->set && !answered->is_split && record_set_equal(answered->set, set);
}

static void handle_check(struct exchange *exchange, const struct answer *answer)
{
    const struct item *item = &exchange->items[exchange->at];
    bool is_removal = item->change->op == CHANGE_REMOVE;
    struct answered_set answered;
    struct error err;
    if (!read_answered_set(exchange, answer, item, &answered, &err))
        fail_check(exchange, &err);
    else if (is_removal && (answered.set || is_hidden(&answered)))
        exchange->step = STEP_PROBE;
    else if (is_removal || holds(&answered, &item->change->set))
        finish(exchange);
    else if (is_hidden(&answered))
        refuse_hidden(exchange, answered.delegation);
    else if (answered.set || item->change->set.type != RECORD_CNAME)
        refuse_dropped(exchange, answered.shown);
    else
        exchange->step = STEP_SHOW;
}

static void handle_show(struct exchange *exchange, const struct answer *answer)
{
    struct answered_set answered;
    struct error err;
    bool is_known =
        read_answered_set(exchange, answer, &exchange->items[exchange->at], &answered, &err);
    refuse_dropped(exchange, is_known ? answered.shown : "other data at the name");
}

static void handle_probe(struct exchange *exchange, const struct answer *answer)
{
    const struct item *item = &exchange->items[exchange->at];
    struct error err;
    if (answer->message.rcode == RCODE_NOERROR) {
        finish(exchange);
        return;
    }
    if (answer->message.rcode == RCODE_YXRRSET) {
        refuse_dropped(exchange, "the record set still");
        return;
    }
    signed_exchange_rcode_error(exchange->session, answer->message.rcode, about(exchange, item),
                                &err);
    fail_check(exchange, &err);
}

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
    fail_rest(exchange, &err);
}

static void handle_answer(struct exchange *exchange, const struct answer *answer)
{
    static void (*const hearers[])(struct exchange *, const struct answer *) = {
        [STEP_HEALTH] = handle_health, [STEP_QUERY] = handle_query, [STEP_UPDATE] = handle_update,
        [STEP_CHECK] = handle_check,   [STEP_SHOW] = handle_show,   [STEP_PROBE] = handle_probe,
    };
    exchange->is_tcp = false;
    hearers[exchange->step](exchange, answer);
}

// What changes nothing may go out again; an UPDATE whose fate is unknown may not.
static bool try_tcp(struct exchange *exchange, bool is_worth_it)
{
    bool is_update = exchange->step == STEP_UPDATE;
    if (exchange->is_tcp || !is_worth_it || (is_update && sends_change(exchange)))
        return false;
    if (is_update)
        push_range(exchange, exchange->sent.from, exchange->sent.to);
    exchange->is_tcp = true;
    return true;
}

// One answer is of no use; the next one may be.
static void skip(struct exchange *exchange, const struct error *error)
{
    exchange->is_tcp = false;
    if (exchange->step == STEP_QUERY)
        fail(exchange, &exchange->items[exchange->at++], error);
    else if (exchange->step == STEP_CHECK || exchange->step == STEP_SHOW ||
             exchange->step == STEP_PROBE)
        fail_check(exchange, error);
    else
        fail_rest(exchange, error);
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
    fail_rest(exchange, &err);
}
