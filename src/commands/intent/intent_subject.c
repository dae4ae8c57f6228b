#include "commands/intent/intent_subject.h"

#include "commands/dashboard.h"

static const struct dashboard_panel panels[] = {
    {.title = "Requests of the API",
     .metric = "signpost_intent_requests_total",
     .form = DASHBOARD_COUNTER,
     .by = "route, code"},
    {.title = "Working out which publications changes concern",
     .metric = "signpost_intent_resolve_seconds",
     .form = DASHBOARD_SECONDS},
};

static const struct dashboard_section dashboard = {
    .title = "DNS update records", .panels = panels, .count = COUNT_OF(panels)};

extern const struct subject intent_subject;
const struct subject intent_subject = {
    .name = "intent",
    .dashboard = &dashboard,
    .options = {[SUBJECT_RUN] = {intent_options, INTENT_OPTION_COUNT - INTENT_INSTALL_ONLY, false},
                [SUBJECT_INSTALL] = {intent_options + INTENT_RUN_ONLY,
                                     INTENT_OPTION_COUNT - INTENT_RUN_ONLY, false}},
    .service = &intent_service,
    .install = intent_install,
    .preview = &intent_preview,
    .renderer = &intent_renderer,
};
