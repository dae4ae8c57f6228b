#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Kinds that the tests of this room work with: Thing (namespaced, finalizer, one immutable field),
// Place (cluster-scoped, may hold a secret inline) and Token (all secret, no finalizer).

#define TEST_GROUP "test.example.org"
#define TEST_FINALIZER "test.example.org/finalizer"
#define TEST_CLAIMS "test.example.org/claims"

static const char *const test_condition_types[] = {"Ready", "Accepted", NULL};

static const struct field thing_fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED},
    {.path = "spec.value", .type = FIELD_TEXT, .flags = FIELD_REQUIRED},
    {.path = "spec.size", .type = FIELD_INT, .min = 1, .max = 100},
    {.path = "spec.place", .type = FIELD_TEXT, .flags = FIELD_IMMUTABLE},
    {.path = "spec.colour", .type = FIELD_TEXT, .fallback = "green"},
    {.path = "status", .type = FIELD_MAP},
    {.path = "status.state", .type = FIELD_TEXT},
    {.path = "status.count", .type = FIELD_INT},
    {.path = "status.conditions", .type = FIELD_LIST},
    {.path = "status.conditions[]", .type = FIELD_MAP},
    {.path = "status.conditions[].type", .type = FIELD_TEXT},
    {.path = "status.conditions[].status", .type = FIELD_TEXT},
};

static inline struct text test_annotation(const struct value *object, const char *key)
{
    return value_text(value_find(value_at(object, "metadata.annotations", NULL), key));
}

static inline void thing_pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.value"));
    pack_signed(out, value_int_at(object, "spec.size", 0));
    pack_text(out, value_text_at(object, "spec.colour"));
    pack_text(out, test_annotation(object, "paused"));
}

static inline void thing_pack_managed(const struct value *object, struct pack_writer *out)
{
    pack_text(out, test_annotation(object, TEST_CLAIMS));
    pack_text(out, value_text_at(object, "status.state"));
}

static const struct kind thing_kind = {
    .group = TEST_GROUP,
    .version = "v1",
    .name = "Thing",
    .plural = "things",
    .singular = "thing",
    .is_namespaced = true,
    .has_status = true,
    .condition_types = test_condition_types,
    .fields = thing_fields,
    .field_count = COUNT_OF(thing_fields),
    .doc = "A thing.",
    .pack_spec = thing_pack_spec,
    .pack_managed = thing_pack_managed,
};

static const struct field place_fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED},
    {.path = "spec.server", .type = FIELD_TEXT},
    {.path = "spec.secret", .type = FIELD_TEXT, .flags = FIELD_SECRET},
    {.path = "status", .type = FIELD_MAP},
    {.path = "status.state", .type = FIELD_TEXT},
};

static inline void place_pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.server"));
    pack_text(out, value_text_at(object, "spec.secret"));
}

static inline bool place_has_secret(const struct value *object)
{
    return value_text_at(object, "spec.secret").at;
}

static const struct kind place_kind = {
    .group = TEST_GROUP,
    .version = "v1",
    .name = "Place",
    .plural = "places",
    .singular = "place",
    .has_status = true,
    .fields = place_fields,
    .field_count = COUNT_OF(place_fields),
    .doc = "A place.",
    .pack_spec = place_pack_spec,
    .has_secret = place_has_secret,
};

static const struct field token_fields[] = {
    {.path = "data", .type = FIELD_TEXT_MAP, .flags = FIELD_SECRET},
};

static inline void token_pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "data.token"));
}

static const struct kind token_kind = {
    .group = "",
    .version = "v1",
    .name = "Token",
    .plural = "tokens",
    .singular = "token",
    .is_namespaced = true,
    .is_foreign = true,
    .is_secret = true,
    .fields = token_fields,
    .field_count = COUNT_OF(token_fields),
    .doc = "A token.",
    .pack_spec = token_pack_spec,
};
