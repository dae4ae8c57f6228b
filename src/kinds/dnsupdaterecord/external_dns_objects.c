#include "kinds/dnsupdaterecord/external_dns_objects.h"

#include <string.h>

#include "kinds/group.h"

enum { USER_ID = 65532, FILES_GROUP_ID = 65534, FILE_MODE = 0440 };

#define NAME_PREFIX "external-dns-"
#define CHECKSUM_ANNOTATION DNS_GROUP "/secret-checksum"

struct made { // what all objects of a record share
    struct arena *arena;
    const struct external_dns_workload *workload;
    const char *label; // "public-dns-b4bbad42"
    const char *name;  // "external-dns-public-dns-b4bbad42"
};

// ---- trees --------------------------------------------------------------------------------------

static struct value *text_value(struct arena *arena, struct text text)
{
    return value_make_text(arena, text);
}

static void put(const struct made *made, struct value *tree, const char *path, struct text text)
{
    value_put(made->arena, tree, path, text_value(made->arena, text));
}

static void put_copy(const struct made *made, struct value *tree, const char *path,
                     const struct value *value)
{
    if (value)
        value_put(made->arena, tree, path, value_copy(made->arena, value));
}

static struct value *list_of(const struct made *made, struct value *item)
{
    struct value *list = value_make(made->arena, VALUE_LIST);
    value_append(list, item);
    return list;
}

static void put_labels(const struct made *made, struct value *tree, const char *parent)
{
    const struct {
        const char *key;
        struct text value;
    } labels[] = {
        {"app.kubernetes.io/name", TEXT("external-dns")},
        {"app.kubernetes.io/instance", text_of(made->label)},
        {"app.kubernetes.io/managed-by", TEXT("signpost")},
        {"app.kubernetes.io/version", made->workload->version},
    };
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        put(made, tree, arena_printf(made->arena, "%s.labels[%s]", parent, labels[i].key),
            labels[i].value);
}

static struct value *new_object(const struct made *made, const char *version, const char *kind)
{
    struct value *object = value_make(made->arena, VALUE_MAP);
    value_put_text(made->arena, object, "apiVersion", version);
    value_put_text(made->arena, object, "kind", kind);
    value_put_text(made->arena, object, "metadata.name", made->name);
    put(made, object, "metadata.namespace", made->workload->namespace_);
    put_labels(made, object, "metadata");
    return object;
}

// ---- the account --------------------------------------------------------------------------------

static struct value *make_account(const struct made *made)
{
    struct value *account = new_object(made, "v1", "ServiceAccount");
    put_copy(made, account, "metadata.annotations", made->workload->record->account_annotations);
    return account;
}

static struct value *make_rule(const struct made *made, const char *resource,
                               const char *const *verbs)
{
    struct value *rule = value_make(made->arena, VALUE_MAP);
    value_put_texts(made->arena, rule, "apiGroups",
                    (const char *const[]){"externaldns.k8s.io", NULL});
    value_put_texts(made->arena, rule, "resources", (const char *const[]){resource, NULL});
    value_put_texts(made->arena, rule, "verbs", verbs);
    return rule;
}

static struct value *make_role(const struct made *made)
{
    static const char *const read[] = {"get", "list", "watch", NULL};
    static const char *const update[] = {"update", NULL};
    struct value *role = new_object(made, "rbac.authorization.k8s.io/v1", "Role");
    struct value *rules = list_of(made, make_rule(made, "dnsendpoints", read));
    value_append(rules, make_rule(made, "dnsendpoints/status", update));
    value_set(role, TEXT("rules"), rules);
    return role;
}

static struct value *make_binding(const struct made *made)
{
    struct value *subject = value_make(made->arena, VALUE_MAP);
    struct value *binding = new_object(made, "rbac.authorization.k8s.io/v1", "RoleBinding");
    value_put_text(made->arena, binding, "roleRef.apiGroup", "rbac.authorization.k8s.io");
    value_put_text(made->arena, binding, "roleRef.kind", "Role");
    value_put_text(made->arena, binding, "roleRef.name", made->name);
    value_put_text(made->arena, subject, "kind", "ServiceAccount");
    value_put_text(made->arena, subject, "name", made->name);
    put(made, subject, "namespace", made->workload->namespace_);
    value_set(binding, TEXT("subjects"), list_of(made, subject));
    return binding;
}

// ---- the container ------------------------------------------------------------------------------

// A kubelet reads "$(NAME)" as a variable, whose value may be a secret, and "$$" as a "$".
static struct value *literal(const struct made *made, struct text text)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '$')
            buffer_add_char(&out, '$');
        buffer_add_char(&out, text.at[i]);
    }
    return text_value(
        made->arena,
        (struct text){arena_copy(made->arena, buffer_text(&out).at, out.len), out.len});
}

static struct value *make_args(const struct made *made)
{
    const struct external_dns_start *start = made->workload->start;
    struct value *args = value_make(made->arena, VALUE_LIST);
    for (size_t i = 0; i < start->arg_count; i++)
        value_append(args, literal(made, text_of(start->args[i])));
    return args;
}

static struct value *make_variable(const struct made *made, const struct external_dns_env *env)
{
    struct value *variable = value_make(made->arena, VALUE_MAP);
    value_put_text(made->arena, variable, "name", env->name);
    if (env->value.at) {
        value_set(variable, TEXT("value"), literal(made, env->value));
        return variable;
    }
    put(made, variable, "valueFrom.secretKeyRef.name", env->secret);
    put(made, variable, "valueFrom.secretKeyRef.key", env->key);
    return variable;
}

static void add_env(const struct made *made, struct value *container)
{
    const struct external_dns_start *start = made->workload->start;
    struct value *list = value_make(made->arena, VALUE_LIST);
    for (size_t i = 0; i < start->env_count; i++)
        value_append(list, make_variable(made, &start->env[i]));
    if (start->env_count)
        value_set(container, TEXT("env"), list);
}

static void put_probe(const struct made *made, struct value *container, const char *probe,
                      int64_t delay_s, int64_t failures)
{
    const struct {
        const char *path;
        int64_t value;
    } numbers[] = {{"initialDelaySeconds", delay_s},
                   {"periodSeconds", 10},
                   {"timeoutSeconds", 5},
                   {"failureThreshold", failures}};
    struct value *made_probe = value_make(made->arena, VALUE_MAP);
    value_put_text(made->arena, made_probe, "httpGet.path", "/healthz");
    value_put_text(made->arena, made_probe, "httpGet.port", "http");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        value_put_int(made->arena, made_probe, numbers[i].path, numbers[i].value);
    value_set(container, text_of(probe), made_probe);
}

static void put_container_security(const struct made *made, struct value *container)
{
    static const char *const all[] = {"ALL", NULL};
    value_put_bool(made->arena, container, "securityContext.allowPrivilegeEscalation", false);
    value_put_bool(made->arena, container, "securityContext.readOnlyRootFilesystem", true);
    value_put_texts(made->arena, container, "securityContext.capabilities.drop", all);
}

static struct value *make_container(const struct made *made)
{
    struct value *port = value_make(made->arena, VALUE_MAP);
    struct value *container = value_make(made->arena, VALUE_MAP);
    value_put_text(made->arena, container, "name", "external-dns");
    if (made->workload->image.len)
        put(made, container, "image", made->workload->image);
    value_set(container, TEXT("args"), make_args(made));
    add_env(made, container);
    value_put_text(made->arena, port, "name", "http");
    value_put_int(made->arena, port, "containerPort", made->workload->start->port);
    value_set(container, TEXT("ports"), list_of(made, port));
    put_probe(made, container, "livenessProbe", 10, 2);
    put_probe(made, container, "readinessProbe", 5, 6);
    put_copy(made, container, "resources", made->workload->record->resources);
    put_container_security(made, container);
    // The last line of its log reaches the status of the pod, which we may read.
    value_put_text(made->arena, container, "terminationMessagePolicy", "FallbackToLogsOnError");
    return container;
}

// ---- files --------------------------------------------------------------------------------------

static struct value *make_source(const struct made *made, const struct external_dns_file *file)
{
    struct value *item = value_make(made->arena, VALUE_MAP);
    struct value *source = value_make(made->arena, VALUE_MAP);
    put(made, item, "key", file->key);
    value_put_text(made->arena, item, "path", file->path + strlen(EXTERNAL_DNS_FILES "/"));
    put(made, source, "secret.name", file->secret);
    value_put(made->arena, source, "secret.items", list_of(made, item));
    return source;
}

static void add_files(const struct made *made, struct value *pod, struct value *container)
{
    const struct external_dns_start *start = made->workload->start;
    struct value *mount = value_make(made->arena, VALUE_MAP);
    struct value *volume = value_make(made->arena, VALUE_MAP);
    struct value *sources = value_make(made->arena, VALUE_LIST);
    if (!start->file_count)
        return;
    for (size_t i = 0; i < start->file_count; i++)
        value_append(sources, make_source(made, &start->files[i]));
    value_put_text(made->arena, volume, "name", "files");
    value_put_int(made->arena, volume, "projected.defaultMode", FILE_MODE);
    value_put(made->arena, volume, "projected.sources", sources);
    value_set(pod, TEXT("volumes"), list_of(made, volume));
    value_put_text(made->arena, mount, "name", "files");
    value_put_text(made->arena, mount, "mountPath", EXTERNAL_DNS_FILES);
    value_put_bool(made->arena, mount, "readOnly", true);
    value_set(container, TEXT("volumeMounts"), list_of(made, mount));
}

// ---- the Deployment -----------------------------------------------------------------------------

static struct value *make_pod(const struct made *made)
{
    const struct update_record *record = made->workload->record;
    struct value *pod = value_make(made->arena, VALUE_MAP);
    struct value *container = make_container(made);
    value_put_text(made->arena, pod, "serviceAccountName", made->name);
    value_put_bool(made->arena, pod, "securityContext.runAsNonRoot", true);
    value_put_int(made->arena, pod, "securityContext.runAsUser", USER_ID);
    value_put_int(made->arena, pod, "securityContext.runAsGroup", USER_ID);
    value_put_int(made->arena, pod, "securityContext.fsGroup", FILES_GROUP_ID);
    value_put_text(made->arena, pod, "securityContext.seccompProfile.type", "RuntimeDefault");
    put_copy(made, pod, "nodeSelector", record->node_selector);
    put_copy(made, pod, "tolerations", record->tolerations);
    put_copy(made, pod, "imagePullSecrets", record->image_pull_secrets);
    add_files(made, pod, container);
    value_set(pod, TEXT("containers"), list_of(made, container));
    return pod;
}

// One pod at a time: two of them would undo each other's changes.
static struct value *make_deployment(const struct made *made)
{
    static const char selector[] = "spec.selector.matchLabels[app.kubernetes.io/instance]";
    struct value *deployment = new_object(made, "apps/v1", "Deployment");
    struct value *template = value_make(made->arena, VALUE_MAP);
    value_put_int(made->arena, deployment, "spec.replicas", 1);
    value_put_text(made->arena, deployment, "spec.strategy.type", "Recreate");
    put(made, deployment, selector, text_of(made->label));
    put_labels(made, template, "metadata");
    if (made->workload->secret_checksum.len)
        put(made, template, "metadata.annotations[" CHECKSUM_ANNOTATION "]",
            made->workload->secret_checksum);
    value_set(template, TEXT("spec"), make_pod(made));
    value_put(made->arena, deployment, "spec.template", template);
    return deployment;
}

void external_dns_objects_make(struct arena *arena, const struct external_dns_workload *workload,
                               struct value *out[EXTERNAL_DNS_OBJECTS])
{
    struct made made = {.arena = arena, .workload = workload};
    made.label = update_record_label(arena, workload->project, workload->record->name);
    made.name = arena_printf(arena, NAME_PREFIX "%s", made.label);
    out[EXTERNAL_DNS_ACCOUNT] = make_account(&made);
    out[EXTERNAL_DNS_ROLE] = make_role(&made);
    out[EXTERNAL_DNS_ROLE_BINDING] = make_binding(&made);
    out[EXTERNAL_DNS_DEPLOYMENT] = make_deployment(&made);
}
