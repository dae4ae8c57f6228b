#include <string.h>

#include "kinds/dns/dns_body.h"
#include "kinds/tree_body.h"

static const struct text *texts_of(struct arena *arena, const struct value *list, size_t *count)
{
    struct text *texts = arena_new_array(arena, struct text, value_count(list) + 1);
    *count = 0;
    value_each (item, list)
        texts[(*count)++] = item->type == VALUE_TEXT ? item->text : TEXT("");
    return texts;
}

static const struct text *texts_at(struct arena *arena, const struct value *map, const char *path,
                                   size_t *count)
{
    return texts_of(arena, value_list_at(map, path), count);
}

static bool int_at(const struct value *map, const char *path, int64_t *out)
{
    const struct value *value = value_at(map, path, NULL);
    if (!value || value->type != VALUE_INT)
        return false;
    *out = value->integer;
    return true;
}

// null counts as absent.
static bool has_map_at(const struct value *map, const char *path)
{
    const struct value *value = value_at(map, path, NULL);
    return value && value->type == VALUE_MAP;
}

static struct dns_transport transport_of(const struct value *map)
{
    return (struct dns_transport){
        .name = value_text_at(map, "transportConfig.transport"),
        .has_tls = has_map_at(map, "transportConfig.tls"),
        .server_name = value_text_at(map, "transportConfig.tls.serverName"),
        .bundle = value_text_at(map, "transportConfig.tls.caBundle.name"),
    };
}

static struct dns_cache cache_of(const struct value *map)
{
    return (struct dns_cache){
        .positive = value_text_at(map, "positiveTTL"),
        .negative = value_text_at(map, "negativeTTL"),
        .serve_stale = value_text_at(map, "serveStale"),
    };
}

static void decode_options(struct arena *arena, const struct value *options,
                           struct dns_forward *out)
{
    const struct value *health = value_find(options, "healthCheck");
    out->except = texts_at(arena, options, "except", &out->except_count);
    out->prefers_udp = value_bool_at(options, "preferUDP", false);
    out->expire = value_text_at(options, "expire");
    out->has_max_fails = int_at(options, "maxFails", &out->max_fails);
    out->has_health_check = has_map_at(options, "healthCheck");
    out->health_interval = value_text_at(health, "interval");
    out->is_health_without_recursion = value_bool_at(health, "noRecursion", false);
    out->health_domain = value_text_at(health, "domain");
    out->has_max_concurrent = int_at(options, "maxConcurrent", &out->max_concurrent);
    out->failover = texts_at(arena, options, "failover", &out->failover_count);
}

static void decode_server(struct arena *arena, const struct value *map, struct dns_server *out)
{
    const struct value *forward = value_find(map, "forwardPlugin");
    out->name = value_text_at(map, "name");
    out->zones = texts_at(arena, map, "zones", &out->zone_count);
    out->forward.upstreams = texts_at(arena, forward, "upstreams", &out->forward.upstream_count);
    out->forward.policy = value_text_at(forward, "policy");
    out->forward.protocol = value_text_at(forward, "protocolStrategy");
    out->forward.transport = transport_of(forward);
    decode_options(arena, value_find(forward, "options"), &out->forward);
    out->cache = cache_of(value_find(map, "cache"));
    out->filters_aaaa = value_bool_at(map, "filterAAAA", false);
}

static void decode_plugin(struct arena *arena, const struct value *map, struct dns_server *out)
{
    const struct value *go = value_list_at(map, "nameservers");
    const struct value *yaml = value_list_at(map, "nameServers");
    struct text *zone = arena_new_of(arena, struct text);
    *zone = value_text_at(map, "domain");
    out->is_plugin = true;
    out->name = *zone;
    out->zones = zone;
    out->zone_count = zone->at != NULL;
    out->has_rival_lists = go && yaml && !value_equal(go, yaml);
    out->forward.upstreams = texts_of(arena, go ? go : yaml, &out->forward.upstream_count);
    out->forward.policy = value_text_at(map, "policy");
}

// A list of entries and where it stands.
struct source {
    const char *path;
    void (*decode)(struct arena *arena, const struct value *map, struct dns_server *out);
};
static const struct source sources[] = {
    {"spec.servers", decode_server},
    {"spec.pluginConfig.forwardPlugins", decode_plugin},
    {"spec.pluginConfig.forwardPlugin", decode_plugin},
};

static void decode_servers(struct arena *arena, const struct value *object, struct dns_spec *out)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        count += value_count(value_list_at(object, sources[i].path));
    struct dns_server *servers = arena_new_array(arena, struct dns_server, count + 1);
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        size_t at = 0;
        value_each (item, value_list_at(object, sources[i].path)) {
            struct dns_server *server = &servers[out->server_count++];
            server->path = arena_printf(arena, "%s[%zu]", sources[i].path, at++);
            sources[i].decode(arena, item, server);
        }
    }
    out->servers = servers;
}

static void decode_resolvers(struct arena *arena, const struct value *map,
                             struct dns_resolvers *out)
{
    const struct value *list = value_list_at(map, "upstreams");
    struct dns_upstream *upstreams =
        arena_new_array(arena, struct dns_upstream, value_count(list) + 1);
    value_each (item, list) {
        struct dns_upstream *upstream = &upstreams[out->upstream_count++];
        upstream->type = value_text_at(item, "type");
        upstream->address = value_text_at(item, "address");
        upstream->has_port = int_at(item, "port", &upstream->port);
    }
    out->is_given = map != NULL;
    out->upstreams = upstreams;
    out->policy = value_text_at(map, "policy");
    out->protocol = value_text_at(map, "protocolStrategy");
    out->transport = transport_of(map);
}

void dns_decode(struct arena *arena, const struct value *object, struct dns_spec *out)
{
    *out = (struct dns_spec){
        .cache = cache_of(value_at(object, "spec.cache", NULL)),
        .log_level = value_text_at(object, "spec.logLevel"),
        .management_state = value_text_at(object, "spec.managementState"),
        .node_selector = value_at(object, "spec.nodePlacement.nodeSelector", NULL),
        .tolerations = value_list_at(object, "spec.nodePlacement.tolerations"),
    };
    decode_servers(arena, object, out);
    decode_resolvers(arena, value_at(object, "spec.upstreamResolvers", NULL), &out->resolvers);
}

// The cache has the spec as JSON: there are a handful of these objects, with many small fields.
void dns_pack_spec(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = value_make(arena, VALUE_MAP);
    const struct value *spec = value_find(object, "spec");
    if (spec)
        value_set(tree, TEXT("spec"), value_copy(arena, spec));
    tree_pack(out, tree);
}

void dns_unpack(struct arena *arena, struct text spec, struct dns_spec *out)
{
    struct pack_reader in = pack_open(spec);
    dns_decode(arena, tree_unpack(arena, &in), out);
}
