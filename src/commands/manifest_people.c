#include "commands/manifest.h"

#include "kinds/kinds.h"

// What people may do with our kinds, as roles that a cluster's own view, edit and admin take in.

#define RBAC "rbac.authorization.k8s.io"

static const char *const look[] = {"get", "list", "watch", NULL};
static const char *const change[] = {"create", "update",           "patch",
                                     "delete", "deletecollection", NULL};
static const char *const approve[] = {"update", "patch", NULL};

static const char *read_role(const struct kind *kind)
{
    return kind->is_namespaced ? "view" : kind->read_role;
}

static const char *change_role(const struct kind *kind)
{
    return kind->is_namespaced ? "edit" : kind->change_role;
}

static void add_rule(const struct manifest *manifest, struct value *rules, const struct kind *kind,
                     bool has_status, const char *const *verbs)
{
    struct arena *arena = manifest->arena;
    const char *resources[] = {kind->plural, NULL, NULL};
    if (has_status && kind->has_status)
        resources[1] = arena_printf(arena, "%s/status", kind->plural);
    struct value *rule = manifest_item(manifest, rules);
    value_put_texts(arena, rule, "apiGroups", (const char *const[]){kind->group, NULL});
    value_put_texts(arena, rule, "resources", resources);
    value_put_texts(arena, rule, "verbs", verbs);
}

static bool is_role(const char *role, const char *name)
{
    return role && text_is(text_of(role), name);
}

static void add_rules(const struct manifest *manifest, struct value *rules, const char *name)
{
    bool is_all = !option_is_set(manifest->invocation, "controllers");
    for (size_t i = 0; i < kind_count; i++) {
        const struct kind *kind = kinds[i];
        if (kind->is_foreign ||
            !(is_all || enabled_controllers_reads(&manifest->controllers, kind)))
            continue;
        if (is_role(read_role(kind), name))
            add_rule(manifest, rules, kind, true, look);
        if (is_role(change_role(kind), name))
            add_rule(manifest, rules, kind, false, kind->edited ? approve : change);
    }
}

static void write_role(const struct manifest *manifest, const char *name)
{
    struct arena *arena = manifest->arena;
    struct value *rules = value_make(arena, VALUE_LIST);
    add_rules(manifest, rules, name);
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
