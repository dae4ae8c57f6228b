#include "kinds/dns/dns_body.h"

enum {
    LABELS_MAX = 64,
    TOLERATIONS_MAX = 64,
    UPSTREAMS_MAX = 15,
    PORT_MAX = 65535,
    SERVER_NAME_MAX = 253,
};

// The schema refuses what OpenShift's schema and CEL refuse, and faults of fields that only we
// have, so it refuses no manifest that OpenShift takes. Admission and the controller judge all
// else.
#define DURATION "^(0|([0-9]+(\\.[0-9]+)?(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$"
#define LABEL "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"

static const char *const log_levels[] = {"Normal", "Debug", "Trace", NULL};
static const char *const management_states[] = {"",      "Managed", "Unmanaged",
                                                "Force", "Removed", NULL};
static const char *const operators[] = {"", "Exists", "Equal", NULL};
static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
static const char *const transports[] = {"TLS", "Cleartext", "", NULL};
static const char *const protocols[] = {"TCP", "", NULL};
static const char *const upstream_types[] = {"SystemResolvConf", "Network", "", NULL};
static const char *const states[] = {"Serving", "LastGood", "Refused", NULL};

const char *const dns_condition_types[] = {"Available",        "Progressing", "Degraded",
                                           "Upgradeable",      "Accepted",    "Converged",
                                           "UpstreamsHealthy", NULL};

#define TRANSPORT_FIELDS(parent)                                                                   \
    {.path = parent ".transportConfig", .type = FIELD_MAP, .doc = "How the servers are reached."}, \
        {.path = parent ".transportConfig.transport",                                              \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_JUDGED,                                                                    \
         .choices = transports,                                                                    \
         .doc = "TLS or Cleartext; Cleartext when absent or empty."},                              \
        {.path = parent ".transportConfig.tls",                                                    \
         .type = FIELD_MAP,                                                                        \
         .flags = FIELD_NULLABLE,                                                                  \
         .doc = "Required, and only allowed, when transport is TLS."},                             \
        {.path = parent ".transportConfig.tls.serverName",                                         \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED | FIELD_JUDGED,                                                   \
         .max = SERVER_NAME_MAX,                                                                   \
         .pattern = "^(" LABEL "\\.)*" LABEL "$",                                                  \
         .doc = "The name that the certificates of the servers have."},                            \
        {.path = parent ".transportConfig.tls.caBundle",                                           \
         .type = FIELD_MAP,                                                                        \
         .doc = "Whom to trust; the system's authorities when absent."},                           \
    {                                                                                              \
        .path = parent ".transportConfig.tls.caBundle.name", .type = FIELD_TEXT,                   \
        .flags = FIELD_REQUIRED | FIELD_JUDGED,                                                    \
        .doc = "ConfigMap in the namespace of --ca-namespace whose key ca-bundle.crt has PEM."     \
    }

#define CACHE_FIELDS(parent, what)                                                                 \
    {.path = parent, .type = FIELD_MAP, .doc = (what)},                                            \
        {.path = parent ".positiveTTL",                                                            \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_JUDGED,                                                                    \
         .pattern = DURATION,                                                                      \
         .doc = "How long an answer with records is kept at most, such as 15m; 900s when "         \
                "absent."},                                                                        \
    {                                                                                              \
        .path = parent ".negativeTTL", .type = FIELD_TEXT, .flags = FIELD_JUDGED,                  \
        .pattern = DURATION,                                                                       \
        .doc = "How long an answer without records is kept at most; 30s when absent."              \
    }

#define PLUGIN_FIELDS(parent, what)                                                                \
    {.path = parent, .type = FIELD_LIST, .doc = (what)},                                           \
        {.path = parent "[]", .type = FIELD_MAP, .doc = "One zone."},                              \
        {.path = parent "[].domain", .type = FIELD_TEXT, .doc = "The zone."},                      \
        {.path = parent "[].nameservers",                                                          \
         .type = FIELD_LIST,                                                                       \
         .doc = "The servers that are asked: 1 to 15 of IP, IPv4:PORT or [IPv6]:PORT."},           \
        {.path = parent "[].nameservers[]", .type = FIELD_TEXT, .doc = "One server."},             \
        {.path = parent "[].nameServers",                                                          \
         .type = FIELD_LIST,                                                                       \
         .doc = "The same in another spelling."},                                                  \
        {.path = parent "[].nameServers[]", .type = FIELD_TEXT, .doc = "One server."},             \
    {                                                                                              \
        .path = parent "[].policy", .type = FIELD_TEXT,                                            \
        .doc = "Random, RoundRobin or Sequential; Random when absent."                             \
    }

#define FORWARD "spec.servers[].forwardPlugin"
#define OPTIONS FORWARD ".options"
#define RESOLVERS "spec.upstreamResolvers"

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .doc = "How the cluster's DNS forwards."},
    {.path = "spec.servers",
     .type = FIELD_LIST,
     .doc = "Zones that are asked of other servers. The longest zone that a name lies in counts."},
    {.path = "spec.servers[]", .type = FIELD_MAP, .doc = "Zones with the same servers."},
    {.path = "spec.servers[].name",
     .type = FIELD_TEXT,
     .doc = "A name for people; it becomes a comment in the Corefile."},
    {.path = "spec.servers[].zones", .type = FIELD_LIST, .doc = "The zones; at least one."},
    {.path = "spec.servers[].zones[]",
     .type = FIELD_TEXT,
     .doc = "A subdomain (RFC 1123), or a network whose reverse zones are meant, such as "
            "10.0.0.0/24."},
    {.path = FORWARD, .type = FIELD_MAP, .doc = "Who is asked, and how."},
    {.path = FORWARD ".upstreams",
     .type = FIELD_LIST,
     .flags = FIELD_JUDGED,
     .max = UPSTREAMS_MAX,
     .doc = "The servers that are asked: 1 to 15 of IP, IPv4:PORT or [IPv6]:PORT."},
    {.path = FORWARD ".upstreams[]", .type = FIELD_TEXT, .doc = "One server."},
    {.path = FORWARD ".policy",
     .type = FIELD_TEXT,
     .flags = FIELD_JUDGED,
     .choices = dns_policies,
     .fallback = "Random",
     .doc = "In which order: Random, RoundRobin or Sequential."},
    {.path = FORWARD ".protocolStrategy",
     .type = FIELD_TEXT,
     .flags = FIELD_JUDGED,
     .choices = protocols,
     .doc = "TCP asks by TCP alone; empty as the client asked."},
    TRANSPORT_FIELDS(FORWARD),
    {.path = OPTIONS, .type = FIELD_MAP, .doc = "Beyond OpenShift's fields; all may be absent."},
    {.path = OPTIONS ".except",
     .type = FIELD_LIST,
     .doc = "Names below the zones that are not asked of the servers."},
    {.path = OPTIONS ".except[]", .type = FIELD_TEXT, .doc = "One name."},
    {.path = OPTIONS ".preferUDP",
     .type = FIELD_BOOL,
     .doc = "Asks by UDP first, also when the client used TCP."},
    {.path = OPTIONS ".expire",
     .type = FIELD_TEXT,
     .doc = "After how long an unused connection is closed, such as 10s."},
    {.path = OPTIONS ".maxFails",
     .type = FIELD_INT,
     .flags = FIELD_UINT32 | FIELD_JUDGED,
     .max = UINT32_MAX,
     .doc = "After how many failed checks a server is not asked; 0: it always is."},
    {.path = OPTIONS ".healthCheck",
     .type = FIELD_MAP,
     .doc = "How a server that failed is checked."},
    {.path = OPTIONS ".healthCheck.interval",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_JUDGED,
     .doc = "How often, such as 0.5s."},
    {.path = OPTIONS ".healthCheck.noRecursion",
     .type = FIELD_BOOL,
     .doc = "Checks without asking for recursion."},
    {.path = OPTIONS ".healthCheck.domain",
     .type = FIELD_TEXT,
     .doc = "Which name is asked for; the root when absent."},
    {.path = OPTIONS ".maxConcurrent",
     .type = FIELD_INT,
     .flags = FIELD_UINT32 | FIELD_JUDGED,
     .max = UINT32_MAX,
     .doc = "How many queries are under way at once; more are answered with REFUSED."},
    {.path = OPTIONS ".failover",
     .type = FIELD_LIST,
     .doc = "Response codes after which the next server is asked (CoreDNS 1.13.0)."},
    {.path = OPTIONS ".failover[]", .type = FIELD_TEXT, .doc = "One code, such as SERVFAIL."},
    CACHE_FIELDS("spec.servers[].cache", "The cache of these zones."),
    {.path = "spec.servers[].cache.serveStale",
     .type = FIELD_TEXT,
     .doc = "For how long answers are given beyond their time while no server answers."},
    {.path = "spec.servers[].filterAAAA",
     .type = FIELD_BOOL,
     .doc = "Answers queries for AAAA records with none."},

    {.path = "spec.pluginConfig",
     .type = FIELD_MAP,
     .doc = "Plugins of CoreDNS as the first draft of this API had them; the same as servers."},
    PLUGIN_FIELDS("spec.pluginConfig.forwardPlugins", "Zones that are asked of other servers."),
    PLUGIN_FIELDS("spec.pluginConfig.forwardPlugin", "The same in another spelling."),

    {.path = RESOLVERS,
     .type = FIELD_MAP,
     .doc = "Who is asked for all other names; /etc/resolv.conf of the node when absent."},
    {.path = RESOLVERS ".upstreams",
     .type = FIELD_LIST,
     .flags = FIELD_JUDGED,
     .max = UPSTREAMS_MAX,
     .doc = "The servers that are asked."},
    {.path = RESOLVERS ".upstreams[]", .type = FIELD_MAP, .doc = "One server."},
    {.path = RESOLVERS ".upstreams[].type",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED | FIELD_JUDGED,
     .choices = upstream_types,
     .doc = "SystemResolvConf, which is /etc/resolv.conf, or Network."},
    {.path = RESOLVERS ".upstreams[].address",
     .type = FIELD_TEXT,
     .doc = "Address of a server of type Network."},
    {.path = RESOLVERS ".upstreams[].port",
     .type = FIELD_INT,
     .flags = FIELD_JUDGED,
     .min = 1,
     .max = PORT_MAX,
     .fallback = "53",
     .doc = "Its port."},
    {.path = RESOLVERS ".policy",
     .type = FIELD_TEXT,
     .flags = FIELD_JUDGED,
     .choices = dns_policies,
     .fallback = "Sequential",
     .doc = "In which order: Random, RoundRobin or Sequential."},
    {.path = RESOLVERS ".protocolStrategy",
     .type = FIELD_TEXT,
     .flags = FIELD_JUDGED,
     .choices = protocols,
     .doc = "TCP asks by TCP alone; empty as the client asked."},
    TRANSPORT_FIELDS(RESOLVERS),

    CACHE_FIELDS("spec.cache", "The cache of all zones."),
    {.path = "spec.logLevel",
     .type = FIELD_TEXT,
     .choices = log_levels,
     .fallback = "Normal",
     .doc = "What CoreDNS logs: Normal errors, Debug denials, too, Trace all queries."},
    {.path = "spec.operatorLogLevel",
     .type = FIELD_TEXT,
     .choices = log_levels,
     .fallback = "Normal",
     .doc = "Accepted, and not used: --log-level says what Signpost logs."},
    {.path = "spec.managementState",
     .type = FIELD_TEXT,
     .choices = management_states,
     .doc = "Unmanaged: only the status is kept true. Force and Removed count as Managed."},
    {.path = "spec.nodePlacement", .type = FIELD_MAP, .doc = "On which nodes CoreDNS runs."},
    {.path = "spec.nodePlacement.nodeSelector",
     .type = FIELD_TEXT_MAP,
     .max = LABELS_MAX,
     .doc = "Labels of these nodes; kubernetes.io/os: linux when empty."},
    {.path = "spec.nodePlacement.tolerations",
     .type = FIELD_LIST,
     .max = TOLERATIONS_MAX,
     .doc = "Taints that do not keep it away; node-role.kubernetes.io/master when empty."},
    {.path = "spec.nodePlacement.tolerations[]", .type = FIELD_MAP, .doc = "One toleration."},
    {.path = "spec.nodePlacement.tolerations[].key",
     .type = FIELD_TEXT,
     .doc = "Key of the taint; all when empty."},
    {.path = "spec.nodePlacement.tolerations[].operator",
     .type = FIELD_TEXT,
     .choices = operators,
     .doc = "Exists or Equal; Equal when absent."},
    {.path = "spec.nodePlacement.tolerations[].value",
     .type = FIELD_TEXT,
     .doc = "Value of the taint, with Equal."},
    {.path = "spec.nodePlacement.tolerations[].effect",
     .type = FIELD_TEXT,
     .choices = effects,
     .doc = "Effect of the taint; all when empty."},
    {.path = "spec.nodePlacement.tolerations[].tolerationSeconds",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "For how long NoExecute is tolerated; for ever when absent."},

    {.path = "status", .type = FIELD_MAP, .flags = FIELD_NULLABLE, .doc = "What became of it."},
    {.path = "status.clusterIP",
     .type = FIELD_TEXT,
     .doc = "Address at which Pods reach the cluster's DNS."},
    {.path = "status.clusterDomain", .type = FIELD_TEXT, .doc = "Domain of Services and Pods."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    {.path = "status.config", .type = FIELD_MAP, .doc = "The Corefile that is to be run."},
    {.path = "status.config.id",
     .type = FIELD_TEXT,
     .doc = "Its config id: a Pod that runs it answers version.bind (CH TXT) with it."},
    {.path = "status.config.sha256", .type = FIELD_TEXT, .doc = "SHA-256 of its text."},
    {.path = "status.config.configMap",
     .type = FIELD_TEXT,
     .doc = "Where it stands: NAMESPACE/NAME, or a path."},
    {.path = "status.config.mode",
     .type = FIELD_TEXT,
     .doc = "What of CoreDNS is ours: owned, adopted, import or file."},
    {.path = "status.config.layout", .type = FIELD_TEXT, .doc = "plain or openshift."},
    {.path = "status.config.since",
     .type = FIELD_TEXT,
     .flags = FIELD_TIME,
     .doc = "Since when this one is wanted, or stands there."},
    {.path = "status.config.lastConverged",
     .type = FIELD_TEXT,
     .flags = FIELD_TIME,
     .doc = "When all Pods last came to run the one that was wanted."},
    {.path = "status.config.corednsVersion",
     .type = FIELD_TEXT,
     .doc = "Release of CoreDNS for which it was checked."},
    {.path = "status.config.written",
     .type = FIELD_TEXT,
     .doc = "Config id of the one that was written last."},
    {.path = "status.config.refused",
     .type = FIELD_TEXT,
     .doc = "Config id of the one that CoreDNS refused last, until all Pods run another one."},
    {.path = "status.config.refusal",
     .type = FIELD_TEXT,
     .doc = "What CoreDNS said of that one, which is not tried again while this stands here."},
    {.path = "status.config.proved",
     .type = FIELD_LIST,
     .doc = "Config ids of the last two that all Pods ran."},
    {.path = "status.config.proved[]", .type = FIELD_TEXT, .doc = "One id."},
    {.path = "status.config.copies",
     .type = FIELD_LIST,
     .doc = "ConfigMaps with copies of Corefiles, to go back to."},
    {.path = "status.config.copies[]", .type = FIELD_TEXT, .doc = "NAMESPACE/NAME."},
    {.path = "status.config.bundles",
     .type = FIELD_LIST,
     .doc = "ConfigMaps of authorities that entries name."},
    {.path = "status.config.bundles[]", .type = FIELD_TEXT, .doc = "One name."},
    {.path = "status.config.bundleCopies",
     .type = FIELD_LIST,
     .doc = "Copies of these, one for each version, that Pods mount."},
    {.path = "status.config.bundleCopies[]", .type = FIELD_TEXT, .doc = "One name."},
    {.path = "status.forwarders",
     .type = FIELD_LIST,
     .doc = "The zones, at most 100 of them, those that are not served as written first."},
    {.path = "status.forwarders[]", .type = FIELD_MAP, .doc = "One zone."},
    {.path = "status.forwarders[].zone", .type = FIELD_TEXT, .doc = "Its name."},
    {.path = "status.forwarders[].source",
     .type = FIELD_TEXT,
     .doc = "The object and the field that name it."},
    {.path = "status.forwarders[].state",
     .type = FIELD_TEXT,
     .choices = states,
     .doc = "Serving; LastGood: as it was before a fault; Refused: not at all."},
    {.path = "status.forwarders[].reason", .type = FIELD_TEXT, .doc = "Why, as one word."},
    {.path = "status.forwarders[].message", .type = FIELD_TEXT, .doc = "Why, for people."},
    {.path = "status.forwardersTotal",
     .type = FIELD_INT,
     .doc = "How many zones there are in all."},
    {.path = "status.pods", .type = FIELD_MAP, .doc = "What the Pods of CoreDNS run."},
    {.path = "status.pods.desired", .type = FIELD_INT, .doc = "How many there are to be."},
    {.path = "status.pods.current", .type = FIELD_INT, .doc = "How many run this Corefile."},
    {.path = "status.pods.old", .type = FIELD_INT, .doc = "How many run another one of ours."},
    {.path = "status.pods.silent", .type = FIELD_INT, .doc = "How many do not answer."},
    {.path = "status.pods.stale",
     .type = FIELD_LIST,
     .doc = "Names of those that do not run it, 10 of them."},
    {.path = "status.pods.stale[]", .type = FIELD_TEXT, .doc = "One name."},
    CONDITION_FIELDS("Available, Progressing, Degraded, Upgradeable, Accepted, Converged, "
                     "UpstreamsHealthy."),
};

#define IS_TLS(at) "has(" at ".transport) && " at ".transport == 'TLS'"
#define TRANSPORT_RULES(parent)                                                                    \
    {parent ".transportConfig", "!has(self.tls) || (" IS_TLS("self") ")",                          \
     "TLS must not be configured when using an empty or cleartext transport"},                     \
    {                                                                                              \
        parent ".transportConfig", "!(" IS_TLS("self") ") || has(self.tls)",                       \
            "transportConfig requires a serverName when transport is TLS"                          \
    }

// The messages are those of admission.
static const struct kind_rule rules[] = {
    TRANSPORT_RULES(FORWARD),
    TRANSPORT_RULES(RESOLVERS),
    {RESOLVERS,
     "!(has(self.transportConfig) && " IS_TLS(
         "self.transportConfig") ") || "
                                 "(has(self.upstreams) && self.upstreams.size() > 0 && "
                                 "self.upstreams.all(upstream, upstream.type == 'Network'))",
     "SystemResolvConf is not allowed when TLS is configured as the transport"},
    {RESOLVERS ".upstreams[]",
     "self.type != 'Network' || (has(self.address) && self.address.size() > 0)",
     "The address field is mandatory for upstream of type Network, but was not provided"},
    {RESOLVERS ".upstreams[]",
     "self.type == 'Network' || ((!has(self.address) || self.address.size() == 0) && "
     "(!has(self.port) || self.port == 53))",
     "upstreams of type SystemResolvConf must have neither address nor port"},
};

static const struct kind_column columns[] = {
    {"Accepted", "string", ".status.conditions[?(@.type==\"Accepted\")].status", 0},
    {"Converged", "string", ".status.conditions[?(@.type==\"Converged\")].status", 0},
    {"Zones", "integer", ".status.forwardersTotal", 0},
    {"Config", "string", ".status.config.id", 1},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

static const char *const right_when[] = {"Accepted=True", "Degraded=False", "Converged=True", NULL};

static void write_summary(const struct value *object, struct buffer *out)
{
    size_t count = value_count(value_list_at(object, "spec.servers")) +
                   value_count(value_list_at(object, "spec.pluginConfig.forwardPlugins")) +
                   value_count(value_list_at(object, "spec.pluginConfig.forwardPlugin"));
    buffer_printf(out, "%zu forwarder%s", count, count == 1 ? "" : "s");
}

const struct kind dns_kind = {
    .group = OPERATOR_GROUP,
    .version = "v1",
    .name = "DNS",
    .plural = "dnses",
    .singular = "dns",
    .has_status = true,
    .is_lenient = true,
    .is_on_request = true,
    .condition_types = dns_condition_types,
    .right_when = right_when,
    .read_role = "view",
    .change_role = "admin",
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Which zones the cluster's DNS asks of which servers.",
    .pack_spec = dns_pack_spec,
    .pack_managed = dns_pack_managed,
    .validate = dns_validate,
    .write_summary = write_summary,
    .list_names = dns_list_names,
};
