#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/rfc2136/exchange.h"
#include "providers/rfc2136/item.h"

enum {
    UDP_OCTETS_MAX = 1232,
    MESSAGE_OCTETS_MAX = 65000, // leaves room for the answer that holds the same
    UPDATE_OCTETS_MAX = 64000,  // its records: header, question and TSIG come on top
    TIMEOUT_MS = 5000,
    TALK_MS = 25000,
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

struct talk {
    struct rfc2136_seat *seat;
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
    struct exchange exchange;
    struct arena *arena; // of one answer
};

static void fail(struct talk *talk, struct item *item, const struct error *error)
{
    item_fail(item, talk->job->arena, error);
}

// ---- beginning ----------------------------------------------------------------------------------

void *rfc2136_begin(void *seat, struct job *job)
{
    struct talk *talk = mem_new_of(struct talk);
    struct error err;
    talk->seat = seat;
    talk->job = job;
    talk->zone = text_of(talk->seat->zone);
    talk->arena = arena_new();
    talk->step = job->kind == JOB_HEALTH ? STEP_HEALTH : STEP_QUERY;
    talk->count = job->kind == JOB_HEALTH ? 0 : job->change_count;
    talk->items = arena_new_array(job->arena, struct item, talk->count);
    for (size_t i = 0; i < talk->count; i++) {
        talk->items[i].change = &job->changes[i];
        job->changes[i].outcome = (struct outcome){0};
        if (!item_accept(&talk->items[i], job->arena, seat, &err))
            fail(talk, &talk->items[i], &err);
    }
    return talk;
}

void rfc2136_end(void *at)
{
    struct talk *talk = at;
    exchange_done(&talk->exchange);
    arena_free(talk->arena);
    free(talk);
}

// Whatever is still open shares the error.
static void fail_rest(struct talk *talk, const struct error *error)
{
    talk->step = STEP_DONE;
    if (talk->job->kind == JOB_HEALTH) {
        struct error *copy = arena_new_of(talk->job->arena, struct error);
        *copy = *error;
        talk->job->health = (struct outcome){.error = copy};
    }
    for (size_t i = 0; i < talk->count; i++)
        if (item_is_open(&talk->items[i]))
            fail(talk, &talk->items[i], error);
}

static const char *about(struct talk *talk, const struct item *item)
{
    return item_about(talk->arena, item);
}

// ---- updates ------------------------------------------------------------------------------------

static void push_range(struct talk *talk, size_t from, size_t to)
{
    if (from == to)
        return;
    must(talk->range_count < RANGES_MAX);
    talk->ranges[talk->range_count++] = (struct range){from, to};
}

// As many open items as fit into one message; the rest of the range goes back. False when an item
// had to be refused (begin again), or none is open.
static bool fill_update(struct talk *talk, struct update *update, struct range range)
{
    struct error err;
    size_t octets = 0, count = 0, i = range.from;
    for (; i < range.to; i++) {
        struct item *item = &talk->items[i];
        if (!item_is_open(item))
            continue;
        octets += item_octets(item);
        if (count && octets > UPDATE_OCTETS_MAX)
            break;
        if (!item_add(update, item, &err)) {
            item_refuse(item, talk->job->arena, &err);
            push_range(talk, range.from, range.to);
            return false;
        }
        count++;
    }
    push_range(talk, i, range.to);
    talk->sent = (struct range){range.from, i};
    return count;
}

static bool sign(struct talk *talk, const struct moment *moment, struct error *err)
{
    return exchange_sign(&talk->exchange, talk->seat, moment->unix_ms, err);
}

static bool fits(const struct talk *talk, struct error *err)
{
    size_t len = talk->exchange.octets.len;
    return len < MESSAGE_OCTETS_MAX ||
           error_set(err, FAULT_SPEC, "",
                     "a DNS message of %zu octets would be needed: fewer than "
                     "%d are allowed",
                     len, MESSAGE_OCTETS_MAX);
}

// A single set that outgrows a message is the only way to fail here.
static void refuse_sent(struct talk *talk, const struct error *cause)
{
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (item_is_open(&talk->items[i]))
            item_refuse(&talk->items[i], talk->job->arena, cause);
}

static bool write_update(struct talk *talk, const struct moment *moment)
{
    struct error err;
    while (talk->range_count) {
        CLEANUP(update) struct update *update = update_new(talk->zone, &err);
        must(update);
        if (!fill_update(talk, update, talk->ranges[--talk->range_count]))
            continue;
        buffer_clear(&talk->exchange.octets);
        if (update_write(&talk->exchange.octets, update, random_u16(moment->random), &err) &&
            sign(talk, moment, &err) && fits(talk, &err))
            return true;
        refuse_sent(talk, &err);
    }
    return false;
}

// ---- asking -------------------------------------------------------------------------------------

static bool write_query(struct talk *talk, const struct moment *moment, struct text name,
                        uint16_t rr_type)
{
    struct error err;
    buffer_clear(&talk->exchange.octets);
    must(message_query(&talk->exchange.octets, random_u16(moment->random), name, rr_type, false,
                       &err));
    if (sign(talk, moment, &err))
        return true;
    fail_rest(talk, &err);
    return false;
}

// An UPDATE with a prerequisite alone changes nothing and sees no wildcard.
static bool write_probe(struct talk *talk, const struct moment *moment)
{
    struct error err;
    const struct item *item = &talk->items[talk->at];
    CLEANUP(update) struct update *update = update_new(talk->zone, &err);
    buffer_clear(&talk->exchange.octets);
    must(update && update_require_absent(update, item->name, item->change->set.type, &err) &&
         update_write(&talk->exchange.octets, update, random_u16(moment->random), &err));
    if (sign(talk, moment, &err))
        return true;
    fail_rest(talk, &err);
    return false;
}

static bool seek(struct talk *talk, bool is_sent)
{
    while (talk->at < talk->count &&
           (!item_is_open(&talk->items[talk->at]) || talk->items[talk->at].is_sent != is_sent))
        talk->at++;
    return talk->at < talk->count;
}

// Moves on to the next step that has something to do.
static void advance(struct talk *talk)
{
    if (talk->step == STEP_QUERY && !seek(talk, false)) {
        talk->step = STEP_UPDATE;
        push_range(talk, 0, talk->count);
    }
    if (talk->step == STEP_UPDATE && !talk->range_count) {
        talk->step = STEP_CHECK;
        talk->at = 0;
    }
    if (talk->step == STEP_CHECK && !seek(talk, true))
        talk->step = STEP_DONE;
}

static bool write_step(struct talk *talk, const struct moment *moment)
{
    const struct item *item = &talk->items[talk->at];
    switch (talk->step) {
    case STEP_HEALTH:
        return write_query(talk, moment, talk->zone, QTYPE_SOA);
    case STEP_QUERY:
    case STEP_CHECK:
        return write_query(talk, moment, item->name, record_type_number(item->change->set.type));
    case STEP_SHOW:
        return write_query(talk, moment, item->name, QTYPE_ANY);
    case STEP_PROBE:
        return write_probe(talk, moment);
    case STEP_UPDATE:
        return write_update(talk, moment);
    case STEP_DONE:
        break;
    }
    return false;
}

static bool is_in_time(struct talk *talk, const struct moment *moment)
{
    struct error err;
    if (!talk->begun_ms)
        talk->begun_ms = moment->mono_ms;
    if (moment->mono_ms - talk->begun_ms < TALK_MS)
        return true;
    exchange_again_error(&err, "ServerUnreachable", "%s did not finish %zu changes within %d s",
                         talk->seat->address, talk->count, TALK_MS / 1000);
    talk->job->is_transport_failure = true;
    fail_rest(talk, &err);
    return false;
}

enum ask_kind rfc2136_ask(void *at, const struct moment *moment, struct ask *out)
{
    struct talk *talk = at;
    advance(talk);
    while (talk->step != STEP_DONE && (!is_in_time(talk, moment) || !write_step(talk, moment)))
        advance(talk);
    if (talk->step == STEP_DONE)
        return ASK_DONE;
    struct text octets = buffer_text(&talk->exchange.octets);
    talk->is_tcp |= octets.len > UDP_OCTETS_MAX;
    out->dns = (struct dns_request){.server = talk->seat->server,
                                    .octets = octets,
                                    .use_tcp = talk->is_tcp,
                                    .timeout_ms = TIMEOUT_MS,
                                    .is_wanted = exchange_is_wanted,
                                    .context = &talk->exchange};
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

static bool read_held(struct talk *talk, const struct answer *answer, const struct item *item,
                      struct held *held, struct error *err)
{
    if (!is_usable(&answer->message)) {
        exchange_rcode_error(talk->seat, answer->message.rcode, about(talk, item), err);
        return false;
    }
    *held = held_read(talk->arena, answer->octets, &answer->message, talk->zone, item->name,
                      item->change->set.type);
    return held->is_authoritative ||
           exchange_again_error(err, "ServerError",
                                "%s: %s is not authoritative for it: check server and zone",
                                about(talk, item), talk->seat->address);
}

static struct record_set *copy_set(struct arena *arena, const struct record_set *set)
{
    struct record_set *copy = arena_new_of(arena, struct record_set);
    *copy = record_set_copy(arena, set);
    return copy;
}

static void keep_found(struct talk *talk, struct item *item, const struct held *held)
{
    struct record_set *found = copy_set(talk->job->arena, held->set);
    found->domain = item->change->set.domain;
    found->subdomain = item->change->set.subdomain;
    item->found = found;
}

static void take_found(struct item *item)
{
    item->change->outcome = (struct outcome){.is_done = true, .found = item->found};
}

static void take_absent(struct item *item)
{
    item->change->outcome = (struct outcome){.is_done = true, .was_absent = true};
}

static bool has_name(struct arena *arena, const struct record_set *set, struct text name)
{
    for (size_t i = 0; i < set->value_count; i++)
        if (text_equal(record_value_canonical(arena, set->type, set->values[i]), name))
            return true;
    return false;
}

static bool is_apex_servers(const struct talk *talk, const struct item *item)
{
    return item->change->set.type == RECORD_NS && text_equal(item->name, talk->zone);
}

static const struct record_set *surplus_of(const struct talk *talk, const struct item *item,
                                           const struct record_set *held)
{
    struct arena *arena = talk->job->arena;
    struct record_set *surplus = copy_set(arena, held);
    struct text *values = arena_new_array(arena, struct text, held->value_count);
    size_t count = 0;
    for (size_t i = 0; i < surplus->value_count; i++)
        if (!has_name(arena, &item->change->set, surplus->values[i]))
            values[count++] = surplus->values[i];
    surplus->values = values;
    surplus->value_count = count;
    return surplus;
}

static bool is_hidden(const struct held *held)
{
    return held->delegation.at && !held->set;
}

// A referral says nothing of what else the zone holds below the cut. Whether there is something to
// read or to remove shows in the UPDATE.
static void hear_hidden(struct talk *talk, struct item *item, const struct held *held)
{
    struct error err;
    bool is_set = item->change->op == CHANGE_SET;
    if (is_set && held->is_glue)
        return;
    if (is_set) {
        item_hidden_error(item, held->delegation, "never with this record", &err);
        fail(talk, item, &err);
        return;
    }
    item->delegation =
        text_of(arena_copy(talk->job->arena, held->delegation.at, held->delegation.len));
}

// Below a delegation no wildcard answers. Elsewhere the UPDATE tells.
static void hear_found(struct talk *talk, struct item *item, const struct held *held)
{
    keep_found(talk, item, held);
    if (held->delegation.at)
        take_found(item);
}

static void hear_query(struct talk *talk, const struct answer *answer)
{
    struct item *item = &talk->items[talk->at++];
    struct held held;
    struct error err;
    if (!read_held(talk, answer, item, &held, &err)) {
        fail(talk, item, &err);
        return;
    }
    item->was_there = held.set;
    if (is_hidden(&held))
        hear_hidden(talk, item, &held);
    else if (item->change->op == CHANGE_READ && !held.set)
        take_absent(item);
    else if (item->change->op == CHANGE_READ)
        hear_found(talk, item, &held);
    else if (is_apex_servers(talk, item) && held.set)
        item->surplus = surplus_of(talk, item, held.set);
}

static bool concerns_all(unsigned rcode)
{
    return rcode == RCODE_NOTAUTH || rcode == RCODE_NOTIMP;
}

static size_t open_count(const struct talk *talk, struct range range)
{
    size_t count = 0;
    for (size_t i = range.from; i < range.to; i++)
        count += item_is_open(&talk->items[i]);
    return count;
}

static void take_sent(struct talk *talk, struct item *item)
{
    struct error err;
    item->is_sent = true;
    if (item->change->op != CHANGE_READ)
        return;
    if (item->found) {
        take_found(item);
        return;
    }
    item_hidden_error(item, item->delegation, "never with the record that the zone holds", &err);
    fail(talk, item, &err);
}

static bool sends_change(const struct talk *talk)
{
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (item_is_open(&talk->items[i]) && talk->items[i].change->op != CHANGE_READ)
            return true;
    return false;
}

static void mark_sent(struct talk *talk)
{
    talk->seat->has_updated |= sends_change(talk);
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (item_is_open(&talk->items[i]))
            take_sent(talk, &talk->items[i]);
}

// Does a query tell enough where no UPDATE is taken? Then none stands in the server's line either.
static bool is_shown(const struct item *item)
{
    return item->found || item_is_unseen_removal(item);
}

static void believe_query(struct item *item)
{
    if (item->found)
        take_found(item);
    else
        take_absent(item);
}

static void end_item(struct talk *talk, struct item *item, unsigned rcode)
{
    struct error err;
    if (rcode == RCODE_NXRRSET && item->change->op != CHANGE_SET) {
        take_absent(item);
        return;
    }
    if (rcode == RCODE_REFUSED && is_shown(item)) { // who may not update can still read
        believe_query(item);
        return;
    }
    if (rcode == RCODE_REFUSED)
        exchange_refused_record_error(talk->seat, about(talk, item), &err);
    else
        exchange_rcode_error(talk->seat, rcode, about(talk, item), &err);
    fail(talk, item, &err);
}

static void believe_queries(struct talk *talk)
{
    for (size_t i = 0; i < talk->count; i++)
        if (item_is_open(&talk->items[i]) && is_shown(&talk->items[i]))
            believe_query(&talk->items[i]);
}

static void end_sent(struct talk *talk, unsigned rcode)
{
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (item_is_open(&talk->items[i]))
            end_item(talk, &talk->items[i], rcode);
}

static void hear_update(struct talk *talk, const struct answer *answer)
{
    unsigned rcode = answer->message.rcode;
    struct error err;
    if (rcode == RCODE_NOERROR) {
        mark_sent(talk);
        return;
    }
    if (concerns_all(rcode)) {
        believe_queries(talk);
        exchange_rcode_error(talk->seat, rcode, talk->seat->zone, &err);
        fail_rest(talk, &err);
        return;
    }
    if (open_count(talk, talk->sent) < 2) {
        end_sent(talk, rcode);
        return;
    }
    size_t middle = talk->sent.from + (talk->sent.to - talk->sent.from) / 2;
    push_range(talk, middle, talk->sent.to);
    push_range(talk, talk->sent.from, middle);
}

static void finish(struct talk *talk)
{
    struct item *item = &talk->items[talk->at++];
    talk->step = STEP_CHECK;
    item->change->outcome = (struct outcome){
        .is_done = true,
        .was_created = item->change->op == CHANGE_SET && !item->was_there,
        .was_absent = item_is_unseen_removal(item),
    };
}

static void fail_check(struct talk *talk, const struct error *error)
{
    talk->step = STEP_CHECK;
    fail(talk, &talk->items[talk->at++], error);
}

static void refuse_dropped(struct talk *talk, const char *shown)
{
    struct error err;
    const struct item *item = &talk->items[talk->at];
    exchange_spec_error(&err, "INVALID_RECORD",
                        "%s: the server accepted the change without making it: it holds %s",
                        about(talk, item), shown);
    fail_check(talk, &err);
}

static void refuse_hidden(struct talk *talk, struct text delegation)
{
    struct error err;
    item_hidden_error(&talk->items[talk->at], delegation,
                      "not with this record, which it took: delete one of the two", &err);
    fail_check(talk, &err);
}

static bool holds(const struct held *held, const struct record_set *set)
{
    return held->set && !held->is_split && record_set_equal(held->set, set);
}

static void hear_check(struct talk *talk, const struct answer *answer)
{
    const struct item *item = &talk->items[talk->at];
    bool is_removal = item->change->op == CHANGE_REMOVE;
    struct held held;
    struct error err;
    if (!read_held(talk, answer, item, &held, &err))
        fail_check(talk, &err);
    else if (is_removal && (held.set || is_hidden(&held)))
        talk->step = STEP_PROBE;
    else if (is_removal || holds(&held, &item->change->set))
        finish(talk);
    else if (is_hidden(&held))
        refuse_hidden(talk, held.delegation);
    else if (held.set || item->change->set.type != RECORD_CNAME)
        refuse_dropped(talk, held.shown);
    else
        talk->step = STEP_SHOW;
}

static void hear_show(struct talk *talk, const struct answer *answer)
{
    struct held held;
    struct error err;
    bool is_known = read_held(talk, answer, &talk->items[talk->at], &held, &err);
    refuse_dropped(talk, is_known ? held.shown : "other data at the name");
}

static void hear_probe(struct talk *talk, const struct answer *answer)
{
    const struct item *item = &talk->items[talk->at];
    struct error err;
    if (answer->message.rcode == RCODE_NOERROR) {
        finish(talk);
        return;
    }
    if (answer->message.rcode == RCODE_YXRRSET) {
        refuse_dropped(talk, "the record set still");
        return;
    }
    exchange_rcode_error(talk->seat, answer->message.rcode, about(talk, item), &err);
    fail_check(talk, &err);
}

static void hear_health(struct talk *talk, const struct answer *answer)
{
    const struct message *message = &answer->message;
    struct error err;
    talk->step = STEP_DONE;
    talk->job->health = (struct outcome){.is_done = true};
    if (message->rcode == RCODE_NOERROR && message->is_authoritative && message->has_soa)
        return;
    if (message->rcode != RCODE_NOERROR)
        exchange_rcode_error(talk->seat, message->rcode, talk->seat->zone, &err);
    else
        exchange_again_error(&err, "ServerError",
                             "%s is not authoritative for the zone %s: check server and zone",
                             talk->seat->address, talk->seat->zone);
    fail_rest(talk, &err);
}

static void hear_answer(struct talk *talk, const struct answer *answer)
{
    static void (*const hearers[])(struct talk *, const struct answer *) = {
        [STEP_HEALTH] = hear_health, [STEP_QUERY] = hear_query, [STEP_UPDATE] = hear_update,
        [STEP_CHECK] = hear_check,   [STEP_SHOW] = hear_show,   [STEP_PROBE] = hear_probe,
    };
    talk->is_tcp = false;
    hearers[talk->step](talk, answer);
}

// What changes nothing may go out again; an UPDATE whose fate is unknown may not.
static bool try_tcp(struct talk *talk, bool is_worth_it)
{
    bool is_update = talk->step == STEP_UPDATE;
    if (talk->is_tcp || !is_worth_it || (is_update && sends_change(talk)))
        return false;
    if (is_update)
        push_range(talk, talk->sent.from, talk->sent.to);
    talk->is_tcp = true;
    return true;
}

// One answer is of no use; the next one may be.
static void skip(struct talk *talk, const struct error *error)
{
    talk->is_tcp = false;
    if (talk->step == STEP_QUERY)
        fail(talk, &talk->items[talk->at++], error);
    else if (talk->step == STEP_CHECK || talk->step == STEP_SHOW || talk->step == STEP_PROBE)
        fail_check(talk, error);
    else
        fail_rest(talk, error);
}

void rfc2136_hear(void *at, const struct moment *moment, const struct heard *heard)
{
    struct talk *talk = at;
    struct error err;
    struct answer answer = {.octets = heard->dns->octets};
    arena_reset(talk->arena);
    enum exchange_result result =
        exchange_read(&talk->exchange, talk->seat, heard->dns, moment->unix_ms, talk->arena,
                      &answer.message, &err);
    if (result == EXCHANGE_GOOD) {
        hear_answer(talk, &answer);
        return;
    }
    bool is_worth_it = result == EXCHANGE_TRUNCATED || result == EXCHANGE_HINT;
    if (try_tcp(talk, is_worth_it || heard->dns->is_timeout))
        return;
    if (result == EXCHANGE_TRUNCATED || result == EXCHANGE_UNREADABLE) {
        skip(talk, &err);
        return;
    }
    talk->job->is_transport_failure = result == EXCHANGE_NONE;
    fail_rest(talk, &err);
}
