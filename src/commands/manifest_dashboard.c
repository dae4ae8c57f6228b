#include <string.h>

#include "base/must.h"
#include "commands/dashboard.h"
#include "commands/manifest.h"
#include "commands/subject.h"

// The dashboard as Grafana imports it, in a ConfigMap. It is the same whichever controllers run, so
// that one serves several installations: the rows of what does not run are closed and stay empty.

enum {
    COLUMNS = 24,
    STAT_WIDTH = 4,
    STAT_HEIGHT = 4,
    PANEL_WIDTH = 8,
    PANEL_HEIGHT = 7,
    SCHEMA = 39
};

#define SOURCE "${datasource}"
#define OURS "job=~\"$job\",namespace=~\"$namespace\",pod=~\"$pod\""
#define RATE "[$__rate_interval]"

struct row_controller {
    const struct controller *controller;
    const char *row; // whose row it is in
};

struct writer {
    const struct manifest *manifest;
    struct value *root;
    struct value *panels; // where the next one goes: the dashboard's, or those of a closed row
    struct value *panel;  // the last one
    int64_t id;
    int64_t x;
    int64_t y;
    int64_t height; // of the panels in this line
    char ref;       // of the next line of the last panel
    struct row_controller controllers[ENABLED_CONTROLLERS_MAX];
    size_t controller_count;
};

// ---- panels -------------------------------------------------------------------------------------

static void put_source(const struct writer *writer, struct value *at)
{
    value_put_text(writer->manifest->arena, at, "datasource.type", "prometheus");
    value_put_text(writer->manifest->arena, at, "datasource.uid", SOURCE);
}

static void end_line(struct writer *writer)
{
    writer->y += writer->height;
    writer->x = writer->height = 0;
}

static struct value *begin_panel(struct writer *writer, const char *type, const char *title,
                                 int64_t width, int64_t height)
{
    struct arena *arena = writer->manifest->arena;
    if (writer->x + width > COLUMNS)
        end_line(writer);
    struct value *panel = manifest_item(writer->manifest, writer->panels);
    value_put_int(arena, panel, "id", ++writer->id);
    value_put_text(arena, panel, "type", type);
    value_put_text(arena, panel, "title", title);
    value_put_int(arena, panel, "gridPos.x", writer->x);
    value_put_int(arena, panel, "gridPos.y", writer->y);
    value_put_int(arena, panel, "gridPos.w", width);
    value_put_int(arena, panel, "gridPos.h", height);
    writer->x += width;
    writer->height = height;
    writer->ref = 'A';
    writer->panel = panel;
    return panel;
}

// Panels of a closed row are its own; those of an open one follow it.
static void begin_row(struct writer *writer, const char *title, bool is_closed)
{
    struct arena *arena = writer->manifest->arena;
    end_line(writer);
    writer->panels = value_at(writer->root, "panels", NULL);
    struct value *row = begin_panel(writer, "row", title, COLUMNS, 1);
    value_put_bool(arena, row, "collapsed", is_closed);
    struct value *own = value_put(arena, row, "panels", value_make(arena, VALUE_LIST));
    if (is_closed)
        writer->panels = own;
}

static const char *const units[] = {
    [DASHBOARD_GAUGE] = "short", [DASHBOARD_LEAST] = "short", [DASHBOARD_COUNTER] = "ops",
    [DASHBOARD_SECONDS] = "s",   [DASHBOARD_MEAN] = "s",      [DASHBOARD_AGE] = "s",
};

static void begin_graph(struct writer *writer, const struct dashboard_panel *table)
{
    struct arena *arena = writer->manifest->arena;
    struct value *panel =
        begin_panel(writer, "timeseries", table->title, PANEL_WIDTH, PANEL_HEIGHT);
    put_source(writer, panel);
    value_put_text(arena, panel, "fieldConfig.defaults.unit",
                   table->unit ? table->unit : units[table->form]);
    if (table->form != DASHBOARD_GAUGE)
        value_put_int(arena, panel, "fieldConfig.defaults.min", 0);
    value_put_text(arena, panel, "options.tooltip.mode", "multi");
    value_put_text(arena, panel, "options.legend.displayMode", "list");
    value_put(arena, panel, "targets", value_make(arena, VALUE_LIST));
}

static void add_target(struct writer *writer, const char *expression, const char *legend)
{
    struct arena *arena = writer->manifest->arena;
    struct value *target =
        manifest_item(writer->manifest, value_at(writer->panel, "targets", NULL));
    put_source(writer, target);
    value_put_text(arena, target, "refId", arena_printf(arena, "%c", writer->ref++));
    value_put_text(arena, target, "expr", expression);
    value_put_text(arena, target, "legendFormat", legend);
}

// ---- panels of a metric -------------------------------------------------------------------------

static const char *expression_of(const struct writer *writer, const struct dashboard_panel *panel)
{
    struct arena *arena = writer->manifest->arena;
    const char *by = panel->by ? panel->by : "";
    const char *metric = panel->metric;
    switch (panel->form) {
    case DASHBOARD_LEAST:
        return arena_printf(arena, "min by (%s) (%s{" OURS "})", by, metric);
    case DASHBOARD_COUNTER:
        return arena_printf(arena, "sum by (%s) (rate(%s{" OURS "}" RATE "))", by, metric);
    case DASHBOARD_SECONDS:
        return arena_printf(
            arena, "histogram_quantile(0.95, sum by (le%s%s) (rate(%s_bucket{" OURS "}" RATE ")))",
            panel->by ? ", " : "", by, metric);
    case DASHBOARD_MEAN:
        return arena_printf(arena,
                            "sum by (%s) (rate(%s_sum{" OURS "}" RATE
                            ")) / sum by (%s) (rate(%s_count{" OURS "}" RATE "))",
                            by, metric, by, metric);
    case DASHBOARD_AGE:
        return arena_printf(arena, "time() - max by (%s) (%s{" OURS "})", by, metric);
    case DASHBOARD_GAUGE:
        break;
    }
    return arena_printf(arena, "max by (%s) (%s{" OURS "})", by, metric);
}

// "backend, code" as "{{backend}} {{code}}", behind the legend.
static const char *legend_of(const struct writer *writer, const struct dashboard_panel *panel)
{
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, panel->legend ? panel->legend : "");
    for (const char *at = panel->by; at;) {
        size_t length = strcspn(at, ",");
        buffer_printf(&text, "%s{{%.*s}}", text.len ? " " : "", (int)length, at);
        at = at[length] ? at + length + strlen(", ") : NULL;
    }
    return arena_copy_text(writer->manifest->arena, text.len ? text.at : panel->title);
}

static void write_panel(struct writer *writer, const struct dashboard_panel *panel)
{
    if (panel->title)
        begin_graph(writer, panel);
    add_target(writer, expression_of(writer, panel), legend_of(writer, panel));
}

static void write_section(struct writer *writer, const struct dashboard_section *section)
{
    begin_row(writer, section->title, true);
    for (size_t i = 0; i < section->count; i++)
        write_panel(writer, &section->panels[i]);
}

// ---- metrics of controllers ---------------------------------------------------------------------

static bool is_timestamp(const struct controller_metric *metric)
{
    static const char end[] = "_timestamp_seconds";
    size_t length = strlen(metric->name);
    return length >= sizeof end && !strcmp(metric->name + length + 1 - sizeof end, end);
}

static struct dashboard_panel panel_of(const struct controller_metric *metric)
{
    struct dashboard_panel panel = {.title = metric->title, .metric = metric->name};
    switch (metric->type) {
    case METRIC_KEYS:
        panel.by = "class, reason";
        break;
    case METRIC_RETRIES:
        panel.form = DASHBOARD_COUNTER;
        panel.by = "class, reason";
        break;
    case METRIC_IS:
        panel.form = DASHBOARD_LEAST;
        panel.by = "class";
        break;
    case METRIC_GAUGE:
        panel.form = is_timestamp(metric) ? DASHBOARD_AGE : DASHBOARD_GAUGE;
        panel.by = metric->label;
        break;
    case METRIC_COUNT:
        panel.form = DASHBOARD_COUNTER;
        panel.by = metric->label;
        break;
    case METRIC_SECONDS:
        panel.form = DASHBOARD_MEAN;
        panel.by = metric->label;
        break;
    }
    return panel;
}

static void write_controller(struct writer *writer, const struct controller *controller)
{
    for (size_t i = 0; i < controller->metric_count; i++) {
        struct dashboard_panel panel = panel_of(&controller->metrics[i]);
        must(panel.title);
        write_panel(writer, &panel);
        value_put_text(writer->manifest->arena, writer->panel, "description",
                       controller->metrics[i].help);
    }
}

// A controller that another one brings follows it, in the same row.
static void write_controllers(struct writer *writer)
{
    const char *row = NULL;
    for (size_t i = 0; i < writer->controller_count; i++) {
        const struct row_controller *each = &writer->controllers[i];
        if (!each->controller->metric_count)
            continue;
        if (row != each->row)
            begin_row(writer, arena_printf(writer->manifest->arena, "%s objects", each->row), true);
        row = each->row;
        write_controller(writer, each->controller);
    }
}

static void add_controller(struct writer *writer, const struct controller *controller,
                           const char *row)
{
    for (size_t i = 0; i < writer->controller_count; i++)
        if (writer->controllers[i].controller == controller)
            return;
    must(writer->controller_count < ENABLED_CONTROLLERS_MAX);
    writer->controllers[writer->controller_count++] = (struct row_controller){controller, row};
    for (const struct dependency *each = NULL;
         (each = dependency_next(controller, BRINGS_CONTROLLER, each));)
        add_controller(writer, each->controller, row);
}

// ---- at a glance --------------------------------------------------------------------------------

// Shows 0 where all is well, and nothing where nobody has the metric.
static void add_objects_not_ready(struct writer *writer, const struct controller *controller,
                                  const struct controller_metric *metric)
{
    if (metric->type != METRIC_KEYS)
        return;
    must(metric->reason);
    add_target(writer,
               arena_printf(writer->manifest->arena,
                            "sum(max by (class, reason) (%s{" OURS ",reason!~\"%s\"})) or "
                            "0 * sum(max by (class, reason) (%s{" OURS "}))",
                            metric->name, metric->reason, metric->name),
               controller->kind->name);
}

static void add_subjects_not_ready(struct writer *writer)
{
    for (size_t i = 0; i < subject_count; i++) {
        const struct dashboard_section *section = subjects[i]->dashboard;
        if (section && section->not_ready)
            add_target(writer,
                       arena_printf(writer->manifest->arena, "sum(%s)",
                                    expression_of(writer, section->not_ready)),
                       section->not_ready->legend);
    }
}

static void add_backends_unhealthy(struct writer *writer, const struct controller *controller,
                                   const struct controller_metric *metric)
{
    if (metric->type != METRIC_IS)
        return;
    add_target(writer,
               arena_printf(writer->manifest->arena, "sum(min by (class) (%s{" OURS "}) == bool 0)",
                            metric->name),
               controller->kind->name);
}

static void for_each_metric(struct writer *writer,
                            void (*add)(struct writer *writer, const struct controller *controller,
                                        const struct controller_metric *metric))
{
    for (size_t i = 0; i < writer->controller_count; i++) {
        const struct controller *controller = writer->controllers[i].controller;
        for (size_t k = 0; k < controller->metric_count; k++)
            add(writer, controller, &controller->metrics[k]);
    }
}

// It turns red from `bad` on; 0: it never does.
static void begin_stat(struct writer *writer, const char *title, const char *unit, int64_t bad)
{
    static const char *const calculations[] = {"lastNotNull", NULL};
    struct arena *arena = writer->manifest->arena;
    struct value *panel = begin_panel(writer, "stat", title, STAT_WIDTH, STAT_HEIGHT);
    put_source(writer, panel);
    value_put_text(arena, panel, "fieldConfig.defaults.unit", unit);
    value_put_text(arena, panel, "fieldConfig.defaults.thresholds.mode", "absolute");
    struct value *steps =
        manifest_list(writer->manifest, panel, "fieldConfig.defaults.thresholds.steps");
    struct value *step = manifest_item(writer->manifest, steps);
    value_put_text(arena, step, "color", "green");
    value_put(arena, step, "value", value_make(arena, VALUE_NULL));
    if (bad) {
        step = manifest_item(writer->manifest, steps);
        value_put_text(arena, step, "color", "red");
        value_put_int(arena, step, "value", bad);
    }
    value_put_texts(arena, panel, "options.reduceOptions.calcs", calculations);
    value_put(arena, panel, "targets", value_make(arena, VALUE_LIST));
}

static void write_glance(struct writer *writer)
{
    begin_row(writer, "At a glance", false);
    begin_stat(writer, "Objects that are not ready", "short", 1);
    for_each_metric(writer, add_objects_not_ready);
    add_subjects_not_ready(writer);
    begin_stat(writer, "Latency of changes", "s", 0);
    add_target(writer,
               "histogram_quantile(0.95, sum by (le) "
               "(rate(signpost_change_to_programmed_seconds_bucket{" OURS
               "}[$__range]))) >= 0", // not a number where nothing changed
               "95 %");
    begin_stat(writer, "Backends that are not healthy", "short", 1);
    for_each_metric(writer, add_backends_unhealthy);
    add_target(writer,
               "count(sum by (backend) (increase(signpost_backend_requests_total{" OURS
               ",code=~\"error|refused|4xx|5xx\"}[15m])) > 0 unless sum by (backend) "
               "(increase(signpost_backend_requests_total{" OURS
               ",code!~\"error|refused|4xx|5xx\"}[15m])) > 0) or "
               "0 * count(signpost_build_info{" OURS "})",
               "nothing but failures");
    begin_stat(writer, "Records that a guard keeps", "short", 1);
    add_target(writer, "sum(max by (backend, zone) (signpost_guard_held{" OURS "}))", "records");
    begin_stat(writer, "Controllers that are not ready", "short", 1);
    add_target(writer, "sum(min by (controller) (signpost_controller_ready{" OURS "}) == bool 0)",
               "controllers");
    begin_stat(writer, "Processes by version", "short", 0);
    add_target(writer, "count by (version) (signpost_build_info{" OURS "})", "{{version}}");
}

// ---- variables ----------------------------------------------------------------------------------

// The Prometheus, and which processes: the job is that of ours, as other programs have metrics of
// the same names; on a folder there is neither a namespace nor a Pod.
static const struct {
    const char *name;
    const char *label;
    const char *query;
    const char *all; // what "All" stands for; NULL: each of them
} variables[] = {
    {"job", "Job", "label_values(signpost_build_info, job)", NULL},
    {"namespace", "Namespace", "label_values(signpost_build_info{job=~\"$job\"}, namespace)", ".*"},
    {"pod", "Pod",
     "label_values(signpost_build_info{job=~\"$job\",namespace=~\"$namespace\"}, pod)", ".*"},
};

static void write_variables(const struct writer *writer)
{
    enum { WHEN_THE_TIME_RANGE_CHANGES = 2, BY_NAME = 1 };
    struct arena *arena = writer->manifest->arena;
    struct value *list = manifest_list(writer->manifest, writer->root, "templating.list");
    struct value *source = manifest_item(writer->manifest, list);
    value_put_text(arena, source, "name", "datasource");
    value_put_text(arena, source, "label", "Prometheus");
    value_put_text(arena, source, "type", "datasource");
    value_put_text(arena, source, "query", "prometheus");
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        struct value *variable = manifest_item(writer->manifest, list);
        value_put_text(arena, variable, "name", variables[i].name);
        value_put_text(arena, variable, "label", variables[i].label);
        value_put_text(arena, variable, "type", "query");
        put_source(writer, variable);
        value_put_text(arena, variable, "query.query", variables[i].query);
        value_put_text(arena, variable, "query.refId", variables[i].name);
        value_put_int(arena, variable, "refresh", WHEN_THE_TIME_RANGE_CHANGES);
        value_put_int(arena, variable, "sort", BY_NAME);
        value_put_bool(arena, variable, "multi", true);
        value_put_bool(arena, variable, "includeAll", true);
        if (variables[i].all)
            value_put_text(arena, variable, "allValue", variables[i].all);
        value_put_text(arena, variable, "current.text", "All");
        value_put_text(arena, variable, "current.value", "$__all");
    }
}

// ---- the dashboard ------------------------------------------------------------------------------

static void write_rows(struct writer *writer)
{
    for (size_t i = 0; i < controller_count; i++)
        add_controller(writer, controllers[i], controllers[i]->kind->name);
    write_glance(writer);
    for (size_t i = 0; i < DASHBOARD_ENGINE; i++)
        write_section(writer, &dashboard_engine[i]);
    write_controllers(writer);
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->dashboard)
            write_section(writer, subjects[i]->dashboard);
    for (size_t i = 0; i < DASHBOARD_PROCESS; i++)
        write_section(writer, &dashboard_process[i]);
}

static struct value *make_dashboard(const struct manifest *manifest)
{
    static const char *const tags[] = {"dns", MANIFEST_NAME, NULL};
    struct arena *arena = manifest->arena;
    struct writer writer = {.manifest = manifest, .root = value_make(arena, VALUE_MAP)};
    value_put_text(arena, writer.root, "uid", MANIFEST_NAME);
    value_put_text(arena, writer.root, "title", "Signpost");
    value_put_texts(arena, writer.root, "tags", tags);
    value_put_int(arena, writer.root, "schemaVersion", SCHEMA);
    value_put_text(arena, writer.root, "time.from", "now-6h");
    value_put_text(arena, writer.root, "time.to", "now");
    value_put_text(arena, writer.root, "refresh", "1m");
    write_variables(&writer);
    value_put(arena, writer.root, "panels", value_make(arena, VALUE_LIST));
    write_rows(&writer);
    return writer.root;
}

void manifest_write_dashboard(const struct manifest *manifest)
{
    AUTO_BUFFER text = {0};
    value_write_json(&text, make_dashboard(manifest));
    struct value *object =
        manifest_begin(manifest, "v1", "ConfigMap", MANIFEST_DASHBOARD, manifest->namespace_);
    value_put_text(manifest->arena, object, "metadata.labels[grafana_dashboard]", "1");
    value_put_text(manifest->arena, object, "data[signpost.json]", text.at);
    manifest_end(manifest, object, "");
}
