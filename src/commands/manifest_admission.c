#include "commands/manifest.h"
#include "commands/rights.h"
#include "commands/webhook.h"
#include "frontends/admission/admission.h"
#include "kinds/kinds.h"

static const struct manifest_row webhook_rows[] = {
    {"failurePolicy", VALUE_TEXT, "Ignore", 0}, // who is down blocks nobody
    {"matchPolicy", VALUE_TEXT, "Equivalent", 0},
    {"sideEffects", VALUE_TEXT, "None", 0},
    {"timeoutSeconds", VALUE_INT, NULL, 5},
};

static void put_client(const struct manifest *manifest, struct value *webhook,
                       const struct kind *kind)
{
    struct arena *arena = manifest->arena;
    AUTO_BUFFER written = {0};
    admission_path(&written, "validate", kind);
    const char *path = arena_copy_text(arena, written.at);
    if (manifest->webhook_url) {
        value_put_text(arena, webhook, "clientConfig.url",
                       arena_printf(arena, "%s%s", manifest->webhook_url, path));
        return;
    }
    value_put_text(arena, webhook, "clientConfig.service.name", MANIFEST_WEBHOOK_SERVICE);
    value_put_text(arena, webhook, "clientConfig.service.namespace", manifest->namespace_);
    value_put_text(arena, webhook, "clientConfig.service.path", path);
    value_put_int(arena, webhook, "clientConfig.service.port", 443);
}

// All of them: a server that does not have the one of the path sends what it has.
static void put_versions(struct arena *arena, struct value *rule, const struct kind *kind)
{
    const char *version;
    struct value *list = value_put(arena, rule, "apiVersions", value_make(arena, VALUE_LIST));
    for (size_t i = 0; (version = kind_version_at(kind, i)); i++)
        value_append(list, value_make_text(arena, text_of(version)));
}

static void put_rules(const struct manifest *manifest, struct value *webhook,
                      const struct kind *kind)
{
    struct arena *arena = manifest->arena;
    struct value *rules = value_put(arena, webhook, "rules", value_make(arena, VALUE_LIST));
    struct value *rule = manifest_item(manifest, rules);
    value_put_texts(arena, rule, "apiGroups", (const char *const[]){kind->group, NULL});
    put_versions(arena, rule, kind);
    value_put_texts(arena, rule, "operations", (const char *const[]){"CREATE", "UPDATE", NULL});
    value_put_texts(arena, rule, "resources", (const char *const[]){kind->plural, NULL});
    value_put_text(arena, rule, "scope", kind->is_namespaced ? "Namespaced" : "Cluster");
}

static void put_selector(const struct manifest *manifest, struct value *webhook,
                         const struct kind *kind)
{
    struct arena *arena = manifest->arena;
    struct value *expressions = value_put(arena, webhook, "namespaceSelector.matchExpressions",
                                          value_make(arena, VALUE_LIST));
    struct value *expression = manifest_item(manifest, expressions);
    value_put_text(arena, expression, "key", "kubernetes.io/metadata.name");
    value_put_text(arena, expression, "operator", "NotIn");
    value_put_texts(arena, expression, "values", (const char *const[]){manifest->namespace_, NULL});
    if (!kind->judged_where)
        return;
    expression = manifest_item(manifest, expressions);
    value_put_text(arena, expression, "key", kind->judged_where);
    value_put_text(arena, expression, "operator", "Exists");
}

static void put_condition(const struct manifest *manifest, struct value *list, const char *name,
                          const char *expression)
{
    struct value *entry = manifest_item(manifest, list);
    value_put_text(manifest->arena, entry, "name", name);
    value_put_text(manifest->arena, entry, "expression", expression);
}

static void put_conditions(const struct manifest *manifest, struct value *webhook,
                           const struct kind *kind)
{
    struct arena *arena = manifest->arena;
    const struct {
        const char *name;
        const char *expression;
    } rows[] = {
        {"not-in-deletion", "!has(object.metadata.deletionTimestamp)"},
        {"not-by-signpost",
         arena_printf(arena, "request.userInfo.username != 'system:serviceaccount:%s:%s'",
                      manifest->namespace_, MANIFEST_NAME)},
    };
    struct value *list =
        value_put(arena, webhook, "matchConditions", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        put_condition(manifest, list, rows[i].name, rows[i].expression);
    if (kind->advised)
        put_condition(manifest, list, "for-signpost",
                      arena_printf(arena,
                                   "has(object.metadata.annotations) && object.metadata.annotations"
                                   ".exists(key, key.startsWith('%s'))",
                                   kind->advised));
}

static void put_webhook(const struct manifest *manifest, struct value *list,
                        const struct kind *kind)
{
    static const char *const versions[] = {"v1", NULL};
    struct arena *arena = manifest->arena;
    struct value *webhook = manifest_item(manifest, list);
    value_put_text(arena, webhook, "name",
                   arena_printf(arena, "%s.%s", kind->singular, kind->group));
    value_put_texts(arena, webhook, "admissionReviewVersions", versions);
    put_client(manifest, webhook, kind);
    manifest_put_rows(manifest, webhook, webhook_rows, COUNT_OF(webhook_rows));
    put_rules(manifest, webhook, kind);
    put_selector(manifest, webhook, kind);
    put_conditions(manifest, webhook, kind);
}

// Of a kind of others: does one of the controllers have something to say to it?
static bool is_advised(const struct manifest *manifest, const struct kind *kind)
{
    for (size_t i = 0; kind->advised && i < manifest->controllers.count; i++)
        if (manifest->controllers.items[i]->kind == kind && manifest->controllers.items[i]->admit)
            return true;
    return false;
}

void manifest_write_admission(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    if (!manifest->has_admission)
        return;
    struct value *object =
        manifest_begin(manifest, "admissionregistration.k8s.io/v1",
                       "ValidatingWebhookConfiguration", RIGHTS_ADMISSION_CONFIGURATION, NULL);
    struct value *list = value_put(arena, object, "webhooks", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_foreign || is_advised(manifest, kinds[i]) ||
            webhook_judges(manifest->invocation, kinds[i]))
            put_webhook(manifest, list, kinds[i]);
    manifest_end(manifest, object, "");
}
