#include "store/folder/entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"
#include "store/folder/name.h"

// ---- tables -------------------------------------------------------------------------------------

static uint64_t hash_key(const struct object_ref_key *key)
{
    uint64_t kind = hash_octets(&key->kind, sizeof key->kind);
    uint64_t namespace_ = hash_octets(key->namespace_.at, key->namespace_.len);
    return (kind * 31 + namespace_) * 31 + hash_octets(key->name.at, key->name.len);
}

static uint64_t hash_object(const struct object *object)
{
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    return hash_key(&key);
}

static bool entry_matches(const void *context, uint32_t id, const void *key)
{
    const struct entries *entries = context;
    const struct object_ref_key *wanted = key;
    const struct object *object = entries->items[id].object;
    return object->kind == wanted->kind && text_equal(object_name(object), wanted->name) &&
           text_equal(object_namespace(object), wanted->namespace_);
}

static uint64_t entry_hash(const void *context, uint32_t id)
{
    const struct entries *entries = context;
    return hash_object(entries->items[id].object);
}

static bool file_matches(const void *context, uint32_t id, const void *key)
{
    const struct entries *entries = context;
    return strcmp(entries->files[id].path, key) == 0;
}

static uint64_t hash_path(const char *path)
{
    return hash_octets(path, strlen(path));
}

static uint64_t file_hash(const void *context, uint32_t id)
{
    const struct entries *entries = context;
    return hash_path(entries->files[id].path);
}

static const struct table_ops entry_ops = {.matches = entry_matches, .hash = entry_hash};
static const struct table_ops file_ops = {.matches = file_matches, .hash = file_hash};

void entries_init(struct entries *entries)
{
    *entries = (struct entries){
        .by_name = {.ops = &entry_ops, .context = entries},
        .by_path = {.ops = &file_ops, .context = entries},
    };
}

void entries_done(struct entries *entries)
{
    for (uint32_t id = 0; id < entries->file_slots.end; id++)
        free(entries->files[id].path);
    table_done(&entries->by_name);
    table_done(&entries->by_path);
    slots_done(&entries->slots);
    slots_done(&entries->file_slots);
    free(entries->items);
    free(entries->files);
}

// ---- entries ------------------------------------------------------------------------------------

static void link_entry(struct entries *entries, uint32_t id, uint32_t file)
{
    struct entry *entry = &entries->items[id];
    uint32_t *first = &entries->files[file].first;
    entry->file = file;
    entry->previous = ENTRY_NONE;
    entry->next = *first;
    if (*first != ENTRY_NONE)
        entries->items[*first].previous = id;
    *first = id;
}

static void unlink_entry(struct entries *entries, uint32_t id)
{
    const struct entry *entry = &entries->items[id];
    if (entry->previous != ENTRY_NONE)
        entries->items[entry->previous].next = entry->next;
    else
        entries->files[entry->file].first = entry->next;
    if (entry->next != ENTRY_NONE)
        entries->items[entry->next].previous = entry->previous;
}

uint32_t entries_find(const struct entries *entries, const struct object_ref_key *key)
{
    return table_find(&entries->by_name, hash_key(key), key);
}

uint32_t entries_add(struct entries *entries, const struct object *object, uint32_t file)
{
    uint32_t id = slots_take(&entries->slots);
    mem_reserve(&entries->items, &entries->capacity, entries->slots.end);
    entries->items[id] = (struct entry){.object = object};
    link_entry(entries, id, file);
    table_add(&entries->by_name, hash_object(object), id);
    return id;
}

void entries_set_object(struct entries *entries, uint32_t id, const struct object *object)
{
    entries->items[id].object = object;
}

void entries_move(struct entries *entries, uint32_t id, uint32_t file)
{
    unlink_entry(entries, id);
    link_entry(entries, id, file);
}

void entries_remove(struct entries *entries, uint32_t id)
{
    unlink_entry(entries, id);
    table_remove(&entries->by_name, hash_object(entries->items[id].object), id);
    entries->items[id] = (struct entry){0};
    slots_give(&entries->slots, id);
}

// ---- files --------------------------------------------------------------------------------------

uint32_t files_find(const struct entries *entries, const char *path)
{
    return table_find(&entries->by_path, hash_path(path), path);
}

uint32_t files_need(struct entries *entries, const char *path)
{
    uint32_t id = files_find(entries, path);
    if (id != FILE_NONE)
        return id;
    must(name_is_path(text_of(path)));
    id = slots_take(&entries->file_slots);
    mem_reserve(&entries->files, &entries->file_capacity, entries->file_slots.end);
    entries->files[id] = (struct file){.path = mem_copy_text(path), .first = ENTRY_NONE};
    table_add(&entries->by_path, hash_path(path), id);
    return id;
}

void files_set_documents(struct entries *entries, uint32_t id, uint32_t documents)
{
    struct file *file = &entries->files[id];
    if (!name_is_child(file->path))
        entries->documents = entries->documents - file->documents + documents;
    file->documents = documents;
}

void files_forget(struct entries *entries, uint32_t id)
{
    struct file *file = &entries->files[id];
    must(file->first == ENTRY_NONE && !(file->flags & FILE_IS_PRESENT));
    files_set_documents(entries, id, 0);
    table_remove(&entries->by_path, hash_path(file->path), id);
    free(file->path);
    *file = (struct file){0};
    slots_give(&entries->file_slots, id);
}

bool files_is_same(const struct file *file, const struct disk_stat *found)
{
    return file->inode == found->inode && file->mtime_ns == found->mtime_ns &&
           (int64_t)file->size == found->size;
}
