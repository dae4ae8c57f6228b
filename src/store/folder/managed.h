#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/value.h"
#include "store/object.h"
#include "store/store.h"

// What the store keeps of an object beside its manifest: the metadata that a cluster would have
// given, our labels and annotations, the status, the last good document, and why the present one is
// refused. One YAML document of a status file, and of a row of the state. Lives as long as the tree
// that it was decoded from.

struct managed {
    char uid[37];
    uint64_t version;
    int64_t generation;
    int64_t created_s;
    int64_t deleted_s; // 0: not in deletion
    bool has_finalizer;
    const struct value *labels;      // map or NULL
    const struct value *annotations; // map or NULL
    const struct value *status;      // map or NULL
    const struct value *last_good;   // managed_last_good, or NULL where it lies aside
    struct text fault;               // absent: none
};

// A greater number was never given out: at a million a second it would take a hundred thousand
// years.
#define OURS_VERSION_MAX (INT64_MAX / 2)

// The limits for reading them: those of manifests, but one level deeper.
extern const struct value_limits managed_limits;

// The object that they belong to.
struct subject {
    const struct store_kind *type;
    struct text namespace_; // "" when cluster-scoped
    struct text name;
};
struct object_ref_key subject_key(const struct subject *subject);

// Decodes such a document. Returns false when it is not usable (no uid, no version).
bool managed_decode(struct managed *out, const struct store_kind *type,
                    const struct value *document);
// Appends the document for a status file, as YAML. `is_aside`: the last good document is kept
// elsewhere.
void managed_write(struct buffer *out, struct arena *arena, const struct subject *subject,
                   const struct managed *managed, bool is_aside);
// The part of a good document that is kept: everything but apiVersion, kind, metadata other than
// labels, annotations and ownerReferences, and the status, unless others write it
// (kind->has_their_status).
struct value *managed_last_good(struct arena *arena, const struct kind *kind,
                                const struct value *tree);
// Identifies everything outside metadata and status; a change of that is a new generation. Accepts
// both trees above.
struct content_id managed_body_id(struct arena *arena, const struct value *tree);
// Is everything else that is kept the same?
bool managed_same_beside(const struct value *a, const struct value *b);

// The whole object as an API server would return it.
struct value *managed_tree(struct arena *arena, const struct subject *subject,
                           const struct managed *managed);
// Sets and removes labels, or annotations; the result is a new map or NULL when none is left.
const struct value *managed_change_metadata(struct arena *arena, const struct value *map,
                                            bool is_label, const struct metadata_change *changes,
                                            size_t count);
