#include "store/folder/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/folder/changes.h"
#include "store/folder/degraded.h"
#include "store/folder/lead.h"
#include "store/folder/name.h"
#include "store/folder/schedule.h"
#include "store/folder/write.h"
#include "store/folder/write_back.h"

enum { SHOWN_FAULTS = 8 };

static struct folder *of(struct store *store)
{
    return (struct folder *)store;
}

void id_list_add(struct id_list *list, uint32_t id)
{
    mem_reserve(&list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = id;
}

const struct store_kind *folder_type(const struct folder *folder, const struct kind *kind)
{
    for (size_t i = 0; i < folder->kind_count; i++)
        if (folder->types[i].kind == kind)
            return &folder->types[i];
    return NULL;
}

const char *folder_place(struct buffer *full, const struct folder *folder, const char *path)
{
    bool is_child = name_is_child(path);
    buffer_printf(full, "%s/%s", is_child ? folder->state_dir : folder->dir, path);
    return is_child ? folder->own_dir : folder->dir;
}

int64_t folder_now_ms(const struct folder *folder)
{
    return loop_mono_ms(folder->world.loop);
}

// ---- operations ---------------------------------------------------------------------------------

static bool folder_start(struct store *store, const struct store_sink *sink, struct error *err)
{
    struct folder *folder = of(store);
    (void)err;
    folder->sink = *sink;
    lead_start(folder);
    schedule_start(folder);
    return true;
}

static void folder_get(struct store *store, const struct object_ref_key *key, store_done *done,
                       void *context)
{
    write_get(of(store), key, done, context);
}

static void folder_apply(struct store *store, const struct store_apply *apply, store_done *done,
                         void *context)
{
    write_apply(of(store), apply, done, context);
}

static void folder_patch_status(struct store *store, const struct object *object,
                                const struct value *status, store_done *done, void *context)
{
    write_patch_status(of(store), object, status, done, context);
}

static void folder_remove_finalizer(struct store *store, const struct object *object,
                                    store_done *done, void *context)
{
    write_remove_finalizer(of(store), object, done, context);
}

static void folder_write_object(struct store *store, const struct store_object_write *write,
                                store_done *done, void *context)
{
    write_object(of(store), write, done, context);
}

static void folder_read_shards(struct store *store, const char *label, const char *prefix,
                               store_done *done, void *context)
{
    (void)label;
    write_read_shards(of(store), prefix, done, context);
}

static void folder_put_shard(struct store *store, const struct store_shard_put *put,
                             store_done *done, void *context)
{
    write_put_shard(of(store), put, done, context);
}

static void folder_drop_shard(struct store *store, const char *name, const char *version,
                              store_done *done, void *context)
{
    write_drop_shard(of(store), name, version, done, context);
}

static void folder_publish_event(struct store *store, const struct kube_event *note)
{
    struct folder *folder = of(store);
    if (!folder->is_leading || !note->regarding)
        return;
    events_add(&folder->events, note, loop_unix_ms(folder->world.loop));
    write_back_wake(folder);
}

static void folder_flush(struct store *store)
{
    write_back_flush(of(store));
}

static const char *describe_faults(struct folder *folder)
{
    struct buffer *text = &folder->check_text;
    buffer_clear(text);
    if (!folder->fault_count)
        return "";
    buffer_printf(text, "%zu refused: ", folder->fault_count);
    size_t shown = 0;
    list_each (faults, &folder->faults)
        for (size_t i = 0; i < faults->count && shown < SHOWN_FAULTS; i++)
            buffer_printf(text, "%s%s", shown++ ? " | " : "", faults->lines[i].text);
    if (folder->fault_count > shown)
        buffer_add_text(text, " | ...");
    return text->at;
}

static size_t folder_checks(struct store *store, struct store_check *out, size_t capacity)
{
    struct folder *folder = of(store);
    const char *degraded = degraded_text(folder);
    const char *reading = folder->was_synced ? "" : "reading the manifests";
    const struct store_check checks[] = {
        {"folder", folder->is_synced, false, folder->why ? folder->why : reading},
        {"store", !degraded, false, degraded ? degraded : ""},
        {"manifests", !folder->fault_count, true, describe_faults(folder)},
    };
    size_t count = capacity < COUNT_OF(checks) ? capacity : COUNT_OF(checks);
    memcpy(out, checks, count * sizeof *checks);
    return count;
}

static void folder_free(struct store *store)
{
    struct folder *folder = of(store);
    schedule_done(folder);
    write_done(folder);
    write_back_done(folder);
    lead_done(folder);
    events_done(&folder->events);
    generated_done(&folder->generated);
    generated_done(&folder->owned_objects);
    state_done(&folder->state);
    status_files_done(&folder->status_files);
    entries_done(&folder->entries);
    degraded_done(folder);
    cache_free(folder->store.cache);
    kind_patterns_free(folder->patterns);
    arena_free(folder->arena);
    buffer_done(&folder->check_text);
    free(folder->why);
    free(folder->types);
    free(folder->kinds);
    free(folder->dir);
    free(folder->state_dir);
    free(folder->own_dir);
    free(folder->owner_id);
    free(folder);
}

const char *folder_holder(struct store *store)
{
    struct folder *folder = of(store);
    if (folder->is_leading)
        return NULL;
    buffer_clear(&folder->check_text);
    lead_write_holder(&folder->check_text, folder);
    return folder->check_text.at;
}

// Kept, or to be kept by who leads first.
static const char *folder_owner_id(const struct store *store)
{
    const struct folder *folder = (const struct folder *)store;
    if (folder->owner_id)
        return folder->owner_id;
    bool is_known = folder->is_leading || folder->state.had_owner;
    return is_known && folder->state.owner_id[0] ? folder->state.owner_id : NULL;
}

static const struct store_ops folder_ops = {
    .start = folder_start,
    .get = folder_get,
    .apply = folder_apply,
    .patch_status = folder_patch_status,
    .remove_finalizer = folder_remove_finalizer,
    .write_object = folder_write_object,
    .read_shards = folder_read_shards,
    .put_shard = folder_put_shard,
    .drop_shard = folder_drop_shard,
    .publish_event = folder_publish_event,
    .checks = folder_checks,
    .flush = folder_flush,
    .free = folder_free,
    .owner_id = folder_owner_id,
};

// ---- opening ------------------------------------------------------------------------------------

static char *join_path(const char *folder, const char *name)
{
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "%s/%s", folder ? folder : "", name);
    return buffer_steal(&path);
}

static bool find_folders(struct folder *folder, const struct folder_options *options,
                         bool is_writing, struct error *err)
{
    char **names = NULL;
    size_t count = 0;
    folder->dir = disk_real_path(options->dir, err);
    if (!folder->dir || !disk_list(folder->dir, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    if (!options->state_dir) {
        folder->state_dir = mem_copy_text(folder->dir);
        return true;
    }
    if (is_writing && !disk_make_folder(folder->world.disk, options->state_dir, 0755, err))
        return false;
    folder->state_dir = disk_real_path(options->state_dir, is_writing ? err : NULL);
    if (!folder->state_dir && !is_writing)
        folder->state_dir = mem_copy_text(options->state_dir);
    return folder->state_dir != NULL;
}

static bool open_state(struct folder *folder, bool has_state_dir, struct error *err)
{
    folder->own_dir = join_path(folder->state_dir, ".signpost");
    if (folder->is_reading)
        return true;
    if (disk_make_folder(folder->world.disk, folder->own_dir, 0755, err) && lead_open(folder, err))
        return true;
    if (!has_state_dir)
        error_prefix(err, "start with --state-dir FOLDER to keep status elsewhere: ");
    return false;
}

static void copy_kinds(struct folder *folder, const struct folder_options *options)
{
    folder->kind_count = options->kind_count;
    folder->types = mem_new_array(struct store_kind, options->kind_count + 1);
    folder->kinds = mem_new_array(const struct kind *, options->kind_count + 1);
    for (size_t i = 0; i < options->kind_count; i++) {
        folder->types[i] = options->kinds[i];
        folder->kinds[i] = options->kinds[i].kind;
    }
}

static void open_parts(struct folder *folder)
{
    struct disk *disk = folder->world.disk;
    autofree char *state = join_path(folder->own_dir, "state.db");
    autofree char *events = join_path(folder->own_dir, "events.jsonl");
    autofree char *generated = join_path(folder->own_dir, "made");
    autofree char *children = join_path(folder->state_dir, NAME_CHILDREN);
    status_files_init(&folder->status_files, disk, folder->state_dir ? folder->state_dir : "",
                      &folder->state);
    folder->status_files.is_shared = folder->state_dir && !strcmp(folder->state_dir, folder->dir);
    state_init(&folder->state, disk, state);
    generated_init(&folder->generated, disk, generated);
    generated_init(&folder->owned_objects, disk, children);
    folder->owned_objects.changed = changes_report_child;
    folder->owned_objects.failed = folder->generated.failed = write_back_probe_files;
    folder->owned_objects.context = folder->generated.context = folder;
    events_init(&folder->events, disk, events);
}

static struct folder *make_folder(const struct world *world, const struct folder_options *options,
                                  struct log *log)
{
    struct folder *folder = mem_new_of(struct folder);
    folder->store =
        (struct store){.ops = &folder_ops, .cache = cache_new(), .debounce_ms = DEBOUNCE_MS};
    folder->world = *world;
    folder->log = log;
    folder->lock = folder->dir_lock = -1;
    folder->allow_empty = options->allow_empty;
    folder->is_reading = options->is_reading;
    folder->owner_id = options->owner_id ? mem_copy_text(options->owner_id) : NULL;
    folder->patterns = kind_patterns_new();
    folder->arena = arena_new();
    entries_init(&folder->entries);
    copy_kinds(folder, options);
    schedule_init(folder);
    write_init(folder);
    write_back_init(folder);
    return folder;
}

struct folder *folder_open_reader(const struct world *world, const struct folder_options *options,
                                  struct error *err)
{
    struct folder *folder = make_folder(world, options, NULL);
    bool is_found = find_folders(folder, options, false, err);
    folder->own_dir = join_path(folder->state_dir, ".signpost");
    open_parts(folder);
    if (is_found)
        return folder;
    folder_free(&folder->store);
    return NULL;
}

void folder_close_reader(struct folder *folder)
{
    if (folder)
        folder_free(&folder->store);
}

struct store *folder_new(const struct world *world, const struct folder_options *options,
                         struct log *log, struct error *err)
{
    struct folder *folder = make_folder(world, options, log);
    bool is_open = find_folders(folder, options, !options->is_reading, err) &&
                   open_state(folder, options->state_dir, err);
    open_parts(folder);
    if (is_open)
        return &folder->store;
    folder_free(&folder->store);
    return NULL;
}
