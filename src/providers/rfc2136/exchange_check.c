#include "providers/rfc2136/exchange.h"

static void finish(struct exchange *exchange)
{
    struct item *item = &exchange->items[exchange->at++];
    exchange->step = STEP_CHECK;
    if (item->change->op == CHANGE_REMOVE)
        item_end_removed(item);
    else
        item->change->outcome = (struct outcome){.is_done = true, .was_created = !item->was_there};
}

void exchange_fail_check(struct exchange *exchange, const struct error *error)
{
    exchange->step = STEP_CHECK;
    exchange_fail(exchange, &exchange->items[exchange->at++], error);
}

static void refuse_dropped(struct exchange *exchange, const char *shown)
{
    struct error err;
    const struct item *item = &exchange->items[exchange->at];
    signed_exchange_spec_error(&err, "INVALID_RECORD",
                               "%s: the server accepted the change without making it: it holds %s",
                               exchange_about(exchange, item), shown);
    exchange_fail_check(exchange, &err);
}

static void refuse_hidden(struct exchange *exchange, struct text delegation)
{
    struct error err;
    item_hidden_error(&exchange->items[exchange->at], delegation,
                      "not with this record, which it took: delete one of the two", &err);
    exchange_fail_check(exchange, &err);
}

static bool read_item_set(struct exchange *exchange, const struct answer *answer,
                          struct answered_set *answered, struct error *err)
{
    const struct item *item = &exchange->items[exchange->at];
    return exchange_read_set(exchange, answer, item, item->name, item->change->set.type, answered,
                             err);
}

void exchange_handle_check(struct exchange *exchange, const struct answer *answer)
{
    const struct item *item = &exchange->items[exchange->at];
    bool is_removal = item->change->op == CHANGE_REMOVE;
    struct answered_set answered;
    struct error err;
    if (!read_item_set(exchange, answer, &answered, &err))
        exchange_fail_check(exchange, &err);
    else if (is_removal && (answered.set || exchange_is_hidden(&answered)))
        exchange->step = STEP_PROBE;
    else if (is_removal || answered_set_equals(&answered, &item->change->set))
        finish(exchange);
    else if (exchange_is_hidden(&answered))
        refuse_hidden(exchange, answered.delegation);
    else if (answered.set || item->change->set.type != RECORD_CNAME)
        refuse_dropped(exchange, answered.shown);
    else
        exchange->step = STEP_SHOW;
}

void exchange_handle_show(struct exchange *exchange, const struct answer *answer)
{
    struct answered_set answered;
    struct error err;
    bool is_known = read_item_set(exchange, answer, &answered, &err);
    refuse_dropped(exchange, is_known ? answered.shown : "other data at the name");
}

void exchange_handle_probe(struct exchange *exchange, const struct answer *answer)
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
    signed_exchange_rcode_error(exchange->session, answer->message.rcode,
                                exchange_about(exchange, item), &err);
    exchange_fail_check(exchange, &err);
}
