#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/kind.h"
#include "base/slab.h"
#include "base/text.h"

// A cached object: immutable, shared by reference, compact (one allocation). It holds what the
// kind's table keeps, never a tree. A newer state is another struct object.

struct object {
    const struct kind *kind;
    struct content_id status_id; // of the stored status, foreign fields left out; {0}: none
    uint8_t uid[16];
    uint32_t refs;
    uint32_t generation;
    uint32_t created_s; // Unix seconds
    uint32_t deleted_s; // deletionTimestamp; 0 = none
    uint32_t spec_len;
    uint32_t managed_len;
    bool has_finalizer : 1;      // the kind's own finalizer stands
    bool has_foreign_status : 1; // status holds more than ours: read before patching
    bool is_lost : 1;            // DELETED: final state
    bool is_packed : 1;          // lies in a slab
    bool has_other_finalizers : 1;
    bool is_over : 1; // as its kind says: nobody has to do anything about it any more
    uint8_t namespace_len;
    uint8_t name_len;
    uint8_t version_len; // resourceVersion
    char data[];         // namespace NUL name NUL version NUL spec ours
};

// From a whole object tree (metadata complete) by the kind's table. `finalizer` is the kind's own
// or NULL.
struct object *object_new(const struct kind *kind, const char *finalizer, const struct value *tree);
// The metadata of one state with the bodies of another.
struct object *object_graft(const struct object *metadata, const struct object *bodies);
// Moves an object that nobody else refers to into the slab, beside its like.
struct object *object_pack(struct slab *slab, struct object *object);
struct object *object_ref(const struct object *object);
void object_unref(const struct object *object); // accepts NULL; bodies of secrets are cleansed

struct text object_namespace(const struct object *object); // empty when cluster-scoped
struct text object_name(const struct object *object);
struct text object_version(const struct object *object);
struct text object_spec(const struct object *object);
uint64_t object_spec_hash(const struct object *object); // of the spec body
bool object_has_status(const struct object *object);
bool object_has_same_spec(const struct object *a, const struct object *b);
struct text object_managed(const struct object *object);
// "ns/name", or "name" when cluster-scoped.
void object_write_name(struct buffer *out, const struct object *object);
// Age order: creation, group/kind, namespace/name. For qsort-like use.
int object_compare_age(const struct object *a, const struct object *b);
size_t object_octets(const struct object *object); // memory of it

// A uid as text (36 characters and NUL) and back. One that is no UUID becomes 16 octets of its
// hash.
void object_write_uid(const struct object *object, char out[37]);
void object_uid_parse(struct text text, uint8_t out[16]);
// metadata.ownerReferences of what `owner` makes: a list with that one owner, as its controller or
// as one of several owners.
struct value *object_owner_references(struct arena *arena, const struct object *owner,
                                      bool is_controller);
// resourceVersion as a number, for stores that count; false when it is none.
bool object_version_number(const struct object *object, uint64_t *out);

// Of a name within a namespace, for hash tables.
uint64_t object_name_hash(struct text namespace_, struct text name);

// Identity of an object that may not be there.
struct object_ref_key {
    const struct kind *kind;
    struct text namespace_;
    struct text name;
};
bool object_ref_key_equal(const struct object_ref_key *a, const struct object_ref_key *b);
