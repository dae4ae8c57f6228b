#pragma once

#include "base/memory.h"
#include "base/slab.h"
#include "dns/rr_type.h"
#include "dns/zone_compiler.h"

// How the compiler works, for its own files. All names within the zone stand in a tree of nodes:
// owners, targets of records, and the names between them and the apex at which they part. A node
// has the labels that its name has more than the parent's; a name between the two exists if the
// node does, and has no records. A wildcard whose parent has other names below it is a node of its
// own, so that what it answers for lies below its parent. A settle goes in strata, so that nothing
// depends on itself:
//
//  1. a record by itself                                     zone_record_put: fault
//  2. the records of a name, by age                          struct zone_rivals
//  3. what is a cut or a DNAME by 2, and occludes names      node.kind, node.occluder
//  4. which names exist by 2 and 3, and what answers there   zone_look
//  5. which aliases lead in circles by 4                     node.leads_to, NODE_IN_LOOP
//  6. each record by all of these                            zone_judge
//
// 2 to 5 are kept at the nodes; of each change the strata above tell the nodes that it touches.
//
// What 6 puts out is not in the zone: a cut without NS is none, a name without records does not
// exist, who lost to it comes in. So it goes in rounds (zone_compiler_rounds.c). A round goes
// through 2 to 5, then puts out the first of these that there are, all of them at once, as if they
// had never been put:
//
//     the members of loops; NS records of cuts, for their targets; the others, for their targets
//     or for want of company
//
// and the next round starts with what is left. What is out stays out, though what was in its way
// goes later: so it ends. The last round puts nothing out, or is the ROUNDS_MAXth: then what it
// finds is out as well, but the names are as if it were there. A settle takes back what rounds of
// the one before put out, or it would depend on the way that the records came.

enum zone_node_kind {
    NODE_PLAIN,
    NODE_CUT,   // has NS records of this zone
    NODE_CHILD, // apex of a zone that is compiled as well
    NODE_DNAME,
};

enum zone_node_flag {
    NODE_OWN = 1 << 0,      // listed: its records are others now
    NODE_EVAL = 1 << 1,     // listed: its records are to be judged
    NODE_LOOK = 1 << 2,     // listed: what is found there may be another thing
    NODE_TOUCHED = 1 << 3,  // listed: whether it is seen is to be worked out
    NODE_UNSORTED = 1 << 4, // its records are not by age
    NODE_FORCED = 1 << 5,   // its winner went
    NODE_FLIPPED = 1 << 6,  // it exists now and did not, or the other way round
    NODE_SEEN = 1 << 7,     // counted in `visible`
    NODE_HAS_ADDRESS = 1 << 8,
    NODE_HAS_OWN_GLUE = 1 << 9,    // A or AAAA, whatever stands beside it
    NODE_HAS_GIVEN_GLUE = 1 << 10, // the same, of the frame or of a child
    NODE_HAS_DATA = 1 << 11,
    NODE_IS_CHILD = 1 << 12,
    NODE_IN_LOOP = 1 << 13,
    NODE_VIA_DNAME = 1 << 14, // listed: its alias is rewritten by a DNAME
    NODE_HAS_NS = 1 << 15,
    NODE_FADING = 1 << 16, // listed: may be empty
    NODE_HELD = 1 << 17,   // the zone does not know yet what changed
    NODE_WALKED = 1 << 18, // marks of a search for loops
    NODE_ON_PATH = 1 << 19,
    NODE_ASKS_NS = 1 << 20,  // has NS records of a cut, with targets in the zone
    NODE_ASKS = 1 << 21,     // has other records that targets or company may put out
    NODE_NS_DUE = 1 << 22,   // listed: the former are to be judged
    NODE_REST_DUE = 1 << 23, // listed: the latter are
    NODE_DUE = 1 << 24,      // listed: to be judged when the rounds are over
    NODE_BARRED = 1 << 25,   // listed: rounds put records out here
};
enum {
    NODE_FACTS = NODE_HAS_ADDRESS | NODE_HAS_OWN_GLUE | NODE_HAS_GIVEN_GLUE | NODE_HAS_DATA,
};

struct zone_node {
    struct zone_node *parent; // NULL: the apex
    struct zone_node *first_child;
    struct zone_node *next;     // sibling
    struct zone_node *previous; // of the first one: the last
    struct zone_node *chain;    // in the hash table
    struct zone_record *records;
    struct zone_record *referrers; // whose target it is
    // What makes it a cut (the oldest NS) or a DNAME; else its CNAME, if that won.
    struct zone_record *winner;
    struct zone_node *occluder; // the topmost cut or DNAME above
    struct zone_node *leads_to; // the alias that an alias leads to
    uint32_t hash;              // of its whole name
    uint32_t slot; // of its name, cut off below the first label that it has more than the parent
    uint32_t flags;
    uint32_t visible;   // names with visible data, here and below
    uint32_t glue_refs; // NS records in force that point here
    uint8_t kind;
    uint8_t len;      // of `labels`
    uint8_t room;     // that was taken for them
    uint8_t labels[]; // its first ones, with their lengths
};

enum zone_record_flag {
    RECORD_HAS_TTL = 1 << 0,
    RECORD_NEW = 1 << 1,
    RECORD_OF_FRAME = 1 << 2,
    RECORD_OF_CHILD = 1 << 3,
    RECORD_GIVEN = RECORD_OF_FRAME | RECORD_OF_CHILD, // nobody's object
    RECORD_LINKED = 1 << 4,                           // its target lies in the zone
    RECORD_RELATIVE = 1 << 5,                         // rdata had a relative name of two labels
    RECORD_ACTIVE = 1 << 6,                           // an NS record in force
    RECORD_KEPT = 1 << 7,
    RECORD_COUNTED = 1 << 8,   // kept, the first of equal ones
    RECORD_OUT = 1 << 9,       // counted as excluded
    RECORD_REPORTED = 1 << 10, // one of a child that the zone's warnings name
    RECORD_BARRED = 1 << 11,   // put out by a round, which is its fault
    // Older ones at its name leave no room for it: of its type, or for another type.
    RECORD_OVER_RECORDS = 1 << 12,
    RECORD_OVER_TYPES = 1 << 13,
    RECORD_OVER = RECORD_OVER_RECORDS | RECORD_OVER_TYPES,
};

struct zone_record {
    struct zone_record *next;
    struct zone_record *previous; // of the first one: the last
    struct zone_node *node;
    const void *tag;
    const void *by;
    uint32_t ttl_s;
    uint32_t number; // no other has it
    uint32_t detail; // what else its text depends on
    uint16_t type;
    uint16_t rdata_len;
    uint16_t warnings;
    uint16_t own_warnings; // that it has by itself
    uint16_t flags;
    uint8_t fault; // that it has by itself, or for which a round put it out
    uint8_t reason;
    uint8_t rdata[]; // then struct zone_link, if it is linked
};

struct zone_link {
    struct zone_node *target;
    struct zone_record *next; // with the same target
    struct zone_record *previous;
};

struct zone_nodes {
    struct zone_node **at;
    size_t count;
    size_t capacity;
};

// Records of a given set of a child, in the order in which they were given.
struct zone_below {
    struct zone_node *node;
    struct zone_record **records;
    size_t count;
    size_t capacity;
    bool is_stale;
};
struct zone_server {
    uint8_t name[DNAME_MAX];
    uint8_t name_len;
    uint8_t (*addresses)[16];
    uint8_t *lengths;
    size_t address_count;
};
struct zone_servers {
    struct zone_server *at;
    size_t count;
};

// What the record got in this settle, before it is compared with what it had.
struct zone_result {
    struct zone_record *record;
    const struct zone_record *rival;
    uint32_t detail;
    uint16_t warnings;
    uint8_t reason;
    bool is_counted;
};
struct zone_change {
    struct zone_node *node;
    uint16_t type;
};

struct zone_compiler {
    uint8_t apex_name[DNAME_MAX];
    size_t apex_len;
    struct zone_compiler_ops ops;
    struct slab *slab;
    struct zone_node *apex;
    struct zone_node *outside; // stands for all names that are not in the zone
    struct zone_node **buckets;
    size_t bucket_count;
    size_t node_count;
    size_t link_count;
    uint32_t last_number;

    struct zone_nodes own;
    struct zone_nodes eval;
    struct zone_nodes look;
    struct zone_nodes touched;
    struct zone_nodes flipped;
    struct zone_nodes structure;
    struct zone_nodes via;
    struct zone_nodes aliases; // that may have come into a loop
    struct zone_nodes walked;
    struct zone_nodes fading;
    struct zone_nodes ns_due;
    struct zone_nodes rest_due;
    struct zone_nodes due;
    struct zone_nodes barred;
    uint32_t round;
    struct zone_result *results;
    size_t result_capacity;
    struct zone_result **order;
    size_t order_capacity;

    struct zone_frame frame; // its lists are not used
    uint8_t mname[DNAME_MAX];
    uint8_t rname[DNAME_MAX];
    struct zone_servers nameservers;
    struct zone_servers fallbacks;
    const struct zone_servers *serving; // which of both stands in the zone
    bool is_frame_stale;
    struct zone_record **frame_records;
    size_t frame_record_count;
    size_t frame_record_capacity;
    struct zone_below *below;
    size_t below_count;
    size_t below_capacity;

    size_t record_count; // RRs in the zone, without the SOA
    size_t rdata_octets;
    size_t excluded_count;
    size_t reported_count; // records of children that the zone's warnings name
    size_t apex_ns_count;  // of objects
    const struct zone_record *
        *nameservers_within; // NS records of the apex with targets in the zone
    size_t nameserver_within_count;
    size_t nameserver_within_capacity;

    struct zone *zone; // the last one made
    struct zone_change *changes;
    size_t change_count;
    size_t change_capacity;
    struct rrset *as_ns;
    struct rrset **as_addresses;
    size_t as_count;
    size_t as_capacity;
};

static inline struct dname zone_apex_of(const struct zone_compiler *compiler)
{
    return (struct dname){compiler->apex_name, compiler->apex_len};
}

// ---- zone_compiler_nodes.c ----------------------------------------------------------------------

struct zone_node *zone_node_root(struct zone_compiler *compiler);
struct zone_node *zone_node_add(struct zone_compiler *compiler, struct dname name);
// The deepest node at or above a name of the zone. `between`: the name, or one above it, lies
// between the two.
struct zone_near {
    struct zone_node *node;
    const struct zone_node *between; // NULL: none
    bool is_it;                      // the node, or without one a name between
    bool is_at_star;                 // what is missing lies beside a wildcard between
    bool is_at_last;                 // which is `between` itself
};
struct zone_near zone_node_nearest(const struct zone_compiler *compiler, struct dname name);
// The wildcard right below; or NULL.
struct zone_node *zone_node_star(const struct zone_compiler *compiler,
                                 const struct zone_node *parent);
static inline bool zone_node_is_star(const struct zone_node *node)
{
    return node->len == 2 && node->labels[1] == '*';
}
struct dname zone_node_name(const struct zone_compiler *compiler, const struct zone_node *node,
                            uint8_t out[DNAME_MAX]);
// Lists it, once.
void zone_node_mark(struct zone_nodes *list, struct zone_node *node, uint32_t flag);
void zone_nodes_push(struct zone_nodes *list, struct zone_node *node);
void zone_nodes_unmark(struct zone_nodes *list, uint32_t flag); // empties it
// The next one of all below `top`, parents first; `is_over`: none below `at`.
struct zone_node *zone_node_after(const struct zone_node *top, struct zone_node *at, bool is_over);
// It and those above it go if nothing holds them.
void zone_node_fade(struct zone_compiler *compiler, struct zone_node *node);
// The lists that are empty give back the memory that they need not keep.
void zone_nodes_relax(struct zone_compiler *compiler);
void zone_nodes_done(struct zone_compiler *compiler);

// ---- zone_compiler_records.c --------------------------------------------------------------------

struct zone_record *zone_record_put(struct zone_compiler *compiler, const struct zone_entry *entry,
                                    uint32_t flags);
void zone_record_remove(struct zone_compiler *compiler, struct zone_record *record);
struct zone_link *zone_record_link(const struct zone_record *record);
static inline struct text zone_record_rdata(const struct zone_record *record)
{
    return (struct text){(const char *)record->rdata, record->rdata_len};
}
uint32_t zone_record_ttl(const struct zone_compiler *compiler, const struct zone_record *record);
bool zone_record_equal(const struct zone_record *a, const struct zone_record *b);
// The older ones first; given ones are older than all.
void zone_record_sort(struct zone_compiler *compiler, struct zone_node *node);
bool zone_record_is_null_mx(const struct zone_record *record);
// CDS and CDNSKEY: what it asks the zone above to point at; 0: nothing any more (RFC 8078 4).
// DNSKEY: of the key.
uint8_t zone_record_algorithm(const struct zone_record *record);
bool zone_record_is_spf(const struct zone_record *record);
static inline bool zone_record_is_address(const struct zone_record *record)
{
    return record->type == RR_A || record->type == RR_AAAA;
}

// ---- zone_compiler_look.c -----------------------------------------------------------------------

enum zone_look_kind {
    LOOK_NOTHING, // no such name
    LOOK_HERE,    // at `node`: the name itself or the wildcard that answers for it
    LOOK_BETWEEN, // an empty non-terminal, itself or as a wildcard
    LOOK_CUT,     // at or below the cut `node`
    LOOK_DNAME,   // below the DNAME `node`
};
struct zone_look {
    enum zone_look_kind kind;
    const struct zone_node *node;
};
struct zone_look zone_look(const struct zone_compiler *compiler, const struct zone_node *node);
struct zone_look zone_look_name(const struct zone_compiler *compiler, struct dname name);
// The CNAME there, if it is one.
const struct zone_record *zone_look_cname(struct zone_look look);
// What makes an alias of the name that was looked at: the DNAME above it or the CNAME there; NULL:
// it is none.
const struct zone_record *zone_look_alias(struct zone_look look);
bool zone_node_has_glue(const struct zone_node *node);
// Works out where all aliases of `eval` lead and which are in loops; lists those that this changes.
void zone_alias_settle(struct zone_compiler *compiler);

// ---- zone_compiler_judge.c ----------------------------------------------------------------------

// Of a set of warnings, as in zone_outcome.
static inline uint16_t zone_warning_bit(enum zone_reason warning)
{
    return (uint16_t)(1u << (warning - ZONE_TTL_MISMATCH));
}

// Who stands at a name so far, the older ones first.
struct zone_rivals {
    const struct zone_compiler *compiler;
    const struct zone_node *node;
    const struct zone_record *cname;
    const struct zone_record *other;
    const struct zone_record *dname;
    // Of MX, CDS and CDNSKEY: one that says that there is none, and others.
    struct {
        const struct zone_record *null;
        const struct zone_record *other;
    } kin[3];
    bool is_apex;
};
static inline struct zone_rivals zone_rivals_of(const struct zone_compiler *compiler,
                                                const struct zone_node *node)
{
    return (struct zone_rivals){
        .compiler = compiler, .node = node, .is_apex = node == compiler->apex};
}
enum zone_reason zone_rivals_meet(struct zone_rivals *rivals, const struct zone_record *record,
                                  const struct zone_record **by);
// Is it cut off from its name by that of a child?
static inline bool zone_record_is_foreign(const struct zone_record *record)
{
    return record->type != RR_DS && !(record->flags & RECORD_GIVEN);
}
void zone_judge(struct zone_compiler *compiler, struct zone_node *node, zone_reported *reported,
                void *context);
// What zone_judge would find: so many of compiler->results, without what equal records and TTLs
// come to.
size_t zone_judge_look(struct zone_compiler *compiler, const struct zone_node *node);

// ---- zone_compiler_crowd.c ----------------------------------------------------------------------

// Marks the youngest records of a name that is sorted by age, as far as they are more than servers
// take.
void zone_crowd_settle(const struct zone_compiler *compiler, struct zone_node *node);

// ---- zone_compiler_rounds.c ---------------------------------------------------------------------

// Takes back what rounds put out, if there is anything to settle.
void zone_rounds_start(struct zone_compiler *compiler);
// Ends a round, after strata 2 to 5. False: there is no other, and `eval` has all whose records the
// rounds touched.
bool zone_rounds_next(struct zone_compiler *compiler);

// ---- zone_compiler_frame.c ----------------------------------------------------------------------

void zone_frame_settle(struct zone_compiler *compiler); // fallbacks come or go
void zone_frame_done(struct zone_compiler *compiler);
struct dname zone_frame_mname(const struct zone_compiler *compiler, uint8_t out[DNAME_MAX]);

// ---- zone_compiler_output.c ---------------------------------------------------------------------

void zone_output_change(struct zone_compiler *compiler, struct zone_node *node, uint16_t type);
void zone_output_reset(struct zone_compiler *compiler); // make all of it anew
void zone_output_as_child(struct zone_compiler *compiler);
void zone_output_done(struct zone_compiler *compiler);
