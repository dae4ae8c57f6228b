#include "commands/pihole/pihole_subject.h"

#include "commands/dashboard.h"
#include "commands/pihole/pihole_settings.h"
#include "commands/pihole/pihole_view.h"

struct pihole_targets *pihole_settings(const struct setup *setup)
{
    return setup_settings(setup, &ingress_controller);
}

static bool load(const struct invocation *invocation, bool is_check, void *settings,
                 struct error *err)
{
    return pihole_settings_load(invocation, is_check, settings, err);
}

static void unload(void *settings)
{
    pihole_settings_unload(settings);
}

static const struct dashboard_panel panels[] = {
    {.title = "Record sets", .metric = "signpost_pihole_records", .by = "pihole, type, state"},
    {.title = "Changes written in one go",
     .metric = "signpost_pihole_batches_total",
     .form = DASHBOARD_COUNTER,
     .by = "pihole, how"},
    {.title = "Record sets that were put right",
     .metric = "signpost_pihole_drift_repaired_total",
     .form = DASHBOARD_COUNTER,
     .by = "pihole"},
    {.title = "Restarts of the resolver",
     .metric = "signpost_pihole_restarts_total",
     .form = DASHBOARD_COUNTER,
     .by = "pihole"},
    {.title = "Logins",
     .metric = "signpost_pihole_logins_total",
     .form = DASHBOARD_COUNTER,
     .by = "pihole, result"},
    {.title = "API sessions", .metric = "signpost_pihole_seats_in_use", .by = "pihole"},
};

static const struct dashboard_section dashboard = {
    .title = "Pi-holes", .panels = panels, .count = COUNT_OF(panels)};

extern const struct subject pihole_subject;
const struct subject pihole_subject = {
    .name = "pihole",
    .dashboard = &dashboard,
    .options = {[SUBJECT_SETUP] = {pihole_options, PIHOLE_OPTION_COUNT, false}},
    .how = "Pi-holes: give --pihole-url or --pihole-targets",
    .controller = &ingress_controller,
    .load = load,
    .unload = unload,
    .settings_file = "pihole-targets",
    .service = &pihole_service,
    .install = pihole_install,
    .shows = pihole_view_shows,
    .show = pihole_view_show,
};
