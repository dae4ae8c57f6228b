#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "kinds/condition.h"
#include "kinds/emco_metadata.h"

// DNSPublication (dns.homelab.mortenolsen.pro/v1alpha1): what of a deployment intent group is
// published, and how far that is. It stands in the namespace of its project. EMCO's name of the
// object is that of the group.

extern const struct kind dnspublication_kind;

enum {
    DNSPUBLICATION_NAMES_MAX = 500,   // in the status
    DNSPUBLICATION_TARGETS_MAX = 16,  // of a name there
    DNSPUBLICATION_MESSAGE_MAX = 256, // octets, of a name there
    DNSPUBLICATION_RECORDS_MAX = 512, // in the status
    DNSPUBLICATION_PLACEMENTS_MAX = 256,
    DNSPUBLICATION_CLUSTERS_MAX = 512, // of a placement
};

// EMCO's approval, which is recorded and never asked for.
#define DNSPUBLICATION_APPROVED_ANNOTATION DNS_GROUP "/approved"

enum dnspublication_desired {
    DNSPUBLICATION_WANTS_CREATED,
    DNSPUBLICATION_WANTS_INSTANTIATED,
    DNSPUBLICATION_WANTS_TERMINATED,
};
struct placement_cluster {
    struct text provider;
    struct text cluster;
};
struct placement {
    struct text app;
    const struct placement_cluster *clusters;
    size_t cluster_count;
};
struct dnspublication {
    struct emco_metadata metadata;
    struct emco_coordinates coordinates;
    struct text logical_cloud;
    struct text composite_profile; // as are release and share_group: absent when not given
    struct text release;
    const struct placement *placements; // none: every cluster of the cloud, for every app
    size_t placement_count;
    struct text share_group;
    int64_t hold_down_ms; // -1: for ever
    enum dnspublication_desired desired;
    int64_t update; // goes up at each request to read all inputs again
    bool is_approved;
};

enum dnspublication_state {
    DNSPUBLICATION_CREATED,
    DNSPUBLICATION_APPROVED,
    DNSPUBLICATION_INSTANTIATING,
    DNSPUBLICATION_INSTANTIATED,
    DNSPUBLICATION_UPDATING,
    DNSPUBLICATION_TERMINATING,
    DNSPUBLICATION_TERMINATED,
    DNSPUBLICATION_INSTANTIATE_FAILED,
    DNSPUBLICATION_TERMINATE_FAILED,
};
enum published_name_state {
    NAME_ADDRESS_PENDING,
    NAME_WRITTEN,
    NAME_READ,     // external-dns has read it
    NAME_SYNCED,   // and carried it out
    NAME_VERIFIED, // the authoritative servers answer so
    NAME_HELD,
    NAME_CONFLICT,
    NAME_INVALID,
    NAME_REMOVING,
    NAME_STATES,
};
extern const char *const dnspublication_name_states[]; // "AddressPending", ...; NULL-terminated
struct published_name {
    struct text name;
    struct text type;    // "A", "AAAA", "CNAME"
    struct text record;  // DNS update record: "public-dns" or "project/public-dns"
    struct text cluster; // "provider/cluster"; absent: it is for all
    const struct text *targets;
    size_t target_count;
    enum published_name_state state;
    enum reason reason;  // NONE: there is nothing to say
    const char *message; // NULL: none
    int64_t since_s;     // Unix; 0: not known
};
// A DNS update record at whose provider names of the publication may stand. It is written before
// the first of them is, and stays until it is proven that the last has gone.
struct published_record {
    struct text namespace_; // of the DNSUpdateRecord
    struct text name;
    int64_t draining_since_s; // Unix: no DNSEndpoint of ours is left since then; 0: some may be
    int64_t sync_s;           // the last successful synchronization that counted as proof; 0: none
    int64_t syncs;            // so many of them came one after another
    bool is_carried;          // somebody may have carried names to the provider
    const struct text *names; // that are to go from there, or stay there; sorted, the first 500
    size_t name_count;
    const struct text *targets; // of all of them; sorted, the first 500
    size_t target_count;
    struct text message; // why they stay; absent: they are to go
};
struct dnspublication_status {
    enum dnspublication_state state;
    const struct published_record *records;
    size_t record_count;
    // Records at whose providers names stay that nobody removes any more: all but the proof.
    const struct published_record *retained;
    size_t retained_count;
    const struct published_name *names;
    size_t name_count;  // unpacked: of those that were shown
    int64_t name_total; // set by unpacking alone
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
};
// Bodies of the cache; texts live in the arena. `out_status` may be NULL.
void dnspublication_unpack(struct arena *arena, struct text spec, struct text ours,
                           struct dnspublication *out, struct dnspublication_status *out_status);
// Names are sorted by name, type, record and cluster; the first names_max of them are shown
// (DNSPUBLICATION_NAMES_MAX in an object), with 16 targets each at most.
const struct value *dnspublication_status_encode(struct arena *arena,
                                                 const struct dnspublication_status *status,
                                                 size_t names_max);
// One of them, as the status has it.
struct value *published_name_encode(struct arena *arena, const struct published_name *name);
