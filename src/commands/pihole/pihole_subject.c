#include "commands/pihole/pihole_subject.h"

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

extern const struct subject pihole_subject;
const struct subject pihole_subject = {
    .name = "pihole",
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
