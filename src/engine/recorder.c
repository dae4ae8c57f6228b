#include "engine/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/slots.h"
#include "base/table.h"
#include "base/when.h"
#include "dns/zone.h"
#include "store/cache.h"

enum { MASK_KEY_OCTETS = 32, SWEEP_MIN = 1024 };

// An object that the cache has made. Own references.
struct recorded_object {
    const struct object *object;   // NULL: the slot is free
    struct object *masked;         // the same without its secrets; NULL: it has none
    char *line;                    // what stands in the recording for it, but for its number
    const struct object *metadata; // of a graft: what it was made of
    const struct object *bodies;
    int64_t number; // 0: no line has it yet
};

struct recorder {
    struct recorder_options options;
    struct recording recording;
    struct disk_file *file; // NULL: the recording has ended
    char *path;
    size_t octets;
    struct arena *arena;
    struct recorded_object *objects;
    struct slots object_slots;
    size_t object_capacity;
    struct table by_object;
    size_t sweep_at; // that many objects
    uint32_t *by_number;
    size_t number_capacity;
    int64_t last_number;
    const struct zone **zones; // by number, from 1. Own references
    size_t zone_count;
    size_t zone_capacity;
};

// ---- lines --------------------------------------------------------------------------------------

static void end_recording(struct recorder *recorder, const char *why)
{
    if (!recorder->file)
        return;
    log_line(recorder->options.log, LOG_WARN,
             "the recording ends here; what comes after is not recorded: start again to go on",
             LOG_TEXT("recording", recorder->path), LOG_TEXT("error", why), LOG_END);
    disk_append_close(recorder->options.disk, recorder->file);
    recorder->file = NULL;
}

static void add_text(struct recorder *recorder, struct text text)
{
    struct error err;
    if (!recorder->file)
        return;
    if (recorder->octets + text.len > recorder->options.octets_max)
        end_recording(recorder, "it is as large as a recording may be");
    else if (!disk_append(recorder->options.disk, recorder->file, text, &err))
        end_recording(recorder, err.text);
    recorder->octets += text.len;
}

static void add_line(struct recorder *recorder, const struct value *line)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, line);
    buffer_add_char(&out, '\n');
    add_text(recorder, buffer_text(&out));
    arena_reset(recorder->arena);
}

// ---- objects ------------------------------------------------------------------------------------

static bool object_matches(const void *context, uint32_t id, const void *key)
{
    const struct recorder *recorder = context;
    return recorder->objects[id].object == key;
}

static uint64_t pointer_hash(const struct object *object)
{
    return hash_octets(&object, sizeof object);
}

static uint64_t object_hash(const void *context, uint32_t id)
{
    const struct recorder *recorder = context;
    return pointer_hash(recorder->objects[id].object);
}

static const struct table_ops object_ops = {object_matches, object_hash};

static void forget_object(struct recorder *recorder, uint32_t id)
{
    struct recorded_object *recorded = &recorder->objects[id];
    table_remove(&recorder->by_object, pointer_hash(recorded->object), id);
    object_unref(recorded->object);
    object_unref(recorded->masked);
    object_unref(recorded->metadata);
    object_unref(recorded->bodies);
    free(recorded->line);
    *recorded = (struct recorded_object){0};
    slots_give(&recorder->object_slots, id);
}

// Lets go of those that nobody else has any more.
static void sweep_objects(struct recorder *recorder)
{
    for (uint32_t id = 0; id < recorder->object_slots.end; id++)
        if (recorder->objects[id].object && recorder->objects[id].object->refs == 1)
            forget_object(recorder, id);
    size_t left = slots_taken(&recorder->object_slots);
    recorder->sweep_at = left < SWEEP_MIN / 2 ? SWEEP_MIN : 2 * left;
}

static struct recorded_object *add_object(struct recorder *recorder, const struct object *object)
{
    if (slots_taken(&recorder->object_slots) >= recorder->sweep_at)
        sweep_objects(recorder);
    uint32_t id = slots_take(&recorder->object_slots);
    mem_reserve(&recorder->objects, &recorder->object_capacity, recorder->object_slots.end);
    recorder->objects[id] = (struct recorded_object){.object = object_ref(object)};
    table_add(&recorder->by_object, pointer_hash(object), id);
    return &recorder->objects[id];
}

static void forget_objects(struct recorder *recorder)
{
    for (uint32_t id = 0; id < recorder->object_slots.end; id++)
        if (recorder->objects[id].object)
            forget_object(recorder, id);
}

static void forget_zones(struct recorder *recorder)
{
    while (recorder->zone_count)
        zone_unref(recorder->zones[--recorder->zone_count]);
}

// When the recording has ended nobody needs them any more.
static bool may_add(struct recorder *recorder)
{
    if (recorder->file)
        return true;
    if (slots_taken(&recorder->object_slots))
        forget_objects(recorder);
    forget_zones(recorder);
    return false;
}

static void on_made(void *context, const struct object *object, const char *finalizer,
                    const struct value *tree)
{
    struct recorder *recorder = context;
    AUTO_BUFFER line = {0};
    if (!may_add(recorder))
        return;
    recorder->recording.has_masked = false;
    struct value *masked =
        recording_mask_object(&recorder->recording, recorder->arena, object->kind, tree);
    struct recorded_object *recorded = add_object(recorder, object);
    if (recorder->recording.has_masked)
        recorded->masked = object_new(object->kind, finalizer, masked);
    buffer_add_text(&line, ",\"kind\":");
    value_write_json_text(&line, text_of(object->kind->name));
    buffer_add_text(&line, ",\"group\":");
    value_write_json_text(&line, text_of(object->kind->group));
    if (finalizer) {
        buffer_add_text(&line, ",\"finalizer\":");
        value_write_json_text(&line, text_of(finalizer));
    }
    buffer_add_text(&line, ",\"tree\":");
    value_write_json(&line, masked);
    recorded->line = buffer_steal(&line);
    arena_reset(recorder->arena);
}

static void on_grafted(void *context, const struct object *object, const struct object *metadata,
                       const struct object *bodies)
{
    struct recorder *recorder = context;
    if (!may_add(recorder))
        return;
    struct recorded_object *recorded = add_object(recorder, object);
    recorded->metadata = object_ref(metadata);
    recorded->bodies = object_ref(bodies);
}

static int64_t number_object(void *context, const struct object *object);

static const struct object *masked_of(const struct recorded_object *recorded)
{
    return recorded->masked ? recorded->masked : recorded->object;
}

static const struct object *find_object(void *context, int64_t number)
{
    const struct recorder *recorder = context;
    return number ? masked_of(&recorder->objects[recorder->by_number[number]]) : NULL;
}

// Writes the two objects that a graft is made of first. A graft is masked where its bodies are.
static void write_graft(struct recorder *recorder, uint32_t id, struct buffer *out)
{
    struct recorded_object recorded = recorder->objects[id];
    int64_t metadata = number_object(recorder, recorded.metadata);
    int64_t bodies = number_object(recorder, recorded.bodies);
    const struct object *masked = find_object(recorder, bodies);
    if (masked && masked != recorded.bodies)
        recorder->objects[id].masked = object_graft(recorded.object, masked);
    buffer_printf(out, ",\"metadata\":%lld,\"bodies\":%lld", (long long)metadata,
                  (long long)bodies);
}

static void write_object_line(struct recorder *recorder, uint32_t id)
{
    AUTO_BUFFER more = {0};
    AUTO_BUFFER line = {0};
    if (recorder->objects[id].bodies)
        write_graft(recorder, id, &more);
    struct recorded_object *recorded = &recorder->objects[id];
    recorded->number = ++recorder->last_number;
    mem_reserve(&recorder->by_number, &recorder->number_capacity, (size_t)recorded->number + 1);
    recorder->by_number[recorded->number] = id;
    if (recorded->masked)
        recorded->masked->is_lost = recorded->object->is_lost;
    buffer_printf(&line, "{\"object\":%lld%s", (long long)recorded->number,
                  recorded->object->is_lost ? ",\"isLost\":true" : "");
    buffer_add_text(&line, recorded->line ? recorded->line : more.at);
    buffer_add_text(&line, "}\n");
    add_text(recorder, buffer_text(&line));
    free(recorded->line);
    recorded->line = NULL;
}

// The line of an object stands before the first one that needs it.
static int64_t number_object(void *context, const struct object *object)
{
    struct recorder *recorder = context;
    uint32_t id = table_find(&recorder->by_object, pointer_hash(object), object);
    if (id == TABLE_NONE) {
        end_recording(recorder,
                      "an object is not from the cache, which is a mistake of this program");
        return 0;
    }
    if (!recorder->objects[id].number)
        write_object_line(recorder, id);
    recorder->recording.has_masked |= recorder->objects[id].masked != NULL;
    return recorder->objects[id].number;
}

// ---- zones --------------------------------------------------------------------------------------

static int64_t number_zone(void *context, const struct zone *zone, bool *is_new)
{
    struct recorder *recorder = context;
    *is_new = false;
    for (size_t i = recorder->zone_count; i > 0; i--)
        if (recorder->zones[i - 1] == zone)
            return (int64_t)i;
    *is_new = true;
    mem_reserve(&recorder->zones, &recorder->zone_capacity, recorder->zone_count + 1);
    recorder->zones[recorder->zone_count++] = zone_ref(zone);
    return (int64_t)recorder->zone_count;
}

static const struct zone *find_zone(void *context, int64_t number)
{
    const struct recorder *recorder = context;
    return recorder->zones[number - 1];
}

// ---- beginning and end --------------------------------------------------------------------------

static char *path_in(const struct recorder_options *options)
{
    char when[WHEN_TEXT_MAX];
    uint8_t octets[2];
    char digits[2 * sizeof octets + 1];
    AUTO_BUFFER path = {0};
    when_write(options->now_ms / 1000, when);
    random_fill(options->random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, digits);
    buffer_printf(&path, "%s/signpost-", options->folder);
    for (const char *at = when; *at; at++)
        if (*at != ':' && *at != '-')
            buffer_add_char(&path, *at);
    buffer_printf(&path, "-%s.jsonl", digits);
    return buffer_steal(&path);
}

static struct secret *draw_mask(struct random *random)
{
    uint8_t octets[MASK_KEY_OCTETS];
    random_fill(random, octets, sizeof octets);
    struct secret *mask = secret_new(octets, sizeof octets);
    secret_wipe(octets, sizeof octets);
    return mask;
}

struct recorder *recorder_new(const struct recorder_options *options, struct error *err)
{
    if (!disk_make_folder(options->disk, options->folder, 0700, err))
        return NULL;
    autofree char *path = path_in(options);
    struct disk_file *file = disk_append_open(options->disk, path, 0600, err);
    if (!file)
        return NULL;
    struct recorder *recorder = mem_new_of(struct recorder);
    *recorder = (struct recorder){.options = *options,
                                  .file = file,
                                  .path = steal(path),
                                  .arena = arena_new(),
                                  .sweep_at = SWEEP_MIN};
    if (!options->octets_max)
        recorder->options.octets_max = RECORDER_OCTETS_MAX;
    recorder->by_object = (struct table){.ops = &object_ops, .context = recorder};
    recorder->recording = (struct recording){.context = recorder,
                                             .number_object = number_object,
                                             .number_zone = number_zone,
                                             .find_object = find_object,
                                             .find_zone = find_zone,
                                             .mask = draw_mask(options->random)};
    cache_observe(options->cache, &(struct cache_observer){on_made, on_grafted, recorder});
    return recorder;
}

void recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return;
    cache_observe(recorder->options.cache, NULL);
    forget_objects(recorder);
    forget_zones(recorder);
    table_done(&recorder->by_object);
    slots_done(&recorder->object_slots);
    recording_done(&recorder->recording);
    disk_append_close(recorder->options.disk, recorder->file);
    arena_free(recorder->arena);
    free(recorder->objects);
    free(recorder->by_number);
    free(recorder->zones);
    free(recorder->path);
    free(recorder);
}

const char *recorder_path(const struct recorder *recorder)
{
    return recorder->path;
}

// ---- what happened ------------------------------------------------------------------------------

bool recorder_is_on(const struct recorder *recorder)
{
    return recorder && recorder->file;
}

void recorder_begin(struct recorder *recorder, const struct controller *const *items, size_t count)
{
    if (!recorder_is_on(recorder))
        return;
    char when[WHEN_TEXT_MAX];
    struct arena *arena = recorder->arena;
    struct value *line = value_make(arena, VALUE_MAP);
    struct value *names = value_make(arena, VALUE_LIST);
    when_write_ms(recorder->options.now_ms, when);
    for (size_t i = 0; i < count; i++)
        value_append(names, value_make_text(arena, text_of(items[i]->name)));
    value_put_text(arena, line, "signpost", recorder->options.version);
    value_put_int(arena, line, "format", RECORDING_FORMAT);
    value_put_text(arena, line, "startedAt", when);
    value_set(line, TEXT("controllers"), names);
    add_line(recorder, line);
    recorder_add_settings(recorder);
}

void recorder_add_settings(struct recorder *recorder)
{
    if (!recorder_is_on(recorder))
        return;
    struct value *line = value_make(recorder->arena, VALUE_MAP);
    value_set(line, TEXT("settings"),
              recorder->options.describe(recorder->options.context, recorder->arena));
    add_line(recorder, line);
}

static struct value *line_of_model(struct recorder *recorder, size_t model)
{
    struct value *line = value_make(recorder->arena, VALUE_MAP);
    value_put_int(recorder->arena, line, "model", (int64_t)model);
    return line;
}

void recorder_add_put(struct recorder *recorder, size_t model, const struct object *object,
                      bool is_gone)
{
    if (!recorder_is_on(recorder))
        return;
    struct value *line = line_of_model(recorder, model);
    value_put_int(recorder->arena, line, is_gone ? "remove" : "put",
                  number_object(recorder, object));
    add_line(recorder, line);
}

void recorder_add_settling(struct recorder *recorder, size_t model, int64_t now_ms)
{
    if (!recorder_is_on(recorder))
        return;
    struct value *line = line_of_model(recorder, model);
    value_put_int(recorder->arena, line, "settledAt", now_ms);
    add_line(recorder, line);
}

void recorder_add_renewal(struct recorder *recorder, size_t model)
{
    if (!recorder_is_on(recorder))
        return;
    struct value *line = line_of_model(recorder, model);
    value_put_bool(recorder->arena, line, "renewed", true);
    add_line(recorder, line);
}

void recorder_add_published(struct recorder *recorder, size_t model, const struct object *object,
                            const struct zone *zone)
{
    bool is_new;
    if (!recorder_is_on(recorder))
        return;
    struct value *line = line_of_model(recorder, model);
    value_put_int(recorder->arena, line, "published", number_object(recorder, object));
    value_put_int(recorder->arena, line, "zone", number_zone(recorder, zone, &is_new));
    add_line(recorder, line);
}

void recorder_add_servers(struct recorder *recorder, size_t model, const struct object *object,
                          const char *group, const struct server_view *servers, size_t count)
{
    if (!recorder_is_on(recorder))
        return;
    struct value *line = line_of_model(recorder, model);
    value_set(line, TEXT("servers"), recording_write_servers(recorder->arena, servers, count));
    value_put_int(recorder->arena, line, "of", number_object(recorder, object));
    if (group)
        value_put_text(recorder->arena, line, "group", group);
    add_line(recorder, line);
}

// ---- reconciliations ----------------------------------------------------------------------------

// What a replay will come to: of the snapshot as it is read back, without its secrets.
static struct value *decide_masked(struct recorder *recorder,
                                   const struct recorder_reconciliation *reconciliation,
                                   const struct value *tree)
{
    struct error err;
    struct snapshot snapshot;
    struct decision decision = {0};
    const struct controller *controller = reconciliation->controller;
    if (!recording_read_snapshot(&recorder->recording, recorder->arena, controller,
                                 reconciliation->snapshot->settings, tree, &snapshot, &err)) {
        end_recording(recorder, err.text);
        recording_forget_secrets(&recorder->recording);
        return value_make(recorder->arena, VALUE_MAP);
    }
    controller->decide(&snapshot, reconciliation->model, &decision);
    struct value *written =
        recording_write_decision(&recorder->recording, recorder->arena, &decision);
    decision_done(&decision);
    recording_forget_secrets(&recorder->recording);
    return written;
}

void recorder_add_reconciliation(struct recorder *recorder,
                                 const struct recorder_reconciliation *reconciliation)
{
    if (!recorder_is_on(recorder))
        return;
    struct recording *recording = &recorder->recording;
    struct value *line = value_make(recorder->arena, VALUE_MAP);
    recording->has_masked = false;
    struct value *snapshot = recording_write_snapshot(
        recording, recorder->arena, reconciliation->controller, reconciliation->snapshot);
    if (!recorder_is_on(recorder)) {
        arena_reset(recorder->arena);
        return;
    }
    value_put_int(recorder->arena, line, "controller", (int64_t)reconciliation->place);
    value_set(line, TEXT("snapshot"), snapshot);
    value_set(line, TEXT("decision"),
              recording->has_masked
                  ? decide_masked(recorder, reconciliation, snapshot)
                  : recording_write_decision(recording, recorder->arena, reconciliation->decision));
    add_line(recorder, line);
}
