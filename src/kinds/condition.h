#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/pack.h"
#include "base/value.h"

// Standard conditions of all kinds, and the one table of reasons with what each says to people. A
// condition's text names the object at fault and what to do, at most 1,024 octets, never a counter
// or a time.

enum reason {
    REASON_NONE,
#define REASON(id, text, doc) REASON_##id,
#include "kinds/all_reasons.def"
#undef REASON
    REASONS,
};
const char *reason_name(enum reason reason); // "RecordCreated"; "" for NONE
enum reason reason_find(struct text name);   // NONE when unknown

enum condition_status { CONDITION_UNKNOWN, CONDITION_TRUE, CONDITION_FALSE };

enum { CONDITIONS_MAX = 8, CONDITION_TEXT_MAX = 1024 };
struct condition {
    const char *type; // a literal: "Ready"
    enum condition_status status;
    enum reason reason;
    const char *message;
    int64_t observed_generation;
    int64_t transition_s; // Unix seconds
};
struct conditions {
    struct condition items[CONDITIONS_MAX];
    size_t count;
};
const struct condition *conditions_find(const struct conditions *conditions, const char *type);
// Adds or replaces by type, keeping the order; transition_s is `now_s`, but the old one's when the
// status did not change since `old` (which may be NULL).
void conditions_set(struct conditions *conditions, const struct conditions *old,
                    struct condition condition, int64_t now_s);
// Messages are cleaned and cut at CONDITION_TEXT_MAX octets.
struct value *conditions_encode(struct arena *arena, const struct conditions *conditions);
// From status.conditions; types not in `types` (NULL-terminated) are left out. Message is not kept.
// A `type` of the result is the literal of `types`.
void conditions_decode(struct conditions *out, const struct value *list, const char *const *types);
// Compact, in the order of `types`; observed_generation is not kept either. Times near `base_s`
// take an octet or two.
void conditions_pack(struct pack_writer *out, const struct conditions *conditions,
                     const char *const *types, int64_t base_s);
void conditions_unpack(struct pack_reader *in, struct conditions *out, const char *const *types,
                       int64_t base_s);

// Has a whole object, ours or not, a condition of that type in its status, and is it True?
bool status_has_condition(const struct value *object, const char *type);

// An RFC 3339 text of a status as Unix seconds; 0 when absent or unreadable. And back.
int64_t status_time_at(const struct value *map, const char *key);
struct value *status_time_make(struct arena *arena, int64_t unix_s);

// Rows of status.conditions for a kind's table; `which` says which conditions the kind has.
extern const char *const condition_statuses[]; // NULL-terminated
#define CONDITION_FIELDS(which)                                                                    \
    {.path = "status.conditions",                                                                  \
     .type = FIELD_LIST,                                                                           \
     .list_key = "type",                                                                           \
     .max = 32,                                                                                    \
     .doc = (which)},                                                                              \
        {.path = "status.conditions[]", .type = FIELD_MAP, .doc = "One condition."},               \
        {.path = "status.conditions[].type",                                                       \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED,                                                                  \
         .min = 1,                                                                                 \
         .max = 316,                                                                               \
         .doc = "Type of the condition."},                                                         \
        {.path = "status.conditions[].status",                                                     \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED,                                                                  \
         .min = 1,                                                                                 \
         .max = 16,                                                                                \
         .choices = condition_statuses,                                                            \
         .doc = "True, False or Unknown."},                                                        \
        {.path = "status.conditions[].observedGeneration",                                         \
         .type = FIELD_INT,                                                                        \
         .flags = FIELD_INT64,                                                                     \
         .doc = "Generation of the object that the condition speaks of."},                         \
        {.path = "status.conditions[].lastTransitionTime",                                         \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED | FIELD_TIME,                                                     \
         .max = 64,                                                                                \
         .doc = "When the status last changed."},                                                  \
        {.path = "status.conditions[].reason",                                                     \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED,                                                                  \
         .max = 1024,                                                                              \
         .doc = "Why, as one word."},                                                              \
    {                                                                                              \
        .path = "status.conditions[].message", .type = FIELD_TEXT, .flags = FIELD_REQUIRED,        \
        .max = 32768, .doc = "Why, and what to do, for people."                                    \
    }
