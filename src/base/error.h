#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

// What went wrong, for the one who has to act on it. A function that can fail returns bool and
// takes `struct error *err` last; on failure it fills err and touches no other output. An error
// answers three questions: what to tell the user (reason, text), whether to try again (fault), and
// when (retry_ms). It never allocates, so it can be copied and kept.
//
//     if (!name_parse(&name, text, err))
//         return error_prefix(err, "spec.domain: ");
//
// Texts are lower case, name the object and say what to do. A secret never stands in one.

enum fault {
    FAULT_NONE,
    FAULT_SPEC,  // the object is wrong: wait for the user's edit; with retry_ms also try slowly
    FAULT_WAIT,  // something it needs is missing: wait for that to appear
    FAULT_AGAIN, // the far side failed: back off and retry
    FAULT_AUTH,  // we were refused: back off, say so loudly
    FAULT_LIMIT, // we were told to slow down: retry when told
    FAULT_RACE,  // someone wrote first: wait for the watch (5 s at most), decide afresh
};

enum {
    ERROR_TEXT_MAX = 1024,
    ERROR_REASON_MAX = 48,
    ERROR_CODE_MAX = 48,
};

struct error {
    enum fault fault;
    int64_t retry_ms; // 0: the fault's own rule; otherwise not before this much time
    int status;       // HTTP status, RCODE or errno of the far side; 0 when there is none
    char reason[ERROR_REASON_MAX]; // CamelCase condition reason; may be empty
    char code[ERROR_CODE_MAX];     // machine code such as SERVER_ERROR; may be empty
    char text[ERROR_TEXT_MAX];     // one line, cut at the end on a character boundary
};

// Fills err and returns false, so that `return error_set(...)` reads well. err may be NULL. Long
// texts are cut; control characters become blanks.
bool error_set(struct error *err, enum fault fault, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool error_setv(struct error *err, enum fault fault, const char *reason, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));
// errno as text behind ": "; fault AGAIN, reason "SystemError", status = number.
bool error_set_errno(struct error *err, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Puts text in front of err->text; returns false.
bool error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void error_clear(struct error *err);
struct error *error_copy(struct arena *arena, const struct error *err);
