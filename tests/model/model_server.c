#include "model/model_server_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "base/table.h"
#include "base/when.h"

enum { FAULTS_MAX = 32 };

struct planned_fault {
    enum model_write write;
    unsigned skip;
    enum model_fault fault;
};

struct model_server {
    struct loop *loop;
    struct store_kind *kinds;
    const struct kind **kind_list;
    size_t kind_count;
    struct kind_patterns *patterns;
    struct model_object *objects;
    size_t object_count;
    size_t object_capacity;
    struct table by_identity;
    struct model_watcher *watchers;
    uint64_t version;
    uint64_t uids;
    uint64_t writes;
    int64_t reply_ms;
    int64_t watch_ms;
    struct planned_fault faults[FAULTS_MAX];
    size_t fault_count;
};

// ---- objects by identity ------------------------------------------------------------------------

static uint64_t identity_hash(const struct object_ref_key *key)
{
    uint64_t mixed[3] = {hash_octets(key->kind->plural, strlen(key->kind->plural)),
                         hash_octets(key->namespace_.at, key->namespace_.len),
                         hash_octets(key->name.at, key->name.len)};
    return hash_octets(mixed, sizeof mixed);
}

static struct object_ref_key identity_of(const struct model_object *object)
{
    return (struct object_ref_key){object->type->kind, text_of(object->namespace_),
                                   text_of(object->name)};
}

static bool object_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct model_server *server = context;
    const struct object_ref_key *key = wanted;
    struct object_ref_key found = identity_of(&server->objects[id]);
    return found.kind == key->kind && text_equal(found.name, key->name) &&
           text_equal(found.namespace_, key->namespace_);
}

static uint64_t object_hash(const void *context, uint32_t id)
{
    const struct model_server *server = context;
    struct object_ref_key key = identity_of(&server->objects[id]);
    return identity_hash(&key);
}

static const struct table_ops identity_ops = {object_matches, object_hash};

struct model_object *model_server_object(struct model_server *server,
                                         const struct object_ref_key *key)
{
    server->by_identity.ops = &identity_ops;
    server->by_identity.context = server;
    uint32_t id = table_find(&server->by_identity, identity_hash(key), key);
    return id == TABLE_NONE || server->objects[id].is_gone ? NULL : &server->objects[id];
}

static struct model_object *object_make(struct model_server *server,
                                        const struct object_ref_key *key)
{
    uint32_t id = table_find(&server->by_identity, identity_hash(key), key);
    if (id != TABLE_NONE) {
        server->objects[id].is_gone = false;
        return &server->objects[id];
    }
    mem_reserve(&server->objects, &server->object_capacity, server->object_count + 1);
    struct model_object *object = &server->objects[server->object_count];
    *object = (struct model_object){.our_keys = mem_copy_text("")};
    for (size_t i = 0; i < server->kind_count; i++)
        if (server->kinds[i].kind == key->kind)
            object->type = &server->kinds[i];
    must(object->type != NULL);
    object->namespace_ = mem_copy(key->namespace_.at, key->namespace_.len);
    object->namespace_ = mem_resize(object->namespace_, key->namespace_.len + 1, 1);
    object->namespace_[key->namespace_.len] = '\0';
    object->name = mem_resize(mem_copy(key->name.at, key->name.len), key->name.len + 1, 1);
    object->name[key->name.len] = '\0';
    table_add(&server->by_identity, identity_hash(key), (uint32_t)server->object_count++);
    return object;
}

// ---- life ---------------------------------------------------------------------------------------

struct model_server *model_server_new(struct loop *loop, const struct store_kind *kinds,
                                      size_t kind_count)
{
    struct model_server *server = mem_new_of(struct model_server);
    server->loop = loop;
    server->kinds = mem_new_array(struct store_kind, kind_count + 1);
    server->kind_list = mem_new_array(const struct kind *, kind_count + 1);
    server->kind_count = kind_count;
    server->patterns = kind_patterns_new();
    server->by_identity = (struct table){.ops = &identity_ops, .context = server};
    for (size_t i = 0; i < kind_count; i++) {
        server->kinds[i] = kinds[i];
        server->kind_list[i] = kinds[i].kind;
    }
    return server;
}

void model_server_free(struct model_server *server)
{
    if (!server)
        return;
    must(!server->watchers);
    for (size_t i = 0; i < server->object_count; i++) {
        free(server->objects[i].namespace_);
        free(server->objects[i].name);
        free(server->objects[i].json);
        object_unref(server->objects[i].state);
        free(server->objects[i].our_keys);
    }
    free(server->objects);
    table_done(&server->by_identity);
    kind_patterns_free(server->patterns);
    free(server->kinds);
    free(server->kind_list);
    free(server);
}

struct loop *model_server_loop(const struct model_server *server)
{
    return server->loop;
}

int64_t model_server_reply_ms(const struct model_server *server)
{
    return server->reply_ms;
}

int64_t model_server_watch_ms(const struct model_server *server)
{
    return server->watch_ms;
}

const struct store_kind *model_server_kinds(const struct model_server *server, size_t *count)
{
    *count = server->kind_count;
    return server->kinds;
}

void model_server_set_delays(struct model_server *server, int64_t reply_ms, int64_t watch_ms)
{
    server->reply_ms = reply_ms;
    server->watch_ms = watch_ms;
}

void model_server_watch(struct model_server *server, struct model_watcher *watcher)
{
    watcher->next = server->watchers;
    server->watchers = watcher;
}

void model_server_unwatch(struct model_server *server, struct model_watcher *watcher)
{
    struct model_watcher **link = &server->watchers;
    while (*link && *link != watcher)
        link = &(*link)->next;
    if (*link)
        *link = watcher->next;
}

void model_server_each(struct model_server *server,
                       void (*call)(void *context, const struct model_object *object),
                       void *context)
{
    for (size_t i = 0; i < server->object_count; i++)
        if (!server->objects[i].is_gone)
            call(context, &server->objects[i]);
}

// ---- one object's next state --------------------------------------------------------------------

struct value *model_object_read(const struct model_object *object, struct arena *arena)
{
    struct value *tree =
        value_read_json(arena, text_of(object->json), &value_manifest_limits, NULL);
    must(tree != NULL);
    return tree;
}

static struct value *metadata_of(struct value *tree, struct arena *arena)
{
    struct value *metadata = value_find(tree, "metadata");
    if (!metadata) {
        metadata = value_make(arena, VALUE_MAP);
        value_set(tree, TEXT("metadata"), metadata);
    }
    return metadata;
}

static void tell(struct model_server *server, const struct model_object *object,
                 enum store_event_type type)
{
    const struct model_change change = {type, object};
    for (struct model_watcher *watcher = server->watchers; watcher; watcher = watcher->next)
        watcher->changed(watcher, &change);
}

// All but metadata and status: what a generation counts.
static uint64_t content_hash(const struct value *tree)
{
    uint64_t mixed = 0;
    value_each (item, tree)
        if (!text_is(item->key, "metadata") && !text_is(item->key, "status"))
            mixed += value_hash(item) * 31 + hash_octets(item->key.at, item->key.len);
    return mixed;
}

static void keep(struct model_server *server, struct model_object *object, struct value *tree,
                 struct arena *arena)
{
    struct buffer json = {0};
    object->version = ++server->version;
    object->content = content_hash(tree);
    value_set(metadata_of(tree, arena), TEXT("resourceVersion"),
              value_make_text(arena, text_of(arena_printf(arena, "%llu",
                                                          (unsigned long long)server->version))));
    value_write_json(&json, tree);
    free(object->json);
    object->json = buffer_steal(&json);
    object_unref(object->state);
    object->state = object_new(object->type->kind, object->type->finalizer, tree);
}

static bool is_finished(const struct value *tree)
{
    const struct value *metadata = value_find(tree, "metadata");
    return value_find(metadata, "deletionTimestamp") &&
           !value_count(value_find(metadata, "finalizers"));
}

void model_server_write(struct model_server *server, struct model_object *object,
                        struct value *tree, struct arena *arena)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, tree);
    if (!strcmp(json.at, object->json))
        return;
    struct value *metadata = metadata_of(tree, arena);
    uint64_t content = content_hash(tree);
    if (content != object->content)
        value_set(metadata, TEXT("generation"),
                  value_make_int(arena, value_int_at(metadata, "generation", 0) + 1));
    keep(server, object, tree, arena);
    object->is_gone = is_finished(tree);
    tell(server, object, object->is_gone ? STORE_DELETED : STORE_MODIFIED);
}

static void create(struct model_server *server, const struct object_ref_key *key,
                   struct value *tree, struct arena *arena)
{
    char uid[37];
    char created[WHEN_TEXT_MAX];
    struct value *metadata = metadata_of(tree, arena);
    struct model_object *object = object_make(server, key);
    snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012llx",
             (unsigned long long)++server->uids & 0xffffffffffffULL);
    when_write(loop_unix_ms(server->loop) / 1000, created);
    value_set(metadata, TEXT("uid"), value_make_text(arena, text_of(uid)));
    value_set(metadata, TEXT("creationTimestamp"), value_make_text(arena, text_of(created)));
    value_set(metadata, TEXT("generation"), value_make_int(arena, 1));
    value_remove(tree, "status");
    free(object->our_keys);
    object->our_keys = mem_copy_text("");
    keep(server, object, tree, arena);
    tell(server, object, STORE_ADDED);
}

// ---- what people do -----------------------------------------------------------------------------

static bool is_ours(const struct model_object *object, struct text key)
{
    struct text rest = text_of(object->our_keys);
    struct text line;
    while (text_cut(&rest, '\n', &line))
        if (line.len && text_equal(line, key))
            return true;
    return false;
}

// What stays although the manifest does not name it.
static void carry_over(const struct model_object *object, const struct value *old,
                       struct value *tree, struct arena *arena)
{
    static const char *const fields[] = {"uid",
                                         "creationTimestamp",
                                         "generation",
                                         "finalizers",
                                         "deletionTimestamp",
                                         "resourceVersion",
                                         "ownerReferences"};
    struct value *metadata = metadata_of(tree, arena);
    const struct value *old_metadata = value_find(old, "metadata");
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct value *kept = value_find(old_metadata, fields[i]);
        if (kept)
            value_set(metadata, text_of(fields[i]), value_copy(arena, kept));
    }
    struct value *annotations = value_find(metadata, "annotations");
    value_each (item, value_find(old_metadata, "annotations")) {
        if (!is_ours(object, item->key))
            continue;
        if (!annotations) {
            annotations = value_make(arena, VALUE_MAP);
            value_set(metadata, TEXT("annotations"), annotations);
        }
        value_set(annotations, item->key, value_copy(arena, item));
    }
    if (value_find(old, "status"))
        value_set(tree, TEXT("status"), value_copy(arena, value_find(old, "status")));
}

static bool check(struct model_server *server, const struct kind *kind, const struct value *object,
                  struct arena *arena, struct error *err)
{
    struct findings findings = {.arena = arena, .patterns = server->patterns};
    kind_check(kind, object, &findings);
    if (!findings_errors(&findings))
        return true;
    return error_set(err, FAULT_SPEC, "Invalid", "%s", findings_join(&findings, FINDING_ERROR));
}

// The tree as JSON shows it, so that old and new compare alike.
static struct value *as_stored(struct arena *arena, const struct value *tree)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, tree);
    const char *copy = arena_copy(arena, json.at, json.len);
    struct value *stored = value_read_json(arena, text_of(copy), &value_manifest_limits, NULL);
    must(stored != NULL);
    return stored;
}

bool model_server_apply(struct model_server *server, const struct value *document,
                        struct error *err)
{
    bool is_known;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct kind *kind =
        kind_lookup(server->kind_list, server->kind_count, document, &is_known);
    if (!kind)
        return error_set(err, FAULT_SPEC, "NotFound", "no such kind");
    if (!check(server, kind, document, arena, err))
        return false;
    struct value *tree = as_stored(arena, document);
    struct value *metadata = metadata_of(tree, arena);
    if (kind->is_namespaced && !value_find(metadata, "namespace"))
        value_set(metadata, TEXT("namespace"), value_make_text(arena, TEXT("default")));
    struct text namespace_ = kind->is_namespaced ? value_text_at(metadata, "namespace") : TEXT("");
    const struct object_ref_key key = {kind, namespace_, value_text_at(metadata, "name")};
    struct model_object *object = model_server_object(server, &key);
    if (!object) {
        create(server, &key, tree, arena);
        return true;
    }
    carry_over(object, model_object_read(object, arena), tree, arena);
    model_server_write(server, object, tree, arena);
    return true;
}

bool model_server_apply_yaml(struct model_server *server, struct text yaml, struct error *err)
{
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(yaml, &value_manifest_limits);
    for (;;) {
        bool has;
        struct value *document;
        CLEANUP(arena) struct arena *arena = arena_new();
        if (!yaml_reader_next(reader, arena, &document, &has, err))
            return false;
        if (!has)
            return true;
        if (document && !model_server_apply(server, document, err))
            return false;
    }
}

bool model_server_delete(struct model_server *server, const struct object_ref_key *key)
{
    char now[WHEN_TEXT_MAX];
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    struct value *metadata = metadata_of(tree, arena);
    if (value_find(metadata, "deletionTimestamp"))
        return true;
    when_write(loop_unix_ms(server->loop) / 1000, now);
    value_set(metadata, TEXT("deletionTimestamp"), value_make_text(arena, text_of(now)));
    value_set(metadata, TEXT("generation"),
              value_make_int(arena, value_int_at(metadata, "generation", 0) + 1));
    model_server_write(server, object, tree, arena);
    return true;
}

bool model_server_lose(struct model_server *server, const struct object_ref_key *key)
{
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    CLEANUP(arena) struct arena *arena = arena_new();
    keep(server, object, model_object_read(object, arena), arena);
    object->state->is_lost = object->state->has_finalizer && !object->state->deleted_s;
    object->is_gone = true;
    tell(server, object, STORE_DELETED);
    return true;
}

bool model_server_annotate(struct model_server *server, const struct object_ref_key *key,
                           const char *annotation, const char *value)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    struct value *metadata = metadata_of(tree, arena);
    struct value *annotations = value_find(metadata, "annotations");
    if (!annotations) {
        annotations = value_make(arena, VALUE_MAP);
        value_set(metadata, TEXT("annotations"), annotations);
    }
    if (value)
        value_set(annotations, text_of(annotation), value_make_text(arena, text_of(value)));
    else
        value_remove(annotations, annotation);
    model_server_write(server, object, tree, arena);
    return true;
}

bool model_server_judge(struct model_server *server, const struct object_ref_key *key,
                        const char *type, const char *condition)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    struct value *status = value_find(tree, "status");
    if (!status || !value_find(status, "conditions"))
        return false;
    struct value *conditions = value_copy(arena, value_find(status, "conditions"));
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("type"), value_make_text(arena, text_of(type)));
    value_set(map, TEXT("status"), value_make_text(arena, text_of(condition)));
    value_append(conditions, map);
    value_set(status, TEXT("conditions"), conditions);
    model_server_write(server, object, tree, arena);
    return true;
}

// ---- looking in ---------------------------------------------------------------------------------

struct value *model_server_find(struct model_server *server, struct arena *arena,
                                const struct object_ref_key *key)
{
    const struct model_object *object = model_server_object(server, key);
    return object ? model_object_read(object, arena) : NULL;
}

size_t model_server_count(const struct model_server *server, const struct kind *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < server->object_count; i++)
        count += !server->objects[i].is_gone && server->objects[i].type->kind == kind;
    return count;
}

uint64_t model_server_writes(const struct model_server *server)
{
    return server->writes;
}

// ---- faults -------------------------------------------------------------------------------------

void model_server_fault(struct model_server *server, enum model_write write, unsigned skip,
                        enum model_fault fault)
{
    must(server->fault_count < FAULTS_MAX);
    server->faults[server->fault_count++] = (struct planned_fault){write, skip, fault};
}

bool model_server_take_fault(struct model_server *server, enum model_write write,
                             enum model_fault *fault)
{
    bool is_met = false;
    server->writes++;
    for (size_t i = 0; i < server->fault_count; i++) {
        struct planned_fault *planned = &server->faults[i];
        if (planned->write != MODEL_ANY_WRITE && planned->write != write)
            continue;
        if (planned->skip) {
            planned->skip--;
            continue;
        }
        if (is_met)
            continue;
        is_met = true;
        *fault = planned->fault;
        *planned = server->faults[--server->fault_count];
        i--;
    }
    return is_met;
}
