#pragma once

#include "kinds/dnsrecord/dnsrecord.h"

// Inside this folder: what the kind's table points to, and the parts of status that are read back.

extern const char *const dnsrecord_condition_types[]; // NULL-terminated

void dnsrecord_pack_spec(const struct value *object, struct pack_writer *out);
void dnsrecord_pack_managed(const struct value *object, struct pack_writer *out);
void dnsrecord_list_names(const struct value *object, struct kind_names *out);
void dnsrecord_validate(const struct value *object, struct findings *findings);

// Names become paths of requests: only what we would have written ourselves may be taken.
bool dnsrecord_claim_is_usable(struct arena *arena, const struct dnsrecord_claim *claim);

// Is there an annotation that does not decode? We never write one.
bool dnsrecord_has_broken_claims(struct arena *arena, const struct value *object);
// Claims and status of an object tree; texts borrowed from it or from the arena.
void dnsrecord_managed_decode(struct arena *arena, const struct value *object,
                              struct dnsrecord_managed *out);
