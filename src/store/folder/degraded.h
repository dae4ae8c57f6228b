#pragma once

#include "store/folder/inside.h"

// What is wrong, for log, Events and checks: refused documents, and writes that fail.

// Writes that fail: told once when they begin to and once when they work again.
void degraded_set(struct folder *folder, enum degraded which, const struct error *err);
void degraded_clear(struct folder *folder, enum degraded which);
// The first, or NULL.
const char *degraded_text(const struct folder *folder);

// Refused documents of a file: `begin`, one `add` for each that it has now, `end`. Only new ones
// are told, of many the first and the number of the others. `regarding` may be NULL.
enum { FAULTS_LISTED = 100 };
void faults_begin(struct folder *folder, uint32_t file);
void faults_add(struct folder *folder, uint32_t file, const char *text,
                const struct object *regarding);
void faults_end(struct folder *folder, uint32_t file);
// The same of folders, whose file is FILE_NONE.
void faults_add_folder(struct folder *folder, const char *path, const char *text);
void faults_forget(struct folder *folder, uint32_t file); // the file is no more

// A document of a kind that is not served: one line per kind.
void degraded_unknown_kind(struct folder *folder, const struct document *document,
                           const char *path);

void degraded_done(struct folder *folder);
