#include "dns/corefile/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/dname.h"
#include "dns/rr_type.h"

bool corefile_query_name(struct arena *arena, struct text text, struct text *out, struct error *err)
{
    static const uint8_t empty[1] = {0};
    static const struct dname root = {empty, sizeof empty};
    uint8_t octets[DNAME_MAX];
    struct dname name;
    AUTO_BUFFER shown = {0};
    if (!dname_read(text, &root, DNAME_OF_FILE, octets, &name, err))
        return false;
    dname_write(&shown, name);
    *out = (struct text){arena_copy(arena, shown.at, shown.len), shown.len};
    return true;
}

// ---- addresses ----------------------------------------------------------------------------------

// Where a CoreDNS listens; it looks for zones at each of these apart.
struct listener {
    const char *transport;
    struct text host;
    struct text port;
};

struct search {
    struct arena *arena;
    const struct corefile_query *query;
    struct served_zones zones;
    struct listener *listeners;
    size_t listener_count;
    size_t listener_capacity;
    struct corefile_route *routes;
    size_t route_count;
    size_t route_capacity;
};

static bool is_same_listener(const struct listener *a, const struct listener *b)
{
    return !strcmp(a->transport, b->transport) && text_equal(a->host, b->host) &&
           text_equal(a->port, b->port);
}

static void add_listener(struct search *search, const struct served_zone *zone, struct text host)
{
    const struct listener listener = {zone->transport, host, zone->port};
    for (size_t i = 0; i < search->listener_count; i++)
        if (is_same_listener(&search->listeners[i], &listener))
            return;
    mem_reserve(&search->listeners, &search->listener_capacity, search->listener_count + 1);
    search->listeners[search->listener_count++] = listener;
}

static void find_listeners(struct search *search)
{
    for (size_t i = 0; i < search->zones.count; i++) {
        const struct served_zone *zone = &search->zones.items[i];
        if (!zone->host_count)
            add_listener(search, zone, TEXT(""));
        for (size_t host = 0; host < zone->host_count; host++)
            add_listener(search, zone, zone->hosts[host]);
    }
}

static bool is_served_at(const struct served_zone *zone, const struct listener *listener)
{
    if (strcmp(zone->transport, listener->transport) != 0 ||
        !text_equal(zone->port, listener->port))
        return false;
    for (size_t host = 0; host < zone->host_count; host++)
        if (text_equal(zone->hosts[host], listener->host))
            return true;
    return !zone->host_count && !listener->host.len;
}

static void find_zones(struct search *search, const struct corefile *corefile,
                       const struct served_options *served)
{
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        for (size_t key = 0; key < block->key_count; key++) {
            struct corefile_address address;
            if (!corefile_address_read(search->arena, block->keys[key], &address))
                served_zones_add(&search->zones, search->arena, served, block,
                                 block->key_tokens[key], &address);
        }
    }
    served_zones_find_listeners(&search->zones, search->arena, corefile);
}

// ---- zones --------------------------------------------------------------------------------------

static void add_route(struct search *search, const struct listener *listener,
                      const struct served_zone *zone, enum route_reason reason)
{
    static const struct served_zone none = {0};
    const struct served_zone *found = zone ? zone : &none;
    mem_reserve(&search->routes, &search->route_capacity, search->route_count + 1);
    search->routes[search->route_count++] = (struct corefile_route){
        .transport = listener->transport,
        .host = listener->host,
        .port = listener->port,
        .block = found->block,
        .token = found->token,
        .zone = found->zone,
        .is_conditional = found->has_view,
        .reason = reason,
    };
}

// Adds the blocks that serve exactly that zone there, up to the first that takes all queries.
// False: there is none such.
static bool take_zone(struct search *search, const struct listener *listener, struct text zone,
                      enum route_reason reason)
{
    const struct served_zones *zones = &search->zones;
    for (size_t i = 0; i < zones->count; i++) {
        size_t at = reason == ROUTE_PARENT ? zones->count - 1 - i : i;
        const struct served_zone *served = &zones->items[at];
        if (!text_equal(served->zone, zone) || !is_served_at(served, listener))
            continue;
        add_route(search, listener, served, reason);
        if (!served->has_view)
            return true;
    }
    return false;
}

// The name and what is left of it without its first labels, but for the root.
static size_t split_name(struct text name, struct text suffixes[DNAME_LABELS_MAX])
{
    size_t count = 0;
    for (size_t at = 0; at + 1 < name.len; at++) {
        must(count < DNAME_LABELS_MAX);
        suffixes[count++] = (struct text){name.at + at, name.len - at};
        for (; name.at[at] != '.'; at++)
            at += name.at[at] == '\\';
    }
    return count;
}

static void find_route(struct search *search, const struct listener *listener)
{
    struct text suffixes[DNAME_LABELS_MAX];
    bool is_of_parent = search->query->type == RR_DS;
    size_t count = split_name(search->query->name, suffixes);
    for (size_t i = 0; i < count; i++)
        if (take_zone(search, listener, suffixes[is_of_parent ? count - 1 - i : i],
                      is_of_parent ? ROUTE_PARENT : ROUTE_LONGEST))
            return;
    if (!take_zone(search, listener, TEXT("."), ROUTE_ROOT))
        add_route(search, listener, NULL, ROUTE_NONE);
}

void corefile_find_routes(struct arena *arena, const struct corefile *corefile,
                          const struct served_options *served, const struct corefile_query *query,
                          struct corefile_routes *out)
{
    struct search search = {.arena = arena, .query = query};
    find_zones(&search, corefile, served);
    find_listeners(&search);
    for (size_t i = 0; i < search.listener_count; i++)
        find_route(&search, &search.listeners[i]);
    out->count = search.route_count;
    out->items = arena_new_array(arena, struct corefile_route, search.route_count + 1);
    if (search.route_count)
        memcpy(out->items, search.routes, search.route_count * sizeof *search.routes);
    free(search.routes);
    free(search.listeners);
    free(search.zones.items);
}
