#include <stdlib.h>
#include <string.h>

#include "engine/recording_private.h"

// ---- objects, zones, secrets --------------------------------------------------------------------

static struct value *write_object(void *context, struct arena *arena, const void *member)
{
    const struct recording *recording = context;
    const struct object *object;
    memcpy(&object, member, sizeof object);
    return object ? value_make_int(arena, recording->number_object(recording->context, object))
                  : NULL;
}

static bool fail_number(const char *what, int64_t number, struct error *err)
{
    return error_set(err, FAULT_SPEC, "", "no line before has %s %lld", what, (long long)number);
}

static bool read_object(void *context, struct arena *arena, const struct value *value, void *member,
                        struct error *err)
{
    const struct recording *recording = context;
    int64_t number = value->type == VALUE_INT ? value->integer : 0;
    const struct object *object = recording->find_object(recording->context, number);
    (void)arena;
    memcpy(member, &object, sizeof object);
    return object || fail_number("object", number, err);
}
const struct shape_other recording_object = {write_object, read_object};

static struct value *write_zone(void *context, struct arena *arena, const void *member)
{
    const struct recording *recording = context;
    const struct zone *zone;
    bool is_new;
    memcpy(&zone, member, sizeof zone);
    return zone ? value_make_int(arena, recording->number_zone(recording->context, zone, &is_new))
                : NULL;
}

static bool read_zone(void *context, struct arena *arena, const struct value *value, void *member,
                      struct error *err)
{
    const struct recording *recording = context;
    int64_t number = value->type == VALUE_INT ? value->integer : 0;
    const struct zone *zone = recording->find_zone(recording->context, number);
    (void)arena;
    memcpy(member, &zone, sizeof zone);
    return zone || fail_number("zone", number, err);
}
const struct shape_other recording_zone = {write_zone, read_zone};

static struct value *write_secret(void *context, struct arena *arena, const void *member)
{
    const struct secret *secret;
    memcpy(&secret, member, sizeof secret);
    return secret ? value_make_text(arena, recording_mask(context, arena, secret_expose(secret)))
                  : NULL;
}

static bool read_secret(void *context, struct arena *arena, const struct value *value, void *member,
                        struct error *err)
{
    struct recording *recording = context;
    struct text text = value_text(value);
    (void)arena;
    if (!text.at)
        return error_set(err, FAULT_SPEC, "", "what stands for a secret is no text");
    mem_reserve(&recording->secrets, &recording->secret_capacity, recording->secret_count + 1);
    struct secret *secret = secret_new(text.at, text.len);
    recording->secrets[recording->secret_count++] = secret;
    memcpy(member, &secret, sizeof secret);
    return true;
}
static const struct shape_other as_secret = {write_secret, read_secret};

struct value *recording_write_name(struct arena *arena, struct dname name)
{
    AUTO_BUFFER text = {0};
    if (!name.len)
        return NULL;
    dname_write(&text, name);
    return value_make_text(arena, (struct text){arena_copy(arena, text.at, text.len), text.len});
}

// ---- what is in many members --------------------------------------------------------------------

static const struct shape_member error_members[] = {
    SHAPE_CHOICE(struct error, fault, FAULT_RACE), SHAPE(struct error, SHAPE_INT64, retry_ms),
    SHAPE(struct error, SHAPE_INT, status),        SHAPE(struct error, SHAPE_CHARS, reason),
    SHAPE(struct error, SHAPE_CHARS, code),        SHAPE(struct error, SHAPE_CHARS, text),
};
const struct shape recording_error_shape = SHAPE_OF(struct error, error_members);

static const struct shape_member set_members[] = {
    SHAPE_CHOICE(struct record_set, type, RECORD_TYPES - 1),
    SHAPE(struct record_set, SHAPE_TEXT, domain),
    SHAPE(struct record_set, SHAPE_TEXT, subdomain),
    SHAPE(struct record_set, SHAPE_UNSIGNED, ttl_s),
    SHAPE_COUNTED(struct record_set, SHAPE_TEXTS, values, value_count),
    SHAPE(struct record_set, SHAPE_INT, priority),
    SHAPE(struct record_set, SHAPE_INT, weight),
    SHAPE(struct record_set, SHAPE_INT, port),
};
const struct shape recording_set_shape = SHAPE_OF(struct record_set, set_members);

// ---- the parts of a snapshot --------------------------------------------------------------------

static const struct shape_member input_members[] = {
    SHAPE_COUNTED_BY(struct input_objects, objects, count, &recording_object),
    SHAPE(struct input_objects, SHAPE_BOOL, is_synced),
    SHAPE(struct input_objects, SHAPE_BOOL, is_missing),
    SHAPE(struct input_objects, SHAPE_STRING, unreadable),
};
static const struct shape input_shape = SHAPE_OF(struct input_objects, input_members);

static const struct shape_member view_members[] = {
    SHAPE_NEEDED(struct backend_view, SHAPE_STRING, name),
    SHAPE(struct backend_view, SHAPE_BOOL, is_open),
    SHAPE(struct backend_view, SHAPE_BOOL, is_lingering),
    SHAPE_NEEDED(struct backend_view, SHAPE_STRING, registry),
    SHAPE_NESTED(struct backend_view, SHAPE_STRUCT, fault, &recording_error_shape),
    SHAPE_NESTED(struct backend_view, SHAPE_STRUCT, unavailable, &recording_error_shape),
    SHAPE(struct backend_view, SHAPE_INT64, stalled_ms),
    SHAPE(struct backend_view, SHAPE_VALUE, answer),
    SHAPE(struct backend_view, SHAPE_INT64, answered_s),
    SHAPE(struct backend_view, SHAPE_BOOL, is_answer_ok),
    SHAPE_NESTED(struct backend_view, SHAPE_STRUCT, answer_error, &recording_error_shape),
    SHAPE_BY(struct backend_view, secret, &as_secret),
    SHAPE(struct backend_view, SHAPE_UINT64, basis),
    SHAPE(struct backend_view, SHAPE_VALUE, known),
    SHAPE(struct backend_view, SHAPE_STRING, note),
    SHAPE(struct backend_view, SHAPE_BOOL, is_learning),
    SHAPE(struct backend_view, SHAPE_BOOL, is_listed),
    SHAPE(struct backend_view, SHAPE_BOOL, is_judged),
    SHAPE(struct backend_view, SHAPE_STRING, guarded_checksum),
};
static const struct shape view_shape = SHAPE_OF(struct backend_view, view_members);

static const struct shape_member receipt_members[] = {
    SHAPE_NEEDED(struct receipt, SHAPE_STRING, registry),
    SHAPE_CHOICE(struct receipt, type, RECORD_TYPES - 1),
    SHAPE(struct receipt, SHAPE_TEXT, domain),
    SHAPE(struct receipt, SHAPE_TEXT, subdomain),
    SHAPE_CHOICE(struct receipt, intent, CLAIM_LOOK),
    SHAPE_CHOICE(struct receipt, state, RECEIPT_LOST),
    SHAPE(struct receipt, SHAPE_BOOL, was_created),
    SHAPE(struct receipt, SHAPE_BOOL, is_open),
    SHAPE(struct receipt, SHAPE_BOOL, was_sent),
    SHAPE(struct receipt, SHAPE_BOOL, is_in_way),
    SHAPE(struct receipt, SHAPE_BOOL, is_inherited),
    SHAPE(struct receipt, SHAPE_BOOL, is_uncertain),
    SHAPE(struct receipt, SHAPE_BOOL, is_heir),
    SHAPE(struct receipt, SHAPE_BOOL, is_foreign),
    SHAPE(struct receipt, SHAPE_OCTETS, hash),
    SHAPE_NESTED(struct receipt, SHAPE_POINTER, found, &recording_set_shape),
    SHAPE(struct receipt, SHAPE_INT64, settled_s),
    SHAPE(struct receipt, SHAPE_INT64, since_ms),
    SHAPE(struct receipt, SHAPE_BOOL, is_in_line),
    SHAPE(struct receipt, SHAPE_UNSIGNED, attempts),
    SHAPE(struct receipt, SHAPE_BOOL, is_recalled),
    SHAPE(struct receipt, SHAPE_INT64, next_attempt_ms),
    SHAPE(struct receipt, SHAPE_INT64, failed_ms),
    SHAPE_NESTED(struct receipt, SHAPE_STRUCT, error, &recording_error_shape),
    SHAPE(struct receipt, SHAPE_STRING, trace),
    SHAPE(struct receipt, SHAPE_TEXT, holder),
    SHAPE(struct receipt, SHAPE_TEXT, holder_namespace),
};
static const struct shape receipt_shape = SHAPE_OF(struct receipt, receipt_members);

static const struct shape_member answer_members[] = {
    SHAPE_NEEDED(struct answer_view, SHAPE_STRING, backend),
    SHAPE_NEEDED(struct answer_view, SHAPE_STRING, name),
    SHAPE(struct answer_view, SHAPE_STRING, about),
    SHAPE(struct answer_view, SHAPE_INT64, answered_ms),
    SHAPE(struct answer_view, SHAPE_BOOL, is_ok),
    SHAPE(struct answer_view, SHAPE_VALUE, value),
    SHAPE_NESTED(struct answer_view, SHAPE_POINTER, error, &recording_error_shape),
};
static const struct shape answer_shape = SHAPE_OF(struct answer_view, answer_members);

static const struct shape_member server_members[] = {
    SHAPE_NEEDED(struct server_view, SHAPE_STRING, name),
    SHAPE(struct server_view, SHAPE_BOOL, is_probed),
    SHAPE(struct server_view, SHAPE_BOOL, signs),
    SHAPE(struct server_view, SHAPE_BOOL, has_serial),
    SHAPE(struct server_view, SHAPE_UNSIGNED, serial),
    SHAPE(struct server_view, SHAPE_BOOL, is_believed),
    SHAPE(struct server_view, SHAPE_BOOL, has_fetched),
    SHAPE(struct server_view, SHAPE_UNSIGNED, fetched),
    SHAPE(struct server_view, SHAPE_BOOL, is_stuck),
    SHAPE(struct server_view, SHAPE_BOOL, is_recalled),
    SHAPE_NESTED(struct server_view, SHAPE_STRUCT, fault, &recording_error_shape),
};
static const struct shape server_shape = SHAPE_OF(struct server_view, server_members);

struct value *recording_write_servers(struct arena *arena, const struct server_view *servers,
                                      size_t count)
{
    return shape_write_list(NULL, arena, &server_shape, servers, count);
}

bool recording_read_servers(struct arena *arena, const struct value *list,
                            const struct server_view **servers, size_t *count, struct error *err)
{
    const void *items;
    if (!shape_read_list(NULL, arena, &server_shape, list, &items, count, err))
        return false;
    *servers = items;
    return true;
}

static struct value *write_apex(void *context, struct arena *arena, const void *member)
{
    const struct snapshot *snapshot =
        (const void *)((const char *)member - offsetof(struct snapshot, apex));
    (void)context;
    return recording_write_name(arena, (struct dname){snapshot->apex, snapshot->apex_len});
}

static bool read_apex(void *context, struct arena *arena, const struct value *value, void *member,
                      struct error *err)
{
    struct snapshot *snapshot = (void *)((char *)member - offsetof(struct snapshot, apex));
    uint8_t *octets = arena_alloc(arena, DNAME_MAX, 1);
    struct dname name;
    (void)context;
    if (!dname_read(value_text(value), NULL, DNAME_OF_FILE, octets, &name, err))
        return error_prefix(err, "apex: ");
    snapshot->apex = name.at;
    snapshot->apex_len = name.len;
    return true;
}
static const struct shape_other zone_name = {write_apex, read_apex};

// ---- the snapshot -------------------------------------------------------------------------------

// All but its inputs, whose number its controller knows, and the whole object, which is masked as
// the subject is.
static const struct shape_member snapshot_members[] = {
    SHAPE_NAMED(struct snapshot, SHAPE_TEXT, namespace_, "namespace"),
    SHAPE_NEEDED(struct snapshot, SHAPE_TEXT, name),
    SHAPE_BY(struct snapshot, subject, &recording_object),
    SHAPE_BY(struct snapshot, previous, &recording_object),
    SHAPE_NESTED_COUNTED(struct snapshot, SHAPE_POINTERS, backends, backend_count, &view_shape),
    SHAPE_COUNTED(struct snapshot, SHAPE_STRINGS, backend_names, backend_count),
    SHAPE_NESTED_COUNTED(struct snapshot, SHAPE_LIST, receipts, receipt_count, &receipt_shape),
    SHAPE_NESTED_COUNTED(struct snapshot, SHAPE_LIST, answers, answer_count, &answer_shape),
    SHAPE_NESTED(struct snapshot, SHAPE_POINTER, refused, &recording_error_shape),
    SHAPE(struct snapshot, SHAPE_BOOL, was_read),
    SHAPE_BY(struct snapshot, apex, &zone_name),
    SHAPE_BY(struct snapshot, published, &recording_zone),
    SHAPE_BY(struct snapshot, known, &recording_zone),
    SHAPE(struct snapshot, SHAPE_STRING, server_group),
    SHAPE_NESTED_COUNTED(struct snapshot, SHAPE_LIST, servers, server_count, &server_shape),
    SHAPE(struct snapshot, SHAPE_BOOL, is_leading),
    SHAPE(struct snapshot, SHAPE_BOOL, shows_all),
    SHAPE(struct snapshot, SHAPE_BOOL, runs_workloads),
    SHAPE(struct snapshot, SHAPE_STRING, owner_id),
    SHAPE(struct snapshot, SHAPE_INT64, now_ms),
    SHAPE(struct snapshot, SHAPE_INT64, started_ms),
    SHAPE_NEEDED(struct snapshot, SHAPE_STRING, trace),
};
static const struct shape snapshot_shape = SHAPE_OF(struct snapshot, snapshot_members);

struct value *recording_write_snapshot(struct recording *recording, struct arena *arena,
                                       const struct controller *controller,
                                       const struct snapshot *snapshot)
{
    struct value *tree = shape_write(recording, arena, &snapshot_shape, snapshot);
    value_set(tree, TEXT("inputs"),
              shape_write_list(recording, arena, &input_shape, snapshot->inputs,
                               controller->input_count));
    if (snapshot->whole)
        value_set(tree, TEXT("whole"),
                  recording_mask_object(recording, arena, controller->kind, snapshot->whole));
    return tree;
}

static const struct answer_view *identify_answers(const struct snapshot *snapshot,
                                                  struct arena *arena)
{
    struct answer_view *out =
        arena_new_array(arena, struct answer_view, snapshot->answer_count + 1);
    for (size_t i = 0; i < snapshot->answer_count; i++) {
        struct answer_view *answer = &out[i];
        *answer = snapshot->answers[i];
        const struct value *about = answer->about ? value_read_json(arena, text_of(answer->about),
                                                                    &value_manifest_limits, NULL)
                                                  : NULL;
        answer->id = question_id(answer->backend, answer->name, about);
    }
    return out;
}

static bool is_of_kind(const struct object *object, const struct kind *kind)
{
    return !object || object->kind == kind;
}

// What no engine would hand to that controller is refused: it may rely on all of it.
static bool check_snapshot(const struct controller *controller, const struct snapshot *snapshot,
                           const struct input_objects *inputs, struct error *err)
{
    bool is_good = is_of_kind(snapshot->subject, controller->kind) &&
                   is_of_kind(snapshot->previous, controller->kind) &&
                   (!snapshot->backend_count || (snapshot->backends && snapshot->backend_names));
    for (size_t i = 0; i < controller->input_count; i++)
        for (size_t j = 0; j < inputs[i].count; j++)
            is_good &= is_of_kind(inputs[i].objects[j], controller->inputs[i].kind);
    return is_good || error_set(err, FAULT_SPEC, "",
                                "it has objects, backends or a zone that controller %s never sees",
                                controller->name);
}

bool recording_read_snapshot(struct recording *recording, struct arena *arena,
                             const struct controller *controller, const void *settings,
                             const struct value *tree, struct snapshot *out, struct error *err)
{
    size_t count;
    const void *inputs;
    if (!shape_read(recording, arena, &snapshot_shape, tree, out, err) ||
        !shape_read_list(recording, arena, &input_shape, value_find(tree, "inputs"), &inputs,
                         &count, err))
        return false;
    if (count != controller->input_count)
        return error_set(
            err, FAULT_SPEC, "",
            "controller %s has %zu inputs here and %zu in the recording: replay it with "
            "the release that made it",
            controller->name, controller->input_count, count);
    if (!check_snapshot(controller, out, inputs, err))
        return false;
    out->answers = identify_answers(out, arena);
    out->arena = arena;
    out->settings = settings;
    out->inputs = inputs;
    out->whole = value_find(tree, "whole");
    return true;
}

void recording_forget_secrets(struct recording *recording)
{
    for (size_t i = 0; i < recording->secret_count; i++)
        secret_unref(recording->secrets[i]);
    recording->secret_count = 0;
}

void recording_done(struct recording *recording)
{
    recording_forget_secrets(recording);
    free(recording->secrets);
    secret_unref(recording->mask);
    *recording = (struct recording){0};
}
