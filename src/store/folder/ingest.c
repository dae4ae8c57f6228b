#include "store/folder/ingest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/secret.h"
#include "store/folder/degraded.h"
#include "store/folder/draft.h"
#include "store/folder/load.h"
#include "store/folder/name.h"
#include "store/folder/pass.h"
#include "store/folder/write_back.h"

// ---- documents without an object ----------------------------------------------------------------

static void broken_key(struct buffer *out, uint32_t number)
{
    buffer_printf(out, NAME_BROKEN "%" PRIu32, number);
}

static void write_broken(struct buffer *out, struct arena *arena, const struct document *document,
                         const char *fault)
{
    struct value *kept = value_make(arena, VALUE_MAP);
    if (document && document->has_identity) {
        AUTO_BUFFER version = {0};
        struct value *metadata = value_make(arena, VALUE_MAP);
        must(document->kind);
        kind_api_version(&version, document->kind);
        value_set(kept, TEXT("apiVersion"),
                  value_make_text(arena, text_of(arena_copy(arena, version.at, version.len))));
        value_set(kept, TEXT("kind"), value_make_text(arena, text_of(document->kind->name)));
        value_set(kept, TEXT("metadata"), metadata);
        value_set(metadata, TEXT("name"), value_make_text(arena, document->name));
        if (document->namespace_.len)
            value_set(metadata, TEXT("namespace"), value_make_text(arena, document->namespace_));
    }
    value_set(kept, TEXT("error"), value_make_text(arena, text_of(fault)));
    value_write_yaml(out, kept, 0);
}

static void keep_broken(struct folder *folder, struct text key, struct text body)
{
    struct error err = {0};
    uint32_t file = folder->pass.file;
    if (!folder_keep(folder, file, key, 0, body, &err))
        pass_read_again(folder, file, &err);
    folder->entries.files[file].flags |= FILE_HAS_BROKEN;
}

void ingest_broken(struct folder *folder, struct arena *arena, const struct document *document,
                   const char *fault)
{
    AUTO_BUFFER key = {0};
    AUTO_BUFFER body = {0};
    uint32_t file = folder->pass.file;
    faults_add(folder, file, fault, NULL);
    if (++folder->pass.broken > FAULTS_LISTED)
        return;
    broken_key(&key, folder->pass.broken);
    write_broken(&body, arena, document, fault);
    keep_broken(folder, buffer_text(&key), buffer_text(&body));
}

// One status document for all refused documents that have none of their own.
static void keep_unlisted(struct folder *folder)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER key = {0};
    AUTO_BUFFER body = {0};
    if (folder->pass.broken <= FAULTS_LISTED)
        return;
    write_broken(&body, arena, NULL,
                 arena_printf(arena, "%s: %" PRIu32 " more documents are refused",
                              folder->entries.files[folder->pass.file].path,
                              folder->pass.broken - FAULTS_LISTED));
    folder->pass.broken = FAULTS_LISTED + 1;
    broken_key(&key, folder->pass.broken);
    keep_broken(folder, buffer_text(&key), buffer_text(&body));
}

static bool drop_broken(struct folder *folder, uint32_t file, uint32_t number, struct error *err)
{
    for (;; number++) {
        AUTO_BUFFER key = {0};
        const struct status_file *status = folder_open_status(folder, file, err);
        if (!status)
            return false;
        broken_key(&key, number);
        if (!status_file_find(status, buffer_text(&key)))
            return true;
        folder_drop(folder, file, buffer_text(&key));
    }
}

void ingest_end(struct folder *folder, uint32_t file)
{
    struct error err = {0};
    bool has_any = folder->pass.broken > 0;
    keep_unlisted(folder);
    if (!(folder->entries.files[file].flags & FILE_HAS_BROKEN) && !folder->pass.is_load)
        return;
    if (folder->is_leading && !drop_broken(folder, file, folder->pass.broken + 1, &err))
        pass_read_again(folder, file, &err);
    else if (!has_any)
        folder->entries.files[file].flags &= ~(uint32_t)FILE_HAS_BROKEN;
}

// ---- one document -------------------------------------------------------------------------------

static struct object_ref_key key_of(const struct document *document)
{
    return (struct object_ref_key){document->kind, document->namespace_, document->name};
}

static const char *path_of(const struct folder *folder, uint32_t file)
{
    return folder->entries.files[file].path;
}

// Does a document of another file define the object, as far as is known?
static bool is_defined_elsewhere(const struct folder *folder, const struct entry *entry)
{
    return entry->file != folder->pass.file && !(entry->flags & ENTRY_IS_MISSING) &&
           (!entry->object->deleted_s || (entry->flags & ENTRY_IS_REDEFINED));
}

// The first path in byte order holds an identity.
static bool is_duplicate(const struct folder *folder, uint32_t id)
{
    const struct entry *entry = &folder->entries.items[id];
    if (entry->pass == folder->pass.number && !(entry->flags & ENTRY_IS_PUT_OFF))
        return true;
    return is_defined_elsewhere(folder, entry) &&
           strcmp(path_of(folder, entry->file), path_of(folder, folder->pass.file)) < 0;
}

// A later path that held the identity until now is read again, and becomes the duplicate.
static void displace_other(struct folder *folder, uint32_t id)
{
    const struct entry *entry = &folder->entries.items[id];
    if (!is_defined_elsewhere(folder, entry))
        return;
    folder->entries.files[entry->file].flags |= FILE_IS_UNSETTLED;
    pass_queue(folder, entry->file);
}

static void take_duplicate(struct folder *folder, struct arena *arena,
                           const struct document *document, uint32_t id)
{
    const struct entry *entry = &folder->entries.items[id];
    const char *fault = document_duplicate(arena, document, path_of(folder, folder->pass.file),
                                           path_of(folder, entry->file));
    folder->entries.files[folder->pass.file].flags |= FILE_HAS_DUPLICATES;
    ingest_broken(folder, arena, document, fault);
}

// The document stands elsewhere now.
static void note_move(struct folder *folder, const struct draft *draft, uint32_t from)
{
    AUTO_BUFFER key = {0};
    if (!folder->is_leading)
        return;
    draft_key(&key, draft);
    write_back_move(folder, from, folder->pass.file, buffer_text(&key), draft->managed.version);
}

// The object of this document stays as it is, if there is one, until the file is read again.
static void put_off(struct folder *folder, const struct draft *draft, uint32_t id,
                    const struct error *err)
{
    pass_read_again(folder, folder->pass.file, err);
    folder->pass.keeps_missing = true;
    load_put_back(draft);
    if (id == ENTRY_NONE)
        return;
    // What it may have left has to be found gone again.
    struct entry *entry = &folder->entries.items[id];
    folder->entries.files[entry->file].flags |= FILE_IS_UNSETTLED;
    pass_mark(folder, id);
    if (entry->file != folder->pass.file)
        entry->flags |= ENTRY_IS_PUT_OFF;
}

static void accept_draft(struct folder *folder, struct draft *draft, uint32_t from, bool is_changed)
{
    struct error err = {0};
    uint32_t file = folder->pass.file;
    if ((is_changed || from != file) && !draft_keep(folder, draft, file, &err)) {
        struct object_ref_key key = subject_key(&draft->subject);
        put_off(folder, draft, entries_find(&folder->entries, &key), &err);
        return;
    }
    if (from != file && from != FILE_NONE)
        note_move(folder, draft, from);
    struct content_id body = managed_body_id(draft->arena, draft->managed.last_good);
    uint32_t id = folder_put_object(folder, draft_object(folder, draft), file, body, true);
    struct entry *entry = &folder->entries.items[id];
    entry->flags &= ~(unsigned)ENTRY_HAS_FAULT & 0xff;
    if (draft->managed.fault.len)
        entry->flags |= ENTRY_HAS_FAULT;
    if (draft->managed.deleted_s)
        entry->flags |= ENTRY_IS_REDEFINED;
    pass_mark(folder, id);
}

// A refused document of an object whose last good document is known: that one stays.
static void take_refused(struct folder *folder, struct draft *draft, uint32_t from,
                         const char *fault)
{
    bool is_new = !text_is(draft->managed.fault, fault) || draft->is_stale;
    draft->managed.fault = text_of(fault);
    accept_draft(folder, draft, from, is_new);
    struct object_ref_key key = subject_key(&draft->subject);
    faults_add(folder, folder->pass.file, fault,
               cache_find(folder->store.cache, key.kind, key.namespace_, key.name));
}

static const char *find_immutable_changes(const struct folder *folder, struct draft *draft,
                                          const struct document *document)
{
    AUTO_BUFFER text = {0};
    struct findings findings = {.arena = draft->arena};
    kind_check_update(document->kind, managed_tree(draft->arena, &draft->subject, &draft->managed),
                      document->tree, &findings);
    for (size_t i = 0; i < findings.count; i++)
        buffer_printf(&text, "%s%s:%u:%u: %s", text.len ? "; " : "",
                      path_of(folder, folder->pass.file), findings.items[i].line,
                      findings.items[i].column, findings.items[i].text);
    return text.len ? arena_copy(draft->arena, text.at, text.len) : NULL;
}

// What the store keeps of the object, and beside which manifest. FILE_NONE: it is new.
static bool find_draft(struct folder *folder, struct draft *draft, uint32_t id, uint32_t *from,
                       struct error *err)
{
    *from = FILE_NONE;
    if (folder->pass.is_load && load_take(folder, draft, from, err))
        return true;
    if (err->fault != FAULT_NONE)
        return false;
    if (id == ENTRY_NONE)
        return true;
    *from = folder->entries.items[id].file;
    return draft_load(folder, draft, id, err);
}

// Before a last good document with a secret counts, the database has it; one without leaves none.
// The status file is opened first: a secret without a status document would never be removed.
static bool update_secret(struct folder *folder, struct draft *draft, bool has_secret,
                          struct error *err)
{
    bool was_aside = draft->is_aside;
    draft->is_aside = has_secret;
    if (!folder->is_leading || (!has_secret && !was_aside))
        return true;
    if (!folder_open_status(folder, folder->pass.file, err))
        return false;
    if (has_secret)
        return secrets_write(&folder->state, draft->managed.uid, draft->managed.last_good, err);
    secrets_remove(&folder->state, draft->managed.uid);
    return true;
}

// In deletion the spec stays as it was; labels and annotations may still change what is done.
static const struct value *good_in_deletion(struct draft *draft, const struct value *given)
{
    struct value *kept =
        managed_last_good(draft->arena, draft->subject.type->kind, draft->managed.last_good);
    value_remove(kept, "metadata");
    const struct value *metadata = value_find(given, "metadata");
    if (metadata)
        value_set(kept, TEXT("metadata"), value_copy(draft->arena, metadata));
    return kept;
}

static bool has_same_spec(const struct object *object, const struct document *document)
{
    struct pack_writer writer;
    must(document->kind);
    pack_init(&writer);
    document->kind->pack_spec(document->tree, &writer);
    bool is_same = text_equal(object_spec(object), buffer_text(&writer.out));
    if (document->has_secret && writer.out.at)
        secret_wipe(writer.out.at, writer.out.len);
    pack_done(&writer);
    return is_same;
}

// What of an object differs from its document.
struct change {
    bool is_body; // outside metadata and status: a new generation
    bool is_any;
};

static struct change compare_last_good(const struct draft *draft, const struct value *good)
{
    const struct value *known = draft->managed.last_good;
    bool is_body = !known || !content_id_equal(managed_body_id(draft->arena, good),
                                               managed_body_id(draft->arena, known));
    return (struct change){is_body, is_body || !managed_same_beside(good, known)};
}

// Where what is kept is lost or outdated, the cached state says what the last good document was.
static struct change compare_cached(const struct draft *draft, const struct value *good,
                                    const struct document *document, const struct entry *entry)
{
    bool is_body = !content_id_equal(managed_body_id(draft->arena, good), entry->body);
    return (struct change){is_body, is_body || !has_same_spec(entry->object, document)};
}

// While loading nearly all documents equal their last good ones, which then need not be parsed.
static struct change find_change(const struct folder *folder, struct draft *draft,
                                 const struct value *good, const struct document *document,
                                 uint32_t id)
{
    if (!draft->managed.deleted_s && draft_has_good(draft, good)) {
        draft->unread = (struct text){0};
        return (struct change){false, false};
    }
    draft_complete(draft);
    if (draft->is_stale && id != ENTRY_NONE && !draft->managed.deleted_s)
        return compare_cached(draft, good, document, &folder->entries.items[id]);
    return compare_last_good(draft,
                             draft->managed.deleted_s ? good_in_deletion(draft, good) : good);
}

static void take_change(struct folder *folder, struct draft *draft, struct document *document,
                        uint32_t id, uint32_t from)
{
    struct error err = {0};
    const struct value *good = managed_last_good(draft->arena, document->kind, document->tree);
    struct change change = find_change(folder, draft, good, document, id);
    if (draft->managed.deleted_s)
        good = good_in_deletion(draft, good);
    bool has_secret = draft->managed.deleted_s ? draft->is_aside : document->has_secret;
    const char *fault = change.is_body && draft->managed.last_good
                            ? find_immutable_changes(folder, draft, document)
                            : NULL;
    if (fault) {
        take_refused(folder, draft, from, fault);
        return;
    }
    bool was_refused = draft->managed.fault.len > 0;
    bool is_new = change.is_any || draft->is_stale;
    draft->managed.fault = (struct text){0};
    draft->managed.last_good = good;
    draft->managed.generation += change.is_body;
    if (is_new && !update_secret(folder, draft, has_secret, &err)) {
        put_off(folder, draft, id, &err);
        return;
    }
    if (is_new)
        draft_step(folder, draft);
    accept_draft(folder, draft, from, is_new || was_refused);
}

static void take_new(struct folder *folder, struct draft *draft, struct document *document)
{
    struct error err = {0};
    draft_begin(folder, draft);
    draft->managed.last_good = managed_last_good(draft->arena, document->kind, document->tree);
    if (slots_taken(&folder->entries.slots) >= OBJECTS_MAX) {
        ingest_broken(folder, draft->arena, document, "too many documents; at most 1000000");
        return;
    }
    if (update_secret(folder, draft, document->has_secret, &err))
        accept_draft(folder, draft, FILE_NONE, true);
    else
        put_off(folder, draft, ENTRY_NONE, &err);
}

// The usual case: a file changed, and this document of it did not, as far as its kind is concerned:
// metadata that pack_spec does not take is kept with the next change.
static bool is_unchanged(const struct folder *folder, struct arena *arena,
                         const struct document *document, const struct entry *entry)
{
    bool has_lost_status = folder->entries.files[folder->pass.file].flags & FILE_HAS_LOST_STATUS;
    return !folder->pass.is_load && !has_lost_status && entry->file == folder->pass.file &&
           !entry->flags && !entry->object->deleted_s && has_same_spec(entry->object, document) &&
           content_id_equal(entry->body, managed_body_id(arena, document->tree));
}

// Refused, and no last good document of it is known. Its object, if there is one, stays.
static void take_without_good(struct folder *folder, struct arena *arena,
                              const struct document *document, uint32_t id)
{
    if (id != ENTRY_NONE)
        pass_mark(folder, id);
    ingest_broken(folder, arena, document, document->fault);
}

static void take_identified(struct folder *folder, struct arena *arena, struct document *document,
                            uint32_t id)
{
    uint32_t from;
    struct error err = {0};
    struct object_ref_key key = key_of(document);
    struct draft draft = draft_make(folder, arena, &key);
    if (!find_draft(folder, &draft, id, &from, &err)) {
        put_off(folder, &draft, id, &err);
        return;
    }
    if (document->state == DOCUMENT_GOOD) {
        if (from == FILE_NONE)
            take_new(folder, &draft, document);
        else
            take_change(folder, &draft, document, id, from);
        return;
    }
    draft_complete(&draft);
    if (from != FILE_NONE && draft.managed.last_good)
        take_refused(folder, &draft, from, document->fault);
    else
        take_without_good(folder, arena, document, id);
}

static void warn_of_mode(struct folder *folder, const struct document *document)
{
    struct file *file = &folder->entries.files[folder->pass.file];
    if (!document->has_secret || !(file->mode & 077) || (file->flags & FILE_WAS_WARNED))
        return;
    file->flags |= FILE_WAS_WARNED;
    log_line(folder->log, LOG_WARN, "a file with secrets can be read by others; chmod 0600 it",
             LOG_TEXT("file", file->path), LOG_END);
}

void ingest_document(void *context, struct arena *arena, struct document *document)
{
    struct folder *folder = context;
    folder->pass.documents++;
    if (document->state == DOCUMENT_UNKNOWN) {
        degraded_log_unknown_kind(folder, document, path_of(folder, folder->pass.file));
        return;
    }
    if (document->kind && document->tree &&
        !store_selects(folder_type(folder, document->kind), document->tree))
        return;
    if (!document->has_identity) {
        folder->pass.keeps_missing = true;
        ingest_broken(folder, arena, document, document->fault);
        return;
    }
    warn_of_mode(folder, document);
    struct object_ref_key key = key_of(document);
    uint32_t id = entries_find(&folder->entries, &key);
    if (id != ENTRY_NONE && is_duplicate(folder, id)) {
        take_duplicate(folder, arena, document, id);
        return;
    }
    if (id != ENTRY_NONE)
        displace_other(folder, id);
    if (id != ENTRY_NONE && document->state == DOCUMENT_GOOD &&
        is_unchanged(folder, arena, document, &folder->entries.items[id]))
        pass_mark(folder, id);
    else
        take_identified(folder, arena, document, id);
}
