#include "commands/check_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/must.h"
#include "store/folder/name.h"

enum { NEAREST_NAMES_MAX = 256, SHOWN_OCTETS_MAX = 128 };

// Which fields name other objects.
static const struct reference_field {
    const char *kind;
    const char *name;
    const char *namespace_; // NULL: what is named is cluster-scoped
    const char *target;
    const char *key; // NULL: none
} reference_fields[] = {
    {"DNSRecord", "spec.dnsClassRef.name", NULL, "DNSClass", NULL},
    {"DNSClass", "spec.hmacAuth.secretRef.name", "spec.hmacAuth.secretRef.namespace", "Secret",
     "spec.hmacAuth.secretRef.key"},
};

// ---- what is known ------------------------------------------------------------------------------

static uint64_t hash_key(const char *key)
{
    return hash_octets(key, strlen(key));
}

static bool known_matches(const void *context, uint32_t id, const void *key)
{
    const struct check_set *set = context;
    return !strcmp(set->items[id].key, key);
}

static uint64_t known_hash(const void *context, uint32_t id)
{
    const struct check_set *set = context;
    return hash_key(set->items[id].key);
}

static const struct table_ops known_ops = {known_matches, known_hash};

void check_set_init(struct check_set *set, struct arena *arena)
{
    *set = (struct check_set){.arena = arena};
    set->table = (struct table){.ops = &known_ops, .context = set};
}

void check_set_done(struct check_set *set)
{
    table_done(&set->table);
    free(set->items);
    free(set->references);
}

static const struct known *find(const struct check_set *set, const char *key)
{
    uint32_t id = table_find(&set->table, hash_key(key), key);
    if (id == TABLE_NONE)
        return NULL;
    must(set->items);
    return &set->items[id];
}

// Files it under its key and returns NULL; where the key is taken, returns what stands there.
static const struct known *file_known(struct check_set *set, struct known known)
{
    const struct known *old = find(set, known.key);
    if (old)
        return old;
    known.key = arena_copy_text(set->arena, known.key);
    mem_reserve(&set->items, &set->capacity, set->count + 1);
    set->items[set->count] = known;
    table_add(&set->table, hash_key(known.key), (uint32_t)set->count++);
    return NULL;
}

static const struct spot *file(struct check_set *set, struct known known)
{
    const struct known *old = file_known(set, known);
    return old ? &old->place : NULL;
}

const struct spot *check_set_file(struct check_set *set, const char *key, struct spot place)
{
    return file(set, (struct known){.key = key, .place = place});
}

static void write_object_key(struct buffer *out, const struct object_ref_key *object)
{
    buffer_add_text(out, "object ");
    name_write_key(out, object);
}

const struct spot *check_set_add_object(struct check_set *set, const struct object_ref_key *object,
                                        struct spot place)
{
    AUTO_BUFFER key = {0};
    write_object_key(&key, object);
    const char *name = arena_copy(set->arena, object->name.at, object->name.len);
    return file(set, (struct known){key.at, place, object->kind, name, NULL});
}

// ---- what must stand alone ----------------------------------------------------------------------

static void report_claimed(struct report *report, struct spot place,
                           const struct object_ref_key *object, const struct kind_claim *claim,
                           const struct known *first)
{
    AUTO_BUFFER value = {0};
    text_clean(&value, claim->value, SHOWN_OCTETS_MAX);
    report_add(report, REPORT_ERROR, place, "%s: %s %s is that of %s %s in %s:%u:%u already; %s",
               claim->path, claim->what, value.at, object->kind->name, first->holder,
               first->place.path, first->place.line, first->place.column, claim->advice);
}

bool check_set_claim(struct check_set *set, const struct object_ref_key *object,
                     const struct value *tree, const char *path, const struct kind_claim *claim,
                     struct report *report)
{
    struct kind_claim own;
    const struct kind *kind = object->kind;
    if (!claim && (!kind->find_claim || !kind->find_claim(set->arena, tree, &own)))
        return true;
    if (!claim)
        claim = &own;
    const char *key = arena_printf(set->arena, "claim %s.%s %.*s", kind->plural, kind->group,
                                   TEXT_ARGS(claim->value));
    const char *holder = arena_printf(set->arena, "%.*s%s%.*s", TEXT_ARGS(object->namespace_),
                                      object->namespace_.len ? "/" : "", TEXT_ARGS(object->name));
    struct spot place = place_in(tree, claim->path, path);
    const struct known *first =
        file_known(set, (struct known){.key = key, .place = place, .holder = holder});
    if (!first || !strcmp(first->holder, holder))
        return true;
    report_claimed(report, place, object, claim, first);
    return false;
}

// ---- short keys ---------------------------------------------------------------------------------

static void write_short_key(struct buffer *out, struct text namespace_, struct text name,
                            struct text key)
{
    buffer_printf(out, "short %.*s/%.*s %.*s", TEXT_ARGS(namespace_), TEXT_ARGS(name),
                  TEXT_ARGS(key));
}

void check_set_add_short_key(struct check_set *set, struct text namespace_, struct text name,
                             struct text key, struct spot place)
{
    AUTO_BUFFER text = {0};
    write_short_key(&text, namespace_, name, key);
    file(set, (struct known){.key = text.at, .place = place});
}

// ---- references ---------------------------------------------------------------------------------

struct spot place_in(const struct value *tree, const char *field, const char *path)
{
    const struct value *nearest = NULL;
    must(tree);
    value_at(tree, field, &nearest);
    if (!nearest)
        nearest = tree;
    bool has_key = nearest->key_line != 0;
    uint32_t line = has_key ? nearest->key_line : nearest->line;
    uint32_t column = has_key ? nearest->key_column : nearest->column;
    return (struct spot){path, line ? line : 1, column ? column : 1};
}

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < kind_count; i++)
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    return NULL;
}

static void refer(struct check_set *set, const struct reference_field *field,
                  const struct value *tree, const char *path)
{
    struct text name = value_text_at(tree, field->name);
    struct text namespace_ = field->namespace_ ? value_text_at(tree, field->namespace_) : TEXT("");
    struct text key = field->key ? value_text_at(tree, field->key) : TEXT("");
    const struct kind *kind = kind_named(field->target);
    must(kind);
    if (!name.len || (field->namespace_ && !namespace_.len))
        return;
    mem_reserve(&set->references, &set->reference_capacity, set->reference_count + 1);
    set->references[set->reference_count++] =
        (struct reference){.place = place_in(tree, field->name, path),
                           .field = field->name,
                           .kind = kind,
                           .namespace_ = arena_copy(set->arena, namespace_.at, namespace_.len),
                           .name = arena_copy(set->arena, name.at, name.len),
                           .key = arena_copy(set->arena, key.at, key.len)};
}

void check_set_refer(struct check_set *set, const struct kind *kind, const struct value *tree,
                     const char *path)
{
    for (size_t i = 0; i < COUNT_OF(reference_fields); i++)
        if (!strcmp(reference_fields[i].kind, kind->name))
            refer(set, &reference_fields[i], tree, path);
}

static const char *nearest_name(const struct check_set *set, const struct reference *reference)
{
    const char *names[NEAREST_NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < set->count && count < NEAREST_NAMES_MAX; i++)
        if (set->items[i].kind == reference->kind)
            names[count++] = set->items[i].name;
    return text_nearest(text_of(reference->name), names, count);
}

static bool is_there(const struct check_set *set, const struct reference *reference)
{
    AUTO_BUFFER key = {0};
    const struct object_ref_key object = {reference->kind, text_of(reference->namespace_),
                                          text_of(reference->name)};
    write_object_key(&key, &object);
    return find(set, key.at);
}

static void warn(const struct check_set *set, const struct reference *reference,
                 struct report *report)
{
    bool has_namespace = *reference->namespace_ != '\0';
    const char *nearest = nearest_name(set, reference);
    AUTO_BUFFER advice = {0};
    if (nearest && strcmp(nearest, reference->name) != 0)
        buffer_printf(&advice, "did you mean %s?", nearest);
    else
        buffer_printf(&advice, "add the %s, or check the files that have it as well",
                      reference->kind->name);
    report_add(report, REPORT_WARNING, reference->place, "%s: no %s %s%s%s in these files; %s",
               reference->field, reference->kind->name, reference->namespace_,
               has_namespace ? "/" : "", reference->name, advice.at);
}

static bool has_short_key(const struct check_set *set, const struct reference *reference)
{
    AUTO_BUFFER key = {0};
    write_short_key(&key, text_of(reference->namespace_), text_of(reference->name),
                    text_of(reference->key));
    return *reference->key && find(set, key.at);
}

void check_set_report(const struct check_set *set, struct report *report)
{
    for (size_t i = 0; i < set->reference_count; i++)
        if (!is_there(set, &set->references[i]))
            warn(set, &set->references[i], report);
        else if (has_short_key(set, &set->references[i]))
            report_add(report, REPORT_WARNING, set->references[i].place,
                       "%s: key %s of Secret %s/%s is short; 32 random octets are good",
                       set->references[i].field, set->references[i].key,
                       set->references[i].namespace_, set->references[i].name);
}
