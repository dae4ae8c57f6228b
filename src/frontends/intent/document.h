#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/value.h"
#include "frontends/intent/route.h"
#include "store/object.h"

// Bodies of EMCO's REST API and the objects that hold them: what a request says becomes a part of
// an object (its whole spec, or one entry of a list there), and a part is shown as a body. Pure.

#define DOCUMENT_PROJECT_LABEL DNS_GROUP "/project"
#define DOCUMENT_METADATA_ANNOTATION DNS_GROUP "/metadata"
#define DOCUMENT_CREATED_ANNOTATION DNS_GROUP "/created"
#define DOCUMENT_MASK "********" // stands for a secret in every answer
enum { DOCUMENT_PROJECT_DIGITS = 10 };

// A stored object as a tree: metadata with its name and our annotations, and spec (arena). A
// Namespace has its project's metadata in its spec.
struct value *document_of(struct arena *arena, const struct object *object);
// The object's EMCO name; of a cluster it is that at its provider.
struct text document_name(const struct kind *kind, const struct value *tree);

// The entry of that name in a list (ENTRY, WORD). NULL: there is none. *index may be NULL.
struct value *document_find_entry(const struct resource *resource, const struct value *tree,
                                  struct text name, size_t *index);

// What is shown of an item: `part` is the object's tree, or the entry.
struct value *document_show(struct arena *arena, const struct resource *resource,
                            const struct value *part);
// Its name.
struct text document_part_name(const struct resource *resource, const struct value *part);

// What a body says.
struct document_input {
    struct text name;      // absent: it has none
    struct value *part;    // spec of the object, the entry, or the word
    struct value *secrets; // map of keys of the credentials Secret to plain texts; NULL: none
    bool keeps_secrets;    // a mask stands where a secret is kept
};
// Reads the JSON of a body. Faults in it are findings with paths of the body ("metadata.name").
// Texts are borrowed from `body`. False: it is no such document.
bool document_read(const struct resource *resource, const struct value *body,
                   struct findings *findings, struct document_input *out);

// The members of the spec that are resources of their own, or that other requests set; they stay
// when the object is replaced.
bool document_is_kept(const struct resource *resource, struct text key);

// What a write has to say so that `old` becomes `now`: all of `now`, and null for what it lacks.
struct value *document_patch(struct arena *arena, const struct value *old, const struct value *now);

// Appends a finding's path as JSON pointer into the body of a request on the resource: "/spec/ttl".
// `index` is that of the entry.
void document_write_pointer(struct buffer *out, const struct resource *resource, size_t index,
                            const char *path);
// False: the finding is about another entry than that.
bool document_is_about(const struct resource *resource, size_t index, const char *path);
