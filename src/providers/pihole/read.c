#include "providers/pihole/talk.h"

static void leave_out(struct talk *talk, const struct left_out *left)
{
    for (size_t i = 0; i < list_count(talk->list, left->part); i++)
        if (text_equal(list_line(talk->list, left->part, i), left->line))
            list_leave_out(talk->list, left->part, i);
}

static void note_others(struct talk *talk)
{
    struct seat_others *others = &talk->seat->others;
    struct content_id lines = list_others(talk->list);
    if (others->is_known && !content_id_equal(lines, others->lines))
        others->changed_ms = talk->moment->mono_ms;
    others->lines = lines;
    others->is_known = true;
}

void read_take(struct talk *talk, const struct value *hosts, const struct value *cnames)
{
    struct error why;
    struct list_rules rules = seat_rules(talk->seat, talk->job->ledger);
    rules.written = &talk->lines;
    struct list *list = list_read(&rules, hosts, cnames, &why);
    if (!list) {
        talk_trouble(talk, TROUBLE_FAILED, "not a Pi-hole API at %s: %s", talk->seat->base,
                     why.text);
        return;
    }
    revision_free(steal(talk->revision));
    list_free(talk->list);
    talk->list = list;
    talk->written = 0;
    for (size_t i = 0; i < talk->left_out_count; i++)
        leave_out(talk, &talk->left_out[i]);
    note_others(talk);
    if (talk->job->kind == JOB_HEALTH)
        health_tell(talk);
    else
        changes_draw(talk);
}

void read_hear(struct talk *talk)
{
    const struct value *dns = value_at(talk->reply.tree, "config.dns", NULL);
    if (talk->reply.kind == REPLY_OK && !value_find(dns, "hosts"))
        talk->reply.kind = REPLY_STRANGE;
    if (talk->reply.kind != REPLY_OK) {
        talk_trouble_of_reply(talk);
        return;
    }
    talk->seat->hosts_are_local = value_bool_at(dns, "hostsLocal", talk->seat->hosts_are_local);
    talk->seat->dns_port = value_int_at(dns, "port", 0);
    read_take(talk, value_find(dns, "hosts"), value_find(dns, "cnameRecords"));
}
