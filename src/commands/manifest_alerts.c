#include "commands/manifest.h"
#include "engine/engine.h"

// Alerts of every process and of the controllers that run, as an object of the Prometheus
// operator's.

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
    if (alert->type == ALERT_WHEN)
        return alert->expression;
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

static void put_group(const struct manifest *manifest, struct value *groups, const char *name,
                      const struct controller_alert *alerts, size_t count)
{
    if (!count)
        return;
    struct value *group = manifest_item(manifest, groups);
    value_put_text(manifest->arena, group, "name",
                   arena_printf(manifest->arena, MANIFEST_NAME "%s", name));
    struct value *rules = manifest_list(manifest, group, "rules");
    for (size_t i = 0; i < count; i++)
        put_rule(manifest, rules, &alerts[i]);
}

void manifest_write_alerts(const struct manifest *manifest)
{
    struct value *object = manifest_begin(manifest, MANIFEST_MONITORING, "PrometheusRule",
                                          MANIFEST_NAME, manifest->namespace_);
    struct value *groups = manifest_list(manifest, object, "spec.groups");
    put_group(manifest, groups, "", engine_alerts, ENGINE_ALERTS);
    for (size_t i = 0; i < manifest->controllers.count; i++) {
        const struct controller *controller = manifest->controllers.items[i];
        put_group(manifest, groups, arena_printf(manifest->arena, "-%s", controller->name),
                  controller->alerts, controller->alert_count);
    }
    manifest_end(manifest, object, "");
}
