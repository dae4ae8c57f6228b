#include "dns/corefile/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "dns/corefile/served_zone.h"
#include "dns/corefile/setup.h"

// The stages of CoreDNS: parse, look at the addresses of all blocks, set up the plugins in compiled
// order, look for zones that are served twice, then start the servers.

static const struct coredns_version with_views_apart = {1, 14, 3};
static const struct coredns_version with_https3 = {1, 13, 2};

static const struct checked_plugin *const checked_plugins[] = {
    forward_plugins, kubernetes_plugins, server_plugins, cache_plugins,
    zone_plugins,    query_plugins,      rewrite_plugins};

// ---- addresses ----------------------------------------------------------------------------------

static const char *file_of(const struct linter *linter, uint32_t token)
{
    return linter->corefile->files[linter->corefile->tokens[token].file].path;
}

static uint32_t line_of(const struct linter *linter, uint32_t token)
{
    return linter->corefile->tokens[token].line;
}

static struct corefile_problem *fail_at(struct linter *linter, uint32_t token, const char *rule,
                                        const char *text)
{
    struct corefile_problem *problem = corefile_add_problem(
        linter->problems, rule, file_of(linter, token), line_of(linter, token), "%s", text);
    if (problem)
        problem->has_no_position = true;
    return problem;
}

static void inspect_key(struct linter *linter, struct served_zones *zones,
                        const struct corefile_block *block, size_t key)
{
    struct corefile_address address;
    const struct served_options served = {linter->options->version, linter->options->port};
    uint32_t token = block->key_tokens[key];
    const char *fault = corefile_address_read_as(linter->arena, block->keys[key],
                                                 linter->options->version, &address);
    if (!fault) {
        served_zones_add(zones, linter->arena, &served, block, token, &address);
        return;
    }
    struct corefile_problem *problem = fail_at(linter, token, "address", fault);
    if (problem)
        problem->prefix = "error inspecting server blocks: ";
}

static void inspect_addresses(struct linter *linter, struct served_zones *zones)
{
    const struct corefile *corefile = linter->corefile;
    for (size_t i = 0; i < corefile->block_count; i++)
        for (size_t key = 0; key < corefile->blocks[i].key_count; key++)
            inspect_key(linter, zones, &corefile->blocks[i], key);
}

// ---- plugins ------------------------------------------------------------------------------------

// The directives of a file by plugin, and of one plugin by block.
struct placed {
    uint32_t place;
    uint32_t block;
    uint32_t directive;
};

// Counts where the directives of each place begin; the last number is how many there are.
static size_t *count_places(const struct corefile *corefile, size_t places)
{
    size_t *starts = mem_new_array(size_t, places + 1);
    for (size_t i = 0; i < corefile->block_count; i++)
        for (size_t at = 0; at < corefile->blocks[i].directive_count; at++)
            starts[corefile->blocks[i].directives[at].place + 1]++;
    for (size_t place = 0; place < places; place++)
        starts[place + 1] += starts[place];
    return starts;
}

// Sorts directives by place. Directives of one place stay in the order of the file.
static struct placed *place_directives(const struct corefile *corefile, size_t places,
                                       size_t *count)
{
    autofree size_t *next = count_places(corefile, places);
    *count = next[places];
    struct placed *placed = mem_new_array(struct placed, *count + 1);
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        for (size_t at = 0; at < block->directive_count; at++) {
            uint32_t place = block->directives[at].place;
            placed[next[place]++] =
                (struct placed){place, (uint32_t)i, (uint32_t)(block->first_directive + at)};
        }
    }
    return placed;
}

// The tokens of all directives of one plugin in one block.
static size_t collect_tokens(const struct corefile *corefile, const struct placed *placed,
                             size_t count, uint32_t **tokens, size_t *capacity)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        const struct corefile_directive *directive = &corefile->directives[placed[i].directive];
        mem_reserve(tokens, capacity, all + directive->count);
        for (uint32_t at = 0; at < directive->count; at++)
            (*tokens)[all++] = directive->first + at;
    }
    return all;
}

enum stage {
    STAGE_SETUP,
    STAGE_START, // of the servers, once all of them are set up
};

typedef bool plugin_check(struct setup *setup);

// NULL: nothing of that plugin is checked then.
static plugin_check *find_check(const char *name, enum stage stage)
{
    for (size_t i = 0; i < COUNT_OF(checked_plugins); i++)
        for (const struct checked_plugin *plugin = checked_plugins[i]; plugin->name; plugin++)
            if (!strcmp(plugin->name, name))
                return stage == STAGE_SETUP ? plugin->check : plugin->check_start;
    return NULL;
}

static void check_plugins(struct linter *linter, const struct coredns_directives *directives,
                          enum stage stage)
{
    size_t count;
    size_t capacity = 0;
    uint32_t *tokens = NULL;
    plugin_check *check = NULL;
    const struct corefile *corefile = linter->corefile;
    struct placed *placed = place_directives(corefile, directives->count, &count);
    for (size_t at = 0, end; at < count; at = end) {
        if (!at || placed[at].place != placed[at - 1].place)
            check = find_check(directives->names[placed[at].place], stage);
        for (end = at; end < count && placed[end].place == placed[at].place &&
                       placed[end].block == placed[at].block;)
            end++;
        if (!check)
            continue;
        size_t token_count = collect_tokens(corefile, placed + at, end - at, &tokens, &capacity);
        struct setup setup = {
            .linter = linter,
            .block = &corefile->blocks[placed[at].block],
            .plugin = directives->names[placed[at].place],
            .tokens = tokens,
            .count = token_count,
        };
        check(&setup);
    }
    free(tokens);
    free(placed);
}

// ---- overlap ------------------------------------------------------------------------------------

// A zone at one address of its block.
struct listener {
    const struct served_zone *zone;
    struct text host; // empty: all
    size_t latest;    // of the first one for a zone: the last one
};
struct listeners {
    struct listener *items;
    size_t count;
    size_t capacity;
    struct table exact;   // by zone, port, transport and host
    struct table unbound; // without the host
};

static uint64_t hash_zone(const struct served_zone *zone, struct text host)
{
    uint64_t hash = hash_octets(zone->zone.at, zone->zone.len);
    hash = hash * 31 + hash_octets(zone->port.at, zone->port.len);
    hash = hash * 31 + hash_octets(zone->transport, strlen(zone->transport));
    return hash * 31 + hash_octets(host.at ? host.at : "", host.len);
}

static bool is_same_zone(const struct served_zone *a, const struct served_zone *b)
{
    return text_equal(a->zone, b->zone) && text_equal(a->port, b->port) &&
           !strcmp(a->transport, b->transport);
}

static bool matches_exact(const void *context, uint32_t id, const void *key)
{
    const struct listener *there = &((const struct listeners *)context)->items[id];
    const struct listener *wanted = key;
    return is_same_zone(there->zone, wanted->zone) && text_equal(there->host, wanted->host);
}

static bool matches_unbound(const void *context, uint32_t id, const void *key)
{
    const struct listener *there = &((const struct listeners *)context)->items[id];
    return is_same_zone(there->zone, ((const struct listener *)key)->zone);
}

static uint64_t hash_exact(const void *context, uint32_t id)
{
    const struct listener *there = &((const struct listeners *)context)->items[id];
    return hash_zone(there->zone, there->host);
}

static uint64_t hash_unbound(const void *context, uint32_t id)
{
    const struct listener *there = &((const struct listeners *)context)->items[id];
    return hash_zone(there->zone, TEXT(""));
}

static const struct table_ops exact_ops = {matches_exact, hash_exact};
static const struct table_ops unbound_ops = {matches_unbound, hash_unbound};

static const char *show_listener(struct arena *arena, const struct listener *listener)
{
    const struct served_zone *zone = listener->zone;
    return arena_printf(arena, "%s://%.*s:%.*s%s%.*s", zone->transport, TEXT_ARGS(zone->zone),
                        TEXT_ARGS(zone->port), listener->host.len ? " on " : "",
                        TEXT_ARGS(listener->host));
}

static void fail_twice(struct linter *linter, const struct listener *listener)
{
    fail_at(linter, listener->zone->token, "zone-twice",
            arena_printf(linter->arena, "cannot serve %s - it is already defined",
                         show_listener(linter->arena, listener)));
}

static void fail_overlap(struct linter *linter, const struct listener *listener,
                         const struct listener *other)
{
    fail_at(linter, listener->zone->token, "zone-overlap",
            arena_printf(linter->arena, "cannot serve %s - zone overlap listener capacity with %s",
                         show_listener(linter->arena, listener),
                         show_listener(linter->arena, other)));
}

static void register_listener(struct linter *linter, struct listeners *listeners,
                              const struct listener *listener)
{
    const struct listener everywhere = {.zone = listener->zone, .host = TEXT("")};
    uint64_t exact_hash = hash_zone(listener->zone, listener->host);
    uint64_t unbound_hash = hash_zone(listener->zone, TEXT(""));
    bool has_view = listener->zone->has_view;
    if (table_find(&listeners->exact, exact_hash, listener) != TABLE_NONE) {
        if (!has_view || coredns_version_is_before(linter->options->version, with_views_apart))
            fail_twice(linter, listener);
        return;
    }
    uint32_t other = table_find(&listeners->unbound, unbound_hash, listener);
    bool is_taken = !listener->host.len ||
                    table_find(&listeners->exact, unbound_hash, &everywhere) != TABLE_NONE;
    if (other != TABLE_NONE && is_taken) {
        must(listeners->items);
        fail_overlap(linter, listener, &listeners->items[listeners->items[other].latest]);
        return;
    }
    if (has_view)
        return;
    mem_reserve(&listeners->items, &listeners->capacity, listeners->count + 1);
    listeners->items[listeners->count] = *listener;
    table_add(&listeners->exact, exact_hash, (uint32_t)listeners->count);
    if (other == TABLE_NONE)
        table_add(&listeners->unbound, unbound_hash, (uint32_t)listeners->count);
    listeners->items[other == TABLE_NONE ? listeners->count : other].latest = listeners->count;
    listeners->count++;
}

static bool has_port(struct linter *linter, const struct served_zone *zone)
{
    int64_t port;
    if (!zone->port.len || (text_to_int64(zone->port, &port) && port >= 0 && port <= UINT16_MAX))
        return true;
    fail_at(linter, zone->token, "port",
            arena_printf(linter->arena, "address %.*s: invalid port", TEXT_ARGS(zone->port)));
    return false;
}

// HTTP/3 has no form without TLS; the other transports are served in the clear then.
static bool has_its_tls(struct linter *linter, const struct served_zone *zone)
{
    if (strcmp(zone->transport, "https3") ||
        corefile_find_directive(linter->corefile, zone->block, "tls") ||
        coredns_version_is_before(linter->options->version, with_https3))
        return true;
    struct corefile_problem *problem =
        fail_at(linter, zone->token, "no-tls", "DoH3 requires TLS, no TLS config found");
    if (problem)
        problem->hint = "add `tls` with a certificate to the server block";
    return false;
}

static void check_overlap(struct linter *linter, struct served_zones *zones)
{
    struct listeners listeners = {.exact = {.ops = &exact_ops}, .unbound = {.ops = &unbound_ops}};
    listeners.exact.context = &listeners;
    listeners.unbound.context = &listeners;
    served_zones_find_listeners(zones, linter->arena, linter->corefile);
    for (size_t i = 0; i < zones->count; i++) {
        const struct served_zone *zone = &zones->items[i];
        if (!has_port(linter, zone) || !has_its_tls(linter, zone))
            continue;
        if (!zone->host_count)
            register_listener(linter, &listeners, &(struct listener){zone, TEXT(""), 0});
        for (size_t host = 0; host < zone->host_count; host++)
            register_listener(linter, &listeners, &(struct listener){zone, zone->hosts[host], 0});
    }
    table_done(&listeners.exact);
    table_done(&listeners.unbound);
    free(listeners.items);
}

// ---- all of it ----------------------------------------------------------------------------------

struct corefile *corefile_lint(const struct corefile_file *file,
                               const struct corefile_lint_options *options,
                               struct corefile_problems *problems)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct served_zones zones = {0};
    struct coredns_directives *directives =
        options->directives ? coredns_directives_from(arena, options->directives, options->plugins)
                            : coredns_directives_make(arena, options->version, options->plugins);
    const struct corefile_options parsing = {
        .world = options->world,
        .directives = directives,
        .is_override = options->is_override,
    };
    struct corefile *corefile = corefile_new(file, &parsing, problems);
    struct linter linter = {corefile, options, problems, problems->arena};
    if (!options->is_override)
        inspect_addresses(&linter, &zones);
    check_plugins(&linter, directives, STAGE_SETUP);
    if (!options->is_override) {
        check_overlap(&linter, &zones);
        check_plugins(&linter, directives, STAGE_START);
    }
    lint_advise(&linter, directives);
    free(zones.items);
    return corefile;
}

bool corefile_is_accepted(const struct corefile_problems *problems)
{
    return !problems->error_count;
}
