#include "dns/corefile/served_zone.h"

enum { DNS_PORT = 53 };

static const struct coredns_version with_normal_zones = {1, 14, 7};

void served_zones_add(struct served_zones *zones, struct arena *arena,
                      const struct served_options *options, const struct corefile_block *block,
                      uint32_t token, const struct corefile_address *address)
{
    uint16_t port = options->port ? options->port : DNS_PORT;
    bool is_kept = coredns_version_is_before(options->version, with_normal_zones);
    mem_reserve(&zones->items, &zones->capacity, zones->count + address->zone_count);
    for (size_t i = 0; i < address->zone_count; i++)
        zones->items[zones->count++] = (struct served_zone){
            .block = block,
            .token = token,
            .transport = address->transport,
            .zone = corefile_zone_name(arena, address->zones[i], is_kept),
            .port = corefile_address_port(arena, address, port),
        };
}

const struct corefile_directive *corefile_find_directive(const struct corefile *corefile,
                                                         const struct corefile_block *block,
                                                         const char *name)
{
    for (size_t i = 0; i < block->directive_count; i++)
        if (text_is(corefile_text(corefile, block->directives[i].first), name))
            return &block->directives[i];
    return NULL;
}

// The addresses of `bind`, all of its lines, and whether a `view` limits who is served.
static void find_listeners(struct served_zone *zone, struct arena *arena,
                           const struct corefile *corefile)
{
    const struct corefile_block *block = zone->block;
    size_t most = 0;
    zone->has_view = corefile_find_directive(corefile, block, "view");
    if (!corefile_find_directive(corefile, block, "bind"))
        return;
    for (size_t i = 0; i < block->directive_count; i++)
        most += block->directives[i].count;
    struct text *hosts = arena_new_array(arena, struct text, most);
    for (size_t i = 0; i < block->directive_count; i++) {
        const struct corefile_directive *directive = &block->directives[i];
        if (!text_is(corefile_text(corefile, directive->first), "bind"))
            continue;
        for (uint32_t at = 1; at < directive->count; at++) {
            struct text text = corefile_text(corefile, directive->first + at);
            if (text_is(text, "{"))
                break;
            hosts[zone->host_count++] = text;
        }
    }
    zone->hosts = hosts;
}

static void copy_listeners(struct served_zone *zone, const struct served_zone *other)
{
    zone->hosts = other->hosts;
    zone->host_count = other->host_count;
    zone->has_view = other->has_view;
}

void served_zones_find_listeners(struct served_zones *zones, struct arena *arena,
                                 const struct corefile *corefile)
{
    for (size_t i = 0; i < zones->count; i++) {
        struct served_zone *zone = &zones->items[i];
        if (i && zone[-1].block == zone->block)
            copy_listeners(zone, &zone[-1]);
        else
            find_listeners(zone, arena, corefile);
    }
}
