#include "base/must.h"
#include "kinds/zone/zone_body.h"

static const char *const states[] = {
    [SERVER_UNKNOWN] = "Unknown",         [SERVER_CURRENT] = "Current",
    [SERVER_BEHIND] = "Behind",           [SERVER_AHEAD] = "Ahead",
    [SERVER_UNREACHABLE] = "Unreachable", [SERVER_REFUSED] = "Refused",
};

const char *zone_server_state_name(enum zone_server_state state)
{
    must((size_t)state < COUNT_OF(states));
    return states[state];
}

static struct value *text_or_null(struct arena *arena, struct text text)
{
    return text.len ? value_make_text(arena, text) : value_make(arena, VALUE_NULL);
}

static struct value *number_or_null(struct arena *arena, bool is_there, int64_t number)
{
    return is_there ? value_make_int(arena, number) : value_make(arena, VALUE_NULL);
}

static struct value *entry_encode(struct arena *arena, const struct zone_status_entry *entry)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("fqdn"), value_make_text(arena, entry->fqdn));
    value_set(map, TEXT("type"), value_make_text(arena, entry->type));
    value_set(map, TEXT("class"), value_make_text(arena, entry->class_));
    value_set(map, TEXT("ttl"), value_make_int(arena, entry->ttl_s));
    value_set(map, TEXT("rdata"), value_make_text(arena, entry->rdata));
    return map;
}

// Never null: the schema's default would stand in its place, and differ from what we say.
static struct value *entries_encode(struct arena *arena, const struct zone_status *status)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->entry_count; i++)
        value_append(list, entry_encode(arena, &status->entries[i]));
    return list;
}

static struct value *server_encode(struct arena *arena, const struct zone_status_server *server)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("name"), value_make_text(arena, server->name));
    if (server->has_serial)
        value_set(map, TEXT("serial"), value_make_int(arena, server->serial));
    if (server->has_fetched)
        value_set(map, TEXT("fetchedSerial"), value_make_int(arena, server->fetched_serial));
    value_set(map, TEXT("state"),
              value_make_text(arena, text_of(zone_server_state_name(server->state))));
    return map;
}

static struct value *servers_encode(struct arena *arena, const struct zone_status *status)
{
    if (!status->server_count)
        return value_make(arena, VALUE_NULL);
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->server_count; i++)
        value_append(list, server_encode(arena, &status->servers[i]));
    return list;
}

static struct value *nameservers_encode(struct arena *arena, const struct zone_status *status)
{
    if (!status->nameserver_count)
        return value_make(arena, VALUE_NULL);
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < status->nameserver_count; i++)
        value_append(list, value_make_text(arena, status->nameservers[i]));
    return list;
}

const struct value *zone_status_encode(struct arena *arena, const struct zone_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    bool has_content = status->hash.len;
    value_set(map, TEXT("fqdn"), text_or_null(arena, status->fqdn));
    value_set(map, TEXT("hash"), text_or_null(arena, status->hash));
    value_set(map, TEXT("serial"), number_or_null(arena, status->has_serial, status->serial));
    if (!status->keeps_entries)
        value_set(map, TEXT("entries"), entries_encode(arena, status));
    value_set(map, TEXT("entryCount"), number_or_null(arena, has_content, status->entries_total));
    value_set(
        map, TEXT("excludedCount"),
        number_or_null(arena, has_content || status->excluded_count > 0, status->excluded_count));
    value_set(map, TEXT("entriesComplete"),
              has_content ? value_make_bool(arena, status->entries_complete)
                          : value_make(arena, VALUE_NULL));
    value_set(map, TEXT("nameservers"), nameservers_encode(arena, status));
    value_set(map, TEXT("serverGroup"), text_or_null(arena, status->server_group));
    value_set(map, TEXT("servers"), servers_encode(arena, status));
    value_set(map, TEXT("observedGeneration"), value_make_int(arena, status->observed_generation));
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    return map;
}

// ---- reading back -------------------------------------------------------------------------------

static bool uint32_at(const struct value *map, const char *key, uint32_t *out)
{
    int64_t number = value_int_at(map, key, -1);
    bool is_there = number >= 0 && number <= UINT32_MAX;
    *out = is_there ? (uint32_t)number : 0;
    return is_there;
}

static void entries_decode(struct arena *arena, const struct value *list, struct zone_status *out)
{
    out->entries = arena_new_array(arena, struct zone_status_entry, value_count(list) + 1);
    value_each (item, list) {
        struct zone_status_entry *entry = &out->entries[out->entry_count++];
        entry->fqdn = value_text_at(item, "fqdn");
        entry->type = value_text_at(item, "type");
        entry->class_ = value_text_at(item, "class");
        entry->rdata = value_text_at(item, "rdata");
        uint32_at(item, "ttl", &entry->ttl_s);
    }
}

static enum zone_server_state state_find(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (text_is(name, states[i]))
            return (enum zone_server_state)i;
    return SERVER_UNKNOWN;
}

static void servers_decode(struct arena *arena, const struct value *list, struct zone_status *out)
{
    out->servers = arena_new_array(arena, struct zone_status_server, value_count(list) + 1);
    value_each (item, list) {
        struct zone_status_server *server = &out->servers[out->server_count++];
        server->name = value_text_at(item, "name");
        server->has_serial = uint32_at(item, "serial", &server->serial);
        server->has_fetched = uint32_at(item, "fetchedSerial", &server->fetched_serial);
        server->state = state_find(value_text_at(item, "state"));
    }
}

static void nameservers_decode(struct arena *arena, const struct value *list,
                               struct zone_status *out)
{
    out->nameservers = arena_new_array(arena, struct text, value_count(list) + 1);
    value_each (item, list)
        out->nameservers[out->nameserver_count++] = value_text(item);
}

void zone_status_decode(struct arena *arena, const struct value *object, struct zone_status *out)
{
    const struct value *status = value_find(object, "status");
    *out = (struct zone_status){
        .fqdn = value_text_at(status, "fqdn"),
        .hash = value_text_at(status, "hash"),
        .entries_complete = value_bool_at(status, "entriesComplete", false),
        .entries_total = value_int_at(status, "entryCount", 0),
        .excluded_count = value_int_at(status, "excludedCount", 0),
        .observed_generation = value_int_at(status, "observedGeneration", 0),
        .parent_label = zone_label_at(object, ZONE_PARENT_LABEL),
        .file_label = zone_label_at(object, ZONE_FILE_LABEL),
    };
    out->has_serial = uint32_at(status, "serial", &out->serial);
    entries_decode(arena, value_list_at(status, "entries"), out);
    if (out->entry_count)
        out->content_fqdn = out->entries[0].fqdn;
    nameservers_decode(arena, value_list_at(status, "nameservers"), out);
    out->server_group = value_text_at(status, "serverGroup");
    servers_decode(arena, value_list_at(status, "servers"), out);
    conditions_decode(&out->conditions, value_find(status, "conditions"), zone_condition_types);
}
