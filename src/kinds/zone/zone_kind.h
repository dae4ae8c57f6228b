#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "dns/dname.h"
#include "dns/serial.h"
#include "kinds/condition.h"
#include "kinds/zone_ref.h"

// Zone (kubi.zone/v1alpha1): a DNS zone, and what of it is delegated to whom.

extern const struct kind zone_kind;

struct zone_delegation_records {
    struct text pattern;
    struct text *types; // none: all
    size_t type_count;
};
struct zone_delegation {
    struct text *namespaces; // none: all
    size_t namespace_count;
    struct text *zones; // patterns
    size_t zone_count;
    struct zone_delegation_records *records;
    size_t record_count;
};
struct zone_spec_nameserver {
    struct text name;
    struct text *addresses;
    size_t address_count;
};

// The spec as written, defaults filled in. Borrowed from what it was read from.
struct zone_spec {
    struct text domain_name;
    struct zone_ref ref;
    struct zone_delegation *delegations;
    size_t delegation_count;
    int64_t ttl_s;
    int64_t refresh_s;
    int64_t retry_s;
    int64_t expire_s;
    int64_t minimum_s; // negativeResponseCache
    struct zone_spec_nameserver *nameservers;
    size_t nameserver_count;
    struct text mname; // absent: not given
    struct text rname;
    enum serial_policy serial_policy;
    bool has_minimum_serial;
    uint32_t minimum_serial;
    struct text servers;         // "default"
    struct text file_namespaces; // whose ZoneFiles may write its text, beside its own; absent: none
};
#define ZONE_FILE_NAMESPACES "zonefile-namespaces" // annotation below the group
// May a ZoneFile of that namespace write the text of the Zone, which is in `home`?
bool zone_allows_file(const struct zone_spec *spec, struct text home, struct text namespace_);

enum zone_server_state {
    SERVER_UNKNOWN,
    SERVER_CURRENT,
    SERVER_BEHIND,
    SERVER_AHEAD,
    SERVER_UNREACHABLE,
    SERVER_REFUSED,
};
const char *zone_server_state_name(enum zone_server_state state); // "Current"
struct zone_status_server {
    struct text name;
    bool has_serial;
    uint32_t serial;
    bool has_fetched;
    uint32_t fetched_serial;
    enum zone_server_state state;
    bool is_stuck;    // it fetched what it could not load. Not stored
    bool is_doubtful; // the state is UNKNOWN, as it may have fetched since. Not stored
};
struct zone_status_entry { // absent fields: none
    struct text fqdn;
    struct text type;
    struct text class_;
    uint32_t ttl_s;
    struct text rdata;
};
// What stands in the object because we wrote it.
struct zone_status {
    struct text fqdn; // absent: none
    struct text hash;
    bool has_serial;
    uint32_t serial;
    // Of a whole object only: the cache does not keep them.
    struct zone_status_entry *entries;
    size_t entry_count;
    struct text content_fqdn; // whose entries and hash they are, the first entry's; absent: none
    bool keeps_entries;       // when encoded: those that are stored stay
    bool entries_complete;
    int64_t entries_total; // entryCount
    int64_t excluded_count;
    struct text *nameservers;
    size_t nameserver_count;
    struct text server_group; // absent: none
    struct zone_status_server *servers;
    size_t server_count;
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
    struct text parent_label;     // of metadata; absent: none
    struct text file_label;
};

void zone_unpack(struct arena *arena, struct text spec, struct text ours, struct zone_spec *out,
                 struct zone_status *out_status); // out_status may be NULL
void zone_decode(struct arena *arena, const struct value *object, struct zone_spec *out);
// Also the entries.
void zone_status_decode(struct arena *arena, const struct value *object, struct zone_status *out);
// All fields, null where one is to go.
const struct value *zone_status_encode(struct arena *arena, const struct zone_status *status);

// What is wrong with a Zone by itself. `err` may be NULL.
// The name as written; one to be completed gets the root's label. REASON_NONE, or a reason with its
// text, which begins with the field.
enum reason zone_read_name(const struct zone_spec *spec, uint8_t out[DNAME_MAX], struct dname *name,
                           struct error *err);
// The TTL and the numbers of the SOA, in the order of the spec.
struct zone_timer {
    const char *field; // "spec.ttl"
    int64_t value;
    int64_t max; // the least is 0
};
enum { ZONE_TIMERS = 5 };
void zone_timers(const struct zone_spec *spec, struct zone_timer out[ZONE_TIMERS]);
bool zone_timer_check(const struct zone_timer *timer, struct error *err); // without the field
