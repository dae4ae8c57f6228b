#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/when.h"
#include "providers/pihole/exchange.h"

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

static struct item *item_of(const struct exchange *exchange, const struct change *change)
{
    return &exchange->items[change - exchange->job->changes];
}

void changes_set_apart(struct exchange *exchange, struct change *change, const struct error *error)
{
    change->outcome = (struct outcome){.error = error_copy(exchange->job->arena, error)};
}

void changes_refuse(struct exchange *exchange, struct change *change, int status,
                    const char *format, ...)
{
    struct error error;
    va_list args;
    va_start(args, format);
    error_setv(&error, FAULT_SPEC, "RecordRefused", format, args);
    va_end(args);
    error.retry_ms = REFUSED_RETRY_MS;
    error.status = status;
    changes_set_apart(exchange, change, &error);
}

// ---- beginning and end --------------------------------------------------------------------------

// A predecessor's lines become ours once, while this owner is new to this Pi-hole.
static bool is_first_sync(const struct exchange *exchange)
{
    const struct ledger_view *ledger = exchange->job->ledger;
    return exchange->instance->may_adopt && ledger && !ledger->recall(ledger->context, FIRST_SYNC);
}

void changes_end_first_sync(struct exchange *exchange)
{
    char now[WHEN_TEXT_MAX];
    const struct ledger_view *ledger = exchange->job->ledger;
    if (!is_first_sync(exchange))
        return;
    when_write(exchange->moment->unix_ms / 1000, now);
    ledger->keep(ledger->context, FIRST_SYNC, now);
}

void changes_begin(struct exchange *exchange)
{
    struct job *job = exchange->job;
    bool may_adopt = job->is_by_hand || is_first_sync(exchange);
    exchange->items = arena_new_array(job->arena, struct item, job->change_count + 1);
    exchange->selected = arena_new_array(job->arena, struct change *, job->change_count + 1);
    for (size_t i = 0; i < job->change_count; i++) {
        struct change *change = &job->changes[i];
        exchange->items[i].key = record_set_key_hash(&change->set);
        change->outcome = (struct outcome){0};
        change->may_adopt &= may_adopt;
        if (!list_has_type(change->set.type))
            changes_refuse(exchange, change, 0, "Pi-hole holds A, AAAA and CNAME records, no %s",
                           record_type_name(change->set.type));
    }
}

static bool was_unanswered(const struct pihole_instance *instance, uint64_t key)
{
    for (size_t i = 0; i < instance->unanswered.count; i++)
        if (instance->unanswered.keys[i] == key)
            return true;
    return false;
}

// Nobody told us what became of these: the next exchange will see.
static void note_unanswered(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    const struct job *job = exchange->job;
    for (size_t i = 0; i < job->change_count; i++) {
        const struct item *item = &exchange->items[i];
        if (!item->is_sent || !change_is_open(&job->changes[i]) ||
            was_unanswered(instance, item->key) || instance->unanswered.count >= PIHOLE_CHANGES_MAX)
            continue;
        mem_reserve(&instance->unanswered.keys, &instance->unanswered.capacity,
                    instance->unanswered.count + 1);
        instance->unanswered.keys[instance->unanswered.count++] = item->key;
    }
}

void changes_end(struct exchange *exchange)
{
    if (exchange->items)
        note_unanswered(exchange);
    revision_free(exchange->revision);
    list_free(exchange->list);
    line_set_done(&exchange->lines);
}

static bool has_hosts(const struct job *job)
{
    for (size_t i = 0; i < job->change_count; i++)
        if (list_has_type(job->changes[i].set.type) &&
            list_part_of(job->changes[i].set.type) == LIST_HOSTS)
            return true;
    return false;
}

void changes_finish(struct exchange *exchange)
{
    if (restart_pay(exchange))
        return;
    if (exchange->removes_only) {
        blame_trouble(exchange);
        return;
    }
    if (exchange->job->change_count < PIHOLE_CHANGES_MAX && has_hosts(exchange->job) &&
        !exchange->job->is_by_hand)
        changes_end_first_sync(exchange);
    exchange->instance->unanswered.count = 0;
    exchange_done(exchange);
}

// ---- what is read only --------------------------------------------------------------------------

struct look {
    struct exchange *exchange;
    struct change *change;
};

static void look_at(void *context, const struct existing_set *existing)
{
    struct look *look = context;
    struct outcome *outcome = &look->change->outcome;
    if (!record_set_is_same_key(&existing->set, &look->change->set) ||
        (outcome->found && !existing->is_ours))
        return;
    struct record_set *found = arena_new_of(look->exchange->job->arena, struct record_set);
    *found = record_set_copy(look->exchange->job->arena, &existing->set);
    *outcome = (struct outcome){.is_done = true, .found = found};
}

static void answer_reads(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job->change_count; i++) {
        struct change *change = &exchange->job->changes[i];
        struct look look = {exchange, change};
        if (change->op != CHANGE_READ || !change_is_open(change))
            continue;
        change->outcome = (struct outcome){.is_done = true, .was_absent = true};
        list_report(exchange->list, look_at, &look);
    }
}

// ---- selecting ----------------------------------------------------------------------------------

static void refuse_forced(struct exchange *exchange, struct change *change)
{
    struct error error;
    error_set(&error, FAULT_AUTH, "PiholeReadOnly", "%s",
              preflight_forced_text(exchange, list_part_of(change->set.type)));
    error.retry_ms = FORCED_RETRY_MS;
    changes_set_apart(exchange, change, &error);
}

// False: it never will be, and has its outcome.
static bool can_be_written(struct exchange *exchange, struct change *change)
{
    enum list_part part = list_part_of(change->set.type);
    if (exchange->instance->dialect == DIALECT_LEGACY && part == LIST_CNAMES)
        changes_refuse(exchange, change, 0, "Pi-hole at %s speaks its API of old, without CNAMEs",
                       exchange->instance->base);
    else if (exchange->instance->is_forced[part])
        refuse_forced(exchange, change);
    else
        return true;
    return false;
}

static size_t select_suspects(struct exchange *exchange)
{
    size_t count = bisect_next(&exchange->bisect);
    for (size_t i = 0; i < count; i++)
        exchange->selected[i] = exchange->bisect.changes[exchange->bisect.low + i];
    return count;
}

static size_t select_open(struct exchange *exchange)
{
    size_t count = 0;
    for (size_t i = 0; i < exchange->job->change_count; i++) {
        struct change *change = &exchange->job->changes[i];
        bool is_suspect = exchange->clears_rest && exchange->items[i].is_suspect;
        if (change_is_open(change) && !is_suspect && can_be_written(exchange, change) &&
            (change->op == CHANGE_REMOVE || !exchange->removes_only))
            exchange->selected[count++] = change;
    }
    return count;
}

// ---- revising -----------------------------------------------------------------------------------

// What an earlier write of ours came to is no news of the list's.
static void settle(struct exchange *exchange, struct change *change)
{
    const struct item *item = item_of(exchange, change);
    struct outcome *outcome = &change->outcome;
    if (item->is_sent && (outcome->is_unchanged || (outcome->error && item->outcome.error))) {
        *outcome = item->outcome;
    } else if (outcome->is_unchanged &&
               was_unanswered(exchange->instance, item_of(exchange, change)->key)) {
        outcome->is_unchanged = outcome->was_absent = false;
        outcome->was_created = change->op == CHANGE_SET;
    }
}

// Open until it is written and stands.
static void put_off(struct exchange *exchange)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++) {
        struct item *item = item_of(exchange, changes[i]);
        if (!item->is_sent)
            item->outcome = changes[i]->outcome;
        changes[i]->outcome = (struct outcome){0};
    }
}

// What was written does not stand. Of what is left to write some has to be less each time.
static bool is_stuck(const struct exchange *exchange)
{
    size_t count, writes = revision_write_count(exchange->revision);
    struct change *const *changes = revision_changes(exchange->revision, &count);
    if (!exchange->has_written || !writes)
        return false;
    if (!exchange->has_all)
        return writes >= exchange->planned;
    bool is_again = !count;
    for (size_t i = 0; i < count && !is_again; i++)
        is_again = item_of(exchange, changes[i])->is_whole;
    return is_again;
}

static void forget_whole(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job->change_count; i++)
        exchange->items[i].is_whole = false;
}

static bool is_shared(const struct exchange *exchange)
{
    int64_t changed_ms = exchange->instance->others.changed_ms;
    return changed_ms && exchange->moment->mono_ms - changed_ms < SHARED_MS &&
           !instance_restarts(exchange->instance, LIST_HOSTS);
}

static enum revision_way way_of(const struct exchange *exchange)
{
    if (exchange->instance->dialect == DIALECT_LEGACY || exchange->removes_only)
        return REVISION_BY_ELEMENT;
    return exchange->way == REVISION_AUTO && is_shared(exchange) ? REVISION_SHARED : exchange->way;
}

static void draw(struct exchange *exchange, size_t count)
{
    const struct revision_setup setup = {.way = way_of(exchange), .arena = exchange->job->arena};
    revision_free(exchange->revision);
    exchange->revision = revision_new(exchange->list, &setup, exchange->selected, count);
    strangers_note(&exchange->instance->strangers, exchange->list, exchange->revision);
    put_off(exchange);
    exchange->mismatches += is_stuck(exchange);
    exchange->planned = revision_write_count(exchange->revision);
    forget_whole(exchange);
    for (size_t i = 0; i < count; i++)
        if (!change_is_open(exchange->selected[i]))
            settle(exchange, exchange->selected[i]);
    exchange->at = 0;
    exchange->has_written = exchange->has_all = exchange->has_added = false;
}

void changes_note_progress(struct exchange *exchange)
{
    size_t count = revision_write_count(exchange->revision);
    exchange->job->writes.done++;
    exchange->job->writes.open = count > exchange->at ? count - exchange->at : 0;
}

static void write_next(struct exchange *exchange)
{
    bool is_legacy = exchange->instance->dialect == DIALECT_LEGACY;
    if (exchange->mismatches > MISMATCHES_MAX && is_legacy)
        legacy_give_up(exchange);
    else if (exchange->mismatches > MISMATCHES_MAX)
        exchange_trouble(exchange, TROUBLE_CONTENDED,
                         "Pi-hole at %s does not keep what is written: changes by someone else",
                         exchange->instance->base);
    else if (is_legacy)
        legacy_go_on(exchange);
    else
        write_go_on(exchange);
}

void changes_stand(struct exchange *exchange)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++)
        if (change_is_open(changes[i]))
            changes[i]->outcome = item_of(exchange, changes[i])->outcome;
    if (exchange->is_bisecting)
        blame_clear(exchange);
    else
        changes_finish(exchange);
}

void changes_draw(struct exchange *exchange)
{
    answer_reads(exchange);
    bool is_of_suspects = exchange->is_bisecting && !exchange->clears_rest;
    size_t count = is_of_suspects ? select_suspects(exchange) : select_open(exchange);
    draw(exchange, count);
    if (revision_write_count(exchange->revision) && !exchange->job->is_dry_run)
        write_next(exchange);
    else
        changes_stand(exchange);
}

void changes_mark_whole(struct exchange *exchange)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++)
        item_of(exchange, changes[i])->is_whole = true;
}

void changes_mark_sent(struct exchange *exchange)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++)
        item_of(exchange, changes[i])->is_sent = true;
}
