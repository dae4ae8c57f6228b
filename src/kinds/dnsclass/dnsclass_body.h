#pragma once

#include "kinds/dnsclass/dnsclass.h"

// Inside this folder: what the kind's table points to.

extern const char *const dnsclass_condition_types[]; // NULL-terminated

void dnsclass_pack_spec(const struct value *object, struct pack_writer *out);
void dnsclass_pack_managed(const struct value *object, struct pack_writer *out);
void dnsclass_list_names(const struct value *object, struct kind_names *out);
void dnsclass_validate(const struct value *object, struct findings *findings);
bool dnsclass_has_secret(const struct value *object);
