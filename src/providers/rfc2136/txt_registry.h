#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/value.h"
#include "dns/record.h"

// The registry "txt" of external-dns: beside each record set stands a TXT record that says whose it
// is, so that names change hands between an external-dns and us without a change of the zone. Read
// and written as its releases v0.12 and later do: one record per owner name and type, whose name
// has the type in it. Encrypted records are not read.

struct txt_registry {
    char *owner_id; // NULL: no ownership records are kept
    char *prefix;   // of the record's name, as txt-prefix, txt-suffix, txt-wildcard-replacement
    char *suffix;
    char *wildcard;
    char *content;  // of a record that is made
    uint32_t ttl_s; // and its TTL, as rfc2136-min-ttl
};
// By ownerId, txtPrefix, txtSuffix, txtWildcardReplacement and minTtl of `config`. Errors: fault
// SPEC, reason InvalidConfiguration; txt_registry_done is due all the same.
bool txt_registry_init(struct txt_registry *registry, const struct value *config,
                       struct error *err);
void txt_registry_done(struct txt_registry *registry);
void txt_registry_add_digest(const struct txt_registry *registry, struct digest_state *state);

// The name of the ownership record of a set; `name` and `zone` are normalised. Errors: it does not
// fit, or lies outside of the zone.
bool txt_registry_name(const struct txt_registry *registry, struct arena *arena, struct text zone,
                       struct text name, enum record_type type, struct text *out,
                       struct error *err);
// The TXT record set that makes a set ours.
struct record_set txt_registry_record(const struct txt_registry *registry, struct arena *arena);

enum owner {
    OWNER_NONE,    // there is no TXT record
    OWNER_OURS,    // it has our owner id
    OWNER_OTHER,   // an external-dns with another owner id
    OWNER_UNKNOWN, // none of the TXT records there says whose it is
};
// Whose is it, by the TXT record set (or NULL) at that name? OTHER: `other` is the owner id, empty
// where the record has none.
enum owner txt_registry_read(const struct txt_registry *registry, const struct record_set *txt,
                             struct text *other);
// Those values of the TXT record set that are ownership records.
struct record_set txt_registry_marks(struct arena *arena, const struct record_set *txt);
