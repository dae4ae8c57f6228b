#pragma once

#include "base/slab.h"
#include "base/table.h"
#include "controllers/zone/forest.h"
#include "controllers/zone/forest_rules.h"
#include "kinds/record/record_kind.h"

// The inside of a forest. A node is a Zone, or the name of one that somebody refers to; a leaf is a
// Record. A leaf hangs in one list of one node: that of those that name the Zone, or that of those
// whose full name has this live zone as the closest above it.
//
// Nodes are few and worked out anew as a whole when one of them changes; what that alters is then
// looked for among the leaves. Leaves are many: each is judged by itself.

struct leaf;
struct node;

enum leaf_state {
    LEAF_IS_FRESH = 1 << 0,    // to be read and judged
    LEAF_IS_TOLD = 1 << 1,     // `changed` is due
    LEAF_IS_GONE = 1 << 2,     // freed once it is out of `touched`
    LEAF_IS_TOUCHED = 1 << 3,  // it is in `touched`
    LEAF_IS_NARROWED = 1 << 4, // only Kubizone's reading of a pattern would have adopted it
    LEAF_IS_CROSSING = 1 << 5, // in `crossings`
    LEAF_IS_LOOPING = 1 << 6,  // one that leads back to itself
    LEAF_IS_KEPT = 1 << 7,     // while `crossings` are gone through
    LEAF_IS_LASTING = LEAF_IS_GONE | LEAF_IS_NARROWED | LEAF_IS_CROSSING | LEAF_IS_LOOPING,
};
enum leaf_list { LIST_REFERRING, LIST_BELOW, LISTS };

struct leaf {
    const struct object *object;
    struct zone_record *entry; // in the compiler of its home; NULL: not adopted
    struct node *home;         // NULL: its name is at fault
    struct leaf *next;
    struct leaf *before;
    uint32_t id;
    uint16_t reason; // enum reason
    uint8_t state;
    uint8_t list; // enum leaf_list
};

struct node_key {
    struct text namespace_;
    struct text name;
};

enum name_form { NAME_AT_FAULT, NAME_FULL, NAME_PARTIAL };

// What becomes of a Zone; compared before and after.
struct node_state {
    uint8_t *octets; // of the name; NULL: none
    size_t len;
    bool is_live;
    uint16_t reason;        // enum reason
    struct node *enclosing; // closest live one above
    struct node *parent;    // enclosing, when that lists it
    struct node *rival;     // that has its name, and is older
};

struct node {
    struct node_key key; // both in one allocation
    uint32_t id;
    const struct object *object;  // NULL: only referred to
    const struct object *removed; // since the last settle
    uint32_t referrers;           // Zones that name it
    uint32_t leaving;             // crossings, while they are gone through
    uint32_t entering;
    uint32_t compiled_at; // forest.settles then
    bool is_fresh;        // to be read
    bool is_told;         // `changed` is due
    bool is_idle;         // it is in `idle`
    struct leaf *lists[LISTS];
    size_t narrowed_count;

    // As read.
    enum name_form form;
    uint16_t name_fault; // enum reason; also of one that keeps the name that it had
    uint8_t *own;        // the name, or its first labels and an empty one
    size_t own_len;
    struct node *ref;

    // As worked out.
    struct node_state now;
    struct node_state was; // while it is worked out
    struct rules *rules;   // NULL: it has no name
    bool has_new_rules;
    bool has_new_below;   // a zone below it came to live
    uint16_t spec_fault;  // enum reason: accepted but for that
    uint16_t ready_fault; // of spec.nameservers
    enum { WALK_NOT_YET, WALK_ON_PATH, WALK_DONE } walk;
    struct node *path; // the one that names it, while names are worked out
    struct node *first_child;
    struct node *next_child;

    struct zone_compiler *compiler; // of live ones
    bool is_due;
    bool has_content; // `content` is due
    bool has_new_children;
    struct node *next_due;
    struct zone_child summary; // as told to the parent; holds references
};

// An alias of a zone that leads into another one.
struct crossing {
    uint32_t leaf; // that may be another one meanwhile, or none
    struct node *to;
    bool ends_there; // it was followed, and leads no further than into that zone
};

struct gone { // a zone that is no longer live
    const struct object *object;
    uint8_t *octets;
    size_t len;
};

struct forest {
    const struct forest_settings *settings;
    struct rules *claims; // NULL: anybody
    struct slab *slab;    // also of all compilers
    struct arena *arena;  // of one object at a time
    struct buffer rdata;

    struct leaf **leaves; // by id; NULL: free
    size_t leaf_capacity;
    uint32_t *leaf_hashes; // by id: most that are not meant are told by it
    size_t leaf_hash_capacity;
    uint32_t leaf_end;
    uint32_t *free_leaves;
    size_t free_leaf_capacity;
    size_t free_leaf_count;
    struct table leaf_table;

    struct node **nodes;
    size_t node_capacity;
    uint32_t node_end;
    uint32_t *free_nodes;
    size_t free_node_capacity;
    size_t free_node_count;
    struct table node_table;
    struct table live;   // by name
    struct node nowhere; // of records that no zone has

    bool has_new_nodes; // zones are to be worked out
    struct leaf **touched;
    size_t touched_count;
    size_t touched_capacity;
    struct node **idle;
    size_t idle_count;
    size_t idle_capacity;
    struct node **told; // those with is_told
    size_t told_count;
    size_t told_capacity;
    struct gone *gone;
    size_t gone_count;
    size_t gone_capacity;
    struct node *due[DNAME_LABELS_MAX + 1]; // to be settled, by the number of labels
    bool has_compiled;
    uint32_t settles;
    struct crossing *crossings;
    size_t crossing_count;
    size_t crossing_capacity;
};

static inline struct dname node_name(const struct node *node)
{
    return (struct dname){node->now.octets, node->now.len};
}
static inline bool node_has_name(const struct node *node)
{
    return node->now.octets != NULL;
}

// ---- forest_node.c: nodes and leaves in their tables and lists ----------------------------------
struct node *node_find(const struct forest *forest, struct node_key key); // or NULL
struct node *node_want(struct forest *forest, struct node_key key);       // made if need be
void node_forsake(struct forest *forest, struct node *node); // freed after the settle, if idle
void node_free_idle(struct forest *forest);
void node_free(struct forest *forest, struct node *node);
void node_tell(struct forest *forest, struct node *node); // `changed` is due
struct node_key node_key_of(const struct object *object);
struct node_key node_key_of_ref(const struct object *object, const struct zone_ref *ref);

struct leaf *leaf_find(const struct forest *forest, struct node_key key); // or NULL
struct leaf *leaf_new(struct forest *forest, const struct object *object);
void leaf_free(struct forest *forest, struct leaf *leaf);
// Takes it out of the zone's content.
void leaf_withdraw(struct forest *forest, struct leaf *leaf);
// Hangs it there and nowhere else; NULL: nowhere.
void leaf_hang(struct forest *forest, struct leaf *leaf, struct node *home, enum leaf_list list);
void leaf_touch(struct forest *forest, struct leaf *leaf, unsigned states);
void node_touch_leaves(struct forest *forest, struct node *node, enum leaf_list list);
void leaf_set_narrowed(struct forest *forest, struct leaf *leaf, bool is_narrowed);

// ---- forest_names.c, forest_live.c: names of all zones, then which of them are live -------------
// Reads the fresh ones and works out all names.
void names_settle(struct forest *forest);
// Before: names. Works out the rest and marks what depends on it.
void live_settle(struct forest *forest);
// The live zone closest to a name: that has it, or is above it. Strictly: above it.
// The group whose catalog has the zone's name, or NULL.
const char *forest_catalog_of(const struct forest *forest, const struct node *node);
struct node *live_find(const struct forest *forest, struct dname name, bool is_strict);
uint64_t live_hash(struct dname name);
extern const struct table_ops live_ops;

// ---- forest_record.c: one record ----------------------------------------------------------------
// What a leaf's object says, and what that comes to.
struct judgement {
    struct record_spec spec;
    uint8_t octets[DNAME_MAX];
    struct dname own; // as written; behind labels that are to be completed an empty one
    bool has_name;
    struct dname name;
    bool has_type;
    uint16_t type;
    bool is_narrowed;
    enum reason reason;      // REASON_ADOPTED: `entry` is filled
    struct zone_entry entry; // its rdata is in the buffer
};
// Finds it a home, judges it, and puts it into the zone's content or takes it out.
void leaf_settle(struct forest *forest, struct leaf *leaf);
// Is another live zone the closest to its full name now?
bool leaf_has_new_home(const struct forest *forest, const struct leaf *leaf);
// Where it hangs. Texts live in the arena. `err` tells why it is not adopted; may be NULL.
void leaf_judge(struct arena *arena, const struct leaf *leaf, struct buffer *rdata,
                struct judgement *out, struct error *err);

// ---- forest_frame.c: the zone's own fields ------------------------------------------------------
struct frame_faults {
    enum reason accepted; // REASON_NONE: none
    enum reason ready;
};
struct frame_errors { // what to tell of the first of each
    struct error accepted;
    struct error ready;
};
// `errors` may be NULL.
struct frame_faults frame_make(const struct forest_settings *settings, struct arena *arena,
                               struct dname apex, const struct zone_spec *spec,
                               struct zone_frame *out, struct frame_errors *errors);

// ---- forest_compile.c: from records to zones ----------------------------------------------------
void compile_begin(struct forest *forest, struct node *node);
void compile_end(struct forest *forest, struct node *node); // `gone` is due
void compile_free(struct forest *forest, struct node *node);
void compile_due(struct forest *forest, struct node *node);
void compile_settle(struct forest *forest);
void compile_set_frame(struct forest *forest, struct node *node);

// ---- forest_loops.c: aliases that lead out of their zone and back -------------------------------
// After all zones are settled. Marks those that lead back to themselves through other zones of
// ours.
void loops_settle(struct forest *forest, bool has_new_nodes);
