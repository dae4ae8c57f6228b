#include "model/model_server_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "base/when.h"

enum { FAULTS_MAX = 32, WINDOW = 1000 };

struct planned_fault {
    enum model_write write;
    unsigned skip;
    enum model_fault fault;
};

struct model_server {
    struct loop *loop;
    struct store_kind *kinds;
    struct model_history *histories; // of each kind
    size_t kind_count;
    size_t window;
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
    uint32_t id = table_find(&server->by_identity, identity_hash(key), key);
    return id == TABLE_NONE || server->objects[id].is_gone ? NULL : &server->objects[id];
}

static const struct store_kind *row_of(const struct model_server *server, const struct kind *kind)
{
    for (size_t i = 0; i < server->kind_count; i++)
        if (server->kinds[i].kind == kind)
            return &server->kinds[i];
    return NULL;
}

static char *copy_of(struct text text)
{
    struct buffer copy = {0};
    buffer_add(&copy, text.at, text.len);
    return buffer_steal(&copy);
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
    *object = (struct model_object){.type = row_of(server, key->kind),
                                    .namespace_ = copy_of(key->namespace_),
                                    .name = copy_of(key->name)};
    must(object->type != NULL);
    table_add(&server->by_identity, identity_hash(key), (uint32_t)server->object_count++);
    return object;
}

// ---- life ---------------------------------------------------------------------------------------

static bool has_kind(const struct store_kind *kinds, size_t count, const struct kind *kind)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(kinds[i].kind->group, kind->group) && !strcmp(kinds[i].kind->name, kind->name))
            return true;
    return false;
}

struct model_server *model_server_new(struct loop *loop, const struct store_kind *kinds,
                                      size_t kind_count)
{
    struct model_server *server = mem_new_of(struct model_server);
    server->loop = loop;
    server->kinds = mem_new_array(struct store_kind, kind_count + model_kind_count);
    server->histories = mem_new_array(struct model_history, kind_count + model_kind_count);
    server->patterns = kind_patterns_new();
    server->window = WINDOW;
    server->by_identity = (struct table){.ops = &identity_ops, .context = server};
    for (size_t i = 0; i < kind_count; i++)
        server->kinds[server->kind_count++] = kinds[i];
    for (size_t i = 0; i < model_kind_count; i++)
        if (!has_kind(kinds, kind_count, model_kinds[i]))
            server->kinds[server->kind_count++].kind = model_kinds[i];
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
        model_json_unref(server->objects[i].json);
        model_claims_done(&server->objects[i].claims);
    }
    for (size_t i = 0; i < server->kind_count; i++) {
        model_history_clear(&server->histories[i], 0);
        free(server->histories[i].events);
    }
    free(server->objects);
    free(server->histories);
    table_done(&server->by_identity);
    kind_patterns_free(server->patterns);
    free(server->kinds);
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

uint64_t model_server_version(const struct model_server *server)
{
    return server->version;
}

struct kind_patterns *model_server_patterns(const struct model_server *server)
{
    return server->patterns;
}

const struct store_kind *model_server_kinds(const struct model_server *server, size_t *count)
{
    *count = server->kind_count;
    return server->kinds;
}

const struct model_history *model_server_history(const struct model_server *server,
                                                 const struct kind *kind)
{
    return &server->histories[row_of(server, kind) - server->kinds];
}

void model_server_set_delays(struct model_server *server, int64_t reply_ms, int64_t watch_ms)
{
    server->reply_ms = reply_ms;
    server->watch_ms = watch_ms;
}

void model_server_set_window(struct model_server *server, size_t events)
{
    server->window = events;
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
    const struct text json = {object->json->at, object->json->len};
    struct value *tree = value_read_json(arena, json, &value_manifest_limits, NULL);
    must(tree != NULL);
    return tree;
}

static struct value *child_map(struct value *map, const char *key, struct arena *arena)
{
    struct value *child = value_find(map, key);
    if (!child) {
        child = value_make(arena, VALUE_MAP);
        value_set(map, text_of(key), child);
    }
    return child;
}

struct value *model_metadata(struct value *tree, struct arena *arena)
{
    return child_map(tree, "metadata", arena);
}

struct value *model_marks(struct value *tree, const char *map, struct arena *arena)
{
    return child_map(model_metadata(tree, arena), map, arena);
}

bool model_check(struct model_server *server, const struct kind *kind, const struct value *object,
                 struct arena *arena, struct error *err)
{
    struct findings findings = {.arena = arena, .patterns = server->patterns};
    if (!kind->field_count)
        return true;
    kind_check(kind, object, &findings);
    if (!findings_errors(&findings))
        return true;
    return error_set(err, FAULT_SPEC, "Invalid", "%s", findings_join(&findings, FINDING_ERROR));
}

uint64_t model_content(const struct value *tree)
{
    uint64_t mixed = 0;
    value_each (item, tree)
        if (!text_is(item->key, "metadata") && !text_is(item->key, "status"))
            mixed +=
                value_content_id(item).words[0] * 31 + hash_octets(item->key.at, item->key.len);
    return mixed;
}

static void set_version(struct model_server *server, struct model_object *object,
                        struct value *tree, struct arena *arena)
{
    AUTO_BUFFER json = {0};
    object->version = ++server->version;
    const char *version = arena_printf(arena, "%llu", (unsigned long long)object->version);
    value_set(model_metadata(tree, arena), TEXT("resourceVersion"),
              value_make_text(arena, text_of(version)));
    value_write_json(&json, tree);
    object->json = model_json_new(buffer_text(&json));
    object->content = model_content(tree);
}

static void report(struct model_server *server, const struct model_object *object,
                   const struct model_event *event)
{
    size_t at = (size_t)(object->type - server->kinds);
    model_history_add(&server->histories[at], event, server->window);
    for (struct model_watcher *watcher = server->watchers, *next; watcher; watcher = next) {
        next = watcher->next;
        watcher->changed(watcher, event);
    }
}

static void keep(struct model_server *server, struct model_object *object, struct value *tree,
                 enum store_event_type type, struct arena *arena)
{
    struct model_json *old = type == STORE_ADDED ? NULL : object->json;
    struct model_event event = {.type = type,
                                .kind = object->type,
                                .namespace_ = object->namespace_,
                                .name = object->name,
                                .old_version = old ? object->version : 0,
                                .old = old};
    if (!old)
        model_json_unref(object->json);
    set_version(server, object, tree, arena);
    object->is_gone = type == STORE_DELETED;
    event.version = object->version;
    event.json = object->json;
    report(server, object, &event);
    model_json_unref(old);
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
    if (text_equal(buffer_text(&json), (struct text){object->json->at, object->json->len}))
        return;
    struct value *metadata = model_metadata(tree, arena);
    if (model_content(tree) != object->content && value_find(metadata, "generation"))
        value_set(metadata, TEXT("generation"),
                  value_make_int(arena, value_int_at(metadata, "generation", 0) + 1));
    keep(server, object, tree, is_finished(tree) ? STORE_DELETED : STORE_MODIFIED, arena);
}

// As the real one has it: the kinds of custom resources count generations, its own mostly do not.
static bool counts_generations(const struct kind *kind)
{
    return !kind->is_foreign;
}

struct model_object *model_server_create(struct model_server *server,
                                         const struct object_ref_key *key, struct value *tree,
                                         struct arena *arena)
{
    char uid[37];
    char created[WHEN_TEXT_MAX];
    struct value *metadata = model_metadata(tree, arena);
    struct model_object *object = object_make(server, key);
    snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012llx",
             (unsigned long long)++server->uids & 0xffffffffffffULL);
    when_write(loop_unix_ms(server->loop) / 1000, created);
    value_set(metadata, TEXT("uid"), value_make_text(arena, text_of(uid)));
    value_set(metadata, TEXT("creationTimestamp"), value_make_text(arena, text_of(created)));
    if (counts_generations(key->kind))
        value_set(metadata, TEXT("generation"), value_make_int(arena, 1));
    if (key->kind->has_status)
        value_remove(tree, "status");
    model_claims_done(&object->claims);
    object->written = 0;
    keep(server, object, tree, STORE_ADDED, arena);
    return object;
}

static void begin_deletion(struct model_server *server, struct value *metadata, struct arena *arena)
{
    char now[WHEN_TEXT_MAX];
    when_write(loop_unix_ms(server->loop) / 1000, now);
    value_set(metadata, TEXT("deletionTimestamp"),
              value_make_text(arena, text_of(arena_copy_text(arena, now))));
    value_set(metadata, TEXT("deletionGracePeriodSeconds"), value_make_int(arena, 0));
    if (value_find(metadata, "generation"))
        value_set(metadata, TEXT("generation"),
                  value_make_int(arena, value_int_at(metadata, "generation", 0) + 1));
}

void model_server_remove(struct model_server *server, struct model_object *object)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = model_object_read(object, arena);
    struct value *metadata = model_metadata(tree, arena);
    if (value_find(metadata, "deletionTimestamp"))
        return;
    if (!value_count(value_find(metadata, "finalizers"))) {
        keep(server, object, tree, STORE_DELETED, arena);
        return;
    }
    begin_deletion(server, metadata, arena);
    keep(server, object, tree, STORE_MODIFIED, arena);
}

void model_server_vanish(struct model_server *server, struct model_object *object)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    keep(server, object, model_object_read(object, arena), STORE_DELETED, arena);
}

void model_server_forget(struct model_server *server, uint64_t version)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    bool is_back = version < server->version;
    server->version = version;
    for (size_t i = 0; i < server->object_count && is_back; i++) {
        struct model_object *object = &server->objects[i];
        if (object->is_gone)
            continue;
        struct model_json *old = object->json;
        set_version(server, object, model_object_read(object, arena), arena);
        model_json_unref(old);
    }
    for (size_t i = 0; i < server->kind_count; i++)
        model_history_clear(&server->histories[i], server->version);
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

size_t model_server_written(struct model_server *server, const struct object_ref_key *key)
{
    const struct model_object *object = model_server_object(server, key);
    return object ? object->written : 0;
}

uint64_t model_server_writes(const struct model_server *server)
{
    return server->writes;
}

// ---- faults -------------------------------------------------------------------------------------

static bool is_change(enum model_write write)
{
    return write <= MODEL_OTHER_WRITE;
}

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
    server->writes += is_change(write);
    for (size_t i = 0; i < server->fault_count; i++) {
        struct planned_fault *planned = &server->faults[i];
        bool is_meant =
            planned->write == MODEL_ANY_WRITE ? is_change(write) : planned->write == write;
        if (!is_meant)
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
