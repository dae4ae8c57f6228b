#include "engine/replay.h"

#include <stdlib.h>
#include <string.h>

#include "dns/zone.h"

enum { CONTROLLERS_MAX = 64 };

// A shared model, of all controllers that have it.
struct replayed_model {
    const struct shared_model *shared_model; // NULL: the controller has none, or another one's
    void *state;
    bool is_unsettled; // it has heard of objects since it settled
};

struct numbered {
    const struct object *object; // own reference; NULL: number 0
    char *tree;                  // as JSON; of a graft, that of its bodies
};

struct replay {
    struct replay_options options;
    struct recording recording;
    struct arena *arena; // of one line
    const struct controller *controllers[CONTROLLERS_MAX];
    const void *settings[CONTROLLERS_MAX];
    struct replayed_model models[CONTROLLERS_MAX]; // by their first controller
    size_t controller_count;
    bool has_begun;
    bool has_settings;
    struct numbered *objects; // by number
    size_t object_count;
    size_t object_capacity;
    const struct zone **zones; // by number, from 1; own references
    size_t zone_count;
    size_t zone_capacity;
};

// ---- numbers ------------------------------------------------------------------------------------

static const struct object *find_object(void *context, int64_t number)
{
    const struct replay *replay = context;
    return number > 0 && (size_t)number < replay->object_count ? replay->objects[number].object
                                                               : NULL;
}

static int64_t number_object(void *context, const struct object *object)
{
    const struct replay *replay = context;
    for (size_t i = replay->object_count; i > 1; i--)
        if (replay->objects[i - 1].object == object)
            return (int64_t)(i - 1);
    return 0;
}

static const struct zone *find_zone(void *context, int64_t number)
{
    const struct replay *replay = context;
    return number > 0 && (size_t)number <= replay->zone_count ? replay->zones[number - 1] : NULL;
}

static int64_t number_zone(void *context, const struct zone *zone, bool *is_new)
{
    struct replay *replay = context;
    *is_new = false;
    for (size_t i = replay->zone_count; i > 0; i--)
        if (replay->zones[i - 1] == zone)
            return (int64_t)i;
    *is_new = true;
    mem_reserve(&replay->zones, &replay->zone_capacity, replay->zone_count + 1);
    replay->zones[replay->zone_count++] = zone_ref(zone);
    return (int64_t)replay->zone_count;
}

// ---- life ---------------------------------------------------------------------------------------

struct replay *replay_new(const struct replay_options *options)
{
    struct replay *replay = mem_new_of(struct replay);
    *replay = (struct replay){.options = *options, .arena = arena_new()};
    replay->recording = (struct recording){.context = replay,
                                           .number_object = number_object,
                                           .number_zone = number_zone,
                                           .find_object = find_object,
                                           .find_zone = find_zone};
    return replay;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    for (size_t i = 0; i < replay->controller_count; i++)
        if (replay->models[i].state)
            replay->models[i].shared_model->free(replay->models[i].state);
    for (size_t i = 0; i < replay->object_count; i++) {
        object_unref(replay->objects[i].object);
        free(replay->objects[i].tree);
    }
    for (size_t i = 0; i < replay->zone_count; i++)
        zone_unref(replay->zones[i]);
    recording_done(&replay->recording);
    arena_free(replay->arena);
    free(replay->objects);
    free(replay->zones);
    free(replay);
}

// ---- the first lines ----------------------------------------------------------------------------

static const struct controller *find_brought(const struct controller *controller, struct text name)
{
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, BRINGS_CONTROLLER, at)))
        if (text_is(name, at->controller->name))
            return at->controller;
    return NULL;
}

static const struct controller *find_controller(const struct replay_options *options,
                                                struct text name)
{
    for (size_t i = 0; i < options->controller_count; i++) {
        const struct controller *controller = options->controllers[i];
        if (!text_is(name, controller->name))
            controller = find_brought(controller, name);
        if (controller)
            return controller;
    }
    return NULL;
}

static bool add_controller(struct replay *replay, struct text name, struct error *err)
{
    const struct controller *controller = find_controller(&replay->options, name);
    if (!controller)
        return error_set(
            err, FAULT_SPEC, "",
            "this program has no controller \"%.*s\": replay it with the release that made "
            "it",
            TEXT_ARGS(name));
    if (replay->controller_count == CONTROLLERS_MAX)
        return error_set(err, FAULT_SPEC, "", "more than %d controllers", CONTROLLERS_MAX);
    replay->controllers[replay->controller_count++] = controller;
    return true;
}

static bool fail_foreign(struct error *err)
{
    return error_set(err, FAULT_SPEC, "",
                     "this is no recording: `signpost run --record FOLDER` makes one");
}

static bool take_head(struct replay *replay, const struct value *line, struct error *err)
{
    int64_t format = value_int_at(line, "format", 0);
    if (!value_find(line, "signpost"))
        return fail_foreign(err);
    if (format != RECORDING_FORMAT)
        return error_set(err, FAULT_SPEC, "",
                         "it has format %lld, and this program reads %d: take the one that made "
                         "it, %.*s",
                         (long long)format, RECORDING_FORMAT,
                         TEXT_ARGS(value_text_at(line, "signpost")));
    value_each (item, value_find(line, "controllers"))
        if (!add_controller(replay, value_text(item), err))
            return false;
    replay->has_begun = true;
    return true;
}

static size_t place_of_model(const struct replay *replay, size_t controller)
{
    const struct shared_model *shared_model = replay->controllers[controller]->shared_model;
    for (size_t i = 0; i < controller; i++)
        if (replay->controllers[i]->shared_model == shared_model)
            return i;
    return controller;
}

static void make_models(struct replay *replay)
{
    for (size_t i = 0; i < replay->controller_count; i++) {
        const struct shared_model *shared_model = replay->controllers[i]->shared_model;
        if (!shared_model || place_of_model(replay, i) != i)
            continue;
        replay->models[i] = (struct replayed_model){
            .shared_model = shared_model, .state = shared_model->make(replay->settings[i])};
    }
}

// A controller that reuses the backends of another has its settings, too, as in the engine.
static void share_settings(struct replay *replay)
{
    for (size_t i = 0; i < replay->controller_count; i++)
        for (size_t j = 0; j < replay->controller_count; j++)
            if (controller_backends_of(replay->controllers[i]) == replay->controllers[j])
                replay->settings[i] = replay->settings[j];
}

// Models that exist have the settings that they were made with until they are renewed.
static bool take_settings(struct replay *replay, const struct value *line, struct error *err)
{
    const struct replay_options *options = &replay->options;
    if (!options->settle(options->context, value_find(line, "settings"), replay->controllers,
                         replay->controller_count, replay->settings, err))
        return false;
    share_settings(replay);
    if (!replay->has_settings)
        make_models(replay);
    replay->has_settings = true;
    return true;
}

// ---- objects ------------------------------------------------------------------------------------

static bool is_map(const struct value *tree, const char *name)
{
    const struct value *part = value_find(tree, name);
    return !part || part->type == VALUE_MAP;
}

// No store has others.
static bool is_good_tree(const struct value *tree)
{
    static const char *const maps[] = {"metadata", "spec", "status"};
    static const char *const names[] = {"namespace", "name", "resourceVersion"};
    const struct value *metadata = value_find(tree, "metadata");
    bool is_good = is_map(metadata, "annotations") && is_map(metadata, "labels");
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        is_good &= is_map(tree, maps[i]);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        is_good &= value_text_at(metadata, names[i]).len <= UINT8_MAX;
    return is_good;
}

static const struct kind *find_kind(const struct replay_options *options, struct text group,
                                    struct text name)
{
    for (size_t i = 0; i < options->kind_count; i++) {
        const struct kind *kind = options->kinds[i];
        if (text_is(group, kind->group) && text_is(name, kind->name))
            return kind;
    }
    return NULL;
}

static struct object *make_object(const struct replay *replay, const struct value *line,
                                  struct error *err)
{
    struct text finalizer = value_text_at(line, "finalizer");
    struct text name = value_text_at(line, "kind");
    const struct value *tree = value_find(line, "tree");
    const struct kind *kind = find_kind(&replay->options, value_text_at(line, "group"), name);
    if (kind && is_good_tree(tree))
        return object_new(
            kind, finalizer.at ? arena_copy(replay->arena, finalizer.at, finalizer.len) : NULL,
            tree);
    if (kind)
        error_set(err, FAULT_SPEC, "", "no store has such an object");
    else
        error_set(err, FAULT_SPEC, "", "this program has no kind \"%.*s\"", TEXT_ARGS(name));
    return NULL;
}

static struct object *make_graft(struct replay *replay, const struct value *line, struct error *err)
{
    const struct object *metadata = find_object(replay, value_int_at(line, "metadata", 0));
    const struct object *bodies = find_object(replay, value_int_at(line, "bodies", 0));
    if (metadata && bodies && metadata->kind == bodies->kind)
        return object_graft(metadata, bodies);
    error_set(err, FAULT_SPEC, "",
              "it is made of objects that no line before has, or of two kinds");
    return NULL;
}

static char *copy_tree(const struct replay *replay, const struct value *line)
{
    struct buffer out = {0};
    int64_t bodies = value_int_at(line, "bodies", 0);
    if (bodies)
        return replay->objects[bodies].tree ? mem_copy_text(replay->objects[bodies].tree) : NULL;
    value_write_json(&out, value_find(line, "tree"));
    return buffer_steal(&out);
}

static bool take_object(struct replay *replay, const struct value *line, struct error *err)
{
    int64_t number = value_int_at(line, "object", 0);
    size_t expected = replay->object_count ? replay->object_count : 1;
    if (number < 0 || (size_t)number != expected)
        return error_set(
            err, FAULT_SPEC, "",
            "object %zu is expected here: lines are missing, so ask for the whole file", expected);
    struct object *object =
        value_find(line, "tree") ? make_object(replay, line, err) : make_graft(replay, line, err);
    if (!object)
        return false;
    object->is_lost = value_bool_at(line, "isLost", false);
    mem_reserve(&replay->objects, &replay->object_capacity, expected + 1);
    if (!replay->object_count)
        replay->objects[replay->object_count++] = (struct numbered){0};
    replay->objects[replay->object_count++] = (struct numbered){object, copy_tree(replay, line)};
    return true;
}

const struct value *replay_object(const struct replay *replay, struct arena *arena, int64_t number)
{
    if (number <= 0 || (size_t)number >= replay->object_count || !replay->objects[number].tree)
        return NULL;
    return value_read_json(arena, text_of(replay->objects[number].tree), &value_own_limits, NULL);
}

// ---- shared models ------------------------------------------------------------------------------

static void wake_nobody(void *context, const struct object *object)
{
    (void)context, (void)object;
}

static void count_nothing(void *context, const struct object *object, int64_t took_ms)
{
    (void)context, (void)object, (void)took_ms;
}

static void renew(struct replay *replay, size_t at)
{
    struct replayed_model *model = &replay->models[at];
    model->shared_model->free(model->state);
    model->state = model->shared_model->make(replay->settings[at]);
}

static bool take_published(struct replay *replay, const struct replayed_model *model,
                           const struct object *object, const struct value *line, struct error *err)
{
    int64_t number = value_int_at(line, "zone", 0);
    const struct zone *zone = find_zone(replay, number);
    if (!zone)
        return error_set(err, FAULT_SPEC, "", "no decision before has made zone %lld",
                         (long long)number);
    model->shared_model->published(model->state, object, zone);
    return true;
}

static bool take_servers(const struct replay *replay, const struct replayed_model *model,
                         const struct object *object, const struct value *line, struct error *err)
{
    const struct server_view *servers;
    size_t count;
    struct text group = value_text_at(line, "group");
    if (!recording_read_servers(replay->arena, value_find(line, "servers"), &servers, &count, err))
        return false;
    model->shared_model->servers_reported(
        model->state, object, group.at ? arena_copy(replay->arena, group.at, group.len) : NULL,
        servers, count);
    return true;
}

static bool has_kind(const struct shared_model *shared_model, const struct kind *kind)
{
    const struct kind *const *at = shared_model->kinds;
    while (*at && *at != kind)
        at++;
    return *at;
}

static bool take_of_object(struct replay *replay, struct replayed_model *model,
                           const struct value *line, struct error *err)
{
    static const char *const names[] = {"put", "remove", "published", "of"};
    const struct object *object = NULL;
    size_t at = 0;
    while (at < COUNT_OF(names) && !value_find(line, names[at]))
        at++;
    if (at < COUNT_OF(names))
        object = find_object(replay, value_int_at(line, names[at], 0));
    if (!object || !has_kind(model->shared_model, object->kind))
        return error_set(
            err, FAULT_SPEC, "",
            "no line before has the object that it names, or it is none of the model's");
    if ((at == 2 && !model->shared_model->published) ||
        (at == 3 && !model->shared_model->servers_reported))
        return error_set(err, FAULT_SPEC, "", "the model hears of no zones");
    model->is_unsettled |= at < 2;
    if (at == 0)
        model->shared_model->put(model->state, object);
    else if (at == 1)
        model->shared_model->remove(model->state, object);
    else if (at == 2)
        return take_published(replay, model, object, line, err);
    else
        return take_servers(replay, model, object, line, err);
    return true;
}

static bool take_model(struct replay *replay, const struct value *line, struct error *err)
{
    static const struct shared_model_calls calls = {wake_nobody, count_nothing, NULL};
    int64_t at = value_int_at(line, "model", -1);
    if (at < 0 || (size_t)at >= replay->controller_count || !replay->models[at].state)
        return error_set(err, FAULT_SPEC, "", "there is no model %lld", (long long)at);
    struct replayed_model *model = &replay->models[at];
    if (value_find(line, "renewed")) {
        renew(replay, (size_t)at);
    } else if (value_find(line, "settledAt")) {
        model->shared_model->settle(model->state, value_int_at(line, "settledAt", 0), &calls);
        model->is_unsettled = false;
    } else {
        return take_of_object(replay, model, line, err);
    }
    return true;
}

// ---- reconciliations ----------------------------------------------------------------------------

static bool is_same(const struct value *a, const struct value *b)
{
    AUTO_BUFFER left = {0};
    AUTO_BUFFER right = {0};
    value_write_json(&left, a);
    value_write_json(&right, b);
    return text_equal(buffer_text(&left), buffer_text(&right));
}

static const struct value *decide(struct replay *replay, size_t at, const struct snapshot *snapshot)
{
    struct decision decision = {0};
    replay->controllers[at]->decide(snapshot, replay->models[place_of_model(replay, at)].state,
                                    &decision);
    struct value *written = recording_write_decision(&replay->recording, replay->arena, &decision);
    decision_done(&decision);
    return written;
}

static bool take_reconciliation(struct replay *replay, const struct value *line, struct error *err)
{
    struct snapshot snapshot;
    int64_t at = value_int_at(line, "controller", -1);
    if (at < 0 || (size_t)at >= replay->controller_count)
        return error_set(err, FAULT_SPEC, "", "there is no controller %lld", (long long)at);
    if (replay->models[place_of_model(replay, (size_t)at)].is_unsettled)
        return error_set(err, FAULT_SPEC, "",
                         "its model has not settled: lines are missing, so ask for the whole "
                         "file");
    const struct controller *controller = replay->controllers[at];
    const struct value *recorded = value_find(line, "decision");
    if (!recording_read_snapshot(&replay->recording, replay->arena, controller,
                                 replay->settings[at], value_find(line, "snapshot"), &snapshot,
                                 err))
        return false;
    const struct value *decision = decide(replay, (size_t)at, &snapshot);
    const struct replayed replayed = {
        .controller = controller,
        .namespace_ = snapshot.namespace_,
        .name = snapshot.name,
        .trace = text_of(snapshot.trace),
        .now_ms = snapshot.now_ms,
        .snapshot = value_find(line, "snapshot"),
        .recorded = recorded,
        .decision = decision,
        .is_same = is_same(recorded, decision),
    };
    replay->options.reconciled(replay->options.context, replay, &replayed);
    return true;
}

// ---- lines --------------------------------------------------------------------------------------

static bool take_line(struct replay *replay, const struct value *line, struct error *err)
{
    static const struct {
        const char *key;
        bool (*take)(struct replay *replay, const struct value *line, struct error *err);
    } rows[] = {
        {"object", take_object},
        {"model", take_model},
        {"controller", take_reconciliation},
    };
    if (!replay->has_begun)
        return take_head(replay, line, err);
    if (value_find(line, "settings"))
        return take_settings(replay, line, err);
    if (!replay->has_settings)
        return error_set(err, FAULT_SPEC, "", "the settings are missing: ask for the whole file");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (value_find(line, rows[i].key))
            return rows[i].take(replay, line, err);
    return error_set(err, FAULT_SPEC, "",
                     "this is no line of a recording: ask for the file as it was made");
}

bool replay_line(struct replay *replay, struct text text, struct error *err)
{
    static const struct value_limits limits = {
        .octets = 256 * 1024 * 1024, .depth = 128, .nodes = 1 << 24};
    recording_forget_secrets(&replay->recording);
    arena_reset(replay->arena);
    struct value *line = value_read_json(replay->arena, text, &limits, err);
    if (!line && !replay->has_begun)
        return fail_foreign(err);
    return line && take_line(replay, line, err);
}
