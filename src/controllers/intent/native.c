#include "controllers/intent/native.h"

#include <string.h>

#include "base/digest.h"
#include "dns/record.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

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

struct text native_zone_for(struct arena *arena, const struct update_record *record,
                            struct text name)
{
    struct native_zones zones;
    native_zones_of(arena, record, &zones);
    size_t at = native_zone_of_name(&zones, name);
    return at < NATIVE_ZONES_MAX ? zones.items[at] : (struct text){0};
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

enum { SECOND_NS = 1000000000 };

uint32_t native_min_ttl_s(const struct update_record *record)
{
    int64_t ns;
    struct text text = update_record_text(record, PARAMETER_RFC2136_MIN_TTL);
    if (!text.len || !external_dns_duration_ns(text, &ns) || ns < 0)
        return 0;
    int64_t seconds = ns / SECOND_NS;
    return seconds < INT32_MAX ? (uint32_t)seconds : INT32_MAX;
}

// ---- backends -----------------------------------------------------------------------------------

enum {
    SECOND_MS = 1000,
    RETRY_BASE_MS = 5 * SECOND_MS,
    RETRY_MAX_MS = 60 * SECOND_MS,
    RETRY_ATTEMPTS = 5,
    RETRY_SLOW_MS = 60 * SECOND_MS, // what was refused may be free by then
    LINGER_MS = 600 * SECOND_MS,
};

static void put_text(struct arena *arena, struct value *config, const char *key, struct text text)
{
    if (text.len)
        value_set(config, text_of(key), value_make_text(arena, text));
}

static struct value *make_config(struct arena *arena, const struct native_owner *owner,
                                 struct text zone)
{
    const struct update_record *record = owner->record;
    const struct registry_affix affix = update_record_affix(record);
    struct value *config = value_make(arena, VALUE_MAP);
    put_text(arena, config, "server", text_of(native_server(arena, record)));
    put_text(arena, config, "zone", zone);
    put_text(arena, config, "tsigName", update_record_text(record, PARAMETER_RFC2136_TSIG_KEYNAME));
    put_text(arena, config, "tsigAlgorithm",
             update_record_text(record, PARAMETER_RFC2136_TSIG_SECRET_ALG));
    if (text_is(update_record_text(record, PARAMETER_REGISTRY), "noop"))
        return config;
    put_text(arena, config, "ownerId", owner->pinned->owner_id);
    put_text(arena, config, "txtPrefix", owner->pinned->txt_prefix);
    put_text(arena, config, "txtSuffix", affix.suffix);
    put_text(arena, config, "txtWildcardReplacement", affix.wildcard);
    value_put_int(arena, config, "minTtl", native_min_ttl_s(record));
    return config;
}

static uint64_t basis_of(const struct native_owner *owner)
{
    struct text spec = object_spec(owner->object);
    return digest_word(spec.at, spec.len);
}

void native_open(const struct native_owner *owner, struct arena *arena, struct decision *out)
{
    struct native_zones zones;
    native_zones_of(arena, owner->record, &zones);
    for (size_t i = 0; i < zones.count; i++)
        *decision_add_backend(out, arena) = (struct backend_want){
            .name = native_backend_name(arena, object_namespace(owner->object),
                                        object_name(owner->object), i),
            .provider = "rfc2136",
            .registry = native_registry(arena, owner->record, zones.items[i]),
            .config = make_config(arena, owner, zones.items[i]),
            .secret = owner->secret ? secret_ref(owner->secret) : NULL,
            .max_in_flight = 1,
            .retry_base_ms = RETRY_BASE_MS,
            .retry_max_ms = RETRY_MAX_MS,
            .retry_attempts = RETRY_ATTEMPTS,
            .retry_slow_ms = RETRY_SLOW_MS,
            .linger_ms = LINGER_MS,
            .basis = basis_of(owner),
            .fault = owner->fault ? *owner->fault : (struct error){0},
        };
}
