#pragma once

#include "base/list.h"
#include "base/slab.h"
#include "base/slots.h"
#include "base/table.h"
#include "controllers/zone/zone_tree.h"
#include "controllers/zone/zone_tree_rules.h"
#include "kinds/record/record_kind.h"

// The inside of a zone tree. A tree entry is a Zone, or the name of one that somebody refers to; a
// record entry is a Record. A record entry hangs in one list of one tree entry: that of those that
// name the Zone, or that of those whose full name has this live zone as the closest above it.
//
// Tree entries are few: when one changes, all are worked out again, and then the record entries
// that this affects are looked for. Record entries are many: each is judged by itself.

struct record_entry;
struct tree_entry;

enum record_entry_state {
    RECORD_ENTRY_IS_FRESH = 1 << 0,    // to be read and judged
    RECORD_ENTRY_IS_REPORTED = 1 << 1, // `changed` is due
    RECORD_ENTRY_IS_GONE = 1 << 2,     // freed once it is out of `touched`
    RECORD_ENTRY_IS_TOUCHED = 1 << 3,  // it is in `touched`
    RECORD_ENTRY_IS_NARROWED = 1 << 4, // only Kubizone's reading of a pattern would have adopted it
    RECORD_ENTRY_IS_CROSSING = 1 << 5, // in `crossings`
    RECORD_ENTRY_IS_LOOPING = 1 << 6,  // one that leads back to itself
    RECORD_ENTRY_IS_KEPT = 1 << 7,     // while `crossings` are gone through
    RECORD_ENTRY_IS_LASTING = RECORD_ENTRY_IS_GONE | RECORD_ENTRY_IS_NARROWED |
                              RECORD_ENTRY_IS_CROSSING | RECORD_ENTRY_IS_LOOPING,
};
enum record_entry_list { LIST_REFERRING, LIST_BELOW, LISTS };

struct record_entry {
    struct link link; // of its tree entry's list
    const struct object *object;
    struct zone_record *entry; // in the compiler of its home; NULL: not adopted
    struct tree_entry *home;   // NULL: its name is at fault
    uint32_t id;
    uint16_t reason; // enum reason
    uint8_t state;
    uint8_t list; // enum record_entry_list
};

struct tree_entry_key {
    struct text namespace_;
    struct text name;
};

enum name_form { NAME_AT_FAULT, NAME_FULL, NAME_PARTIAL };

// What becomes of a Zone; compared before and after.
struct tree_entry_state {
    uint8_t *octets; // of the name; NULL: none
    size_t len;
    bool is_live;
    uint16_t reason;              // enum reason
    struct tree_entry *enclosing; // closest live one above
    struct tree_entry *parent;    // enclosing, when that lists it
    struct tree_entry *rival;     // that has its name, and is older
};

struct tree_entry {
    struct tree_entry_key key; // both in one allocation
    uint32_t id;
    const struct object *object;  // NULL: only referred to
    const struct object *removed; // since the last settle
    uint32_t referrers;           // Zones that name it
    uint32_t leaving;             // crossings, while they are gone through
    uint32_t entering;
    uint32_t compiled_at; // zone tree.settles then
    bool is_fresh;        // to be read
    bool is_reported;     // `changed` is due
    bool is_idle;         // it is in `idle`
    LIST_OF(struct record_entry) lists[LISTS];
    size_t narrowed_count;

    // As read.
    enum name_form form;
    uint16_t name_fault; // enum reason; also of one that keeps the name that it had
    uint8_t *own;        // the name, or its first labels and an empty one
    size_t own_len;
    struct tree_entry *ref;

    // As worked out.
    struct tree_entry_state now;
    struct tree_entry_state was; // while it is worked out
    struct rules *rules;         // NULL: it has no name
    bool has_new_rules;
    bool has_new_below;   // a zone below it came to live
    uint16_t spec_fault;  // enum reason: accepted but for that
    uint16_t ready_fault; // of spec.nameservers
    enum { WALK_NOT_YET, WALK_ON_PATH, WALK_DONE } walk;
    struct tree_entry *path; // the one that names it, while names are worked out
    struct tree_entry *first_child;
    struct tree_entry *next_child;

    struct zone_compiler *compiler; // of live ones
    bool is_due;
    bool has_content; // `content` is due
    bool has_new_children;
    struct tree_entry *next_due;
    struct zone_child summary; // as told to the parent; holds references
};

// An alias of a zone that leads into another one.
struct crossing {
    uint32_t record_entry; // that may be another one meanwhile, or none
    struct tree_entry *to;
    bool ends_there; // it was followed, and leads no further than into that zone
};

struct gone { // a zone that is no longer live
    const struct object *object;
    uint8_t *octets;
    size_t len;
};

struct zone_tree {
    const struct zone_tree_settings *settings;
    struct rules *claims; // NULL: anybody
    struct slab *slab;    // also of all compilers
    struct arena *arena;  // of one object at a time
    struct buffer rdata;

    struct record_entry **record_entries; // by id; NULL: free
    size_t record_entry_capacity;
    uint32_t *record_entry_hashes; // by id: most that are not meant are told by it
    size_t record_entry_hash_capacity;
    struct slots record_entry_slots;
    struct table record_entry_table;

    struct tree_entry **tree_entries;
    size_t tree_entry_capacity;
    struct slots tree_entry_slots;
    struct table tree_entry_table;
    struct table live;         // by name
    struct tree_entry nowhere; // of records that no zone has

    bool has_new_tree_entries; // zones are to be worked out
    struct record_entry **touched;
    size_t touched_count;
    size_t touched_capacity;
    struct tree_entry **idle;
    size_t idle_count;
    size_t idle_capacity;
    struct tree_entry **reported; // those with is_reported
    size_t reported_count;
    size_t reported_capacity;
    struct gone *gone;
    size_t gone_count;
    size_t gone_capacity;
    struct tree_entry *due[DNAME_LABELS_MAX + 1]; // to be settled, by the number of labels
    bool has_compiled;
    uint32_t settles;
    struct crossing *crossings;
    size_t crossing_count;
    size_t crossing_capacity;
};

static inline struct dname tree_entry_name(const struct tree_entry *tree_entry)
{
    return (struct dname){tree_entry->now.octets, tree_entry->now.len};
}
static inline bool tree_entry_has_name(const struct tree_entry *tree_entry)
{
    return tree_entry->now.octets != NULL;
}

// ---- zone_tree_node.c: tree entries and record entries in their tables and lists ----------------
struct tree_entry *tree_entry_find(const struct zone_tree *zone_tree,
                                   struct tree_entry_key key); // or NULL
struct tree_entry *tree_entry_want(struct zone_tree *zone_tree,
                                   struct tree_entry_key key); // made if need be
void tree_entry_forsake(struct zone_tree *zone_tree,
                        struct tree_entry *tree_entry); // freed after the settle, if idle
void tree_entry_free_idle(struct zone_tree *zone_tree);
void tree_entry_free(struct zone_tree *zone_tree, struct tree_entry *tree_entry);
void tree_entry_report(struct zone_tree *zone_tree,
                       struct tree_entry *tree_entry); // `changed` is due
struct tree_entry_key tree_entry_key_of(const struct object *object);
struct tree_entry_key tree_entry_key_of_ref(const struct object *object,
                                            const struct zone_ref *ref);

struct record_entry *record_entry_find(const struct zone_tree *zone_tree,
                                       struct tree_entry_key key); // or NULL
struct record_entry *record_entry_new(struct zone_tree *zone_tree, const struct object *object);
void record_entry_free(struct zone_tree *zone_tree, struct record_entry *record_entry);
// Takes it out of the zone's content.
void record_entry_withdraw(struct zone_tree *zone_tree, struct record_entry *record_entry);
// Hangs it there and nowhere else; NULL: nowhere.
void record_entry_hang(struct zone_tree *zone_tree, struct record_entry *record_entry,
                       struct tree_entry *home, enum record_entry_list list);
void record_entry_touch(struct zone_tree *zone_tree, struct record_entry *record_entry,
                        unsigned states);
void tree_entry_touch_record_entries(struct zone_tree *zone_tree, struct tree_entry *tree_entry,
                                     enum record_entry_list list);
void record_entry_set_narrowed(struct zone_tree *zone_tree, struct record_entry *record_entry,
                               bool is_narrowed);

// ---- zone_tree_names.c, zone_tree_live.c: names of all zones, then which of them are live -------
// Reads the fresh ones and works out all names.
void names_settle(struct zone_tree *zone_tree);
// Before: names. Works out the rest and marks what depends on it.
void live_settle(struct zone_tree *zone_tree);
// The group whose catalog has the zone's name, or NULL.
const char *zone_tree_catalog_of(const struct zone_tree *zone_tree,
                                 const struct tree_entry *tree_entry);
// The live zone closest to a name: that has it, or is above it. Strictly: above it.
struct tree_entry *live_find(const struct zone_tree *zone_tree, struct dname name, bool is_strict);
uint64_t live_hash(struct dname name);
extern const struct table_ops live_ops;

// ---- zone_tree_record.c: one record -------------------------------------------------------------
// What a record entry's object says, and what that comes to.
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
void record_entry_settle(struct zone_tree *zone_tree, struct record_entry *record_entry);
// Is another live zone the closest to its full name now?
bool record_entry_has_new_home(const struct zone_tree *zone_tree,
                               const struct record_entry *record_entry);
// Judges the record in the list that it hangs in. Texts live in the arena. `err` tells why it is
// not adopted; may be NULL.
void record_entry_judge(struct arena *arena, const struct record_entry *record_entry,
                        struct buffer *rdata, struct judgement *out, struct error *err);

// ---- zone_tree_frame.c: the zone's own fields ---------------------------------------------------
struct frame_faults {
    enum reason accepted; // REASON_NONE: none
    enum reason ready;
};
struct frame_errors { // what to tell of the first of each
    struct error accepted;
    struct error ready;
};
// `errors` may be NULL.
struct frame_faults frame_make(const struct zone_tree_settings *settings, struct arena *arena,
                               struct dname apex, const struct zone_spec *spec,
                               struct zone_frame *out, struct frame_errors *errors);

// ---- zone_tree_compile.c: from records to zones -------------------------------------------------
void compile_begin(struct zone_tree *zone_tree, struct tree_entry *tree_entry);
void compile_end(struct zone_tree *zone_tree, struct tree_entry *tree_entry); // `gone` is due
void compile_free(struct zone_tree *zone_tree, struct tree_entry *tree_entry);
void compile_due(struct zone_tree *zone_tree, struct tree_entry *tree_entry);
void compile_settle(struct zone_tree *zone_tree);
void compile_set_frame(struct zone_tree *zone_tree, struct tree_entry *tree_entry);

// ---- zone_tree_loops.c: aliases that lead out of their zone and back ----------------------------
// After all zones are settled. Marks those that lead back to themselves through other zones of
// ours.
void loops_settle(struct zone_tree *zone_tree, bool has_new_tree_entries);
