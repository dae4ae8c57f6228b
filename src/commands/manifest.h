#pragma once

#include "base/memory.h"
#include "base/value.h"
#include "commands/enabled_controllers.h"
#include "commands/option.h"

// What `signpost manifests` prints, made as trees: the objects that an installation consists of.

#define MANIFEST_NAME "signpost" // of all objects that there is one of
#define MANIFEST_WEBHOOK_SERVICE "signpost-webhook"
#define MANIFEST_METRICS_SERVICE "signpost-metrics"

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
    bool has_zones; // the hidden primary is reached from outside of the pod
    int64_t zones_port;
    const char *zones_config; // what the file holds; NULL: none was given
    const char *tsig_files;   // " --from-file=ns1.key ..." of its keys; NULL: it has none
};

// The tree of a new object, without a namespace when NULL, and its YAML with a leading "---" and
// lines of comment ("" for none).
struct value *manifest_begin(const struct manifest *manifest, const char *api_version,
                             const char *kind, const char *name, const char *namespace_);
void manifest_end(const struct manifest *manifest, const struct value *object, const char *comment);

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

// ---- of zones: the hidden primary ---------------------------------------------------------------

// Reads the zones configuration; no key is needed for it.
bool manifest_take_zones(struct manifest *manifest, struct error *err);
void manifest_put_zones_ports(const struct manifest *manifest, struct value *list);
void manifest_put_zones_arguments(const struct manifest *manifest, struct value *list);
void manifest_put_zones_files(const struct manifest *manifest, struct value *deployment,
                              struct value *container);
void manifest_write_zones_service(const struct manifest *manifest);
// How its Secret is made, as a line of comment, or "".
const char *manifest_zones_comment(const struct manifest *manifest);

// ---- of Pi-holes: the controller ingress --------------------------------------------------------

bool manifest_has_piholes(const struct manifest *manifest);
// What was given of their options has to be good.
bool manifest_check_piholes(const struct manifest *manifest, struct error *err);
// Their variables, the token out of a Secret, and their files out of the same.
void manifest_put_pihole_variables(const struct manifest *manifest, struct value *list);
void manifest_put_pihole_files(const struct manifest *manifest, struct value *deployment,
                               struct value *container);
// What is to be done before the Deployment can start, as lines of comment.
const char *manifest_pihole_comment(const struct manifest *manifest);

// ---- the parts ----------------------------------------------------------------------------------

void manifest_write_crds(const struct manifest *manifest);
void manifest_write_namespace(const struct manifest *manifest);
void manifest_write_account(const struct manifest *manifest);
void manifest_write_rbac(const struct manifest *manifest);
void manifest_write_people(const struct manifest *manifest);
void manifest_write_zones(const struct manifest *manifest);
void manifest_write_services(const struct manifest *manifest);
void manifest_write_deployment(const struct manifest *manifest);
void manifest_write_admission(const struct manifest *manifest);
