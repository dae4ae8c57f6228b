#include "providers/rfc2136/exchange.h"

#include "base/must.h"
#include "providers/rfc2136/owned_item.h"

enum {
    MESSAGE_OCTETS_MAX = 65000, // leaves room for the answer that holds the same
    UPDATE_OCTETS_MAX = 64000,  // its records: header, question and TSIG come on top
};

// ---- sending ------------------------------------------------------------------------------------

void exchange_push_range(struct exchange *exchange, size_t from, size_t to)
{
    if (from == to)
        return;
    must(exchange->range_count < RANGES_MAX);
    exchange->ranges[exchange->range_count++] = (struct range){from, to};
}

// Does it go into an UPDATE of this step?
static bool is_due(const struct exchange *exchange, const struct item *item)
{
    bool is_proof = owned_item_is_proof(item);
    return item_is_open(item) && !item->is_sent && item->plan != PLAN_QUERY &&
           is_proof == (exchange->step == STEP_PROVE);
}

// As many open items as fit into one message; the rest of the range goes back. False when an item
// had to be refused (begin again), or none is open.
static bool fill_update(struct exchange *exchange, struct update *update, struct range range)
{
    struct error err;
    size_t octets = 0, count = 0, i = range.from;
    for (; i < range.to; i++) {
        struct item *item = &exchange->items[i];
        if (!is_due(exchange, item))
            continue;
        octets += item_octets(item);
        if (count && octets > UPDATE_OCTETS_MAX)
            break;
        if (!item_add(update, item, &err)) {
            item_refuse(item, exchange->job->arena, &err);
            exchange_push_range(exchange, range.from, range.to);
            return false;
        }
        count++;
    }
    exchange_push_range(exchange, i, range.to);
    exchange->sent = (struct range){range.from, i};
    return count;
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
        if (is_due(exchange, &exchange->items[i]))
            item_refuse(&exchange->items[i], exchange->job->arena, cause);
}

bool exchange_write_update(struct exchange *exchange, const struct moment *moment)
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
            exchange_sign(exchange, moment, &err) && fits(exchange, &err))
            return true;
        refuse_sent(exchange, &err);
    }
    return false;
}

// ---- answers ------------------------------------------------------------------------------------

static bool concerns_all(unsigned rcode)
{
    return rcode == RCODE_NOTAUTH || rcode == RCODE_NOTIMP;
}

static size_t open_count(const struct exchange *exchange, struct range range)
{
    size_t count = 0;
    for (size_t i = range.from; i < range.to; i++)
        count += is_due(exchange, &exchange->items[i]);
    return count;
}

static void take_sent(struct exchange *exchange, struct item *item)
{
    struct error err;
    if (owned_item_is_proof(item)) {
        owned_item_take_proof(item, exchange->job->arena);
        return;
    }
    if (item->plan == PLAN_REMOVE) { // and may be somebody else's by now
        item_end_removed(item);
        return;
    }
    item->is_sent = true;
    if (item->change->op != CHANGE_READ)
        return;
    if (item->found) {
        item_end_found(item);
        return;
    }
    item_hidden_error(item, item->delegation, "never with the record that the zone holds", &err);
    exchange_fail(exchange, item, &err);
}

bool exchange_sends_change(const struct exchange *exchange)
{
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (is_due(exchange, &exchange->items[i]) && exchange->items[i].change->op != CHANGE_READ &&
            !owned_item_is_proof(&exchange->items[i]))
            return true;
    return false;
}

static void mark_sent(struct exchange *exchange)
{
    exchange->session->has_updated |= exchange_sends_change(exchange);
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (is_due(exchange, &exchange->items[i]))
            take_sent(exchange, &exchange->items[i]);
}

// Does a query tell enough where no UPDATE is taken? Then none stands in the server's line either.
static bool is_shown(const struct item *item)
{
    return item->found || owned_item_is_proof(item) ||
           (item->plan == PLAN_PLAIN && item_is_unseen_removal(item));
}

static void believe_query(struct exchange *exchange, struct item *item)
{
    if (owned_item_is_proof(item))
        owned_item_take_proof(item, exchange->job->arena);
    else if (item->found)
        item_end_found(item);
    else
        item_end_absent(item);
}

static bool is_contradiction(unsigned rcode)
{
    return rcode == RCODE_YXDOMAIN || rcode == RCODE_YXRRSET || rcode == RCODE_NXRRSET ||
           rcode == RCODE_NXDOMAIN;
}

static void end_item(struct exchange *exchange, struct item *item, unsigned rcode)
{
    struct error err;
    if (item->plan != PLAN_PLAIN && is_contradiction(rcode)) {
        owned_item_take_contradiction(item, exchange->job->arena, rcode);
        return;
    }
    if (rcode == RCODE_NXRRSET && item->change->op != CHANGE_SET) {
        item_end_absent(item);
        return;
    }
    if (rcode == RCODE_REFUSED && is_shown(item)) { // who may not update can still read
        believe_query(exchange, item);
        return;
    }
    if (rcode == RCODE_REFUSED)
        signed_exchange_refused_record_error(exchange->session, exchange_about(exchange, item),
                                             &err);
    else
        signed_exchange_rcode_error(exchange->session, rcode, exchange_about(exchange, item), &err);
    exchange_fail(exchange, item, &err);
}

static void believe_queries(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->count; i++)
        if (item_is_open(&exchange->items[i]) && is_shown(&exchange->items[i]))
            believe_query(exchange, &exchange->items[i]);
}

static void end_sent(struct exchange *exchange, unsigned rcode)
{
    for (size_t i = exchange->sent.from; i < exchange->sent.to; i++)
        if (is_due(exchange, &exchange->items[i]))
            end_item(exchange, &exchange->items[i], rcode);
}

void exchange_handle_update(struct exchange *exchange, const struct answer *answer)
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
        exchange_fail_rest(exchange, &err);
        return;
    }
    if (open_count(exchange, exchange->sent) < 2) {
        end_sent(exchange, rcode);
        return;
    }
    size_t middle = exchange->sent.from + (exchange->sent.to - exchange->sent.from) / 2;
    exchange_push_range(exchange, middle, exchange->sent.to);
    exchange_push_range(exchange, exchange->sent.from, middle);
}
