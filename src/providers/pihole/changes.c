#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/when.h"
#include "providers/pihole/talk.h"

#define FIRST_SYNC "first-sync"

enum {
    MISMATCHES_MAX = 3,
    REFUSED_RETRY_MS = 3600000,
    FORCED_RETRY_MS = 60000,
    SHARED_MS = 120000, // so long after a change of somebody else's that was seen
};

bool change_is_open(const struct change *change)
{
    return !change->outcome.is_done && !change->outcome.error;
}

static struct item *item_of(const struct talk *talk, const struct change *change)
{
    return &talk->items[change - talk->job->changes];
}

void changes_set_apart(struct talk *talk, struct change *change, const struct error *error)
{
    struct error *copy = arena_new_of(talk->job->arena, struct error);
    *copy = *error;
    change->outcome = (struct outcome){.error = copy};
}

void changes_refuse(struct talk *talk, struct change *change, int status, const char *format, ...)
{
    struct error error;
    va_list args;
    va_start(args, format);
    error_setv(&error, FAULT_SPEC, "RecordRefused", format, args);
    va_end(args);
    error.retry_ms = REFUSED_RETRY_MS;
    error.status = status;
    changes_set_apart(talk, change, &error);
}

// ---- beginning and end --------------------------------------------------------------------------

// A predecessor's lines become ours once, while this owner is new to this Pi-hole.
static bool is_first_sync(const struct talk *talk)
{
    const struct ledger_view *ledger = talk->job->ledger;
    return talk->seat->may_adopt && ledger && !ledger->recall(ledger->context, FIRST_SYNC);
}

void changes_end_first_sync(struct talk *talk)
{
    char now[WHEN_TEXT_MAX];
    const struct ledger_view *ledger = talk->job->ledger;
    if (!is_first_sync(talk))
        return;
    when_write(talk->moment->unix_ms / 1000, now);
    ledger->keep(ledger->context, FIRST_SYNC, now);
}

void changes_begin(struct talk *talk)
{
    struct job *job = talk->job;
    bool may_adopt = job->is_by_hand || is_first_sync(talk);
    talk->items = arena_new_array(job->arena, struct item, job->change_count + 1);
    talk->selected = arena_new_array(job->arena, struct change *, job->change_count + 1);
    for (size_t i = 0; i < job->change_count; i++) {
        struct change *change = &job->changes[i];
        talk->items[i].key = record_set_key_hash(&change->set);
        change->outcome = (struct outcome){0};
        change->may_adopt &= may_adopt;
        if (!list_has_type(change->set.type))
            changes_refuse(talk, change, 0, "Pi-hole holds A, AAAA and CNAME records, no %s",
                           record_type_name(change->set.type));
    }
}

static bool was_unanswered(const struct pihole_seat *seat, uint64_t key)
{
    for (size_t i = 0; i < seat->unanswered.count; i++)
        if (seat->unanswered.keys[i] == key)
            return true;
    return false;
}

// Nobody told us what became of these: the next talk will see.
static void note_unanswered(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    const struct job *job = talk->job;
    for (size_t i = 0; i < job->change_count; i++) {
        const struct item *item = &talk->items[i];
        if (!item->is_sent || !change_is_open(&job->changes[i]) ||
            was_unanswered(seat, item->key) || seat->unanswered.count >= PIHOLE_CHANGES_MAX)
            continue;
        mem_reserve(&seat->unanswered.keys, &seat->unanswered.capacity, seat->unanswered.count + 1);
        seat->unanswered.keys[seat->unanswered.count++] = item->key;
    }
}

void changes_end(struct talk *talk)
{
    if (talk->items)
        note_unanswered(talk);
    revision_free(talk->revision);
    list_free(talk->list);
    line_set_done(&talk->lines);
}

static bool has_hosts(const struct job *job)
{
    for (size_t i = 0; i < job->change_count; i++)
        if (list_has_type(job->changes[i].set.type) &&
            list_part_of(job->changes[i].set.type) == LIST_HOSTS)
            return true;
    return false;
}

void changes_finish(struct talk *talk)
{
    if (restart_pay(talk))
        return;
    if (talk->removes_only) {
        blame_trouble(talk);
        return;
    }
    if (talk->job->change_count < PIHOLE_CHANGES_MAX && has_hosts(talk->job) &&
        !talk->job->is_by_hand)
        changes_end_first_sync(talk);
    talk->seat->unanswered.count = 0;
    talk_done(talk);
}

// ---- what is read only --------------------------------------------------------------------------

struct look {
    struct talk *talk;
    struct change *change;
};

static void look_at(void *context, const struct holding *holding)
{
    struct look *look = context;
    struct outcome *outcome = &look->change->outcome;
    if (!record_set_is_same_key(&holding->set, &look->change->set) ||
        (outcome->found && !holding->is_ours))
        return;
    struct record_set *found = arena_new_of(look->talk->job->arena, struct record_set);
    *found = record_set_copy(look->talk->job->arena, &holding->set);
    *outcome = (struct outcome){.is_done = true, .found = found};
}

static void answer_reads(struct talk *talk)
{
    for (size_t i = 0; i < talk->job->change_count; i++) {
        struct change *change = &talk->job->changes[i];
        struct look look = {talk, change};
        if (change->op != CHANGE_READ || !change_is_open(change))
            continue;
        change->outcome = (struct outcome){.is_done = true, .was_absent = true};
        list_tell(talk->list, look_at, &look);
    }
}

// ---- selecting ----------------------------------------------------------------------------------

static void refuse_forced(struct talk *talk, struct change *change)
{
    struct error error;
    error_set(&error, FAULT_AUTH, "PiholeReadOnly", "%s",
              preflight_forced_text(talk, list_part_of(change->set.type)));
    error.retry_ms = FORCED_RETRY_MS;
    changes_set_apart(talk, change, &error);
}

// False: it never will be, and has its outcome.
static bool can_be_written(struct talk *talk, struct change *change)
{
    enum list_part part = list_part_of(change->set.type);
    if (talk->seat->dialect == DIALECT_LEGACY && part == LIST_CNAMES)
        changes_refuse(talk, change, 0, "Pi-hole at %s speaks its API of old, without CNAMEs",
                       talk->seat->base);
    else if (talk->seat->is_forced[part])
        refuse_forced(talk, change);
    else
        return true;
    return false;
}

static size_t select_suspects(struct talk *talk)
{
    size_t count = bisect_next(&talk->bisect);
    for (size_t i = 0; i < count; i++)
        talk->selected[i] = talk->bisect.changes[talk->bisect.low + i];
    return count;
}

static size_t select_open(struct talk *talk)
{
    size_t count = 0;
    for (size_t i = 0; i < talk->job->change_count; i++) {
        struct change *change = &talk->job->changes[i];
        bool is_suspect = talk->clears_rest && talk->items[i].is_suspect;
        if (change_is_open(change) && !is_suspect && can_be_written(talk, change) &&
            (change->op == CHANGE_REMOVE || !talk->removes_only))
            talk->selected[count++] = change;
    }
    return count;
}

// ---- revising -----------------------------------------------------------------------------------

// What an earlier write of ours came to is no news of the list's.
static void settle(struct talk *talk, struct change *change)
{
    const struct item *item = item_of(talk, change);
    struct outcome *outcome = &change->outcome;
    if (item->is_sent && (outcome->is_unchanged || (outcome->error && item->outcome.error))) {
        *outcome = item->outcome;
    } else if (outcome->is_unchanged && was_unanswered(talk->seat, item_of(talk, change)->key)) {
        outcome->is_unchanged = outcome->was_absent = false;
        outcome->was_created = change->op == CHANGE_SET;
    }
}

// Open until it is written and stands.
static void put_off(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++) {
        struct item *item = item_of(talk, changes[i]);
        if (!item->is_sent)
            item->outcome = changes[i]->outcome;
        changes[i]->outcome = (struct outcome){0};
    }
}

// What was written does not stand. Of what is left to write some has to be less each time.
static bool is_stuck(const struct talk *talk)
{
    size_t count, writes = revision_write_count(talk->revision);
    struct change *const *changes = revision_changes(talk->revision, &count);
    if (!talk->has_written || !writes)
        return false;
    if (!talk->has_all)
        return writes >= talk->planned;
    bool is_again = !count;
    for (size_t i = 0; i < count && !is_again; i++)
        is_again = item_of(talk, changes[i])->is_whole;
    return is_again;
}

static void forget_whole(struct talk *talk)
{
    for (size_t i = 0; i < talk->job->change_count; i++)
        talk->items[i].is_whole = false;
}

static bool is_shared(const struct talk *talk)
{
    int64_t changed_ms = talk->seat->others.changed_ms;
    return changed_ms && talk->moment->mono_ms - changed_ms < SHARED_MS &&
           !seat_restarts(talk->seat, LIST_HOSTS);
}

static enum revision_way way_of(const struct talk *talk)
{
    if (talk->seat->dialect == DIALECT_LEGACY || talk->removes_only)
        return REVISION_BY_ELEMENT;
    return talk->way == REVISION_AUTO && is_shared(talk) ? REVISION_SHARED : talk->way;
}

static void draw(struct talk *talk, size_t count)
{
    const struct revision_setup setup = {.way = way_of(talk), .arena = talk->job->arena};
    revision_free(talk->revision);
    talk->revision = revision_new(talk->list, &setup, talk->selected, count);
    strangers_note(&talk->seat->strangers, talk->list, talk->revision);
    put_off(talk);
    talk->mismatches += is_stuck(talk);
    talk->planned = revision_write_count(talk->revision);
    forget_whole(talk);
    for (size_t i = 0; i < count; i++)
        if (!change_is_open(talk->selected[i]))
            settle(talk, talk->selected[i]);
    talk->at = 0;
    talk->has_written = talk->has_all = talk->has_added = false;
}

void changes_note_progress(struct talk *talk)
{
    size_t count = revision_write_count(talk->revision);
    talk->job->writes.done++;
    talk->job->writes.open = count > talk->at ? count - talk->at : 0;
}

static void write_next(struct talk *talk)
{
    bool is_legacy = talk->seat->dialect == DIALECT_LEGACY;
    if (talk->mismatches > MISMATCHES_MAX && is_legacy)
        legacy_give_up(talk);
    else if (talk->mismatches > MISMATCHES_MAX)
        talk_trouble(talk, TROUBLE_CONTENDED,
                     "Pi-hole at %s does not keep what is written: changes by someone else",
                     talk->seat->base);
    else if (is_legacy)
        legacy_go_on(talk);
    else
        write_go_on(talk);
}

void changes_stand(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++)
        if (change_is_open(changes[i]))
            changes[i]->outcome = item_of(talk, changes[i])->outcome;
    if (talk->is_bisecting)
        blame_clear(talk);
    else
        changes_finish(talk);
}

void changes_draw(struct talk *talk)
{
    answer_reads(talk);
    bool is_of_suspects = talk->is_bisecting && !talk->clears_rest;
    size_t count = is_of_suspects ? select_suspects(talk) : select_open(talk);
    draw(talk, count);
    if (revision_write_count(talk->revision) && !talk->job->is_trial)
        write_next(talk);
    else
        changes_stand(talk);
}

void changes_mark_whole(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++)
        item_of(talk, changes[i])->is_whole = true;
}

void changes_mark_sent(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++)
        item_of(talk, changes[i])->is_sent = true;
}
