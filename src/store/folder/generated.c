#include "store/folder/generated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "store/put.h"

enum { GENERATED_OCTETS_MAX = 16 * 1024 * 1024, NAME_OCTETS_MAX = 140 };

void generated_init(struct generated *generated, struct disk *disk, const char *folder)
{
    generated->disk = disk;
    generated->folder = mem_copy_text(folder);
}

static void forget_files(struct generated *generated)
{
    for (size_t i = 0; i < generated->count; i++)
        free(generated->files[i].path);
    generated->count = 0;
}

void generated_done(struct generated *generated)
{
    forget_files(generated);
    free(generated->files);
    free(generated->folder);
}

#define MARK "# Written by Signpost; "

// *tree is NULL where the file is not there, or is no YAML. False: it cannot be read.
static bool read_tree(struct arena *arena, const char *path, struct value **tree, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct error why = {0};
    bool has;
    *tree = NULL;
    if (!disk_read(&text, path, GENERATED_OCTETS_MAX, &why)) {
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

static struct generated_file *find_file(struct generated *generated, const char *path)
{
    for (size_t i = 0; i < generated->count; i++)
        if (!strcmp(generated->files[i].path, path))
            return &generated->files[i];
    return NULL;
}

static void remember_file(struct generated *generated, const char *path, const struct value *tree)
{
    const struct value *owners = value_at(tree, "metadata.ownerReferences", NULL);
    struct generated_file *file = find_file(generated, path);
    if (!file) {
        mem_reserve(&generated->files, &generated->capacity, generated->count + 1);
        file = &generated->files[generated->count++];
        *file = (struct generated_file){.path = mem_copy_text(path)};
    }
    struct text uid = value_text_at(owners ? owners->first : NULL, "uid");
    file->is_doomed = false;
    snprintf(file->owner, sizeof file->owner, "%.*s", TEXT_ARGS(uid));
}

static void report_change(const struct generated *generated, const char *path, bool is_there)
{
    if (generated->changed)
        generated->changed(generated->context, path, is_there);
}

static bool report_failure(const struct generated *generated, size_t octets,
                           const struct error *why, struct error *err)
{
    if (generated->failed)
        generated->failed(generated->context, generated->folder, octets, why);
    if (err)
        *err = *why;
    return false;
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

static void add_path(struct buffer *out, const struct generated *generated,
                     const struct object_ref_key *key)
{
    buffer_printf(out, "%s/%s.%.*s.", generated->folder, key->kind->plural,
                  TEXT_ARGS(key->namespace_));
    add_name(out, key->name);
    buffer_add_text(out, ".yaml");
}

static void write_comment(struct buffer *out, const struct kind *kind)
{
    buffer_add_text(out, MARK);
    if (kind->edited)
        buffer_printf(out, "edit nothing but %s.\n", kind->edited);
    else
        buffer_add_text(out, "do not edit.\n");
}

static bool write_tree(struct generated *generated, const struct kind *kind, const char *path,
                       const struct value *tree, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct error why = {0};
    write_comment(&text, kind);
    value_write_yaml(&text, tree, 0);
    if (!disk_make_folder(generated->disk, generated->folder, 0755, &why) ||
        !disk_replace(generated->disk, path, buffer_text(&text), kind->is_secret ? 0600 : 0644,
                      true, &why))
        return report_failure(generated, text.len, &why, err);
    remember_file(generated, path, tree);
    report_change(generated, path, true);
    return true;
}

// What we wrote and nobody owns yet is ours: its owner is still to be made.
static bool awaits_owner(const char *path, const struct value *tree)
{
    AUTO_BUFFER head = {0};
    const struct value *owners = value_at(tree, "metadata.ownerReferences", NULL);
    return !(owners && owners->first) && disk_read_head(&head, path, sizeof MARK - 1, NULL) &&
           text_is(buffer_text(&head), MARK);
}

bool generated_put(struct generated *generated, const struct store_object_write *put,
                   struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct value *tree = put_tree(arena, &put->key, put->tree);
    struct value *now = NULL;
    struct error why = {0};
    add_path(&path, generated, &put->key);
    if (!read_tree(arena, path.at, &now, &why))
        return report_failure(generated, 0, &why, err);
    if (now && !put_is_ours(put, now) && !awaits_owner(path.at, now))
        return put_refuse(put, err);
    put_keep(arena, tree, put->kept, now);
    return write_tree(generated, put->key.kind, path.at, tree, err);
}

bool generated_patch(struct generated *generated, const struct store_object_write *put,
                     struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct value *now;
    struct error why = {0};
    add_path(&path, generated, &put->key);
    if (!read_tree(arena, path.at, &now, &why))
        return report_failure(generated, 0, &why, err);
    struct value *tree = value_merge_patch(arena, now, put_tree(arena, &put->key, put->tree));
    return write_tree(generated, put->key.kind, path.at, tree, err);
}

bool generated_relabel(struct generated *generated, const struct store_object_write *put,
                       struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct value *now;
    add_path(&path, generated, &put->key);
    if (put->is_of_any_replica || !read_tree(arena, path.at, &now, err) || !now)
        return false;
    const struct value *labels = put_labels_back(arena, put->tree, now, true);
    const struct store_object_write patch = {.key = put->key, .tree = labels};
    return labels && generated_patch(generated, &patch, err);
}

bool generated_has(const struct generated *generated, const struct object_ref_key *key)
{
    AUTO_BUFFER path = {0};
    struct disk_stat found;
    add_path(&path, generated, key);
    return disk_stat(path.at, &found, NULL);
}

static void forget_file(struct generated *generated, size_t at)
{
    free(generated->files[at].path);
    generated->files[at] = generated->files[--generated->count];
}

static bool drop_file(struct generated *generated, size_t at)
{
    struct error why = {0};
    generated->files[at].is_doomed = true;
    if (!disk_remove(generated->disk, generated->files[at].path, &why))
        return report_failure(generated, 0, &why, NULL);
    report_change(generated, generated->files[at].path, false);
    forget_file(generated, at);
    return true;
}

bool generated_drop(struct generated *generated, const struct object_ref_key *key,
                    struct error *err)
{
    AUTO_BUFFER path = {0};
    struct error why = {0};
    add_path(&path, generated, key);
    if (!disk_remove(generated->disk, path.at, &why))
        return report_failure(generated, 0, &why, err);
    report_change(generated, path.at, false);
    const struct generated_file *file = find_file(generated, path.at);
    if (file)
        forget_file(generated, (size_t)(file - generated->files));
    return true;
}

void generated_forget(struct generated *generated, const char *uid)
{
    for (size_t i = generated->count; i-- > 0;)
        if (!strcmp(generated->files[i].owner, uid))
            drop_file(generated, i);
}

bool generated_clear(struct generated *generated)
{
    bool is_clear = true;
    for (size_t i = generated->count; i-- > 0;)
        if (generated->files[i].is_doomed && !drop_file(generated, i))
            is_clear = false;
    return is_clear;
}

static void learn_file(struct generated *generated, const char *name)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    size_t len = strlen(name);
    if (len < 5 || strcmp(name + len - 5, ".yaml") != 0)
        return;
    buffer_printf(&path, "%s/%s", generated->folder, name);
    struct value *tree;
    if (read_tree(arena, path.at, &tree, NULL) && tree)
        remember_file(generated, path.at, tree);
}

static void learn_all(struct generated *generated)
{
    char **names = NULL;
    size_t count = 0;
    forget_files(generated);
    if (!disk_list(generated->folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        learn_file(generated, names[i]);
        free(names[i]);
    }
    free(names);
}

void generated_sweep(struct generated *generated,
                     bool (*is_known)(const void *context, const char *uid), const void *context)
{
    learn_all(generated);
    for (size_t i = generated->count; i-- > 0;)
        if (*generated->files[i].owner && !is_known(context, generated->files[i].owner))
            drop_file(generated, i);
}

bool generated_next_orphan(struct generated *generated,
                           bool (*is_known)(const void *context, const char *uid),
                           const void *context, size_t *cursor, const char **path)
{
    if (!*cursor)
        learn_all(generated);
    while (*cursor < generated->count) {
        const struct generated_file *file = &generated->files[(*cursor)++];
        *path = file->path;
        if (*file->owner && !is_known(context, file->owner))
            return true;
    }
    return false;
}
