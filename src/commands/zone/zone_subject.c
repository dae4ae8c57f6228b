#include "commands/zone/zone_subject.h"

#include "commands/zone/zones_place.h"
#include "controllers/zone/zone_controller.h"

extern const struct subject zone_subject;
const struct subject zone_subject = {
    .name = "zone",
    .options = {[SUBJECT_RUN] = {zones_options, ZONES_OPTION_COUNT, false},
                [SUBJECT_PLAN] = {zones_options, ZONES_LOOK_OPTION_COUNT, false}},
    .controller = &zone_controller,
    .service = &zone_service,
    .install = zone_install,
};
