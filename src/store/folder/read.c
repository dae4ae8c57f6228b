#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/load.h"
#include "store/folder/schedule.h"
#include "store/folder/write_back.h"

// folder_read: the store's own reading, on a loop whose time stands still.

static int64_t no_time(struct loop *loop)
{
    (void)loop;
    return 0;
}

static void no_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    (void)loop, (void)timer, (void)delay_ms;
}

static void no_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    (void)loop, (void)timer;
}

static const struct loop_ops still_ops = {
    .mono_ms = no_time,
    .unix_ms = no_time,
    .timer_set = no_timer_set,
    .timer_cancel = no_timer_cancel,
};

struct reading {
    struct folder *folder;
    struct arena *arena; // of the caller
    void (*entry)(void *context, const struct folder_entry *entry);
    void *context;
    struct table seen; // identities, by key
    const char **keys;
    const char **paths; // where each was seen first
    size_t count;
    size_t capacity;
    size_t path_capacity;
};

static bool key_matches(const void *context, uint32_t id, const void *key)
{
    const struct reading *reading = context;
    return text_is(*(const struct text *)key, reading->keys[id]);
}

static uint64_t hash_text(struct text text)
{
    return hash_octets(text.at, text.len);
}

static uint64_t key_hash(const void *context, uint32_t id)
{
    const struct reading *reading = context;
    return hash_text(text_of(reading->keys[id]));
}

static const struct table_ops seen_ops = {.matches = key_matches, .hash = key_hash};

// Where the identity was seen before; NULL: nowhere, and from now on here.
static const char *note_identity(struct reading *reading, struct text key, const char *path)
{
    uint32_t id = table_find(&reading->seen, hash_text(key), &key);
    if (id != TABLE_NONE)
        return reading->paths[id];
    mem_reserve(&reading->keys, &reading->capacity, reading->count + 1);
    mem_reserve(&reading->paths, &reading->path_capacity, reading->count + 1);
    reading->keys[reading->count] = arena_copy(reading->arena, key.at, key.len);
    reading->paths[reading->count] = path;
    table_add(&reading->seen, hash_text(key), (uint32_t)reading->count++);
    return NULL;
}

static const char *path_of(const struct reading *reading)
{
    const struct folder *folder = reading->folder;
    return folder->entries.files[folder->pass.file].path;
}

static void report_entry(const struct reading *reading, struct folder_entry entry)
{
    entry.path = arena_copy_text(reading->arena, entry.path);
    entry.tree = value_copy(reading->arena, entry.tree);
    if (entry.fault)
        entry.fault = arena_copy_text(reading->arena, entry.fault);
    reading->entry(reading->context, &entry);
}

// What a store that runs would count as a new generation.
static bool is_edited(struct draft *draft, const struct value *good)
{
    if (draft->managed.deleted_s || draft_has_good(draft, good))
        return false;
    draft_complete(draft);
    const struct value *known = draft->managed.last_good;
    return known && !content_id_equal(managed_body_id(draft->arena, good),
                                      managed_body_id(draft->arena, known));
}

static void report_known(struct reading *reading, struct arena *arena, struct document *document)
{
    AUTO_BUFFER key_text = {0};
    uint32_t from;
    struct error err = {0};
    struct folder *folder = reading->folder;
    struct object_ref_key key = {document->kind, document->namespace_, document->name};
    struct draft draft = draft_make(folder, arena, &key);
    struct folder_entry entry = {.kind = document->kind,
                                 .tree = document->tree,
                                 .path = path_of(reading),
                                 .line = document->tree->line,
                                 .fault = document->fault};
    draft_key(&key_text, &draft);
    const char *elsewhere = note_identity(reading, buffer_text(&key_text), path_of(reading));
    if (elsewhere) {
        entry.is_duplicate = true;
        entry.fault = document_duplicate(arena, document, path_of(reading), elsewhere);
    } else if (load_take(folder, &draft, &from, &err)) {
        bool is_refused = draft.managed.fault.len && !document->fault;
        entry.fault = is_refused
                          ? arena_copy(arena, draft.managed.fault.at, draft.managed.fault.len)
                          : document->fault;
        entry.has_good = draft.managed.last_good || draft.unread.len;
        const struct value *good = managed_last_good(arena, document->kind, document->tree);
        draft.managed.generation += !entry.fault && is_edited(&draft, good);
        draft.managed.last_good = good;
        entry.tree = managed_tree(arena, &draft.subject, &draft.managed);
    }
    report_entry(reading, entry);
}

static void list_document(void *context, struct arena *arena, struct document *document)
{
    struct reading *reading = context;
    if (document->has_identity)
        report_known(reading, arena, document);
    else
        report_entry(reading, (struct folder_entry){.kind = document->kind,
                                                    .tree = document->tree,
                                                    .path = path_of(reading),
                                                    .fault = document->fault});
}

static void take_orphan(void *context, struct draft *draft, uint32_t file)
{
    const struct reading *reading = context;
    const struct store_kind *type = draft->subject.type;
    report_entry(reading, (struct folder_entry){
                              .kind = type->kind,
                              .tree = managed_tree(draft->arena, &draft->subject, &draft->managed),
                              .path = reading->folder->entries.files[file].path,
                              .has_good = draft->managed.last_good || draft->unread.len,
                              .is_gone = true});
}

static bool read_text(const struct reading *reading, struct buffer *text, struct error *err)
{
    AUTO_BUFFER full = {0};
    const char *root = folder_place(&full, reading->folder, path_of(reading));
    return (scan_check_link(root, full.at, err) &&
            disk_read(text, full.at, MANIFEST_OCTETS_MAX, err)) ||
           error_prefix(err, "%s: ", path_of(reading));
}

static void read_file(struct reading *reading, uint32_t file)
{
    AUTO_BUFFER text = {0};
    struct error err = {0};
    struct folder *folder = reading->folder;
    folder->pass.file = file;
    struct document_source source = {path_of(reading), {0},  folder->kinds, folder->kind_count,
                                     folder->patterns, false};
    if (!status_files_has_place(&folder->status_files, path_of(reading), &err)) {
        error_prefix(&err, "%s: ", path_of(reading));
        report_entry(reading, (struct folder_entry){.path = path_of(reading), .fault = err.text});
        error_clear(&err);
    }
    bool is_read = read_text(reading, &text, &err);
    source.text = buffer_text(&text);
    if (!is_read || !documents_read(&source, list_document, reading, &err))
        report_entry(reading, (struct folder_entry){.path = path_of(reading), .fault = err.text});
}

static void report_folders(const struct reading *reading)
{
    const struct folder *folder = reading->folder;
    const struct file_faults *faults = folder->folder_faults;
    for (size_t i = 0; faults && i < faults->count; i++)
        report_entry(reading, (struct folder_entry){.path = faults->lines[i].folder,
                                                    .fault = faults->lines[i].text});
}

static bool read_all(struct reading *reading, struct error *err)
{
    struct folder *folder = reading->folder;
    struct pass *pass = &folder->pass;
    if (!schedule_collect(folder))
        return error_set(err, FAULT_AGAIN, "SystemError", "%s", degraded_text(folder));
    report_folders(reading);
    pass_sort(folder);
    for (; pass->next < pass->queue.count; pass->next++) {
        read_file(reading, pass->queue.items[pass->next]);
        status_files_tidy(&folder->status_files, 0);
    }
    if (!load_each_orphan(folder, take_orphan, reading, err))
        return false;
    if (folder->scan_error.fault != FAULT_NONE && err)
        *err = folder->scan_error;
    return folder->scan_error.fault == FAULT_NONE;
}

bool folder_read(const struct folder_options *options, struct arena *arena,
                 void (*entry)(void *context, const struct folder_entry *entry), void *context,
                 struct error *err)
{
    struct loop still = {&still_ops};
    struct world world = {.loop = &still, .disk = disk_system(), .random = random_system()};
    CLEANUP(folder) struct folder *folder = folder_open_reader(&world, options, err);
    if (!folder)
        return false;
    struct reading reading = {
        .folder = folder,
        .arena = arena,
        .entry = entry,
        .context = context,
        .seen = {.ops = &seen_ops, .context = &reading},
    };
    bool is_ok = read_all(&reading, err);
    table_done(&reading.seen);
    free(reading.keys);
    free(reading.paths);
    return is_ok;
}
