#include <string.h>

#include "model/model_api_private.h"

// ---- apply --------------------------------------------------------------------------------------

static bool holds(const struct value *list, struct text item)
{
    value_each (each, list)
        if (text_equal(value_text(each), item))
            return true;
    return false;
}

static struct text write_back_mark(struct text key)
{
    return (struct text){key.at + 2, key.len - 2};
}

// Is there another manager's label or annotation of another value?
static bool has_conflict(const struct model_object *object, const struct value *before,
                         const struct value *metadata, const char *manager, struct arena *arena,
                         const char **key)
{
    value_each (item, model_claims_keys(arena, metadata)) {
        const char *map = model_claims_map(item->text);
        struct text name = write_back_mark(item->text);
        *key = arena_copy(arena, item->text.at, item->text.len);
        if (!map)
            continue;
        const struct value *now =
            value_find_text(value_find(value_find(before, "metadata"), map), name);
        if (now && !value_equal(now, value_find_text(value_find(metadata, map), name)) &&
            model_claims_has(&object->claims, manager, item->text))
            return true;
    }
    return false;
}

static void refuse_conflict(struct http_call *call, const struct model_target *target,
                            const char *key, struct arena *arena)
{
    const char *path =
        arena_printf(arena, ".metadata.%s.%s", model_claims_map(text_of(key)), key + 2);
    model_refuse(call,
                 &(struct model_status){.code = 409,
                                        .reason = "Conflict",
                                        .about = target,
                                        .cause = "FieldManagerConflict",
                                        .cause_text =
                                            arena_printf(arena, "conflict with another: %s", path)},
                 "Apply failed with 1 conflict: conflict with another: %s", path);
}

static void remove_key(struct value *tree, struct text key, struct arena *arena)
{
    struct value *metadata = model_metadata(tree, arena);
    struct text name = write_back_mark(key);
    const char *map = model_claims_map(key);
    if (map) {
        value_remove(value_find(metadata, map), arena_copy(arena, name.at, name.len));
        return;
    }
    struct value *kept = value_make(arena, VALUE_LIST);
    value_each (item, value_find(metadata, "finalizers"))
        if (!text_equal(value_text(item), name))
            value_append(kept, value_copy(arena, item));
    value_set(metadata, TEXT("finalizers"), kept);
}

// What this manager applied before and applies no more.
static bool is_left_out(const struct model_claim *claim, const struct value *keys,
                        const char *manager)
{
    return claim->is_applied && !strcmp(claim->manager, manager) &&
           !holds(keys, text_of(claim->key));
}

static size_t holders(const struct model_claims *claims, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < claims->count; i++)
        count += !strcmp(claims->items[i].key, key);
    return count;
}

// It goes, unless another one holds it too.
static void leave_out(const struct model_claims *claims, struct value *tree,
                      const struct value *keys, const char *manager, struct arena *arena)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct model_claim *claim = &claims->items[i];
        if (is_left_out(claim, keys, manager) && holders(claims, claim->key) == 1)
            remove_key(tree, text_of(claim->key), arena);
    }
}

static void claim(struct model_claims *claims, const struct value *keys, const char *manager,
                  bool is_forced)
{
    for (size_t i = claims->count; i-- > 0;)
        if (is_left_out(&claims->items[i], keys, manager))
            model_claims_drop(claims, i);
    value_each (key, keys) {
        if (model_claims_map(key->text) && is_forced)
            model_claims_take(claims, manager, key->text);
        model_claims_add(claims, manager, key->text, true);
    }
}

static void add_finalizers(struct value *tree, const struct value *given, struct arena *arena)
{
    struct value *metadata = model_metadata(tree, arena);
    value_each (item, given) {
        struct value *list = value_find(metadata, "finalizers");
        if (!list) {
            list = value_make(arena, VALUE_LIST);
            value_set(metadata, TEXT("finalizers"), list);
        }
        if (!holds(list, value_text(item)))
            value_append(list, value_copy(arena, item));
    }
}

// The body without what is merged by other rules.
static struct value *rest_of(const struct value *body, struct arena *arena)
{
    struct value *rest = value_copy(arena, body);
    value_remove(value_find(rest, "metadata"), "finalizers");
    value_remove(rest, "apiVersion");
    value_remove(rest, "kind");
    return rest;
}

static void apply_to(struct http_call *call, const struct model_target *target,
                     struct model_object *object, const struct value *body, const char *manager,
                     struct arena *arena)
{
    const char *key;
    const struct value *metadata = value_find(body, "metadata");
    const struct value *keys = model_claims_keys(arena, metadata);
    struct value *before = model_object_read(object, arena);
    bool is_main = !target->sub.len;
    if (!model_is_guarded(call, target, metadata, before))
        return;
    if (is_main && !target->query.is_forced &&
        has_conflict(object, before, metadata, manager, arena, &key)) {
        refuse_conflict(call, target, key, arena);
        return;
    }
    struct value *after =
        value_merge_patch(arena, model_object_read(object, arena), rest_of(body, arena));
    add_finalizers(after, value_find(metadata, "finalizers"), arena);
    if (is_main)
        leave_out(&object->claims, after, keys, manager, arena);
    model_file_change(call,
                      &(struct model_change){.target = target,
                                             .before = before,
                                             .after = after,
                                             .manager = manager,
                                             .is_apply = true},
                      arena);
    if (is_main && !target->query.is_dry && call->reply.status == 200)
        claim(&object->claims, keys, manager, target->query.is_forced);
}

static void refuse_uid(struct http_call *call, const struct model_target *target, struct text uid,
                       struct arena *arena)
{
    model_refuse(call, &(struct model_status){.code = 409, .reason = "Conflict", .about = target},
                 "Operation cannot be fulfilled on %s \"%.*s\": uid mismatch: the provided object "
                 "specified uid %.*s, and no existing object was found",
                 model_resource_name(arena, target->row->kind), TEXT_ARGS(target->key.name),
                 TEXT_ARGS(uid));
}

void model_apply(struct http_call *call, const struct model_target *target, struct value *body,
                 struct arena *arena)
{
    struct text manager = target->query.manager;
    struct text uid = value_text_at(body, "metadata.uid");
    struct model_object *object = model_server_object(call->api->server, &target->key);
    if (!manager.len) {
        model_refuse(call, &(struct model_status){.code = 422, .reason = "Invalid"},
                     "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                     "required for apply patch");
        return;
    }
    const char *name = arena_copy(arena, manager.at, manager.len);
    if (object)
        apply_to(call, target, object, body, name, arena);
    else if (uid.len)
        refuse_uid(call, target, uid, arena);
    else if (target->sub.len)
        model_refuse_missing(call, target);
    else
        model_file_new(call, target, body, name, true, arena);
}

// ---- JSON patch ---------------------------------------------------------------------------------

static struct text unescaped(struct arena *arena, struct text segment)
{
    char *out = arena_copy(arena, segment.at, segment.len);
    size_t len = 0;
    for (size_t i = 0; i < segment.len; i++) {
        bool is_escape = segment.at[i] == '~' && i + 1 < segment.len;
        out[len++] = !is_escape ? segment.at[i] : segment.at[i + 1] == '1' ? '/' : '~';
        i += is_escape;
    }
    out[len] = '\0';
    return (struct text){out, len};
}

static struct value *item_at(struct value *list, struct text index)
{
    int64_t at;
    if (!text_to_int64(index, &at) || at < 0)
        return NULL;
    value_each (item, list)
        if (at-- == 0)
            return item;
    return NULL;
}

static struct value *child(struct value *parent, struct text key)
{
    if (!parent)
        return NULL;
    return parent->type == VALUE_LIST  ? item_at(parent, key)
           : parent->type == VALUE_MAP ? value_find_text(parent, key)
                                       : NULL;
}

// The parent of what the pointer names, and its last segment.
static struct value *parent_of(struct value *tree, struct text pointer, struct arena *arena,
                               struct text *key)
{
    struct text rest = pointer;
    struct text segment;
    if (!text_cut(&rest, '/', &segment) || segment.len || !rest.at)
        return NULL;
    for (struct value *at = tree; at; at = child(at, *key)) {
        text_cut(&rest, '/', &segment);
        *key = unescaped(arena, segment);
        if (!rest.at)
            return at;
    }
    return NULL;
}

// The list anew, with `item` in the place of `old`, before it, or at the end; NULL: without it.
static void relist(struct value *list, const struct value *old, struct value *item, bool keeps_old,
                   struct arena *arena)
{
    struct value *anew = value_make(arena, VALUE_LIST);
    value_each (each, list) {
        if (each == old && item)
            value_append(anew, value_copy(arena, item));
        if (each != old || keeps_old)
            value_append(anew, value_copy(arena, each));
    }
    if (!old && item)
        value_append(anew, value_copy(arena, item));
    list->first = anew->first;
    list->last = anew->last;
    list->count = anew->count;
}

static bool put(struct value *parent, struct text key, struct value *item, bool is_add,
                struct arena *arena)
{
    struct value *old = child(parent, key);
    if (parent->type == VALUE_MAP && (old || is_add)) {
        value_set(parent, key, value_copy(arena, item));
        return true;
    }
    if (parent->type != VALUE_LIST || (!old && !(is_add && text_is(key, "-"))))
        return false;
    relist(parent, old, item, is_add, arena);
    return true;
}

static bool drop(struct value *parent, struct text key, struct arena *arena)
{
    struct value *old = child(parent, key);
    if (!old)
        return false;
    if (parent->type == VALUE_MAP)
        value_remove(parent, arena_copy(arena, key.at, key.len));
    else
        relist(parent, old, NULL, false, arena);
    return true;
}

static bool operate(struct value *tree, const struct value *operation, struct arena *arena)
{
    struct text key;
    struct text op = value_text_at(operation, "op");
    struct value *item = value_find(operation, "value");
    struct value *parent = parent_of(tree, value_text_at(operation, "path"), arena, &key);
    if (!parent)
        return false;
    if (text_is(op, "test"))
        return item && child(parent, key) && value_equal(child(parent, key), item);
    if (text_is(op, "remove"))
        return drop(parent, key, arena);
    bool is_add = text_is(op, "add");
    return (is_add || text_is(op, "replace")) && item && put(parent, key, item, is_add, arena);
}

bool model_json_patch(struct value *tree, const struct value *operations, struct arena *arena)
{
    if (operations->type != VALUE_LIST)
        return false;
    value_each (operation, operations)
        if (!operate(tree, operation, arena))
            return false;
    return true;
}
