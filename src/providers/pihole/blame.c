#include <stdlib.h>

#include "providers/pihole/talk.h"

enum { REFUSALS_MAX = 64, LINE_SHOWN_MAX = 300 };

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

// Removals still go: they are not judged by the whole list.
static void block(struct talk *talk, enum list_part part, struct text line, struct text why)
{
    struct pihole_seat *seat = talk->seat;
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
    talk->is_bisecting = false;
    if (talk->removes_only) {
        blame_trouble(talk);
        return;
    }
    talk->removes_only = true;
    talk_go_on(talk);
}

// ---- finding out --------------------------------------------------------------------------------

static void refuse(struct talk *talk, struct change *change)
{
    changes_refuse(talk, change, "Pi-hole at %s refuses it: %s", talk->seat->base,
                   talk_reply_text(talk));
}

// Is the one to blame found?
static void follow(struct talk *talk)
{
    if (!bisect_next(&talk->bisect)) {
        refuse(talk, talk->bisect.changes[talk->bisect.low]);
        talk->is_bisecting = false;
    }
    talk_go_on(talk);
}

void blame_clear(struct talk *talk)
{
    bisect_hear(&talk->bisect, true);
    follow(talk);
}

// One of these, unless they are fewer by now.
static void suspect(struct talk *talk, struct change *const *changes, size_t count)
{
    if (talk->is_bisecting) {
        bisect_hear(&talk->bisect, false);
    } else {
        struct change **copy = arena_new_array(talk->job->arena, struct change *, count);
        for (size_t i = 0; i < count; i++)
            copy[i] = changes[i];
        talk->bisect = bisect_of(copy, count);
        talk->is_bisecting = true;
    }
    follow(talk);
}

static void suspect_all(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    if (count)
        suspect(talk, changes, count);
    else // our lines were to be packed in another way
        talk_trouble_of_reply(talk);
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
        suspect_all(talk);
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
    refuse(talk, *blame->changes);
    talk->is_bisecting = false;
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
