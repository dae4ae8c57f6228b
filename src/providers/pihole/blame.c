#include <stdlib.h>
#include <string.h>

#include "providers/pihole/exchange.h"

enum { REFUSALS_MAX = 64, LINE_SHOWN_MAX = 300 };

static void end_search(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job->change_count; i++)
        exchange->items[i].is_suspect = false;
    exchange->is_bisecting = exchange->clears_rest = false;
}

// ---- somebody else's line -----------------------------------------------------------------------

void blame_forget(struct pihole_instance *instance)
{
    free(steal(instance->refused_line));
    free(steal(instance->refused_text));
}

void blame_trouble(struct exchange *exchange)
{
    exchange_trouble(exchange, TROUBLE_BLOCKED, "%s", exchange->instance->refused_text);
}

bool blame_still_holds(struct exchange *exchange)
{
    const char *line = exchange->instance->refused_line;
    for (int part = 0; line && part < LIST_PARTS; part++)
        for (size_t i = 0; i < list_count(exchange->list, (enum list_part)part); i++)
            if (text_is(list_line(exchange->list, (enum list_part)part, i), line))
                return true;
    blame_forget(exchange->instance);
    return false;
}

static void note_line(struct pihole_instance *instance, enum list_part part, struct text line,
                      struct text why)
{
    struct buffer text = {0};
    buffer_printf(&text,
                  "Pi-hole at %s refuses a line that somebody else wrote into dns.%s, and "
                  "with it every change: mend it there: \"",
                  instance->base, list_part_key(part));
    text_clean(&text, line, LINE_SHOWN_MAX);
    buffer_add_text(&text, "\": ");
    text_clean(&text, why, LINE_SHOWN_MAX);
    blame_forget(instance);
    instance->refused_line = text_dup(line);
    instance->refused_text = buffer_steal(&text);
}

bool blame_foresees(struct exchange *exchange)
{
    enum list_part part;
    size_t i;
    const char *why;
    if (!list_refused(exchange->list, &part, &i, &why))
        return false;
    note_line(exchange->instance, part, list_line(exchange->list, part, i), text_of(why));
    return true;
}

// Removals still go: they are not judged by the whole list.
static void block(struct exchange *exchange, enum list_part part, struct text line, struct text why)
{
    note_line(exchange->instance, part, line, why);
    end_search(exchange);
    if (exchange->removes_only) {
        blame_trouble(exchange);
        return;
    }
    exchange->removes_only = true;
    exchange_go_on(exchange);
}

// ---- finding out --------------------------------------------------------------------------------

// A process that was killed in the middle of a search may have left what is not served yet.
static void owe_restart(struct exchange *exchange, const struct change *change)
{
    struct pihole_instance *instance = exchange->instance;
    if (!instance->restarted_ms && instance->restart.deferral != DEFERRAL_IGNORED &&
        instance_restarts(instance, list_part_of(change->set.type)))
        instance->restart.is_owed = true;
}

static void refuse(struct exchange *exchange, struct change *change, int status, const char *text)
{
    changes_refuse(exchange, change, status, "Pi-hole at %s refuses it: %s",
                   exchange->instance->base, text);
    exchange->refusals = 0;
    owe_restart(exchange, change);
    end_search(exchange);
}

// Is the one to blame found?
static void follow(struct exchange *exchange)
{
    if (!bisect_next(&exchange->bisect))
        refuse(exchange, exchange->bisect.changes[exchange->bisect.low], exchange->refusal_status,
               exchange->refusal);
    exchange_go_on(exchange);
}

void blame_clear(struct exchange *exchange)
{
    if (exchange->clears_rest) {
        exchange->clears_rest = false;
        follow(exchange);
        return;
    }
    bisect_handle_reply(&exchange->bisect, true);
    follow(exchange);
}

static void begin_search(struct exchange *exchange, struct change *const *changes, size_t count)
{
    struct change **copy = arena_new_array(exchange->job->arena, struct change *, count);
    for (size_t i = 0; i < count; i++) {
        copy[i] = changes[i];
        exchange->items[changes[i] - exchange->job->changes].is_suspect = true;
    }
    size_t all;
    revision_changes(exchange->revision, &all);
    exchange->bisect = bisect_of(copy, count);
    exchange->is_bisecting = true;
    exchange->clears_rest = all > count;
}

// What is said of suspects; later replies are of others, or of success.
static void note_refusal(struct exchange *exchange)
{
    exchange->refusal = arena_copy_text(exchange->job->arena, exchange_reply_text(exchange));
    exchange->refusal_status = exchange->reply.status;
}

// One of these or more, unless they are fewer by now. All others come first, unless some of them
// are refused as well.
static void suspect(struct exchange *exchange, struct change *const *changes, size_t count)
{
    if (!exchange->clears_rest)
        note_refusal(exchange);
    if (!exchange->is_bisecting) {
        begin_search(exchange, changes, count);
    } else {
        if (!exchange->clears_rest)
            bisect_handle_reply(&exchange->bisect, false);
        exchange->clears_rest = false;
    }
    if (exchange->clears_rest)
        exchange_go_on(exchange);
    else
        follow(exchange);
}

// What the resolver itself refuses are aliases, if there are any; never that one goes.
static size_t keep_new_aliases(struct change **changes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list_part_of(changes[i]->set.type) == LIST_CNAMES && changes[i]->op == CHANGE_SET)
            changes[kept++] = changes[i];
    return kept;
}

static void suspect_all(struct exchange *exchange, bool is_of_resolver)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    if (!count) { // our lines were to be packed in another way
        exchange_trouble_of_reply(exchange);
        return;
    }
    struct change **suspects = arena_new_array(exchange->arena, struct change *, count);
    memcpy(suspects, changes, count * sizeof(struct change *));
    size_t aliases = is_of_resolver ? keep_new_aliases(suspects, count) : 0;
    if (aliases)
        suspect(exchange, suspects, aliases);
    else
        suspect(exchange, changes, count);
}

// Pi-hole did not say which; does our own eye see it?
static void search(struct exchange *exchange)
{
    enum list_part part;
    size_t i;
    const char *why;
    bool is_of_resolver = text_is(exchange->reply.message, "Invalid configuration");
    if (!is_of_resolver && list_refused(exchange->list, &part, &i, &why))
        block(exchange, part, list_line(exchange->list, part, i), text_of(why));
    else
        suspect_all(exchange, is_of_resolver);
}

static void leave_out(struct exchange *exchange, const struct blame *blame)
{
    if (exchange->left_out_count == LEFT_OUT_MAX) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    struct text line = {arena_copy(exchange->job->arena, blame->text.at, blame->text.len),
                        blame->text.len};
    exchange->left_out[exchange->left_out_count++] = (struct left_out){blame->part, line};
    exchange_go_on(exchange);
}

// A line may be of several.
static void set_apart(struct exchange *exchange, const struct blame *blame)
{
    if (blame->change_count > 1) {
        suspect(exchange, blame->changes, blame->change_count);
        return;
    }
    refuse(exchange, *blame->changes, exchange->reply.status, exchange_reply_text(exchange));
    exchange_go_on(exchange);
}

void blame_handle_reply(struct exchange *exchange)
{
    struct text said = exchange->reply.hint;
    const char *hint = arena_copy(exchange->arena, said.len ? said.at : "", said.len);
    if (++exchange->refusals > REFUSALS_MAX) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    const struct blame blame = revision_blame(exchange->revision, exchange->at, hint);
    switch (blame.kind) {
    case BLAME_CHANGES:
        set_apart(exchange, &blame);
        break;
    case BLAME_OLD:
        leave_out(exchange, &blame);
        break;
    case BLAME_FOREIGN:
        block(exchange, blame.part, blame.text, blame.why);
        break;
    case BLAME_UNKNOWN:
        search(exchange);
        break;
    }
}
