#include "commands/zone/zone_subject.h"

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

extern const struct subject zone_subject;
const struct subject zone_subject = {
    .name = "zone",
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
