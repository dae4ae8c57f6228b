#include "commands/corefile/corefile_manifests.h"
#include "commands/corefile/corefile_route.h"

extern const struct subject corefile_subject;
const struct subject corefile_subject = {
    .name = "corefile", .judge = &corefile_judge, .explain_forward = corefile_route_explain};
