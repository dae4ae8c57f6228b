#include <string.h>

#include "base/digest.h"
#include "base/metric.h"
#include "dns/zone.h"
#include "engine/recording_private.h"

// Decisions as a recording has them: they are written, and compared as texts. Epochs are left out:
// they are hashes that are good within one process only (base/hash.h).

// ---- what has no type of its own ----------------------------------------------------------------

static struct value *write_secret(void *context, struct arena *arena, const void *member)
{
    const struct secret *secret;
    (void)context;
    memcpy(&secret, member, sizeof secret);
    return secret ? value_make_bool(arena, true) : NULL;
}
static const struct shape_other whether = {.write = write_secret};

static struct value *write_kind(void *context, struct arena *arena, const void *member)
{
    const struct kind *kind;
    (void)context;
    memcpy(&kind, member, sizeof kind);
    return kind ? value_make_text(arena, text_of(kind->name)) : NULL;
}
static const struct shape_other by_name = {.write = write_kind};

static struct value *write_metric(void *context, struct arena *arena, const void *member)
{
    const struct controller_metric *metric;
    (void)context;
    memcpy(&metric, member, sizeof metric);
    return value_make_text(arena, text_of(metric->name));
}
static const struct shape_other metric_name = {.write = write_metric};

static struct value *attribute(struct arena *arena, const struct log_attr *attr)
{
    if (attr->type == LOG_ATTR_TEXT)
        return value_make_text(arena, attr->text);
    return attr->type == LOG_ATTR_INT ? value_make_int(arena, attr->integer)
                                      : value_make_bool(arena, attr->integer);
}

static struct value *write_attributes(void *context, struct arena *arena, const void *member)
{
    const struct log_attr *attrs;
    (void)context;
    memcpy(&attrs, member, sizeof attrs);
    struct value *map = attrs ? value_make(arena, VALUE_MAP) : NULL;
    for (; attrs && attrs->type != LOG_ATTR_END; attrs++)
        if (attrs->type != LOG_ATTR_TEXT || attrs->text.at)
            value_set(map, text_of(attrs->name), attribute(arena, attrs));
    return map;
}
static const struct shape_other as_map = {.write = write_attributes};

// A zone that the decision has made is written with its content.
static struct value *write_zone(void *context, struct arena *arena, const void *member)
{
    const struct recording *recording = context;
    const struct zone *zone;
    uint8_t digest[32];
    char digits[2 * sizeof digest + 1];
    bool is_new;
    memcpy(&zone, member, sizeof zone);
    if (!zone)
        return NULL;
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_int(arena, map, "number", recording->number_zone(recording->context, zone, &is_new));
    if (!is_new)
        return map;
    zone_digest(zone, digest);
    hex_encode(digest, sizeof digest, digits);
    value_put_int(arena, map, "serial", zone_serial(zone));
    value_put_int(arena, map, "records", (int64_t)zone_record_count(zone));
    value_put_text(arena, map, "digest", arena_copy_text(arena, digits));
    return map;
}
static const struct shape_other made_zone = {.write = write_zone};

static struct value *write_apex(void *context, struct arena *arena, const void *member)
{
    const struct publication *publication =
        (const void *)((const char *)member - offsetof(struct publication, apex));
    (void)context;
    return recording_write_name(arena, (struct dname){publication->apex, publication->apex_len});
}
static const struct shape_other zone_name = {.write = write_apex};

// ---- the parts ----------------------------------------------------------------------------------

static const struct shape_member change_members[] = {
    SHAPE(struct decision_metadata_change, SHAPE_STRING, key),
    SHAPE(struct decision_metadata_change, SHAPE_STRING, value),
    SHAPE(struct decision_metadata_change, SHAPE_BOOL, is_label),
};
static const struct shape change_shape = SHAPE_OF(struct decision_metadata_change, change_members);

static const struct shape_member claim_members[] = {
    SHAPE(struct claim_want, SHAPE_STRING, backend),
    SHAPE(struct claim_want, SHAPE_STRING, registry),
    SHAPE(struct claim_want, SHAPE_INT, intent),
    SHAPE(struct claim_want, SHAPE_BOOL, is_suspended),
    SHAPE(struct claim_want, SHAPE_BOOL, is_guarded),
    SHAPE(struct claim_want, SHAPE_BOOL, shares),
    SHAPE_NESTED(struct claim_want, SHAPE_STRUCT, set, &recording_set_shape),
    SHAPE(struct claim_want, SHAPE_BOOL, has_known),
    SHAPE(struct claim_want, SHAPE_OCTETS, known),
    SHAPE(struct claim_want, SHAPE_BOOL, may_stand),
    SHAPE(struct claim_want, SHAPE_BOOL, may_adopt),
    SHAPE(struct claim_want, SHAPE_INT64, look_since_s),
    SHAPE(struct claim_want, SHAPE_BOOL, is_shown),
    SHAPE(struct claim_want, SHAPE_STRING, replaces),
    SHAPE(struct claim_want, SHAPE_UNSIGNED, attempts),
    SHAPE(struct claim_want, SHAPE_INT64, not_before_ms),
};
static const struct shape claim_shape = SHAPE_OF(struct claim_want, claim_members);

static const struct shape_member backend_members[] = {
    SHAPE(struct backend_want, SHAPE_STRING, name),
    SHAPE(struct backend_want, SHAPE_STRING, provider),
    SHAPE(struct backend_want, SHAPE_STRING, registry),
    SHAPE(struct backend_want, SHAPE_VALUE, config),
    SHAPE_BY(struct backend_want, secret, &whether),
    SHAPE(struct backend_want, SHAPE_UNSIGNED, max_in_flight),
    SHAPE(struct backend_want, SHAPE_INT64, retry_base_ms),
    SHAPE(struct backend_want, SHAPE_INT64, retry_max_ms),
    SHAPE(struct backend_want, SHAPE_UNSIGNED, retry_attempts),
    SHAPE(struct backend_want, SHAPE_INT64, retry_slow_ms),
    SHAPE(struct backend_want, SHAPE_INT64, linger_ms),
    SHAPE(struct backend_want, SHAPE_UINT64, basis),
    SHAPE(struct backend_want, SHAPE_BOOL, was_well),
    SHAPE(struct backend_want, SHAPE_VALUE, known),
    SHAPE(struct backend_want, SHAPE_INT64, learn_ms),
    SHAPE(struct backend_want, SHAPE_UNSIGNED, guard_percent),
    SHAPE_NESTED(struct backend_want, SHAPE_STRUCT, fault, &recording_error_shape),
};
static const struct shape backend_shape = SHAPE_OF(struct backend_want, backend_members);

static const struct shape_member question_members[] = {
    SHAPE(struct question, SHAPE_STRING, backend),
    SHAPE(struct question, SHAPE_STRING, name),
    SHAPE(struct question, SHAPE_VALUE, about),
    SHAPE(struct question, SHAPE_INT64, good_for_ms),
};
static const struct shape question_shape = SHAPE_OF(struct question, question_members);

static const struct shape_member approval_members[] = {
    SHAPE(struct approval, SHAPE_STRING, backend),
    SHAPE(struct approval, SHAPE_STRING, checksum),
};
static const struct shape approval_shape = SHAPE_OF(struct approval, approval_members);

static const struct shape_member publication_members[] = {
    SHAPE(struct publication, SHAPE_INT, what),
    SHAPE_BY(struct publication, apex, &zone_name),
    SHAPE(struct publication, SHAPE_STRING, group),
    SHAPE(struct publication, SHAPE_BOOL, was_served),
    SHAPE(struct publication, SHAPE_BOOL, is_frozen),
    SHAPE_BY(struct publication, zone, &made_zone),
    SHAPE_BY(struct publication, next, &made_zone),
};
static const struct shape publication_shape = SHAPE_OF(struct publication, publication_members);

static const struct shape_member event_members[] = {
    SHAPE(struct decision_event, SHAPE_BOOL, is_warning),
    SHAPE(struct decision_event, SHAPE_STRING, reason),
    SHAPE(struct decision_event, SHAPE_STRING, text),
    SHAPE_BY(struct decision_event, regarding, &recording_object),
};
static const struct shape event_shape = SHAPE_OF(struct decision_event, event_members);

static const struct shape_member line_members[] = {
    SHAPE(struct decision_line, SHAPE_INT, level),
    SHAPE(struct decision_line, SHAPE_STRING, message),
    SHAPE_BY(struct decision_line, attrs, &as_map),
};
static const struct shape line_shape = SHAPE_OF(struct decision_line, line_members);

static const struct shape_member key_members[] = {
    SHAPE_BY(struct object_ref_key, kind, &by_name),
    SHAPE_NAMED(struct object_ref_key, SHAPE_TEXT, namespace_, "namespace"),
    SHAPE(struct object_ref_key, SHAPE_TEXT, name),
};
static const struct shape key_shape = SHAPE_OF(struct object_ref_key, key_members);

static const struct shape_member grant_members[] = {
    SHAPE(struct metadata_change, SHAPE_STRING, key),
    SHAPE(struct metadata_change, SHAPE_STRING, value),
    SHAPE(struct metadata_change, SHAPE_BOOL, is_label),
};
static const struct shape grant_shape = SHAPE_OF(struct metadata_change, grant_members);

static const struct shape_member object_members[] = {
    SHAPE_NESTED(struct object_want, SHAPE_STRUCT, key, &key_shape),
    SHAPE(struct object_want, SHAPE_VALUE, tree),
    SHAPE_BY(struct object_want, seen, &recording_object),
    SHAPE(struct object_want, SHAPE_VALUE, kept),
    SHAPE_NESTED(struct object_want, SHAPE_POINTER, grant, &grant_shape),
    SHAPE_NESTED(struct object_want, SHAPE_POINTER, event, &event_shape),
    SHAPE_NESTED(struct object_want, SHAPE_POINTER, line, &line_shape),
};
static const struct shape object_shape = SHAPE_OF(struct object_want, object_members);

static const struct shape_member obstacle_members[] = {
    SHAPE(struct decision_obstacle, SHAPE_STRING, reason),
    SHAPE(struct decision_obstacle, SHAPE_STRING, text),
};
static const struct shape obstacle_shape = SHAPE_OF(struct decision_obstacle, obstacle_members);

static const struct shape_member sample_members[] = {
    SHAPE_BY(struct decision_sample, metric, &metric_name),
    SHAPE(struct decision_sample, SHAPE_STRING, label),
    SHAPE(struct decision_sample, SHAPE_INT64, value),
    SHAPE(struct decision_sample, SHAPE_UINT64, times),
};
static const struct shape sample_shape = SHAPE_OF(struct decision_sample, sample_members);

// ---- the decision -------------------------------------------------------------------------------

#define PART(kind_, member, count, its)                                                            \
    SHAPE_NESTED_COUNTED(struct decision, kind_, member, count, its)
static const struct shape_member decision_members[] = {
    SHAPE(struct decision, SHAPE_INT, finalizer),
    PART(SHAPE_ARRAY, metadata_changes, metadata_change_count, &change_shape),
    PART(SHAPE_LIST, claims, claim_count, &claim_shape),
    PART(SHAPE_LIST, backends, backend_count, &backend_shape),
    PART(SHAPE_LIST, questions, question_count, &question_shape),
    SHAPE_NESTED(struct decision, SHAPE_POINTER, approval, &approval_shape),
    SHAPE_NESTED(struct decision, SHAPE_STRUCT, publication, &publication_shape),
    SHAPE(struct decision, SHAPE_BOOL, wants_whole),
    PART(SHAPE_LIST, objects, object_count, &object_shape),
    SHAPE(struct decision, SHAPE_VALUE, status),
    PART(SHAPE_ARRAY, events, event_count, &event_shape),
    PART(SHAPE_ARRAY, lines, line_count, &line_shape),
    SHAPE_NESTED(struct decision, SHAPE_STRUCT, obstacle, &obstacle_shape),
    SHAPE(struct decision, SHAPE_INT64, wake_ms),
    SHAPE_NESTED(struct decision, SHAPE_STRUCT, fault, &recording_error_shape),
    SHAPE(struct decision, SHAPE_STRING, class_label),
    SHAPE(struct decision, SHAPE_STRING, reason_label),
    PART(SHAPE_ARRAY, samples, sample_count, &sample_shape),
    SHAPE(struct decision, SHAPE_INT64, programmed_ms),
};
#undef PART
static const struct shape decision_shape = SHAPE_OF(struct decision, decision_members);

struct value *recording_write_decision(struct recording *recording, struct arena *arena,
                                       const struct decision *decision)
{
    return shape_write(recording, arena, &decision_shape, decision);
}
