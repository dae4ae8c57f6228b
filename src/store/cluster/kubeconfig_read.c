#include "store/cluster/kubeconfig_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/section.h"
#include "io/disk.h"
#include "store/cluster/kubeconfig_user.h"

enum { FILES_MAX = 64, FILE_OCTETS_MAX = 4 * 1024 * 1024 };

struct kubeconfig_file {
    const char *path;
    const char *folder;
    const struct value *root;
};

struct kubeconfig_files {
    struct arena *arena;
    struct kubeconfig_file files[FILES_MAX];
    size_t count;
};

// ---- files --------------------------------------------------------------------------------------

struct kubeconfig_files *kubeconfig_files_new(void)
{
    struct kubeconfig_files *files = mem_new_of(struct kubeconfig_files);
    files->arena = arena_new();
    return files;
}

// Ours alone; the cast only takes its const away.
static void wipe(const struct value *value)
{
    if (value->type == VALUE_TEXT)
        secret_wipe((void *)(uintptr_t)value->text.at, value->text.len);
    if (value->type == VALUE_LIST || value->type == VALUE_MAP)
        value_each (item, value)
            wipe(item);
}

void kubeconfig_files_free(struct kubeconfig_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].root)
            wipe(files->files[i].root);
    arena_free(files->arena);
    free(files);
}

size_t kubeconfig_files_count(const struct kubeconfig_files *files)
{
    return files->count;
}

static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "" : arena_copy(arena, path, (size_t)(slash - path));
}

static bool parse(struct kubeconfig_file *file, struct text text, struct arena *arena,
                  struct error *err)
{
    struct value *root = NULL;
    bool has = false;
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text, &value_manifest_limits);
    if (!yaml_reader_next(reader, arena, &root, &has, err))
        return error_prefix(err, "%s:", file->path);
    file->root = root;
    return true;
}

static bool check_head(const struct kubeconfig_file *file, struct arena *arena, struct error *err)
{
    static const char *const rows[][2] = {{"kind", "Config"}, {"apiVersion", "v1"}};
    struct section top = {arena, file->path, file->folder, "", file->root};
    if (file->root && file->root->type != VALUE_MAP && file->root->type != VALUE_NULL)
        return section_fail(&top, NULL, "", err, "not a kubeconfig: expected a map");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *text;
        if (!section_text(&top, rows[i][0], &text, err))
            return false;
        if (text && strcmp(text, rows[i][1]))
            return section_fail(&top, value_find(top.map, rows[i][0]), rows[i][0], err,
                                "not a kubeconfig: expected %s", rows[i][1]);
    }
    return true;
}

bool kubeconfig_files_add(struct kubeconfig_files *files, const char *path, bool must_exist,
                          struct error *err)
{
    AUTO_BUFFER octets = {0};
    struct error why = {0};
    if (!disk_read(&octets, path, FILE_OCTETS_MAX, &why)) {
        if (why.status == ENOENT && !must_exist)
            return true;
        return error_set(err, FAULT_SPEC, "InvalidConfiguration", "kubeconfig: %s", why.text);
    }
    struct kubeconfig_file file = {path, folder_of(files->arena, path), NULL};
    bool is_ok = parse(&file, buffer_text(&octets), files->arena, err) &&
                 check_head(&file, files->arena, err);
    secret_wipe(octets.at, octets.capacity);
    if (!is_ok)
        return false;
    if (files->count == FILES_MAX)
        return error_set(err, FAULT_SPEC, "InvalidConfiguration",
                         "KUBECONFIG names more than %d files", FILES_MAX);
    files->files[files->count++] = file;
    return true;
}

bool kubeconfig_check_file(const char *path, struct error *err)
{
    AUTO_BUFFER octets = {0};
    if (!disk_read(&octets, path, FILE_OCTETS_MAX, err)) {
        if (err)
            err->fault = FAULT_SPEC;
        return false;
    }
    bool is_empty = text_trim(buffer_text(&octets)).len == 0;
    secret_wipe(octets.at, octets.capacity);
    if (is_empty)
        return error_set(err, FAULT_SPEC, "InvalidConfiguration", "%s is empty", path);
    return true;
}

// ---- entries by name ----------------------------------------------------------------------------

// The lists of named entries.
struct list {
    const char *key;   // "users"
    const char *entry; // "user"
};
static const struct list contexts = {"contexts", "context"};
static const struct list clusters = {"clusters", "cluster"};
static const struct list users = {"users", "user"};

struct lookup {
    const struct list *list;
    const char *name;
    struct section found; // `at` is NULL: not found
};

static bool look_at_entry(struct lookup *lookup, const struct section *entry, bool *is_ours,
                          struct error *err)
{
    const char *name;
    if (entry->map->type != VALUE_MAP)
        return section_fail(entry, entry->map, "", err, "expected a map");
    if (!section_text(entry, "name", &name, err))
        return false;
    *is_ours = name && !strcmp(name, lookup->name);
    return true;
}

static bool look_into_file(struct lookup *lookup, struct arena *arena,
                           const struct kubeconfig_file *file, struct error *err)
{
    size_t index = 0;
    const struct value *entries = value_find(file->root, lookup->list->key);
    struct section top = {arena, file->path, file->folder, lookup->list->key, entries};
    if (entries && entries->type != VALUE_LIST && entries->type != VALUE_NULL)
        return section_fail(&top, entries, "", err, "expected a list");
    value_each (item, entries && entries->type == VALUE_LIST ? entries : NULL) {
        struct section entry = top;
        bool is_ours = false;
        entry.at = arena_printf(arena, "%s[%zu]", lookup->list->key, index++);
        entry.map = item;
        if (!look_at_entry(lookup, &entry, &is_ours, err))
            return false;
        if (is_ours && lookup->found.at)
            return section_fail(&entry, item, "name", err, "this name is taken by %s",
                                lookup->found.at);
        if (is_ours && !section_map(&entry, lookup->list->entry, &lookup->found, err))
            return false;
    }
    return true;
}

static bool find_entry(struct lookup *lookup, struct arena *arena,
                       const struct kubeconfig_files *files, struct error *err)
{
    for (size_t i = 0; i < files->count && !lookup->found.at; i++)
        if (!look_into_file(lookup, arena, &files->files[i], err))
            return false;
    return true;
}

// ---- the context --------------------------------------------------------------------------------

static const char *find_current(const struct kubeconfig_files *files, struct error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct kubeconfig_file *file = &files->files[i];
        struct section top = {files->arena, file->path, file->folder, "", file->root};
        const char *name;
        if (!section_text(&top, "current-context", &name, err))
            return NULL;
        if (name)
            return name;
    }
    error_set(err, FAULT_SPEC, "InvalidConfiguration",
              "%s: current-context is not set: name a context with --context",
              files->count ? files->files[0].path : "kubeconfig");
    return NULL;
}

static const char *list_names(struct arena *arena, const struct kubeconfig_files *files)
{
    enum { NAMES_SHOWN_MAX = 400 };
    AUTO_BUFFER names = {0};
    for (size_t i = 0; i < files->count; i++)
        value_each (item, value_find(files->files[i].root, contexts.key)) {
            struct text name = value_text_at(item, "name");
            buffer_printf(&names, "%s%.*s", names.len ? ", " : "", TEXT_ARGS(name));
        }
    struct text shown = utf8_prefix(buffer_text(&names), NAMES_SHOWN_MAX);
    return arena_copy(arena, shown.at, shown.len);
}

static bool find_context(struct arena *arena, const struct kubeconfig_files *files,
                         const char *name, struct section *out, struct error *err)
{
    struct lookup lookup = {.list = &contexts, .name = name};
    if (!find_entry(&lookup, arena, files, err))
        return false;
    *out = lookup.found;
    if (lookup.found.at)
        return true;
    const char *names = list_names(arena, files);
    return error_set(err, FAULT_SPEC, "InvalidConfiguration",
                     "%s: there is no context %s (contexts: %s)", files->files[0].path, name,
                     names[0] ? names : "none");
}

// What a context refers to must be there.
static bool find_of_context(const struct section *context, const struct kubeconfig_files *files,
                            const struct list *list, const char *name, struct section *out,
                            struct error *err)
{
    struct lookup lookup = {.list = list, .name = name};
    if (!find_entry(&lookup, files->arena, files, err))
        return false;
    *out = lookup.found;
    out->arena = context->arena;
    return lookup.found.at ||
           section_fail(context, value_find(context->map, list->entry), list->entry, err,
                        "%s has no entry of the name %s", list->key, name);
}

static bool read_cluster_of(struct kube_access *access, const struct section *context,
                            const struct kubeconfig_files *files, struct error *err)
{
    const char *name;
    struct section cluster;
    if (!section_text(context, "cluster", &name, err))
        return false;
    if (!name)
        return section_fail(context, NULL, "cluster", err, "is not set");
    return find_of_context(context, files, &clusters, name, &cluster, err) &&
           kubeconfig_read_cluster(access, &cluster, err);
}

// A context without a user is anonymous.
static bool read_user_of(struct kube_access *access, const struct section *context,
                         const struct kubeconfig_files *files, struct error *err)
{
    const char *name;
    struct section user;
    if (!section_text(context, "user", &name, err))
        return false;
    return !name || (find_of_context(context, files, &users, name, &user, err) &&
                     kubeconfig_read_user(access, &user, err));
}

bool kubeconfig_read(struct kube_access *access, const struct kubeconfig_files *files,
                     const char *context, struct error *err)
{
    struct section section = {0};
    const char *name = context && context[0] ? context : find_current(files, err);
    if (!name || !find_context(files->arena, files, name, &section, err))
        return false;
    section.arena = access->arena;
    if (!section_text(&section, "namespace", &access->namespace_, err))
        return false;
    access->source = arena_printf(access->arena, "kubeconfig %s, context %s", section.file, name);
    return read_cluster_of(access, &section, files, err) &&
           read_user_of(access, &section, files, err);
}
