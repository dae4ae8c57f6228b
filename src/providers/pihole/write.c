#include "providers/pihole/exchange.h"

static bool restarts(const struct exchange *exchange, size_t at)
{
    const struct revision_write write = revision_write(exchange->revision, at);
    for (int part = 0; part < LIST_PARTS; part++)
        if (write.writes[part] && instance_restarts(exchange->instance, (enum list_part)part))
            return true;
    return false;
}

// One restart is enough for all: the last write asks for it. Of halves that are tried we do not
// know which is the last.
static bool may_defer(const struct exchange *exchange)
{
    if (exchange->instance->restart.deferral == DEFERRAL_IGNORED ||
        !restarts(exchange, exchange->at))
        return false;
    bool is_last = true;
    for (size_t i = exchange->at + 1; i < revision_write_count(exchange->revision) && is_last; i++)
        is_last = !restarts(exchange, i);
    return !is_last || exchange->is_bisecting;
}

void write_write(struct exchange *exchange)
{
    static const char *const methods[] = {
        [REVISION_PATCH] = "PATCH", [REVISION_PUT] = "PUT", [REVISION_DELETE] = "DELETE"};
    const struct revision_write write = revision_write(exchange->revision, exchange->at);
    exchange->method = methods[write.verb];
    revision_write_path(exchange->revision, exchange->at, &exchange->url);
    exchange->is_deferred = may_defer(exchange);
    if (exchange->is_deferred)
        buffer_add_text(&exchange->url, "?restart=false");
    if (write.verb == REVISION_PATCH)
        revision_write_body(exchange->revision, exchange->at, &exchange->body);
    changes_mark_sent(exchange);
}

void write_go_on(struct exchange *exchange)
{
    if (restarts(exchange, exchange->at) && exchange->instance->restart.phase != RESTART_NONE)
        restart_await(exchange);
    else
        exchange->step = STEP_WRITE;
}

// Also when only the answer was lost, as a restart may do.
static void note_restart(struct exchange *exchange)
{
    bool is_lost = exchange->reply.kind == REPLY_DOWN || exchange->reply.kind == REPLY_HUNG;
    bool may_be = is_lost && !exchange->http->is_unsent;
    if (restarts(exchange, exchange->at) && (exchange->reply.kind == REPLY_OK || may_be))
        restart_note(exchange, exchange->is_deferred);
}

static bool is_taken(enum reply_kind kind, enum revision_verb verb)
{
    return kind == REPLY_OK || (kind == REPLY_THERE && verb == REVISION_PUT) ||
           (kind == REPLY_ABSENT && verb == REVISION_DELETE);
}

// The reply to a PATCH is the whole configuration as it is then.
static bool read_reply(struct exchange *exchange)
{
    const struct value *dns = value_at(exchange->reply.tree, "config.dns", NULL);
    const struct value *hosts = value_find(dns, list_part_key(LIST_HOSTS));
    const struct value *cnames = value_find(dns, list_part_key(LIST_CNAMES));
    if (!hosts || !cnames)
        return false;
    read_take(exchange, hosts, cnames);
    return true;
}

static void taken(struct exchange *exchange, enum revision_verb verb)
{
    bool is_patch = verb == REVISION_PATCH;
    exchange->instance->count.patches += is_patch;
    exchange->instance->count.elements += !is_patch && !exchange->has_written;
    if (verb != REVISION_DELETE)
        blame_forget(exchange->instance);
    revision_note_written(exchange->revision, exchange->at, &exchange->lines);
    exchange->has_written = true;
    exchange->written++;
    exchange->has_all = ++exchange->at == revision_write_count(exchange->revision);
    changes_note_progress(exchange);
    if (exchange->has_all)
        changes_mark_whole(exchange);
    if (is_patch && read_reply(exchange))
        return;
    if (is_patch || exchange->has_all || exchange->written == REVISION_REREAD_EVERY)
        exchange_go_on(exchange);
    else
        write_go_on(exchange);
}

static void too_long(struct exchange *exchange)
{
    if (exchange->way == REVISION_BY_ELEMENT) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    exchange->way = REVISION_BY_ELEMENT;
    exchange_go_on(exchange);
}

void write_handle_reply(struct exchange *exchange)
{
    const struct revision_write write = revision_write(exchange->revision, exchange->at);
    note_restart(exchange);
    if (is_taken(exchange->reply.kind, write.verb)) {
        taken(exchange, write.verb);
    } else if (exchange->reply.kind == REPLY_REFUSED) {
        blame_handle_reply(exchange);
    } else if (exchange->reply.kind == REPLY_TOO_LONG) {
        too_long(exchange);
    } else if (exchange->reply.kind == REPLY_FORCED && !preflight_knows(exchange)) {
        preflight_learn(exchange);
        exchange_go_on(exchange);
    } else {
        exchange_trouble_of_reply(exchange);
    }
}
