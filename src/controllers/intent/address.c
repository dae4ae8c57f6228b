#include "controllers/intent/address.h"

#include <string.h>
#include <sys/socket.h>

#include "kinds/target.h"

struct finder {
    struct arena *arena;
    struct cluster_view *view;
    const struct resolved_service *service;
    const struct resolved_cluster *cluster;
    enum address_scope scope;
    bool allows_private;
    struct text *items;
    size_t count;
    size_t capacity;
    bool has_private;       // some were left out for that
    struct text doubted;    // a private one that an operator wrote for the public; absent: none
    const char *unreadable; // why the cluster does not say, for people
};

// ---- addresses ----------------------------------------------------------------------------------

// Networks that nobody outside reaches (RFC 1918, RFC 6598, loopback, link-local, RFC 4193).
static const struct network {
    int family;
    uint8_t octets[16];
    unsigned bits;
} private_networks[] = {
    {AF_INET, {10}, 8},       {AF_INET, {172, 16}, 12},     {AF_INET, {192, 168}, 16},
    {AF_INET, {100, 64}, 10}, {AF_INET, {127}, 8},          {AF_INET, {169, 254}, 16},
    {AF_INET6, {0xfc}, 7},    {AF_INET6, {0xfe, 0x80}, 10}, {AF_INET6, {[15] = 1}, 128},
};

static bool is_within(const uint8_t octets[16], const struct network *network)
{
    unsigned whole = network->bits / 8;
    unsigned rest = network->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> rest);
    return !memcmp(octets, network->octets, whole) &&
           (!rest || (octets[whole] & mask) == (network->octets[whole] & mask));
}

static bool is_private(struct text address)
{
    uint8_t octets[16] = {0};
    int family = target_family(address, octets);
    for (size_t i = 0; i < COUNT_OF(private_networks); i++)
        if (private_networks[i].family == family && is_within(octets, &private_networks[i]))
            return true;
    return false;
}

static void add(struct finder *finder, struct text address)
{
    if (text_ends(address, "."))
        address.len--;
    if (!address.len)
        return;
    arena_reserve(finder->arena, &finder->items, &finder->capacity, finder->count + 1);
    finder->items[finder->count++] = address;
}

// An address that a cluster reports. A private one is no public address, unless an operator allowed
// it; one that an operator wrote is taken as it is.
static void add_seen(struct finder *finder, struct text address)
{
    if (finder->scope == ADDRESS_PUBLIC && !finder->allows_private && is_private(address))
        finder->has_private = true;
    else
        add(finder, address);
}

// ---- what operators wrote -----------------------------------------------------------------------

static void add_written(struct finder *finder, struct text address)
{
    if (finder->scope == ADDRESS_PUBLIC && !finder->allows_private && is_private(address))
        finder->doubted = address;
    add(finder, address);
}

static void add_value(struct finder *finder, struct text value)
{
    struct text piece;
    while (text_cut(&value, ',', &piece))
        add_written(finder, text_trim(piece));
}

static const char *kv_key(const struct finder *finder)
{
    return finder->scope == ADDRESS_PUBLIC ? "dnsPublicAddress" : "dnsLocalAddress";
}

static void add_service_value(struct finder *finder)
{
    const char *key = arena_printf(finder->arena, "%s.%.*s", kv_key(finder),
                                   TEXT_ARGS(finder->service->intent->service));
    add_value(finder, kv_sets_find(&finder->cluster->edge.kv, text_of(key)));
}

static void add_cluster_value(struct finder *finder)
{
    add_value(finder, kv_sets_find(&finder->cluster->edge.kv, text_of(kv_key(finder))));
}

static void add_istio_value(struct finder *finder)
{
    if (finder->service->intent->is_istio)
        add_value(finder,
                  kv_sets_find(&finder->cluster->edge.kv, TEXT("istioIngressGatewayAddress")));
}

static void add_load_balancer(struct finder *finder)
{
    if (finder->scope == ADDRESS_PUBLIC)
        add_written(finder, finder->cluster->reference->load_balancer);
}

// ---- what the cluster says ----------------------------------------------------------------------

// False: there is no such Service, or nobody knows.
static bool find_service(struct finder *finder, struct service_addresses *out)
{
    finder->unreadable = cluster_view_unreadable(finder->view);
    return !finder->unreadable &&
           cluster_view_service(finder->view, finder->service->intent->service, out);
}

static void add_ingress(struct finder *finder)
{
    struct service_addresses service;
    if (!find_service(finder, &service))
        return;
    for (size_t i = 0; i < service.ip_count; i++)
        add_seen(finder, service.ips[i]);
    for (size_t i = 0; i < service.hostname_count; i++)
        add_seen(finder, service.hostnames[i]);
}

static void add_nodes(struct finder *finder)
{
    size_t count;
    struct service_addresses service;
    const char *type = finder->scope == ADDRESS_PUBLIC ? "ExternalIP" : "InternalIP";
    if (!find_service(finder, &service) || !text_is(service.type, "NodePort"))
        return;
    const struct text *addresses =
        cluster_view_nodes(finder->view, type, &count, &finder->unreadable);
    for (size_t i = 0; i < count; i++)
        add_seen(finder, addresses[i]);
}

static void add_cluster_ips(struct finder *finder)
{
    struct service_addresses service;
    if (finder->scope == ADDRESS_PUBLIC || !find_service(finder, &service))
        return;
    for (size_t i = 0; i < service.cluster_ip_count; i++)
        add(finder, service.cluster_ips[i]);
}

// ---- the first source that has some -------------------------------------------------------------

static void (*const sources[])(struct finder *) = {
    add_service_value, add_cluster_value, add_istio_value, add_load_balancer,
    add_ingress,       add_nodes,         add_cluster_ips,
};

static const char *pending_text(const struct finder *finder)
{
    struct arena *arena = finder->arena;
    const struct resolved_cluster *cluster = finder->cluster;
    struct text service = finder->service->intent->service;
    if (finder->unreadable)
        return finder->unreadable;
    if (!cluster->is_there)
        return arena_printf(arena,
                            "cluster %s is not known: create it, or write an address into "
                            "loadBalancerIP of its reference",
                            cluster->shown);
    if (finder->has_private)
        return arena_printf(arena,
                            "Service %.*s in cluster %s has private addresses only: set "
                            "spec.allowPrivate of the DNSUpdateRecord, or write an address under "
                            "key %s",
                            TEXT_ARGS(service), cluster->shown, kv_key(finder));
    if (cluster->edge.is_local || edgecluster_is_remote(&cluster->edge))
        return arena_printf(arena,
                            "Service %.*s/%.*s has no address yet; key %s of cluster %s can name "
                            "one",
                            TEXT_ARGS(finder->view->resolved->service_namespace),
                            TEXT_ARGS(service), kv_key(finder), cluster->shown);
    return arena_printf(arena, "cluster %s has no address for Service %.*s: write one under key %s",
                        cluster->shown, TEXT_ARGS(service), kv_key(finder));
}

// A source that could have addresses and cannot be asked is the last that is looked at.
void addresses_find(struct cluster_view *view, const struct resolved_service *service,
                    enum address_scope scope, bool allows_private, struct addresses *out)
{
    struct finder finder = {
        .arena = view->reader->arena,
        .view = view,
        .service = service,
        .cluster = view->cluster,
        .scope = scope,
        .allows_private = allows_private,
    };
    for (size_t i = 0; i < COUNT_OF(sources) && !finder.count && !finder.unreadable; i++)
        sources[i](&finder);
    *out = (struct addresses){.items = finder.items,
                              .count = finder.count,
                              .doubted = finder.doubted,
                              .is_unknown = finder.unreadable != NULL};
    if (!finder.count)
        out->pending = pending_text(&finder);
}
