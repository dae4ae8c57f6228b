#include "store/folder/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "store/folder/behind.h"
#include "store/folder/name.h"
#include "store/folder/trouble.h"

enum { UID_OCTETS = 36 };

#define BROKEN_KEY "broken "

void load_done(struct folder *folder)
{
    struct load *load = &folder->load;
    journal_index_free(load->journal);
    free(load->files.items);
    free(load->items);
    free(load->spared);
    *load = (struct load){0};
}

enum step load_begin(struct folder *folder, int64_t until_ms)
{
    AUTO_BUFFER path = {0};
    struct error err = {0};
    (void)until_ms;
    load_done(folder);
    behind_flush(folder);
    status_book_reset(&folder->book);
    buffer_printf(&path, "%s/state", folder->own_dir);
    state_load(&folder->state, folder->world.disk, path.at, folder->world.random);
    folder->load.journal = journal_index_new(folder->journal.path, &err);
    if (!folder->load.journal) {
        trouble_set(folder, TROUBLE_JOURNAL, &err);
        return STEP_FAILED;
    }
    trouble_clear(folder, TROUBLE_JOURNAL);
    folder->journal.octets = folder->load.journal->text.len;
    if (folder->load.journal->unreadable)
        log_line(folder->log, LOG_WARN, "lines of the journal cannot be read and are skipped",
                 LOG_INT("lines", (int64_t)folder->load.journal->unreadable), LOG_END);
    return STEP_DONE;
}

void load_note(struct folder *folder, const char *manifest)
{
    id_list_add(&folder->load.files, files_need(&folder->entries, manifest));
}

// ---- the index ----------------------------------------------------------------------------------

static void add_dormant(struct folder *folder, uint64_t hash, uint64_t version, uint32_t file)
{
    struct load *load = &folder->load;
    mem_reserve(&load->items, &load->capacity, load->count + 1);
    load->items[load->count++] = (struct dormant){hash, version, file, false};
    state_raise(&folder->state, version);
}

struct indexing {
    struct folder *folder;
    uint32_t file;
};

static void index_doc(void *context, const struct status_doc *doc)
{
    const struct indexing *indexing = context;
    if (text_starts(doc->key, BROKEN_KEY))
        indexing->folder->entries.files[indexing->file].flags |= FILE_HAS_BROKEN;
    add_dormant(indexing->folder, hash_octets(doc->key.at, doc->key.len), doc->version,
                indexing->file);
}

static bool index_file(struct folder *folder, uint32_t file, struct error *err)
{
    const char *path = folder->entries.files[file].path;
    struct indexing indexing = {folder, file};
    struct status_file *status = folder_open_status(folder, file, err);
    if (!status || !status_book_merge_checkpoint(&folder->book, status, path, err))
        return false;
    if (status->was_torn)
        log_line(folder->log, LOG_WARN, "a status file is torn; its last document is made again",
                 LOG_TEXT("file", path), LOG_END);
    status_file_each(status, index_doc, &indexing);
    behind_mark(folder, file);
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void drop_doubles(struct id_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_ids);
    for (size_t i = 0; i < list->count; i++)
        if (!kept || list->items[kept - 1] != list->items[i])
            list->items[kept++] = list->items[i];
    list->count = kept;
}

static int compare_dormants(const void *a, const void *b)
{
    const struct dormant *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    if (left->version != right->version)
        return left->version > right->version ? -1 : 1;
    return (left->file > right->file) - (left->file < right->file);
}

static void sort_dormants(struct load *load)
{
    if (load->count)
        qsort(load->items, load->count, sizeof *load->items, compare_dormants);
}

// The newest of that key; the others follow.
static struct dormant *find_dormant(const struct load *load, uint64_t hash, size_t count)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (load->items[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && load->items[low].hash == hash ? &load->items[low] : NULL;
}

enum step load_index(struct folder *folder, int64_t until_ms)
{
    struct load *load = &folder->load;
    struct error err = {0};
    if (load->next == 0)
        drop_doubles(&load->files);
    while (load->next < load->files.count) {
        if (!index_file(folder, load->files.items[load->next], &err)) {
            trouble_set(folder, TROUBLE_STATUS, &err);
            return STEP_FAILED;
        }
        if (++load->next % 16 == 0 && folder_now_ms(folder) >= until_ms) {
            status_book_tidy(&folder->book, folder_now_ms(folder));
            return STEP_AGAIN;
        }
    }
    status_book_tidy(&folder->book, folder_now_ms(folder));
    sort_dormants(load);
    return STEP_DONE;
}

// ---- the journal --------------------------------------------------------------------------------

// A key that is gone was gone everywhere.
static void forget_key(struct folder *folder, struct dormant *first, size_t count, uint64_t version,
                       struct text key)
{
    for (size_t i = 0; i < count && first[i].hash == first->hash; i++) {
        if (first[i].version >= version)
            continue;
        first[i].is_used = true;
        folder_drop(folder, first[i].file, key);
    }
}

static bool merge_item(struct folder *folder, const struct journal_item *item, size_t sorted,
                       struct error *err)
{
    struct load *load = &folder->load;
    struct dormant *known = find_dormant(load, item->hash, sorted);
    autofree char *path = mem_new(1, item->path.len + 1);
    memcpy(path, item->path.at, item->path.len);
    state_raise(&folder->state, item->version);
    behind_cover(folder, files_need(&folder->entries, path));
    if (known && item->is_gone)
        forget_key(folder, known, sorted - (size_t)(known - load->items), item->version, item->key);
    if (item->is_gone || (known && known->version >= item->version))
        return true;
    uint32_t file = known ? known->file : files_need(&folder->entries, path);
    struct status_file *status = folder_open_status(folder, file, err);
    if (!status)
        return false;
    status_book_merge_line(status, item);
    behind_mark(folder, file);
    if (known)
        known->is_used = true;
    add_dormant(folder, item->hash, item->version, file);
    return true;
}

enum step load_merge(struct folder *folder, int64_t until_ms)
{
    struct load *load = &folder->load;
    struct error err = {0};
    size_t sorted = load->count;
    (void)until_ms;
    for (size_t i = 0; i < load->journal->count; i++) {
        if (merge_item(folder, &load->journal->items[i], sorted, &err))
            continue;
        trouble_set(folder, TROUBLE_STATUS, &err);
        return STEP_FAILED;
    }
    journal_index_free(steal(load->journal));
    sort_dormants(load);
    load->next = 0;
    return STEP_DONE;
}

// ---- claims -------------------------------------------------------------------------------------

static struct dormant *choose(struct dormant *first, const struct dormant *end, uint32_t file)
{
    struct dormant *chosen = NULL;
    for (struct dormant *at = first; at < end && at->hash == first->hash; at++) {
        if (at->is_used)
            continue;
        if (!chosen || (at->version == chosen->version && at->file == file))
            chosen = at;
    }
    return chosen;
}

static void drop_others(struct folder *folder, struct dormant *first, const struct dormant *end,
                        const struct dormant *chosen, struct text key)
{
    for (struct dormant *at = first; at < end && at->hash == first->hash; at++) {
        if (!at->is_used && at->file != chosen->file)
            folder_drop(folder, at->file, key);
        at->is_used = true;
    }
}

bool load_take(struct folder *folder, struct draft *draft, uint32_t *from, struct error *err)
{
    AUTO_BUFFER key = {0};
    struct load *load = &folder->load;
    const struct dormant *end = load->items + load->count;
    draft_key(&key, draft);
    struct dormant *first = find_dormant(load, hash_octets(key.at, key.len), load->count);
    struct dormant *chosen = first ? choose(first, end, folder->pass.file) : NULL;
    if (!chosen)
        return false;
    struct status_file *status = folder_open_status(folder, chosen->file, err);
    const struct status_doc *doc = status ? status_file_find(status, buffer_text(&key)) : NULL;
    if (!doc)
        return false;
    bool is_read = draft_skim(folder, draft, doc);
    if (!is_read)
        log_line(folder->log, LOG_WARN, "a status document cannot be read and is made anew",
                 LOG_SLICE("object", buffer_text(&key)), LOG_END);
    *from = is_read ? chosen->file : FILE_NONE;
    drop_others(folder, first, end, chosen, buffer_text(&key));
    return is_read;
}

// ---- orphans ------------------------------------------------------------------------------------

struct keys {
    struct arena *arena;
    struct text *items;
    size_t count;
    size_t capacity;
};

static void collect_key(void *context, const struct status_doc *doc)
{
    struct keys *keys = context;
    mem_reserve(&keys->items, &keys->capacity, keys->count + 1);
    keys->items[keys->count++] =
        (struct text){arena_copy(keys->arena, doc->key.at, doc->key.len), doc->key.len};
}

static struct dormant *find_unused(const struct load *load, struct text key, uint32_t file)
{
    struct dormant *at = find_dormant(load, hash_octets(key.at, key.len), load->count);
    const struct dormant *end = load->items + load->count;
    uint64_t hash = at ? at->hash : 0;
    for (; at && at < end && at->hash == hash; at++)
        if (at->file == file && !at->is_used)
            return at;
    return NULL;
}

static struct value *read_tree(struct arena *arena, const struct status_doc *doc)
{
    struct value *tree = NULL;
    bool has = false;
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(doc->body, &ours_limits);
    return yaml_reader_next(reader, arena, &tree, &has, NULL) && has ? tree : NULL;
}

// Whose document it is; false for kinds that are not served.
static bool find_subject(const struct folder *folder, const struct value *tree,
                         struct object_ref_key *key)
{
    bool is_known_group;
    const struct value *metadata = value_find(tree, "metadata");
    key->kind = tree ? kind_lookup(folder->kinds, folder->kind_count, tree, &is_known_group) : NULL;
    key->name = value_text(value_find(metadata, "name"));
    key->namespace_ = value_text(value_find(metadata, "namespace"));
    if (!key->namespace_.at)
        key->namespace_ = TEXT("");
    return key->kind && key->name.len;
}

// Its document is gone, or (a file that cannot be read) may be.
static void revive(struct folder *folder, struct draft *draft, uint32_t file, bool is_kept)
{
    uint64_t hash = ours_body_hash(draft->arena, draft->ours.last_good);
    uint32_t id = folder_file(folder, draft_object(draft), file, hash, true);
    pass_mark(folder, id);
    if (!is_kept)
        pass_miss(folder, id);
}

static void take_orphan(void *context, struct draft *draft, uint32_t file)
{
    struct folder *folder = context;
    AUTO_BUFFER key = {0};
    bool is_kept = folder->entries.files[file].flags & FILE_IS_KEPT;
    draft_key(&key, draft);
    if (is_kept || draft->ours.has_finalizer)
        revive(folder, draft, file, is_kept);
    else
        folder_drop(folder, file, buffer_text(&key));
}

struct orphanage {
    struct folder *folder;
    load_orphan_call *call;
    void *context;
};

// Its controller does not run now: what is kept of it stays for later.
static void spare(struct load *load, const struct value *tree)
{
    struct text uid = value_text_at(tree, "metadata.uid");
    if (uid.len != UID_OCTETS) {
        load->has_unreadable = true;
        return;
    }
    mem_reserve(&load->spared, &load->spared_capacity, load->spared_count + 1);
    memcpy(load->spared[load->spared_count], uid.at, UID_OCTETS);
    load->spared[load->spared_count++][UID_OCTETS] = '\0';
}

static void read_orphan(const struct orphanage *orphanage, struct arena *arena,
                        const struct status_doc *doc, struct text key_text, uint32_t file)
{
    struct object_ref_key key;
    struct folder *folder = orphanage->folder;
    const struct value *tree = read_tree(arena, doc);
    if (!find_subject(folder, tree, &key)) {
        spare(&folder->load, tree);
        return;
    }
    struct draft draft = draft_make(folder, arena, &key);
    if (!draft_skim(folder, &draft, doc)) {
        log_line(folder->log, LOG_WARN, "a status document cannot be read and is left as it is",
                 LOG_SLICE("object", key_text), LOG_END);
        folder->load.has_unreadable = true;
        return;
    }
    draft_complete(&draft);
    orphanage->call(orphanage->context, &draft, file);
}

static bool take_orphans(const struct orphanage *orphanage, uint32_t file, struct error *err)
{
    struct folder *folder = orphanage->folder;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct keys keys = {.arena = arena};
    const struct status_file *status = folder_open_status(folder, file, err);
    if (!status)
        return false;
    status_file_each(status, collect_key, &keys);
    for (size_t i = 0; i < keys.count; i++) {
        struct dormant *orphan = find_unused(&folder->load, keys.items[i], file);
        status = folder_open_status(folder, file, err);
        const struct status_doc *doc = status ? status_file_find(status, keys.items[i]) : NULL;
        if (!orphan || !doc)
            continue;
        orphan->is_used = true;
        if (!text_starts(keys.items[i], BROKEN_KEY))
            read_orphan(orphanage, arena, doc, keys.items[i], file);
    }
    free(keys.items);
    return true;
}

// Only files that still have unclaimed documents need a look.
static void list_orphaned(struct load *load)
{
    load->files.count = 0;
    for (size_t i = 0; i < load->count; i++)
        if (!load->items[i].is_used)
            id_list_add(&load->files, load->items[i].file);
    drop_doubles(&load->files);
}

static size_t count_orphans(const struct folder *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < folder->load.count; i++) {
        const struct dormant *dormant = &folder->load.items[i];
        count += !dormant->is_used && dormant->version &&
                 !(folder->entries.files[dormant->file].flags & FILE_IS_KEPT);
    }
    return count;
}

static bool is_suspicious(struct folder *folder)
{
    AUTO_BUFFER why = {0};
    size_t orphans = count_orphans(folder);
    if (folder->scan_error.fault != FAULT_NONE) {
        folder_set_synced(folder, false, folder->scan_error.text);
        return true;
    }
    if ((folder->allow_empty && !folder->was_synced) || folder->entries.documents ||
        orphans < EMPTY_SUSPICIOUS)
        return false;
    buffer_printf(&why,
                  "no manifests where %zu were known; start with --allow-empty if this is meant",
                  orphans);
    folder_set_synced(folder, false, why.at);
    return true;
}

// Cached objects that neither a manifest nor a status file knows: a standby's own view of what the
// leader has seen go.
static void drop_unseen(struct folder *folder)
{
    const struct entries *entries = &folder->entries;
    for (uint32_t id = 0; id < entries->count; id++)
        if (entries->items[id].object && entries->items[id].pass != folder->pass.number)
            folder_leave(folder, id);
}

bool load_each_orphan(struct folder *folder, load_orphan_call *call, void *context,
                      struct error *err)
{
    const struct orphanage orphanage = {folder, call, context};
    list_orphaned(&folder->load);
    for (size_t i = 0; i < folder->load.files.count; i++)
        if (!take_orphans(&orphanage, folder->load.files.items[i], err))
            return false;
    return true;
}

struct uids {
    uint8_t (*items)[16];
    size_t count;
    size_t capacity;
};

static void add_uid(struct uids *uids, const uint8_t uid[16])
{
    mem_reserve(&uids->items, &uids->capacity, uids->count + 1);
    memcpy(uids->items[uids->count++], uid, 16);
}

static void collect_uid(void *context, const struct object *object)
{
    add_uid(context, object->uid);
}

static int compare_uids(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static bool is_held(const void *context, const char *uid)
{
    const struct uids *uids = context;
    uint8_t wanted[16];
    object_uid_parse(text_of(uid), wanted);
    return uids->count && bsearch(wanted, uids->items, uids->count, 16, compare_uids);
}

static void collect_uids(const struct folder *folder, struct uids *uids)
{
    for (size_t i = 0; i < folder->load.spared_count; i++) {
        uint8_t uid[16];
        object_uid_parse(text_of(folder->load.spared[i]), uid);
        add_uid(uids, uid);
    }
    for (size_t i = 0; i < folder->kind_count; i++)
        if (folder->kinds[i]->is_secret || folder->kinds[i]->has_secret)
            cache_each(folder->store.cache, folder->kinds[i], collect_uid, uids);
    if (uids->count)
        qsort(uids->items, uids->count, 16, compare_uids);
}

// Files that a process left which died before it told anybody.
static void sweep_secrets(struct folder *folder)
{
    struct uids uids = {.count = 0};
    if (!folder->is_leading || folder->load.has_unreadable)
        return;
    collect_uids(folder, &uids);
    secrets_sweep(&folder->secrets, is_held, &uids);
    free(uids.items);
}

enum step load_orphans(struct folder *folder, int64_t until_ms)
{
    struct load *load = &folder->load;
    struct error err = {0};
    const struct orphanage orphanage = {folder, take_orphan, folder};
    if (load->next == 0) {
        if (is_suspicious(folder)) {
            folder_end_batch(folder);
            return STEP_FAILED;
        }
        list_orphaned(load);
    }
    while (load->next < load->files.count) {
        if (!take_orphans(&orphanage, load->files.items[load->next++], &err)) {
            trouble_set(folder, TROUBLE_STATUS, &err);
            return STEP_FAILED;
        }
        if (load->next < load->files.count && folder_now_ms(folder) >= until_ms)
            return STEP_AGAIN;
    }
    folder->pass.is_load = false;
    drop_unseen(folder);
    sweep_secrets(folder);
    load_done(folder);
    return STEP_DONE;
}
