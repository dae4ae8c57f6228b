#include "commands/manifest.h"

#include "kinds/kinds.h"

struct value *manifest_begin(const struct manifest *manifest, const char *api_version,
                             const char *kind, const char *name, const char *namespace_)
{
    struct arena *arena = manifest->arena;
    struct value *object = value_make(arena, VALUE_MAP);
    value_put_text(arena, object, "apiVersion", api_version);
    value_put_text(arena, object, "kind", kind);
    value_put_text(arena, object, "metadata.name", name);
    if (namespace_)
        value_put_text(arena, object, "metadata.namespace", namespace_);
    value_put_text(arena, object, "metadata.labels[app.kubernetes.io/name]", MANIFEST_NAME);
    return object;
}

void manifest_end(const struct manifest *manifest, const struct value *object, const char *comment)
{
    buffer_printf(manifest->out, "---\n%s", comment);
    value_write_yaml(manifest->out, object, 0);
}

void manifest_put_rows(const struct manifest *manifest, struct value *root,
                       const struct manifest_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct manifest_row *row = &rows[i];
        if (row->type == VALUE_TEXT)
            value_put_text(manifest->arena, root, row->path, row->text);
        else if (row->type == VALUE_INT)
            value_put_int(manifest->arena, root, row->path, row->integer);
        else
            value_put_bool(manifest->arena, root, row->path, row->integer != 0);
    }
}

struct value *manifest_item(const struct manifest *manifest, struct value *list)
{
    struct value *item = value_make(manifest->arena, VALUE_MAP);
    value_append(list, item);
    return item;
}

struct value *manifest_list(const struct manifest *manifest, struct value *root, const char *path)
{
    const struct value *found = value_at(root, path, NULL);
    struct value *list = value_make(manifest->arena, VALUE_LIST);
    if (found)
        value_each (entry, found)
            value_append(list, value_copy(manifest->arena, entry));
    return value_put(manifest->arena, root, path, list);
}

void manifest_write_crds(const struct manifest *manifest)
{
    bool is_all = !option_is_set(manifest->invocation, "controllers");
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_foreign && ((is_all && !kinds[i]->is_on_request) ||
                                      enabled_controllers_reads(&manifest->controllers, kinds[i])))
            kind_write_crd(manifest->out, kinds[i]);
}
