#include <string.h>

#include "providers/pihole/exchange.h"

#define TAG "signpost:"

enum { OTHER_OWNERS_MAX = 32, REPORTED_MAX = 10000, UNKNOWN_TARGETS_MAX = 1000 };

struct census {
    struct job *job;
    struct instance_standing *standing;
    const struct list *list;
    struct value *unknown; // targets
};

static void add_text(struct arena *arena, struct value *list, struct text text)
{
    struct text copy = {arena_copy(arena, text.at, text.len), text.len};
    value_append(list, value_make_text(arena, copy));
}

// Pi-hole answers an alias only where it knows the target itself.
static void note_target(const struct census *census, const struct existing_set *existing)
{
    if (existing->set.type != RECORD_CNAME || !existing->is_ours)
        return;
    for (size_t i = 0; i < existing->set.value_count; i++) {
        struct text target = existing->set.values[i];
        if (!list_has_name(census->list, target) &&
            value_count(census->unknown) < UNKNOWN_TARGETS_MAX)
            add_text(census->job->arena, census->unknown, target);
    }
}

static void count_existing(void *context, const struct existing_set *existing)
{
    struct census *census = context;
    struct instance_standing *standing = census->standing;
    (existing->is_ours ? standing->ours : standing->others)[existing->set.type]++;
    note_target(census, existing);
    if (census->job->report_existing)
        census->job->report_existing(census->job->context, existing);
}

// ---- what other owners of Signpost's left there -------------------------------------------------

static struct text owner_of(struct text line)
{
    const char *mark = line.len ? memchr(line.at, '#', line.len) : NULL;
    if (!mark)
        return (struct text){0};
    struct text tag = text_trim((struct text){mark + 1, line.len - (size_t)(mark + 1 - line.at)});
    const size_t head = sizeof TAG - 1;
    if (!text_starts(tag, TAG) || tag.len == head)
        return (struct text){0};
    return (struct text){tag.at + head, tag.len - head};
}

static struct value *other_owners(struct exchange *exchange)
{
    struct arena *arena = exchange->job->arena;
    struct value *owners = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < list_count(exchange->list, LIST_HOSTS); i++) {
        struct text owner = owner_of(list_line(exchange->list, LIST_HOSTS, i));
        struct value *known = value_find_text(owners, owner);
        if (!owner.len || text_is(owner, exchange->instance->owner_id))
            continue;
        if (known)
            known->integer++;
        else if (value_count(owners) < OTHER_OWNERS_MAX)
            value_set(owners, (struct text){arena_copy(arena, owner.at, owner.len), owner.len},
                      value_make_int(arena, 1));
    }
    return owners;
}

// ---- what a visitor wants to know ---------------------------------------------------------------

static void add_line(struct exchange *exchange, struct value *lines, struct text line)
{
    if (value_count(lines) < REPORTED_MAX)
        add_text(exchange->job->arena, lines, line);
}

static void put_plain_aliases(struct exchange *exchange, struct value *answer)
{
    struct arena *arena = exchange->job->arena;
    struct value *plain =
        value_put(arena, answer, "visit.plainAliases", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < list_count(exchange->list, LIST_CNAMES); i++)
        if (list_is_plain(exchange->list, LIST_CNAMES, i))
            add_line(exchange, plain, list_line(exchange->list, LIST_CNAMES, i));
}

static void put_visit(struct exchange *exchange, struct value *answer)
{
    struct arena *arena = exchange->job->arena;
    struct value *left = value_put(arena, answer, "visit.left", value_make(arena, VALUE_LIST));
    struct value *plain = value_put(arena, answer, "visit.plain", value_make(arena, VALUE_LIST));
    int64_t ours = 0;
    for (size_t i = 0; i < list_count(exchange->list, LIST_HOSTS); i++) {
        struct text line = list_line(exchange->list, LIST_HOSTS, i);
        struct text owner = owner_of(line);
        bool is_ours = text_is(owner, exchange->instance->owner_id);
        ours += is_ours;
        if (owner.len && !is_ours)
            add_line(exchange, left, line);
        else if (list_is_plain(exchange->list, LIST_HOSTS, i))
            add_line(exchange, plain, line);
    }
    put_plain_aliases(exchange, answer);
    value_put_int(arena, answer, "visit.ours", ours);
    value_put_bool(arena, answer, "visit.believesAnyKey", pin_is_open(exchange));
    value_put_int(arena, answer, "visit.aliases",
                  (int64_t)exchange->instance->standing.ours[RECORD_CNAME]);
    for (int part = 0; part < LIST_PARTS; part++)
        value_put_bool(arena, answer,
                       arena_printf(arena, "visit.forced.%s", list_part_key((enum list_part)part)),
                       exchange->instance->is_forced[part]);
}

// ---- the answer ---------------------------------------------------------------------------------

static int64_t sum(const size_t counts[RECORD_TYPES])
{
    size_t all = 0;
    for (size_t i = 0; i < RECORD_TYPES; i++)
        all += counts[i];
    return (int64_t)all;
}

static const struct value *make_answer(struct exchange *exchange, struct value *unknown)
{
    struct arena *arena = exchange->job->arena;
    const struct pihole_instance *instance = exchange->instance;
    struct value *answer = value_make(arena, VALUE_MAP);
    value_put_text(arena, answer, "dialect", instance->dialect == DIALECT_LEGACY ? "legacy" : "v6");
    if (instance->seats_in_use >= 0)
        value_put_int(arena, answer, "seatsInUse", instance->seats_in_use);
    if (instance->dns_port)
        value_put_int(arena, answer, "dnsPort", instance->dns_port);
    value_put_bool(arena, answer, "hostsRestart", instance_restarts(instance, LIST_HOSTS));
    for (int part = 0; part < LIST_PARTS; part++)
        value_put_int(arena, answer,
                      arena_printf(arena, "lines.%s", list_part_key((enum list_part)part)),
                      (int64_t)list_count(exchange->list, (enum list_part)part));
    value_put_int(arena, answer, "records.owned", sum(instance->standing.ours));
    value_put_int(arena, answer, "records.foreign", sum(instance->standing.others));
    value_put(arena, answer, "otherOwners", other_owners(exchange));
    value_put(arena, answer, "unknownTargets", unknown);
    if (instance->is_visitor)
        put_visit(exchange, answer);
    return answer;
}

void health_answer(struct exchange *exchange)
{
    struct job *job = exchange->job;
    struct census census = {job, &exchange->instance->standing, exchange->list,
                            value_make(job->arena, VALUE_LIST)};
    *census.standing = (struct instance_standing){0};
    list_report(exchange->list, count_existing, &census);
    job->health = (struct outcome){.is_done = true};
    job->answer = make_answer(exchange, census.unknown);
}

void health_report(struct exchange *exchange)
{
    health_answer(exchange);
    strangers_note(&exchange->instance->strangers, exchange->list, NULL);
    exchange->job->is_listed = true;
    bool can_pay = exchange->instance->restart.phase == RESTART_NONE &&
                   !instance_is_blocked(exchange->instance);
    if (!can_pay || !restart_pay(exchange))
        health_finish(exchange);
}

void health_finish(struct exchange *exchange)
{
    if (instance_is_blocked(exchange->instance)) {
        preflight_trouble(exchange);
        return;
    }
    if (blame_still_holds(exchange) ||
        (exchange->instance->is_visitor && blame_foresees(exchange))) {
        blame_trouble(exchange);
        return;
    }
    if (exchange->instance->has_listed)
        changes_end_first_sync(exchange);
    exchange->instance->has_listed = true;
    exchange_done(exchange);
}
