#include "store/folder/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "store/folder/degraded.h"
#include "store/folder/draft.h"
#include "store/folder/lead.h"
#include "store/folder/name.h"
#include "store/folder/shard_files.h"
#include "store/folder/write_back.h"
#include "store/put.h"
#include "store/status.h"

enum {
    BATCH_OCTETS = 256 * 1024, // of documents that share one commit
    BATCH_REQUESTS = 1024,
};

enum request_type {
    REQUEST_APPLY,
    REQUEST_REMOVE_FINALIZER,
    REQUEST_STATUS, // up to here: written ahead
    REQUEST_GET,
    REQUEST_ANSWER,
};

// Waits for the loop's next turn.
struct request {
    enum request_type type;
    store_done *done;
    void *context;
    const struct object *object; // as the asker saw it; ANSWER: the reply's. Own reference
    bool add_finalizer;
    struct metadata_change *metadata_changes; // one piece of memory with their texts
    size_t metadata_change_count;
    char *status;            // STATUS: the patch as JSON
    const struct kind *kind; // GET
    char *namespace_;
    char *name;
    struct shard_list *shards; // ANSWER: of what was read, or NULL
    char *version;             // the same of a page that was put
    struct error *error;       // what went wrong, or NULL

    // Made ready for the state:
    bool is_ready;
    uint32_t entry;
    struct object *next;
    char *body; // status document; NULL: the object leaves
};

static void request_done(struct request *request)
{
    free(request->metadata_changes);
    free(request->status);
    free(request->namespace_);
    free(request->name);
    free(request->error);
    free(request->version);
    shard_list_free(request->shards);
    free(request->body);
    object_unref(request->object);
    object_unref(request->next);
}

static void add_request(struct folder *folder, struct request request)
{
    mem_reserve(&folder->requests, &folder->request_capacity, folder->request_count + 1);
    folder->requests[folder->request_count++] = request;
    if (folder->request_count == 1)
        loop_timer_set(folder->world.loop, &folder->write_timer, 0);
}

// ---- guards -------------------------------------------------------------------------------------

static bool refuse_write(struct error *err, enum fault fault, int status, const char *reason,
                         const struct object *object, const char *why)
{
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    error_set(err, fault, reason, "%s %s: %s", object->kind->name, name.at, why);
    err->status = status;
    return false;
}

static bool refuse_standby(const struct folder *folder, struct error *err)
{
    return error_set(err, FAULT_AGAIN, folder->is_lost ? "SystemError" : "Standby", "%s",
                     folder->is_lost ? folder->degraded_texts[DEGRADED_LOST]
                                     : "another process leads this folder; only that one writes");
}

static bool check_leading(const struct folder *folder, const struct object *object,
                          struct error *err)
{
    AUTO_BUFFER name = {0};
    if (folder->has_reported_leading)
        return true;
    object_write_name(&name, object);
    refuse_standby(folder, err);
    error_prefix(err, "%s %s: ", object->kind->name, name.at);
    return false;
}

// The entry of the object that was seen, if it still is that one.
static bool find_entry(const struct folder *folder, const struct object *seen, uint32_t *id,
                       struct error *err)
{
    struct object_ref_key key = {seen->kind, object_namespace(seen), object_name(seen)};
    *id = entries_find(&folder->entries, &key);
    if (*id == ENTRY_NONE)
        return refuse_write(err, FAULT_RACE, 404, "NotFound", seen, "is gone");
    if (memcmp(folder->entries.items[*id].object->uid, seen->uid, sizeof seen->uid) != 0)
        return refuse_write(err, FAULT_RACE, 409, "Conflict", seen,
                            "uid mismatch: it was deleted and made again");
    return true;
}

static bool check_version(const struct folder *folder, uint32_t id, const struct object *seen,
                          struct error *err)
{
    const struct object *now = folder->entries.items[id].object;
    if (text_equal(object_version(now), object_version(seen)))
        return true;
    return refuse_write(err, FAULT_RACE, 409, "Conflict", seen,
                        "the object has been modified; decide again from its latest version");
}

static bool check_status(const struct folder *folder, const struct object *seen, uint32_t *id,
                         struct error *err)
{
    const char *degraded = folder->degraded_texts[DEGRADED_STATUS];
    if (degraded)
        return refuse_write(err, FAULT_AGAIN, 0, "SystemError", seen, degraded);
    return check_leading(folder, seen, err) && find_entry(folder, seen, id, err) &&
           check_version(folder, *id, seen, err);
}

// ---- making ready -------------------------------------------------------------------------------

static struct draft draft_of(const struct folder *folder, const struct object *object)
{
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    return draft_make(folder, folder->arena, &key);
}

static bool change_marks(struct draft *draft, const struct request *request, bool is_label,
                         const struct value **map)
{
    const struct value *before = *map;
    *map = managed_change_metadata(draft->arena, before, is_label, request->metadata_changes,
                                   request->metadata_change_count);
    return value_count(before) != value_count(*map) || (before && !value_equal(before, *map));
}

static bool change_apply(struct draft *draft, const struct request *request, bool *is_changed,
                         struct error *err)
{
    bool adds = request->add_finalizer && !draft->managed.has_finalizer;
    if (adds && !draft->subject.type->finalizer)
        return refuse_write(err, FAULT_SPEC, 422, "Invalid", request->object,
                            "its kind has no finalizer");
    if (adds && draft->managed.deleted_s)
        return refuse_write(err, FAULT_SPEC, 422, "Invalid", request->object,
                            "no new finalizers can be added if the object is being deleted");
    bool is_labelled = change_marks(draft, request, true, &draft->managed.labels);
    bool is_annotated = change_marks(draft, request, false, &draft->managed.annotations);
    draft->managed.has_finalizer = draft->managed.has_finalizer || adds;
    *is_changed = adds || is_labelled || is_annotated;
    return true;
}

static bool change_status(struct draft *draft, const struct request *request, bool *is_changed)
{
    const struct value *before = draft->managed.status;
    const struct value *patch =
        value_read_json(draft->arena, text_of(request->status), &managed_limits, NULL);
    must(patch != NULL);
    const struct value *next = status_patched(draft->arena, request->object->kind, before, patch);
    *is_changed = before ? !value_equal(before, next) : next->count > 0;
    draft->managed.status = next->count ? next : NULL;
    return true;
}

static bool change_draft(struct draft *draft, const struct request *request, bool *is_changed,
                         struct error *err)
{
    if (request->type == REQUEST_APPLY)
        return change_apply(draft, request, is_changed, err);
    if (request->type == REQUEST_STATUS)
        return change_status(draft, request, is_changed);
    *is_changed = draft->managed.has_finalizer;
    draft->managed.has_finalizer = false;
    return true;
}

static bool check_request(const struct folder *folder, struct request *request, struct error *err)
{
    if (request->type == REQUEST_STATUS)
        return check_status(folder, request->object, &request->entry, err);
    return check_leading(folder, request->object, err) &&
           find_entry(folder, request->object, &request->entry, err) &&
           (request->type == REQUEST_APPLY ||
            check_version(folder, request->entry, request->object, err));
}

static bool make_ready(struct folder *folder, struct request *request, size_t *octets,
                       struct error *err)
{
    AUTO_BUFFER body = {0};
    bool is_changed = false;
    struct draft draft = draft_of(folder, request->object);
    if (!check_request(folder, request, err) || !draft_load(folder, &draft, request->entry, err) ||
        !change_draft(&draft, request, &is_changed, err))
        return false;
    const struct entry *entry = &folder->entries.items[request->entry];
    bool is_gone = draft.managed.deleted_s && !draft.managed.has_finalizer;
    request->next = object_ref(entry->object);
    if (!is_changed)
        return true;
    draft_step(folder, &draft);
    draft_write(&body, &draft);
    *octets += body.len;
    object_unref(request->next);
    request->next = draft_object(folder, &draft);
    request->body = is_gone ? NULL : buffer_steal(&body);
    request->is_ready = true;
    return true;
}

static void fail_request(struct request *request, const struct error *err)
{
    request->error = mem_copy(err, sizeof *err);
    request->is_ready = false;
}

static bool is_written_ahead(const struct request *request)
{
    return request->type <= REQUEST_STATUS;
}

// Is another write of the same object in this batch? It has to see that one's outcome.
static bool is_busy(const struct folder *folder, const struct request *request)
{
    struct object_ref_key key = {request->object->kind, object_namespace(request->object),
                                 object_name(request->object)};
    uint32_t id = entries_find(&folder->entries, &key);
    return id != ENTRY_NONE && (folder->entries.items[id].flags & ENTRY_IS_BUSY);
}

// Makes requests ready until the batch is full. How many it took.
static size_t make_batch_ready(struct folder *folder, struct request *requests, size_t count)
{
    size_t taken = 0;
    size_t octets = 0;
    for (; taken < count && taken < BATCH_REQUESTS && octets < BATCH_OCTETS; taken++) {
        struct request *request = &requests[taken];
        struct error err = {0};
        if (!is_written_ahead(request))
            continue;
        if (is_busy(folder, request))
            break;
        if (!make_ready(folder, request, &octets, &err))
            fail_request(request, &err);
        if (request->is_ready)
            folder->entries.items[request->entry].flags |= ENTRY_IS_BUSY;
        arena_reset(folder->arena);
    }
    return taken;
}

// ---- carrying out -------------------------------------------------------------------------------

static void commit_next(struct folder *folder, struct request *request)
{
    AUTO_BUFFER key = {0};
    struct error err = {0};
    const struct entry *entry = &folder->entries.items[request->entry];
    const struct object *next = request->next;
    struct object_ref_key name = {next->kind, object_namespace(next), object_name(next)};
    uint64_t version = 0;
    name_write_key(&key, &name);
    object_version_number(next, &version);
    if (!folder_keep(folder, entry->file, buffer_text(&key), version, text_of(request->body),
                     &err)) {
        degraded_set(folder, DEGRADED_STATUS, &err);
        write_back_wake(folder);
    }
    folder_put_object(folder, object_ref(next), entry->file, entry->body, false);
}

static void commit_request(struct folder *folder, struct request *request)
{
    struct entry *entry = &folder->entries.items[request->entry];
    entry->flags &= ~(unsigned)ENTRY_IS_BUSY & 0xff;
    if (!request->is_ready)
        return;
    if (request->body)
        commit_next(folder, request);
}

static void put_row(struct folder *folder, const struct request *request)
{
    const struct object *next = request->next;
    struct object_ref_key key = {next->kind, object_namespace(next), object_name(next)};
    uint64_t version = 0;
    object_version_number(next, &version);
    folder_write_ahead(folder, folder->entries.items[request->entry].file, &key, version,
                       request->body);
}

static bool write_ahead(struct folder *folder, const struct request *requests, size_t count,
                        struct error *err)
{
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        if (requests[i].is_ready)
            put_row(folder, &requests[i]);
        has_any = has_any || requests[i].is_ready;
    }
    if (!has_any)
        return true;
    if (state_commit(&folder->state, err)) {
        degraded_clear(folder, DEGRADED_WRITE_AHEAD);
        return true;
    }
    degraded_set(folder, DEGRADED_WRITE_AHEAD, err);
    write_back_probe_state(folder);
    return false;
}

static void carry_out(struct folder *folder, struct request *requests, size_t count)
{
    struct error err = {0};
    bool is_written = write_ahead(folder, requests, count, &err);
    for (size_t i = 0; i < count; i++) {
        if (!requests[i].is_ready)
            continue;
        if (!is_written)
            fail_request(&requests[i], &err);
        commit_request(folder, &requests[i]);
    }
}

static void answer_get(struct folder *folder, const struct request *request)
{
    struct store_reply reply = {0};
    struct object_ref_key key = {request->kind, text_of(request->namespace_),
                                 text_of(request->name)};
    uint32_t id = entries_find(&folder->entries, &key);
    CLEANUP(arena) struct arena *arena = arena_new();
    struct draft draft = draft_make(folder, arena, &key);
    if (id == ENTRY_NONE) {
        error_set(&reply.error, FAULT_RACE, "NotFound", "%s %s: is gone", key.kind->name,
                  request->name);
        reply.error.status = 404;
    } else if (draft_load(folder, &draft, id, &reply.error)) {
        reply.is_ok = true;
        reply.object = folder->entries.items[id].object;
        reply.tree = managed_tree(arena, &draft.subject, &draft.managed);
    }
    request->done(request->context, &reply);
}

// What it is by now: an edit may have been read and told since, and a reply must not lead back. One
// that leaves does so after the reply.
static const struct object *object_of_reply(const struct folder *folder,
                                            const struct request *request)
{
    const struct object *known = is_written_ahead(request) ? request->next : request->object;
    if (!known)
        return NULL;
    if (is_written_ahead(request) && !request->body)
        return known;
    const struct object *now =
        cache_find(folder->store.cache, known->kind, object_namespace(known), object_name(known));
    return now && !memcmp(now->uid, known->uid, sizeof now->uid) ? now : NULL;
}

static void answer_request(struct folder *folder, const struct request *request)
{
    if (request->type == REQUEST_GET) {
        answer_get(folder, request);
        return;
    }
    struct store_reply reply = {.is_ok = !request->error, .version = request->version};
    if (request->shards)
        reply.shards = shard_list_items(request->shards, &reply.shard_count);
    if (request->error)
        reply.error = *request->error;
    else
        reply.object = object_of_reply(folder, request);
    request->done(request->context, &reply);
}

// The last finalizer went: the object leaves, after the reply.
static void let_go(struct folder *folder, const struct request *request)
{
    if (!request->is_ready || request->body)
        return;
    struct object_ref_key key = {request->next->kind, object_namespace(request->next),
                                 object_name(request->next)};
    uint32_t id = entries_find(&folder->entries, &key);
    if (id == ENTRY_NONE)
        return;
    const struct entry *entry = &folder->entries.items[id];
    folder_put_object(folder, object_ref(request->next), entry->file, entry->body, false);
    folder_remove_object(folder, id);
}

// One batch a turn of the loop, so that a flood of claims holds nobody else up.
static void write_fired(void *context)
{
    struct folder *folder = context;
    lead_look(folder);
    size_t count = folder->request_count - folder->request_next;
    size_t taken = make_batch_ready(folder, folder->requests + folder->request_next, count);
    // Answers may bring in new requests, which may move the others in memory.
    autofree struct request *batch =
        mem_copy(folder->requests + folder->request_next, taken * sizeof *batch);
    folder->request_next += taken;
    if (taken < count) {
        loop_timer_set(folder->world.loop, &folder->write_timer, 0);
    } else {
        folder->request_count = folder->request_next = 0;
        mem_relax(&folder->requests, &folder->request_capacity);
    }
    carry_out(folder, batch, taken);
    for (size_t i = 0; i < taken; i++) {
        answer_request(folder, &batch[i]);
        let_go(folder, &batch[i]);
        request_done(&batch[i]);
    }
    // What a pass reads is told together, whoever answers amid it.
    if (!folder->pass.is_open)
        folder_end_batch(folder);
}

// ---- asking -------------------------------------------------------------------------------------

static size_t mark_octets(const struct store_apply *apply)
{
    size_t octets = apply->metadata_change_count * sizeof *apply->metadata_changes;
    for (size_t i = 0; i < apply->metadata_change_count; i++) {
        const struct metadata_change *mark = &apply->metadata_changes[i];
        octets += strlen(mark->key) + 1;
        octets += mark->value ? strlen(mark->value) + 1 : 0;
    }
    return octets;
}

static const char *put_text(char **at, const char *text)
{
    size_t len = strlen(text) + 1;
    char *start = *at;
    memcpy(start, text, len);
    *at += len;
    return start;
}

static struct metadata_change *copy_marks(const struct store_apply *apply)
{
    if (!apply->metadata_change_count)
        return NULL;
    struct metadata_change *copy = mem_new(1, mark_octets(apply));
    char *at = (char *)(copy + apply->metadata_change_count);
    for (size_t i = 0; i < apply->metadata_change_count; i++) {
        copy[i].is_label = apply->metadata_changes[i].is_label;
        copy[i].key = put_text(&at, apply->metadata_changes[i].key);
        if (apply->metadata_changes[i].value)
            copy[i].value = put_text(&at, apply->metadata_changes[i].value);
    }
    return copy;
}

void write_apply(struct folder *folder, const struct store_apply *apply, store_done *done,
                 void *context)
{
    add_request(folder, (struct request){
                            .type = REQUEST_APPLY,
                            .done = done,
                            .context = context,
                            .object = object_ref(apply->object),
                            .add_finalizer = apply->add_finalizer,
                            .metadata_changes = copy_marks(apply),
                            .metadata_change_count = apply->metadata_change_count,
                        });
}

void write_remove_finalizer(struct folder *folder, const struct object *object, store_done *done,
                            void *context)
{
    add_request(folder, (struct request){
                            .type = REQUEST_REMOVE_FINALIZER,
                            .done = done,
                            .context = context,
                            .object = object_ref(object),
                        });
}

void write_get(struct folder *folder, const struct object_ref_key *key, store_done *done,
               void *context)
{
    AUTO_BUFFER namespace_ = {0};
    AUTO_BUFFER name = {0};
    buffer_add(&namespace_, key->namespace_.at, key->namespace_.len);
    buffer_add(&name, key->name.at, key->name.len);
    add_request(folder, (struct request){
                            .type = REQUEST_GET,
                            .done = done,
                            .context = context,
                            .kind = key->kind,
                            .namespace_ = buffer_steal(&namespace_),
                            .name = buffer_steal(&name),
                        });
}

// ---- status -------------------------------------------------------------------------------------

static bool patch_status(struct folder *folder, const struct object *seen,
                         const struct value *status, const struct object **after, struct error *err)
{
    uint32_t id;
    struct draft draft = draft_of(folder, seen);
    if (!check_status(folder, seen, &id, err) || !draft_load(folder, &draft, id, err))
        return false;
    const struct entry *entry = &folder->entries.items[id];
    const struct value *next =
        status_patched(draft.arena, seen->kind, draft.managed.status, status);
    bool is_same = draft.managed.status ? value_equal(draft.managed.status, next) : !next->count;
    if (!is_same) {
        draft.managed.status = next->count ? next : NULL;
        draft_step(folder, &draft);
        if (!draft_keep(folder, &draft, entry->file, err))
            return false;
        folder_put_object(folder, draft_object(folder, &draft), entry->file, entry->body, false);
    }
    *after = object_ref(folder->entries.items[id].object);
    return true;
}

static void patch_ahead(struct folder *folder, const struct object *object,
                        const struct value *status, store_done *done, void *context)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, status);
    add_request(folder, (struct request){.type = REQUEST_STATUS,
                                         .done = done,
                                         .context = context,
                                         .object = object_ref(object),
                                         .status = buffer_steal(&json)});
}

void write_patch_status(struct folder *folder, const struct object *object,
                        const struct value *status, store_done *done, void *context)
{
    struct error err = {0};
    struct request request = {.type = REQUEST_ANSWER, .done = done, .context = context};
    if (object->kind->is_status_ahead) {
        patch_ahead(folder, object, status, done, context);
        return;
    }
    if (!patch_status(folder, object, status, &request.object, &err))
        request.error = mem_copy(&err, sizeof err);
    arena_reset(folder->arena);
    add_request(folder, request);
}

// ---- what we make ourselves ---------------------------------------------------------------------

// Is the state that was seen the latest, and does it stand in a file of ours?
static bool check_child(const struct folder *folder, const struct object *seen, struct error *err)
{
    uint32_t id;
    if (!check_leading(folder, seen, err) || !find_entry(folder, seen, &id, err) ||
        !check_version(folder, id, seen, err))
        return false;
    const char *path = folder->entries.files[folder->entries.items[id].file].path;
    const char *why = "a manifest of users, which is not written: change it there";
    return name_is_child(path) ||
           refuse_write(err, FAULT_SPEC, 422, "Invalid", seen,
                        arena_printf(folder->arena, "stands in %s, %s", path, why));
}

static bool check_absent(const struct folder *folder, const struct object_ref_key *key,
                         struct error *err)
{
    if (!folder->has_reported_leading)
        return refuse_standby(folder, err);
    if (entries_find(&folder->entries, key) == ENTRY_NONE &&
        !generated_has(&folder->owned_objects, key))
        return true;
    error_set(err, FAULT_RACE, "AlreadyExists", "%s %.*s/%.*s: already exists", key->kind->name,
              TEXT_ARGS(key->namespace_), TEXT_ARGS(key->name));
    err->status = 409;
    return false;
}

static bool stands_in_manifest(const struct folder *folder, const struct object_ref_key *key)
{
    uint32_t id = entries_find(&folder->entries, key);
    return id != ENTRY_NONE &&
           !name_is_child(folder->entries.files[folder->entries.items[id].file].path);
}

// The writer does not read objects of that kind. A Secret is made for who is told its name: where
// Secrets are read, the file lies with those that are, unless an earlier one lies elsewhere.
static bool write_unread(struct folder *folder, const struct store_object_write *write,
                         struct error *err)
{
    if (!folder->has_reported_leading)
        return refuse_standby(folder, err);
    bool is_read = write->key.kind->is_secret && folder_type(folder, write->key.kind);
    if (!is_read || generated_has(&folder->generated, &write->key))
        return generated_put(&folder->generated, write, err);
    if (stands_in_manifest(folder, &write->key))
        return put_refuse(write, err);
    return generated_put(&folder->owned_objects, write, err);
}

static bool write_child(struct folder *folder, const struct store_object_write *write,
                        struct error *err)
{
    if (!write->tree)
        return check_child(folder, write->seen, err)
                   ? generated_drop(&folder->owned_objects, &write->key, err)
                   : err->status == 404;
    if (write->seen ? check_child(folder, write->seen, err)
                    : check_absent(folder, &write->key, err))
        return write->is_dry_run || generated_patch(&folder->owned_objects, write, err);
    return !write->seen && !write->is_dry_run && err->status == 409 &&
           !stands_in_manifest(folder, &write->key) &&
           generated_relabel(&folder->owned_objects, write, err);
}

void write_object(struct folder *folder, const struct store_object_write *write, store_done *done,
                  void *context)
{
    struct error err = {0};
    struct request request = {.type = REQUEST_ANSWER, .done = done, .context = context};
    if (!(write->is_unread ? write_unread : write_child)(folder, write, &err))
        request.error = mem_copy(&err, sizeof err);
    add_request(folder, request);
}

// ---- pages of ledgers ---------------------------------------------------------------------------

void write_read_shards(struct folder *folder, const char *prefix, store_done *done, void *context)
{
    struct error err;
    struct request request = {.type = REQUEST_ANSWER, .done = done, .context = context};
    request.shards = shard_files_read(folder, prefix, &err);
    if (!request.shards)
        request.error = mem_copy(&err, sizeof err);
    add_request(folder, request);
}

void write_put_shard(struct folder *folder, const struct store_shard_put *put, store_done *done,
                     void *context)
{
    struct error err;
    char version[SHARD_VERSION_MAX];
    struct request request = {.type = REQUEST_ANSWER, .done = done, .context = context};
    if (folder->has_reported_leading ? shard_files_put(folder, put, version, &err)
                                     : refuse_standby(folder, &err))
        request.version = mem_copy_text(version);
    else
        request.error = mem_copy(&err, sizeof err);
    add_request(folder, request);
}

void write_drop_shard(struct folder *folder, const char *name, const char *version,
                      store_done *done, void *context)
{
    struct error err;
    struct request request = {.type = REQUEST_ANSWER, .done = done, .context = context};
    if (!(folder->has_reported_leading ? shard_files_drop(folder, name, version, &err)
                                       : refuse_standby(folder, &err)))
        request.error = mem_copy(&err, sizeof err);
    add_request(folder, request);
}

// ---- beginning and end --------------------------------------------------------------------------

void write_init(struct folder *folder)
{
    folder->write_timer = (struct loop_timer){.call = write_fired, .context = folder};
}

void write_done(struct folder *folder)
{
    loop_timer_cancel(folder->world.loop, &folder->write_timer);
    for (size_t i = folder->request_next; i < folder->request_count; i++)
        request_done(&folder->requests[i]);
    free(folder->requests);
}
