#include "store/folder/made.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "store/put.h"

enum { MADE_OCTETS_MAX = 16 * 1024 * 1024, NAME_OCTETS_MAX = 140 };

void made_init(struct made *made, struct disk *disk, const char *folder)
{
    made->disk = disk;
    made->folder = mem_copy_text(folder);
}

static void forget_files(struct made *made)
{
    for (size_t i = 0; i < made->count; i++)
        free(made->files[i].path);
    made->count = 0;
}

void made_done(struct made *made)
{
    forget_files(made);
    free(made->files);
    free(made->folder);
}

// *tree is NULL where the file is not there, or is no YAML. False: it cannot be read.
static bool read_tree(struct arena *arena, const char *path, struct value **tree, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct error why = {0};
    bool has;
    *tree = NULL;
    if (!disk_read(&text, path, MADE_OCTETS_MAX, &why)) {
        if (err)
            *err = why;
        return why.status == ENOENT;
    }
    const char *copy = arena_copy(arena, text.at ? text.at : "", text.len);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new((struct text){copy, text.len}, &value_manifest_limits);
    if (!yaml_reader_next(reader, arena, tree, &has, NULL))
        *tree = NULL;
    return true;
}

static struct made_file *find(struct made *made, const char *path)
{
    for (size_t i = 0; i < made->count; i++)
        if (!strcmp(made->files[i].path, path))
            return &made->files[i];
    return NULL;
}

static void remember(struct made *made, const char *path, const struct value *tree)
{
    const struct value *owners = value_at(tree, "metadata.ownerReferences", NULL);
    struct made_file *file = find(made, path);
    if (!file) {
        mem_reserve(&made->files, &made->capacity, made->count + 1);
        file = &made->files[made->count++];
        *file = (struct made_file){.path = mem_copy_text(path)};
    }
    struct text uid = value_text_at(owners ? owners->first : NULL, "uid");
    file->is_doomed = false;
    snprintf(file->owner, sizeof file->owner, "%.*s", TEXT_ARGS(uid));
}

static void tell(const struct made *made, const char *path, bool is_there)
{
    if (made->changed)
        made->changed(made->context, path, is_there);
}

// File systems have names of 255 octets, and what follows (".yaml.status", a temporary file) needs
// some of them.
static void add_name(struct buffer *out, struct text name)
{
    uint8_t digest[DIGEST_MAX];
    if (name.len <= NAME_OCTETS_MAX) {
        buffer_add(out, name.at, name.len);
        return;
    }
    digest_of(DIGEST_SHA256, name, digest);
    buffer_printf(out, "%.*s-", NAME_OCTETS_MAX, name.at);
    for (size_t i = 0; i < 5; i++)
        buffer_printf(out, "%02x", digest[i]);
}

static void add_path(struct buffer *out, const struct made *made, const struct object_ref_key *key)
{
    buffer_printf(out, "%s/%s.%.*s.", made->folder, key->kind->plural, TEXT_ARGS(key->namespace_));
    add_name(out, key->name);
    buffer_add_text(out, ".yaml");
}

static void write_comment(struct buffer *out, const struct kind *kind)
{
    buffer_add_text(out, "# Written by Signpost; ");
    if (kind->edited)
        buffer_printf(out, "edit nothing but %s.\n", kind->edited);
    else
        buffer_add_text(out, "do not edit.\n");
}

static bool write_tree(struct made *made, const struct kind *kind, const char *path,
                       const struct value *tree, struct error *err)
{
    AUTO_BUFFER text = {0};
    write_comment(&text, kind);
    value_write_yaml(&text, tree, 0);
    if (!disk_make_folder(made->disk, made->folder, 0755, err) ||
        !disk_replace(made->disk, path, buffer_text(&text), 0644, true, err))
        return false;
    remember(made, path, tree);
    tell(made, path, true);
    return true;
}

bool made_put(struct made *made, const struct store_put *put, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct value *tree = put_tree(arena, &put->key, put->tree);
    struct value *now = NULL;
    add_path(&path, made, &put->key);
    if (!read_tree(arena, path.at, &now, err) ||
        (now && !put_is_ours(put, now) && !put_refuse(put, err)))
        return false;
    put_keep(arena, tree, put->kept, now);
    return write_tree(made, put->key.kind, path.at, tree, err);
}

bool made_patch(struct made *made, const struct store_put *put, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct value *now;
    add_path(&path, made, &put->key);
    if (!read_tree(arena, path.at, &now, err))
        return false;
    struct value *tree = value_merge_patch(arena, now, put_tree(arena, &put->key, put->tree));
    return write_tree(made, put->key.kind, path.at, tree, err);
}

bool made_has(const struct made *made, const struct object_ref_key *key)
{
    AUTO_BUFFER path = {0};
    struct disk_stat found;
    add_path(&path, made, key);
    return disk_stat(path.at, &found, NULL);
}

static void forget(struct made *made, size_t at)
{
    free(made->files[at].path);
    made->files[at] = made->files[--made->count];
}

static bool drop(struct made *made, size_t at)
{
    made->files[at].is_doomed = true;
    if (!disk_remove(made->disk, made->files[at].path, NULL))
        return false;
    tell(made, made->files[at].path, false);
    forget(made, at);
    return true;
}

bool made_drop(struct made *made, const struct object_ref_key *key, struct error *err)
{
    AUTO_BUFFER path = {0};
    add_path(&path, made, key);
    if (!disk_remove(made->disk, path.at, err))
        return false;
    tell(made, path.at, false);
    const struct made_file *file = find(made, path.at);
    if (file)
        forget(made, (size_t)(file - made->files));
    return true;
}

void made_forget(struct made *made, const char *uid)
{
    for (size_t i = made->count; i-- > 0;)
        if (!strcmp(made->files[i].owner, uid))
            drop(made, i);
}

bool made_clear(struct made *made)
{
    bool is_clear = true;
    for (size_t i = made->count; i-- > 0;)
        if (made->files[i].is_doomed && !drop(made, i))
            is_clear = false;
    return is_clear;
}

static void learn(struct made *made, const char *name)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    size_t len = strlen(name);
    if (len < 5 || strcmp(name + len - 5, ".yaml") != 0)
        return;
    buffer_printf(&path, "%s/%s", made->folder, name);
    struct value *tree;
    if (read_tree(arena, path.at, &tree, NULL) && tree)
        remember(made, path.at, tree);
}

static void learn_all(struct made *made)
{
    char **names = NULL;
    size_t count = 0;
    forget_files(made);
    if (!disk_list(made->folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        learn(made, names[i]);
        free(names[i]);
    }
    free(names);
}

void made_sweep(struct made *made, bool (*is_known)(const void *context, const char *uid),
                const void *context)
{
    learn_all(made);
    for (size_t i = made->count; i-- > 0;)
        if (*made->files[i].owner && !is_known(context, made->files[i].owner))
            drop(made, i);
}

bool made_next_orphan(struct made *made, bool (*is_known)(const void *context, const char *uid),
                      const void *context, size_t *cursor, const char **path)
{
    if (!*cursor)
        learn_all(made);
    while (*cursor < made->count) {
        const struct made_file *file = &made->files[(*cursor)++];
        *path = file->path;
        if (*file->owner && !is_known(context, file->owner))
            return true;
    }
    return false;
}
