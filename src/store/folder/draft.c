#include "store/folder/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "store/folder/degraded.h"
#include "store/folder/name.h"
#include "store/folder/schedule.h"
#include "store/folder/write_back.h"

struct draft draft_make(const struct folder *folder, struct arena *arena,
                        const struct object_ref_key *key)
{
    return (struct draft){
        .arena = arena,
        .subject = {folder_type(folder, key->kind), key->namespace_, key->name},
    };
}

void draft_begin(struct folder *folder, struct draft *draft)
{
    draft->managed = (struct managed){
        .created_s = loop_unix_ms(folder->world.loop) / 1000,
        .generation = 1,
    };
    random_uuid(folder->world.random, draft->managed.uid);
    draft_step(folder, draft);
}

void draft_step(struct folder *folder, struct draft *draft)
{
    if (folder->is_leading && !state_reserve(&folder->state))
        degraded_set(folder, DEGRADED_STATE, &folder->state.fault);
    else
        degraded_clear(folder, DEGRADED_STATE);
    draft->managed.version = state_next(&folder->state);
}

void draft_key(struct buffer *out, const struct draft *draft)
{
    struct object_ref_key key = subject_key(&draft->subject);
    name_write_key(out, &key);
}

// ---- reading ------------------------------------------------------------------------------------

static struct value *read_body(struct arena *arena, struct text body)
{
    struct value *tree = NULL;
    bool has = false;
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(body, &managed_limits);
    if (!yaml_reader_next(reader, arena, &tree, &has, NULL) || !has)
        return NULL;
    return tree;
}

#define GOOD_LINE "\nlastGoodSpec:\n"

// The last good document stands last. Elsewhere (someone's editor sorted the keys) it is not cut
// off.
static struct text cut_good(struct text *body)
{
    const char *end = body->at + body->len;
    const char *found = memmem(body->at, body->len, GOOD_LINE, sizeof GOOD_LINE - 1);
    if (!found)
        return (struct text){0};
    for (const char *at = found + sizeof GOOD_LINE - 1; at < end; at++) {
        if (*at != ' ')
            return (struct text){0};
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return (struct text){0};
    }
    body->len = (size_t)(found + 1 - body->at);
    return (struct text){found + 1, (size_t)(end - found - 1)};
}

static void look_aside(struct folder *folder, struct draft *draft)
{
    if (draft->managed.last_good || draft->unread.len)
        return;
    draft->managed.last_good = secrets_read(&folder->state, draft->managed.uid, draft->arena);
    draft->is_aside = draft->managed.last_good != NULL;
}

bool draft_skim(struct folder *folder, struct draft *draft, const struct status_doc *doc)
{
    struct text body = doc->body;
    struct text unread = cut_good(&body);
    const struct value *tree = read_body(draft->arena, body);
    if (!managed_decode(&draft->managed, draft->subject.type, tree))
        return false;
    if (unread.len)
        draft->unread = (struct text){arena_copy(draft->arena, unread.at, unread.len), unread.len};
    look_aside(folder, draft);
    return true;
}

void draft_complete(struct draft *draft)
{
    if (!draft->unread.len)
        return;
    const struct value *tree = read_body(draft->arena, draft->unread);
    draft->managed.last_good = value_find(tree, "lastGoodSpec");
    draft->unread = (struct text){0};
}

bool draft_has_good(const struct draft *draft, const struct value *good)
{
    AUTO_BUFFER text = {0};
    struct value *map = value_make(draft->arena, VALUE_MAP);
    struct value *shared = arena_new_of(draft->arena, struct value);
    if (!draft->unread.len)
        return false;
    *shared = *good;
    value_set(map, TEXT("lastGoodSpec"), shared);
    value_write_yaml(&text, map, 0);
    return text_equal(buffer_text(&text), draft->unread);
}

static void read_object(struct draft *draft, const struct object *object)
{
    draft->unread = (struct text){0};
    draft->managed = (struct managed){
        .generation = object->generation,
        .created_s = object->created_s,
        .deleted_s = object->deleted_s,
        .has_finalizer = object->has_finalizer,
    };
    object_version_number(object, &draft->managed.version);
    object_write_uid(object, draft->managed.uid);
}

static void match_document(void *context, struct arena *arena, struct document *document)
{
    struct draft *draft = context;
    if (draft->managed.last_good || document->state != DOCUMENT_GOOD ||
        document->kind != draft->subject.type->kind ||
        !text_equal(document->name, draft->subject.name) ||
        !text_equal(document->namespace_, draft->subject.namespace_))
        return;
    draft->managed.last_good =
        value_copy(draft->arena, managed_last_good(arena, document->kind, document->tree));
    draft->is_aside = document->has_secret;
}

static void read_manifest(struct folder *folder, struct draft *draft, uint32_t file)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER text = {0};
    const char *manifest = folder->entries.files[file].path;
    folder_place(&path, folder, manifest);
    if (!disk_read(&text, path.at, MANIFEST_OCTETS_MAX, NULL))
        return;
    struct document_source source = {manifest,           buffer_text(&text), folder->kinds,
                                     folder->kind_count, folder->patterns,   false};
    documents_read(&source, match_document, draft, NULL);
    if (draft->is_aside)
        secret_wipe(text.at, text.len);
}

// Another process's documents (a leader's, read by its standby) may be of another object.
static bool is_of(const struct draft *draft, const struct object *object)
{
    uint8_t uid[16];
    object_uid_parse(text_of(draft->managed.uid), uid);
    return memcmp(uid, object->uid, sizeof uid) == 0;
}

static bool is_as_new(const struct status_doc *doc, const struct object *object)
{
    uint64_t version = 0;
    return doc && object_version_number(object, &version) && doc->version >= version;
}

// What stands in the status file is older where somebody put back an old one: what was written
// ahead is newer.
static bool find_doc(struct folder *folder, const struct draft *draft, const struct entry *entry,
                     const struct status_doc **doc, struct error *err)
{
    AUTO_BUFFER key = {0};
    struct status_file *status = folder_open_status(folder, entry->file, err);
    if (!status)
        return false;
    draft_key(&key, draft);
    *doc = status_file_find(status, buffer_text(&key));
    if (is_as_new(*doc, entry->object) || !folder->is_leading || folder->pass.is_load)
        return true;
    if (!folder_recover_status(folder, entry->file, status, err) ||
        !status_files_merge_key(&folder->status_files, status, buffer_text(&key), err))
        return false;
    *doc = status_file_find(status, buffer_text(&key));
    return true;
}

// Of the metadata, what is cached counts.
static void catch_up(struct draft *draft, const struct object *object)
{
    draft->is_stale = true;
    draft->managed.generation = object->generation;
    draft->managed.deleted_s = object->deleted_s;
    draft->managed.has_finalizer = object->has_finalizer;
    object_version_number(object, &draft->managed.version);
}

bool draft_load(struct folder *folder, struct draft *draft, uint32_t id, struct error *err)
{
    const struct entry *entry = &folder->entries.items[id];
    const struct status_doc *doc = NULL;
    if (!find_doc(folder, draft, entry, &doc, err))
        return false;
    if (!doc || !draft_skim(folder, draft, doc) || !is_of(draft, entry->object)) {
        read_object(draft, entry->object);
        look_aside(folder, draft);
        draft->is_stale = true;
    } else if (folder->is_leading && !is_as_new(doc, entry->object)) {
        catch_up(draft, entry->object);
    }
    draft_complete(draft);
    if (!draft->managed.last_good)
        read_manifest(folder, draft, entry->file);
    return true;
}

// ---- the next state -----------------------------------------------------------------------------

struct object *draft_object(const struct folder *folder, const struct draft *draft)
{
    const struct store_kind *type = draft->subject.type;
    return cache_make(folder->store.cache, type->kind, type->finalizer,
                      managed_tree(draft->arena, &draft->subject, &draft->managed));
}

void draft_write(struct buffer *out, const struct draft *draft)
{
    managed_write(out, draft->arena, &draft->subject, &draft->managed, draft->is_aside);
}

void folder_write_ahead(struct folder *folder, uint32_t file, const struct object_ref_key *key,
                        uint64_t version, const char *body)
{
    AUTO_BUFFER name = {0};
    name_write_key(&name, key);
    state_put(&folder->state, &(struct state_row){
                                  .key = buffer_text(&name),
                                  .version = version,
                                  .path = text_of(folder->entries.files[file].path),
                                  .body = body ? text_of(body) : (struct text){0},
                              });
}

// Who only reads keeps it in memory: there the latest state of an object is found again.
static bool keeps_documents(const struct folder *folder)
{
    return folder->is_leading || folder->is_reading;
}

bool folder_keep(struct folder *folder, uint32_t file, struct text key, uint64_t version,
                 struct text body, struct error *err)
{
    if (!keeps_documents(folder))
        return true;
    struct status_file *status = folder_open_status(folder, file, err);
    if (!status)
        return false;
    status_file_set(status, key, version, body);
    write_back_mark(folder, file);
    return true;
}

bool draft_keep(struct folder *folder, const struct draft *draft, uint32_t file, struct error *err)
{
    AUTO_BUFFER key = {0};
    AUTO_BUFFER body = {0};
    if (!keeps_documents(folder))
        return true;
    draft_key(&key, draft);
    draft_write(&body, draft);
    return folder_keep(folder, file, buffer_text(&key), draft->managed.version, buffer_text(&body),
                       err);
}

void folder_drop(struct folder *folder, uint32_t file, struct text key)
{
    struct error err = {0};
    if (!keeps_documents(folder))
        return;
    struct status_file *status = folder_open_status(folder, file, &err);
    if (!status) {
        degraded_set(folder, DEGRADED_STATUS, &err);
        write_back_wake(folder);
        return;
    }
    status_file_drop(status, key);
    write_back_mark(folder, file);
}

// ---- filing -------------------------------------------------------------------------------------

void folder_report_event(struct folder *folder, enum store_event_type type,
                         const struct object *object, const struct object *old)
{
    struct store_event event = {
        .type = type,
        .object = object,
        .old = old,
        .is_initial = !folder->was_synced,
    };
    folder->pass.has_reported = true;
    folder->sink.event(folder->sink.context, &event);
}

void folder_end_batch(struct folder *folder)
{
    if (!folder->pass.has_reported)
        return;
    folder->pass.has_reported = false;
    folder->sink.batch_end(folder->sink.context);
}

static bool is_same(const struct object *a, const struct object *b)
{
    return text_equal(object_version(a), object_version(b)) &&
           memcmp(a->uid, b->uid, sizeof a->uid) == 0;
}

uint32_t folder_put_object(struct folder *folder, struct object *object, uint32_t file,
                           struct content_id body, bool is_reported)
{
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    struct entries *entries = &folder->entries;
    uint32_t id = entries_find(entries, &key);
    // A dry run changes the cache alone (store/dry.h), so what is there need not be one of ours.
    const struct object *old = cache_put(folder->store.cache, object);
    if (id == ENTRY_NONE)
        id = entries_add(entries, object, file);
    entries_set_object(entries, id, object);
    if (entries->items[id].file != file)
        entries_move(entries, id, file);
    entries->items[id].body = body;
    if (is_reported && (!old || !is_same(old, object)))
        folder_report_event(folder, old ? STORE_MODIFIED : STORE_ADDED, object, old);
    object_unref(old);
    return id;
}

static void forget_generated(struct folder *folder, const char *uid)
{
    generated_forget(&folder->generated, uid);
    generated_forget(&folder->owned_objects, uid);
}

void folder_remove_object(struct folder *folder, uint32_t id)
{
    AUTO_BUFFER key_text = {0};
    char uid[37];
    struct entry *entry = &folder->entries.items[id];
    const struct object *object = entry->object;
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    uint32_t file = entry->file;
    bool is_redefined = entry->flags & ENTRY_IS_REDEFINED;
    bool had_secret = object->kind->is_secret || object->kind->has_secret;
    object_write_uid(object, uid);
    name_write_key(&key_text, &key);
    entries_remove(&folder->entries, id);
    const struct object *last = cache_take(folder->store.cache, key.kind, key.namespace_, key.name);
    folder_drop(folder, file, buffer_text(&key_text));
    if (had_secret && folder->is_leading)
        secrets_remove(&folder->state, uid);
    if (folder->is_leading)
        forget_generated(folder, uid);
    if (is_redefined)
        schedule_again(folder, file, 0);
    if (last) // a dry run has not taken it
        folder_report_event(folder, STORE_DELETED, last, last);
    object_unref(last);
}
