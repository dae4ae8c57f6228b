#pragma once

#include <stddef.h>

#include "engine/controller.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// spec.verify of a DNSUpdateRecord: which name servers show whether its names stand. The controller
// of records opens a backend that asks them, that of publications puts the questions.

// "IP:port" of each; none: nothing is verified. By itself an rfc2136 is asked where it is updated.
const char *const *verify_servers(struct arena *arena, const struct update_record *record,
                                  size_t *count);
const char *verify_backend_name(struct arena *arena, struct text namespace_, struct text name);
// Opens the backend, if anything is verified.
void verify_open(struct arena *arena, const struct object *object,
                 const struct update_record *record, struct decision *out);
