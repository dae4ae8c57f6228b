#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slab.h"
#include "base/text.h"
#include "dns/dname.h"
#include "dns/zone.h"

// Makes a zone of single records that know nothing of each other: settles conflicts by age, keeps
// out what servers would refuse, record by record, never the zone for one of them, and says of each
// why. Resident, one per zone. What changed is worked out again, with the names that depend on it;
// the outcome is the same, octet by octet, as that of a new compiler that was given all at once.
// What is out counts as not there: a cut without NS is none, and what lies below it is judged; a
// name without records does not exist; who lost to it comes in. What that changes is judged again,
// in so many rounds as it takes, up to 32; a record that is out once stays out.
//
//     struct zone_compiler *compiler = zone_compiler_new(apex, &ops);
//     zone_compiler_set_frame(compiler, &frame);
//     record = zone_compiler_put(compiler, &entry);
//     zone_compiler_settle(compiler, told, context);
//     struct zone *zone = zone_compiler_zone(compiler, serial);

// Why a record stays out, or what is odd about one that is in; the names are those of conditions.
enum zone_reason {
    ZONE_FINE,
    // out
    ZONE_OUT_OF_ZONE,
    ZONE_CLASS_MISMATCH,
    ZONE_INVALID_TTL,
    ZONE_RESERVED_TYPE,
    ZONE_INVALID_NAME,
    ZONE_INVALID_RDATA,
    ZONE_NS_TARGET_IS_ADDRESS,
    ZONE_MX_TARGET_IS_ADDRESS,
    ZONE_WILDCARD_NS,
    ZONE_SVCB_SELF_ALIAS,
    ZONE_CNAME_CONFLICT,
    ZONE_DUPLICATE_SINGLETON,
    ZONE_OCCLUDED_BY_DELEGATION,
    ZONE_OCCLUDED_BY_DNAME,
    ZONE_NULL_MX_CONFLICT,
    ZONE_TOO_MANY_RECORDS,
    ZONE_NS_TARGET_IS_ALIAS,
    ZONE_MX_TARGET_IS_ALIAS,
    ZONE_SRV_TARGET_IS_ALIAS,
    ZONE_MISSING_GLUE,
    ZONE_DS_WITHOUT_NS,
    ZONE_CDS_WITHOUT_DNSKEY,
    ZONE_CNAME_LOOP, // each member of a loop within the zone
    // the whole zone
    ZONE_NO_NAMESERVERS,
    ZONE_MISSING_ADDRESS,
    ZONE_TOO_LARGE,
    // in, with a warning; in the order in which they are told
    ZONE_TTL_MISMATCH,
    ZONE_DUPLICATE, // an older one is the same: both are in as one, nobody need be warned
    ZONE_TARGET_HAS_NO_ADDRESS,
    ZONE_DANGLING_TARGET,
    ZONE_MISSING_SIBLING_GLUE,
    ZONE_RELATIVE_TARGET_LOOKS_ABSOLUTE,
    ZONE_NOT_A_HOSTNAME,
    ZONE_WILDCARD_DNAME,
    ZONE_INTERIOR_ASTERISK,
    ZONE_USE_TXT_FOR_SPF,
    ZONE_MULTIPLE_SPF,
    // of the zone's own fields
    ZONE_SINGLE_NS,
    ZONE_MNAME_NOT_IN_NS,
    ZONE_SOA_TIMERS,
    ZONE_ADDRESS_IGNORED,
    ZONE_REASON_COUNT,
};
const char *zone_reason_name(enum zone_reason reason); // "CNAMEConflict"

// What a record came to. `warnings` has bit (reason - ZONE_TTL_MISMATCH) set for each; one that is
// out has none.
struct zone_outcome {
    enum zone_reason reason; // ZONE_FINE: it is in
    uint32_t warnings;
    const void *by; // whose record is in its way, as zone_entry.tag; NULL: nobody's, the zone's own
};

// A record whose name, type and rdata are well-formed by themselves (rdata_read).
struct zone_entry {
    struct dname owner; // ZONE_OUT_OF_ZONE if it is not within the apex
    uint16_t type;
    bool has_ttl; // else the frame's
    uint32_t ttl_s;
    struct text rdata;
    unsigned marks;  // enum rdata_mark
    const void *tag; // whose it is
};
// Of the tags: who is older (it wins), and what to call it in texts ("default/www").
struct zone_compiler_ops {
    int (*compare_age)(const void *a, const void *b);
    void (*write_name)(const void *tag, struct buffer *out);
    // Where what it makes lies, when there are many small zones; NULL: in one of its own.
    struct slab *slab;
};

// A zone below this one that is compiled as well: its apex NS and the addresses of their targets.
// What they point at is borrowed for the call.
struct zone_child {
    struct dname apex;
    const struct rrset *ns;
    const struct rrset *const *addresses; // A and AAAA of targets within the child
    size_t address_count;
};
struct zone_nameserver {
    struct dname name;
    const struct text *addresses; // 4 or 16 octets
    size_t address_count;
};
// What the servers take at one name; 0: any number. The youngest beyond it are out.
struct zone_limits {
    uint32_t records_per_type;
    uint32_t types_per_name;
};
// Those of named where its configuration does not say otherwise (max-records-per-type,
// max-types-per-name).
#define ZONE_LIMITS_OF_NAMED ((struct zone_limits){100, 100})
// Of the zone's own fields.
struct zone_frame {
    bool has_mname; // else the first nameserver, the first apex NS, or ns.<apex>
    struct dname mname;
    struct dname rname;
    uint32_t ttl_s;
    uint32_t refresh_s;
    uint32_t retry_s;
    uint32_t expire_s;
    uint32_t minimum_s;
    const struct zone_nameserver *nameservers; // in their order
    size_t nameserver_count;
    // Used when there are neither nameservers nor NS records at the apex.
    const struct zone_nameserver *fallbacks;
    size_t fallback_count;
    struct zone_limits limits;
};

enum { ZONE_RECORDS_MAX = 1000000, ZONE_RDATA_MAX = 256 << 20 };

struct zone_compiler;
struct zone_record; // one that was put
struct zone_compiler *zone_compiler_new(struct dname apex, const struct zone_compiler_ops *ops);
void zone_compiler_free(struct zone_compiler *compiler);
struct dname zone_compiler_apex(const struct zone_compiler *compiler);
void zone_compiler_set_frame(struct zone_compiler *compiler, const struct zone_frame *frame);
// All zones below, at each call.
void zone_compiler_set_children(struct zone_compiler *compiler, const struct zone_child *children,
                                size_t count);
struct zone_record *zone_compiler_put(struct zone_compiler *compiler,
                                      const struct zone_entry *entry);
void zone_compiler_remove(struct zone_compiler *compiler, struct zone_record *record);

// Works out all that was put, removed or set since the last time. `told` hears each record whose
// outcome is another now (a new one always), in no order; it may not call back.
typedef void zone_reported(void *context, const void *tag, const struct zone_outcome *outcome);
void zone_compiler_settle(struct zone_compiler *compiler, zone_reported *reported, void *context);
struct zone_outcome zone_record_outcome(const struct zone_record *record);
uint16_t zone_record_type(const struct zone_record *record);
struct dname zone_record_owner(const struct zone_compiler *compiler,
                               const struct zone_record *record, uint8_t out[DNAME_MAX]);
// The name in its rdata; false: it has none. Borrowed from the record.
bool zone_record_target(const struct zone_record *record, struct dname *target);
// Goes on from a name of this zone where aliases lead, as it is settled. False: the end lies in the
// zone, or nowhere. True: they lead out of it or below one of its cuts. `name` is where then, in
// `octets`, and *tag whose alias it was.
bool zone_compiler_follow(const struct zone_compiler *compiler, struct dname *name,
                          uint8_t octets[DNAME_MAX], const void **tag);
// The text of a record's reason, or of one warning; as it is now. "CNAME and other data:
// default/www was there before".
void zone_compiler_explain(const struct zone_compiler *compiler, const struct zone_record *record,
                           enum zone_reason reason, struct buffer *out);

// What keeps the zone as a whole from being served; ZONE_FINE: nothing. With its text.
enum zone_reason zone_compiler_fault(const struct zone_compiler *compiler, struct buffer *text);
// Warnings of the frame, in the order of the reasons; before them those of zones below, of whose NS
// sets something is missing or left out (NSTargetIsAlias, MissingGlue, MissingSiblingGlue).
void zone_compiler_warnings(const struct zone_compiler *compiler,
                            void (*call)(void *context, enum zone_reason reason, struct text text),
                            void *context);
size_t zone_compiler_record_count(const struct zone_compiler *compiler);   // in the zone, with SOA
size_t zone_compiler_excluded_count(const struct zone_compiler *compiler); // records kept out
// What was put and settled, as a zone; also when it is at fault. The caller owns the reference.
// Shares what did not change with the one before.
struct zone *zone_compiler_zone(struct zone_compiler *compiler, uint32_t serial);
// For a parent: what stands at this apex. Borrowed until the next settle; ns NULL: no NS.
void zone_compiler_as_child(const struct zone_compiler *compiler, struct zone_child *out);
