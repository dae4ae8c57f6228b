#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "base/labels.h"
#include "base/must.h"

// Trees of what is written, and the ConfigMaps: the Corefile itself, and copies to go back to.

struct value *tree_of(struct reconcile *reconcile, const char *json)
{
    char *text = arena_copy_text(reconcile->arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct value *tree = read_tree(reconcile, text_of(text));
    must(tree);
    return tree;
}

struct value *read_tree(struct reconcile *reconcile, struct text json)
{
    struct error err;
    return json.at ? value_read_json(reconcile->arena, json, &value_manifest_limits, &err) : NULL;
}

struct value *own_tree(struct reconcile *reconcile)
{
    struct arena *arena = reconcile->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put(arena, tree, "metadata.labels[" OPERATOR_LABEL "]",
              value_make_text(arena, reconcile->in->name));
    value_put(arena, tree, "metadata.ownerReferences",
              object_owner_references(arena, reconcile->in->subject, true));
    return tree;
}

bool is_ours(const struct object *object)
{
    return labels_find(object_spec(object), TEXT(OPERATOR_LABEL)).at;
}

struct object_want *want_object(struct reconcile *reconcile, const struct kind *kind,
                                struct text namespace_, struct text name, const struct object *seen,
                                const struct value *tree)
{
    struct object_want *want = decision_add_object(reconcile->out, reconcile->arena);
    *want = (struct object_want){.key = {kind, namespace_, name}, .tree = tree, .seen = seen};
    return want;
}

static const struct decision_event *event_of(struct reconcile *reconcile, const char *reason,
                                             const char *text)
{
    struct decision_event *event = arena_new_of(reconcile->arena, struct decision_event);
    *event = (struct decision_event){.reason = reason, .text = text};
    return event;
}

static const struct decision_line *line_of(struct reconcile *reconcile, const char *message,
                                           const char *name)
{
    struct decision_line *line = arena_new_of(reconcile->arena, struct decision_line);
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 2);
    attrs[0] = LOG_TEXT("object", name);
    attrs[1] = LOG_END;
    *line = (struct decision_line){.level = LOG_INFO, .message = message, .attrs = attrs};
    return line;
}

void announce_write(struct reconcile *reconcile, struct object_want *want, const char *reason,
                    const char *what)
{
    const char *name = arena_printf(reconcile->arena, "%s %.*s/%.*s", want->key.kind->name,
                                    TEXT_ARGS(want->key.namespace_), TEXT_ARGS(want->key.name));
    want->event = event_of(reconcile, reason, arena_printf(reconcile->arena, "%s %s", name, what));
    want->line = line_of(reconcile, what, name);
}

// ---- the Corefile -------------------------------------------------------------------------------

// An annotation that is wanted as null must not be there.
static bool has_annotations(const struct reconcile *reconcile)
{
    const struct config_map *map = &reconcile->target.map;
    value_each (item, reconcile->annotations) {
        const char *key = arena_copy(reconcile->arena, item->key.at, item->key.len);
        struct text there = config_map_annotation(map, key);
        if ((item->type == VALUE_NULL) != !there.at || !text_equal(there, value_text(item)))
            return false;
    }
    return true;
}

bool is_in_place(const struct reconcile *reconcile)
{
    return reconcile->target.seen && text_equal(reconcile->target.text, reconcile->text) &&
           has_annotations(reconcile);
}

void want_target(struct reconcile *reconcile, struct text text, const struct value *annotations)
{
    const struct target *target = &reconcile->target;
    struct arena *arena = reconcile->arena;
    bool is_own = reconcile->mode == MODE_OWNED;
    struct value *tree = is_own ? own_tree(reconcile) : value_make(arena, VALUE_MAP);
    struct value *data = value_make(arena, VALUE_MAP);
    value_set(data, text_of(target->key),
              text.at ? value_make_text(arena, text) : value_make(arena, VALUE_NULL));
    value_put(arena, tree, "metadata.annotations", value_copy(arena, annotations));
    value_set(tree, TEXT("data"), data);
    announce_write(reconcile,
                   want_object(reconcile, &config_map_kind, target->namespace_, target->name,
                               target->seen, tree),
                   EVENT_COREFILE_WRITTEN, "has another Corefile");
}

// ---- copies -------------------------------------------------------------------------------------

static const struct object *find_copy(const struct reconcile *reconcile, struct text id)
{
    const struct target *target = &reconcile->target;
    if (!id.len)
        return NULL;
    const struct object *copy = find_input_object(
        reconcile, INPUT_CONFIG_MAPS,
        arena_copy(reconcile->arena, target->namespace_.at, target->namespace_.len),
        text_of(copy_name(reconcile, id)));
    return copy && is_ours(copy) ? copy : NULL;
}

// Annotations that a copy keeps, too: they belong to the text.
static const char *const kept_annotations[] = {CONFIG_ID_ANNOTATION, ZONES_ANNOTATION,
                                               FORWARD_ANNOTATION};

struct text copy_text(const struct reconcile *reconcile, struct text id,
                      const struct value **annotations)
{
    struct config_map map;
    const struct object *copy = find_copy(reconcile, id);
    struct value *kept = value_make(reconcile->arena, VALUE_MAP);
    if (!copy)
        return (struct text){0};
    config_map_unpack(reconcile->arena, object_spec(copy), &map);
    for (size_t i = 0; i < COUNT_OF(kept_annotations); i++) {
        struct text value = config_map_annotation(&map, kept_annotations[i]);
        value_set(kept, text_of(kept_annotations[i]),
                  value.len ? value_make_text(reconcile->arena, value)
                            : value_make(reconcile->arena, VALUE_NULL));
    }
    *annotations = kept;
    return config_map_data(&map, "Corefile");
}

// A ConfigMap whose keys are imported stands in for the whole of it.
static void add_other_keys(struct reconcile *reconcile, struct value *data)
{
    const struct target *target = &reconcile->target;
    for (size_t i = 0; i < target->map.data_count; i++)
        value_set(data, target->map.data[i].key,
                  value_make_text(reconcile->arena, target->map.data[i].value));
    value_set(data, text_of(target->key), value_make_text(reconcile->arena, reconcile->text));
}

// A new object has no annotations to remove: a null would become an empty text in it.
static struct value *copy_set_annotations(struct reconcile *reconcile)
{
    struct value *set = value_make(reconcile->arena, VALUE_MAP);
    value_each (item, reconcile->annotations)
        if (item->type == VALUE_TEXT)
            value_set(set, item->key, value_make_text(reconcile->arena, item->text));
    return set;
}

void want_copy(struct reconcile *reconcile)
{
    struct arena *arena = reconcile->arena;
    struct text id = text_of(reconcile->id);
    if (find_copy(reconcile, id))
        return;
    struct value *tree = own_tree(reconcile);
    struct value *data = value_make(arena, VALUE_MAP);
    value_put(arena, tree, "metadata.annotations", copy_set_annotations(reconcile));
    value_put_bool(arena, tree, "immutable", true);
    if (reconcile->mode == MODE_IMPORT)
        add_other_keys(reconcile, data);
    value_set(data, TEXT("Corefile"), value_make_text(arena, reconcile->text));
    value_set(tree, TEXT("data"), data);
    want_object(reconcile, &config_map_kind, reconcile->target.namespace_,
                text_of(copy_name(reconcile, id)), NULL, tree);
}

static bool has_id(const struct text *ids, size_t count, struct text id)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(ids[i], id))
            return true;
    return false;
}

static bool is_kept(const struct dns_config *config, struct text id)
{
    return has_id(config->proved, config->proved_count, id) || text_equal(config->id, id) ||
           text_equal(config->refused, id) || text_equal(config->written, id);
}

static void drop_copy(struct reconcile *reconcile, struct text id)
{
    const struct object *copy = find_copy(reconcile, id);
    if (copy && !is_kept(&reconcile->now.config, id))
        want_object(reconcile, &config_map_kind, reconcile->target.namespace_,
                    text_of(copy_name(reconcile, id)), copy, NULL);
}

// Removes copies that the status of before names and the new one does not.
void drop_copies(struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    struct text ids[3 + DNS_PROVED_MAX] = {before->id, before->refused, before->written};
    size_t count = 3;
    for (size_t i = 0; i < before->proved_count; i++)
        ids[count++] = before->proved[i];
    for (size_t i = 0; i < count; i++)
        if (!has_id(ids, i, ids[i])) // several may be one
            drop_copy(reconcile, ids[i]);
}
