#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/controller.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// Records with engine: native. Their names go out through backends of ours, one for each zone that
// the record names: the controller of records opens them, that of publications claims through them.

enum { NATIVE_ZONES_MAX = UPDATE_RECORD_NATIVE_ZONES_MAX };

struct native_zones {
    struct text items[NATIVE_ZONES_MAX]; // in lower case, without a final dot
    size_t count;
};
void native_zones_of(struct arena *arena, const struct update_record *record,
                     struct native_zones *out);
// The zone that has the name, the longest one of several; NATIVE_ZONES_MAX: none has it.
size_t native_zone_of_name(const struct native_zones *zones, struct text name);
// The zone of a record, whichever its engine, that has the name; no text: none has it, or no zone
// is known.
struct text native_zone_for(struct arena *arena, const struct update_record *record,
                            struct text name);

// Of the record's zone of number `at`, whether there is one or not: the backend, and the server
// that it leads to as a registry of claims.
const char *native_backend_name(struct arena *arena, struct text namespace_, struct text name,
                                size_t at);
const char *native_registry(struct arena *arena, const struct update_record *record,
                            struct text zone);
// "host:port" of the server.
const char *native_server(struct arena *arena, const struct update_record *record);
// rfc2136-min-ttl in whole seconds, which no TTL at the server is below; 0: there is none.
uint32_t native_min_ttl_s(const struct update_record *record);

struct native_owner {
    const struct object *object; // the DNSUpdateRecord
    const struct update_record *record;
    const struct external_dns_pinned *pinned;
    struct secret *secret;     // the TSIG key; NULL: there is none. Borrowed
    const struct error *fault; // why nothing may be sent; NULL: it may
};
// Opens a backend for each zone of a record with engine: native.
void native_open(const struct native_owner *owner, struct arena *arena, struct decision *out);
