#include "controllers/intent/native.h"

#include <string.h>

#include "dns/record.h"

void native_zones_of(struct arena *arena, const struct update_record *record,
                     struct native_zones *out)
{
    size_t count;
    struct error err;
    const struct text *entries =
        external_dns_entries(arena, record->values[PARAMETER_RFC2136_ZONE], &count);
    *out = (struct native_zones){0};
    for (size_t i = 0; i < count && out->count < NATIVE_ZONES_MAX; i++)
        if (domain_normalise(arena, entries[i], &out->items[out->count], &err))
            out->count++;
}

size_t native_zone_of_name(const struct native_zones *zones, struct text name)
{
    size_t found = NATIVE_ZONES_MAX;
    for (size_t i = 0; i < zones->count; i++)
        if (name_is_within(name, zones->items[i]) &&
            (found == NATIVE_ZONES_MAX || zones->items[i].len > zones->items[found].len))
            found = i;
    return found;
}

const char *native_backend_name(struct arena *arena, struct text namespace_, struct text name,
                                size_t at)
{
    return arena_printf(arena, "update-record-%.*s/%.*s-%zu", TEXT_ARGS(namespace_),
                        TEXT_ARGS(name), at);
}

const char *native_server(struct arena *arena, const struct update_record *record)
{
    size_t count;
    const struct value *port = record->values[PARAMETER_RFC2136_PORT];
    const struct text *hosts =
        external_dns_entries(arena, record->values[PARAMETER_RFC2136_HOST], &count);
    struct text host = count ? hosts[0] : TEXT("");
    bool is_6 = memchr(host.at, ':', host.len);
    return arena_printf(arena, "%s%.*s%s:%lld", is_6 ? "[" : "", TEXT_ARGS(host), is_6 ? "]" : "",
                        (long long)(port && port->type == VALUE_INT ? port->integer : 53));
}

const char *native_registry(struct arena *arena, const struct update_record *record,
                            struct text zone)
{
    return arena_printf(arena, "rfc2136://%s/%.*s", native_server(arena, record), TEXT_ARGS(zone));
}
