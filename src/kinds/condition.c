#include "kinds/condition.h"

#include <string.h>

#include "base/must.h"
#include "base/when.h"

static const char *const reasons[REASONS] = {
    [REASON_NONE] = "",
#define REASON(id, text, doc) [REASON_##id] = (text),
#include "kinds/all_reasons.def"
#undef REASON
};

static const char *const statuses[] = {
    [CONDITION_UNKNOWN] = "Unknown",
    [CONDITION_TRUE] = "True",
    [CONDITION_FALSE] = "False",
};

const char *const condition_statuses[] = {"True", "False", "Unknown", NULL};

const char *reason_name(enum reason reason)
{
    must(reason < REASONS);
    return reasons[reason];
}

enum reason reason_find(struct text name)
{
    for (int i = REASON_NONE + 1; i < REASONS; i++)
        if (text_is(name, reasons[i]))
            return (enum reason)i;
    return REASON_NONE;
}

const struct condition *conditions_find(const struct conditions *conditions, const char *type)
{
    for (size_t i = 0; conditions && i < conditions->count; i++)
        if (strcmp(conditions->items[i].type, type) == 0)
            return &conditions->items[i];
    return NULL;
}

static struct condition *slot_of(struct conditions *conditions, const char *type)
{
    for (size_t i = 0; i < conditions->count; i++)
        if (strcmp(conditions->items[i].type, type) == 0)
            return &conditions->items[i];
    must(conditions->count < CONDITIONS_MAX);
    return &conditions->items[conditions->count++];
}

void conditions_set(struct conditions *conditions, const struct conditions *old,
                    struct condition condition, int64_t now_s)
{
    const struct condition *before = conditions_find(old, condition.type);
    bool is_same = before && before->status == condition.status && before->transition_s > 0;
    condition.transition_s = is_same ? before->transition_s : now_s;
    *slot_of(conditions, condition.type) = condition;
}

struct value *status_time_make(struct arena *arena, int64_t unix_s)
{
    char text[WHEN_TEXT_MAX];
    when_write(unix_s, text);
    return value_make_text(arena, text_of(arena_copy_text(arena, text)));
}

// Findings and replies may repeat what a user or a server wrote.
static struct value *message_make(struct arena *arena, const char *message)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(message ? message : ""), CONDITION_TEXT_MAX);
    return value_make_text(arena, text_of(arena_copy(arena, clean.len ? clean.at : "", clean.len)));
}

static struct value *condition_encode(struct arena *arena, const struct condition *condition)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("type"), value_make_text(arena, text_of(condition->type)));
    value_set(map, TEXT("status"), value_make_text(arena, text_of(statuses[condition->status])));
    value_set(map, TEXT("observedGeneration"),
              value_make_int(arena, condition->observed_generation));
    value_set(map, TEXT("lastTransitionTime"), status_time_make(arena, condition->transition_s));
    value_set(map, TEXT("reason"), value_make_text(arena, text_of(reason_name(condition->reason))));
    value_set(map, TEXT("message"), message_make(arena, condition->message));
    return map;
}

struct value *conditions_encode(struct arena *arena, const struct conditions *conditions)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < conditions->count; i++)
        value_append(list, condition_encode(arena, &conditions->items[i]));
    return list;
}

static enum condition_status status_find(struct text text)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (text_is(text, statuses[i]))
            return (enum condition_status)i;
    return CONDITION_UNKNOWN;
}

static const char *type_find(struct text type, const char *const *types)
{
    for (; *types; types++)
        if (text_is(type, *types))
            return *types;
    return NULL;
}

bool status_has_condition(const struct value *object, const char *type)
{
    value_each (condition, value_list_at(object, "status.conditions"))
        if (text_is(value_text_at(condition, "type"), type))
            return text_is(value_text_at(condition, "status"), "True");
    return false;
}

int64_t status_time_at(const struct value *map, const char *key)
{
    int64_t unix_ms;
    struct text text = value_text_at(map, key);
    return text.len && when_parse(text, &unix_ms, NULL) ? unix_ms / 1000 : 0;
}

void conditions_decode(struct conditions *out, const struct value *list, const char *const *types)
{
    *out = (struct conditions){0};
    value_each (item, list && list->type == VALUE_LIST ? list : NULL) {
        const char *type = type_find(value_text_at(item, "type"), types);
        if (!type)
            continue;
        *slot_of(out, type) = (struct condition){
            .type = type,
            .status = status_find(value_text_at(item, "status")),
            .reason = reason_find(value_text_at(item, "reason")),
            .observed_generation = value_int_at(item, "observedGeneration", 0),
            .transition_s = status_time_at(item, "lastTransitionTime"),
        };
    }
}

// One octet tells status and reason; 0 is "no such condition".
void conditions_pack(struct pack_writer *out, const struct conditions *conditions,
                     const char *const *types, int64_t base_s)
{
    for (; *types; types++) {
        const struct condition *condition = conditions_find(conditions, *types);
        if (!condition) {
            pack_number(out, 0);
            continue;
        }
        pack_number(out, 1 + (uint64_t)condition->status + 3 * (uint64_t)condition->reason);
        pack_signed(out, condition->transition_s - base_s);
        base_s = condition->transition_s;
    }
}

void conditions_unpack(struct pack_reader *in, struct conditions *out, const char *const *types,
                       int64_t base_s)
{
    *out = (struct conditions){0};
    for (; *types; types++) {
        uint64_t both = unpack_number(in);
        if (both == 0)
            continue;
        base_s += unpack_signed(in);
        *slot_of(out, *types) = (struct condition){
            .type = *types,
            .status = (enum condition_status)((both - 1) % 3),
            .reason = (enum reason)((both - 1) / 3),
            .transition_s = base_s,
        };
    }
}
