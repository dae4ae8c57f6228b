#include "store/folder/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/name.h"
#include "store/folder/write_back.h"

void load_done(struct folder *folder)
{
    struct load *load = &folder->load;
    free(load->files.items);
    free(load->items);
    free(load->spared);
    *load = (struct load){0};
}

enum step load_begin(struct folder *folder, int64_t until_ms)
{
    struct error err = {0};
    (void)until_ms;
    load_done(folder);
    write_back_flush(folder);
    status_files_reset(&folder->status_files);
    if (!state_load(&folder->state, folder->world.random, folder->is_leading, &err)) {
        degraded_set(folder, DEGRADED_WRITE_AHEAD, &err);
        return STEP_FAILED;
    }
    degraded_clear(folder, DEGRADED_WRITE_AHEAD);
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
    load->items[load->count++] = (struct dormant){hash, version, file, false, false};
    state_raise(&folder->state, version);
}

struct indexing {
    struct folder *folder;
    uint32_t file;
};

static void index_doc(void *context, const struct status_doc *doc)
{
    const struct indexing *indexing = context;
    if (text_starts(doc->key, NAME_BROKEN))
        indexing->folder->entries.files[indexing->file].flags |= FILE_HAS_BROKEN;
    add_dormant(indexing->folder, hash_octets(doc->key.at, doc->key.len), doc->version,
                indexing->file);
}

static bool index_file(struct folder *folder, uint32_t file, struct error *err)
{
    const char *path = folder->entries.files[file].path;
    struct indexing indexing = {folder, file};
    struct status_file *status = folder_open_status(folder, file, err);
    if (!status)
        return false;
    if (status->was_torn)
        log_line(folder->log, LOG_WARN, "a status file is torn; its last document is made again",
                 LOG_TEXT("file", path), LOG_END);
    status_file_each(status, index_doc, &indexing);
    write_back_mark(folder, file);
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

void load_drop_doubles(struct id_list *list)
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

struct dormant *load_find(const struct load *load, uint64_t hash, size_t count)
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
        load_drop_doubles(&load->files);
    while (load->next < load->files.count) {
        if (!index_file(folder, load->files.items[load->next], &err)) {
            degraded_set(folder, DEGRADED_READING, &err);
            return STEP_FAILED;
        }
        if (++load->next % 16 == 0 && folder_now_ms(folder) >= until_ms) {
            status_files_tidy(&folder->status_files, folder_now_ms(folder));
            return STEP_AGAIN;
        }
    }
    status_files_tidy(&folder->status_files, folder_now_ms(folder));
    sort_dormants(load);
    return STEP_DONE;
}

// ---- the state ----------------------------------------------------------------------------------

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

struct merging {
    struct folder *folder;
    size_t sorted; // of the dormant documents
    bool is_failed;
    struct error err;
};

static void merge_gone(struct folder *folder, struct dormant *known, size_t sorted,
                       const struct state_row *row)
{
    if (known)
        forget_key(folder, known, sorted - (size_t)(known - folder->load.items), row->version,
                   row->key);
    else if (folder->is_leading)
        state_forget(&folder->state, row->key);
}

static void merge_row(void *context, const struct state_row *row)
{
    struct merging *merging = context;
    struct folder *folder = merging->folder;
    struct load *load = &folder->load;
    uint64_t hash = hash_octets(row->key.at, row->key.len);
    struct dormant *known = load_find(load, hash, merging->sorted);
    state_raise(&folder->state, row->version);
    if (!row->body.at)
        merge_gone(folder, known, merging->sorted, row);
    if (!row->body.at || (known && known->version >= row->version))
        return;
    AUTO_BUFFER path = {0};
    buffer_add(&path, row->path.at, row->path.len);
    uint32_t file = known ? known->file : files_need(&folder->entries, path.at);
    struct status_file *status = folder_open_status(folder, file, &merging->err);
    merging->is_failed = merging->is_failed || !status;
    if (!status)
        return;
    status_files_merge_row(status, row);
    write_back_mark(folder, file);
    if (known)
        known->is_used = true;
    add_dormant(folder, hash, row->version, file);
}

enum step load_merge(struct folder *folder, int64_t until_ms)
{
    struct load *load = &folder->load;
    struct merging merging = {.folder = folder, .sorted = load->count};
    (void)until_ms;
    bool is_read =
        state_each(&folder->state, STATE_ALL, (struct text){0}, merge_row, &merging, &merging.err);
    if (!is_read || merging.is_failed) {
        degraded_set(folder, DEGRADED_READING, &merging.err);
        return STEP_FAILED;
    }
    if (folder->is_leading)
        state_commit(&folder->state, NULL);
    sort_dormants(load);
    load->next = 0;
    return STEP_DONE;
}

// ---- taking dormant documents -------------------------------------------------------------------

static struct dormant *choose_dormant(struct dormant *first, const struct dormant *end,
                                      uint32_t file)
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
    struct dormant *first = load_find(load, hash_octets(key.at, key.len), load->count);
    struct dormant *chosen = first ? choose_dormant(first, end, folder->pass.file) : NULL;
    draft->dormant = chosen;
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

void load_put_back(const struct draft *draft)
{
    if (!draft->dormant)
        return;
    draft->dormant->is_used = false;
    draft->dormant->is_kept = true;
}
