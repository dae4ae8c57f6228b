#include "commands/who_text.h"

#include <limits.h>
#include <string.h>

#include "dns/rr_type.h"

enum { SHOWN_OCTETS_MAX = 4096, INDENT = 2 };

// ---- pieces, in the arena -----------------------------------------------------------------------

static struct arena *arena_of(const struct who *who)
{
    return who->view->arena;
}

// ": Conflict: www.home.example A is held by default/web"; nothing where nothing is said.
static const char *reason_of(const struct who *who, const char *reason, const char *message)
{
    bool has_reason = *reason && strcmp(reason, "-") != 0;
    return arena_printf(arena_of(who), "%s%s%s%s", has_reason || *message ? ": " : "",
                        has_reason ? reason : "", has_reason && *message ? ": " : "", message);
}

static const char *place_of(const struct who *who, const struct view_row *row)
{
    if (!*row->path)
        return "";
    return row->line ? arena_printf(arena_of(who), " (%s:%u)", row->path, row->line)
                     : arena_printf(arena_of(who), " (%s)", row->path);
}

// "A 192.0.2.1, 192.0.2.2"
static const char *content_of(const struct who *who, const struct who_entry *entry)
{
    const struct kind_name *name = &entry->name;
    if (name->role == KIND_NAME_ZONE)
        return "a zone";
    return arena_printf(arena_of(who), "%.*s%s%.*s", TEXT_ARGS(name->type),
                        name->type.len && name->values.len ? " " : "", TEXT_ARGS(name->values));
}

static const char *question_of(const struct who *who)
{
    char digits[10];
    return arena_printf(arena_of(who), "%s%s%s%s%s%s", who->shown, who->typed ? " (" : "",
                        who->typed ? who->typed : "", who->typed ? ")" : "", who->type ? " " : "",
                        who->type ? rr_type_write(who->type, digits) : "");
}

// "*.home.example, which covers www.home.example,"
static const char *subject_of(const struct who *who, const struct who_entry *entry)
{
    return who->wildcard
               ? arena_printf(arena_of(who), "%s, which covers %s,", entry->shown, who->shown)
               : entry->shown;
}

// ---- the headline -------------------------------------------------------------------------------

static bool is_new(const struct who *who, size_t at, const char *content)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(content_of(who, &who->entries[i]), content))
            return false;
    return true;
}

// The zone comes first.
static const char *list_content(const struct who *who)
{
    const char *all = "";
    for (size_t i = 0; i < who->count; i++) {
        const char *content = content_of(who, &who->entries[i]);
        bool is_zone = who->entries[i].name.role == KIND_NAME_ZONE;
        if (is_new(who, i, content))
            all = arena_printf(arena_of(who), "%s%s%s", is_zone ? content : all, *all ? "; " : "",
                               is_zone ? all : content);
    }
    return all;
}

static const char *report_wrong(const struct who *who, const struct who_entry *entry, size_t count)
{
    const struct kind_name *name = &entry->name;
    struct arena *arena = arena_of(who);
    const char *subject = subject_of(who, entry);
    const char *object = entry->row->object;
    const char *reason = reason_of(who, entry->reason, entry->message);
    if (name->role == KIND_NAME_APPROVAL)
        return arena_printf(arena, "%s %.*s: a change (%.*s) waits for a person to approve %s%s",
                            subject, TEXT_ARGS(name->type), TEXT_ARGS(name->values), object,
                            reason);
    if (entry->state == WHO_PENDING)
        return arena_printf(arena, "%s is declared by %s, and what became of that is not known%s",
                            subject, object, reason);
    if (who->count > 1)
        return arena_printf(arena,
                            "%s is declared %zu times, and %zu of these %s not as declared: %s%s",
                            subject, who->count, count, count == 1 ? "is" : "are", object, reason);
    return arena_printf(arena, "%s%s%.*s is not as %s declares it%s", subject,
                        name->type.len ? " " : "", TEXT_ARGS(name->type), object, reason);
}

static const char *report_forward(const struct who *who)
{
    static const char *const ends[] = {[WHO_RIGHT] = "",
                                       [WHO_PENDING] = ", and what became of that is not known",
                                       [WHO_WRONG] = ", but that is not so"};
    const struct who_entry *entry = who->forward;
    bool is_right = entry->state == WHO_RIGHT;
    return arena_printf(arena_of(who),
                        "Nobody declares records of %s; queries for it are forwarded to %.*s, as "
                        "%s says of %s%s%s",
                        who->shown, TEXT_ARGS(entry->name.values), entry->row->object, entry->shown,
                        ends[entry->state],
                        is_right ? "" : reason_of(who, entry->reason, entry->message));
}

static const char *report_around(const struct who *who)
{
    struct arena *arena = arena_of(who);
    const struct who_entry *cut = who->cut;
    if (*who->other_types)
        return arena_printf(arena, "; the name has %s", who->other_types);
    if (cut)
        return arena_printf(arena, "; it lies below %s, which %s %s %.*s", cut->shown,
                            cut->row->object,
                            cut->state == WHO_RIGHT ? "delegates to" : "would delegate to",
                            TEXT_ARGS(cut->name.values));
    if (who->zone)
        return arena_printf(arena, "; it would be in the zone %s of %s", who->zone->shown,
                            who->zone->row->object);
    if (who->place)
        return arena_printf(arena, "; it would be in %s, which %s takes", who->place->shown,
                            who->place->row->object);
    return !who->closest
               ? ""
               : arena_printf(arena, ", and no zone here has it; the closest is %s", who->closest);
}

static const char *report_of(const struct who *who)
{
    size_t counts[] = {[WHO_RIGHT] = 0, [WHO_PENDING] = 0, [WHO_WRONG] = 0};
    const struct who_entry *first[COUNT_OF(counts)] = {0};
    for (size_t i = who->count; i--;) {
        first[who->entries[i].state] = &who->entries[i];
        counts[who->entries[i].state]++;
    }
    const struct who_entry *wrong = first[WHO_WRONG] ? first[WHO_WRONG] : first[WHO_PENDING];
    if (wrong)
        return report_wrong(who, wrong, counts[WHO_WRONG]);
    if (who->count)
        return arena_printf(arena_of(who), "%s is as declared%s%s: %s", question_of(who),
                            who->wildcard ? " by the wildcard " : "",
                            who->wildcard ? who->wildcard : "", list_content(who));
    if (who->forward)
        return report_forward(who);
    return arena_printf(arena_of(who), "Nobody declares %s%s", question_of(who),
                        report_around(who));
}

static void add_sentence(struct buffer *out, const char *text)
{
    text_clean(out, text_of(text), SHOWN_OCTETS_MAX);
    bool has_end = out->len && strchr(".?!", out->at[out->len - 1]);
    buffer_add_text(out, has_end ? "" : ".");
}

void who_write_headline(struct buffer *out, const struct who *who)
{
    add_sentence(out, report_of(who));
}

// ---- details ------------------------------------------------------------------------------------

struct page {
    struct buffer *out;
    const struct who *who;
    const struct who_look *look;
};

static void say(const struct page *page, unsigned indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(const struct page *page, unsigned indent, const char *format, ...)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER sentence = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    add_sentence(&sentence, text.at);
    print_wrapped(page->out, sentence.at, indent,
                  page->look->columns ? page->look->columns : UINT_MAX);
}

static void say_claim(const struct page *page, const struct who_entry *entry)
{
    static const char *const verbs[] = {
        [KIND_NAME_RECORDS] = "declares", [KIND_NAME_ZONE] = "is the zone",
        [KIND_NAME_PLACE] = "takes",      [KIND_NAME_FORWARD] = "forwards all of",
        [KIND_NAME_MENTION] = "names",    [KIND_NAME_APPROVAL] = "holds a change back of",
    };
    bool is_zone = entry->name.role == KIND_NAME_ZONE;
    const char *content = is_zone ? "" : content_of(page->who, entry);
    const char *joint = entry->name.role == KIND_NAME_FORWARD ? " to " : *content ? " " : "";
    say(page, 0, "%s%s %s %s%s%s", entry->row->object, place_of(page->who, entry->row),
        verbs[entry->name.role], is_zone ? entry->row->what : entry->shown, joint, content);
}

// Who made it: people would edit that.
static void say_owner(const struct page *page, const struct view_row *row)
{
    value_each (owner, value_list_at(row->tree, "metadata.ownerReferences"))
        if (value_bool_at(owner, "controller", false))
            say(page, INDENT, "It was made for %.*s/%s%s%.*s",
                TEXT_ARGS(value_text_at(owner, "kind")), row->namespace_,
                *row->namespace_ ? "/" : "", TEXT_ARGS(value_text_at(owner, "name")));
}

static void say_state(const struct page *page, const struct who_entry *entry)
{
    static const char *const states[] = {[WHO_RIGHT] = "It is as declared",
                                         [WHO_PENDING] = "What became of it is not known",
                                         [WHO_WRONG] = "It is not as declared"};
    bool is_place = entry->name.role == KIND_NAME_PLACE;
    const struct view *view = page->who->view;
    const char *state = !is_place                   ? states[entry->state]
                        : entry->state == WHO_RIGHT ? "It is ready"
                                                    : "It is not ready";
    say(page, INDENT, "%s%s%s%s", state, *entry->since ? " since " : "", entry->since,
        reason_of(page->who, entry->reason, entry->message));
    if (entry->row->warning)
        say(page, INDENT, "Warning: %s", entry->row->warning);
    for (size_t i = 0; entry->row->is_refused && i < view->fault_count; i++)
        if (text_starts(text_of(view->faults[i]), entry->row->path))
            say(page, INDENT, "%s", view->faults[i]);
}

static void say_through(const struct page *page, const struct who_entry *entry)
{
    const struct kind_name *name = &entry->name;
    const struct view_row *row = entry->through;
    if (!name->through_kind)
        return;
    bool is_read = !page->look->source || view_source_has(page->look->source, name->through_kind);
    if (!row)
        say(page, INDENT, "It goes through %s/%.*s%s%.*s, which %s", name->through_kind,
            TEXT_ARGS(name->through_namespace), name->through_namespace.len ? "/" : "",
            TEXT_ARGS(name->through_name), is_read ? "does not exist" : "was not looked at");
    else
        say(page, INDENT, "It goes through %s%s, %s, which is %s%s", row->object,
            place_of(page->who, row), row->what, row->is_right ? "ready" : "not ready",
            row->is_right ? "" : reason_of(page->who, row->reason, row->message));
}

static void say_servers(const struct page *page, const struct view_row *row)
{
    const char *all = "";
    for (size_t i = 0; row->servers && row->servers[i]; i++)
        all = arena_printf(arena_of(page->who), "%s%s%s", all, *all ? "; " : "", row->servers[i]);
    if (*all)
        say(page, INDENT, "Its name servers say: %s", all);
}

static void say_answer(const struct page *page, unsigned indent, enum answer answer,
                       const char *text, bool is_judged)
{
    if (answer == ANSWER_NOT_ASKED)
        return;
    say(page, indent, "%s %s %s%s", page->look->server,
        answer == ANSWER_FAILED ? "cannot be asked:" : "answers", text,
        answer == ANSWER_OK                     ? ", as declared"
        : is_judged && answer == ANSWER_DIFFERS ? ", which is not what is declared"
                                                : "");
}

static void say_rest(const struct page *page, const struct who_entry *entry)
{
    say_owner(page, entry->row);
    say_state(page, entry);
    say_through(page, entry);
    say_servers(page, entry->through ? entry->through : entry->row);
}

// What one object declares stands together, unless it says what became of each.
static bool is_continued(const struct who *who, size_t at)
{
    return at + 1 < who->count && who->entries[at].row == who->entries[at + 1].row &&
           !who->entries[at].name.status;
}

static void say_entries(const struct page *page)
{
    const struct who *who = page->who;
    for (size_t i = 0; i < who->count; i++) {
        const struct who_entry *entry = &who->entries[i];
        buffer_add_text(page->out, i && is_continued(who, i - 1) ? "" : "\n");
        say_claim(page, entry);
        say_answer(page, INDENT, entry->answer, entry->answer_text, entry->has_question);
        if (!is_continued(who, i))
            say_rest(page, entry);
    }
}

static void say_around(const struct page *page, const struct who_entry *entry)
{
    if (!entry)
        return;
    buffer_add_char(page->out, '\n');
    say_claim(page, entry);
    say_rest(page, entry);
}

static void say_nobody(const struct page *page)
{
    const struct who *who = page->who;
    const char *nearest = "";
    for (size_t i = 0; i < who->nearest_count; i++)
        nearest = arena_printf(arena_of(who), "%s%s%s", nearest, i ? " or " : "", who->nearest[i]);
    if (who->mention)
        say(page, 0, "%s%s names it; %.*s", who->mention->row->object,
            place_of(who, who->mention->row), TEXT_ARGS(who->mention->name.message));
    if (*nearest)
        say(page, 0, "Did you mean %s?", nearest);
    if (who->below)
        say(page, 0, "There are names below it, such as %s", who->below);
    if (who->view->fault_count)
        say(page, 0, "It may stand in a manifest that is refused; `signpost check` names those");
    say_answer(page, 0, page->look->answer, page->look->answer_text, false);
    say_around(page, who->cut);
    say_around(page, who->zone ? who->zone : who->place);
}

void who_write_text(struct buffer *out, const struct who *who, const struct who_look *look)
{
    const struct page page = {out, who, look};
    say(&page, 0, "%s", report_of(who));
    say_entries(&page);
    if (!who->count)
        say_nobody(&page);
    say_around(&page, who->forward);
    if (look->more.len)
        buffer_add_char(out, '\n');
    buffer_add(out, look->more.at, look->more.len);
}

// ---- JSON ---------------------------------------------------------------------------------------

// null where nothing is known.
static void put(const struct who *who, struct value *map, const char *key, struct text text)
{
    struct arena *arena = arena_of(who);
    value_put(arena, map, key,
              text.len ? value_make_text(arena, text) : value_make(arena, VALUE_NULL));
}

static struct value *value_of_entry(const struct who *who, const struct who_entry *entry)
{
    static const char *const roles[] = {
        [KIND_NAME_RECORDS] = "Records", [KIND_NAME_ZONE] = "Zone",
        [KIND_NAME_PLACE] = "Place",     [KIND_NAME_FORWARD] = "Forward",
        [KIND_NAME_APPROVAL] = "Change", [KIND_NAME_MENTION] = "Mention",
    };
    static const char *const states[] = {
        [WHO_RIGHT] = "AsDeclared", [WHO_PENDING] = "Pending", [WHO_WRONG] = "NotAsDeclared"};
    const struct view_row *row = entry->row;
    const struct {
        const char *key;
        struct text text;
    } members[] = {
        {"what", text_of(roles[entry->name.role])},
        {"kind", text_of(row->kind->name)},
        {"namespace", text_of(row->namespace_)},
        {"name", text_of(row->name)},
        {"file", text_of(row->path)},
        {"declares", text_of(entry->shown)},
        {"type", entry->name.type},
        {"values", entry->name.values},
        {"state", text_of(states[entry->state])},
        {"reason", text_of(entry->reason)},
        {"message", text_of(entry->message)},
        {"since", text_of(entry->since)},
        {"through", text_of(entry->through ? entry->through->object : NULL)},
        {"answered", text_of(entry->answer_text)},
    };
    struct value *map = value_make(arena_of(who), VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        put(who, map, members[i].key, members[i].text);
    value_put(arena_of(who), map, "line",
              row->line ? value_make_int(arena_of(who), row->line)
                        : value_make(arena_of(who), VALUE_NULL));
    return map;
}

void who_write_json(struct buffer *out, const struct who *who, const struct who_look *look)
{
    char digits[10];
    AUTO_BUFFER headline = {0};
    struct arena *arena = arena_of(who);
    struct value *root = value_make(arena, VALUE_MAP);
    const struct who_entry *around = who->zone ? who->zone : who->place;
    who_write_headline(&headline, who);
    put(who, root, "name", text_of(who->shown));
    put(who, root, "type", text_of(who->type ? rr_type_write(who->type, digits) : NULL));
    put(who, root, "answer", buffer_text(&headline));
    value_put_bool(arena, root, "right", who_is_right(who));
    struct value *list = value_put(arena, root, "declared", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < who->count; i++)
        value_append(list, value_of_entry(who, &who->entries[i]));
    if (who->forward)
        value_append(list, value_of_entry(who, who->forward));
    put(who, root, "zone", text_of(around ? around->shown : NULL));
    list = value_put(arena, root, "nearest", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < who->nearest_count; i++)
        value_append(list, value_make_text(arena, text_of(who->nearest[i])));
    put(who, root, "answered", text_of(look->answer_text));
    value_write_json(out, root);
    buffer_add_char(out, '\n');
}
