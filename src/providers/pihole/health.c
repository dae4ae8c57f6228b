#include <string.h>

#include "providers/pihole/talk.h"

#define TAG "signpost:"

enum { OTHER_OWNERS_MAX = 32, TOLD_MAX = 10000, UNKNOWN_TARGETS_MAX = 1000 };

struct census {
    struct job *job;
    struct seat_standing *standing;
    const struct list *list;
    struct value *unknown; // targets
};

static void add_text(struct arena *arena, struct value *list, struct text text)
{
    struct text copy = {arena_copy(arena, text.at, text.len), text.len};
    value_append(list, value_make_text(arena, copy));
}

// Pi-hole answers an alias only where it knows the target itself.
static void note_target(const struct census *census, const struct holding *holding)
{
    if (holding->set.type != RECORD_CNAME || !holding->is_ours)
        return;
    for (size_t i = 0; i < holding->set.value_count; i++) {
        struct text target = holding->set.values[i];
        if (!list_has_name(census->list, target) &&
            value_count(census->unknown) < UNKNOWN_TARGETS_MAX)
            add_text(census->job->arena, census->unknown, target);
    }
}

static void count_holding(void *context, const struct holding *holding)
{
    struct census *census = context;
    struct seat_standing *standing = census->standing;
    (holding->is_ours ? standing->ours : standing->others)[holding->set.type]++;
    note_target(census, holding);
    if (census->job->holds)
        census->job->holds(census->job->context, holding);
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

static struct value *other_owners(struct talk *talk)
{
    struct arena *arena = talk->job->arena;
    struct value *owners = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < list_count(talk->list, LIST_HOSTS); i++) {
        struct text owner = owner_of(list_line(talk->list, LIST_HOSTS, i));
        struct value *known = value_find_text(owners, owner);
        if (!owner.len || text_is(owner, talk->seat->owner_id))
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

static void add_line(struct talk *talk, struct value *lines, struct text line)
{
    if (value_count(lines) < TOLD_MAX)
        add_text(talk->job->arena, lines, line);
}

static void put_plain_aliases(struct talk *talk, struct value *answer)
{
    struct arena *arena = talk->job->arena;
    struct value *plain =
        value_put(arena, answer, "visit.plainAliases", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < list_count(talk->list, LIST_CNAMES); i++)
        if (list_is_plain(talk->list, LIST_CNAMES, i))
            add_line(talk, plain, list_line(talk->list, LIST_CNAMES, i));
}

static void put_visit(struct talk *talk, struct value *answer)
{
    struct arena *arena = talk->job->arena;
    struct value *left = value_put(arena, answer, "visit.left", value_make(arena, VALUE_LIST));
    struct value *plain = value_put(arena, answer, "visit.plain", value_make(arena, VALUE_LIST));
    int64_t ours = 0;
    for (size_t i = 0; i < list_count(talk->list, LIST_HOSTS); i++) {
        struct text line = list_line(talk->list, LIST_HOSTS, i);
        struct text owner = owner_of(line);
        bool is_ours = text_is(owner, talk->seat->owner_id);
        ours += is_ours;
        if (owner.len && !is_ours)
            add_line(talk, left, line);
        else if (list_is_plain(talk->list, LIST_HOSTS, i))
            add_line(talk, plain, line);
    }
    put_plain_aliases(talk, answer);
    value_put_int(arena, answer, "visit.ours", ours);
    value_put_bool(arena, answer, "visit.believesAnyKey", pin_is_open(talk));
    value_put_int(arena, answer, "visit.aliases", (int64_t)talk->seat->standing.ours[RECORD_CNAME]);
    for (int part = 0; part < LIST_PARTS; part++)
        value_put_bool(arena, answer,
                       arena_printf(arena, "visit.forced.%s", list_part_key((enum list_part)part)),
                       talk->seat->is_forced[part]);
}

// ---- the answer ---------------------------------------------------------------------------------

static int64_t sum(const size_t counts[RECORD_TYPES])
{
    size_t all = 0;
    for (size_t i = 0; i < RECORD_TYPES; i++)
        all += counts[i];
    return (int64_t)all;
}

static const struct value *make_answer(struct talk *talk, struct value *unknown)
{
    struct arena *arena = talk->job->arena;
    const struct pihole_seat *seat = talk->seat;
    struct value *answer = value_make(arena, VALUE_MAP);
    value_put_text(arena, answer, "dialect", seat->dialect == DIALECT_LEGACY ? "legacy" : "v6");
    if (seat->seats_in_use >= 0)
        value_put_int(arena, answer, "seatsInUse", seat->seats_in_use);
    if (seat->dns_port)
        value_put_int(arena, answer, "dnsPort", seat->dns_port);
    value_put_bool(arena, answer, "hostsRestart", seat_restarts(seat, LIST_HOSTS));
    for (int part = 0; part < LIST_PARTS; part++)
        value_put_int(arena, answer,
                      arena_printf(arena, "lines.%s", list_part_key((enum list_part)part)),
                      (int64_t)list_count(talk->list, (enum list_part)part));
    value_put_int(arena, answer, "records.owned", sum(seat->standing.ours));
    value_put_int(arena, answer, "records.foreign", sum(seat->standing.others));
    value_put(arena, answer, "otherOwners", other_owners(talk));
    value_put(arena, answer, "unknownTargets", unknown);
    if (seat->is_visitor)
        put_visit(talk, answer);
    return answer;
}

void health_answer(struct talk *talk)
{
    struct job *job = talk->job;
    struct census census = {job, &talk->seat->standing, talk->list,
                            value_make(job->arena, VALUE_LIST)};
    *census.standing = (struct seat_standing){0};
    list_tell(talk->list, count_holding, &census);
    job->health = (struct outcome){.is_done = true};
    job->answer = make_answer(talk, census.unknown);
}

void health_tell(struct talk *talk)
{
    health_answer(talk);
    strangers_note(&talk->seat->strangers, talk->list, NULL);
    talk->job->is_listed = true;
    bool can_pay = talk->seat->restart.phase == RESTART_NONE && !seat_is_blocked(talk->seat);
    if (!can_pay || !restart_pay(talk))
        health_finish(talk);
}

void health_finish(struct talk *talk)
{
    if (seat_is_blocked(talk->seat)) {
        preflight_trouble(talk);
        return;
    }
    if (blame_still_holds(talk) || (talk->seat->is_visitor && blame_foresees(talk))) {
        blame_trouble(talk);
        return;
    }
    if (talk->seat->has_listed)
        changes_end_first_sync(talk);
    talk->seat->has_listed = true;
    talk_done(talk);
}
