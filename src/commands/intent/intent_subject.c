#include "commands/intent/intent_subject.h"

extern const struct subject intent_subject;
const struct subject intent_subject = {
    .name = "intent",
    .options = {[SUBJECT_RUN] = {intent_options, INTENT_OPTION_COUNT, false}},
    .service = &intent_service,
    .preview = &intent_preview,
    .renderer = &intent_renderer,
};
