#include "providers/pihole/exchange.h"

static void leave_out(struct exchange *exchange, const struct left_out *left)
{
    for (size_t i = 0; i < list_count(exchange->list, left->part); i++)
        if (text_equal(list_line(exchange->list, left->part, i), left->line))
            list_leave_out(exchange->list, left->part, i);
}

static void note_others(struct exchange *exchange)
{
    struct seat_others *others = &exchange->instance->others;
    struct content_id lines = list_others(exchange->list);
    if (others->is_known && !content_id_equal(lines, others->lines))
        others->changed_ms = exchange->moment->mono_ms;
    others->lines = lines;
    others->is_known = true;
}

void read_take(struct exchange *exchange, const struct value *hosts, const struct value *cnames)
{
    struct error why;
    struct list_rules rules = instance_rules(exchange->instance, exchange->job->ledger);
    rules.written = &exchange->lines;
    struct list *list = list_read(&rules, hosts, cnames, &why);
    if (!list) {
        exchange_trouble(exchange, TROUBLE_FAILED, "not a Pi-hole API at %s: %s",
                         exchange->instance->base, why.text);
        return;
    }
    revision_free(steal(exchange->revision));
    list_free(exchange->list);
    exchange->list = list;
    exchange->written = 0;
    for (size_t i = 0; i < exchange->left_out_count; i++)
        leave_out(exchange, &exchange->left_out[i]);
    note_others(exchange);
    if (exchange->job->kind == JOB_HEALTH)
        health_report(exchange);
    else
        changes_draw(exchange);
}

void read_handle_reply(struct exchange *exchange)
{
    const struct value *dns = value_at(exchange->reply.tree, "config.dns", NULL);
    if (exchange->reply.kind == REPLY_OK && !value_find(dns, "hosts"))
        exchange->reply.kind = REPLY_STRANGE;
    if (exchange->reply.kind != REPLY_OK) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    exchange->instance->hosts_are_local =
        value_bool_at(dns, "hostsLocal", exchange->instance->hosts_are_local);
    exchange->instance->dns_port = value_int_at(dns, "port", 0);
    read_take(exchange, value_find(dns, "hosts"), value_find(dns, "cnameRecords"));
}
