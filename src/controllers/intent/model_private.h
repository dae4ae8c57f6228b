#pragma once

#include "base/slots.h"
#include "base/table.h"
#include "controllers/intent/model.h"
#include "controllers/intent/resolve.h"

// Inside the shared model of the intent controllers.

// A name that a publication wants in a record; both as one hash. Or one that stands, as far as its
// status knows, at the provider of a native record: there it has the owner of that record.
struct wanted_name {
    uint64_t key;
    uint64_t stands_by; // the hash of that record; 0: the name is wanted
    uint32_t publication;
    int32_t ttl_s;
};
struct used_record {
    const struct object *object; // referred to
    size_t names;                // 0: the record is listed, or drained, and has none
    bool is_listed;
    bool is_written;  // names of it may stand at the record's provider
    bool is_draining; // its names go, and that is not proven yet
    bool is_awaited;  // names of it have yet to be carried out
    bool is_carried;  // somebody may have carried some to the provider
    char *failure;    // why a name is not carried out, with the name before it; NULL: all are
    enum reason failure_reason;
};
// What a publication wants and what that stands on.
struct plan {
    const struct object *publication; // NULL: free
    bool is_dirty;
    bool is_changed;  // something that it looked up has another status
    uint64_t *inputs; // sorted
    size_t input_count;
    struct wanted_name *names; // by key
    size_t name_count;
    struct used_record *records;
    size_t record_count;
    char *share_group; // NULL: none
};
struct objects {
    const struct object **items; // NULL: free
    size_t capacity;
    struct slots slots;
    struct table table;
};
// Objects with a hash by which they are found: of where they belong, or of what must be theirs
// alone.
struct keyed {
    uint64_t key; // 0: none
    const struct object *object;
};
struct keyed_objects {
    struct keyed *items;
    size_t count;
    size_t capacity;
};

struct intent_model {
    struct objects objects; // of all kinds but publications
    struct plan *plans;
    size_t plan_capacity;
    struct slots plan_slots;
    struct table plan_table;   // by namespace and name
    struct wanted_name *names; // of all plans, by key; made anew by settle() where one changed
    size_t name_count;
    bool has_gone;                // a publication has
    struct keyed_objects awaited; // objects that settle() wakes; their keys do not count
    struct keyed_objects intents; // TrafficGroupIntents by namespace and coordinates
    struct keyed_objects owners;  // DNSUpdateRecords by owner id
    // ---- of the settling under way
    const struct shared_model_calls *calls;
};
// ---- objects (model_objects.c) ------------------------------------------------------------------

extern const struct table_ops model_object_ops;
uint64_t model_hash(const struct kind *kind, struct text namespace_, struct text name);
uint64_t model_object_hash(const struct object *object);
// Of all objects of a kind in a namespace.
uint64_t model_all_hash(const struct kind *kind, struct text namespace_);
// Where a TrafficGroupIntent belongs.
uint64_t model_intent_key(const struct object *object);
bool model_is_named(const struct object *object, const struct object_ref_key *key);
struct object_ref_key model_key_of(const struct object *object);
// Puts a state in place of the one before, and says whether that was the same but for its status.
bool model_put_object(struct objects *objects, const struct object *object);
void model_remove_object(struct objects *objects, const struct object *object);

void keyed_add(struct keyed_objects *objects, uint64_t key, const struct object *object);
// Returns the key that it had; 0: it was not there.
uint64_t keyed_remove(struct keyed_objects *objects, const struct object *object);
void keyed_clear(struct keyed_objects *objects);
void keyed_done(struct keyed_objects *objects);

// ---- plans (model_plan.c) -----------------------------------------------------------------------

// For qsort(): hashes, and names by key.
int model_compare_hashes(const void *a, const void *b);
int model_compare_wanted(const void *a, const void *b);
// A name in a record, or, if that is native, in the zone of its server: whichever the record, it is
// there once.
uint64_t model_name_key(struct arena *arena, const struct record_name *name);
void model_plan_make(struct intent_model *model, uint32_t id, struct arena *arena);
void model_plan_done(struct plan *plan);

// ---- the rest -----------------------------------------------------------------------------------

// TABLE_NONE: the model does not have it.
uint32_t model_find_plan(const struct intent_model *model, const struct object *publication);
// The first of the names that have the key.
size_t model_find_names(const struct intent_model *model, uint64_t key);
// The hash of the owner id that a record asks for by itself; 0: it gets one of its own.
uint64_t model_owner_key(const struct object *object);
