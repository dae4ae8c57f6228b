#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/load.h"
#include "store/folder/name.h"
#include "store/folder/write_back.h"

enum { UID_OCTETS = 36, NAME_OCTETS_MAX = 253, NAMESPACE_OCTETS_MAX = 63 };

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
    struct dormant *at = load_find(load, hash_octets(key.at, key.len), load->count);
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
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(doc->body, &managed_limits);
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
    return key->kind && name_is_plain(key->name, NAME_OCTETS_MAX) &&
           (key->kind->is_namespaced ? name_is_plain(key->namespace_, NAMESPACE_OCTETS_MAX)
                                     : !key->namespace_.len);
}

// Does the document say the same as the line above it?
static bool is_named_so(const struct draft *draft, struct text key_text)
{
    AUTO_BUFFER key = {0};
    draft_key(&key, draft);
    return text_equal(buffer_text(&key), key_text);
}

// Its document is gone, or (of a file that cannot be read or taken yet) may be.
static void revive_object(struct folder *folder, struct draft *draft, uint32_t file, bool is_kept)
{
    struct content_id body = managed_body_id(draft->arena, draft->managed.last_good);
    uint32_t id = folder_put_object(folder, draft_object(folder, draft), file, body, true);
    pass_mark(folder, id);
    if (!is_kept)
        pass_miss(folder, id);
}

// Nobody waits for it: it leaves at once, also for those who read the state.
static void drop_orphan(struct folder *folder, struct draft *draft, uint32_t file, struct text key)
{
    folder_drop(folder, file, key);
    if (!folder->is_leading)
        return;
    draft_step(folder, draft);
    struct object_ref_key name = subject_key(&draft->subject);
    folder_write_ahead(folder, file, &name, draft->managed.version, NULL);
}

static void take_orphan(void *context, struct draft *draft, uint32_t file)
{
    struct folder *folder = context;
    AUTO_BUFFER key = {0};
    bool is_kept =
        draft->dormant->is_kept || (folder->entries.files[file].flags & FILE_KEEPS_MISSING);
    draft_key(&key, draft);
    if (is_kept || draft->managed.has_finalizer)
        revive_object(folder, draft, file, is_kept);
    else
        drop_orphan(folder, draft, file, buffer_text(&key));
}

struct orphanage {
    struct folder *folder;
    load_orphan_call *call;
    void *context;
};

// Its controller does not run now: what is kept of it stays for later.
static void spare_object(struct load *load, const struct value *tree)
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
                        const struct status_doc *doc, struct text key_text, struct dormant *orphan)
{
    struct object_ref_key key;
    struct folder *folder = orphanage->folder;
    const struct value *tree = read_tree(arena, doc);
    if (!find_subject(folder, tree, &key)) {
        spare_object(&folder->load, tree);
        return;
    }
    struct draft draft = draft_make(folder, arena, &key);
    draft.dormant = orphan;
    if (!is_named_so(&draft, key_text) || !draft_skim(folder, &draft, doc)) {
        log_line(folder->log, LOG_WARN, "a status document cannot be read and is left as it is",
                 LOG_SLICE("object", key_text), LOG_END);
        folder->load.has_unreadable = true;
        return;
    }
    draft_complete(&draft);
    orphanage->call(orphanage->context, &draft, orphan->file);
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
        if (!text_starts(keys.items[i], NAME_BROKEN))
            read_orphan(orphanage, arena, doc, keys.items[i], orphan);
    }
    free(keys.items);
    return true;
}

// Only files that still have dormant documents need a look.
static void list_orphaned(struct load *load)
{
    load->files.count = 0;
    for (size_t i = 0; i < load->count; i++)
        if (!load->items[i].is_used)
            id_list_add(&load->files, load->items[i].file);
    load_drop_doubles(&load->files);
}

static size_t count_orphans(const struct folder *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < folder->load.count; i++) {
        const struct dormant *dormant = &folder->load.items[i];
        const struct file *file = &folder->entries.files[dormant->file];
        count += !dormant->is_used && dormant->version && !(file->flags & FILE_KEEPS_MISSING) &&
                 !name_is_child(file->path);
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
    for (uint32_t id = 0; id < entries->slots.end; id++)
        if (entries->items[id].object && entries->items[id].pass != folder->pass.number)
            folder_remove_object(folder, id);
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

static void collect_uids(const struct folder *folder, bool is_all, struct uids *uids)
{
    for (size_t i = 0; i < folder->load.spared_count; i++) {
        uint8_t uid[16];
        object_uid_parse(text_of(folder->load.spared[i]), uid);
        add_uid(uids, uid);
    }
    for (size_t i = 0; i < folder->kind_count; i++)
        if (is_all || folder->kinds[i]->is_secret || folder->kinds[i]->has_secret)
            cache_each(folder->store.cache, folder->kinds[i], collect_uid, uids);
    if (uids->count)
        qsort(uids->items, uids->count, 16, compare_uids);
}

// Files that a process left which died before it told anybody.
static void sweep_secrets(struct folder *folder)
{
    struct uids uids = {.count = 0};
    collect_uids(folder, false, &uids);
    secrets_sweep(&folder->state, is_held, &uids);
    free(uids.items);
}

// What was made for objects that went while nobody was there.
static void sweep_generated(struct folder *folder)
{
    struct uids uids = {.count = 0};
    collect_uids(folder, true, &uids);
    generated_sweep(&folder->generated, is_held, &uids);
    generated_sweep(&folder->owned_objects, is_held, &uids);
    free(uids.items);
}

static void leave_child(struct folder *folder, const char *path)
{
    AUTO_BUFFER child = {0};
    const char *name = strrchr(path, '/');
    buffer_printf(&child, NAME_CHILDREN "%s", name ? name : "");
    uint32_t file = files_find(&folder->entries, child.at);
    if (file == FILE_NONE)
        return;
    while (folder->entries.files[file].first != ENTRY_NONE)
        folder_remove_object(folder, folder->entries.files[file].first);
}

// Who only reads removes nothing, but sees them gone.
static void pass_over_generated(struct folder *folder)
{
    struct uids uids = {.count = 0};
    size_t cursor = 0;
    const char *path;
    collect_uids(folder, true, &uids);
    while (generated_next_orphan(&folder->owned_objects, is_held, &uids, &cursor, &path))
        leave_child(folder, path);
    free(uids.items);
}

static void sweep_ownerless(struct folder *folder)
{
    if (folder->is_reading && !folder->load.has_unreadable)
        pass_over_generated(folder);
    if (!folder->is_leading || folder->load.has_unreadable)
        return;
    sweep_secrets(folder);
    sweep_generated(folder);
}

// Where it fails, what went is found gone once more at the next start.
static void say_farewell(struct folder *folder)
{
    struct error err = {0};
    if (state_commit(&folder->state, &err))
        return;
    degraded_set(folder, DEGRADED_WRITE_AHEAD, &err);
    write_back_probe_state(folder);
}

enum step load_orphans(struct folder *folder, int64_t until_ms)
{
    struct load *load = &folder->load;
    struct error err = {0};
    const struct orphanage orphanage = {folder, take_orphan, folder};
    if (load->next == 0) {
        if (is_suspicious(folder))
            return STEP_FAILED;
        list_orphaned(load);
    }
    while (load->next < load->files.count) {
        if (!take_orphans(&orphanage, load->files.items[load->next++], &err)) {
            degraded_set(folder, DEGRADED_READING, &err);
            return STEP_FAILED;
        }
        if (load->next < load->files.count && folder_now_ms(folder) >= until_ms)
            return STEP_AGAIN;
    }
    if (folder->is_leading)
        say_farewell(folder);
    folder->pass.is_load = false;
    drop_unseen(folder);
    sweep_ownerless(folder);
    load_done(folder);
    return STEP_DONE;
}
