#include "commands/who_find.h"

#include <string.h>

#include "dns/rdata.h"
#include "dns/rr_type.h"

// All that is listed, in the order of the rows.
struct listed {
    struct who *who;
    struct who_entry *items;
    size_t count;
    size_t capacity;
};

static struct arena *arena_of(const struct who *who)
{
    return who->view->arena;
}

// ---- names --------------------------------------------------------------------------------------

static const struct dname root = {(const uint8_t *)"", 1};

static bool read_name(struct arena *arena, struct text text, enum dname_rules rules,
                      struct dname *out, struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    if (!dname_read(text, &root, rules, octets, &name, err))
        return false;
    *out = (struct dname){(const uint8_t *)arena_copy(arena, (const char *)octets, name.len),
                          name.len};
    return true;
}

static const char *show_name(struct arena *arena, struct dname name)
{
    AUTO_BUFFER out = {0};
    dname_write(&out, name);
    return arena_copy(arena, out.at, out.len - (out.len > 1));
}

static bool is_below(struct dname name, struct dname above)
{
    return !dname_equal(name, above) && dname_is_within(name, above);
}

// ---- listing ------------------------------------------------------------------------------------

static const char *copy(struct arena *arena, struct text text)
{
    return arena_copy(arena, text.at ? text.at : "", text.len);
}

// What the object says of the name itself goes before what became of the object.
static void set_state(struct arena *arena, struct who_entry *entry)
{
    const struct view_row *row = entry->row;
    const struct kind_name *name = &entry->name;
    bool is_own = name->status && !row->is_gone;
    bool is_right = is_own ? !strcmp(name->status, "True") : row->is_right;
    bool is_pending = is_own ? !strcmp(name->status, "Unknown") : row->is_pending;
    entry->state = is_right ? WHO_RIGHT : is_pending ? WHO_PENDING : WHO_WRONG;
    entry->reason = is_own                     ? copy(arena, name->reason)
                    : strcmp(row->reason, "-") ? row->reason
                                               : "";
    entry->message = is_own ? copy(arena, name->message) : row->message;
    entry->since = is_own ? copy(arena, name->since) : row->since;
}

static const struct view_row *find_through(const struct who *who, const struct kind_name *name)
{
    if (!name->through_kind)
        return NULL;
    bool is_namespaced = name->through_namespace.len > 0;
    return view_find(who->view,
                     arena_printf(arena_of(who), "%s/%.*s%s%.*s", name->through_kind,
                                  TEXT_ARGS(name->through_namespace), is_namespaced ? "/" : "",
                                  TEXT_ARGS(name->through_name)));
}

static void add_entry(struct listed *listed, const struct view_row *row,
                      const struct kind_name *name)
{
    struct arena *arena = arena_of(listed->who);
    struct who_entry entry = {.row = row, .name = *name, .answer_text = ""};
    if (!read_name(arena, name->name, DNAME_OF_FILE, &entry.dname, NULL))
        return;
    if (!rr_type_read(name->type, &entry.type))
        entry.type = 0;
    entry.shown = show_name(arena, entry.dname);
    arena_reserve(arena, &listed->items, &listed->capacity, listed->count + 1);
    listed->items[listed->count++] = entry;
}

// A record whose zone is known has its whole name, and its rdata has whole names, too.
static void take_question(const struct listed *listed, const struct view_row *row,
                          struct kind_name *name)
{
    AUTO_BUFFER rdata = {0};
    name->name = row->question.name;
    if (!question_is_of_one(&row->question))
        return;
    rdata_write(&rdata, row->question.type, row->question.rdata);
    name->values = text_of(copy(arena_of(listed->who), buffer_text(&rdata)));
}

static void list_row(struct listed *listed, const struct view_row *row)
{
    struct kind_names names = {.arena = arena_of(listed->who)};
    bool is_over = row->kind->is_over && row->kind->is_over(row->tree);
    if (!row->kind->list_names || is_over)
        return;
    row->kind->list_names(row->tree, &names);
    if (row->has_question && names.count == 1)
        take_question(listed, row, &names.items[0]);
    for (size_t i = 0; i < names.count; i++)
        add_entry(listed, row, &names.items[i]);
}

// ---- who declares it ----------------------------------------------------------------------------

static bool declares(const struct who_entry *entry)
{
    return entry->name.role == KIND_NAME_RECORDS || entry->name.role == KIND_NAME_ZONE ||
           entry->name.role == KIND_NAME_APPROVAL;
}

// An alias stands for all types.
static bool is_of_type(const struct who *who, const struct who_entry *entry)
{
    if (entry->name.role == KIND_NAME_ZONE)
        return !who->type || who->type == RR_SOA;
    return !who->type || !entry->type || entry->type == who->type || entry->type == RR_CNAME;
}

static bool has_records_within(const struct listed *listed, struct dname name, struct dname but)
{
    for (size_t i = 0; i < listed->count; i++) {
        const struct who_entry *entry = &listed->items[i];
        if (declares(entry) && !dname_equal(entry->dname, but) &&
            dname_is_within(entry->dname, name))
            return true;
    }
    return false;
}

static struct dname child_towards(struct dname above, struct dname name)
{
    while (!dname_equal(dname_parent(name), above))
        name = dname_parent(name);
    return name;
}

// A wildcard covers what lies below its parent, unless a name is there between (RFC 4592 2.2.1).
static const struct who_entry *find_wildcard(const struct listed *listed)
{
    const struct who_entry *best = NULL;
    struct dname name = listed->who->name;
    for (size_t i = 0; i < listed->count; i++) {
        const struct who_entry *entry = &listed->items[i];
        if (entry->name.role == KIND_NAME_RECORDS && dname_is_wildcard(entry->dname) &&
            is_below(name, dname_parent(entry->dname)) &&
            (!best || entry->dname.len > best->dname.len))
            best = entry;
    }
    if (!best)
        return NULL;
    struct dname child = child_towards(dname_parent(best->dname), name);
    return has_records_within(listed, child, best->dname) ? NULL : best;
}

static bool has_word(struct text list, struct text word)
{
    struct text piece;
    while (text_cut(&list, ',', &piece))
        if (text_equal(text_trim(piece), word))
            return true;
    return false;
}

static void take_entries(struct listed *listed, struct dname name)
{
    struct who *who = listed->who;
    AUTO_BUFFER others = {0};
    who->entries = arena_new_array(arena_of(who), struct who_entry, listed->count + 1);
    for (size_t i = 0; i < listed->count; i++) {
        struct who_entry *entry = &listed->items[i];
        if (!declares(entry) || !dname_equal(entry->dname, name))
            continue;
        if (is_of_type(who, entry))
            who->entries[who->count++] = *entry;
        else if (entry->type && !has_word(buffer_text(&others), entry->name.type))
            buffer_printf(&others, "%s%.*s", others.len ? ", " : "", TEXT_ARGS(entry->name.type));
    }
    who->other_types = copy(arena_of(who), buffer_text(&others));
}

// ---- what is around it --------------------------------------------------------------------------

static struct who_entry *find_around(const struct listed *listed, enum kind_name_role role)
{
    struct who_entry *best = NULL;
    for (size_t i = 0; i < listed->count; i++) {
        struct who_entry *entry = &listed->items[i];
        if (entry->name.role == role && dname_is_within(listed->who->name, entry->dname) &&
            (!best || entry->dname.len > best->dname.len))
            best = entry;
    }
    return best;
}

// A delegation that leads out of the innermost zone of ours.
static struct who_entry *find_cut(const struct listed *listed)
{
    const struct who *who = listed->who;
    for (size_t i = 0; i < listed->count; i++) {
        struct who_entry *entry = &listed->items[i];
        if (entry->name.role == KIND_NAME_RECORDS && entry->type == RR_NS &&
            is_below(who->name, entry->dname) &&
            (!who->zone || is_below(entry->dname, who->zone->dname)))
            return entry;
    }
    return NULL;
}

static const struct who_entry *find_mention(const struct listed *listed)
{
    for (size_t i = 0; i < listed->count; i++)
        if (listed->items[i].name.role == KIND_NAME_MENTION &&
            dname_equal(listed->items[i].dname, listed->who->name))
            return &listed->items[i];
    return NULL;
}

// ---- what is near it ----------------------------------------------------------------------------

static size_t count_common(struct dname a, struct dname b)
{
    while (!dname_is_within(b, a))
        a = dname_parent(a);
    return dname_label_count(a);
}

static const char *find_closest(const struct listed *listed)
{
    size_t most = 0;
    const char *closest = NULL;
    for (size_t i = 0; i < listed->count; i++) {
        const struct who_entry *entry = &listed->items[i];
        if (entry->name.role != KIND_NAME_ZONE && entry->name.role != KIND_NAME_PLACE)
            continue;
        size_t common = count_common(listed->who->name, entry->dname);
        if (closest && common <= most)
            continue;
        most = common;
        closest = entry->shown;
    }
    return closest;
}

// Label by label: in a long name there would be room for another word.
static bool is_near(const struct who *who, const struct who_entry *entry)
{
    struct text wrong = text_of(who->shown), right = text_of(entry->shown), label, other;
    if (dname_is_within(entry->dname, who->name))
        return false;
    while (text_cut(&wrong, '.', &label)) {
        if (!text_cut(&right, '.', &other))
            return false;
        const char *candidate = copy(arena_of(who), other);
        if (!text_equal(label, other) && !text_nearest(label, &candidate, 1))
            return false;
    }
    return !right.at;
}

static void find_nearest(struct listed *listed)
{
    struct who *who = listed->who;
    for (size_t i = 0; i < listed->count && who->nearest_count < WHO_NEAREST_MAX; i++) {
        const struct who_entry *entry = &listed->items[i];
        bool is_known = !declares(entry) || !is_near(who, entry);
        for (size_t j = 0; j < who->nearest_count; j++)
            is_known = is_known || !strcmp(who->nearest[j], entry->shown);
        if (!is_known)
            who->nearest[who->nearest_count++] = entry->shown;
    }
}

// ---- all of it ----------------------------------------------------------------------------------

static void look_around(struct listed *listed)
{
    struct who *who = listed->who;
    who->zone = find_around(listed, KIND_NAME_ZONE);
    who->place = find_around(listed, KIND_NAME_PLACE);
    who->forward = find_around(listed, KIND_NAME_FORWARD);
    who->cut = find_cut(listed);
    who->mention = find_mention(listed);
    if (!who->zone && !who->place)
        who->closest = find_closest(listed);
    if (!who->count)
        find_nearest(listed);
    for (size_t i = 0; i < listed->count && !who->below; i++)
        if (declares(&listed->items[i]) && is_below(listed->items[i].dname, who->name))
            who->below = listed->items[i].shown;
}

static void complete(const struct who *who, struct who_entry *entry)
{
    set_state(arena_of(who), entry);
    entry->through = find_through(who, &entry->name);
    entry->has_question = entry->row->has_question;
}

static bool has_other_script(struct text name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.at[i] & 0x80)
            return true;
    return false;
}

bool who_find(struct who *who, struct view *view, struct text name, uint16_t type,
              struct error *err)
{
    struct listed listed = {.who = who};
    *who = (struct who){.view = view, .type = type};
    if (!read_name(view->arena, name, DNAME_OF_OBJECT, &who->name, err))
        return false;
    who->shown = show_name(view->arena, who->name);
    who->typed = has_other_script(name) ? copy(view->arena, name) : NULL;
    for (size_t i = 0; i < view->count; i++)
        list_row(&listed, &view->rows[i]);
    const struct who_entry *wildcard =
        has_records_within(&listed, who->name, (struct dname){0}) ? NULL : find_wildcard(&listed);
    take_entries(&listed, wildcard ? wildcard->dname : who->name);
    who->wildcard = wildcard ? wildcard->shown : NULL;
    look_around(&listed);
    struct who_entry *const around[] = {who->forward, who->zone, who->place, who->cut};
    for (size_t i = 0; i < COUNT_OF(around); i++)
        if (around[i])
            complete(who, around[i]);
    for (size_t i = 0; i < who->count; i++)
        complete(who, &who->entries[i]);
    return true;
}

// What a server answers to a question whose right answer is not known says only that there is one.
static bool is_in_order(const struct who_entry *entry)
{
    bool is_answered = entry->answer == ANSWER_NOT_ASKED || entry->answer == ANSWER_OK ||
                       (entry->answer == ANSWER_DIFFERS && !entry->has_question);
    return entry->state == WHO_RIGHT && is_answered;
}

bool who_is_right(const struct who *who)
{
    for (size_t i = 0; i < who->count; i++)
        if (!is_in_order(&who->entries[i]))
            return false;
    return who->count || (who->forward && is_in_order(who->forward));
}
