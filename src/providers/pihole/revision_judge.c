#include <string.h>

#include "base/must.h"
#include "providers/pihole/revision_private.h"

// What one change does to the entries of its name: whose they are decides.

struct wanted {
    struct change *change;
    enum record_type type;
    struct text name;
    uint32_t name_id; // or LIST_NONE
    uint32_t ttl_s;
    struct text *values; // as written, each once
    bool *is_covered;
    size_t count;
};

// What stands there for a name and type.
struct sight {
    size_t ours;
    size_t somebodys;
    size_t another_owners;
    bool is_adoptable; // all of somebody's are
    const struct entry *somebodys_first;
    const struct entry *another_owners_first;
};

#define each_of(id, revision, wanted, type)                                                        \
    list_each (id, (revision)->list, (wanted)->name_id, type)

static const struct line *line_of(const struct revision *revision, uint32_t id)
{
    return list_line_of(revision->list, &revision->list->entries[id]);
}

static bool is_ours(const struct revision *revision, uint32_t id)
{
    const struct line *line = line_of(revision, id);
    return (line->whose == WHOSE_OURS && !line->is_left_out) || revision->fates[id].is_adopted;
}

static bool is_somebodys(const struct revision *revision, uint32_t id)
{
    return line_of(revision, id)->whose == WHOSE_SOMEBODYS && !revision->fates[id].is_adopted;
}

static bool can_be_adopted(const struct line *line)
{
    return line->entry_count == 1 && !line->has_comment && !line->refusal;
}

static struct sight look(const struct revision *revision, const struct wanted *wanted,
                         enum record_type type)
{
    struct sight sight = {.is_adoptable = true};
    each_of(id, revision, wanted, type)
    {
        const struct entry *entry = &revision->list->entries[id];
        const struct line *line = line_of(revision, id);
        if (line->whose == WHOSE_OURS || revision->fates[id].is_adopted) {
            sight.ours += !line->is_left_out;
        } else if (line->whose == WHOSE_ANOTHER_OWNERS) {
            if (!sight.another_owners++)
                sight.another_owners_first = entry;
        } else {
            if (!sight.somebodys++)
                sight.somebodys_first = entry;
            sight.is_adoptable = sight.is_adoptable && can_be_adopted(line);
        }
    }
    return sight;
}

static size_t find_value(const struct wanted *wanted, struct text value)
{
    size_t i = 0;
    while (i < wanted->count && !text_equal(wanted->values[i], value))
        i++;
    return i;
}

// Do the entries that `counts` are exactly the wanted values?
static bool is_as_wanted(const struct revision *revision, const struct wanted *wanted,
                         bool (*counts)(const struct revision *revision, uint32_t id))
{
    size_t covered = 0;
    bool has_other = false;
    memset(wanted->is_covered, 0, wanted->count);
    each_of(id, revision, wanted, wanted->type)
    {
        if (!counts(revision, id))
            continue;
        size_t i = find_value(wanted, revision->list->entries[id].value);
        has_other = has_other || i == wanted->count;
        if (i < wanted->count && !wanted->is_covered[i]) {
            wanted->is_covered[i] = true;
            covered++;
        }
    }
    return !has_other && covered == wanted->count;
}

static bool is_another_owners(const struct revision *revision, uint32_t id)
{
    return line_of(revision, id)->whose == WHOSE_ANOTHER_OWNERS;
}

// ---- outcomes -----------------------------------------------------------------------------------

// What of ours stood there, each value once.
static const struct record_set *stood(const struct revision *revision, const struct wanted *wanted)
{
    size_t count = 0, kept = 0;
    uint32_t ttl_s = 0;
    each_of(id, revision, wanted, wanted->type) count += is_ours(revision, id);
    if (!count)
        return NULL;
    struct text *values = arena_new_array(revision->setup.arena, struct text, count);
    each_of(id, revision, wanted, wanted->type)
    {
        const struct entry *entry = &revision->list->entries[id];
        if (!is_ours(revision, id))
            continue;
        if (!kept)
            ttl_s = entry->ttl_s;
        values[kept++] = (struct text){
            arena_copy(revision->setup.arena, entry->value.at, entry->value.len), entry->value.len};
    }
    struct record_set *set = arena_new_of(revision->setup.arena, struct record_set);
    struct text name = wanted->change->set.domain;
    kept = list_tidy_values(values, kept);
    *set = list_set(revision->setup.arena, wanted->type, name, ttl_s, values, kept);
    set->subdomain = wanted->change->set.subdomain;
    return set;
}

static void fail(const struct revision *revision, struct change *change, enum fault fault,
                 const char *reason, const char *text)
{
    struct error *error = arena_new_of(revision->setup.arena, struct error);
    error_set(error, fault, reason, "%s", text);
    change->outcome.error = error;
}

static void fail_standing(const struct revision *revision, const struct wanted *wanted,
                          const struct entry *entry, bool is_by_hand)
{
    char line[256];
    AUTO_BUFFER text = {0};
    text_clean_into(line, sizeof line, list_line_of(revision->list, entry)->text);
    buffer_printf(&text, "'%s' stands in Pi-hole already, put there by %s, and is left as it is",
                  line, is_by_hand ? "hand" : "another Signpost");
    if (is_by_hand)
        buffer_add_text(&text, ": remove it there, or leave the name out here");
    fail(revision, wanted->change, FAULT_WAIT, is_by_hand ? "NameTaken" : "OwnedElsewhere",
         text.at);
}

// ---- what is done -------------------------------------------------------------------------------

static void drop(struct revision *revision, uint32_t id)
{
    revision->fates[id].is_gone = true;
}

static void add(struct revision *revision, const struct wanted *wanted, struct text value,
                uint32_t entry)
{
    mem_reserve(&revision->pairs, &revision->pair_capacity, revision->pair_count + 1);
    revision->pairs[revision->pair_count++] = (struct pair){.change = wanted->change,
                                                            .type = wanted->type,
                                                            .name = wanted->name,
                                                            .value = value,
                                                            .ttl_s = wanted->ttl_s,
                                                            .entry = entry};
    if (entry == LIST_NONE)
        return;
    revision->fates[entry].is_gone = true;
    revision->fates[entry].pair = (uint32_t)revision->pair_count;
}

static void drop_ours(struct revision *revision, const struct wanted *wanted)
{
    wanted->change->outcome.replaced = stood(revision, wanted);
    each_of(id, revision, wanted, wanted->type)
    {
        if (is_ours(revision, id))
            drop(revision, id);
    }
}

static void adopt(struct revision *revision, const struct wanted *wanted)
{
    each_of(id, revision, wanted, wanted->type)
    {
        if (is_somebodys(revision, id) && can_be_adopted(line_of(revision, id)))
            revision->fates[id].is_adopted = true;
    }
}

// A line that stays must prove itself ours: by its tag, or as the ledger will name it.
static bool has_proof(const struct revision *revision, uint32_t id)
{
    const struct entry *entry = &revision->list->entries[id];
    const struct line *line = line_of(revision, id);
    if (line->is_tagged)
        return true;
    if (revision->list->rules.has_tags && entry->type != RECORD_CNAME)
        return false;
    if (line->entry_count > 1)
        return true;
    AUTO_BUFFER form = {0};
    list_render(&form, &revision->list->rules, entry->type, entry->value, entry->ttl_s,
                &revision->list->names[entry->name].text, 1);
    return text_equal(buffer_text(&form), line->text);
}

// What stays, stays where it is. Returns whether anything is written so far.
static bool keep_or_drop(struct revision *revision, const struct wanted *wanted)
{
    bool writes = false;
    memset(wanted->is_covered, 0, wanted->count);
    each_of(id, revision, wanted, wanted->type)
    {
        const struct entry *entry = &revision->list->entries[id];
        if (!is_ours(revision, id))
            continue;
        size_t i = find_value(wanted, entry->value);
        bool stays = i < wanted->count && !wanted->is_covered[i] && entry->ttl_s == wanted->ttl_s;
        if (stays)
            wanted->is_covered[i] = true;
        if (stays && has_proof(revision, id))
            continue;
        writes = true;
        drop(revision, id);
        if (stays)
            add(revision, wanted, entry->value, id);
    }
    return writes;
}

// What goes gives its place to the next value.
static uint32_t next_place(const struct revision *revision, uint32_t *from)
{
    for (; *from != LIST_NONE; *from = revision->list->entries[*from].next) {
        const struct fate *fate = &revision->fates[*from];
        if (fate->is_gone && !fate->pair)
            return *from;
    }
    return LIST_NONE;
}

static bool add_missing(struct revision *revision, const struct wanted *wanted)
{
    bool writes = false;
    uint32_t place = wanted->name_id == LIST_NONE
                         ? LIST_NONE
                         : revision->list->names[wanted->name_id].first[wanted->type];
    for (size_t i = 0; i < wanted->count; i++) {
        if (wanted->is_covered[i])
            continue;
        add(revision, wanted, wanted->values[i], next_place(revision, &place));
        writes = true;
    }
    return writes;
}

static bool has_ttl(const struct revision *revision, const struct wanted *wanted)
{
    each_of(id, revision, wanted, wanted->type)
    {
        if (is_ours(revision, id) && revision->list->entries[id].ttl_s != wanted->ttl_s)
            return false;
    }
    return true;
}

static void fit(struct revision *revision, const struct wanted *wanted)
{
    struct outcome *outcome = &wanted->change->outcome;
    const struct record_set *before = stood(revision, wanted);
    bool is_same = is_as_wanted(revision, wanted, is_ours) && has_ttl(revision, wanted);
    bool is_rewritten = keep_or_drop(revision, wanted);
    bool is_extended = add_missing(revision, wanted);
    outcome->is_done = true;
    outcome->was_created = !before;
    outcome->is_unchanged = !is_rewritten && !is_extended;
    outcome->replaced = is_same ? NULL : before;
}

// ---- decisions ----------------------------------------------------------------------------------

// Beside an alias nothing stands, and an alias beside nothing. The first foreign one in the way.
static const struct entry *in_the_way(const struct revision *revision, const struct wanted *wanted,
                                      bool *is_somebodys)
{
    static const enum record_type others[LIST_TYPES][2] = {
        [RECORD_A] = {RECORD_CNAME, RECORD_CNAME},
        [RECORD_AAAA] = {RECORD_CNAME, RECORD_CNAME},
        [RECORD_CNAME] = {RECORD_A, RECORD_AAAA},
    };
    const struct entry *owned = NULL;
    for (int i = 0; i < 2; i++) {
        struct sight sight = look(revision, wanted, others[wanted->type][i]);
        *is_somebodys = sight.somebodys > 0;
        if (sight.somebodys)
            return sight.somebodys_first;
        owned = owned ? owned : sight.another_owners_first;
    }
    return owned;
}

static void give_way(struct revision *revision, const struct wanted *wanted,
                     const struct entry *entry, bool is_somebodys)
{
    drop_ours(revision, wanted);
    fail_standing(revision, wanted, entry, is_somebodys);
}

static void be_satisfied(struct revision *revision, const struct wanted *wanted)
{
    drop_ours(revision, wanted);
    wanted->change->outcome.is_done = true;
    wanted->change->outcome.is_foreign = true;
}

// Our line says what somebody's says: an address may stand twice, an alias may not.
static bool may_stand_beside(const struct revision *revision, const struct wanted *wanted)
{
    return wanted->type != RECORD_CNAME && is_as_wanted(revision, wanted, is_ours);
}

static void set(struct revision *revision, const struct wanted *wanted)
{
    bool is_by_hand;
    const struct entry *other = in_the_way(revision, wanted, &is_by_hand);
    if (other) {
        give_way(revision, wanted, other, is_by_hand);
        return;
    }
    struct sight sight = look(revision, wanted, wanted->type);
    if (wanted->change->may_adopt && sight.somebodys && sight.is_adoptable) {
        adopt(revision, wanted);
        sight.ours += sight.somebodys;
        sight.somebodys = 0;
    }
    bool is_owned = !sight.somebodys && sight.another_owners && !sight.ours;
    if (sight.somebodys && !is_as_wanted(revision, wanted, is_somebodys))
        give_way(revision, wanted, sight.somebodys_first, true);
    else if (is_owned && !is_as_wanted(revision, wanted, is_another_owners))
        give_way(revision, wanted, sight.another_owners_first, false);
    else if (is_owned || (sight.somebodys && !may_stand_beside(revision, wanted)))
        be_satisfied(revision, wanted);
    else
        fit(revision, wanted);
}

static void remove_set(struct revision *revision, const struct wanted *wanted)
{
    struct outcome *outcome = &wanted->change->outcome;
    if (wanted->change->may_adopt)
        adopt(revision, wanted);
    drop_ours(revision, wanted);
    outcome->is_done = true;
    outcome->was_absent = outcome->is_unchanged = !outcome->replaced;
}

// ---- what is wanted -----------------------------------------------------------------------------

static bool take_values(const struct revision *revision, struct wanted *wanted)
{
    const struct record_set *from = &wanted->change->set;
    wanted->values = arena_new_array(revision->arena, struct text, from->value_count + 1);
    wanted->is_covered = arena_new_array(revision->arena, bool, from->value_count + 1);
    for (size_t i = 0; i < from->value_count; i++) {
        struct text value;
        if (!list_value(revision->arena, wanted->type, from->values[i], &value))
            return false;
        if (find_value(wanted, value) == wanted->count)
            wanted->values[wanted->count++] = value;
    }
    return wanted->count > 0 && (wanted->type != RECORD_CNAME || wanted->count == 1);
}

static bool check_wanted(const struct revision *revision, struct wanted *wanted, struct error *err)
{
    if (!list_check_name(wanted->name, err))
        return false;
    if (!take_values(revision, wanted))
        return error_set(err, FAULT_SPEC, "RecordRefused", "%.*s has no value that is one of %s",
                         TEXT_ARGS(wanted->name), record_type_name(wanted->type));
    return wanted->type != RECORD_CNAME || list_check_name(wanted->values[0], err);
}

void revision_judge(struct revision *revision, struct change *change)
{
    struct error err = {0};
    struct wanted wanted = {.change = change, .type = change->set.type};
    must(change->op != CHANGE_READ);
    change->outcome = (struct outcome){0};
    if (!list_has_type(wanted.type)) {
        fail(revision, change, FAULT_SPEC, "RecordRefused",
             "a Pi-hole holds A, AAAA and CNAME records, and no others");
        return;
    }
    wanted.name = list_set_name(revision->arena, &change->set);
    wanted.name_id = list_find_name(revision->list, wanted.name);
    wanted.ttl_s = wanted.type == RECORD_CNAME ? change->set.ttl_s : 0;
    if (change->op == CHANGE_REMOVE)
        remove_set(revision, &wanted);
    else if (check_wanted(revision, &wanted, &err))
        set(revision, &wanted);
    else
        fail(revision, change, err.fault, err.reason, err.text);
}
