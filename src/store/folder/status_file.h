#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"

// A status file in memory: documents under a fixed separator,
//
//     # Written by Signpost beside web.yaml; do not edit.
//     --- # Thing.example.org shop/www 42
//     apiVersion: example.org/v1
//     ...
//     ...
//
// that names the object and its resourceVersion, so that a document is found and replaced without
// reading the others. The last line is "..."; without it the file was torn and its last document
// does not count. What changes lies above the text that was read, until it is written.

struct status_doc {
    struct text key;
    uint64_t version;
    struct text body; // YAML; absent in a change: the document goes
    char *own;        // of a change: the memory of key and body
};

struct status_docs {
    struct status_doc *items;
    size_t count;
    size_t capacity;
    struct table by_key;
};

struct status_file {
    uint32_t id;      // of its manifest
    bool is_loaded;   // `base` is what stands on the disk
    bool was_torn;    // when it was loaded
    bool is_absent;   // there was no file
    bool is_missed;   // what was loaded does not stand on the disk any more: counts as changed
    bool is_homeless; // when it was last written: see status_files_write
    bool is_refused;
    struct buffer text;
    struct status_docs base;    // slices of text
    struct status_docs changes; // own memory
    int64_t written_ms;         // when it was last written; 0: never
    size_t written_octets;      // then
};

void status_file_init(struct status_file *file, uint32_t id);
void status_file_done(struct status_file *file);
// Takes over the text as what stands on the disk; changes stay.
void status_file_load(struct status_file *file, struct buffer *text);
// Forgets the text again.
void status_file_unload(struct status_file *file);
// Borrowed until the next change. NULL when there is none.
const struct status_doc *status_file_find(const struct status_file *file, struct text key);
// Both want a loaded file. Setting what is there already changes nothing.
void status_file_set(struct status_file *file, struct text key, uint64_t version, struct text body);
void status_file_drop(struct status_file *file, struct text key);
bool status_file_is_changed(const struct status_file *file);
void status_file_forget_changes(struct status_file *file);
// The whole text with the changes, appended; nothing when no document is left.
void status_file_write(struct buffer *out, const struct status_file *file, const char *manifest);
// All documents as they are now, changes included, in no order that means anything.
void status_file_each(const struct status_file *file,
                      void (*call)(void *context, const struct status_doc *doc), void *context);
