#include "controllers/clusterdns/reconcile.h"

// Immutable copies of Corefiles, to go back to. The status names each of them before it is written,
// so that none is forgotten: also one that was never proved, and those of an earlier mode.

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

// ---- the list of them ---------------------------------------------------------------------------

static struct text full_name(const struct reconcile *reconcile, struct text id)
{
    return text_of(arena_printf(reconcile->arena, "%.*s/%s",
                                TEXT_ARGS(reconcile->target.namespace_), copy_name(reconcile, id)));
}

static const struct object *find_named(const struct reconcile *reconcile, struct text full)
{
    const char *slash = memchr(full.at, '/', full.len);
    if (!slash)
        return NULL;
    size_t head = (size_t)(slash - full.at);
    return find_input_object(reconcile, INPUT_CONFIG_MAPS,
                             arena_copy(reconcile->arena, full.at, head),
                             (struct text){slash + 1, full.len - head - 1});
}

static bool is_copy_of(const struct reconcile *reconcile, struct text full, struct text id)
{
    return id.len && text_equal(full, full_name(reconcile, id));
}

// Adds that of the config that is wanted to those that are there still.
void list_copies(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    const struct dns_config *before = &reconcile->before.config;
    struct text *names = arena_new_array(reconcile->arena, struct text, before->copy_count + 1);
    struct text wanted = full_name(reconcile, config->id);
    bool is_unreadable = reconcile->in->inputs[INPUT_CONFIG_MAPS].unreadable;
    config->copies = names;
    config->copy_count = 0;
    if (reconcile->mode != MODE_FILE && config->id.len)
        names[config->copy_count++] = wanted;
    for (size_t i = 0; i < before->copy_count; i++)
        if (!text_equal(before->copies[i], wanted) &&
            (is_unreadable || find_named(reconcile, before->copies[i])))
            names[config->copy_count++] = before->copies[i];
}

static bool is_needed(const struct reconcile *reconcile, struct text full)
{
    const struct dns_config *config = &reconcile->now.config;
    for (size_t i = 0; i < config->proved_count; i++)
        if (is_copy_of(reconcile, full, config->proved[i]))
            return true;
    return is_copy_of(reconcile, full, config->id) ||
           is_copy_of(reconcile, full, config->refused) ||
           is_copy_of(reconcile, full, config->written);
}

void drop_copies(struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    for (size_t i = 0; i < before->copy_count; i++) {
        const struct object *copy = find_named(reconcile, before->copies[i]);
        if (copy && is_ours(copy) && !is_needed(reconcile, before->copies[i]))
            want_object(reconcile, &config_map_kind, object_namespace(copy), object_name(copy),
                        copy, NULL);
    }
}
