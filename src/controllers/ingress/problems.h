#pragma once

#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

// What keeps an object's names from being served as it asks, worst first: the annotation
// `pihole.io/status`, Events and log lines are made of it.

enum { PROBLEMS_MAX = 64, PROBLEM_STATUS_OCTETS = 512 };

struct problem {
    const char *reason;     // "InvalidHost"
    const char *text;       // behind it, one line
    const char *annotation; // whose value is at fault, or NULL
    struct text value;
    const char *error; // what is wrong with it
};
// Zeroed but for the arena it is empty; all texts live there.
struct problems {
    struct arena *arena;
    struct problem items[PROBLEMS_MAX];
    size_t count;
    size_t more; // that are not kept
};

void problems_add(struct problems *problems, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// InvalidAnnotation.
void problems_add_value(struct problems *problems, const char *annotation, struct text value,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
// Worst first, else in the order of adding.
void problems_sort(struct problems *problems);

// "InvalidHost: a: why; b: why; NameTaken: ...", at most PROBLEM_STATUS_OCTETS; NULL: no problem.
const char *problems_status(const struct problems *problems);
// The same of the one reason that begins at `at`, at most `limit` octets; *end is behind it.
const char *problems_group(const struct problems *problems, size_t at, size_t limit, size_t *end);
// The Event that reports it; NULL: what concerns a whole Pi-hole is reported elsewhere.
const char *problem_event(const char *reason);
