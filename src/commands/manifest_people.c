#include "commands/manifest.h"

#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsplan/dnsplan.h"
#include "kinds/kinds.h"

// What people may do with our kinds, as roles that a cluster's own view, edit and admin take in.

#define RBAC "rbac.authorization.k8s.io"

static const char *const look[] = {"get", "list", "watch", NULL};
static const char *const change[] = {"create", "update",           "patch",
                                     "delete", "deletecollection", NULL};
static const char *const approve[] = {"update", "patch", NULL};

static bool is_of_tenants(const struct kind *kind)
{
    return kind->is_namespaced;
}

static bool is_of_tenants_or_plan(const struct kind *kind)
{
    return kind->is_namespaced || kind == &dnsplan_kind;
}

static bool is_plan(const struct kind *kind)
{
    return kind == &dnsplan_kind;
}

// It may hold a secret inline, and view shows no Secrets.
static bool is_class(const struct kind *kind)
{
    return kind == &dnsclass_kind;
}

static const struct grant {
    const char *role;
    bool (*is_meant)(const struct kind *kind);
    bool has_status; // of the status, too
    const char *const *verbs;
} grants[] = {
    {"view", is_of_tenants_or_plan, true, look},
    {"edit", is_of_tenants, false, change},
    {"edit", is_class, true, look},
    {"admin", is_class, false, change},
    {"admin", is_plan, false, approve},
};

static void add_rule(const struct manifest *manifest, struct value *rules, const struct kind *kind,
                     const struct grant *grant)
{
    struct arena *arena = manifest->arena;
    const char *resources[] = {kind->plural, NULL, NULL};
    if (grant->has_status && kind->has_status)
        resources[1] = arena_printf(arena, "%s/status", kind->plural);
    struct value *rule = manifest_item(manifest, rules);
    value_put_texts(arena, rule, "apiGroups", (const char *const[]){kind->group, NULL});
    value_put_texts(arena, rule, "resources", resources);
    value_put_texts(arena, rule, "verbs", grant->verbs);
}

static void add_rules(const struct manifest *manifest, struct value *rules,
                      const struct grant *grant)
{
    bool is_all = !option_is_set(manifest->invocation, "controllers");
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_foreign && grant->is_meant(kinds[i]) &&
            (is_all || enabled_controllers_reads(&manifest->controllers, kinds[i])))
            add_rule(manifest, rules, kinds[i], grant);
}

static void write_role(const struct manifest *manifest, const char *name)
{
    struct arena *arena = manifest->arena;
    struct value *rules = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < COUNT_OF(grants); i++)
        if (text_is(text_of(grants[i].role), name))
            add_rules(manifest, rules, &grants[i]);
    if (!rules->count)
        return;
    struct value *object = manifest_begin(manifest, RBAC "/v1", "ClusterRole",
                                          arena_printf(arena, MANIFEST_NAME "-%s", name), NULL);
    value_put_text(arena, object,
                   arena_printf(arena, "metadata.labels[" RBAC "/aggregate-to-%s]", name), "true");
    value_set(object, TEXT("rules"), rules);
    manifest_end(manifest, object,
                 arena_printf(arena, "# For people: whoever is bound to %s has it.\n", name));
}

void manifest_write_people(const struct manifest *manifest)
{
    write_role(manifest, "view");
    write_role(manifest, "edit");
    write_role(manifest, "admin");
}
