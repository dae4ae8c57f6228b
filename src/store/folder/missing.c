#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/folder/degraded.h"
#include "store/folder/draft.h"
#include "store/folder/lead.h"
#include "store/folder/name.h"
#include "store/folder/pass.h"
#include "store/folder/schedule.h"
#include "store/folder/write_back.h"

enum { CHUNK = 256 }; // deletions that share one commit, at most

// An entry whose document is gone, made ready for the state.
struct farewell {
    uint32_t entry;
    uint64_t version;
    struct object *object; // in deletion; NULL: it leaves at once
    char *body;            // its status document
};

struct farewells {
    struct farewell items[CHUNK];
    size_t count;
};

static void farewells_done(struct farewells *farewells)
{
    for (size_t i = 0; i < farewells->count; i++) {
        object_unref(farewells->items[i].object);
        free(farewells->items[i].body);
    }
}

// What the cache knows goes along: the status file may have been lost, with the claims in it.
static void begin_deletion(struct folder *folder, struct draft *draft, const struct object *known,
                           struct farewell *farewell)
{
    AUTO_BUFFER body = {0};
    int64_t now_s = loop_unix_ms(folder->world.loop) / 1000;
    draft->managed.deleted_s = now_s > 0 ? now_s : 1;
    draft->managed.fault = (struct text){0};
    draft_write(&body, draft);
    struct object *bare = draft_object(folder, draft);
    farewell->object = cache_make_graft(folder->store.cache, bare, known);
    farewell->body = buffer_steal(&body);
    object_unref(bare);
}

static bool prepare_farewell(struct folder *folder, struct farewells *farewells, uint32_t id,
                             struct error *err)
{
    const struct entry *entry = &folder->entries.items[id];
    const struct object *object = entry->object;
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    struct draft draft = draft_make(folder, folder->arena, &key);
    struct farewell *farewell = &farewells->items[farewells->count];
    if (!draft_load(folder, &draft, id, err))
        return false;
    *farewell = (struct farewell){.entry = id};
    draft_step(folder, &draft);
    if (draft.managed.has_finalizer)
        begin_deletion(folder, &draft, object, farewell);
    farewell->version = draft.managed.version;
    farewells->count++;
    arena_reset(folder->arena);
    return true;
}

static void commit_deletion(struct folder *folder, struct farewell *farewell)
{
    AUTO_BUFFER key_text = {0};
    struct error err = {0};
    struct object *object = steal(farewell->object);
    struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    struct entry *entry = &folder->entries.items[farewell->entry];
    uint64_t version = 0;
    entry->flags &= ~(unsigned)(ENTRY_IS_MISSING | ENTRY_HAS_FAULT) & 0xff;
    name_write_key(&key_text, &key);
    object_version_number(object, &version);
    if (!folder_keep(folder, entry->file, buffer_text(&key_text), version, text_of(farewell->body),
                     &err)) {
        degraded_set(folder, DEGRADED_STATUS, &err);
        write_back_wake(folder);
    }
    folder_put_object(folder, object, entry->file, entry->body, true);
}

static void commit_farewells(struct folder *folder, struct farewells *farewells)
{
    for (size_t i = 0; i < farewells->count; i++) {
        struct farewell *farewell = &farewells->items[i];
        if (farewell->object)
            commit_deletion(folder, farewell);
        else
            folder_remove_object(folder, farewell->entry);
    }
}

static bool write_ahead(struct folder *folder, const struct farewells *farewells, struct error *err)
{
    for (size_t i = 0; i < farewells->count; i++) {
        const struct farewell *farewell = &farewells->items[i];
        const struct entry *entry = &folder->entries.items[farewell->entry];
        const struct object *object = entry->object;
        struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
        folder_write_ahead(folder, entry->file, &key, farewell->version, farewell->body);
    }
    return state_commit(&folder->state, err);
}

static bool is_missing(const struct folder *folder, uint32_t id)
{
    const struct entry *entry = &folder->entries.items[id];
    return entry->object && (entry->flags & ENTRY_IS_MISSING);
}

void pass_drop_found(struct folder *folder)
{
    size_t kept = 0;
    struct id_list *missing = &folder->missing;
    for (size_t i = 0; i < missing->count; i++)
        if (is_missing(folder, missing->items[i]))
            missing->items[kept++] = missing->items[i];
    missing->count = kept;
}

// It stays until its file is read again, and is found missing once more.
static void put_off(struct folder *folder, uint32_t id, const struct error *err)
{
    pass_read_again(folder, folder->entries.items[id].file, err);
    pass_mark(folder, id);
}

// The last ones of the list, all that can be prepared or none.
static bool act_on_some(struct folder *folder, int64_t until_ms)
{
    __attribute__((cleanup(farewells_done))) struct farewells farewells = {.count = 0};
    struct error err = {0};
    if (!lead_look(folder))
        return false;
    struct id_list *missing = &folder->missing;
    size_t left = missing->count;
    while (left > 0 && farewells.count < CHUNK) {
        uint32_t id = missing->items[--left];
        if (is_missing(folder, id) && !prepare_farewell(folder, &farewells, id, &err))
            put_off(folder, id, &err);
        if (folder_now_ms(folder) >= until_ms)
            break;
    }
    if (folder->is_leading && !write_ahead(folder, &farewells, &err)) {
        degraded_set(folder, DEGRADED_WRITE_AHEAD, &err);
        write_back_probe_state(folder);
        return false;
    }
    missing->count = left;
    commit_farewells(folder, &farewells);
    return true;
}

// ---- what is not believed -----------------------------------------------------------------------

// What is missing amid changes may be about to be written: by a slow editor, or in another file.
static bool is_doubtful(struct folder *folder)
{
    int64_t now_ms = folder_now_ms(folder);
    bool is_quiet = !folder->has_edits && now_ms - folder->last_edit_ms >= DEBOUNCE_MS;
    if (is_quiet || !folder->missing.count)
        folder->doubted_ms = 0;
    else if (!folder->doubted_ms)
        folder->doubted_ms = now_ms;
    return folder->doubted_ms && now_ms - folder->doubted_ms < HALF_WRITTEN_MS;
}

static size_t count_living(const struct folder *folder)
{
    size_t living = 0;
    for (uint32_t id = 0; id < folder->entries.slots.end; id++) {
        const struct entry *entry = &folder->entries.items[id];
        living += entry->object && !entry->object->deleted_s &&
                  !name_is_child(folder->entries.files[entry->file].path);
    }
    return living;
}

static bool is_suspicious(struct folder *folder)
{
    AUTO_BUFFER why = {0};
    if (folder->scan_error.fault != FAULT_NONE) {
        folder_set_synced(folder, false, folder->scan_error.text);
        return true;
    }
    // What is meant at the start need not be meant for ever after.
    if ((folder->allow_empty && !folder->was_synced) || folder->entries.documents)
        return false;
    size_t living = count_living(folder);
    if (living < EMPTY_SUSPICIOUS)
        return false;
    buffer_printf(&why,
                  "no manifests where %zu were known; start with --allow-empty if this is meant",
                  living);
    folder_set_synced(folder, false, why.at);
    return true;
}

void folder_set_synced(struct folder *folder, bool is_synced, const char *why)
{
    bool is_same = is_synced ? folder->is_synced && folder->was_synced
                             : folder->why && why && text_is(text_of(folder->why), why);
    if (is_same)
        return;
    free(folder->why);
    folder->why = is_synced || !why ? NULL : mem_copy_text(why);
    folder->is_synced = is_synced;
    folder->was_synced = folder->was_synced || is_synced;
    if (folder->why)
        log_line(folder->log, LOG_ERROR, "the folder is not synced", LOG_TEXT("error", folder->why),
                 LOG_END);
    for (size_t i = 0; i < folder->kind_count; i++)
        folder->sink.synced(folder->sink.context, folder->kinds[i], is_synced, folder->why);
}

enum step pass_finish(struct folder *folder, int64_t until_ms)
{
    if (is_suspicious(folder)) {
        folder_end_batch(folder);
        return STEP_DONE;
    }
    bool is_put_off = is_doubtful(folder);
    if (is_put_off && !folder->has_edits)
        schedule_retry(folder, DEBOUNCE_MS);
    while (folder->missing.count && !is_put_off) {
        if (!act_on_some(folder, until_ms))
            return STEP_FAILED;
        if (folder->missing.count && folder_now_ms(folder) >= until_ms)
            return STEP_AGAIN;
    }
    folder_end_batch(folder);
    folder_set_synced(folder, true, NULL);
    return STEP_DONE;
}
