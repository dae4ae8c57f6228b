#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/value.h"

// One map of a file that people wrote (a kubeconfig) while it is read, with the place where it
// stands: each value is checked for its type, and an error names file, line, column and key, never
// a value.

struct section {
    struct arena *arena;     // results are copied into it
    const char *file;        // as it was named
    const char *folder;      // relative paths start here
    const char *at;          // "users[0].user"
    const struct value *map; // NULL or null: empty
};

// "FILE:LINE:COL: users[0].user.<key>: ..."; the place is that of `value`, or of the section when
// it is NULL. `key` may be "".
bool section_fail(const struct section *section, const struct value *value, const char *key,
                  struct error *err, const char *format, ...) __attribute__((format(printf, 5, 6)));
// Puts the place in front of what err says.
bool section_prefix(const struct section *section, const struct value *value, const char *key,
                    struct error *err);

// Absent, null and "" give NULL; a value of another type fails.
bool section_text(const struct section *section, const char *key, const char **out,
                  struct error *err);
// A path, from the file's own folder.
bool section_path(const struct section *section, const char *key, const char **out,
                  struct error *err);
bool section_bool(const struct section *section, const char *key, bool *out, struct error *err);
bool section_secret(const struct section *section, const char *key, struct secret **out,
                    struct error *err);
// Base64 of PEM.
bool section_pem(const struct section *section, const char *key, struct secret **out,
                 struct error *err);
// NULL-terminated, in the arena; NULL when there is none. More than `limit` fail.
bool section_list(const struct section *section, const char *key, size_t limit, const char ***out,
                  struct error *err);
// The map at `key`; its `map` is NULL when there is none.
bool section_map(const struct section *section, const char *key, struct section *out,
                 struct error *err);
// May it stand in a header or a command's environment: no control characters?
bool section_check_plain(const struct section *section, const char *key, const char *text,
                         struct error *err);
