#pragma once

#include "controllers/clusterdns/clusterdns_controller.h"
#include "dns/corefile/corefile.h"
#include "dns/corefile/render.h"
#include "kinds/dns/dns_kind.h"

// What all DNS objects come to together: the input of the Corefile, and for each zone whether it is
// served as its object says. Pure; all of it lives in the arena.

// Objects in the order in which their zones count: the main one, then fragments by age and name.
struct merge_object {
    struct text name;
    struct dns_spec spec;
};

// The authorities that an entry names.
enum bundle_state { BUNDLE_FOUND, BUNDLE_MISSING, BUNDLE_INVALID };
struct merge_bundles {
    const void *context;
    bool can_be_mounted; // into Pods; false: none is looked for, and none is kept that was live
    // `version` names the copy of the bundle that Pods mount; also of one that is missing now, if
    // Pods have a copy of it still. Absent: they have none. `why` says what is wrong with it.
    enum bundle_state (*find)(const void *context, struct text name, struct text *version,
                              const char **why);
};

struct merge_settings {
    enum corefile_layout layout;
    uint16_t port;
    struct text metrics_address;
    struct dns_context context;
    struct merge_bundles bundles;
    // NULL, or why upstreamResolvers can't be served here.
    const char *no_resolvers;
    // The zone is served by a block that is not ours: a text that says where, or NULL.
    const char *(*foreign_owner)(const void *context, struct text zone);
    const void *foreign_context;
    const struct corefile *live; // what runs now, for entries that turned bad; or NULL
    // Why an entry that breaks no rule can't stand in the Corefile all the same, or NULL. May be
    // NULL itself: no entry is asked about.
    const char *(*entry_fault)(void *context, const struct corefile_entry *entry,
                               enum reason *reason);
    void *entry_context;
};

// Takes layout, port, metrics_address and cluster_domain from the settings of the controller. A
// CoreDNS without a cluster has no domain unless one is given.
struct merge_settings merge_settings_of(const struct clusterdns_settings *settings,
                                        enum corefile_layout layout, bool has_cluster);

struct merge_outcome { // of one object
    size_t first_forwarder;
    size_t forwarder_count;
    size_t bad_count;         // forwarders that are not served as written, faults without a zone
    const char *fault_text;   // the first faults, joined; NULL: there are none
    const char *warning_text; // the same of warnings
};

struct merged {
    struct corefile_input input;
    bool is_root_changed; // the upstreams of the root differ from the default, /etc/resolv.conf
    bool is_root_refused; // upstreamResolvers is faulty: what stands there stays
    struct dns_forwarder *forwarders; // by object, in the order of its entries
    size_t forwarder_count;
    struct merge_outcome *outcomes; // one for each object
};
void dns_merge(struct arena *arena, const struct merge_settings *settings,
               const struct merge_object *objects, size_t count, struct merged *out);

// "/etc/pki/SERVERNAME-ca-NAME-VERSION": where the Pods have a bundle.
const char *merge_bundle_path(struct arena *arena, struct text server_name, struct text name,
                              struct text version);
