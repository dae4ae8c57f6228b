#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/value.h"

// Manifest text to documents, one by one: found in the kind tables, defaults filled in, shape
// checked. `List` objects are opened. Nothing of a document outlives its call.

enum document_state {
    DOCUMENT_GOOD,
    DOCUMENT_BROKEN,  // `fault` says why
    DOCUMENT_UNKNOWN, // of a kind that is not ours to read
};

struct document {
    enum document_state state;
    const struct kind *kind; // NULL: not found
    struct value *tree;
    bool has_identity;      // kind, namespace and name can be relied on, also when broken
    struct text namespace_; // "" when cluster-scoped
    struct text name;
    bool has_secret;
    uint32_t line; // where it begins
    uint32_t column;
    const char *fault; // "web.yaml:7:3: spec.ttl: expected a number, ..."
};

struct document_source {
    const char *path; // as shown in faults
    struct text text;
    const struct kind *const *kinds;
    size_t kind_count;
    struct kind_patterns *patterns; // may be NULL
    bool is_draft; // only looked at: what stands before a fault of syntax is called, too
};

// Of a document whose object stands in the manifest `elsewhere` already: its fault.
const char *document_duplicate(struct arena *arena, const struct document *document,
                               const char *path, const char *elsewhere);
// `arena` is reset after each call.
typedef void document_call(void *context, struct arena *arena, struct document *document);

enum { DOCUMENT_OCTETS_MAX = 2 * 1024 * 1024 };

// False when the text cannot be read to its end; err->text then begins with "web.yaml:7:3: ".
// Nothing of a half-written text is called: who knows what it was going to say. Faults within
// documents that can be read are theirs alone.
bool documents_read(const struct document_source *source, document_call *call, void *context,
                    struct error *err);

// The same a step at a time, which calls one document or reads a part of one. The source's text
// stays where it is until the reader is freed.
struct document_reader;
struct document_reader *document_reader_new(const struct document_source *source);
void document_reader_free(struct document_reader *reader);
DEFINE_CLEANUP(document_reader, document_reader_free)
bool document_reader_step(struct document_reader *reader, document_call *call, void *context,
                          bool *has_more, struct error *err);
