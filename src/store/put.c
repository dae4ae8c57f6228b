#include "store/put.h"

#include "base/must.h"

static void add_entries(struct arena *arena, struct value *map, const struct value *more)
{
    value_each (item, more)
        value_set(map, item->key, value_copy(arena, item));
}

// ---- whose it is --------------------------------------------------------------------------------

static bool is_same_text(const struct value *left, const struct value *right, const char *key)
{
    struct text text = value_text(value_find(left, key));
    return text.len && text_equal(text, value_text(value_find(right, key)));
}

static bool is_owned(const struct value *wanted, const struct value *now)
{
    const struct value *owners = value_at(wanted, "metadata.ownerReferences", NULL);
    const struct value *owner = owners ? owners->first : NULL;
    value_each (item, value_at(now, "metadata.ownerReferences", NULL))
        if (is_same_text(item, owner, "uid") ||
            (is_same_text(item, owner, "kind") && is_same_text(item, owner, "apiVersion")))
            return true;
    return false;
}

static bool is_granted(const struct metadata_change *grant, const struct value *now)
{
    const struct value *annotations = value_at(now, "metadata.annotations", NULL);
    return grant && text_is(value_text(value_find(annotations, grant->key)), grant->value);
}

// Have we written fields of it? `operation`: "Apply", or NULL for any.
static bool is_manager(const struct value *now, const char *operation)
{
    value_each (item, value_at(now, "metadata.managedFields", NULL))
        if (text_is(value_text(value_find(item, "manager")), "signpost") &&
            (!operation || text_is(value_text(value_find(item, "operation")), operation)))
            return true;
    return false;
}

// Pages of ledgers are not applied: nobody puts over one.
static bool was_applied(const struct value *now)
{
    return is_manager(now, "Apply");
}

bool put_is_ours(const struct store_object_write *put, const struct value *now)
{
    return is_owned(put->tree, now) || is_granted(put->grant, now) || was_applied(now);
}

bool put_refuse(const struct store_object_write *put, struct error *err)
{
    const struct object_ref_key *key = &put->key;
    error_set(err, FAULT_SPEC, "NotOurs", "%s %.*s/%.*s is somebody else's and stays as it is: %s",
              key->kind->name, TEXT_ARGS(key->namespace_), TEXT_ARGS(key->name),
              put->is_unread ? "choose another name"
                             : "remove it or, if Signpost made it, put its labels back");
    if (put->grant && err) {
        AUTO_BUFFER text = {0};
        buffer_add_text(&text, err->text);
        error_set(err, FAULT_SPEC, "NotOurs", "%s, or hand it over by its annotation %s: %s",
                  text.at, put->grant->key, put->grant->value);
    }
    return false;
}

// ---- labels that were taken off -----------------------------------------------------------------

static bool has_owner(const struct value *now, const struct value *owner)
{
    value_each (item, value_at(now, "metadata.ownerReferences", NULL))
        if (value_covers(item, owner))
            return true;
    return false;
}

static bool has_annotation(const struct value *now, const struct value *wanted)
{
    const struct value *there = value_at(now, "metadata.annotations", NULL);
    value_each (item, value_at(wanted, "metadata.annotations", NULL)) {
        const struct value *found = value_find_text(there, item->key);
        if (found && value_equal(found, item))
            return true;
    }
    return false;
}

static bool was_made(const struct value *wanted, const struct value *now, bool is_written)
{
    const struct value *owners = value_at(wanted, "metadata.ownerReferences", NULL);
    if (owners && owners->first)
        return has_owner(now, owners->first);
    return is_written && has_annotation(now, wanted);
}

bool put_was_written(const struct value *now)
{
    return is_manager(now, NULL);
}

bool put_has_labels(const struct value *wanted, const struct value *now)
{
    const struct value *labels = value_at(now, "metadata.labels", NULL);
    value_each (item, value_at(wanted, "metadata.labels", NULL)) {
        const struct value *found = value_find_text(labels, item->key);
        if (!found || !text_equal(value_text(item), value_text(found)))
            return false;
    }
    return true;
}

struct value *put_labels_back(struct arena *arena, const struct value *wanted,
                              const struct value *now, bool is_written)
{
    if (put_has_labels(wanted, now) || !was_made(wanted, now, is_written))
        return NULL;
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put(arena, tree, "metadata.labels",
              value_copy(arena, value_at(wanted, "metadata.labels", NULL)));
    return tree;
}

// ---- trees --------------------------------------------------------------------------------------

struct value *put_tree(struct arena *arena, const struct object_ref_key *key,
                       const struct value *ours)
{
    AUTO_BUFFER version = {0};
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *metadata = value_make(arena, VALUE_MAP);
    must(kind_is_name(key->name) && (!key->namespace_.len || kind_is_name(key->namespace_)));
    kind_api_version(&version, key->kind);
    value_put_text(arena, tree, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, tree, "kind", key->kind->name);
    value_set(metadata, TEXT("name"), value_make_text(arena, key->name));
    if (key->namespace_.len)
        value_set(metadata, TEXT("namespace"), value_make_text(arena, key->namespace_));
    add_entries(arena, metadata, value_find(ours, "metadata"));
    add_entries(arena, tree, ours);
    value_set(tree, TEXT("metadata"), metadata);
    return tree;
}

void put_keep(struct arena *arena, struct value *tree, const struct value *kept,
              const struct value *now)
{
    const struct value *there = value_find(now, "data");
    struct value *data = value_find(tree, "data");
    if (!data || !there || there->type != VALUE_MAP)
        return;
    value_each (item, kept) {
        const struct value *text = value_find_text(there, value_text(item));
        if (text && !value_find_text(data, value_text(item)))
            value_set(data, value_text(item), value_copy(arena, text));
    }
}
