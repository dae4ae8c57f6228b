#include "engine/backend_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/labels.h"
#include "base/must.h"
#include "store/cache.h"

// ---- strings ------------------------------------------------------------------------------------

void strings_add(struct strings *strings, const char *format, ...)
{
    va_list args;
    char octets[600];
    va_start(args, format);
    vsnprintf(octets, sizeof octets, format, args);
    va_end(args);
    arena_reserve(strings->arena, &strings->items, &strings->capacity, strings->count + 1);
    strings->items[strings->count++] = arena_copy_text(strings->arena, octets);
}

// The index key of all objects and the lookup key of all subjects in an input without functions for
// either.
#define EVERY "*"

static bool strings_has(const struct strings *strings, const char *text)
{
    for (size_t i = 0; i < strings->count; i++)
        if (!strcmp(strings->items[i], text))
            return true;
    return false;
}

typedef void lookup_call(const struct object *subject, struct strings *out);

static bool is_by_identity(const struct input *input)
{
    return input->lookup_keys && !input->index_keys;
}

// The index keys of an object in an input: by its index function, or its identity.
static struct strings index_keys_of(struct engine *engine, size_t controller,
                                    const struct input *input, const struct object *object)
{
    struct strings out = {.arena = engine->arena,
                          .settings = engine->controllers[controller].settings};
    struct text namespace_ = object_namespace(object);
    if (input->labels && !labels_match(input->labels, object_spec(object)))
        return out;
    if (input->index_keys)
        input->index_keys(object, &out);
    else if (!input->lookup_keys)
        strings_add(&out, "%s", EVERY);
    else if (namespace_.len)
        strings_add(&out, "%.*s/%.*s", TEXT_ARGS(namespace_), TEXT_ARGS(object_name(object)));
    else
        strings_add(&out, "%.*s", TEXT_ARGS(object_name(object)));
    return out;
}

static struct strings lookup_keys_of(struct arena *arena, const struct controller_state *state,
                                     lookup_call *lookup_keys, const struct object *object)
{
    struct strings out = {.arena = arena, .settings = state->settings};
    if (object && lookup_keys)
        lookup_keys(object, &out);
    else if (object)
        strings_add(&out, "%s", EVERY);
    return out;
}

// ---- joins --------------------------------------------------------------------------------------

static bool value_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct join *join = context;
    return !strcmp(join->values[id].text, wanted);
}

static uint64_t value_hash_of(const void *context, uint32_t id)
{
    const struct join *join = context;
    return hash_octets(join->values[id].text, strlen(join->values[id].text));
}

static const struct table_ops join_table_ops = {value_matches, value_hash_of};

static struct join_value *join_find(struct join *join, const char *text)
{
    join->by_text.ops = &join_table_ops;
    join->by_text.context = join;
    uint32_t id = table_find(&join->by_text, hash_octets(text, strlen(text)), text);
    return id == TABLE_NONE ? NULL : &join->values[id];
}

static struct join_value *join_get(struct join *join, const char *text)
{
    struct join_value *found = join_find(join, text);
    if (found)
        return found;
    uint32_t id = slots_take(&join->slots);
    mem_reserve(&join->values, &join->value_capacity, join->slots.end);
    struct join_value *value = &join->values[id];
    *value = (struct join_value){.text = mem_copy_text(text)};
    table_add(&join->by_text, hash_octets(text, strlen(text)), id);
    return value;
}

static void join_forget(struct join *join, struct join_value *value)
{
    uint32_t id = (uint32_t)(value - join->values);
    must(!value->object_count && !value->key_count);
    table_remove(&join->by_text, value_hash_of(join, id), id);
    free(value->objects);
    free(value->keys);
    free(value->text);
    *value = (struct join_value){0};
    slots_give(&join->slots, id);
}

void join_done(struct join *join)
{
    for (size_t i = 0; i < join->slots.end; i++) {
        for (size_t j = 0; j < join->values[i].object_count; j++)
            object_unref(join->values[i].objects[j]);
        free(join->values[i].objects);
        free(join->values[i].keys);
        free(join->values[i].text);
    }
    free(join->values);
    slots_done(&join->slots);
    table_done(&join->by_text);
    *join = (struct join){0};
}

// The object that a lookup key of an input by identity names.
static struct object_ref_key identity_of(const struct kind *kind, const char *wanted)
{
    struct object_ref_key key = {.kind = kind, .namespace_ = TEXT(""), .name = text_of(wanted)};
    if (kind->is_namespaced)
        text_cut(&key.name, '/', &key.namespace_);
    return key;
}

// By identity: the store learns of the first key that looks an object up, and of the last.
static void report_lookup(struct engine *engine, const struct input *input, const char *text,
                          bool is_wanted)
{
    if (!input || !is_by_identity(input))
        return;
    struct object_ref_key key = identity_of(input->kind, text);
    if (key.name.at)
        store_want(engine->options.store, &key, is_wanted);
}

// A key whose object is about to be replaced, by NULL: to go. NO_ID: none.
struct changing {
    uint32_t key;
    const struct object *object;
};

static const struct changing nobody = {NO_ID, NULL};

static const struct object *wanting(const struct engine *engine, uint32_t id,
                                    const struct changing *changing)
{
    return id == changing->key ? changing->object : key_subject(&engine->keys[id]);
}

// Drops hints of keys that ceased to look this string up, and doubles.
static void join_sweep(struct engine *engine, struct join_value *value, size_t controller,
                       lookup_call *lookup_keys, const struct changing *changing)
{
    size_t kept = 0;
    for (size_t i = 0; i < value->key_count; i++) {
        const struct object *object = wanting(engine, value->keys[i], changing);
        if (!object || engine->keys[value->keys[i]].controller != controller)
            continue;
        arena_reset(engine->scratch);
        struct strings now =
            lookup_keys_of(engine->scratch, &engine->controllers[controller], lookup_keys, object);
        bool is_double = false;
        for (size_t j = 0; j < kept && !is_double && kept < 64; j++)
            is_double = value->keys[j] == value->keys[i];
        if (!is_double && strings_has(&now, value->text))
            value->keys[kept++] = value->keys[i];
    }
    value->key_count = kept;
    value->live = kept;
}

// Where a string is wanted: an input of a controller, or its backends (input NULL).
struct lookup_input {
    struct join *join;
    size_t controller;
    const struct input *input;
    lookup_call *lookup_keys;
};

// A string that no key and no object seems to have is looked at closely, and goes.
static void join_tidy(struct engine *engine, const struct lookup_input *lookup,
                      struct join_value *value, const struct changing *changing)
{
    if (value->live || value->object_count)
        return;
    join_sweep(engine, value, lookup->controller, lookup->lookup_keys, changing);
    if (value->key_count)
        return;
    report_lookup(engine, lookup->input, value->text, false);
    join_forget(lookup->join, value);
}

static void drop_lookups(struct engine *engine, const struct lookup_input *lookup,
                         const struct strings *before, const struct strings *after,
                         const struct changing *changing)
{
    for (size_t i = 0; i < before->count; i++) {
        struct join_value *value = join_find(lookup->join, before->items[i]);
        if (!value || strings_has(after, before->items[i]))
            continue;
        value->live -= value->live > 0;
        if (value->key_count == 1 && value->keys[0] == changing->key)
            value->key_count = 0;
        join_tidy(engine, lookup, value, changing);
    }
}

static void add_lookup(struct engine *engine, const struct lookup_input *lookup, const char *text,
                       const struct changing *changing)
{
    bool is_first = !join_find(lookup->join, text);
    struct join_value *value = join_get(lookup->join, text);
    if (value->key_count > 2 * value->live + 16)
        join_sweep(engine, value, lookup->controller, lookup->lookup_keys, changing);
    mem_reserve(&value->keys, &value->key_capacity, value->key_count + 1);
    value->keys[value->key_count++] = changing->key;
    value->live++;
    if (is_first)
        report_lookup(engine, lookup->input, text, true);
}

static void join_index(struct engine *engine, const struct lookup_input *lookup, uint32_t id,
                       const struct object *old, const struct object *new_)
{
    const struct changing changing = {id, new_};
    const struct controller_state *state = &engine->controllers[lookup->controller];
    struct strings before = lookup_keys_of(engine->arena, state, lookup->lookup_keys, old);
    struct strings after = lookup_keys_of(engine->arena, state, lookup->lookup_keys, new_);
    drop_lookups(engine, lookup, &before, &after, &changing);
    for (size_t i = 0; i < after.count; i++)
        if (!strings_has(&before, after.items[i]))
            add_lookup(engine, lookup, after.items[i], &changing);
}

// What is looked up follows from the content alone.
static bool looks_up_the_same(const struct object *old, const struct object *new_)
{
    return old && new_ && object_has_same_spec(old, new_) &&
           text_equal(object_managed(old), object_managed(new_)) &&
           old->deleted_s == new_->deleted_s && old->generation == new_->generation &&
           old->is_lost == new_->is_lost && !memcmp(old->uid, new_->uid, sizeof old->uid);
}

void input_index_key(struct engine *engine, uint32_t id, const struct object *old,
                     const struct object *new_)
{
    if (looks_up_the_same(old, new_))
        return;
    size_t at = engine->keys[id].controller;
    struct controller_state *state = &engine->controllers[at];
    const struct controller *controller = state->controller;
    for (size_t i = 0; i < controller->input_count; i++) {
        const struct input *input = &controller->inputs[i];
        join_index(engine, &(struct lookup_input){&state->joins[i], at, input, input->lookup_keys},
                   id, old, new_);
    }
    if (controller->backends)
        join_index(engine,
                   &(struct lookup_input){&state->backend_join, at, NULL,
                                          controller->backends->lookup_keys},
                   id, old, new_);
}

static void remove_object(struct join_value *value, const struct object *object)
{
    for (size_t i = 0; i < value->object_count; i++) {
        if (value->objects[i] != object)
            continue;
        object_unref(object);
        value->objects[i] = value->objects[--value->object_count];
        return;
    }
}

static void join_index_key(struct engine *engine, const struct lookup_input *lookup,
                           const struct object *old, const struct object *new_)
{
    struct strings before = {0};
    struct strings after = {0};
    if (old)
        before = index_keys_of(engine, lookup->controller, lookup->input, old);
    if (new_)
        after = index_keys_of(engine, lookup->controller, lookup->input, new_);
    for (size_t i = 0; i < after.count; i++) {
        struct join_value *value = join_get(lookup->join, after.items[i]);
        mem_reserve(&value->objects, &value->object_capacity, value->object_count + 1);
        value->objects[value->object_count++] = object_ref(new_);
    }
    for (size_t i = 0; i < before.count; i++) {
        struct join_value *value = join_find(lookup->join, before.items[i]);
        if (!value)
            continue;
        remove_object(value, old);
        join_tidy(engine, lookup, value, &nobody);
    }
}

void input_index_object(struct engine *engine, const struct object *old, const struct object *new_)
{
    const struct kind *kind = old ? old->kind : new_->kind;
    for (size_t c = 0; c < engine->options.controller_count; c++) {
        struct controller_state *state = &engine->controllers[c];
        for (size_t i = 0; i < state->controller->input_count; i++) {
            const struct input *input = &state->controller->inputs[i];
            if (input->kind == kind && !is_by_identity(input))
                join_index_key(
                    engine, &(struct lookup_input){&state->joins[i], c, input, input->lookup_keys},
                    old, new_);
        }
    }
}

// ---- waking -------------------------------------------------------------------------------------

static void join_wake(struct engine *engine, struct join *join, size_t controller,
                      lookup_call *lookup_keys, const char *text)
{
    struct join_value *value = join_find(join, text);
    if (!value)
        return;
    join_sweep(engine, value, controller, lookup_keys, &nobody);
    for (size_t i = 0; i < value->key_count; i++) {
        engine->keys[value->keys[i]].is_in_event_batch |= engine->is_event_batch_open;
        key_wake(engine, value->keys[i], QUEUE_USER);
    }
}

static void wake_state(struct engine *engine, const struct object *object, bool is_ours_alone)
{
    for (size_t c = 0; object && c < engine->options.controller_count; c++) {
        struct controller_state *state = &engine->controllers[c];
        for (size_t i = 0; i < state->controller->input_count; i++) {
            const struct input *input = &state->controller->inputs[i];
            if (input->kind != object->kind || (is_ours_alone && !input->reads_own_writes))
                continue;
            struct strings index_keys = index_keys_of(engine, c, input, object);
            for (size_t j = 0; j < index_keys.count; j++)
                join_wake(engine, &state->joins[i], c, input->lookup_keys, index_keys.items[j]);
        }
    }
}

void input_wake(struct engine *engine, const struct object *old, const struct object *new_,
                bool is_ours_alone)
{
    wake_state(engine, old, is_ours_alone);
    wake_state(engine, new_, is_ours_alone);
}

void input_wake_identity(struct engine *engine, const struct object_ref_key *key)
{
    AUTO_BUFFER text = {0};
    if (key->kind->is_namespaced)
        buffer_printf(&text, "%.*s/", TEXT_ARGS(key->namespace_));
    buffer_add(&text, key->name.at, key->name.len);
    for (size_t c = 0; c < engine->options.controller_count; c++) {
        struct controller_state *state = &engine->controllers[c];
        for (size_t i = 0; i < state->controller->input_count; i++) {
            const struct input *input = &state->controller->inputs[i];
            if (input->kind == key->kind && is_by_identity(input))
                join_wake(engine, &state->joins[i], c, input->lookup_keys, text.at);
        }
    }
}

void input_wake_backend(const struct backend *backend)
{
    if (backend->controller != NO_CONTROLLER)
        claims_wake_unsettled(backend->engine, backend);
    input_wake_watchers(backend);
}

static void wake_watchers_of(const struct backend *backend, size_t c)
{
    struct controller_state *state = &backend->engine->controllers[c];
    if (state->controller->backends)
        join_wake(backend->engine, &state->backend_join, c,
                  state->controller->backends->lookup_keys, backend->name);
}

void input_wake_watchers(const struct backend *backend)
{
    for (size_t c = 0; c < backend->engine->options.controller_count; c++)
        wake_watchers_of(backend, c);
}

void input_wake_askers(const struct backend *backend)
{
    for (size_t c = 0; c < backend->engine->options.controller_count; c++)
        if (backend->engine->controllers[c].controller->ask_approval)
            wake_watchers_of(backend, c);
}

// ---- filling a snapshot -------------------------------------------------------------------------

static bool kind_is_synced(const struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            return engine->kind_synced[i];
    return false;
}

const char *input_why_unread(const struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            return engine->kind_unread[i];
    return NULL;
}

bool input_is_installed(const struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            return !engine->kind_missing[i];
    return true;
}

bool input_is_synced(const struct engine *engine, const struct controller *controller)
{
    if (!kind_is_synced(engine, controller->kind))
        return false;
    for (size_t i = 0; i < controller->input_count; i++)
        if (!kind_is_synced(engine, controller->inputs[i].kind))
            return false;
    return !controller->shared_model || shared_model_is_synced(engine, controller->shared_model);
}

static bool is_resolved(const struct store *store, const struct object_ref_key *key)
{
    return store_knows(store, key) || store_unreadable(store, key);
}

static bool is_each_wanted(struct engine *engine, const struct controller_state *state,
                           const struct object *subject,
                           bool (*is_so)(const struct store *store,
                                         const struct object_ref_key *key))
{
    for (size_t i = 0; i < state->controller->input_count; i++) {
        const struct input *input = &state->controller->inputs[i];
        if (!is_by_identity(input))
            continue;
        arena_reset(engine->scratch);
        struct strings keys = lookup_keys_of(engine->scratch, state, input->lookup_keys, subject);
        for (size_t j = 0; j < keys.count; j++) {
            struct object_ref_key key = identity_of(input->kind, keys.items[j]);
            if (key.name.at && !is_so(engine->options.store, &key))
                return false;
        }
    }
    return true;
}

bool input_is_resolved(struct engine *engine, const struct controller_state *state,
                       const struct object *subject)
{
    return is_each_wanted(engine, state, subject, is_resolved);
}

bool input_is_known(struct engine *engine, const struct controller_state *state,
                    const struct object *subject)
{
    return is_each_wanted(engine, state, subject, store_knows);
}

static int compare_age(const void *a, const void *b)
{
    return object_compare_age(*(const struct object *const *)a, *(const struct object *const *)b);
}

struct found {
    struct arena *arena;
    const struct object **items;
    size_t count;
    size_t capacity;
    const char *unreadable;
};

static void found_add(struct found *found, const struct object *object)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i] == object)
            return;
    arena_reserve(found->arena, &found->items, &found->capacity, found->count + 1);
    found->items[found->count++] = object;
}

static void find_by_identity(struct engine *engine, const struct input *input, const char *wanted,
                             struct found *found)
{
    struct object_ref_key key = identity_of(input->kind, wanted);
    if (!key.name.at)
        return;
    const struct object *object =
        cache_find(engine->options.store->cache, input->kind, key.namespace_, key.name);
    const char *why = object ? NULL : store_unreadable(engine->options.store, &key);
    if (object && (!input->labels || labels_match(input->labels, object_spec(object))))
        found_add(found, object);
    if (why)
        found->unreadable = arena_copy_text(engine->arena, why);
}

static struct input_objects input_one(struct engine *engine, struct controller_state *state,
                                      size_t at, const struct object *subject)
{
    struct join *join = &state->joins[at];
    const struct input *input = &state->controller->inputs[at];
    struct strings keys = lookup_keys_of(engine->arena, state, input->lookup_keys, subject);
    const char *unread = input_why_unread(engine, input->kind);
    struct found found = {.arena = engine->arena};
    found.unreadable = unread ? arena_copy_text(engine->arena, unread) : NULL;
    bool is_missing = !input_is_installed(engine, input->kind);
    for (size_t i = 0; i < keys.count && !(is_missing && input->is_optional); i++) {
        if (is_by_identity(input)) {
            find_by_identity(engine, input, keys.items[i], &found);
            continue;
        }
        const struct join_value *value = join_find(join, keys.items[i]);
        for (size_t j = 0; value && j < value->object_count; j++)
            found_add(&found, value->objects[j]);
    }
    if (found.count > 1)
        qsort(found.items, found.count, sizeof(const struct object *), compare_age);
    return (struct input_objects){found.items, found.count,
                                  !unread && kind_is_synced(engine, input->kind), is_missing,
                                  found.unreadable};
}

static void fill_backends(struct engine *engine, const struct controller_state *state,
                          const struct object *subject, struct snapshot *snapshot)
{
    struct strings keys =
        lookup_keys_of(engine->arena, state, state->controller->backends->lookup_keys, subject);
    const struct backend_view **views = arena_alloc(engine->arena, keys.count + 1, sizeof *views);
    for (size_t i = 0; i < keys.count; i++) {
        const struct backend *backend = backend_find(engine, keys.items[i]);
        views[i] = backend ? &backend->view : NULL;
    }
    snapshot->backends = views;
    snapshot->backend_names = keys.items;
    snapshot->backend_count = keys.count;
}

// All backends of a controller whose settings name them, whatever the object looks up.
static void fill_opened(struct engine *engine, size_t controller, struct snapshot *snapshot)
{
    size_t count = 0;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        count += backend->controller == controller;
    const struct backend_view **views = arena_alloc(engine->arena, count + 1, sizeof *views);
    const char **names = arena_new_array(engine->arena, const char *, count + 1);
    snapshot->backends = views;
    snapshot->backend_names = names;
    snapshot->backend_count = count;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next) {
        if (backend->controller != controller)
            continue;
        *views++ = &backend->view;
        *names++ = backend->name;
    }
}

void input_fill(struct engine *engine, size_t at, struct snapshot *snapshot)
{
    struct controller_state *state = &engine->controllers[at];
    const struct controller *controller = state->controller;
    struct input_objects *input_objects =
        arena_new_array(engine->arena, struct input_objects, controller->input_count + 1);
    for (size_t i = 0; i < controller->input_count; i++)
        input_objects[i] = input_one(engine, state, i, snapshot->subject);
    snapshot->inputs = input_objects;
    if (controller->backends)
        fill_backends(engine, state, snapshot->subject, snapshot);
    else if (engine->controllers[state->opener].controller->open)
        fill_opened(engine, state->opener, snapshot);
}
