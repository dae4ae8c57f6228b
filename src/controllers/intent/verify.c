#include "controllers/intent/verify.h"

#include "base/url.h"
#include "controllers/intent/native.h"

enum { DNS_PORT = 53, IN_FLIGHT_MAX = 8, RETRY_BASE_MS = 1000, RETRY_MAX_MS = 60000 };

// An rfc2136-host may be a host name, which is left out; elsewhere the record's check refuses one.
static bool add_server(struct arena *arena, struct text text, const char **out)
{
    struct hostport server;
    struct error err;
    AUTO_BUFFER shown = {0};
    if (!hostport_parse(&server, text, DNS_PORT, false, &err) || !*server.host || !server.port)
        return false;
    hostport_write(&shown, &server);
    *out = arena_copy(arena, shown.at, shown.len);
    return true;
}

const char *const *verify_servers(struct arena *arena, const struct update_record *record,
                                  size_t *count)
{
    const char **servers = arena_new_array(arena, const char *, record->server_count + 1);
    *count = 0;
    for (size_t i = 0; record->is_verified && i < record->server_count; i++)
        *count += add_server(arena, record->servers[i], &servers[*count]);
    if (record->is_verified && !record->server_count && record->provider == EXTERNAL_DNS_RFC2136)
        *count += add_server(arena, text_of(native_server(arena, record)), &servers[0]);
    return servers;
}

const char *verify_backend_name(struct arena *arena, struct text namespace_, struct text name)
{
    return arena_printf(arena, "name-servers-%.*s/%.*s", TEXT_ARGS(namespace_), TEXT_ARGS(name));
}

void verify_open(struct arena *arena, const struct object *object,
                 const struct update_record *record, struct decision *out)
{
    size_t count;
    verify_servers(arena, record, &count);
    if (!count)
        return;
    const char *name = verify_backend_name(arena, object_namespace(object), object_name(object));
    *decision_add_backend(out, arena) = (struct backend_want){
        .name = name,
        .provider = "nameserver",
        .registry = name,
        .config = value_make(arena, VALUE_MAP),
        .max_in_flight = IN_FLIGHT_MAX,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = RETRY_MAX_MS,
        .retry_slow_ms = RETRY_MAX_MS,
        .was_well = true,
        .guard_percent = 100,
    };
}
