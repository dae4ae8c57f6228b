#pragma once

#include "base/value.h"
#include "store/object.h"
#include "store/test_kind.h"

// Objects that things are noted of.

static inline struct object *test_regarded(const struct kind *kind, const char *namespace_,
                                           const char *name)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const char *json = arena_printf(
        arena,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"resourceVersion\":\"42\""
        ",\"uid\":\"12345678-9abc-4def-8123-456789abcdef\"},\"spec\":{}}",
        name, namespace_);
    const struct value *tree = value_read_json(arena, text_of(json), &value_manifest_limits, NULL);
    return object_new(kind, NULL, tree);
}
