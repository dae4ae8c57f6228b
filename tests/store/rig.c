#include "rig.h"

#include <string.h>

#include "base/memory.h"
#include "io/database.h"
#include "model/faulty_disk.h"
#include "model/virtual_loop.h"
#include "store/test_kind.h"

static const struct store_kind kinds[] = {
    [RIG_THING] = {.kind = &thing_kind, .finalizer = TEST_FINALIZER},
    [RIG_PLACE] = {.kind = &place_kind, .finalizer = TEST_FINALIZER},
    [RIG_TOKEN] = {.kind = &token_kind},
};

static void fill(struct random *random, void *out, size_t len)
{
    struct rig *rig = (struct rig *)((char *)random - offsetof(struct rig, random));
    uint8_t *at = out;
    for (size_t i = 0; i < len; i++) {
        rig->drawn = rig->drawn * 6364136223846793005ULL + 1442695040888963407ULL;
        at[i] = (uint8_t)(rig->drawn >> 56);
    }
}

static void write_log(void *context, struct text line)
{
    struct rig *rig = context;
    buffer_add(&rig->logged, line.at, line.len);
}

static int64_t now_ms(void *context)
{
    struct rig *rig = context;
    return loop_unix_ms(rig->loop);
}

struct rig *rig_new(void)
{
    struct rig *rig = mem_new_of(struct rig);
    struct log_sink sink = {write_log, now_ms, rig};
    test_folder_make(rig->dir);
    rig->loop = virtual_loop_new((int64_t)RIG_START_S * 1000);
    rig->disk = faulty_disk_new(disk_system(), rig->loop);
    rig->random.fill = fill;
    rig->drawn = 1;
    rig->log = log_new(&sink, LOG_JSON, LOG_DEBUG);
    return rig;
}

void rig_free(struct rig *rig)
{
    rig_drop(rig);
    assert_int_equal(virtual_loop_timer_count(rig->loop), 0);
    object_unref(rig->object);
    loop_free(rig->loop);
    faulty_disk_free(rig->disk);
    log_free(rig->log);
    test_folder_remove(rig->dir);
    if (*rig->state_dir)
        test_folder_remove(rig->state_dir);
    buffer_done(&rig->reported);
    buffer_done(&rig->logged);
    buffer_done(&rig->why);
    buffer_done(&rig->rows);
    buffer_done(&rig->json);
    free(rig);
}

// ---- listening ----------------------------------------------------------------------------------

static void take_event(void *context, const struct store_event *event)
{
    static const char *const names[] = {
        [STORE_ADDED] = "ADDED", [STORE_MODIFIED] = "MODIFIED", [STORE_DELETED] = "DELETED"};
    struct rig *rig = context;
    assert_int_equal(event->old != NULL, event->type != STORE_ADDED);
    assert_int_equal(event->is_initial, !rig->was_synced);
    buffer_printf(&rig->reported, "%s %s ", names[event->type], event->object->kind->name);
    object_write_name(&rig->reported, event->object);
    if (event->object->deleted_s && event->type != STORE_DELETED)
        buffer_add_text(&rig->reported, " in deletion");
    buffer_add_char(&rig->reported, '\n');
    void (*in_event)(struct rig * rig) = rig->in_event;
    rig->in_event = NULL;
    if (in_event)
        in_event(rig);
}

static void take_batch_end(void *context)
{
    struct rig *rig = context;
    buffer_add_text(&rig->reported, ".\n");
}

static void take_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    struct rig *rig = context;
    (void)kind;
    rig->is_synced = is_synced;
    rig->was_synced = rig->was_synced || is_synced;
    buffer_clear(&rig->why);
    buffer_add_text(&rig->why, why ? why : "");
}

static void take_leading(void *context, bool is_leading)
{
    struct rig *rig = context;
    rig->is_leading = is_leading;
}

static void take_fenced(void *context)
{
    const struct rig *rig = context;
    assert_false(rig->is_leading);
}

static void take_writable(void *context)
{
    struct rig *rig = context;
    buffer_add_text(&rig->reported, "WRITABLE\n");
}

// ---- opening ------------------------------------------------------------------------------------

static struct folder_options options_of(const struct rig *rig)
{
    return (struct folder_options){
        .dir = rig->dir,
        .state_dir = *rig->state_dir ? rig->state_dir : NULL,
        .allow_empty = rig->allow_empty,
        .kinds = kinds,
        .kind_count = rig->kind_count ? rig->kind_count : COUNT_OF(kinds),
    };
}

bool rig_try_open(struct rig *rig)
{
    struct world world = {.loop = rig->loop, .disk = rig->disk, .random = &rig->random};
    struct folder_options options = options_of(rig);
    struct store_sink sink = {.event = take_event,
                              .batch_end = take_batch_end,
                              .synced = take_synced,
                              .leading = take_leading,
                              .fenced = take_fenced,
                              .writable = take_writable,
                              .context = rig};
    error_clear(&rig->error);
    rig->is_synced = rig->was_synced = rig->is_leading = false;
    buffer_clear(&rig->why);
    rig->store = folder_new(&world, &options, rig->log, &rig->error);
    return rig->store && store_start(rig->store, &sink, &rig->error);
}

void rig_open(struct rig *rig)
{
    bool is_open = rig_try_open(rig);
    assert_string_equal(rig->error.text, "");
    assert_true(is_open);
    rig_run(rig, 90);
}

void rig_drop(struct rig *rig)
{
    store_free(rig->store);
    rig->store = NULL;
}

void rig_restart(struct rig *rig)
{
    rig_drop(rig);
    faulty_disk_heal(rig->disk);
    rig_run(rig, 0); // the stop of a dead process must not meet the new one
    buffer_clear(&rig->reported);
    rig_open(rig);
}

void rig_run(struct rig *rig, int64_t ms)
{
    virtual_loop_run_until(rig->loop, loop_mono_ms(rig->loop) + ms);
}

// ---- files --------------------------------------------------------------------------------------

static void path_of(struct buffer *out, const struct rig *rig, const char *path)
{
    buffer_printf(out, "%s/%s", rig->dir, path);
}

void rig_write(struct rig *rig, const char *path, const char *text)
{
    AUTO_BUFFER full = {0};
    AUTO_BUFFER parent = {0};
    struct error err = {0};
    path_of(&full, rig, path);
    buffer_add(&parent, full.at, (size_t)(strrchr(full.at, '/') - full.at));
    assert_true(disk_make_folder(disk_system(), parent.at, 0755, &err));
    FILE *file = fopen(full.at, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

void rig_remove(struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    assert_int_equal(unlink(full.at), 0);
}

const char *rig_read(struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    buffer_clear(&rig->json);
    disk_read(&rig->json, full.at, (size_t)64 << 20, NULL);
    return buffer_text(&rig->json).at;
}

bool rig_has(struct rig *rig, const char *path)
{
    AUTO_BUFFER full = {0};
    path_of(&full, rig, path);
    return access(full.at, F_OK) == 0;
}

void rig_change(struct rig *rig, const char *path, const char *text)
{
    rig_write(rig, path, text);
    rig_run(rig, 300);
}

void rig_take_away(struct rig *rig, const char *path)
{
    rig_remove(rig, path);
    rig_run(rig, 300);
}

// ---- looking ------------------------------------------------------------------------------------

static struct database *open_state(struct rig *rig)
{
    AUTO_BUFFER path = {0};
    struct error err = {0};
    buffer_printf(&path, "%s/.signpost/state.db", rig->state_dir[0] ? rig->state_dir : rig->dir);
    const struct database_options options = {.path = path.at, .schema = "", .version = 1};
    struct database *database = database_open(disk_system(), &options, &err);
    if (!database)
        fail_msg("%s", err.text);
    return database;
}

const char *rig_rows(struct rig *rig, const char *sql)
{
    CLEANUP(database) struct database *database = open_state(rig);
    struct rows rows = database_ask(database, sql, "");
    buffer_clear(&rig->rows);
    while (rows_next(&rows)) {
        struct text text = rows_text(&rows, 0);
        buffer_add(&rig->rows, text.at ? text.at : "", text.len);
        buffer_add_char(&rig->rows, '\n');
    }
    assert_true(rows_end(&rows, NULL));
    return rig->rows.at ? rig->rows.at : "";
}

void rig_tamper(struct rig *rig, const char *sql)
{
    CLEANUP(database) struct database *database = open_state(rig);
    assert_true(database_do(database, NULL, sql, ""));
}

const char *rig_reported(struct rig *rig)
{
    buffer_clear(&rig->json);
    struct text reported = buffer_text(&rig->reported);
    buffer_add(&rig->json, reported.at, reported.len);
    buffer_clear(&rig->reported);
    return buffer_text(&rig->json).at;
}

const struct object *rig_find(struct rig *rig, enum rig_kind kind, const char *namespace_,
                              const char *name)
{
    return cache_find(rig->store->cache, kinds[kind].kind, text_of(namespace_), text_of(name));
}

const struct object *rig_thing(struct rig *rig, const char *name)
{
    return rig_find(rig, RIG_THING, "shop", name);
}

// ---- operations ---------------------------------------------------------------------------------

void rig_answered(void *context, const struct store_reply *reply)
{
    struct rig *rig = context;
    rig->is_answered = true;
    rig->is_ok = reply->is_ok;
    rig->error = reply->error;
    object_unref(rig->object);
    rig->object = reply->object ? object_ref(reply->object) : NULL;
    buffer_clear(&rig->json);
    if (reply->tree)
        value_write_json(&rig->json, reply->tree);
}

static bool wait_for_answer(struct rig *rig)
{
    assert_false(rig->is_answered);
    for (int i = 0; i < 1000 && !rig->is_answered; i++)
        rig_run(rig, 0);
    assert_true(rig->is_answered);
    return rig->is_ok;
}

bool rig_apply(struct rig *rig, const struct store_apply *apply)
{
    rig->is_answered = false;
    store_apply(rig->store, apply, rig_answered, rig);
    return wait_for_answer(rig);
}

bool rig_claim(struct rig *rig, const struct object *object, const char *claims)
{
    const struct metadata_change annotation = {.key = TEST_CLAIMS, .value = claims};
    return rig_apply(rig, &(struct store_apply){object, true, &annotation, 1});
}

bool rig_patch(struct rig *rig, const struct object *object, const char *json)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *status = value_read_json(arena, text_of(json), &value_reply_limits, NULL);
    assert_non_null(status);
    rig->is_answered = false;
    store_patch_status(rig->store, object, status, rig_answered, rig);
    return wait_for_answer(rig);
}

bool rig_release(struct rig *rig, const struct object *object)
{
    rig->is_answered = false;
    store_remove_finalizer(rig->store, object, rig_answered, rig);
    return wait_for_answer(rig);
}

static bool write_object(struct rig *rig, const struct store_object_write *write)
{
    rig->is_answered = false;
    store_write_object(rig->store, write, rig_answered, rig);
    return wait_for_answer(rig);
}

static const struct value *tree_of(struct arena *arena, const struct object *owner,
                                   const char *field, const char *json)
{
    char uid[37];
    object_write_uid(owner, uid);
    const char *text = arena_printf(arena,
                                    "{\"metadata\":{\"labels\":{\"made\":\"here\"},"
                                    "\"ownerReferences\":[{\"uid\":\"%s\"}]},\"%s\":%s}",
                                    uid, field, json);
    return value_read_json(arena, text_of(text), &value_reply_limits, NULL);
}

bool rig_put(struct rig *rig, const char *name, const struct object *owner, const char *data,
             const char *kept)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    return write_object(
        rig,
        &(struct store_object_write){
            .key = {kinds[RIG_TOKEN].kind, TEXT("shop"), text_of(name)},
            .tree = tree_of(arena, owner, "data", data),
            .is_unread = true,
            .kept = kept ? value_read_json(arena, text_of(kept), &value_reply_limits, NULL) : NULL,
        });
}

bool rig_put_owned_object(struct rig *rig, const char *name, const struct object *owner,
                          const char *spec, const struct object *seen)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    return write_object(rig, &(struct store_object_write){
                                 .key = {kinds[RIG_THING].kind, TEXT("shop"), text_of(name)},
                                 .tree = tree_of(arena, owner, "spec", spec),
                                 .seen = seen,
                             });
}

bool rig_drop_owned_object(struct rig *rig, const struct object *seen)
{
    return write_object(rig, &(struct store_object_write){
                                 .key = {seen->kind, object_namespace(seen), object_name(seen)},
                                 .seen = seen,
                             });
}

const char *rig_get(struct rig *rig, enum rig_kind kind, const char *namespace_, const char *name)
{
    struct object_ref_key key = {kinds[kind].kind, text_of(namespace_), text_of(name)};
    rig->is_answered = false;
    store_get(rig->store, &key, rig_answered, rig);
    wait_for_answer(rig);
    return buffer_text(&rig->json).at;
}

struct listing {
    struct rig *rig;
    bool with_trees;
};

static void list_entry(void *context, const struct folder_entry *entry)
{
    const struct listing *listing = context;
    struct buffer *out = &listing->rig->json;
    struct text name = value_text_at(entry->tree, "metadata.name");
    if (!name.at)
        name = TEXT("-");
    buffer_printf(out, "%s %s %.*s%s", entry->path, entry->kind ? entry->kind->name : "-",
                  TEXT_ARGS(name), entry->is_gone ? " gone" : "");
    buffer_printf(out, "%s%s\n", entry->fault ? " | " : "", entry->fault ? entry->fault : "");
    if (listing->with_trees) {
        value_write_json(out, entry->tree);
        buffer_add_char(out, '\n');
    }
}

const char *rig_list(struct rig *rig, bool with_trees)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct folder_options options = options_of(rig);
    struct listing listing = {rig, with_trees};
    struct error err = {0};
    buffer_clear(&rig->json);
    bool is_read = folder_read(&options, arena, list_entry, &listing, &err);
    assert_string_equal(err.text, "");
    assert_true(is_read);
    return buffer_text(&rig->json).at;
}

bool rig_has_logged(struct rig *rig, const char *part)
{
    return strstr(buffer_text(&rig->logged).at, part);
}

const char *rig_check(struct rig *rig, const char *name)
{
    struct store_check checks[8];
    size_t count = store_checks(rig->store, checks, COUNT_OF(checks));
    for (size_t i = 0; i < count; i++)
        if (strcmp(checks[i].name, name) == 0)
            return checks[i].is_ok ? "ok" : checks[i].text;
    return NULL;
}
