#include "store/folder/status_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "store/folder/managed.h"
#include "store/folder/name.h"

enum {
    STATUS_OCTETS_MAX = 1024 * 1024 * 1024,
    OCTETS_PER_MS = 20 * 1024,
    NAME_OCTETS_MAX = 255 - (sizeof ".status" - 1), // of a manifest
};

static bool id_matches(const void *context, uint32_t slot, const void *key)
{
    const struct status_files *status_files = context;
    const uint32_t *id = key;
    return status_files->files[slot]->id == *id;
}

static uint64_t hash_id(uint32_t id)
{
    return id * 0x9e3779b97f4a7c15ULL >> 17;
}

static uint64_t slot_hash(const void *context, uint32_t slot)
{
    const struct status_files *status_files = context;
    return hash_id(status_files->files[slot]->id);
}

static const struct table_ops id_ops = {.matches = id_matches, .hash = slot_hash};

void status_files_init(struct status_files *status_files, struct disk *disk, const char *root,
                       struct state *state)
{
    *status_files = (struct status_files){
        .disk = disk,
        .root = mem_copy_text(root),
        .state = state,
        .by_id = {.ops = &id_ops, .context = status_files},
    };
}

void status_files_reset(struct status_files *status_files)
{
    for (size_t i = 0; i < status_files->count; i++) {
        status_file_done(status_files->files[i]);
        free(status_files->files[i]);
    }
    status_files->count = 0;
    status_files->octets = 0;
    table_done(&status_files->by_id);
}

void status_files_done(struct status_files *status_files)
{
    status_files_reset(status_files);
    free(status_files->files);
    free(status_files->root);
}

// ---- in memory ----------------------------------------------------------------------------------

struct status_file *status_files_find(const struct status_files *status_files, uint32_t id)
{
    uint32_t slot = table_find(&status_files->by_id, hash_id(id), &id);
    return slot == TABLE_NONE ? NULL : status_files->files[slot];
}

static struct status_file *add_file(struct status_files *status_files, uint32_t id)
{
    struct status_file *file = mem_new_of(struct status_file);
    status_file_init(file, id);
    mem_reserve(&status_files->files, &status_files->capacity, status_files->count + 1);
    status_files->files[status_files->count] = file;
    table_add(&status_files->by_id, hash_id(id), (uint32_t)status_files->count);
    status_files->count++;
    return file;
}

static void remove_slot(struct status_files *status_files, uint32_t slot)
{
    struct status_file *file = status_files->files[slot];
    uint32_t last = (uint32_t)--status_files->count;
    table_remove(&status_files->by_id, hash_id(file->id), slot);
    if (slot != last) {
        uint64_t hash = hash_id(status_files->files[last]->id);
        table_remove(&status_files->by_id, hash, last);
        status_files->files[slot] = status_files->files[last];
        table_add(&status_files->by_id, hash, slot);
    }
    status_file_done(file);
    free(file);
}

static void unload_file(struct status_files *status_files, struct status_file *file)
{
    size_t octets = file->text.len;
    status_files->octets -= octets < status_files->octets ? octets : status_files->octets;
    status_file_unload(file);
}

static void unload_others(struct status_files *status_files, const struct status_file *kept)
{
    for (size_t i = 0; i < status_files->count; i++)
        if (status_files->files[i] != kept && status_files->files[i]->is_loaded)
            unload_file(status_files, status_files->files[i]);
}

void status_files_tidy(struct status_files *status_files, int64_t now_ms)
{
    for (uint32_t slot = (uint32_t)status_files->count; slot-- > 0;) {
        struct status_file *file = status_files->files[slot];
        if (status_file_is_changed(file))
            continue;
        unload_file(status_files, file);
        if (status_files_due_ms(file) <= now_ms)
            remove_slot(status_files, slot);
    }
}

// ---- reading ------------------------------------------------------------------------------------

static void path_of(struct buffer *out, const char *root, const char *manifest)
{
    buffer_printf(out, "%s/%s.status", root, manifest);
}

// What is wrong with that one path, whoever put it there, and not with the disk.
static bool is_its_own_fault(const struct error *err)
{
    static const int numbers[] = {ENOENT, ENOTDIR, EISDIR,       EACCES, EPERM,
                                  EROFS,  ELOOP,   ENAMETOOLONG, EINVAL, EFBIG};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (err->status == numbers[i])
            return true;
    return false;
}

// What is no file of ours (a link, a pipe, one that may not be read) is none: it is replaced.
static bool read_text(struct buffer *out, const char *root, const char *manifest, bool *is_absent,
                      struct error *err)
{
    AUTO_BUFFER path = {0};
    struct error local = {0};
    path_of(&path, root, manifest);
    *is_absent = disk_is_link(path.at);
    if (*is_absent || disk_read(out, path.at, STATUS_OCTETS_MAX, &local))
        return true;
    *is_absent = is_its_own_fault(&local);
    if (!*is_absent && err)
        *err = local;
    return *is_absent;
}

bool status_files_has_place(const struct status_files *status_files, const char *manifest,
                            struct error *err)
{
    AUTO_BUFFER path = {0};
    struct disk_stat found;
    struct error local = {0};
    path_of(&path, status_files->root, manifest);
    if (!disk_stat(path.at, &found, &local))
        return local.status != ENAMETOOLONG ||
               error_set(err, FAULT_SPEC, "NoPlace",
                         "its name leaves no room for the status file beside it: use a name of at "
                         "most %d octets",
                         NAME_OCTETS_MAX);
    if (!found.is_folder)
        return true;
    return error_set(err, FAULT_SPEC, "NoPlace",
                     "%s is a folder and stands where the status of %s goes: rename or remove it",
                     path.at, manifest);
}

// Has the folder been removed, or does another stand in its place, behind a link?
static bool is_homeless(const struct status_files *status_files, const char *manifest)
{
    AUTO_BUFFER path = {0};
    path_of(&path, status_files->root, manifest);
    *strrchr(path.at, '/') = '\0';
    if (!status_files->is_shared || name_is_child(manifest))
        return false;
    autofree char *real = disk_real_path(path.at, NULL);
    return !real || strcmp(real, path.at) != 0;
}

static bool load_file(struct status_files *status_files, struct status_file *file,
                      const char *manifest, struct error *err)
{
    AUTO_BUFFER text = {0};
    file->is_absent = file->is_homeless = is_homeless(status_files, manifest);
    if (!file->is_absent && !read_text(&text, status_files->root, manifest, &file->is_absent, err))
        return false;
    status_files->octets += text.len;
    status_file_load(file, &text);
    return true;
}

struct status_file *status_files_open(struct status_files *status_files, uint32_t id,
                                      const char *manifest, struct error *err)
{
    struct status_file *file = status_files_find(status_files, id);
    if (!file)
        file = add_file(status_files, id);
    if (file->is_loaded)
        return file;
    if (status_files->octets > STATUS_FILES_OCTETS_MAX)
        unload_others(status_files, file);
    return load_file(status_files, file, manifest, err) ? file : NULL;
}

// ---- writing ------------------------------------------------------------------------------------

static bool make_parent(struct status_files *status_files, const char *path, struct error *err)
{
    autofree char *folder = mem_copy_text(path);
    *strrchr(folder, '/') = '\0';
    return disk_make_folder(status_files->disk, folder, 0755, err);
}

static bool replace_file(struct status_files *status_files, const char *path, struct text text,
                         struct error *err)
{
    struct error local = {0};
    if (disk_replace(status_files->disk, path, text, 0644, false, &local))
        return true;
    if (local.status == ENOENT)
        return make_parent(status_files, path, err) &&
               disk_replace(status_files->disk, path, text, 0644, false, err);
    if (err)
        *err = local;
    return false;
}

static bool put_beside(struct status_files *status_files, const char *manifest, struct text text,
                       struct error *err)
{
    AUTO_BUFFER path = {0};
    path_of(&path, status_files->root, manifest);
    if (!text.len)
        return disk_remove(status_files->disk, path.at, err);
    return status_files->is_shared
               ? disk_replace(status_files->disk, path.at, text, 0644, false, err)
               : replace_file(status_files, path.at, text, err);
}

struct keeping {
    struct state *state;
    const char *manifest;
};

static void keep_doc(void *context, const struct status_doc *doc)
{
    const struct keeping *keeping = context;
    if (doc->version)
        state_put(keeping->state, &(struct state_row){doc->key, doc->version,
                                                      text_of(keeping->manifest), doc->body});
}

static bool keep_rows(struct status_files *status_files, const struct status_file *file,
                      const char *manifest, struct error *err)
{
    struct keeping keeping = {status_files->state, manifest};
    status_file_each(file, keep_doc, &keeping);
    return state_commit(status_files->state, err);
}

static bool put_file(struct status_files *status_files, struct status_file *file,
                     const char *manifest, struct text text, struct error *err)
{
    struct error local = {0};
    file->is_refused = false;
    file->is_homeless = is_homeless(status_files, manifest);
    if (!file->is_homeless) {
        if (put_beside(status_files, manifest, text, &local))
            return true;
        file->is_homeless = file->is_refused = is_its_own_fault(&local);
    }
    if (file->is_homeless)
        return keep_rows(status_files, file, manifest, err);
    if (err)
        *err = local;
    return false;
}

bool status_files_write(struct status_files *status_files, struct status_file *file,
                        const char *manifest, int64_t now_ms, struct error *err)
{
    AUTO_BUFFER text = {0};
    if (!status_file_is_changed(file))
        return true;
    if (!file->is_loaded && !load_file(status_files, file, manifest, err))
        return false;
    status_file_write(&text, file, manifest);
    if (!put_file(status_files, file, manifest, buffer_text(&text), err))
        return false;
    unload_file(status_files, file);
    status_file_forget_changes(file);
    file->written_ms = now_ms;
    file->written_octets = text.len;
    return true;
}

int64_t status_files_due_ms(const struct status_file *file)
{
    int64_t pause_ms = (int64_t)(file->written_octets / OCTETS_PER_MS);
    if (!file->written_ms)
        return 0;
    return file->written_ms + (pause_ms > STATUS_WRITE_MS ? pause_ms : STATUS_WRITE_MS);
}

// ---- rows of the state --------------------------------------------------------------------------

static void merge_row(void *context, const struct state_row *row)
{
    struct status_file *into = context;
    const struct status_doc *known = status_file_find(into, row->key);
    if (known && known->version >= row->version)
        return;
    if (row->body.at)
        status_file_set(into, row->key, row->version, row->body);
    else
        status_file_drop(into, row->key);
}

void status_files_merge_row(struct status_file *file, const struct state_row *row)
{
    merge_row(file, row);
}

bool status_files_merge(struct status_files *status_files, struct status_file *file,
                        const char *manifest, struct error *err)
{
    return state_each(status_files->state, STATE_OF_PATH, text_of(manifest), merge_row, file, err);
}

bool status_files_merge_key(struct status_files *status_files, struct status_file *file,
                            struct text key, struct error *err)
{
    return state_each(status_files->state, STATE_OF_KEY, key, merge_row, file, err);
}
