#include "kinds/dns/dns_body.h"

// What the status says of that zone of this object, or NULL.
static const struct value *find_forwarder(const struct value *object, struct text zone)
{
    AUTO_BUFFER own = {0};
    buffer_printf(&own, "%.*s ", TEXT_ARGS(value_text_at(object, "metadata.name")));
    value_each (item, value_list_at(object, "status.forwarders"))
        if (text_equal(value_text_at(item, "zone"), zone) &&
            text_starts(value_text_at(item, "source"), own.at))
            return item;
    return NULL;
}

static struct text join_upstreams(struct arena *arena, const struct dns_forward *forward)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < forward->upstream_count; i++)
        buffer_printf(&out, "%s%.*s", i ? ", " : "", TEXT_ARGS(forward->upstreams[i]));
    return (struct text){arena_copy(arena, buffer_text(&out).at, out.len), out.len};
}

static void refuse(struct kind_name *name, struct text reason, struct text message)
{
    name->status = "False";
    name->reason = reason;
    name->message = message;
}

static void list_zone(const struct value *object, const struct dns_server *server,
                      const struct dns_server_check *check, const struct dns_zone *zone,
                      struct kind_names *out)
{
    const struct value *forwarder = find_forwarder(object, zone->name);
    struct kind_name *added = kind_names_add(out, KIND_NAME_FORWARD, zone->name);
    added->values = join_upstreams(out->arena, &server->forward);
    if (zone->reason || check->reason)
        refuse(added, text_of(reason_name(zone->reason ? zone->reason : check->reason)),
               text_of(zone->reason ? zone->text : check->text));
    else if (forwarder && !text_is(value_text_at(forwarder, "state"), "Serving"))
        refuse(added, value_text_at(forwarder, "reason"), value_text_at(forwarder, "message"));
}

void dns_list_names(const struct value *object, struct kind_names *out)
{
    static const struct dns_context context = {0};
    struct dns_spec spec;
    struct dns_faults faults = {.arena = out->arena};
    dns_decode(out->arena, object, &spec);
    for (size_t i = 0; i < spec.server_count; i++) {
        struct dns_server_check check = {0};
        dns_check_server(&spec.servers[i], &context, &faults, &check);
        for (size_t j = 0; j < check.zone_count; j++)
            list_zone(object, &spec.servers[i], &check, &check.zones[j], out);
    }
}
