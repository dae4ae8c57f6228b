#pragma once

#include "dns/corefile/coredns.h"
#include "dns/corefile/identity.h"

// Writes the Corefile of a cluster's CoreDNS: a server block for each entry that forwards zones,
// the root block that serves the cluster, and a last one that answers with the config id. Pure: the
// same input gives the same octets. What is written was checked before (kinds/dns), so that it
// can't change the file's shape.

enum corefile_layout {
    COREFILE_PLAIN,     // ours
    COREFILE_OPENSHIFT, // octet for octet what OpenShift's operator writes
};
enum forward_policy {
    FORWARD_RANDOM,
    FORWARD_ROUND_ROBIN,
    FORWARD_SEQUENTIAL,
    FORWARD_POLICIES,
};
// Of CoreDNS: "random", "round_robin", "sequential".
extern const char *const forward_policy_names[FORWARD_POLICIES];
enum corefile_log_level { COREFILE_LOG_NORMAL, COREFILE_LOG_DEBUG, COREFILE_LOG_TRACE };

// How queries go on to other servers.
struct corefile_forward {
    const struct text *upstreams; // as they are written, without tls://; or "/etc/resolv.conf"
    size_t upstream_count;
    enum forward_policy policy;
    bool uses_tls;
    struct text tls_server_name; // of TLS
    struct text tls_bundle;      // path of the authorities to trust; absent: the system's
    bool forces_tcp;
    // Additions that OpenShift does not have. Absent, 0 or false: not written.
    const struct text *except;
    size_t except_count;
    bool prefers_udp;
    struct text expire; // duration as written
    bool has_max_fails;
    uint32_t max_fails;
    struct text health_interval;
    bool is_health_without_recursion;
    struct text health_domain;
    bool has_max_concurrent;
    uint32_t max_concurrent;
    const struct text *failover; // rcodes
    size_t failover_count;
};

struct corefile_cache {
    uint32_t positive_s; // at least 1
    uint32_t negative_s;
    struct text serve_stale; // duration; absent: not written
};

// One server block that forwards.
struct corefile_entry {
    struct text name; // a comment for people, one line
    const struct text *zones;
    size_t zone_count;
    struct corefile_forward forward;
    struct corefile_cache cache;
    bool filters_aaaa;
};

struct corefile_input {
    enum corefile_layout layout;
    uint16_t port;
    struct text cluster_domain;  // empty: there is no cluster, and no plugin `kubernetes`
    struct text metrics_address; // ":9153"
    enum corefile_log_level log_level;
    struct corefile_cache cache; // of the root block
    const struct corefile_entry *entries;
    size_t entry_count;
    struct corefile_forward root;
};

// Appends the Corefile. `id` gets its config id.
void corefile_render(struct buffer *out, const struct corefile_input *input,
                     char id[CONFIG_ID_LEN + 1]);
// Appends the server block of one entry alone.
void corefile_render_entry(struct buffer *out, const struct corefile_input *input,
                           const struct corefile_entry *entry);
// Appends the last block alone: the one that answers with the id, or a text as long.
void corefile_render_last(struct buffer *out, const struct corefile_input *input, const char *id);
extern const char corefile_no_id[CONFIG_ID_LEN + 1]; // zeroes: in their place an id is hashed
// Appends the line or the block of `forward`, indented by so many levels.
void corefile_render_forward(struct buffer *out, const struct corefile_forward *forward,
                             unsigned level);
