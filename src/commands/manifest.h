#pragma once

#include "base/memory.h"
#include "base/value.h"
#include "commands/enabled_controllers.h"
#include "commands/option.h"

// What `signpost manifests` prints, made as trees: the objects that an installation consists of.

#define MANIFEST_NAME "signpost" // of all objects that there is one of
#define MANIFEST_WEBHOOK_SERVICE "signpost-webhook"
#define MANIFEST_METRICS_SERVICE "signpost-metrics"
#define MANIFEST_SCRAPER "signpost-scraper" // who reads metrics that are secured
#define MANIFEST_DASHBOARD "signpost-dashboard"
#define MANIFEST_MONITORING "monitoring.coreos.com/v1"

struct manifest {
    struct arena *arena;
    struct buffer *out;
    const struct invocation *invocation;
    struct enabled_controllers controllers;
    const char *namespace_; // own one
    const char *image;
    const char *webhook_url; // NULL: through the Service
    bool is_namespaced;
    bool has_admission;
    const char **namespaces; // watched; none: all
    size_t namespace_count;
    const char **secret_namespaces; // where Secrets are that classes name; none: all
    size_t secret_namespace_count;
    int64_t replicas;
    void *settings[ENABLED_CONTROLLERS_MAX]; // of the controllers
    struct installation *installations;      // what each of the subjects adds, then the settings
    size_t installation_count;
};

// The tree of a new object, without a namespace when NULL, and its YAML with a leading "---" and
// lines of comment ("" for none).
struct value *manifest_begin(const struct manifest *manifest, const char *api_version,
                             const char *kind, const char *name, const char *namespace_);
void manifest_end(const struct manifest *manifest, const struct value *object, const char *comment);

// The ports that the container has in each installation.
struct manifest_port {
    const char *name;
    int64_t port;
};
enum { MANIFEST_PORT_COUNT = 3 };
extern const struct manifest_port manifest_ports[MANIFEST_PORT_COUNT];

// Puts all ports of the container there, each with name, containerPort and protocol.
struct value *manifest_put_ports(const struct manifest *manifest, struct value *container);

// Rows of a table of entries that are the same in each installation.
struct manifest_row {
    const char *path;
    enum value_type type; // VALUE_TEXT, VALUE_INT or VALUE_BOOL
    const char *text;
    int64_t integer; // BOOL: 1 is true
};
void manifest_put_rows(const struct manifest *manifest, struct value *root,
                       const struct manifest_row *rows, size_t count);
// A new map at the end of the list.
struct value *manifest_item(const struct manifest *manifest, struct value *list);

// The list at that path, which is made if it is not there.
struct value *manifest_list(const struct manifest *manifest, struct value *root, const char *path);

// ---- what subjects add --------------------------------------------------------------------------

struct installation_variable {
    const char *name;
    const char *value;  // NULL: it comes out of a Secret
    const char *secret; // its name, and the key there
    const char *key;
};
// This is what one subject (commands/subject.h) or setting adds to an installation. Members that
// are NULL or 0 add nothing.
struct installation {
    const char **arguments; // "--zones-config=/etc/signpost/zones/zones.yaml"
    size_t argument_count;
    struct installation_variable *variables;
    size_t variable_count;
    // Files in a folder of the container: out of a Secret or, beside one, out of a ConfigMap with
    // that one key, which is printed.
    const char *volume; // its name
    const char *folder;
    const char *secret;
    const char *config_map;
    const char *config_key;
    const char *config_text;
    // A port for others over TCP, and the Service before it.
    const char *port_name;
    int64_t port;
    const char *service;
    const char *service_type;
    bool has_udp;             // the port is for UDP as well
    bool serves_before_ready; // the Service leads to Pods that are not ready, too
    const char *comment; // lines before the Deployment: what has to be there before it can start
    const struct manifest_row *limits; // of a container in which nothing else runs
    size_t limit_count;
};
void installation_add_variable(const struct manifest *manifest, struct installation *out,
                               const struct installation_variable *variable);
void installation_add_argument(const struct manifest *manifest, struct installation *out,
                               const char *text);
// Collects the installations of all subjects and of the settings that were given. False: what was
// given for them is wrong.
bool manifest_take_installations(struct manifest *manifest, bool has_deployment, struct error *err);
void manifest_put_installation_arguments(const struct manifest *manifest, struct value *list);
void manifest_put_installation_variables(const struct manifest *manifest, struct value *list);
void manifest_put_installation_ports(const struct manifest *manifest, struct value *list);
void manifest_put_installation_files(const struct manifest *manifest, struct value *deployment,
                                     struct value *container);
// The limits of the one that runs alone; NULL: there is none.
const struct installation *manifest_find_small(const struct manifest *manifest);
const char *manifest_installation_comments(const struct manifest *manifest);
void manifest_write_installation_services(const struct manifest *manifest);

// ---- the parts ----------------------------------------------------------------------------------

void manifest_write_crds(const struct manifest *manifest);
void manifest_write_namespace(const struct manifest *manifest);
void manifest_write_account(const struct manifest *manifest);
void manifest_write_rbac(const struct manifest *manifest);
void manifest_write_people(const struct manifest *manifest);
void manifest_write_configurations(const struct manifest *manifest);
void manifest_write_services(const struct manifest *manifest);
void manifest_write_deployment(const struct manifest *manifest);
void manifest_write_admission(const struct manifest *manifest);
void manifest_write_alerts(const struct manifest *manifest);
void manifest_write_dashboard(const struct manifest *manifest);
void manifest_write_pod_monitor(const struct manifest *manifest);
void manifest_write_network_policy(const struct manifest *manifest);
// The account whose token reads /metrics, with its right.
void manifest_write_scraper(const struct manifest *manifest);
