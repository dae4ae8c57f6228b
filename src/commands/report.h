#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

// What was found in files, each with its place: gathered in any order, shown by file and line.
//
//     web.yaml:7:3: spec.ttl: expected a number, found text: remove the quotes
//     shop.zone:9:1: warning: www.shop.example. MX: TargetHasNoAddress: mail has no address

enum report_level { REPORT_ERROR, REPORT_WARNING, REPORT_INFO, REPORT_LEVELS };

struct spot {
    const char *path; // "": of an object that is in no file
    uint32_t line;    // 0: of no line
    uint32_t column;
};

struct report_line {
    enum report_level level;
    struct spot place;
    const char *object; // whom it is about, or NULL
    const char *reason; // CamelCase, or NULL
    const char *text;
};

// Texts live in the arena. {.arena = arena} is ready for use.
struct report {
    struct arena *arena;
    struct report_line *items;
    size_t count;
    size_t capacity;
    size_t counts[REPORT_LEVELS];
    size_t limit; // lines that are kept; 0: all. The others are counted
};

void report_done(struct report *report);
// `path` of the place is borrowed.
void report_add(struct report *report, enum report_level level, struct spot place,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
// Under a name and a reason of their own. Texts are copied, but for `reason` and the path.
void report_add_about(struct report *report, enum report_level level, struct spot place,
                      const char *object, const char *reason, const char *text);
// Is the limit reached? A text for one more would be made in vain.
bool report_is_full(const struct report *report);
// All lines in order of file, line and column, made fit for a terminal.
void report_write(struct buffer *out, struct report *report, bool has_colour);
// [{"level": "error", "file": "shop.zone", "line": 9, "column": 1, "object": ..., "reason": ...,
// "text": ...}, ...] in the same order; without the place where there is none.
void report_write_json(struct buffer *out, struct report *report);
