#pragma once

#include "controllers/clusterdns/clusterdns_controller.h"
#include "controllers/clusterdns/events.def"
#include "controllers/clusterdns/merge.h"
#include "dns/corefile/corefile.h"
#include "dns/corefile/identity.h"
#include "dns/corefile/splice.h"
#include "kinds/configmap/configmap_kind.h"
#include "kinds/daemonset/daemonset_kind.h"
#include "kinds/deployment/deployment_kind.h"
#include "kinds/dns/dns_kind.h"
#include "kinds/group.h"
#include "kinds/node/node_kind.h"
#include "kinds/pod/pod_kind.h"
#include "kinds/service/service_kind.h"

// One reconciliation of a DNS object, and what its steps share. Each step is a file: which mode
// (mode.c), the text (target.c), the objects of an own CoreDNS (workload.c), what the Pods run
// (proof.c), conditions (conditions.c), the end (release.c).

#define DAEMON_SET_LABEL "dns.operator.openshift.io/daemonset-dns"
#define KUBE_DNS_LABEL "k8s-app=kube-dns"
#define ANNOTATION_PREFIX DNS_GROUP "/"
#define OPERATOR_LABEL OWNING_DNS_LABEL
#define ZONES_ANNOTATION ANNOTATION_PREFIX "zones"
#define FORWARD_ANNOTATION ANNOTATION_PREFIX "saved-forward"
#define WRITTEN_ANNOTATION ANNOTATION_PREFIX "written-forward" // what took its place
#define SYSTEM_NAMESPACE "kube-system"
#define BACKEND_NAME "coredns"
// DaemonSet, Service and ConfigMap of an own CoreDNS.
#define WORKLOAD_NAME "dns-" DNS_MAIN_NAME

enum { CONFIG_OCTETS_MAX = 900 * 1024, CLUSTER_IPS_MAX = 2 };

enum clusterdns_input {
    INPUT_DNSES,
    INPUT_CONFIG_MAPS,
    INPUT_DAEMON_SETS,
    INPUT_DEPLOYMENTS,
    INPUT_SERVICES,
    INPUT_SERVICE_ACCOUNTS,
    INPUT_KUBE_DNS_PODS,
    INPUT_OWN_PODS,
    INPUT_PREFLIGHT_PODS,
    INPUT_NODES,
    INPUT_NETWORKS,
    INPUT_SERVICE_MONITORS,
    INPUTS,
};

enum mode { MODE_FOREIGN, MODE_OFF, MODE_OWNED, MODE_ADOPTED, MODE_IMPORT, MODE_FILE, MODES };
extern const char *const mode_names[MODES];

// Where the Corefile stands.
struct target {
    struct text namespace_;
    struct text name;
    const char *key;           // of data
    const struct object *seen; // NULL: it is not there
    struct config_map map;     // of `seen`
    struct text text;          // what stands there; absent: nothing
};

// What the Pods answered.
struct proof {
    bool is_named;    // the Corefile that is wanted tells its id to those who ask
    const char *hash; // else what its Pods' metrics show; NULL: that is not known
    size_t total;     // Pods that run
    size_t current;   // run the config that is wanted
    size_t old;       // run another one of ours
    size_t silent;    // did not answer, or with something else
    size_t unknown;   // not asked yet
    struct text stale[DNS_STALE_MAX];
    size_t stale_count;
    const char **hosts; // of those that were asked
    size_t host_count;
    size_t host_capacity;
    const char *crash; // what a Pod that could not load the file wrote last; or NULL
};

// Where the Pods of an own CoreDNS may run.
struct placement {
    const struct value *node_selector; // map; NULL: any node
    const struct value *tolerations;   // list, or NULL
};

// What the Pods say of the servers that are forwarded to.
struct upstreams {
    bool is_observed;
    bool is_unasked;     // nobody has answered yet, or could, since this process began
    const char *failing; // those that failed a check within five minutes; NULL: none
};

struct reconcile {
    struct arena *arena;
    const struct snapshot *in;
    struct decision *out;
    const struct clusterdns_settings *settings;
    bool is_main;
    enum mode mode;
    struct dns_spec spec; // of the subject
    struct dns_status before;
    struct dns_status now;
    struct target target;
    struct corefile *live; // parsed target.text, or NULL
    struct corefile
        *earlier; // what an earlier mode wrote, until there is something of ours; or NULL
    struct text cluster_ips[CLUSTER_IPS_MAX]; // of the Service: the first, and of the other family
    size_t cluster_ip_count;
    bool has_version;
    struct coredns_version version;
    struct merge_object *objects;
    size_t object_count;
    size_t own_at; // of the subject among them
    struct merged merged;
    struct text text;    // the Corefile that is wanted; absent: see `fault`
    bool checks_entries; // the whole would be refused, so each entry is looked at alone
    size_t entry_octets; // of those that may stand in the Corefile
    size_t entry_octets_max;
    char *id;                        // of it, in the arena: trees name it; "" while there is none
    const struct value *annotations; // that go with it, map
    bool is_restoring;               // the last good one stands in for one that CoreDNS refused
    bool is_taken_back;              // CoreDNS refused it in its place just now
    enum reason fault;               // why no Corefile can be written, or why this one was put back
    const char *fault_text;
    struct placement placement;
    const char *placement_fault; // why it is not the one that the spec asks for; or NULL
    struct proof proof;
    struct upstreams upstreams;
};

// ---- reconcile.c --------------------------------------------------------------------------------
void clusterdns_decide(const struct snapshot *snapshot, void *model, struct decision *out);
// CoreDNS refused the Corefile that is wanted: the status and an event say so.
void refuse_config(struct reconcile *reconcile, struct text why);

// ---- mode.c -------------------------------------------------------------------------------------
// Finds out what of the cluster's DNS is ours, and where the Corefile stands.
void find_mode(struct reconcile *reconcile);
bool has_openshifts_operator(const struct reconcile *reconcile);
void use_mode(struct reconcile *reconcile, enum mode mode);
const struct object *find_input_object(const struct reconcile *reconcile,
                                       enum clusterdns_input input, const char *namespace_,
                                       struct text name);
// The text that another mode wrote and that still stands there. Absent: it wrote none.
struct text find_other_text(const struct reconcile *reconcile, enum mode mode);
// Can a CoreDNS of our own be made with these settings?
bool may_own(const void *settings);
// True if somebody else's operator, or --corefile-mode off, has the cluster's DNS.
bool is_left_alone(const struct reconcile *reconcile);
bool is_unmanaged(const struct reconcile *reconcile);
const char *copy_name(const struct reconcile *reconcile, struct text id);

// Finds out why nothing may be written here: that becomes the fault, and nothing is wanted.
void find_obstacle(struct reconcile *reconcile);

// ---- objects.c ----------------------------------------------------------------------------------
// All DNS objects in the order in which their zones count.
void collect_objects(struct reconcile *reconcile);

// ---- target.c -----------------------------------------------------------------------------------
// Works out the text that is to stand at the target: fills merged, text and id, or fault.
void make_text(struct reconcile *reconcile);
void drop_text(struct reconcile *reconcile); // nothing is wanted: what stands there stays
// The text to go back to: what all Pods ran last or, in a file of somebody else's, our part of that
// in what stands there now; without one, only what they wrote. Fills text, id and annotations.
// False: there is none.
bool make_earlier_text(struct reconcile *reconcile);
void make_no_text(struct reconcile *reconcile); // what stands there goes
// Takes our part out of a file of somebody else's. False: none of it is there.
bool make_text_without_us(struct reconcile *reconcile);

struct text cluster_domain(struct reconcile *reconcile); // empty: there is no cluster
// NULL: there is no text.
struct corefile *parse_corefile(const struct reconcile *reconcile, struct text text);

// ---- writes.c -----------------------------------------------------------------------------------
// A tree of JSON with single quotes, so that it reads well in C.
struct value *tree_of(struct reconcile *reconcile, const char *json);
// NULL: the text is absent, or no JSON.
struct value *read_tree(struct reconcile *reconcile, struct text json);
// A tree with the label and the owner of all that is ours.
struct value *own_tree(struct reconcile *reconcile);
// Has it that label? What has not was made by somebody else, and is neither changed nor removed.
bool is_ours(const struct object *object);
struct object_want *want_object(struct reconcile *reconcile, const struct kind *kind,
                                struct text namespace_, struct text name, const struct object *seen,
                                const struct value *tree);
// Gives it an event and a log line: "ConfigMap ns/name has another Corefile".
void announce_write(struct reconcile *reconcile, struct object_want *want, const char *reason,
                    const char *what);
// Writes the Corefile. An absent text removes its key.
void want_target(struct reconcile *reconcile, struct text text, const struct value *annotations);
bool is_in_place(const struct reconcile *reconcile);

// ---- copies.c -----------------------------------------------------------------------------------
// The text of a copy, and what goes with it. Absent: there is no copy.
struct text copy_text(const struct reconcile *reconcile, struct text id,
                      const struct value **annotations);
void want_copy(struct reconcile *reconcile);   // of the text that is wanted
void list_copies(struct reconcile *reconcile); // in the status
void drop_copies(struct reconcile *reconcile); // those that nothing can go back to

// ---- file.c -------------------------------------------------------------------------------------
// Reads the Corefile of mode file into the target. False: there is no answer yet.
bool read_file(struct reconcile *reconcile);
void want_file(struct reconcile *reconcile);
// All servers run it: a copy is kept beside it.
void keep_good_file(struct reconcile *reconcile);
struct text good_file_text(struct reconcile *reconcile); // absent: none, or not yet read

// ---- workload.c ---------------------------------------------------------------------------------
extern const struct workload_account clusterdns_account; // of an own CoreDNS
void want_workload(struct reconcile *reconcile);
const struct daemonset *find_workload(struct reconcile *reconcile);
// Removes all of it. True if something is there still.
bool drop_workload(struct reconcile *reconcile);
// The spec of a Pod of CoreDNS that has the Corefile of that ConfigMap.
struct value *pod_spec_tree(struct reconcile *reconcile, const char *image, const char *config_map);

// ---- placement.c --------------------------------------------------------------------------------
void find_placement(struct reconcile *reconcile);

// ---- bundles.c ----------------------------------------------------------------------------------
// The function of merge_bundles: it looks for the authorities that an entry names.
enum bundle_state find_bundle(const void *context, struct text name, struct text *version,
                              const char **why);
// Notes in the status what is to be looked up: ConfigMaps that entries name, and their copies.
void note_bundles(struct reconcile *reconcile);
// True if the status named all of these before, so that they were looked up.
bool knows_bundles(const struct reconcile *reconcile);
// Makes the copies that a Corefile needs, and removes the others.
void keep_bundle_copies(struct reconcile *reconcile);
bool drop_bundle_copies(struct reconcile *reconcile); // true if one is there still
// Adds the volumes and mounts that Pods need for the text that is wanted.
void add_bundle_mounts(const struct reconcile *reconcile, struct value *volumes,
                       struct value *mounts);

// ---- preflight.c --------------------------------------------------------------------------------
// Lets one Pod load the Corefile that is wanted. FAILED: CoreDNS refused it, and the status says
// so.
enum preflight { PREFLIGHT_PASSED, PREFLIGHT_WAITING, PREFLIGHT_FAILED };
enum preflight preflight_config(struct reconcile *reconcile);
// Removes the Pods that are needed no longer.
void drop_preflights(struct reconcile *reconcile);

// ---- proof.c ------------------------------------------------------------------------------------
void open_coredns(struct reconcile *reconcile);
void prove_config(struct reconcile *reconcile);
// Asks the CoreDNS at that address: true once it has answered that it runs what is wanted.
// Is what CoreDNS said at its end about its Corefile?
bool is_about_text(struct text message);
bool answers_wanted_config(struct reconcile *reconcile, struct text ip);
// Pods had their time to load the Corefile that is wanted.
// Asks a CoreDNS at "IP:port", again and again until all run what is wanted, and then each minute.
// Returns what it answered last, or NULL.
const struct answer_view *ask_coredns(struct reconcile *reconcile, const char *question,
                                      const char *address);
int64_t deadline_of(const struct reconcile *reconcile); // Unix ms
bool is_past_deadline(const struct reconcile *reconcile);

// ---- unnamed.c ----------------------------------------------------------------------------------
// Finds out how the Corefile that is wanted can be told from others: fills is_named and hash.
void find_proof(struct reconcile *reconcile);
// The config id of what a Pod runs where the Corefile does not tell it; of another one no id.
// Absent: nobody knows. `is_asked` is false while the Pod's answer is due.
struct text find_unnamed_id(struct reconcile *reconcile, const struct object *object,
                            const struct pod *pod, bool *is_asked);
// The status says that all Pods ran the Corefile that is wanted.
bool was_converged(const struct reconcile *reconcile);
// CoreDNS has refused it: a Pod ended on it, or all Pods still run an older one.
bool is_config_refused(const struct reconcile *reconcile);

// ---- upstreams.c --------------------------------------------------------------------------------
// The port of CoreDNS's metrics. NULL: they are not served to others.
const char *metrics_port(const struct reconcile *reconcile);
// Where a Pod has them: "IP:port". Only where there is a port.
const char *metrics_address(const struct reconcile *reconcile, struct text ip);
// Reads the metrics of the Pods, once all of them run the Corefile that is wanted.
void look_at_upstreams(struct reconcile *reconcile);

// ---- conditions.c -------------------------------------------------------------------------------
void report_conditions(struct reconcile *reconcile);
// `why_not`: why a fragment does not count at all; or NULL.
void report_fragment(struct reconcile *reconcile, const char *why_not);

// ---- metrics.c ----------------------------------------------------------------------------------
enum clusterdns_metric {
    METRIC_ENTRIES,
    METRIC_PODS,
    METRIC_RESTORES,
    METRIC_CONVERGED,
    METRIC_LAST_CONVERGED,
    CLUSTERDNS_METRICS,
};
extern const struct controller_metric clusterdns_metrics[CLUSTERDNS_METRICS];
enum { CLUSTERDNS_ALERTS = 2 };
extern const struct controller_alert clusterdns_alerts[CLUSTERDNS_ALERTS];
// Samples of the main object: all that they tell stands in the status of before and of now.
void report_metrics(struct reconcile *reconcile);

// ---- release.c ----------------------------------------------------------------------------------
// Takes out what an earlier mode wrote into files of others. True: nothing of it is left.
bool release_other_modes(struct reconcile *reconcile);
void release_all(struct reconcile *reconcile);
