#pragma once

#include <stddef.h>

#include "commands/check_set.h"
#include "commands/option.h"
#include "commands/report.h"
#include "store/folder/document.h"

// The manifests that a command was given as files and folders: each file once, folders read as
// `signpost run` reads them.

struct manifest_file {
    const char *shown;
    const char *opened; // NULL: standard input
};

// {.arena, .report, .set} is ready for use; all three are borrowed.
struct manifest_files {
    struct arena *arena;
    struct report *report;
    struct check_set *set; // knows which files there are already
    struct manifest_file *items;
    size_t count;
    size_t capacity;
    size_t found_count;      // in folders, whether or not they were known already
    size_t unreadable_count; // told on stderr
    const char *folder;      // being walked, as given
    const char *real;        // its real path
};

// Does the path of a file end as those of manifests do (.yaml, .yml, .json)?
bool manifest_is_file(const char *path);

void manifest_files_done(struct manifest_files *files);
// A file, all manifests of a folder, or "-": standard input. Of a folder that a Signpost watches
// also what it wrote there itself (.signpost/children): objects of the REST API, for instance.
void manifest_files_add(struct manifest_files *files, const char *path);
// All of the folder store of --dir and --state-dir.
void manifest_files_add_store(struct manifest_files *files, const struct invocation *invocation);
// In the order of their paths.
void manifest_files_sort(struct manifest_files *files);
// Reads one; false: told on stderr and counted.
bool manifest_files_read(struct manifest_files *files, const struct manifest_file *file,
                         struct buffer *out);
// Reads one and calls `call` for each of its documents; `wanted` are the kinds that are
// looked for. False: it cannot be read, or not to its end, which is told.
bool manifest_files_read_documents(struct manifest_files *files, const struct manifest_file *file,
                                   const struct kind *const *wanted, size_t wanted_count,
                                   struct kind_patterns *patterns, document_call *call,
                                   void *context);
// Adds what is wrong with a broken document to the report, as a finding: "web.yaml:7:3: text".
void manifest_files_report_broken(struct manifest_files *files, const char *path,
                                  const struct document *document);
// Adds an error of documents_read to the report, as a finding: "web.yaml:7:3: text".
void manifest_files_report_syntax(struct manifest_files *files, const char *path,
                                  const struct error *err);
// The fault of a document without the place that it begins with.
const char *manifest_fault_text(const char *path, const char *fault, uint32_t line,
                                uint32_t column);
