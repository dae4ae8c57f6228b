#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/value.h"
#include "dns/corefile/coredns.h"
#include "kinds/condition.h"

// DNS (operator.openshift.io/v1, cluster scoped): which zones the cluster's CoreDNS forwards to
// which name servers. The object `default` is the main one; of any other, a fragment, only servers
// and pluginConfig count.

extern const struct kind dns_kind;

#define OPERATOR_GROUP "operator.openshift.io"
#define DNS_MAIN_NAME "default"
#define DNS_FINALIZER "dns.operator.openshift.io/dns-controller"

// Transport to upstreams: transportConfig.
struct dns_transport {
    struct text name; // "TLS", "Cleartext" or "", as written
    bool has_tls;
    struct text server_name;
    struct text bundle; // name of the ConfigMap with the authorities; absent: the system's
};

// How queries go on to other servers. Texts are as written; absent ones were not given.
struct dns_forward {
    const struct text *upstreams;
    size_t upstream_count;
    struct text policy;
    struct text protocol; // "TCP" or ""
    struct dns_transport transport;
    // The additions to OpenShift's fields.
    const struct text *except;
    size_t except_count;
    bool prefers_udp;
    struct text expire; // duration
    bool has_max_fails;
    int64_t max_fails;
    bool has_health_check;
    struct text health_interval; // duration
    bool is_health_without_recursion;
    struct text health_domain;
    bool has_max_concurrent;
    int64_t max_concurrent;
    const struct text *failover; // rcodes
    size_t failover_count;
};

struct dns_cache { // durations as written
    struct text positive;
    struct text negative;
    struct text serve_stale;
};

// An entry of servers[], or of the forward plugins of pluginConfig.
struct dns_server {
    const char *path; // "spec.servers[2]"
    struct text name; // of a plugin its domain
    const struct text *zones;
    size_t zone_count;
    struct dns_forward forward;
    struct dns_cache cache;
    bool filters_aaaa;
    bool is_plugin;
    bool has_rival_lists; // of a plugin: nameservers and nameServers differ
};

struct dns_upstream {
    struct text type; // "SystemResolvConf", "Network" or ""
    struct text address;
    bool has_port;
    int64_t port;
};
struct dns_resolvers {
    bool is_given;
    const struct dns_upstream *upstreams;
    size_t upstream_count;
    struct text policy;
    struct text protocol;
    struct dns_transport transport;
};

struct dns_spec {
    const struct dns_server *servers; // servers[], then the plugins, in this order
    size_t server_count;
    struct dns_resolvers resolvers;
    struct dns_cache cache;
    struct text log_level;
    struct text management_state;
    const struct value *node_selector; // map, or NULL
    const struct value *tolerations;   // list, or NULL
};
// From a whole object, or from { "spec": ... }. Borrowed from the tree.
void dns_decode(struct arena *arena, const struct value *object, struct dns_spec *out);
// From a cached body (object_spec).
void dns_unpack(struct arena *arena, struct text spec, struct dns_spec *out);

// ---- rules --------------------------------------------------------------------------------------

// What the rules have to know of the cluster. What is not known is not judged.
struct dns_context {
    struct text cluster_domain; // absent: not known
    const struct text *cluster_ips;
    size_t cluster_ip_count;
    bool has_version; // of CoreDNS
    struct coredns_version version;
};

// What is wrong with an entry, a zone of it, or upstreamResolvers.
struct dns_fault {
    enum reason reason;
    bool is_warning; // it is served all the same
    bool is_of_zone; // it is about one zone of an entry alone
    const char *path;
    const char *text;             // for whoever writes the object: admission, check
    const char *status_text;      // OpenShift has other words in some places; else the same
    bool is_refused_when_written; // a warning afterwards, but admission refuses it
};
struct dns_faults {
    struct arena *arena;
    struct dns_fault *items;
    size_t count;
    size_t capacity;
};

// A zone of an entry, as the Corefile names it.
struct dns_zone {
    struct text name;   // in lower case, without a final dot
    struct text source; // as written; a network has a zone for each of its reverse zones
    const char *path;   // "spec.servers[2].zones[0]"
    enum reason reason; // REASON_NONE: it may be served
    const char *text;   // why not
};
struct dns_server_check {
    enum reason reason; // of the first fault of the whole entry; REASON_NONE: it may be served
    const char *text;
    struct dns_zone *zones;
    size_t zone_count;
};
// Appends one; path and text are copied.
struct dns_fault *dns_add_fault(struct dns_faults *faults, enum reason reason, const char *path,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));
// Judges one entry by all rules that need no other entry. Faults are appended, and stand in the
// result, too.
void dns_check_server(const struct dns_server *server, const struct dns_context *context,
                      struct dns_faults *faults, struct dns_server_check *out);
// The first fault for which upstreamResolvers can't be served; NULL: it can.
const struct dns_fault *dns_check_resolvers(const struct dns_resolvers *resolvers,
                                            const struct dns_context *context,
                                            struct dns_faults *faults);
// A control character or a line break, of Unicode, too.
bool dns_has_control(struct text text);
// Durations that can't be read; the default stands in for them.
void dns_check_cache(const struct dns_cache *cache, const char *path, struct dns_faults *faults);
// The first fault for which no Pod could have the nodeSelector and the tolerations, or NULL.
const struct dns_fault *dns_check_placement(const struct dns_spec *spec, struct dns_faults *faults);
// Reports that another entry, which `winner` describes, has the zone already.
void dns_report_duplicate(struct dns_zone *zone, const char *winner, struct dns_faults *faults);

// "Random", "RoundRobin", "Sequential", NULL: in the order of enum forward_policy.
extern const char *const dns_policies[];

// Who forwards which zone: the first to name one has it.
struct dns_owners;
struct dns_owners *dns_owners_new(void);
void dns_owners_free(struct dns_owners *owners); // accepts NULL
DEFINE_CLEANUP(dns_owners, dns_owners_free)
// Returns the earlier owner of the zone, or NULL: now it is `owner`. Both are borrowed.
const char *dns_owners_add(struct dns_owners *owners, struct text zone, const char *owner);
const char *dns_owners_find(const struct dns_owners *owners, struct text zone); // NULL: none

// An address as a value that another spelling of it equals. False: it is none.
struct dns_address {
    unsigned char octets[16];
    size_t len;    // 4 or 16
    uint16_t port; // 0: none given
};
// "IP", "IPv4:port", "[IPv6]" or "[IPv6]:port". An IPv6 address that stands for one of IPv4 is
// that.
bool dns_address_read(struct text text, struct dns_address *out);

// A duration of the API in whole seconds, half up; `fallback_s` where it is absent, unreadable or
// comes to 0 or less.
uint32_t dns_seconds(struct text duration, uint32_t fallback_s);
enum { DNS_POSITIVE_TTL_S = 900, DNS_NEGATIVE_TTL_S = 30 };

// ---- status -------------------------------------------------------------------------------------

enum dns_state { DNS_SERVING, DNS_LAST_GOOD, DNS_REFUSED };
struct dns_forwarder { // a zone of some entry
    struct text zone;
    const char *source; // "default spec.servers[2]"
    enum dns_state state;
    enum reason reason;
    const char *message;
};
enum { DNS_PROVED_MAX = 2 };
struct dns_config { // the Corefile that is wanted or stands in for it; absent texts: none. A main
                    // object has a mode
    struct text id;
    struct text sha256;
    struct text config_map; // "namespace/name", or a path
    struct text mode;
    struct text layout;
    struct text version;
    int64_t since_s;     // Unix: since when this one is wanted, or stands there
    int64_t converged_s; // Unix: when all Pods last came to run the one that was wanted; 0: never
    struct text written; // id of the one that was written last: it stands there, or is on its way
    struct text refused; // id of the one that CoreDNS refused last, until one is proved
    struct text refusal; // what CoreDNS said of it; absent: another one is wanted meanwhile
    // Ids of those that all Pods ran, the last one first.
    struct text proved[DNS_PROVED_MAX];
    size_t proved_count;
    const struct text *copies; // copies of Corefiles that are there, each "namespace/name"
    size_t copy_count;
    const struct text *bundles; // names of the ConfigMaps of authorities that entries name
    size_t bundle_count;
    const struct text *bundle_copies; // names of the copies of these that Pods mount
    size_t bundle_copy_count;
};
enum { DNS_STALE_MAX = 10, DNS_FORWARDERS_MAX = 100 };
struct dns_pods {
    int64_t desired;
    int64_t current;
    int64_t old;
    int64_t silent;
    struct text stale[DNS_STALE_MAX];
    size_t stale_count;
};
struct dns_status {
    struct text cluster_ip;
    struct text cluster_domain;
    int64_t observed_generation;
    struct dns_config config;
    const struct dns_forwarder *forwarders; // NULL: none are shown
    size_t forwarder_count;
    size_t forwarders_total;
    bool has_pods;
    struct dns_pods pods;
    struct conditions conditions; // without messages when unpacked
};
extern const char *const dns_condition_types[]; // NULL-terminated
// All that is ours in the status; null where there is nothing.
const struct value *dns_status_encode(struct arena *arena, const struct dns_status *status);
// From cached bodies: config, observed generation and conditions are kept, nothing else.
void dns_status_unpack(struct arena *arena, struct text spec, struct text ours,
                       struct dns_status *out);
