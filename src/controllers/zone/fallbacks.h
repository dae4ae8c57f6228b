#pragma once

#include "dns/zone_compiler.h"

// Name servers as --zone-nameserver gives them, "NAME[=ADDR,...]": those of zones that have none.

struct fallbacks;
// NULL-terminated, or NULL: none. An address alone belongs to the name before it. NULL: one is not
// well-formed.
struct fallbacks *fallbacks_new(const char *const *texts, struct error *err);
void fallbacks_free(struct fallbacks *fallbacks);
const struct zone_nameserver *fallbacks_items(const struct fallbacks *fallbacks);
size_t fallbacks_count(const struct fallbacks *fallbacks);
bool fallbacks_check(const char *const *texts, struct error *err);
