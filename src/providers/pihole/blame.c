#include <stdlib.h>
#include <string.h>

#include "providers/pihole/talk.h"

enum { REFUSALS_MAX = 64, LINE_SHOWN_MAX = 300 };

static void end_search(struct talk *talk)
{
    for (size_t i = 0; i < talk->job->change_count; i++)
        talk->items[i].is_suspect = false;
    talk->is_bisecting = talk->clears_rest = false;
}

// ---- somebody else's line -----------------------------------------------------------------------

void blame_forget(struct pihole_seat *seat)
{
    free(steal(seat->refused_line));
    free(steal(seat->refused_text));
}

void blame_trouble(struct talk *talk)
{
    talk_trouble(talk, TROUBLE_BLOCKED, "%s", talk->seat->refused_text);
}

bool blame_still_holds(struct talk *talk)
{
    const char *line = talk->seat->refused_line;
    for (int part = 0; line && part < LIST_PARTS; part++)
        for (size_t i = 0; i < list_count(talk->list, (enum list_part)part); i++)
            if (text_is(list_line(talk->list, (enum list_part)part, i), line))
                return true;
    blame_forget(talk->seat);
    return false;
}

static void note_line(struct pihole_seat *seat, enum list_part part, struct text line,
                      struct text why)
{
    struct buffer text = {0};
    buffer_printf(&text,
                  "Pi-hole at %s refuses a line that somebody else wrote into dns.%s, and "
                  "with it every change: mend it there: \"",
                  seat->base, list_part_key(part));
    text_clean(&text, line, LINE_SHOWN_MAX);
    buffer_add_text(&text, "\": ");
    text_clean(&text, why, LINE_SHOWN_MAX);
    blame_forget(seat);
    seat->refused_line = text_dup(line);
    seat->refused_text = buffer_steal(&text);
}

bool blame_foresees(struct talk *talk)
{
    enum list_part part;
    size_t i;
    const char *why;
    if (!list_refused(talk->list, &part, &i, &why))
        return false;
    note_line(talk->seat, part, list_line(talk->list, part, i), text_of(why));
    return true;
}

// Removals still go: they are not judged by the whole list.
static void block(struct talk *talk, enum list_part part, struct text line, struct text why)
{
    note_line(talk->seat, part, line, why);
    end_search(talk);
    if (talk->removes_only) {
        blame_trouble(talk);
        return;
    }
    talk->removes_only = true;
    talk_go_on(talk);
}

// ---- finding out --------------------------------------------------------------------------------

// A process that was killed in the middle of a search may have left what is not served yet.
static void owe_restart(struct talk *talk, const struct change *change)
{
    struct pihole_seat *seat = talk->seat;
    if (!seat->restarted_ms && seat->restart.deferral != DEFERRAL_IGNORED &&
        seat_restarts(seat, list_part_of(change->set.type)))
        seat->restart.is_owed = true;
}

static void refuse(struct talk *talk, struct change *change, int status, const char *text)
{
    changes_refuse(talk, change, status, "Pi-hole at %s refuses it: %s", talk->seat->base, text);
    talk->refusals = 0;
    owe_restart(talk, change);
    end_search(talk);
}

// Is the one to blame found?
static void follow(struct talk *talk)
{
    if (!bisect_next(&talk->bisect))
        refuse(talk, talk->bisect.changes[talk->bisect.low], talk->refusal_status, talk->refusal);
    talk_go_on(talk);
}

void blame_clear(struct talk *talk)
{
    if (talk->clears_rest) {
        talk->clears_rest = false;
        follow(talk);
        return;
    }
    bisect_hear(&talk->bisect, true);
    follow(talk);
}

static void begin_search(struct talk *talk, struct change *const *changes, size_t count)
{
    struct change **copy = arena_new_array(talk->job->arena, struct change *, count);
    for (size_t i = 0; i < count; i++) {
        copy[i] = changes[i];
        talk->items[changes[i] - talk->job->changes].is_suspect = true;
    }
    size_t all;
    revision_changes(talk->revision, &all);
    talk->bisect = bisect_of(copy, count);
    talk->is_bisecting = true;
    talk->clears_rest = all > count;
}

// What is said of suspects; later replies are of others, or of success.
static void note_refusal(struct talk *talk)
{
    talk->refusal = arena_copy_text(talk->job->arena, talk_reply_text(talk));
    talk->refusal_status = talk->reply.status;
}

// One of these or more, unless they are fewer by now. All others come first, unless some of them
// are refused as well.
static void suspect(struct talk *talk, struct change *const *changes, size_t count)
{
    if (!talk->clears_rest)
        note_refusal(talk);
    if (!talk->is_bisecting) {
        begin_search(talk, changes, count);
    } else {
        if (!talk->clears_rest)
            bisect_hear(&talk->bisect, false);
        talk->clears_rest = false;
    }
    if (talk->clears_rest)
        talk_go_on(talk);
    else
        follow(talk);
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

static void suspect_all(struct talk *talk, bool is_of_resolver)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    if (!count) { // our lines were to be packed in another way
        talk_trouble_of_reply(talk);
        return;
    }
    struct change **suspects = arena_new_array(talk->arena, struct change *, count);
    memcpy(suspects, changes, count * sizeof(struct change *));
    size_t aliases = is_of_resolver ? keep_new_aliases(suspects, count) : 0;
    if (aliases)
        suspect(talk, suspects, aliases);
    else
        suspect(talk, changes, count);
}

// Pi-hole did not say which; does our own eye see it?
static void search(struct talk *talk)
{
    enum list_part part;
    size_t i;
    const char *why;
    bool is_of_resolver = text_is(talk->reply.message, "Invalid configuration");
    if (!is_of_resolver && list_refused(talk->list, &part, &i, &why))
        block(talk, part, list_line(talk->list, part, i), text_of(why));
    else
        suspect_all(talk, is_of_resolver);
}

static void leave_out(struct talk *talk, const struct blame *blame)
{
    if (talk->left_out_count == LEFT_OUT_MAX) {
        talk_trouble_of_reply(talk);
        return;
    }
    struct text line = {arena_copy(talk->job->arena, blame->text.at, blame->text.len),
                        blame->text.len};
    talk->left_out[talk->left_out_count++] = (struct left_out){blame->part, line};
    talk_go_on(talk);
}

// A line may be of several.
static void set_apart(struct talk *talk, const struct blame *blame)
{
    if (blame->change_count > 1) {
        suspect(talk, blame->changes, blame->change_count);
        return;
    }
    refuse(talk, *blame->changes, talk->reply.status, talk_reply_text(talk));
    talk_go_on(talk);
}

void blame_hear(struct talk *talk)
{
    struct text said = talk->reply.hint;
    const char *hint = arena_copy(talk->arena, said.len ? said.at : "", said.len);
    if (++talk->refusals > REFUSALS_MAX) {
        talk_trouble_of_reply(talk);
        return;
    }
    const struct blame blame = revision_blame(talk->revision, talk->at, hint);
    switch (blame.kind) {
    case BLAME_CHANGES:
        set_apart(talk, &blame);
        break;
    case BLAME_OLD:
        leave_out(talk, &blame);
        break;
    case BLAME_FOREIGN:
        block(talk, blame.part, blame.text, blame.why);
        break;
    case BLAME_UNKNOWN:
        search(talk);
        break;
    }
}
