#pragma once

#include "kinds/dnsplan/dnsplan.h"

// Inside this folder: what the kind's table points to. Lists of words are NULL-terminated.

extern const char *const dnsplan_reasons[];
extern const char *const dnsplan_acts[];
extern const char *const dnsplan_phases[];
extern const char *const dnsplan_condition_types[];

void dnsplan_list_names(const struct value *object, struct kind_names *out);
void dnsplan_pack_spec(const struct value *object, struct pack_writer *out);
void dnsplan_pack_managed(const struct value *object, struct pack_writer *out);
