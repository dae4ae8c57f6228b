#pragma once

// For tests of this room: what kinds make of objects, in the arena of each test. Comes behind
// cmocka.h.

#include "base/kind.h"
#include "base/pack.h"
#include "base/test_arena.h"
#include "kinds/test_quote.h"

static inline const char *json_of(const struct value *value)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, value);
    return arena_copy(arena, out.at, out.len);
}

// All that the schema refuses, as one text; NULL: nothing.
static inline const char *schema_errors_of(const struct kind *kind, const struct value *object)
{
    struct findings findings = {.arena = arena};
    kind_check(kind, object, &findings);
    return findings_join(&findings, FINDING_ERROR);
}

// What the cache keeps of the spec.
static inline struct text spec_body_of(const struct kind *kind, const char *json)
{
    struct pack_writer writer;
    pack_init(&writer);
    kind->pack_spec(quote(arena, json), &writer);
    size_t len = writer.out.len;
    const char *at = arena_copy(arena, writer.out.at, len);
    pack_done(&writer);
    return (struct text){at, len};
}

// One behind the other by one writer, as the cache has them.
struct bodies {
    struct text spec;
    struct text ours;
};

static inline struct bodies bodies_of(const struct kind *kind, const struct value *object)
{
    struct pack_writer writer;
    pack_init(&writer);
    kind->pack_spec(object, &writer);
    size_t spec_len = writer.out.len;
    kind->pack_managed(object, &writer);
    size_t len = writer.out.len;
    const char *at = arena_copy(arena, writer.out.at, len);
    pack_done(&writer);
    return (struct bodies){{at, spec_len}, {at + spec_len, len - spec_len}};
}
