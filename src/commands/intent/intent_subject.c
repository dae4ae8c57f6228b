#include "commands/intent/intent_subject.h"

extern const struct subject intent_subject;
const struct subject intent_subject = {
    .name = "intent",
    .options = {[SUBJECT_RUN] = {intent_options, INTENT_OPTION_COUNT - INTENT_INSTALL_ONLY, false},
                [SUBJECT_INSTALL] = {intent_options + INTENT_RUN_ONLY,
                                     INTENT_OPTION_COUNT - INTENT_RUN_ONLY, false}},
    .service = &intent_service,
    .install = intent_install,
    .preview = &intent_preview,
    .renderer = &intent_renderer,
};
