#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "base/labels.h"
#include "base/must.h"

// Trees of what is written, and the Corefile itself.

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
