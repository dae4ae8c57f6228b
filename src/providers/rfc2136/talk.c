#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/rfc2136/exchange.h"
#include "providers/rfc2136/held.h"

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
    STEP_PROBE, // is it really there, or does a wildcard answer?
    STEP_DONE,
};

// One change. It is open until its outcome is known.
struct item {
    struct change *change;
    struct text name;
    bool was_there;
    bool is_sent;                    // an UPDATE with it was answered NOERROR
    const struct record_set *before; // REMOVE: what was there
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

static bool is_open(const struct item *item)
{
    return !item->change->outcome.is_done && !item->change->outcome.error;
}

static void fail(struct talk *talk, struct item *item, const struct error *error)
{
    struct error *copy = arena_new_of(talk->job->arena, struct error);
    *copy = *error;
    item->change->outcome = (struct outcome){.error = copy};
}

// ---- beginning ----------------------------------------------------------------------------------

static bool accept(struct talk *talk, struct item *item, struct error *err)
{
    const struct record_set *set = &item->change->set;
    struct error cause;
    if (!record_name_join(talk->job->arena, set->domain, set->subdomain, &item->name, &cause))
        return exchange_spec_error(err, "INVALID_DOMAIN", "%s", cause.text);
    if (!name_is_within(item->name, talk->zone))
        return exchange_spec_error(err, "INVALID_DOMAIN", "%.*s lies outside of the zone %s",
                                   TEXT_ARGS(item->name), talk->seat->zone);
    if (item->change->op == CHANGE_SET && set->type == RECORD_CNAME &&
        text_equal(item->name, talk->zone))
        return exchange_spec_error(err, "INVALID_RECORD",
                                   "a CNAME cannot stand at the zone's apex %s: use A and AAAA",
                                   talk->seat->zone);
    return true;
}

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
        if (!accept(talk, &talk->items[i], &err))
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
        if (is_open(&talk->items[i]))
            fail(talk, &talk->items[i], error);
}

static const char *about(struct talk *talk, const struct item *item)
{
    return arena_printf(talk->arena, "%.*s %s", TEXT_ARGS(item->name),
                        record_type_name(item->change->set.type));
}

// ---- updates ------------------------------------------------------------------------------------

static void push_range(struct talk *talk, size_t from, size_t to)
{
    if (from == to)
        return;
    must(talk->range_count < RANGES_MAX);
    talk->ranges[talk->range_count++] = (struct range){from, to};
}

// No less than what the item takes in a message, names written out.
static size_t octets_of(const struct item *item)
{
    enum { RR_FIXED = 10, NUMBERS = 6, ADDRESS = 16 };
    const struct record_set *set = &item->change->set;
    size_t bare = item->name.len + 2 + RR_FIXED;
    size_t octets = bare;
    if (item->change->op != CHANGE_SET)
        return octets;
    for (size_t i = 0; i < set->value_count; i++)
        octets += bare + NUMBERS + ADDRESS + set->values[i].len + txt_string_count(set->values[i]);
    return octets;
}

static bool add_item(struct update *update, const struct item *item, struct error *err)
{
    const struct record_set *set = &item->change->set;
    return update_delete_set(update, item->name, set->type, err) &&
           (item->change->op != CHANGE_SET || update_add_set(update, item->name, set, err));
}

static void refuse_item(struct talk *talk, struct item *item, const struct error *cause)
{
    struct error error;
    exchange_spec_error(&error, "INVALID_RECORD", "%s", cause->text);
    fail(talk, item, &error);
}

// As many open items as fit into one message; the rest of the range goes back. False when an item
// had to be refused (begin again), or none is open.
static bool fill_update(struct talk *talk, struct update *update, struct range range)
{
    struct error err;
    size_t octets = 0, count = 0, i = range.from;
    for (; i < range.to; i++) {
        struct item *item = &talk->items[i];
        if (!is_open(item))
            continue;
        octets += octets_of(item);
        if (count && octets > UPDATE_OCTETS_MAX)
            break;
        if (!add_item(update, item, &err)) {
            refuse_item(talk, item, &err);
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
        if (is_open(&talk->items[i]))
            refuse_item(talk, &talk->items[i], cause);
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
           (!is_open(&talk->items[talk->at]) || talk->items[talk->at].is_sent != is_sent))
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

static void take_found(struct talk *talk, struct change *change, const struct held *held)
{
    change->outcome.is_done = true;
    change->outcome.was_absent = !held->set;
    if (!held->set)
        return;
    struct record_set *found = copy_set(talk->job->arena, held->set);
    found->domain = change->set.domain;
    found->subdomain = change->set.subdomain;
    change->outcome.found = found;
}

static bool has_name(struct arena *arena, const struct record_set *set, struct text name)
{
    for (size_t i = 0; i < set->value_count; i++)
        if (text_equal(record_value_canonical(arena, set->type, set->values[i]), name))
            return true;
    return false;
}

// RFC 2136 3.4.2: an UPDATE never takes the apex's NS set away, it only adds to it.
static bool apex_would_keep_more(const struct talk *talk, const struct item *item,
                                 const struct held *held)
{
    const struct record_set *set = &item->change->set;
    if (set->type != RECORD_NS || !held->set || !text_equal(item->name, talk->zone))
        return false;
    for (size_t i = 0; i < held->set->value_count; i++)
        if (item->change->op == CHANGE_REMOVE || !has_name(talk->arena, set, held->set->values[i]))
            return true;
    return false;
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
    if (item->change->op == CHANGE_REMOVE && held.set)
        item->before = copy_set(talk->job->arena, held.set);
    if (item->change->op == CHANGE_READ)
        take_found(talk, item->change, &held);
    else if (item->change->op == CHANGE_REMOVE && !held.set)
        item->change->outcome = (struct outcome){.is_done = true, .was_absent = true};
    else if (apex_would_keep_more(talk, item, &held)) {
        exchange_spec_error(&err, "INVALID_RECORD",
                            "%s: an UPDATE cannot remove name servers from the zone's apex, which "
                            "holds %s",
                            about(talk, item), held.shown);
        fail(talk, item, &err);
    }
}

static bool concerns_all(unsigned rcode)
{
    return rcode == RCODE_NOTAUTH || rcode == RCODE_NOTIMP;
}

static size_t open_count(const struct talk *talk, struct range range)
{
    size_t count = 0;
    for (size_t i = range.from; i < range.to; i++)
        count += is_open(&talk->items[i]);
    return count;
}

static void mark_sent(struct talk *talk)
{
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (is_open(&talk->items[i]))
            talk->items[i].is_sent = true;
}

static void fail_sent(struct talk *talk, unsigned rcode)
{
    struct error err;
    for (size_t i = talk->sent.from; i < talk->sent.to; i++)
        if (is_open(&talk->items[i])) {
            exchange_rcode_error(talk->seat, rcode, about(talk, &talk->items[i]), &err);
            fail(talk, &talk->items[i], &err);
        }
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
        exchange_rcode_error(talk->seat, rcode, talk->seat->zone, &err);
        fail_rest(talk, &err);
        return;
    }
    if (open_count(talk, talk->sent) < 2) {
        fail_sent(talk, rcode);
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
        .was_absent = item->change->op == CHANGE_REMOVE && !item->was_there,
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

// If it is really gone then a wildcard answers; if that answered before, nothing was there.
static void suspect_wildcard(struct talk *talk, struct item *item, const struct record_set *after)
{
    item->was_there = !record_set_equal(item->before, after);
    talk->step = STEP_PROBE;
}

static void hear_check(struct talk *talk, const struct answer *answer)
{
    struct item *item = &talk->items[talk->at];
    struct held held;
    struct error err;
    if (!read_held(talk, answer, item, &held, &err))
        fail_check(talk, &err);
    else if (item->change->op == CHANGE_REMOVE && held.set)
        suspect_wildcard(talk, item, held.set);
    else if (item->change->op == CHANGE_REMOVE ||
             (held.set && !held.is_split && record_set_equal(held.set, &item->change->set)))
        finish(talk);
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

// A query may go out again; an UPDATE whose fate is unknown may not.
static bool try_tcp(struct talk *talk, bool is_worth_it)
{
    bool is_update = talk->step == STEP_UPDATE || talk->step == STEP_PROBE;
    if (talk->is_tcp || is_update || !is_worth_it)
        return false;
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
