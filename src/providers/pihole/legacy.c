#include <string.h>

#include "providers/pihole/talk.h"

// The API of old takes one record a request and removes by name alone. A hosts line stands for a
// record in the lists and revisions.

void legacy_write_key(struct talk *talk)
{
    struct text password = secret_expose(talk->seat->password);
    if (!password.len)
        return;
    buffer_clear(&talk->bearer);
    buffer_add_text(&talk->bearer, "Bearer ");
    buffer_add(&talk->bearer, password.at, password.len);
    talk_add_header(talk, "Authorization", talk->bearer.at);
}

// ---- reading ------------------------------------------------------------------------------------

static const struct value *data_of(const struct talk *talk)
{
    const struct value *data = value_find(talk->reply.tree, "data");
    bool is_there = talk->reply.kind == REPLY_OK && data && data->type == VALUE_LIST;
    return is_there ? data : NULL;
}

void legacy_hear_try(struct talk *talk)
{
    if (data_of(talk)) {
        talk->seat->dialect = DIALECT_LEGACY;
        talk_go_on(talk);
        return;
    }
    if (talk->reply.status && talk->reply.kind != REPLY_UNAUTHORIZED)
        talk->reply.kind = REPLY_STRANGE;
    talk_trouble_of_reply(talk);
}

static const struct value *lines_of(struct talk *talk, const struct value *data)
{
    struct value *lines = value_make(talk->arena, VALUE_LIST);
    value_each (item, data) {
        struct text domain = value_text_at(item, "domain");
        struct text ip = value_text_at(item, "ip");
        const char *line = arena_printf(talk->arena, "%.*s %.*s", TEXT_ARGS(ip), TEXT_ARGS(domain));
        value_append(lines, value_make_text(talk->arena, text_of(line)));
    }
    return lines;
}

void legacy_hear_read(struct talk *talk)
{
    const struct value *data = data_of(talk);
    if (talk->reply.kind == REPLY_OK && !data)
        talk->reply.kind = REPLY_STRANGE;
    if (data)
        read_take(talk, lines_of(talk, data), NULL);
    else
        talk_trouble_of_reply(talk);
}

// ---- writing ------------------------------------------------------------------------------------

static struct text name_of(struct text line)
{
    const char *blank = line.len ? memchr(line.at, ' ', line.len) : NULL;
    if (!blank)
        return (struct text){0};
    return (struct text){blank + 1, line.len - (size_t)(blank + 1 - line.at)};
}

static struct text line_of(const struct talk *talk, size_t i)
{
    return revision_write(talk->revision, i).line;
}

// ---- going on -----------------------------------------------------------------------------------

static bool has_name(struct talk *talk, const struct change *change, struct text name)
{
    struct text whole;
    struct error err;
    return record_name_join(talk->arena, change->set.domain, change->set.subdomain, &whole, &err) &&
           text_equal_nocase(whole, name);
}

void legacy_give_up(struct talk *talk)
{
    size_t count;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++)
        if (change_is_open(changes[i]))
            changes_refuse(
                talk, changes[i], talk->reply.status,
                "Pi-hole at %s does not keep it: its API of old may take one address a name",
                talk->seat->base);
    talk_go_on(talk);
}

static void refuse_name(struct talk *talk, struct text name, const char *why)
{
    size_t count;
    bool is_found = false;
    struct change *const *changes = revision_changes(talk->revision, &count);
    for (size_t i = 0; i < count; i++) {
        if (!has_name(talk, changes[i], name))
            continue;
        changes_refuse(talk, changes[i], talk->reply.status, "Pi-hole at %s refuses it: %s",
                       talk->seat->base, why);
        is_found = true;
    }
    if (is_found)
        talk_go_on(talk);
    else
        legacy_give_up(talk);
}

struct search {
    struct text name;
    bool is_found;
};

static void find_foreign(void *context, const struct holding *holding)
{
    struct search *search = context;
    search->is_found |= !holding->is_ours && text_equal_nocase(holding->set.domain, search->name);
}

static bool is_shared_with_others(struct talk *talk, struct text name)
{
    struct search search = {.name = name};
    list_tell(talk->list, find_foreign, &search);
    return search.is_found;
}

void legacy_go_on(struct talk *talk)
{
    bool is_end = talk->at == revision_write_count(talk->revision);
    bool removes = !is_end && revision_write(talk->revision, talk->at).verb == REVISION_DELETE;
    struct text name = removes ? name_of(line_of(talk, talk->at)) : (struct text){0};
    talk->has_all = is_end;
    if (is_end)
        changes_mark_whole(talk);
    // What was added may have taken the other's place, and would go with it.
    if (is_end || (removes && talk->has_added))
        talk_go_on(talk);
    else if (removes && is_shared_with_others(talk, name))
        refuse_name(talk, name,
                    "somebody else has an address for that name, and the API of old removes all of "
                    "a name at once");
    else
        talk->step = STEP_LEGACY_WRITE;
}

// ---- writing ------------------------------------------------------------------------------------

static void write_record(struct talk *talk, struct text line)
{
    struct text name = name_of(line);
    const struct text ip = {line.at, line.len - name.len - 1};
    buffer_add_text(&talk->body, "{\"domain\":");
    value_write_json_text(&talk->body, name);
    buffer_add_text(&talk->body, ",\"ip\":");
    value_write_json_text(&talk->body, ip);
    buffer_add_char(&talk->body, '}');
}

void legacy_write(struct talk *talk)
{
    legacy_write_key(talk);
    if (talk->restore_count) {
        write_record(talk, talk->restore[talk->restore_count - 1]);
        return;
    }
    struct text line = line_of(talk, talk->at);
    changes_mark_sent(talk);
    if (revision_write(talk->revision, talk->at).verb == REVISION_PUT) {
        write_record(talk, line);
        return;
    }
    struct text name = name_of(line);
    talk->method = "DELETE";
    buffer_add_char(&talk->url, '/');
    buffer_add(&talk->url, name.at, name.len);
}

// The place of a removal in the revision, or the number of writes.
static size_t find_removal(struct talk *talk, struct text name, struct text line)
{
    size_t i = 0, count = revision_write_count(talk->revision);
    for (; i < count; i++) {
        struct text other = revision_write(talk->revision, i).verb == REVISION_DELETE
                                ? line_of(talk, i)
                                : (struct text){0};
        if (other.at &&
            (line.at ? text_equal(other, line) : text_equal_nocase(name_of(other), name)))
            break;
    }
    return i;
}

// What stood under that name beside what had to go.
static void gather_lost(struct talk *talk, struct text name)
{
    size_t lines = list_count(talk->list, LIST_HOSTS);
    if (!talk->restore)
        talk->restore = arena_new_array(talk->job->arena, struct text, RESTORE_MAX);
    for (size_t i = 0; i < lines && talk->restore_count < RESTORE_MAX; i++) {
        struct text line = list_line(talk->list, LIST_HOSTS, i);
        if (text_equal_nocase(name_of(line), name) &&
            find_removal(talk, name, line) == revision_write_count(talk->revision))
            talk->restore[talk->restore_count++] = line;
    }
}

static void taken(struct talk *talk, bool is_removal)
{
    struct text name = name_of(line_of(talk, talk->at));
    talk->seat->count.elements += !talk->has_written;
    revision_note_written(talk->revision, talk->at, &talk->lines);
    talk->has_written = true;
    talk->has_added |= !is_removal;
    talk->at++;
    changes_note_progress(talk);
    if (is_removal)
        gather_lost(talk, name);
    if (talk->restore_count)
        talk->step = STEP_LEGACY_WRITE;
    else
        legacy_go_on(talk);
}

// The old address may be in the way: it goes first then.
static void refused(struct talk *talk, bool is_removal)
{
    struct text name = name_of(line_of(talk, talk->at));
    size_t removal = find_removal(talk, name, (struct text){0});
    if (is_removal || removal == revision_write_count(talk->revision)) {
        refuse_name(talk, name, talk_reply_text(talk));
        return;
    }
    talk->at = removal;
    talk->has_added = false;
    legacy_go_on(talk);
}

static void restored(struct talk *talk)
{
    talk->restore_count--;
    if (talk->restore_count)
        talk->step = STEP_LEGACY_WRITE;
    else
        legacy_go_on(talk);
}

static void judge(struct talk *talk)
{
    enum reply_kind kind = talk->reply.kind;
    bool is_removal = revision_write(talk->revision, talk->at).verb == REVISION_DELETE;
    bool is_absent = is_removal && talk->reply.status == 404;
    if (kind == REPLY_OK || kind == REPLY_THERE || is_absent)
        taken(talk, is_removal);
    else if (kind == REPLY_REFUSED)
        refused(talk, is_removal);
    else
        talk_trouble_of_reply(talk);
}

void legacy_hear_write(struct talk *talk)
{
    enum reply_kind kind = talk->reply.kind;
    bool is_judged = kind == REPLY_OK || kind == REPLY_THERE || kind == REPLY_REFUSED;
    if (!talk->restore_count)
        judge(talk);
    else if (is_judged)
        restored(talk);
    else
        talk_trouble_of_reply(talk);
}
