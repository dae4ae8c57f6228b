#include "kinds/zone/zone_kind.h"

#include <string.h>

#include "kinds/zone/zone_body.h"

enum {
    TTL_DEFAULT_S = 360,
    REFRESH_DEFAULT_S = 86400,
    RETRY_DEFAULT_S = 7200,
    EXPIRE_DEFAULT_S = 3600000,
    MINIMUM_DEFAULT_S = 360,
};

const char *const zone_condition_types[] = {"Accepted", "Ready", "Programmed", "Warned", NULL};

// An item that is no text stays in the list, as absent: an empty list would mean all.
static struct text *texts_at(struct arena *arena, const struct value *map, const char *key,
                             size_t *count)
{
    const struct value *list = value_list_at(map, key);
    struct text *texts = arena_new_array(arena, struct text, value_count(list) + 1);
    *count = 0;
    value_each (item, list)
        texts[(*count)++] = value_text(item);
    return texts;
}

static void records_decode(struct arena *arena, const struct value *list,
                           struct zone_delegation *out)
{
    out->records = arena_new_array(arena, struct zone_delegation_records, value_count(list) + 1);
    value_each (item, list) {
        struct zone_delegation_records *records = &out->records[out->record_count++];
        records->pattern = value_text_at(item, "pattern");
        records->types = texts_at(arena, item, "types", &records->type_count);
    }
}

static void delegations_decode(struct arena *arena, const struct value *list, struct zone_spec *out)
{
    out->delegations = arena_new_array(arena, struct zone_delegation, value_count(list) + 1);
    value_each (item, list) {
        struct zone_delegation *delegation = &out->delegations[out->delegation_count++];
        delegation->namespaces = texts_at(arena, item, "namespaces", &delegation->namespace_count);
        delegation->zones = texts_at(arena, item, "zones", &delegation->zone_count);
        records_decode(arena, value_list_at(item, "records"), delegation);
    }
}

static void nameservers_decode(struct arena *arena, const struct value *list, struct zone_spec *out)
{
    out->nameservers = arena_new_array(arena, struct zone_spec_nameserver, value_count(list) + 1);
    value_each (item, list) {
        struct zone_spec_nameserver *nameserver = &out->nameservers[out->nameserver_count++];
        nameserver->name = value_text_at(item, "name");
        nameserver->addresses = texts_at(arena, item, "addresses", &nameserver->address_count);
    }
}

static enum serial_policy policy_find(struct text name)
{
    for (int i = SERIAL_DATE; i <= SERIAL_COUNTER; i++)
        if (text_is(name, serial_policy_name((enum serial_policy)i)))
            return (enum serial_policy)i;
    return SERIAL_DATE;
}

static void minimum_serial_decode(const struct value *spec, struct zone_spec *out)
{
    int64_t serial = value_int_at(spec, "minimumSerial", -1);
    out->has_minimum_serial = serial >= 0 && serial <= UINT32_MAX;
    out->minimum_serial = out->has_minimum_serial ? (uint32_t)serial : 0;
}

void zone_decode(struct arena *arena, const struct value *object, struct zone_spec *out)
{
    const struct value *spec = value_find(object, "spec");
    struct text servers = value_text_at(spec, "servers");
    *out = (struct zone_spec){
        .domain_name = value_text_at(spec, "domainName"),
        .ref = zone_ref_decode(value_find(spec, "zoneRef")),
        .ttl_s = value_int_at(spec, "ttl", TTL_DEFAULT_S),
        .refresh_s = value_int_at(spec, "refresh", REFRESH_DEFAULT_S),
        .retry_s = value_int_at(spec, "retry", RETRY_DEFAULT_S),
        .expire_s = value_int_at(spec, "expire", EXPIRE_DEFAULT_S),
        .minimum_s = value_int_at(spec, "negativeResponseCache", MINIMUM_DEFAULT_S),
        .mname = value_text_at(spec, "mname"),
        .rname = value_text_at(spec, "rname"),
        .serial_policy = policy_find(value_text_at(spec, "serialPolicy")),
        .servers = servers.at ? servers : TEXT("default"),
        .file_namespaces = value_text(value_find(value_at(object, "metadata.annotations", NULL),
                                                 ZONE_GROUP "/" ZONE_FILE_NAMESPACES)),
    };
    minimum_serial_decode(spec, out);
    delegations_decode(arena, value_list_at(spec, "delegations"), out);
    nameservers_decode(arena, value_list_at(spec, "nameservers"), out);
}

static struct text trimmed(struct text text)
{
    while (text.len && text.at[0] == ' ')
        text = (struct text){text.at + 1, text.len - 1};
    while (text.len && text.at[text.len - 1] == ' ')
        text.len--;
    return text;
}

bool zone_allows_file(const struct zone_spec *spec, struct text home, struct text namespace_)
{
    struct text rest = spec->file_namespaces;
    struct text item;
    if (text_equal(home, namespace_))
        return true;
    while (rest.len && text_cut(&rest, ',', &item)) {
        item = trimmed(item);
        if (text_is(item, "*") || text_equal(item, namespace_))
            return true;
    }
    return false;
}

// ---- names --------------------------------------------------------------------------------------

static struct text nameserver_name(struct arena *arena, struct text name, struct text apex)
{
    if (dname_text_is_full(name))
        return name;
    return text_of(arena_printf(arena, "%.*s.%.*s", TEXT_ARGS(name), TEXT_ARGS(apex)));
}

static void list_nameservers(const struct value *servers, struct text apex, struct kind_names *out)
{
    AUTO_BUFFER names = {0};
    value_each (server, servers) {
        struct text name = nameserver_name(out->arena, value_text_at(server, "name"), apex);
        buffer_printf(&names, "%s%.*s", names.len ? ", " : "", TEXT_ARGS(name));
    }
    if (!names.len)
        return;
    struct kind_name *added = kind_names_add(out, KIND_NAME_RECORDS, apex);
    added->type = TEXT("NS");
    added->values = (struct text){arena_copy(out->arena, names.at, names.len), names.len};
}

static void list_addresses(const struct value *server, struct text apex, struct kind_names *out)
{
    static const char *const types[] = {"A", "AAAA"};
    struct text name = nameserver_name(out->arena, value_text_at(server, "name"), apex);
    value_each (address, value_list_at(server, "addresses")) {
        struct text text = value_text(address);
        struct kind_name *added = kind_names_add(out, KIND_NAME_RECORDS, name);
        added->type = text_of(types[text.len && memchr(text.at, ':', text.len)]);
        added->values = text;
    }
}

void zone_list_names(const struct value *object, struct kind_names *out)
{
    struct text fqdn = value_text_at(object, "status.fqdn");
    struct text apex = fqdn.len ? fqdn : value_text_at(object, "spec.domainName");
    kind_names_add(out, KIND_NAME_ZONE, apex);
    const struct value *servers = value_list_at(object, "spec.nameservers");
    list_nameservers(servers, apex, out);
    value_each (server, servers)
        list_addresses(server, apex, out);
}
