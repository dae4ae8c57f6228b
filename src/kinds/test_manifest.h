#pragma once

// For tests of kinds: whole objects, and all that is said of them. Comes behind cmocka.h.

#include <string.h>

#include "kinds/test_arena.h"

// An object of that kind; metadata without its braces, and spec.
static inline struct value *manifest_of(const struct kind *kind, const char *metadata,
                                        const char *spec)
{
    return quote(arena,
                 arena_printf(arena, "{'apiVersion':'%s/%s','kind':'%s','metadata':{%s},'spec':%s}",
                              kind->group, kind->version, kind->name, metadata, spec));
}

// All that schema and rules say of it on that level, as one text; NULL: nothing.
static inline const char *findings_of(const struct kind *kind, const struct value *object,
                                      enum finding_level level)
{
    struct findings findings = {.arena = arena};
    kind_check(kind, object, &findings);
    kind->validate(object, &findings);
    return findings_join(&findings, level);
}

static inline const char *text_or_nothing(const char *text)
{
    return text ? text : "nothing";
}

// `expected` is NULL where nothing shall be said.
#define assert_findings(kind, object, level, expected)                                             \
    assert_string_equal(text_or_nothing(findings_of(kind, object, level)),                         \
                        text_or_nothing(expected))

// A text of so many letters.
static inline const char *letters(size_t count)
{
    char *text = arena_alloc(arena, count + 1, 1);
    memset(text, 'a', count);
    return text;
}
