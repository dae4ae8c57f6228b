#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

// What is wrong with a request's body, fault by fault, each with the JSON pointer of where, and
// what is odd about it without being wrong. All of it lives in the request's arena.

enum { FAULTS_MAX = 50, WARNINGS_MAX = 16 };

struct body_faults {
    struct arena *arena;
    struct fault_line {
        const char *pointer;
        const char *text;
    } items[FAULTS_MAX];
    size_t count;
    bool has_type_fault; // a value of another JSON type than is wanted: 422
    const char *warnings[WARNINGS_MAX];
    size_t warning_count;
};
void body_faults_add(struct body_faults *faults, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void body_faults_warn(struct body_faults *faults, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// "/spec/kv/0/a~1b" of "kv[0][a/b]" below "/spec" (arena).
const char *body_faults_pointer(struct arena *arena, const char *parent, const char *path);
// Appends "<pointer>: <text>" lines.
void body_faults_write(const struct body_faults *faults, struct buffer *out);
