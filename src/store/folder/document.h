#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/value.h"

// Splits the text of a manifest into documents, one by one: finds the kind of each, fills in
// defaults and checks its shape. The items of a `List` count as documents of their own. A document
// lives only as long as the call that gets it.

enum document_state {
    DOCUMENT_GOOD,
    DOCUMENT_BROKEN,  // `fault` says why
    DOCUMENT_UNKNOWN, // of a kind that the store was not opened with
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
    bool is_draft; // the text is only checked: documents before a syntax error count, too
};

// The fault text of a document whose object stands in the manifest `elsewhere` already.
const char *document_duplicate(struct arena *arena, const struct document *document,
                               const char *path, const char *elsewhere);
// `arena` is reset after each call.
typedef void document_call(void *context, struct arena *arena, struct document *document);

enum { DOCUMENT_OCTETS_MAX = 2 * 1024 * 1024 };

// Calls `call` for each document. Returns false when the text cannot be parsed to its end;
// err->text then begins with "web.yaml:7:3: ", and no document is called, as a half-written file
// proves nothing. A fault within one document does not affect the others.
bool documents_read(const struct document_source *source, document_call *call, void *context,
                    struct error *err);

// The same in steps: each reads a part of a document or calls one. The source's text must stay in
// place until the reader is freed.
struct document_reader;
struct document_reader *document_reader_new(const struct document_source *source);
void document_reader_free(struct document_reader *reader);
DEFINE_CLEANUP(document_reader, document_reader_free)
bool document_reader_step(struct document_reader *reader, document_call *call, void *context,
                          bool *has_more, struct error *err);
