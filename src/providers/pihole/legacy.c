#include <string.h>

#include "providers/pihole/exchange.h"

// The API of old takes one record a request and removes by name alone. A hosts line stands for a
// record in the lists and revisions.

void legacy_write_key(struct exchange *exchange)
{
    struct text password = secret_expose(exchange->instance->password);
    if (!password.len)
        return;
    buffer_clear(&exchange->bearer);
    buffer_add_text(&exchange->bearer, "Bearer ");
    buffer_add(&exchange->bearer, password.at, password.len);
    exchange_add_header(exchange, "Authorization", exchange->bearer.at);
}

// ---- reading ------------------------------------------------------------------------------------

static const struct value *data_of(const struct exchange *exchange)
{
    const struct value *data = value_find(exchange->reply.tree, "data");
    bool is_there = exchange->reply.kind == REPLY_OK && data && data->type == VALUE_LIST;
    return is_there ? data : NULL;
}

void legacy_handle_try(struct exchange *exchange)
{
    if (data_of(exchange)) {
        exchange->instance->dialect = DIALECT_LEGACY;
        exchange_go_on(exchange);
        return;
    }
    if (exchange->reply.status && exchange->reply.kind != REPLY_UNAUTHORIZED)
        exchange->reply.kind = REPLY_STRANGE;
    exchange_trouble_of_reply(exchange);
}

static const struct value *lines_of(struct exchange *exchange, const struct value *data)
{
    struct value *lines = value_make(exchange->arena, VALUE_LIST);
    value_each (item, data) {
        struct text domain = value_text_at(item, "domain");
        struct text ip = value_text_at(item, "ip");
        const char *line =
            arena_printf(exchange->arena, "%.*s %.*s", TEXT_ARGS(ip), TEXT_ARGS(domain));
        value_append(lines, value_make_text(exchange->arena, text_of(line)));
    }
    return lines;
}

void legacy_handle_read(struct exchange *exchange)
{
    const struct value *data = data_of(exchange);
    if (exchange->reply.kind == REPLY_OK && !data)
        exchange->reply.kind = REPLY_STRANGE;
    if (data)
        read_take(exchange, lines_of(exchange, data), NULL);
    else
        exchange_trouble_of_reply(exchange);
}

// ---- writing ------------------------------------------------------------------------------------

static struct text name_of(struct text line)
{
    const char *blank = line.len ? memchr(line.at, ' ', line.len) : NULL;
    if (!blank)
        return (struct text){0};
    return (struct text){blank + 1, line.len - (size_t)(blank + 1 - line.at)};
}

static struct text line_of(const struct exchange *exchange, size_t i)
{
    return revision_write(exchange->revision, i).line;
}

// ---- going on -----------------------------------------------------------------------------------

static bool has_name(struct exchange *exchange, const struct change *change, struct text name)
{
    struct text whole;
    struct error err;
    return record_name_join(exchange->arena, change->set.domain, change->set.subdomain, &whole,
                            &err) &&
           text_equal_nocase(whole, name);
}

void legacy_give_up(struct exchange *exchange)
{
    size_t count;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++)
        if (change_is_open(changes[i]))
            changes_refuse(
                exchange, changes[i], exchange->reply.status,
                "Pi-hole at %s does not keep it: its API of old may take one address a name",
                exchange->instance->base);
    exchange_go_on(exchange);
}

static void refuse_name(struct exchange *exchange, struct text name, const char *why)
{
    size_t count;
    bool is_found = false;
    struct change *const *changes = revision_changes(exchange->revision, &count);
    for (size_t i = 0; i < count; i++) {
        if (!has_name(exchange, changes[i], name))
            continue;
        changes_refuse(exchange, changes[i], exchange->reply.status, "Pi-hole at %s refuses it: %s",
                       exchange->instance->base, why);
        is_found = true;
    }
    if (is_found)
        exchange_go_on(exchange);
    else
        legacy_give_up(exchange);
}

struct search {
    struct text name;
    bool is_found;
};

static void find_foreign(void *context, const struct existing_set *existing)
{
    struct search *search = context;
    search->is_found |= !existing->is_ours && text_equal_nocase(existing->set.domain, search->name);
}

static bool is_shared_with_others(struct exchange *exchange, struct text name)
{
    struct search search = {.name = name};
    list_report(exchange->list, find_foreign, &search);
    return search.is_found;
}

void legacy_go_on(struct exchange *exchange)
{
    bool is_end = exchange->at == revision_write_count(exchange->revision);
    bool removes =
        !is_end && revision_write(exchange->revision, exchange->at).verb == REVISION_DELETE;
    struct text name = removes ? name_of(line_of(exchange, exchange->at)) : (struct text){0};
    exchange->has_all = is_end;
    if (is_end)
        changes_mark_whole(exchange);
    // What was added may have taken the other's place, and would go with it.
    if (is_end || (removes && exchange->has_added))
        exchange_go_on(exchange);
    else if (removes && is_shared_with_others(exchange, name))
        refuse_name(exchange, name,
                    "somebody else has an address for that name, and the API of old removes all of "
                    "a name at once");
    else
        exchange->step = STEP_LEGACY_WRITE;
}

// ---- writing ------------------------------------------------------------------------------------

static void write_record(struct exchange *exchange, struct text line)
{
    struct text name = name_of(line);
    const struct text ip = {line.at, line.len - name.len - 1};
    buffer_add_text(&exchange->body, "{\"domain\":");
    value_write_json_text(&exchange->body, name);
    buffer_add_text(&exchange->body, ",\"ip\":");
    value_write_json_text(&exchange->body, ip);
    buffer_add_char(&exchange->body, '}');
}

void legacy_write(struct exchange *exchange)
{
    legacy_write_key(exchange);
    if (exchange->restore_count) {
        write_record(exchange, exchange->restore[exchange->restore_count - 1]);
        return;
    }
    struct text line = line_of(exchange, exchange->at);
    changes_mark_sent(exchange);
    if (revision_write(exchange->revision, exchange->at).verb == REVISION_PUT) {
        write_record(exchange, line);
        return;
    }
    struct text name = name_of(line);
    exchange->method = "DELETE";
    buffer_add_char(&exchange->url, '/');
    buffer_add(&exchange->url, name.at, name.len);
}

// The place of a removal in the revision, or the number of writes.
static size_t find_removal(struct exchange *exchange, struct text name, struct text line)
{
    size_t i = 0, count = revision_write_count(exchange->revision);
    for (; i < count; i++) {
        struct text other = revision_write(exchange->revision, i).verb == REVISION_DELETE
                                ? line_of(exchange, i)
                                : (struct text){0};
        if (other.at &&
            (line.at ? text_equal(other, line) : text_equal_nocase(name_of(other), name)))
            break;
    }
    return i;
}

// What stood under that name beside what had to go.
static void collect_lost(struct exchange *exchange, struct text name)
{
    size_t lines = list_count(exchange->list, LIST_HOSTS);
    if (!exchange->restore)
        exchange->restore = arena_new_array(exchange->job->arena, struct text, RESTORE_MAX);
    for (size_t i = 0; i < lines && exchange->restore_count < RESTORE_MAX; i++) {
        struct text line = list_line(exchange->list, LIST_HOSTS, i);
        if (text_equal_nocase(name_of(line), name) &&
            find_removal(exchange, name, line) == revision_write_count(exchange->revision))
            exchange->restore[exchange->restore_count++] = line;
    }
}

static void taken(struct exchange *exchange, bool is_removal)
{
    struct text name = name_of(line_of(exchange, exchange->at));
    exchange->instance->count.elements += !exchange->has_written;
    revision_note_written(exchange->revision, exchange->at, &exchange->lines);
    exchange->has_written = true;
    exchange->has_added |= !is_removal;
    exchange->at++;
    changes_note_progress(exchange);
    if (is_removal)
        collect_lost(exchange, name);
    if (exchange->restore_count)
        exchange->step = STEP_LEGACY_WRITE;
    else
        legacy_go_on(exchange);
}

// The old address may be in the way: it goes first then.
static void refused(struct exchange *exchange, bool is_removal)
{
    struct text name = name_of(line_of(exchange, exchange->at));
    size_t removal = find_removal(exchange, name, (struct text){0});
    if (is_removal || removal == revision_write_count(exchange->revision)) {
        refuse_name(exchange, name, exchange_reply_text(exchange));
        return;
    }
    exchange->at = removal;
    exchange->has_added = false;
    legacy_go_on(exchange);
}

static void restored(struct exchange *exchange)
{
    exchange->restore_count--;
    if (exchange->restore_count)
        exchange->step = STEP_LEGACY_WRITE;
    else
        legacy_go_on(exchange);
}

static void judge(struct exchange *exchange)
{
    enum reply_kind kind = exchange->reply.kind;
    bool is_removal = revision_write(exchange->revision, exchange->at).verb == REVISION_DELETE;
    bool is_absent = is_removal && exchange->reply.status == 404;
    if (kind == REPLY_OK || kind == REPLY_THERE || is_absent)
        taken(exchange, is_removal);
    else if (kind == REPLY_REFUSED)
        refused(exchange, is_removal);
    else
        exchange_trouble_of_reply(exchange);
}

void legacy_handle_write(struct exchange *exchange)
{
    enum reply_kind kind = exchange->reply.kind;
    bool is_judged = kind == REPLY_OK || kind == REPLY_THERE || kind == REPLY_REFUSED;
    if (!exchange->restore_count)
        judge(exchange);
    else if (is_judged)
        restored(exchange);
    else
        exchange_trouble_of_reply(exchange);
}
