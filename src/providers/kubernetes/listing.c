#include "providers/kubernetes/listing.h"

#include <string.h>

enum { ADDRESS_OCTETS_MAX = 253, NAME_OCTETS_MAX = 63 };

void listing_init(struct listing *listing, struct arena *arena)
{
    *listing = (struct listing){.arena = arena, .services = value_make(arena, VALUE_LIST)};
}

static struct text copy_text(struct arena *arena, struct text text)
{
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

// Headless Services have "None".
static void add_address(struct listing *listing, struct value *list, struct text address)
{
    if (address.len && address.len <= ADDRESS_OCTETS_MAX && !text_is(address, "None") &&
        value_count(list) < LISTING_ADDRESSES_MAX)
        value_append(list, value_make_text(listing->arena, copy_text(listing->arena, address)));
}

static void put_list(struct value *map, const char *key, struct value *list)
{
    if (value_count(list))
        value_set(map, text_of(key), list);
}

static bool refuse_number(struct error *err, const char *what, size_t most)
{
    return error_set(err, FAULT_SPEC, "ServerError",
                     "the cluster has more than %zu %s: at most so "
                     "many are read",
                     most, what);
}

// ---- Services -----------------------------------------------------------------------------------

// Servers of old have the one address alone.
static struct value *cluster_ips_of(struct listing *listing, const struct value *service)
{
    struct value *list = value_make(listing->arena, VALUE_LIST);
    const struct value *all = value_list_at(service, "spec.clusterIPs");
    value_each (address, all)
        add_address(listing, list, value_text(address));
    if (!all)
        add_address(listing, list, value_text_at(service, "spec.clusterIP"));
    return list;
}

static struct value *ingress_of(struct listing *listing, const struct value *service,
                                const char *key)
{
    struct value *list = value_make(listing->arena, VALUE_LIST);
    value_each (ingress, value_list_at(service, "status.loadBalancer.ingress"))
        add_address(listing, list, value_text_at(ingress, key));
    return list;
}

static void add_service(struct listing *listing, const struct value *service)
{
    struct value *map = value_make(listing->arena, VALUE_MAP);
    struct text name = value_text_at(service, "metadata.name");
    bool has_node_ports = text_is(value_text_at(service, "spec.type"), "NodePort");
    if (!name.len || name.len > NAME_OCTETS_MAX)
        return;
    value_set(map, TEXT("name"), value_make_text(listing->arena, copy_text(listing->arena, name)));
    if (has_node_ports)
        value_put_text(listing->arena, map, "type", "NodePort");
    put_list(map, "clusterIPs", cluster_ips_of(listing, service));
    put_list(map, "ips", ingress_of(listing, service, "ip"));
    put_list(map, "hostnames", ingress_of(listing, service, "hostname"));
    listing->has_node_ports |= has_node_ports;
    value_append(listing->services, map);
}

bool listing_add_services(struct listing *listing, const struct value *page, struct error *err)
{
    const struct value *items = value_list_at(page, "items");
    listing->service_count += value_count(items);
    if (listing->service_count > LISTING_SERVICES_MAX)
        return refuse_number(err, "Services in that namespace", LISTING_SERVICES_MAX);
    value_each (service, items)
        add_service(listing, service);
    return true;
}

// ---- Nodes --------------------------------------------------------------------------------------

static bool is_usable(const struct value *node)
{
    if (value_bool_at(node, "spec.unschedulable", false))
        return false;
    value_each (condition, value_list_at(node, "status.conditions"))
        if (text_is(value_text_at(condition, "type"), "Ready"))
            return text_is(value_text_at(condition, "status"), "True");
    return false;
}

static struct value *addresses_of(struct listing *listing, const struct value *node,
                                  const char *type)
{
    struct value *list = value_make(listing->arena, VALUE_LIST);
    value_each (address, value_list_at(node, "status.addresses"))
        if (text_is(value_text_at(address, "type"), type))
            add_address(listing, list, value_text_at(address, "address"));
    return list;
}

static void add_node(struct listing *listing, const struct value *node)
{
    struct value *map = value_make(listing->arena, VALUE_MAP);
    put_list(map, "externalIPs", addresses_of(listing, node, "ExternalIP"));
    put_list(map, "internalIPs", addresses_of(listing, node, "InternalIP"));
    value_append(listing->nodes, map);
}

bool listing_add_nodes(struct listing *listing, const struct value *page, struct error *err)
{
    const struct value *items = value_list_at(page, "items");
    if (!listing->nodes)
        listing->nodes = value_make(listing->arena, VALUE_LIST);
    listing->node_count += value_count(items);
    if (listing->node_count > LISTING_NODES_MAX)
        return refuse_number(err, "Nodes", LISTING_NODES_MAX);
    value_each (node, items)
        if (is_usable(node))
            add_node(listing, node);
    return true;
}
