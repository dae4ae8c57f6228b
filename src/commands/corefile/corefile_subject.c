#include "commands/corefile/corefile_manifests.h"

extern const struct subject corefile_subject;
const struct subject corefile_subject = {.name = "corefile", .judge = &corefile_judge};
