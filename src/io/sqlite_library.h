#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "base/error.h"

// The functions of SQLite that are called, each sqlite3_* there; see io/library.h.

#define SQLITE_LIBRARY_FILE "libsqlite3.so.0"

#define SQLITE_FUNCTIONS(EACH)                                                                     \
    EACH(bind_blob64)                                                                              \
    EACH(bind_int64)                                                                               \
    EACH(bind_null)                                                                                \
    EACH(bind_text64)                                                                              \
    EACH(clear_bindings)                                                                           \
    EACH(close_v2)                                                                                 \
    EACH(column_blob)                                                                              \
    EACH(column_bytes)                                                                             \
    EACH(column_int64)                                                                             \
    EACH(errmsg)                                                                                   \
    EACH(exec)                                                                                     \
    EACH(extended_result_codes)                                                                    \
    EACH(finalize)                                                                                 \
    EACH(get_autocommit)                                                                           \
    EACH(open_v2)                                                                                  \
    EACH(prepare_v2)                                                                               \
    EACH(reset)                                                                                    \
    EACH(step)                                                                                     \
    EACH(system_errno)

struct sqlite_library {
#define SQLITE_MEMBER(name) __typeof__(sqlite3_##name) *name;
    SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};
