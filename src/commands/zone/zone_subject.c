#include "commands/zone/zone_subject.h"

#include "commands/dashboard.h"
#include "commands/zone/configured_zones.h"
#include "commands/zone/zone_manifests.h"
#include "controllers/zone/zone_controller.h"

static void *judge_make(const struct invocation *invocation, struct report *report,
                        struct error *err)
{
    return zone_manifests_new(invocation, report, err);
}

static void judge_free(void *judge)
{
    zone_manifests_free(judge);
}

static void judge_put(void *judge, const struct document *document, const char *path)
{
    zone_manifests_put(judge, document, path);
}

static void judge_all(void *judge)
{
    zone_manifests_judge(judge, NULL, true);
}

static const struct manifest_judge judge = {
    .make = judge_make, .free = judge_free, .put = judge_put, .judge = judge_all};

static const struct dashboard_panel panels[] = {
    {.title = "Serials", .metric = "signpost_zone_serial", .by = "zone", .unit = "none"},
    {.metric = "signpost_zone_server_serial", .by = "zone, server"},
    {.title = "Records", .metric = "signpost_zone_records", .by = "zone"},
    {.title = "Records that are kept out",
     .metric = "signpost_zone_excluded_records",
     .by = "zone, reason"},
    {.title = "Transfers",
     .metric = "signpost_zone_transfers_total",
     .form = DASHBOARD_COUNTER,
     .by = "server, kind, result"},
    {.title = "Working out what changes come to",
     .metric = "signpost_zone_compile_seconds",
     .form = DASHBOARD_SECONDS},
    {.title = "Zones that a guard keeps in a catalog",
     .metric = "signpost_catalog_held_zones",
     .by = "group"},
    {.title = "Zones configuration is usable",
     .metric = "signpost_zones_config_ok",
     .form = DASHBOARD_LEAST},
};

static const struct dashboard_panel kept_out = {.metric = "signpost_zone_excluded_records",
                                                .by = "zone, reason",
                                                .legend = "kept out of zones"};

static const struct dashboard_section dashboard = {
    .title = "Zones", .panels = panels, .count = COUNT_OF(panels), .not_ready = &kept_out};

extern const struct subject zone_subject;
const struct subject zone_subject = {
    .name = "zone",
    .dashboard = &dashboard,
    .options = {[SUBJECT_RUN] = {zones_options, ZONES_OPTION_COUNT, false},
                [SUBJECT_PLAN] = {zones_options, ZONES_LOOK_OPTION_COUNT, false},
                [SUBJECT_INSTALL] = {zone_install_options, ZONE_INSTALL_OPTION_COUNT, false}},
    .controller = &zone_controller,
    .settings_file = "zones-config",
    .follows_settings_file = true,
    .service = &zone_service,
    .install = zone_install,
    .preview = &zone_preview,
    .judge = &judge,
};
