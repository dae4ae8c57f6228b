#include "commands/manifest.h"
#include "commands/rights.h"

#define RBAC "rbac.authorization.k8s.io"

// A role that is printed: its name, where it is (NULL: the whole cluster), its rules, and who has
// it.
struct role {
    const char *name;
    const char *namespace_;
    struct value *rules;
    const char *comment; // what each rule is for, a line each
    const char *account; // a ServiceAccount
    const char *account_namespace;
};

static struct role role_of(const struct manifest *manifest, const char *name,
                           const char *namespace_)
{
    return (struct role){
        .name = name,
        .namespace_ = namespace_,
        .rules = value_make(manifest->arena, VALUE_LIST),
        .comment = "",
        .account = MANIFEST_NAME,
        .account_namespace = manifest->namespace_,
    };
}

static void add_rule(const struct manifest *manifest, struct role *role,
                     const struct kube_right *right)
{
    struct arena *arena = manifest->arena;
    struct value *rule = manifest_item(manifest, role->rules);
    value_put_texts(arena, rule, "apiGroups", (const char *const[]){right->group, NULL});
    value_put_texts(arena, rule, "resources", (const char *const[]){right->resource, NULL});
    if (right->names)
        value_put_texts(arena, rule, "resourceNames", right->names);
    value_put_texts(arena, rule, "verbs", right->verbs);
    role->comment = arena_printf(arena, "%s# %s: %s\n", role->comment, right->resource, right->why);
}

static void add_rules(const struct manifest *manifest, struct role *role,
                      const struct kube_right *rights, enum kube_scope scope)
{
    for (; rights->resource; rights++)
        if (rights->scope == scope)
            add_rule(manifest, role, rights);
}

static void write_binding(const struct manifest *manifest, const struct role *role)
{
    struct arena *arena = manifest->arena;
    struct value *binding = manifest_begin(manifest, RBAC "/v1",
                                           role->namespace_ ? "RoleBinding" : "ClusterRoleBinding",
                                           role->name, role->namespace_);
    value_put_text(arena, binding, "roleRef.apiGroup", RBAC);
    value_put_text(arena, binding, "roleRef.kind", role->namespace_ ? "Role" : "ClusterRole");
    value_put_text(arena, binding, "roleRef.name", role->name);
    struct value *subjects = value_put(arena, binding, "subjects", value_make(arena, VALUE_LIST));
    struct value *subject = manifest_item(manifest, subjects);
    value_put_text(arena, subject, "kind", "ServiceAccount");
    value_put_text(arena, subject, "name", role->account);
    value_put_text(arena, subject, "namespace", role->account_namespace);
    manifest_end(manifest, binding, "");
}

static void write_role(const struct manifest *manifest, const struct role *role)
{
    if (!role->rules->count)
        return;
    struct value *object =
        manifest_begin(manifest, RBAC "/v1", role->namespace_ ? "Role" : "ClusterRole", role->name,
                       role->namespace_);
    value_set(object, TEXT("rules"), role->rules);
    manifest_end(manifest, object, role->comment);
    write_binding(manifest, role);
}

// One scope in some namespaces.
static void write_roles(const struct manifest *manifest, const struct kube_right *rights,
                        enum kube_scope scope, const char *name, const char *const *namespaces,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct role role = role_of(manifest, name, namespaces[i]);
        add_rules(manifest, &role, rights, scope);
        write_role(manifest, &role);
    }
}

static void write_own_role(const struct manifest *manifest, const struct kube_right *rights)
{
    struct role role = role_of(manifest, MANIFEST_NAME, manifest->namespace_);
    add_rules(manifest, &role, rights, RIGHT_OWN_NAMESPACE);
    add_rules(manifest, &role, rights, RIGHT_LEASE);
    write_role(manifest, &role);
}

static void write_cluster_role(const struct manifest *manifest, const struct kube_right *rights)
{
    struct role role = role_of(manifest, MANIFEST_NAME, NULL);
    add_rules(manifest, &role, rights, RIGHT_CLUSTER);
    if (!manifest->is_namespaced) {
        add_rules(manifest, &role, rights, RIGHT_OBJECTS);
        add_rules(manifest, &role, rights, RIGHT_EVENTS);
    }
    if (!manifest->secret_namespace_count)
        add_rules(manifest, &role, rights, RIGHT_REFERENCED);
    write_role(manifest, &role);
}

static void write_namespaced_roles(const struct manifest *manifest, const struct kube_right *rights)
{
    static const char *const events = "signpost-events";
    static const char *const without_namespace[] = {"default"};
    bool has_default = false;
    write_roles(manifest, rights, RIGHT_OBJECTS, "signpost-objects", manifest->namespaces,
                manifest->namespace_count);
    write_roles(manifest, rights, RIGHT_EVENTS, events, manifest->namespaces,
                manifest->namespace_count);
    for (size_t i = 0; i < manifest->namespace_count; i++)
        has_default = has_default || text_is(text_of(manifest->namespaces[i]), "default");
    if (!has_default)
        write_roles(manifest, rights, RIGHT_EVENTS, events, without_namespace, 1);
}

static void write_workload_role(const struct manifest *manifest, size_t at)
{
    const struct workload_account *account = manifest->controllers.items[at]->workload_account;
    if (!account)
        return;
    struct role role = role_of(manifest, account->role, NULL);
    if (!account->find(manifest->settings[at], &role.account_namespace, &role.account))
        return;
    for (const struct kube_right *right = account->rights; right->resource; right++)
        add_rule(manifest, &role, right);
    write_role(manifest, &role);
}

void manifest_write_scraper(const struct manifest *manifest)
{
    static const char *const verbs[] = {"get", NULL};
    static const char *const urls[] = {"/metrics", NULL};
    struct arena *arena = manifest->arena;
    struct role role = role_of(manifest, MANIFEST_SCRAPER, NULL);
    role.account = MANIFEST_SCRAPER;
    struct value *rule = manifest_item(manifest, role.rules);
    value_put_texts(arena, rule, "nonResourceURLs", urls);
    value_put_texts(arena, rule, "verbs", verbs);
    manifest_end(
        manifest,
        manifest_begin(manifest, "v1", "ServiceAccount", MANIFEST_SCRAPER, manifest->namespace_),
        "");
    write_role(manifest, &role);
}

static const struct kube_right *rights_of(const struct manifest *manifest)
{
    const struct rights_needs needs = {
        .controllers = manifest->controllers.items,
        .settings = manifest->settings,
        .controller_count = manifest->controllers.count,
        .lease_name = option_text(manifest->invocation, "leader-elect-resource-name"),
        .has_owner_id = option_is_set(manifest->invocation, "owner-id"),
        .keeps_certificates = manifest->has_admission,
        .judges_bearers = option_flag(manifest->invocation, "metrics-secure"),
    };
    return rights_make(manifest->arena, &needs);
}

void manifest_write_account(const struct manifest *manifest)
{
    manifest_end(
        manifest,
        manifest_begin(manifest, "v1", "ServiceAccount", MANIFEST_NAME, manifest->namespace_), "");
}

void manifest_write_rbac(const struct manifest *manifest)
{
    const struct kube_right *rights = rights_of(manifest);
    write_cluster_role(manifest, rights);
    if (manifest->is_namespaced)
        write_namespaced_roles(manifest, rights);
    write_roles(manifest, rights, RIGHT_REFERENCED, "signpost-secrets", manifest->secret_namespaces,
                manifest->secret_namespace_count);
    write_own_role(manifest, rights);
    for (size_t i = 0; i < manifest->controllers.count; i++)
        write_workload_role(manifest, i);
}
