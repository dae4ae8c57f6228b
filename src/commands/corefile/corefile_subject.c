#include "commands/subject.h"

extern const struct subject corefile_subject;
const struct subject corefile_subject = {.name = "corefile"};
