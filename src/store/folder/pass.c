#include "store/folder/pass.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/secret.h"
#include "store/folder/behind.h"
#include "store/folder/draft.h"
#include "store/folder/load.h"
#include "store/folder/settle.h"
#include "store/folder/trouble.h"

enum { PASS_NUMBER_MAX = (1 << 24) - 1 };

void pass_begin(struct folder *folder, bool is_load)
{
    struct pass *pass = &folder->pass;
    for (; pass->next < pass->queue.count; pass->next++)
        folder->entries.files[pass->queue.items[pass->next]].flags &= ~(uint32_t)FILE_IS_QUEUED;
    pass->number = pass->number == PASS_NUMBER_MAX ? 1 : pass->number + 1;
    pass->is_load = is_load;
    pass->queue.count = pass->next = 0;
}

void pass_queue(struct folder *folder, uint32_t file)
{
    struct file *queued = &folder->entries.files[file];
    if (queued->flags & FILE_IS_QUEUED)
        return;
    queued->flags |= FILE_IS_QUEUED;
    id_list_add(&folder->pass.queue, file);
}

void pass_queue_doubtful(struct folder *folder)
{
    struct entries *entries = &folder->entries;
    bool has_changes = folder->pass.queue.count > 0;
    for (uint32_t id = 0; id < entries->file_count; id++) {
        uint32_t flags = entries->files[id].flags;
        if (!entries->files[id].path ||
            (!(flags & FILE_IS_UNSETTLED) && !(has_changes && (flags & FILE_HAS_DUPLICATES))))
            continue;
        entries->files[id].flags |= FILE_IS_UNSETTLED;
        pass_queue(folder, id);
    }
}

void pass_mark(struct folder *folder, uint32_t id)
{
    struct entry *entry = &folder->entries.items[id];
    entry->pass = folder->pass.number & PASS_NUMBER_MAX;
    entry->flags &= ~(unsigned)ENTRY_IS_MISSING & 0xff;
}

void pass_miss(struct folder *folder, uint32_t id)
{
    struct entry *entry = &folder->entries.items[id];
    entry->flags &= ~(unsigned)ENTRY_IS_REBORN & 0xff;
    if (entry->object->deleted_s || (entry->flags & ENTRY_IS_MISSING))
        return;
    entry->flags |= ENTRY_IS_MISSING;
    id_list_add(&folder->missing, id);
}

// ---- documents without an object ----------------------------------------------------------------

static void broken_key(struct buffer *out, uint32_t number)
{
    buffer_printf(out, "broken %" PRIu32, number);
}

static void write_broken(struct buffer *out, struct arena *arena, const struct document *document,
                         const char *fault)
{
    struct value *kept = value_make(arena, VALUE_MAP);
    if (document && document->has_identity) {
        AUTO_BUFFER version = {0};
        struct value *metadata = value_make(arena, VALUE_MAP);
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

static void take_broken(struct folder *folder, struct arena *arena, const struct document *document,
                        const char *fault)
{
    AUTO_BUFFER key = {0};
    AUTO_BUFFER body = {0};
    struct error err = {0};
    uint32_t file = folder->pass.file;
    faults_add(folder, file, fault, NULL);
    broken_key(&key, ++folder->pass.broken);
    write_broken(&body, arena, document, fault);
    if (!folder_keep(folder, file, buffer_text(&key), 0, buffer_text(&body), &err))
        trouble_set(folder, TROUBLE_STATUS, &err);
    folder->entries.files[file].flags |= FILE_HAS_BROKEN;
}

// Those of the last reading that are no more.
static void drop_broken(struct folder *folder, uint32_t file)
{
    struct error err = {0};
    bool has_any = folder->pass.broken > 0;
    if (!(folder->entries.files[file].flags & FILE_HAS_BROKEN) && !folder->pass.is_load)
        return;
    for (uint32_t number = folder->pass.broken + 1; folder->is_leading; number++) {
        AUTO_BUFFER key = {0};
        const struct status_file *status = folder_open_status(folder, file, &err);
        broken_key(&key, number);
        if (!status || !status_file_find(status, buffer_text(&key)))
            break;
        folder_drop(folder, file, buffer_text(&key));
    }
    if (!has_any)
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

// The first path in byte order holds an identity.
static bool is_duplicate(struct folder *folder, uint32_t id)
{
    const struct entry *entry = &folder->entries.items[id];
    uint32_t file = folder->pass.file;
    if (entry->pass == folder->pass.number)
        return true;
    bool stands_there = !(entry->flags & ENTRY_IS_MISSING) &&
                        (!entry->object->deleted_s || (entry->flags & ENTRY_IS_REBORN));
    if (entry->file == file || !stands_there)
        return false;
    if (strcmp(path_of(folder, entry->file), path_of(folder, file)) < 0)
        return true;
    folder->entries.files[entry->file].flags |= FILE_IS_UNSETTLED;
    pass_queue(folder, entry->file);
    return false;
}

static void take_duplicate(struct folder *folder, struct arena *arena,
                           const struct document *document, uint32_t id)
{
    AUTO_BUFFER name = {0};
    const struct entry *entry = &folder->entries.items[id];
    object_write_name(&name, entry->object);
    const char *fault = arena_printf(
        arena, "%s:%u:%u: Duplicate: %s %s stands in %s already; remove one of the two",
        path_of(folder, folder->pass.file), document->line, document->column, document->kind->name,
        name.at, path_of(folder, entry->file));
    folder->entries.files[folder->pass.file].flags |= FILE_HAS_DUPLICATES;
    take_broken(folder, arena, document, fault);
}

// The document stands elsewhere now.
static void note_move(struct folder *folder, const struct draft *draft, uint32_t from)
{
    AUTO_BUFFER key = {0};
    if (!folder->is_leading)
        return;
    draft_key(&key, draft);
    behind_move(folder, from, folder->pass.file, buffer_text(&key), draft->ours.version);
}

static void file_draft(struct folder *folder, struct draft *draft, uint32_t from, bool is_changed)
{
    struct error err = {0};
    uint32_t file = folder->pass.file;
    if ((is_changed || from != file) && !draft_keep(folder, draft, file, &err))
        trouble_set(folder, TROUBLE_STATUS, &err);
    if (from != file && from != FILE_NONE)
        note_move(folder, draft, from);
    uint64_t hash = ours_body_hash(draft->arena, draft->ours.last_good);
    uint32_t id = folder_file(folder, draft_object(draft), file, hash, true);
    struct entry *entry = &folder->entries.items[id];
    entry->flags &= ~(unsigned)ENTRY_HAS_FAULT & 0xff;
    if (draft->ours.fault.len)
        entry->flags |= ENTRY_HAS_FAULT;
    if (draft->ours.deleted_s)
        entry->flags |= ENTRY_IS_REBORN;
    pass_mark(folder, id);
}

// A refused document of an object that is known: its last good state stays.
static void take_refused(struct folder *folder, struct draft *draft, uint32_t from,
                         const char *fault)
{
    bool is_new = !text_is(draft->ours.fault, fault);
    draft->ours.fault = text_of(fault);
    file_draft(folder, draft, from, is_new);
    struct object_ref_key key = subject_key(&draft->subject);
    faults_add(folder, folder->pass.file, fault,
               cache_find(folder->store.cache, key.kind, key.namespace_, key.name));
}

static const char *find_immutable(const struct folder *folder, struct draft *draft,
                                  const struct document *document)
{
    AUTO_BUFFER text = {0};
    struct findings findings = {.arena = draft->arena};
    kind_check_update(document->kind, ours_tree(draft->arena, &draft->subject, &draft->ours),
                      document->tree, &findings);
    for (size_t i = 0; i < findings.count; i++)
        buffer_printf(&text, "%s%s:%u:%u: %s", text.len ? "; " : "",
                      path_of(folder, folder->pass.file), findings.items[i].line,
                      findings.items[i].column, findings.items[i].text);
    return text.len ? arena_copy(draft->arena, text.at, text.len) : NULL;
}

// What is known of the object, and beside which file that lies. FILE_NONE: it is new.
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

// The file has to be read again: something of it could not be kept.
static void put_off(struct folder *folder, uint32_t id, enum trouble which, const struct error *err)
{
    trouble_set(folder, which, err);
    if (id != ENTRY_NONE)
        pass_mark(folder, id);
    folder->pass.keeps = true;
    settle_again(folder, folder->pass.file, RETRY_MS);
}

static bool keep_secret(struct folder *folder, struct draft *draft, bool has_secret,
                        struct error *err)
{
    bool was_aside = draft->is_aside;
    draft->is_aside = has_secret;
    if (!folder->is_leading || (!has_secret && !was_aside))
        return true;
    if (has_secret)
        return secrets_write(&folder->secrets, draft->ours.uid, draft->ours.last_good, err);
    secrets_remove(&folder->secrets, draft->ours.uid);
    return true;
}

// In deletion the spec stays as it was; labels and annotations still say how to go about it.
static const struct value *reborn_good(struct draft *draft, const struct value *given)
{
    struct value *kept = ours_last_good(draft->arena, draft->ours.last_good);
    value_remove(kept, "metadata");
    const struct value *metadata = value_find(given, "metadata");
    if (metadata)
        value_set(kept, TEXT("metadata"), value_copy(draft->arena, metadata));
    return kept;
}

static bool has_new_body(struct draft *draft, const struct value *good)
{
    return !draft->ours.last_good || ours_body_hash(draft->arena, good) !=
                                         ours_body_hash(draft->arena, draft->ours.last_good);
}

static void take_change(struct folder *folder, struct draft *draft, struct document *document,
                        uint32_t id, uint32_t from)
{
    struct error err = {0};
    const struct value *good = ours_last_good(draft->arena, document->tree);
    bool is_settled = !draft->ours.deleted_s && draft_has_good(draft, good);
    if (is_settled)
        draft->unread = (struct text){0};
    draft_complete(draft);
    if (draft->ours.deleted_s)
        good = reborn_good(draft, good);
    bool is_new_body = !is_settled && has_new_body(draft, good);
    bool is_new = is_new_body || (!is_settled && !ours_same_metadata(good, draft->ours.last_good));
    bool has_secret = draft->ours.deleted_s ? draft->is_aside : document->has_secret;
    const char *fault =
        is_new_body && draft->ours.last_good ? find_immutable(folder, draft, document) : NULL;
    if (fault) {
        take_refused(folder, draft, from, fault);
        return;
    }
    bool was_refused = draft->ours.fault.len > 0;
    draft->ours.fault = (struct text){0};
    draft->ours.last_good = good;
    draft->ours.generation += is_new_body;
    if (is_new && !keep_secret(folder, draft, has_secret, &err)) {
        put_off(folder, id, TROUBLE_SECRETS, &err);
        return;
    }
    trouble_clear(folder, TROUBLE_SECRETS);
    if (is_new)
        draft_step(folder, draft);
    file_draft(folder, draft, from, is_new || was_refused);
}

static void take_new(struct folder *folder, struct draft *draft, struct document *document)
{
    struct error err = {0};
    draft_begin(folder, draft);
    draft->ours.last_good = ours_last_good(draft->arena, document->tree);
    if (folder->entries.live >= DOCUMENTS_MAX) {
        take_broken(folder, draft->arena, document, "too many documents; at most 1000000");
        return;
    }
    if (keep_secret(folder, draft, document->has_secret, &err)) {
        trouble_clear(folder, TROUBLE_SECRETS);
        file_draft(folder, draft, FILE_NONE, true);
    } else {
        put_off(folder, ENTRY_NONE, TROUBLE_SECRETS, &err);
    }
}

static uint64_t spec_hash(const struct document *document)
{
    struct pack_writer writer;
    pack_init(&writer);
    document->kind->pack_spec(document->tree, &writer);
    uint64_t hash = hash_octets(buffer_text(&writer.out).at, writer.out.len);
    if (document->has_secret && writer.out.at)
        secret_wipe(writer.out.at, writer.out.len);
    pack_done(&writer);
    return hash;
}

// The usual case: a file changed, and this document of it did not.
static bool is_unchanged(const struct folder *folder, struct arena *arena,
                         const struct document *document, const struct entry *entry)
{
    return !folder->pass.is_load && entry->file == folder->pass.file && !entry->flags &&
           !entry->object->deleted_s && entry->object->spec_hash == spec_hash(document) &&
           entry->body_hash == ours_body_hash(arena, document->tree);
}

// Refused, and no good state of it is known.
static void take_hopeless(struct folder *folder, struct arena *arena,
                          const struct document *document, uint32_t id)
{
    if (id != ENTRY_NONE)
        pass_mark(folder, id);
    take_broken(folder, arena, document, document->fault);
}

static void take_known(struct folder *folder, struct arena *arena, struct document *document,
                       uint32_t id)
{
    uint32_t from;
    struct error err = {0};
    struct object_ref_key key = key_of(document);
    struct draft draft = draft_make(folder, arena, &key);
    if (!find_draft(folder, &draft, id, &from, &err)) {
        put_off(folder, id, TROUBLE_STATUS, &err);
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
    if (from != FILE_NONE && draft.ours.last_good)
        take_refused(folder, &draft, from, document->fault);
    else
        take_hopeless(folder, arena, document, id);
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

static void take_document(void *context, struct arena *arena, struct document *document)
{
    struct folder *folder = context;
    folder->pass.documents++;
    if (document->state == DOCUMENT_UNKNOWN) {
        trouble_unknown_kind(folder, document, path_of(folder, folder->pass.file));
        return;
    }
    if (!document->has_identity) {
        folder->pass.keeps = true;
        take_broken(folder, arena, document, document->fault);
        return;
    }
    warn_of_mode(folder, document);
    struct object_ref_key key = key_of(document);
    uint32_t id = entries_find(&folder->entries, &key);
    if (id != ENTRY_NONE && is_duplicate(folder, id))
        take_duplicate(folder, arena, document, id);
    else if (id != ENTRY_NONE && document->state == DOCUMENT_GOOD &&
             is_unchanged(folder, arena, document, &folder->entries.items[id]))
        pass_mark(folder, id);
    else
        take_known(folder, arena, document, id);
}

// ---- one file -----------------------------------------------------------------------------------

static void finish_entries(struct folder *folder, uint32_t file, bool is_kept)
{
    const struct entries *entries = &folder->entries;
    for (uint32_t id = entries->files[file].first; id != ENTRY_NONE; id = entries->items[id].next) {
        if (entries->items[id].pass == folder->pass.number)
            continue;
        if (is_kept)
            pass_mark(folder, id);
        else
            pass_miss(folder, id);
    }
}

static void begin_file(struct folder *folder, uint32_t file)
{
    folder->pass.file = file;
    folder->pass.documents = 0;
    folder->pass.broken = 0;
    folder->pass.keeps = false;
    folder->entries.files[file].flags &=
        ~(uint32_t)(FILE_IS_UNSETTLED | FILE_HAS_DUPLICATES | FILE_IS_KEPT);
    faults_begin(folder, file);
}

static void end_file(struct folder *folder, uint32_t file)
{
    if (folder->pass.keeps)
        folder->entries.files[file].flags |= FILE_IS_KEPT;
    drop_broken(folder, file);
    finish_entries(folder, file, folder->pass.keeps);
    files_set_documents(&folder->entries, file, folder->pass.documents);
    faults_end(folder, file);
}

// Not readable as a whole: what was good in it stays. The number of documents too.
static void refuse_file(struct folder *folder, uint32_t file, const char *text)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    uint32_t known = folder->entries.files[file].documents;
    folder->pass.keeps = true;
    if (folder->pass.documents < known || !folder->pass.documents)
        folder->pass.documents = known ? known : 1;
    take_broken(folder, arena, NULL, text);
}

static void parse_file(struct folder *folder, uint32_t file, struct text text)
{
    struct error err = {0};
    struct document_source source = {path_of(folder, file), text, folder->kinds, folder->kind_count,
                                     folder->patterns};
    begin_file(folder, file);
    if (!documents_read(&source, take_document, folder, &err))
        refuse_file(folder, file, err.text);
    end_file(folder, file);
}

static void take_absent(struct folder *folder, uint32_t file)
{
    struct file *gone = &folder->entries.files[file];
    gone->flags &= ~(uint32_t)(FILE_IS_PRESENT | FILE_WAS_WARNED);
    gone->hash = 0;
    gone->empty_since_s = 0;
    begin_file(folder, file);
    end_file(folder, file);
}

static void take_unreadable(struct folder *folder, uint32_t file, const struct error *err)
{
    begin_file(folder, file);
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: %s", path_of(folder, file), err->text);
    refuse_file(folder, file, text.at);
    end_file(folder, file);
    folder->entries.files[file].flags |= FILE_IS_UNSETTLED;
}

// A file without content is taken for one that is being written, for a while.
static bool is_half_written(struct folder *folder, uint32_t file)
{
    struct file *empty = &folder->entries.files[file];
    int64_t now_ms = folder_now_ms(folder);
    if (empty->size > 0) {
        empty->empty_since_s = 0;
        return false;
    }
    if (!empty->empty_since_s)
        empty->empty_since_s = (uint32_t)(now_ms / 1000) + 1;
    int64_t left_ms = (int64_t)empty->empty_since_s * 1000 + HALF_WRITTEN_MS - now_ms;
    if (left_ms <= 0)
        return false;
    settle_again(folder, file, left_ms);
    return true;
}

// Its entries stay for now, as does what lies dormant.
static void wait_for_file(struct folder *folder, uint32_t file)
{
    begin_file(folder, file);
    folder->pass.keeps = true;
    folder->pass.documents = folder->entries.files[file].documents;
    if (!folder->pass.documents)
        folder->pass.documents = folder->entries.files[file].first != ENTRY_NONE;
    finish_entries(folder, file, true);
    folder->entries.files[file].flags |= FILE_IS_KEPT | FILE_IS_UNSETTLED;
    files_set_documents(&folder->entries, file, folder->pass.documents);
}

static bool lies_inside(const struct folder *folder, const char *full, struct error *err)
{
    size_t len = strlen(folder->dir);
    autofree char *real = disk_real_path(full, err);
    if (!real)
        return false;
    if (strncmp(real, folder->dir, len) == 0 && (real[len] == '/' || folder->dir[len - 1] == '/'))
        return true;
    error_set(err, FAULT_SPEC, "OutsideLink",
              "is a link out of the folder, which is not followed; copy the file");
    return false;
}

static void remember_stat(struct file *file, const struct disk_stat *found)
{
    file->inode = found->inode;
    file->mtime_ns = found->mtime_ns;
    file->size = (uint32_t)(found->size > UINT32_MAX ? UINT32_MAX : found->size);
    file->mode = found->mode;
}

static bool is_same_stat(const struct disk_stat *a, const struct disk_stat *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

// Reads what stands there; *is_moving when it was being written meanwhile.
static bool read_file(const struct folder *folder, uint32_t file, struct buffer *text,
                      struct disk_stat *found, bool *is_moving, struct error *err)
{
    AUTO_BUFFER full = {0};
    struct disk_stat after;
    buffer_printf(&full, "%s/%s", folder->dir, path_of(folder, file));
    *is_moving = false;
    if (!disk_stat(full.at, found, err) || !lies_inside(folder, full.at, err))
        return false;
    if (!disk_read(text, full.at, MANIFEST_OCTETS_MAX, err) || !disk_stat(full.at, &after, err))
        return false;
    *is_moving = !is_same_stat(found, &after);
    return true;
}

static void take_text(struct folder *folder, uint32_t file, struct text text, bool is_forced)
{
    struct file *read = &folder->entries.files[file];
    uint64_t hash = hash_octets(text.at, text.len);
    if (!is_forced && read->hash == hash && text.len)
        return;
    read->hash = hash;
    if (is_half_written(folder, file))
        wait_for_file(folder, file);
    else
        parse_file(folder, file, text);
}

static bool holds_secrets(const struct folder *folder)
{
    for (size_t i = 0; i < folder->kind_count; i++)
        if (folder->kinds[i]->is_secret || folder->kinds[i]->has_secret)
            return true;
    return false;
}

static void take_file(struct folder *folder, uint32_t file)
{
    AUTO_BUFFER text = {0};
    struct disk_stat found;
    struct error err = {0};
    bool is_moving;
    uint32_t flags = folder->entries.files[file].flags;
    bool is_forced = folder->pass.is_load || (flags & (FILE_IS_UNSETTLED | FILE_IS_KEPT));
    folder->entries.files[file].flags &= ~(uint32_t)FILE_IS_QUEUED;
    if (!(flags & FILE_IS_PRESENT)) {
        take_absent(folder, file);
        return;
    }
    if (!read_file(folder, file, &text, &found, &is_moving, &err)) {
        if (err.status == ENOENT || err.status == ENOTDIR)
            take_absent(folder, file);
        else
            take_unreadable(folder, file, &err);
        return;
    }
    if (is_moving) {
        wait_for_file(folder, file);
        settle_again(folder, file, SETTLE_MS);
        return;
    }
    remember_stat(&folder->entries.files[file], &found);
    take_text(folder, file, buffer_text(&text), is_forced);
    if (holds_secrets(folder) && text.at)
        secret_wipe(text.at, text.len);
}

// ---- all of them --------------------------------------------------------------------------------

static int compare_paths(const void *a, const void *b, void *context)
{
    const struct folder *folder = context;
    return strcmp(path_of(folder, *(const uint32_t *)a), path_of(folder, *(const uint32_t *)b));
}

// Files may join while others are read; those behind the current one are put in their place.
void pass_sort(struct folder *folder)
{
    struct pass *pass = &folder->pass;
    if (pass->queue.count > pass->next)
        qsort_r(pass->queue.items + pass->next, pass->queue.count - pass->next,
                sizeof *pass->queue.items, compare_paths, folder);
}

enum step pass_read(struct folder *folder, int64_t until_ms)
{
    struct pass *pass = &folder->pass;
    size_t sorted = 0;
    while (pass->next < pass->queue.count) {
        if (sorted != pass->queue.count)
            pass_sort(folder);
        sorted = pass->queue.count;
        take_file(folder, pass->queue.items[pass->next++]);
        if (folder_now_ms(folder) >= until_ms)
            break;
    }
    status_book_tidy(&folder->book, folder_now_ms(folder));
    return pass->next < pass->queue.count ? STEP_AGAIN : STEP_DONE;
}
