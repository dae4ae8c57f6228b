#include "providers/pihole/talk.h"

static bool restarts(const struct talk *talk, size_t at)
{
    const struct revision_write write = revision_write(talk->revision, at);
    for (int part = 0; part < LIST_PARTS; part++)
        if (write.writes[part] && seat_restarts(talk->seat, (enum list_part)part))
            return true;
    return false;
}

// One restart is enough for all: the last write asks for it. Of halves that are tried we do not
// know which is the last.
static bool may_defer(const struct talk *talk)
{
    if (talk->seat->restart.deferral == DEFERRAL_IGNORED || !restarts(talk, talk->at))
        return false;
    bool is_last = true;
    for (size_t i = talk->at + 1; i < revision_write_count(talk->revision) && is_last; i++)
        is_last = !restarts(talk, i);
    return !is_last || talk->is_bisecting;
}

void write_write(struct talk *talk)
{
    static const char *const methods[] = {
        [REVISION_PATCH] = "PATCH", [REVISION_PUT] = "PUT", [REVISION_DELETE] = "DELETE"};
    const struct revision_write write = revision_write(talk->revision, talk->at);
    talk->method = methods[write.verb];
    revision_write_path(talk->revision, talk->at, &talk->url);
    talk->is_deferred = may_defer(talk);
    if (talk->is_deferred)
        buffer_add_text(&talk->url, "?restart=false");
    if (write.verb == REVISION_PATCH)
        revision_write_body(talk->revision, talk->at, &talk->body);
    changes_mark_sent(talk);
}

void write_go_on(struct talk *talk)
{
    if (restarts(talk, talk->at) && talk->seat->restart.phase != RESTART_NONE)
        restart_await(talk);
    else
        talk->step = STEP_WRITE;
}

// Also when only the answer was lost, as a restart may do.
static void note_restart(struct talk *talk)
{
    bool is_lost = talk->reply.kind == REPLY_DOWN || talk->reply.kind == REPLY_HUNG;
    bool may_be = is_lost && !talk->http->is_unsent;
    if (restarts(talk, talk->at) && (talk->reply.kind == REPLY_OK || may_be))
        restart_note(talk, talk->is_deferred);
}

static bool is_taken(enum reply_kind kind, enum revision_verb verb)
{
    return kind == REPLY_OK || (kind == REPLY_THERE && verb == REVISION_PUT) ||
           (kind == REPLY_ABSENT && verb == REVISION_DELETE);
}

// The reply to a PATCH is the whole configuration as it is then.
static bool read_reply(struct talk *talk)
{
    const struct value *dns = value_at(talk->reply.tree, "config.dns", NULL);
    const struct value *hosts = value_find(dns, list_part_key(LIST_HOSTS));
    const struct value *cnames = value_find(dns, list_part_key(LIST_CNAMES));
    if (!hosts || !cnames)
        return false;
    read_take(talk, hosts, cnames);
    return true;
}

static void taken(struct talk *talk, enum revision_verb verb)
{
    bool is_patch = verb == REVISION_PATCH;
    talk->seat->count.patches += is_patch;
    talk->seat->count.elements += !is_patch && !talk->has_written;
    if (verb != REVISION_DELETE)
        blame_forget(talk->seat);
    revision_note_written(talk->revision, talk->at, &talk->lines);
    talk->has_written = true;
    talk->written++;
    talk->has_all = ++talk->at == revision_write_count(talk->revision);
    changes_note_progress(talk);
    if (talk->has_all)
        changes_mark_whole(talk);
    if (is_patch && read_reply(talk))
        return;
    if (is_patch || talk->has_all || talk->written == REVISION_REREAD_EVERY)
        talk_go_on(talk);
    else
        write_go_on(talk);
}

static void too_long(struct talk *talk)
{
    if (talk->way == REVISION_BY_ELEMENT) {
        talk_trouble_of_reply(talk);
        return;
    }
    talk->way = REVISION_BY_ELEMENT;
    talk_go_on(talk);
}

void write_hear(struct talk *talk)
{
    const struct revision_write write = revision_write(talk->revision, talk->at);
    note_restart(talk);
    if (is_taken(talk->reply.kind, write.verb)) {
        taken(talk, write.verb);
    } else if (talk->reply.kind == REPLY_REFUSED) {
        blame_hear(talk);
    } else if (talk->reply.kind == REPLY_TOO_LONG) {
        too_long(talk);
    } else if (talk->reply.kind == REPLY_FORCED && !preflight_knows(talk)) {
        preflight_learn(talk);
        talk_go_on(talk);
    } else {
        talk_trouble_of_reply(talk);
    }
}
