#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/corefile/corefile_files.h"
#include "commands/corefile/corefile_manifests.h"
#include "commands/manifest_files.h"
#include "dns/corefile/address.h"
#include "dns/corefile/entry.h"
#include "dns/corefile/splice.h"

// Other ways to say what is forwarded where, as one DNS object with `servers`.

enum { DNS_PORT = 53 };

struct converting {
    struct arena *arena;
    struct value *spec;      // of the object, but for the two that follow
    struct value *servers;   // list
    struct value *resolvers; // map; NULL: none
    uint16_t port;           // of the root block
    struct buffer lost;      // what the object can't say, a line each
};

static struct value *texts_of(struct arena *arena, const struct text *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, value_make_text(arena, texts[i]));
    return list;
}

static void put_text(struct arena *arena, struct value *map, const char *path, struct text text)
{
    if (text.len)
        value_put(arena, map, path, value_make_text(arena, text));
}

// ---- from a Corefile ----------------------------------------------------------------------------

static void put_transport(struct converting *converting, struct value *map,
                          const struct corefile_forward *forward)
{
    if (forward->tls_bundle.len)
        buffer_printf(&converting->lost,
                      "tls %.*s: put that file into a ConfigMap, key ca-bundle.crt, and name it in "
                      "transportConfig.tls.caBundle\n",
                      TEXT_ARGS(forward->tls_bundle));
    if (!forward->uses_tls)
        return;
    value_put_text(converting->arena, map, "transportConfig.transport", "TLS");
    put_text(converting->arena, map, "transportConfig.tls.serverName", forward->tls_server_name);
}

static void put_options(struct arena *arena, struct value *map,
                        const struct corefile_forward *forward)
{
    if (forward->except_count)
        value_put(arena, map, "options.except",
                  texts_of(arena, forward->except, forward->except_count));
    if (forward->prefers_udp)
        value_put_bool(arena, map, "options.preferUDP", true);
    put_text(arena, map, "options.expire", forward->expire);
    if (forward->has_max_fails)
        value_put_int(arena, map, "options.maxFails", forward->max_fails);
    put_text(arena, map, "options.healthCheck.interval", forward->health_interval);
    if (forward->is_health_without_recursion)
        value_put_bool(arena, map, "options.healthCheck.noRecursion", true);
    put_text(arena, map, "options.healthCheck.domain", forward->health_domain);
    if (forward->has_max_concurrent)
        value_put_int(arena, map, "options.maxConcurrent", forward->max_concurrent);
    if (forward->failover_count)
        value_put(arena, map, "options.failover",
                  texts_of(arena, forward->failover, forward->failover_count));
}

static struct value *server_of(struct converting *converting, const struct corefile_entry *entry)
{
    struct arena *arena = converting->arena;
    struct value *server = value_make(arena, VALUE_MAP);
    struct value *forward = value_make(arena, VALUE_MAP);
    put_text(arena, server, "name", entry->zones[0]);
    value_set(server, TEXT("zones"), texts_of(arena, entry->zones, entry->zone_count));
    value_set(forward, TEXT("upstreams"),
              texts_of(arena, entry->forward.upstreams, entry->forward.upstream_count));
    value_put_text(arena, forward, "policy", dns_policies[entry->forward.policy]);
    if (entry->forward.forces_tcp)
        value_put_text(arena, forward, "protocolStrategy", "TCP");
    put_transport(converting, forward, &entry->forward);
    put_options(arena, forward, &entry->forward);
    value_set(server, TEXT("forwardPlugin"), forward);
    if (entry->cache.positive_s)
        value_put_text(arena, server, "cache.positiveTTL",
                       arena_printf(arena, "%us", entry->cache.positive_s));
    if (entry->cache.negative_s)
        value_put_text(arena, server, "cache.negativeTTL",
                       arena_printf(arena, "%us", entry->cache.negative_s));
    put_text(arena, server, "cache.serveStale", entry->cache.serve_stale);
    if (entry->filters_aaaa)
        value_put_bool(arena, server, "filterAAAA", true);
    return server;
}

static void add_lost(struct converting *converting, const struct corefile *corefile,
                     const struct corefile_block *block, const struct corefile_rest *rest)
{
    const struct corefile_token *token = &corefile->tokens[block->first];
    for (size_t i = 0; i < rest->count; i++)
        buffer_printf(&converting->lost, "%s:%u: %.*s\n", corefile->files[token->file].path,
                      token->line, TEXT_ARGS(rest->items[i]));
}

static struct value *resolver_of(struct converting *converting, struct text server)
{
    struct arena *arena = converting->arena;
    struct value *upstream = value_make(arena, VALUE_MAP);
    struct dns_address address;
    if (text_is(server, "/etc/resolv.conf")) {
        value_put_text(arena, upstream, "type", "SystemResolvConf");
        return upstream;
    }
    if (!dns_address_read(server, &address)) {
        buffer_printf(&converting->lost, "forward . %.*s\n", TEXT_ARGS(server));
        return NULL;
    }
    struct text host = server;
    if (text_starts(server, "["))
        host = (struct text){
            server.at + 1,
            (size_t)((const char *)memchr(server.at, ']', server.len) - server.at) - 1};
    else if (address.len == 4 && address.port)
        host.len = (size_t)((const char *)memchr(server.at, ':', server.len) - server.at);
    value_put_text(arena, upstream, "type", "Network");
    put_text(arena, upstream, "address", host);
    if (address.port)
        value_put_int(arena, upstream, "port", address.port);
    return upstream;
}

// upstreamResolvers has no options.
static void lose_options(struct converting *converting, const struct corefile_forward *forward)
{
    struct value *map = value_make(converting->arena, VALUE_MAP);
    put_options(converting->arena, map, forward);
    value_each (option, value_find(map, "options"))
        buffer_printf(&converting->lost,
                      "forward of the root block: upstreamResolvers has no %.*s\n",
                      TEXT_ARGS(option->key));
}

static void put_resolvers(struct converting *converting, const struct corefile_forward *forward)
{
    struct arena *arena = converting->arena;
    struct value *upstreams = value_make(arena, VALUE_LIST);
    bool is_default = forward->upstream_count == 1 &&
                      text_is(forward->upstreams[0], "/etc/resolv.conf") && !forward->uses_tls;
    if (is_default && forward->policy == FORWARD_SEQUENTIAL)
        return;
    converting->resolvers = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < forward->upstream_count; i++) {
        struct value *upstream = resolver_of(converting, forward->upstreams[i]);
        if (upstream)
            value_append(upstreams, upstream);
    }
    value_set(converting->resolvers, TEXT("upstreams"), upstreams);
    value_put_text(arena, converting->resolvers, "policy", dns_policies[forward->policy]);
    if (forward->forces_tcp)
        value_put_text(arena, converting->resolvers, "protocolStrategy", "TCP");
    put_transport(converting, converting->resolvers, forward);
    lose_options(converting, forward);
}

// Of the root block only `forward` is read: the operator writes the other plugins of a cluster's
// root block by itself.
static void convert_root(struct converting *converting, const struct corefile *corefile,
                         const struct corefile_block *block)
{
    struct corefile_rest rest = {0};
    struct corefile_forward forward;
    for (size_t i = 0; i < block->directive_count; i++)
        if (text_is(corefile_text(corefile, block->directives[i].first), "forward") &&
            corefile_read_forward(converting->arena, corefile, &block->directives[i], &forward,
                                  &rest))
            put_resolvers(converting, &forward);
    add_lost(converting, corefile, block, &rest);
}

static bool is_root(const struct corefile_entry *entry)
{
    for (size_t i = 0; i < entry->zone_count; i++)
        if (text_is(entry->zones[i], "."))
            return true;
    return false;
}

// The block that says which file runs: the operator writes it by itself, and the rules leave its
// zones to it.
static bool is_canary(const struct corefile *corefile, const struct corefile_block *block,
                      const struct corefile_entry *entry)
{
    for (size_t i = 0; i < entry->zone_count; i++)
        if (!text_is(entry->zones[i], "version.bind") && !text_is(entry->zones[i], "hostname.bind"))
            return false;
    // A key that is no zone of plain DNS is no zone of the entry.
    return entry->zone_count == block->key_count && block->directive_count == 1 &&
           text_is(corefile_text(corefile, block->directives[0].first), "chaos");
}

// All zones of an object are served on the port of the root block.
static void lose_ports(struct converting *converting, const struct corefile *corefile,
                       const struct corefile_block *block)
{
    struct arena *arena = converting->arena;
    const struct corefile_token *token = &corefile->tokens[block->first];
    const char *port = arena_printf(arena, "%u", converting->port);
    for (size_t i = 0; i < block->key_count; i++) {
        struct corefile_address address;
        if (!corefile_address_read(arena, block->keys[i], &address) &&
            !strcmp(address.transport, "dns") &&
            !text_is(corefile_address_port(arena, &address, DNS_PORT), port))
            buffer_printf(
                &converting->lost, "%s:%u: %.*s: its port is not that of the root block\n",
                corefile->files[token->file].path, token->line, TEXT_ARGS(block->keys[i]));
    }
}

static void convert_block(struct converting *converting, const struct corefile *corefile,
                          const struct corefile_block *block)
{
    struct corefile_entry entry;
    struct corefile_rest rest = {0};
    bool is_read = corefile_read_entry(converting->arena, corefile, block, &entry, &rest);
    if (is_root(&entry)) {
        convert_root(converting, corefile, block);
        return;
    }
    if (is_canary(corefile, block, &entry))
        return;
    if (is_read) {
        value_append(converting->servers, server_of(converting, &entry));
        lose_ports(converting, corefile, block);
    }
    add_lost(converting, corefile, block, &rest);
}

static bool convert_corefile(struct converting *converting, const struct invocation *invocation,
                             const char *path, struct error *err)
{
    struct corefile_file file;
    struct corefile_files files;
    struct corefile_problems problems = {.arena = converting->arena};
    if (!corefile_files_init(&files, invocation, err) ||
        !corefile_files_read(&files, path, &file, err))
        return false;
    const struct corefile_options options = {.world = &files.world};
    CLEANUP(corefile) struct corefile *corefile = corefile_new(&file, &options, &problems);
    if (problems.error_count) {
        AUTO_BUFFER text = {0};
        corefile_write_problem(&text, &problems.items[0]);
        return error_set(err, FAULT_SPEC, NULL, "%s", text.at);
    }
    if (!corefile_find_zone(corefile, TEXT("."), &converting->port) || !converting->port)
        converting->port = DNS_PORT;
    for (size_t i = 0; i < corefile->block_count; i++)
        convert_block(converting, corefile, &corefile->blocks[i]);
    return true;
}

// ---- from manifests -----------------------------------------------------------------------------

static void add_server(struct converting *converting, struct text zone, struct value *upstreams,
                       struct text policy)
{
    struct arena *arena = converting->arena;
    struct value *server = value_make(arena, VALUE_MAP);
    struct value *forward = value_make(arena, VALUE_MAP);
    put_text(arena, server, "name", zone);
    value_set(server, TEXT("zones"), texts_of(arena, &zone, 1));
    value_set(forward, TEXT("upstreams"), upstreams);
    put_text(arena, forward, "policy", policy);
    value_set(server, TEXT("forwardPlugin"), forward);
    value_append(converting->servers, server);
}

// Of the main object all stays but pluginConfig; of a fragment only what counts.
static void keep_spec(struct converting *converting, const struct merge_object *object,
                      const struct value *tree)
{
    struct value *spec = value_copy(converting->arena, value_find(tree, "spec"));
    value_each (server, value_find(spec, "servers"))
        value_append(converting->servers, value_copy(converting->arena, server));
    if (!spec || !text_is(object->name, DNS_MAIN_NAME))
        return;
    value_remove(spec, "pluginConfig");
    converting->spec = spec;
}

static void convert_plugins(struct converting *converting, const struct dns_spec *spec)
{
    for (size_t i = 0; i < spec->server_count; i++) {
        const struct dns_server *server = &spec->servers[i];
        if (server->is_plugin)
            add_server(converting, server->zone_count ? server->zones[0] : TEXT(""),
                       texts_of(converting->arena, server->forward.upstreams,
                                server->forward.upstream_count),
                       server->forward.policy);
    }
}

// kube-dns: {"stubDomains": "{\"corp.example\": [\"192.0.2.53\"]}", "upstreamNameservers": "[...]"}
static void convert_kube_dns(struct converting *converting, const struct value *map)
{
    struct error err;
    struct arena *arena = converting->arena;
    struct text stubs = value_text_at(map, "data.stubDomains");
    struct text upstreams = value_text_at(map, "data.upstreamNameservers");
    const struct value *domains =
        stubs.at ? value_read_json(arena, stubs, &value_reply_limits, &err) : NULL;
    const struct value *servers =
        upstreams.at ? value_read_json(arena, upstreams, &value_reply_limits, &err) : NULL;
    if ((stubs.at && !domains) || (upstreams.at && !servers))
        buffer_printf(&converting->lost, "ConfigMap %.*s: its data is no JSON: %s\n",
                      TEXT_ARGS(value_text_at(map, "metadata.name")), err.text);
    value_each (item, domains)
        add_server(converting, item->key, value_copy(arena, item), (struct text){0});
    if (!servers)
        return;
    struct value *list = value_make(arena, VALUE_LIST);
    converting->resolvers = value_make(arena, VALUE_MAP);
    value_each (item, servers) {
        struct value *upstream = resolver_of(converting, value_text(item));
        if (upstream)
            value_append(list, upstream);
    }
    value_set(converting->resolvers, TEXT("upstreams"), list);
}

static bool convert_manifests(struct converting *converting, const char *path, struct error *err)
{
    struct report report = {.arena = converting->arena};
    struct corefile_manifests manifests = {.arena = converting->arena, .report = &report};
    corefile_manifests_read(&manifests, &path, 1);
    for (size_t i = 0; i < manifests.count; i++) {
        keep_spec(converting, &manifests.objects[i], manifests.trees[i]);
        convert_plugins(converting, &manifests.objects[i].spec);
    }
    for (size_t i = 0; i < manifests.config_map_count; i++)
        convert_kube_dns(converting, manifests.config_maps[i]);
    free(manifests.config_maps);
    report_write(&converting->lost, &report, false);
    report_done(&report);
    return !manifests.unreadable_count ||
           error_set(err, FAULT_SPEC, NULL, "%s cannot be read", path);
}

// ---- the command --------------------------------------------------------------------------------

// An entry that breaks a rule of the kind would not be served, so it counts as not said.
static void lose_faults(struct converting *converting, const struct value *object)
{
    struct findings findings = {.arena = converting->arena};
    kind_check(&dns_kind, object, &findings);
    dns_kind.validate(object, &findings);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].level == FINDING_ERROR)
            buffer_printf(&converting->lost, "%s\n",
                          finding_text(converting->arena, &findings.items[i]));
}

static int print(const struct invocation *invocation, struct converting *converting)
{
    AUTO_BUFFER text = {0};
    struct arena *arena = converting->arena;
    struct value *object = value_make(arena, VALUE_MAP);
    value_put_text(arena, object, "apiVersion", OPERATOR_GROUP "/v1");
    value_put_text(arena, object, "kind", dns_kind.name);
    value_put_text(arena, object, "metadata.name", DNS_MAIN_NAME);
    value_set(converting->spec, TEXT("servers"), converting->servers);
    if (converting->resolvers)
        value_set(converting->spec, TEXT("upstreamResolvers"), converting->resolvers);
    value_put(arena, object, "spec", converting->spec);
    lose_faults(converting, object);
    value_write_yaml(&text, object, 0);
    int code = corefile_print(invocation, &text, object);
    if (code || !converting->lost.len)
        return code;
    AUTO_BUFFER lost = {0};
    buffer_printf(&lost, "not said by the object:\n%s", converting->lost.at);
    return write(STDERR_FILENO, lost.at, lost.len) < 0 ? 2 : 1;
}

static int convert_run(struct invocation *invocation)
{
    struct error err;
    struct converting converting = {.arena = invocation->arena,
                                    .spec = value_make(invocation->arena, VALUE_MAP),
                                    .servers = value_make(invocation->arena, VALUE_LIST)};
    if (invocation->argument_count != 1)
        return command_fail(2, "give one file: a manifest, or a Corefile");
    const char *path = invocation->arguments[0];
    bool is_read = manifest_is_file(path) ? convert_manifests(&converting, path, &err)
                                          : convert_corefile(&converting, invocation, path, &err);
    int code = is_read ? print(invocation, &converting) : command_fail(2, "%s", err.text);
    buffer_done(&converting.lost);
    return code;
}

static const struct option convert_rows[] = {COREFILE_FILES_OPTIONS, COREFILE_OUTPUT_OPTION};

extern const struct command corefile_convert_command;
const struct command corefile_convert_command = {
    .name = "corefile convert",
    .summary = "say a Corefile, or older settings, as a DNS object",
    .positional = "PATH",
    .doc = "Prints a DNS object (operator.openshift.io/v1) that forwards as the file says. A file "
           "*.yaml, *.yml or *.json is a manifest: of a DNS object pluginConfig becomes servers "
           "and the rest stays, of the ConfigMap kube-dns stubDomains and upstreamNameservers are "
           "taken. Any other file is a Corefile: each server block that forwards becomes an entry "
           "of servers, and the forward of the root block upstreamResolvers. What the object "
           "cannot say, and what of it breaks a rule, stands on stderr. --output json prints the "
           "object as JSON.",
    .exit_docs =
        {
            "all of it is said",
            "some is not",
            "the file cannot be read",
        },
    .examples = "signpost corefile convert Corefile > dns.yaml\n"
                "signpost corefile convert kube-dns.yaml\n",
    .groups = {{convert_rows, COUNT_OF(convert_rows), false}},
    .run = convert_run,
};
