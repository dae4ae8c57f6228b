#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "providers/provider.h"

// Paths and bodies of the webhook protocol, read strictly.

struct request_scope {
    const struct text *zones; // served ones, normalised; none: every name
    size_t zone_count;
    bool has_type[RECORD_TYPES];
};

// "/records/TYPE/DOMAIN/SUBDOMAIN" behind the base path; nothing may follow. Errors: fault SPEC,
// status 400, code INVALID_RECORD, INVALID_DOMAIN or NOT_SUPPORTED.
bool request_read_path(struct arena *arena, const struct request_scope *scope, const char *path,
                       struct change *out, struct error *err);
// The body of POST /records. MX and SRV numbers come in `metadata` or inside the values.
bool request_read_upsert(struct arena *arena, const struct request_scope *scope, struct text body,
                         struct change *out, struct error *err);
// A record as in the body's "record" (also the state log's form).
bool request_read_record(struct arena *arena, const struct request_scope *scope,
                         const struct value *record, struct record_set *out, struct error *err);
// The zone among zones that the name lies in (longest match), or absent.
struct text request_zone(const struct text *zones, size_t count, struct text name);
