#pragma once

#include "store/folder/inside.h"

// Keeps what is wrong with the folder for the log, Events and /readyz: documents that are refused,
// and what cannot be read or written.

// What `which` names begins to fail, or works again. Each change is logged once; the sink learns
// when writes work again, also while something cannot be read.
void degraded_set(struct folder *folder, enum degraded which, const struct error *err);
void degraded_clear(struct folder *folder, enum degraded which);
// The text of the first failure that lasts, or NULL.
const char *degraded_text(const struct folder *folder);

// Reports the refused documents of a file: call faults_begin(), faults_add() for each refused
// document, then faults_end(). Only new ones are logged; of many, the first ones and the number of
// the others. `regarding` may be NULL.
enum { FAULTS_LISTED = 100 };
void faults_begin(struct folder *folder, uint32_t file);
void faults_add(struct folder *folder, uint32_t file, const char *text,
                const struct object *regarding);
void faults_end(struct folder *folder, uint32_t file);
// Reports a folder that cannot be read, between faults_begin() and faults_end() of FILE_NONE.
void faults_add_folder(struct folder *folder, const char *path, const char *text);
void faults_forget(struct folder *folder, uint32_t file); // the file is no more

// Logs a document of a kind that Signpost does not serve: one line for each kind.
void degraded_log_unknown_kind(struct folder *folder, const struct document *document,
                               const char *path);

void degraded_done(struct folder *folder);
