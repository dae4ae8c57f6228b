#include "store/folder/shard_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "store/folder/write_back.h"

struct shard_list {
    struct arena *arena;
    struct store_shard *items;
    size_t count;
    size_t capacity;
};

// ---- files --------------------------------------------------------------------------------------

static void add_folder(struct buffer *out, const struct folder *folder)
{
    buffer_printf(out, "%s/ledger", folder->own_dir);
}

static void add_path(struct buffer *out, const struct folder *folder, const char *name)
{
    add_folder(out, folder);
    buffer_printf(out, "/%s", name);
}

static void write_version(struct text text, char out[SHARD_VERSION_MAX])
{
    uint8_t digest[DIGEST_MAX];
    digest_of(DIGEST_SHA256, text, digest);
    hex_encode(digest, (SHARD_VERSION_MAX - 2) / 2, out);
}

// *is_there is false, and nothing is read, where there is no such file.
static bool read_shard(struct buffer *out, const struct folder *folder, const char *name,
                       bool *is_there, struct error *err)
{
    AUTO_BUFFER path = {0};
    struct error why;
    add_path(&path, folder, name);
    *is_there = disk_read(out, path.at, STORE_SHARD_OCTETS_MAX, &why);
    if (*is_there || why.status == ENOENT)
        return true;
    if (err)
        *err = why;
    return false;
}

// ---- reading ------------------------------------------------------------------------------------

void shard_list_free(struct shard_list *list)
{
    if (!list)
        return;
    arena_free(list->arena);
    free(list->items);
    free(list);
}
DEFINE_CLEANUP(shard_list, shard_list_free)

const struct store_shard *shard_list_items(const struct shard_list *list, size_t *count)
{
    *count = list->count;
    return list->items;
}

static struct text copied_text(struct shard_list *list, struct text text)
{
    return (struct text){arena_copy(list->arena, text.at, text.len), text.len};
}

static bool take_shard(struct shard_list *list, const struct folder *folder, const char *name,
                       struct error *err)
{
    AUTO_BUFFER text = {0};
    char version[SHARD_VERSION_MAX];
    bool is_there;
    if (!read_shard(&text, folder, name, &is_there, err))
        return false;
    if (!is_there)
        return true;
    write_version(buffer_text(&text), version);
    mem_reserve(&list->items, &list->capacity, list->count + 1);
    list->items[list->count++] =
        (struct store_shard){.name = copied_text(list, text_of(name)),
                             .version = copied_text(list, text_of(version)),
                             .text = copied_text(list, buffer_text(&text))};
    return true;
}

static bool take_names(struct shard_list *list, const struct folder *folder, const char *prefix,
                       char *const *names, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (text_starts(text_of(names[i]), prefix) && !take_shard(list, folder, names[i], err))
            return false;
    return true;
}

static bool list_names(const struct folder *folder, char ***names, size_t *count, struct error *err)
{
    AUTO_BUFFER path = {0};
    struct error why;
    add_folder(&path, folder);
    if (disk_list(path.at, names, count, &why) || why.status == ENOENT)
        return true;
    if (err)
        *err = why;
    return false;
}

struct shard_list *shard_files_read(const struct folder *folder, const char *prefix,
                                    struct error *err)
{
    char **names = NULL;
    size_t count = 0;
    CLEANUP(shard_list) struct shard_list *list = mem_new_of(struct shard_list);
    list->arena = arena_new();
    bool is_read = list_names(folder, &names, &count, err) &&
                   take_names(list, folder, prefix, names, count, err);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return is_read ? steal(list) : NULL;
}

// ---- writing ------------------------------------------------------------------------------------

static bool refuse_shard(struct error *err, int status, const char *name, const char *why)
{
    error_set(err, FAULT_RACE, "Conflict", "%s: %s", name, why);
    if (err)
        err->status = status;
    return false;
}

static bool check_size(const struct store_shard_put *put, struct error *err)
{
    return put->text.len <= STORE_SHARD_OCTETS_MAX ||
           error_set(err, FAULT_SPEC, "Invalid", "%s: has %zu octets, and at most %d are allowed",
                     put->name, put->text.len, STORE_SHARD_OCTETS_MAX);
}

// Does that state stand there? `version` NULL: nothing does.
static bool check_version(const struct folder *folder, const char *name, const char *version,
                          struct error *err)
{
    AUTO_BUFFER text = {0};
    char now[SHARD_VERSION_MAX];
    bool is_there;
    if (!read_shard(&text, folder, name, &is_there, err))
        return false;
    if (!is_there)
        return version ? refuse_shard(err, 404, name, "is gone") : true;
    if (!version)
        return refuse_shard(err, 409, name, "is there already");
    write_version(buffer_text(&text), now);
    return !strcmp(now, version) || refuse_shard(err, 409, name, "has been modified");
}

bool shard_files_put(struct folder *folder, const struct store_shard_put *put,
                     char version[SHARD_VERSION_MAX], struct error *err)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER parent = {0};
    struct error why = {0};
    struct disk *disk = folder->world.disk;
    add_folder(&parent, folder);
    add_path(&path, folder, put->name);
    if (!check_size(put, err) || !check_version(folder, put->name, put->version, err))
        return false;
    if (disk_make_folder(disk, parent.at, 0755, &why) &&
        disk_replace(disk, path.at, put->text, 0600, true, &why)) {
        write_version(put->text, version);
        return true;
    }
    write_back_probe_files(folder, parent.at, put->text.len, &why);
    if (err)
        *err = why;
    return false;
}

bool shard_files_drop(struct folder *folder, const char *name, const char *version,
                      struct error *err)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER parent = {0};
    struct error why;
    add_folder(&parent, folder);
    add_path(&path, folder, name);
    bool is_there = check_version(folder, name, version, &why);
    if (is_there && disk_remove(folder->world.disk, path.at, &why))
        return true;
    if (is_there)
        write_back_probe_files(folder, parent.at, 0, &why);
    if (err)
        *err = why;
    return !is_there && why.status == 404;
}
