#include "commands/manifest.h"

// Alerts of the controllers that run, as an object of the Prometheus operator's.

static const char *selector(const struct manifest *manifest, const struct controller_alert *alert)
{
    if (!alert->metric)
        return alert->foreign_metric;
    if (!alert->label)
        return alert->metric->name;
    return arena_printf(manifest->arena, "%s{%s=\"%s\"}", alert->metric->name, alert->metric->label,
                        alert->label);
}

// Only the process that leads shows a gauge. The alert goes on when another process leads.
static const char *expression(const struct manifest *manifest, const struct controller_alert *alert)
{
    const char *samples = selector(manifest, alert);
    return arena_printf(manifest->arena,
                        alert->type == ALERT_RISES ? "increase(%s[" ALERT_WINDOW "]) > 0"
                                                   : "max without (instance, pod) (%s) > 0",
                        samples);
}

static void put_rule(const struct manifest *manifest, struct value *rules,
                     const struct controller_alert *alert)
{
    struct arena *arena = manifest->arena;
    struct value *rule = manifest_item(manifest, rules);
    value_put_text(arena, rule, "alert", alert->name);
    value_put_text(arena, rule, "expr", expression(manifest, alert));
    if (alert->lasting)
        value_put_text(arena, rule, "for", alert->lasting);
    value_put_text(arena, rule, "labels.severity", alert->severity);
    value_put_text(arena, rule, "annotations.summary", alert->summary);
    value_put_text(arena, rule, "annotations.description", alert->description);
}

static void put_group(const struct manifest *manifest, struct value *groups,
                      const struct controller *controller)
{
    if (!controller->alert_count)
        return;
    struct value *group = manifest_item(manifest, groups);
    value_put_text(manifest->arena, group, "name",
                   arena_printf(manifest->arena, MANIFEST_NAME "-%s", controller->name));
    struct value *rules = manifest_list(manifest, group, "rules");
    for (size_t i = 0; i < controller->alert_count; i++)
        put_rule(manifest, rules, &controller->alerts[i]);
}

void manifest_write_alerts(const struct manifest *manifest)
{
    struct value *object = manifest_begin(manifest, "monitoring.coreos.com/v1", "PrometheusRule",
                                          MANIFEST_NAME, manifest->namespace_);
    struct value *groups = manifest_list(manifest, object, "spec.groups");
    for (size_t i = 0; i < manifest->controllers.count; i++)
        put_group(manifest, groups, manifest->controllers.items[i]);
    if (groups->count)
        manifest_end(manifest, object, "");
}
