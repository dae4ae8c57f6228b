#include "providers/rfc2136/exchange.h"

#include <string.h>

#include "providers/rfc2136/owned_item.h"

static bool is_usable(const struct message *message)
{
    return message->rcode == RCODE_NOERROR || message->rcode == RCODE_NXDOMAIN;
}

bool exchange_read_set(struct exchange *exchange, const struct answer *answer,
                       const struct item *item, struct text name, enum record_type type,
                       struct answered_set *answered, struct error *err)
{
    if (!is_usable(&answer->message)) {
        signed_exchange_rcode_error(exchange->session, answer->message.rcode,
                                    exchange_about(exchange, item), err);
        return false;
    }
    *answered = answered_set_read(exchange->arena, answer->octets, &answer->message, exchange->zone,
                                  name, type);
    return answered->is_authoritative ||
           signed_exchange_again_error(err, "ServerError",
                                       "%s: %s is not authoritative for it: check server and zone",
                                       exchange_about(exchange, item), exchange->session->address);
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

bool exchange_is_hidden(const struct answered_set *answered)
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
        exchange_fail(exchange, item, &err);
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

static void take_answer(struct exchange *exchange, struct item *item,
                        const struct answered_set *answered)
{
    item->was_there = answered->set;
    item->is_as_wanted =
        item->change->op == CHANGE_SET && answered_set_equals(answered, &item->change->set);
    if (exchange_is_hidden(answered))
        handle_hidden(exchange, item, answered);
    else if (item->change->op == CHANGE_READ && !answered->set)
        item_end_absent(item);
    else if (item->change->op == CHANGE_READ)
        handle_found(exchange, item, answered);
    else if (is_apex_servers(exchange, item) && answered->set)
        item->surplus = surplus_of(exchange, item, answered->set);
}

void exchange_fail_query(struct exchange *exchange, const struct error *error)
{
    exchange->step = STEP_QUERY;
    exchange_fail(exchange, &exchange->items[exchange->at++], error);
}

void exchange_handle_query(struct exchange *exchange, const struct answer *answer)
{
    struct item *item = &exchange->items[exchange->at];
    struct answered_set answered;
    struct error err;
    if (!exchange_read_set(exchange, answer, item, item->name, item->change->set.type, &answered,
                           &err)) {
        exchange_fail_query(exchange, &err);
        return;
    }
    take_answer(exchange, item, &answered);
    if (item_is_open(item) && item->plan == PLAN_QUERY)
        exchange->step = STEP_OWNERSHIP;
    else
        exchange->at++;
}

static void refuse_hidden_ownership(struct exchange *exchange, const struct item *item,
                                    struct text delegation)
{
    struct error err;
    signed_exchange_spec_error(&err, "INVALID_RECORD",
                               "%s: its ownership record (TXT %.*s) would lie below the delegation "
                               "%.*s, where no query shows it",
                               exchange_about(exchange, item), TEXT_ARGS(item->txt_name),
                               TEXT_ARGS(delegation));
    exchange_fail_query(exchange, &err);
}

void exchange_handle_ownership(struct exchange *exchange, const struct answer *answer)
{
    struct item *item = &exchange->items[exchange->at];
    struct answered_set answered;
    struct error err;
    if (!exchange_read_set(exchange, answer, item, item->txt_name, RECORD_TXT, &answered, &err)) {
        exchange_fail_query(exchange, &err);
        return;
    }
    if (exchange_is_hidden(&answered) && item->change->op == CHANGE_SET) {
        refuse_hidden_ownership(exchange, item, answered.delegation);
        return;
    }
    item->txt = answered.set ? copy_set(exchange->job->arena, answered.set) : NULL;
    owned_item_plan(item, exchange->job->arena);
    exchange->step = STEP_QUERY;
    exchange->at++;
}
