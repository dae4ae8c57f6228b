#include "controllers/clusterdns/merge.h"

#include <string.h>

#include "base/must.h"
#include "dns/corefile/entry.h"
#include "dns/corefile/splice.h"

enum { FAULT_TEXTS_MAX = 900, DNS_PORT = 53 };

static const struct dns_cache no_cache;
static const struct text resolv_conf[] = {{"/etc/resolv.conf", 16}};

struct merging {
    struct arena *arena;
    const struct merge_settings *settings;
    struct dns_owners *owners;
    struct merged *out;
    struct corefile_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    size_t forwarder_capacity;
    const struct dns_cache *cache; // of the main object
    // Of the object that is at hand:
    const struct merge_object *object;
    struct merge_outcome *outcome;
    struct buffer faults;
    struct buffer warnings;
};

// ---- reports ------------------------------------------------------------------------------------

static void add_text(struct buffer *out, const char *path, const char *text)
{
    if (out->len >= FAULT_TEXTS_MAX)
        return;
    buffer_printf(out, "%s%s%s%s", out->len ? "; " : "", path, *path ? ": " : "", text);
}

static void report_faults(struct merging *merging, const struct dns_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct dns_fault *fault = &faults->items[i];
        add_text(fault->is_warning ? &merging->warnings : &merging->faults, fault->path,
                 fault->status_text);
    }
}

static void add_forwarder(struct merging *merging, struct text zone, const char *path,
                          enum dns_state state, enum reason reason, const char *message)
{
    struct merged *out = merging->out;
    arena_reserve(merging->arena, &out->forwarders, &merging->forwarder_capacity,
                  out->forwarder_count + 1);
    out->forwarders[out->forwarder_count++] = (struct dns_forwarder){
        .zone = zone,
        .source = arena_printf(merging->arena, "%.*s %s", TEXT_ARGS(merging->object->name), path),
        .state = state,
        .reason = reason,
        .message = message,
    };
    merging->outcome->forwarder_count++;
    merging->outcome->bad_count += state != DNS_SERVING;
}

static struct corefile_entry *add_entry(struct merging *merging)
{
    arena_reserve(merging->arena, &merging->entries, &merging->entry_capacity,
                  merging->entry_count + 1);
    struct corefile_entry *entry = &merging->entries[merging->entry_count++];
    *entry = (struct corefile_entry){0};
    return entry;
}

// ---- translating --------------------------------------------------------------------------------

static enum forward_policy policy_of(struct text policy, enum forward_policy fallback)
{
    for (size_t i = 0; i < FORWARD_POLICIES; i++)
        if (text_is(policy, dns_policies[i]))
            return (enum forward_policy)i;
    return fallback;
}

static bool is_verbatim(const struct merging *merging)
{
    return merging->settings->layout == COREFILE_OPENSHIFT;
}

static uint16_t port_of(const struct dns_address *address)
{
    return address->port ? address->port : DNS_PORT;
}

static bool has_colon(struct text text)
{
    return text.len && memchr(text.at, ':', text.len);
}

static bool is_same_server(struct text a, struct text b)
{
    struct dns_address left;
    struct dns_address right;
    if (!has_colon(a) && !has_colon(b)) // an IPv4 address is written in one way
        return text_equal(a, b);
    if (!dns_address_read(a, &left) || !dns_address_read(b, &right))
        return text_equal(a, b);
    return left.len == right.len && memcmp(left.octets, right.octets, left.len) == 0 &&
           port_of(&left) == port_of(&right);
}

static bool has_server(const struct text *servers, size_t count, struct text server)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_server(servers[i], server))
            return true;
    return false;
}

// CoreDNS 1.10.1 refuses an address in brackets that has no port.
static struct text without_brackets(struct text server)
{
    bool is_bare = text_starts(server, "[") && server.at[server.len - 1] == ']';
    return is_bare ? (struct text){server.at + 1, server.len - 2} : server;
}

static void translate_upstreams(struct merging *merging, const struct dns_forward *from,
                                struct corefile_forward *to)
{
    struct text *servers = arena_new_array(merging->arena, struct text, from->upstream_count + 1);
    for (size_t i = 0; i < from->upstream_count; i++) {
        if (is_verbatim(merging))
            servers[to->upstream_count++] = from->upstreams[i];
        else if (!has_server(servers, to->upstream_count, from->upstreams[i]))
            servers[to->upstream_count++] = without_brackets(from->upstreams[i]);
    }
    to->upstreams = servers;
}

const char *merge_bundle_path(struct arena *arena, struct text server_name, struct text name,
                              struct text version)
{
    return arena_printf(arena, "/etc/pki/%.*s-ca-%.*s-%.*s", TEXT_ARGS(server_name),
                        TEXT_ARGS(name), TEXT_ARGS(version));
}

static const char bundle_unsupported[] = "caBundle is mounted into Pods of an own CoreDNS only";

// A bundle that is missing leaves the copy that Pods have of it, or else the system's authorities,
// and a warning.
static void translate_bundle(struct merging *merging, const struct dns_transport *transport,
                             const char *path, struct corefile_forward *to)
{
    struct text version = {0};
    const char *why = NULL;
    const struct merge_bundles *bundles = &merging->settings->bundles;
    if (!transport->bundle.len)
        return;
    if (bundles->find(bundles->context, transport->bundle, &version, &why) != BUNDLE_FOUND)
        add_text(&merging->warnings, path,
                 arena_printf(merging->arena, "%s: %s; %s", reason_name(REASON_CA_BUNDLE_MISSING),
                              why,
                              version.at ? "those that it had last are trusted"
                                         : "the system's authorities are trusted"));
    if (!version.at)
        return;
    to->tls_bundle = text_of(arena_printf(
        merging->arena, "%s/ca-bundle.crt",
        merge_bundle_path(merging->arena, transport->server_name, transport->bundle, version)));
}

static void translate_transport(struct merging *merging, const struct dns_transport *transport,
                                const char *path, struct corefile_forward *to)
{
    to->uses_tls = text_is(transport->name, "TLS");
    if (!to->uses_tls)
        return;
    to->tls_server_name = transport->server_name;
    translate_bundle(merging, transport, path, to);
}

static void translate_options(const struct dns_forward *from, struct corefile_forward *to)
{
    to->except = from->except;
    to->except_count = from->except_count;
    to->prefers_udp = from->prefers_udp;
    to->expire = from->expire;
    to->has_max_fails = from->has_max_fails;
    to->max_fails = (uint32_t)from->max_fails;
    to->health_interval = from->health_interval;
    to->is_health_without_recursion = from->is_health_without_recursion;
    to->health_domain = from->health_domain;
    to->has_max_concurrent = from->has_max_concurrent;
    to->max_concurrent = (uint32_t)from->max_concurrent;
    to->failover = from->failover;
    to->failover_count = from->failover_count;
}

static struct corefile_cache cache_of(const struct merging *merging, const struct dns_cache *own)
{
    const struct dns_cache *shared = merging->cache;
    return (struct corefile_cache){
        .positive_s = dns_seconds(own->positive, dns_seconds(shared->positive, DNS_POSITIVE_TTL_S)),
        .negative_s = dns_seconds(own->negative, dns_seconds(shared->negative, DNS_NEGATIVE_TTL_S)),
        .serve_stale = own->serve_stale,
    };
}

static void translate_server(struct merging *merging, const struct dns_server *server,
                             struct corefile_entry *out)
{
    out->name = is_verbatim(merging) ? server->name : text_trim(server->name);
    out->forward.policy = policy_of(server->forward.policy, FORWARD_RANDOM);
    out->forward.forces_tcp = text_is(server->forward.protocol, "TCP");
    translate_upstreams(merging, &server->forward, &out->forward);
    translate_transport(merging, &server->forward.transport, server->path, &out->forward);
    translate_options(&server->forward, &out->forward);
    out->cache = cache_of(merging, &server->cache);
    out->filters_aaaa = server->filters_aaaa;
}

// ---- entries ------------------------------------------------------------------------------------

static bool has_additions(const struct dns_server *server)
{
    const struct dns_forward *forward = &server->forward;
    return forward->except_count || forward->prefers_udp || forward->expire.len ||
           forward->has_max_fails || forward->has_health_check || forward->has_max_concurrent ||
           forward->failover_count || server->filters_aaaa || server->cache.positive.len ||
           server->cache.negative.len || server->cache.serve_stale.len;
}

static void refuse_entry(struct dns_server_check *check, enum reason reason, const char *path,
                         const char *text, struct dns_faults *faults)
{
    struct dns_fault *fault = dns_add_fault(faults, reason, path, "%s", text);
    if (check->reason)
        return;
    check->reason = reason;
    check->text = arena_printf(faults->arena, "%s: %s", path, fault->text);
}

static void check_bundle(struct merging *merging, const struct dns_server *server,
                         struct dns_server_check *check, struct dns_faults *faults)
{
    struct text version;
    const char *why = NULL;
    const struct merge_bundles *bundles = &merging->settings->bundles;
    const struct dns_transport *transport = &server->forward.transport;
    if (!text_is(transport->name, "TLS") || !transport->bundle.len || check->reason)
        return;
    if (!bundles->can_be_mounted) {
        refuse_entry(check, REASON_CA_BUNDLE_UNSUPPORTED, server->path, bundle_unsupported, faults);
        return;
    }
    enum bundle_state state = bundles->find(bundles->context, transport->bundle, &version, &why);
    if (state == BUNDLE_INVALID)
        refuse_entry(check, REASON_CA_BUNDLE_INVALID, server->path, why, faults);
}

static void check_entry(struct merging *merging, const struct dns_server *server,
                        struct dns_faults *faults, struct dns_server_check *check)
{
    dns_check_server(server, &merging->settings->context, faults, check);
    check_bundle(merging, server, check, faults);
    if (is_verbatim(merging) && has_additions(server))
        refuse_entry(check, REASON_INVALID_OPTION, server->path,
                     "--corefile-layout openshift has only the options that OpenShift has", faults);
}

// The zone goes to this entry unless somebody else has it.
static void settle_zone(struct merging *merging, const struct dns_server *server,
                        struct dns_zone *zone, struct dns_faults *faults)
{
    const struct merge_settings *settings = merging->settings;
    if (zone->reason)
        return;
    const char *owner = settings->foreign_owner
                            ? settings->foreign_owner(settings->foreign_context, zone->name)
                            : NULL;
    if (owner) {
        zone->reason = REASON_ZONE_SERVED_ELSEWHERE;
        zone->text = arena_printf(merging->arena, "%.*s is served by %s, which is not ours",
                                  TEXT_ARGS(zone->name), owner);
        dns_add_fault(faults, zone->reason, zone->path, "%s", zone->text);
        return;
    }
    const char *winner = dns_owners_add(
        merging->owners, zone->name,
        arena_printf(merging->arena, "%.*s %s", TEXT_ARGS(merging->object->name), server->path));
    if (winner)
        dns_report_duplicate(zone, winner, faults);
}

static struct text name_in_file(const struct merging *merging, const struct dns_zone *zone)
{
    return is_verbatim(merging) ? zone->source : zone->name;
}

// OpenShift writes a network once, where we list each of its reverse zones.
static bool is_repeated(const struct merging *merging, const struct dns_server_check *check,
                        size_t at)
{
    return is_verbatim(merging) && at > 0 &&
           !strcmp(check->zones[at].path, check->zones[at - 1].path);
}

// Makes the server block of the entry. False: all of its zones are refused.
static bool translate_entry(struct merging *merging, const struct dns_server *server,
                            const struct dns_server_check *check, struct corefile_entry *out)
{
    struct text *zones = arena_new_array(merging->arena, struct text, check->zone_count + 1);
    *out = (struct corefile_entry){.zones = zones};
    for (size_t i = 0; i < check->zone_count; i++)
        if (!check->zones[i].reason && !is_repeated(merging, check, i))
            zones[out->zone_count++] = name_in_file(merging, &check->zones[i]);
    if (!out->zone_count)
        return false;
    translate_server(merging, server, out);
    if (!out->name.len && !is_verbatim(merging))
        out->name = zones[0];
    return true;
}

static void serve_entry(struct merging *merging, const struct dns_server_check *check,
                        const struct corefile_entry *entry)
{
    for (size_t i = 0; i < check->zone_count; i++) {
        const struct dns_zone *zone = &check->zones[i];
        add_forwarder(merging, zone->name, zone->path, zone->reason ? DNS_REFUSED : DNS_SERVING,
                      zone->reason, zone->text);
    }
    if (entry->zone_count)
        *add_entry(merging) = *entry;
}

// ---- the last good one --------------------------------------------------------------------------

static const struct corefile_block *find_live(const struct merging *merging, struct text zone)
{
    uint16_t port;
    const struct corefile *live = merging->settings->live;
    return live ? corefile_find_zone(live, zone, &port) : NULL;
}

// The server block that the last entry was read from, and that entry.
struct kept {
    const struct corefile_block *block;
    struct corefile_entry *entry;
    struct text *zones;
};

// The CoreDNS of now may refuse what an earlier one ran, and it counts for the room that is left.
static bool has_entry_fault(struct merging *merging, const struct corefile_entry *entry)
{
    enum reason reason;
    const struct merge_settings *settings = merging->settings;
    return settings->entry_fault && settings->entry_fault(settings->entry_context, entry, &reason);
}

// Adds an entry as the live Corefile has it, with none of its zones.
static bool keep_block(struct merging *merging, const struct dns_server *server,
                       const struct dns_server_check *check, const struct corefile_block *block,
                       struct kept *kept)
{
    struct corefile_entry entry;
    struct corefile_rest rest = {0};
    if (!corefile_read_entry(merging->arena, merging->settings->live, block, &entry, &rest) ||
        (entry.forward.tls_bundle.len && !merging->settings->bundles.can_be_mounted))
        return false;
    kept->block = block;
    kept->zones = arena_new_array(merging->arena, struct text, check->zone_count);
    entry.name = text_trim(server->name);
    if (!entry.name.len)
        entry.name = check->zones[0].name;
    if (!entry.cache.positive_s)
        entry.cache = cache_of(merging, &no_cache);
    if (has_entry_fault(merging, &entry))
        return false;
    entry.zones = kept->zones;
    entry.zone_count = 0;
    kept->entry = add_entry(merging);
    *kept->entry = entry;
    return true;
}

static bool keep_zone(struct merging *merging, const struct dns_server *server,
                      const struct dns_server_check *check, struct text zone, struct kept *kept)
{
    const struct corefile_block *block = find_live(merging, zone);
    if (!block || (kept->block != block && !keep_block(merging, server, check, block, kept)))
        return false;
    kept->zones[kept->entry->zone_count++] = zone;
    return true;
}

static void refuse_zones(struct merging *merging, const struct dns_server *server,
                         struct dns_server_check *check)
{
    struct kept kept = {0};
    struct dns_server named = *server;
    if (dns_has_control(server->name)) // that may be what makes the file unreadable
        named.name = (struct text){0};
    for (size_t i = 0; i < check->zone_count; i++) {
        struct dns_zone *zone = &check->zones[i];
        bool is_kept = !zone->reason && keep_zone(merging, &named, check, zone->name, &kept);
        add_forwarder(merging, zone->name, zone->path, is_kept ? DNS_LAST_GOOD : DNS_REFUSED,
                      zone->reason ? zone->reason : check->reason,
                      zone->reason ? zone->text : check->text);
    }
    if (!check->zone_count)
        merging->outcome->bad_count++;
}

// Only zones that are live are claimed: another entry may have the others.
static void settle_zones(struct merging *merging, const struct dns_server *server,
                         struct dns_server_check *check, struct dns_faults *faults)
{
    for (size_t i = 0; i < check->zone_count; i++)
        if (!check->reason || find_live(merging, check->zones[i].name))
            settle_zone(merging, server, &check->zones[i], faults);
}

static void check_translated(struct merging *merging, const struct dns_server *server,
                             const struct corefile_entry *entry, struct dns_server_check *check,
                             struct dns_faults *faults)
{
    enum reason reason;
    const struct merge_settings *settings = merging->settings;
    const char *why = settings->entry_fault
                          ? settings->entry_fault(settings->entry_context, entry, &reason)
                          : NULL;
    if (why)
        refuse_entry(check, reason, server->path, why, faults);
}

static void merge_server(struct merging *merging, const struct dns_server *server)
{
    struct dns_faults faults = {.arena = merging->arena};
    struct dns_server_check check;
    check_entry(merging, server, &faults, &check);
    settle_zones(merging, server, &check, &faults);
    struct corefile_entry entry = {0};
    if (!check.reason && translate_entry(merging, server, &check, &entry))
        check_translated(merging, server, &entry, &check, &faults);
    report_faults(merging, &faults);
    if (check.reason)
        refuse_zones(merging, server, &check);
    else
        serve_entry(merging, &check, &entry);
}

// ---- the root -----------------------------------------------------------------------------------

static struct text upper(struct arena *arena, struct text text)
{
    char *copy = arena_copy(arena, text.at, text.len);
    for (size_t i = 0; i < text.len; i++)
        if (copy[i] >= 'a' && copy[i] <= 'z')
            copy[i] = (char)(copy[i] - 'a' + 'A');
    return (struct text){copy, text.len};
}

static struct text root_server_of(struct arena *arena, const struct dns_upstream *upstream)
{
    struct text address = upper(arena, upstream->address);
    bool is_6 = memchr(address.at, ':', address.len) != NULL;
    if (!text_is(upstream->type, "Network"))
        return resolv_conf[0];
    if (!upstream->has_port || upstream->port <= 0)
        return address;
    return text_of(arena_printf(arena, is_6 ? "[%.*s]:%lld" : "%.*s:%lld", TEXT_ARGS(address),
                                (long long)upstream->port));
}

static void translate_resolvers(struct merging *merging, const struct dns_resolvers *resolvers,
                                struct corefile_forward *out)
{
    struct text *servers =
        arena_new_array(merging->arena, struct text, resolvers->upstream_count + 1);
    for (size_t i = 0; i < resolvers->upstream_count; i++) {
        struct text server = root_server_of(merging->arena, &resolvers->upstreams[i]);
        if (!has_server(servers, out->upstream_count, server))
            servers[out->upstream_count++] = server;
    }
    if (!out->upstream_count)
        servers[out->upstream_count++] = resolv_conf[0];
    out->upstreams = servers;
    out->policy = policy_of(resolvers->policy, FORWARD_SEQUENTIAL);
    out->forces_tcp = text_is(resolvers->protocol, "TCP");
    translate_transport(merging, &resolvers->transport, "spec.upstreamResolvers", out);
}

static bool is_default_root(const struct corefile_forward *root)
{
    return root->upstream_count == 1 && text_equal(root->upstreams[0], resolv_conf[0]) &&
           root->policy == FORWARD_SEQUENTIAL && !root->uses_tls && !root->forces_tcp;
}

// The last good one, or the default.
static void keep_root(struct merging *merging, struct corefile_forward *out)
{
    struct corefile_rest rest = {0};
    const struct corefile *live = merging->settings->live;
    const struct corefile_directive *forward = live ? corefile_find_root_forward(live) : NULL;
    if (forward &&
        corefile_read_forward(merging->arena, merging->settings->live, forward, out, &rest))
        return;
    *out = (struct corefile_forward){
        .upstreams = resolv_conf, .upstream_count = 1, .policy = FORWARD_SEQUENTIAL};
}

static const struct dns_fault *check_root_bundle(struct merging *merging,
                                                 const struct dns_transport *transport,
                                                 struct dns_faults *faults)
{
    struct text version;
    const char *why = NULL;
    const struct merge_bundles *bundles = &merging->settings->bundles;
    if (!text_is(transport->name, "TLS") || !transport->bundle.len)
        return NULL;
    if (!bundles->can_be_mounted)
        return dns_add_fault(faults, REASON_CA_BUNDLE_UNSUPPORTED, "spec.upstreamResolvers", "%s",
                             bundle_unsupported);
    if (bundles->find(bundles->context, transport->bundle, &version, &why) != BUNDLE_INVALID)
        return NULL;
    return dns_add_fault(faults, REASON_CA_BUNDLE_INVALID, "spec.upstreamResolvers", "%s", why);
}

static void merge_root(struct merging *merging, const struct dns_resolvers *resolvers)
{
    struct dns_faults faults = {.arena = merging->arena};
    struct corefile_forward *root = &merging->out->input.root;
    const struct dns_fault *fault =
        dns_check_resolvers(resolvers, &merging->settings->context, &faults);
    *root = (struct corefile_forward){0};
    if (!fault)
        fault = check_root_bundle(merging, &resolvers->transport, &faults);
    if (!fault)
        translate_resolvers(merging, resolvers, root);
    if (!fault && merging->settings->no_resolvers && !is_default_root(root))
        fault = dns_add_fault(&faults, REASON_INVALID_OPTION, "spec.upstreamResolvers", "%s",
                              merging->settings->no_resolvers);
    report_faults(merging, &faults);
    if (fault) {
        keep_root(merging, root);
        merging->out->is_root_refused = true;
        merging->outcome->bad_count++;
    }
    merging->out->is_root_changed = !is_default_root(root);
}

// ---- all of it ----------------------------------------------------------------------------------

static const char *text_or_null(struct merging *merging, struct buffer *text)
{
    return text->len ? arena_copy(merging->arena, text->at, text->len) : NULL;
}

// What only the main object has.
static void merge_main(struct merging *merging, const struct dns_spec *spec)
{
    struct dns_faults faults = {.arena = merging->arena};
    merge_root(merging, &spec->resolvers);
    dns_check_cache(&spec->cache, "spec.cache", &faults);
    report_faults(merging, &faults);
}

static void merge_object(struct merging *merging, const struct merge_object *object, bool is_main)
{
    merging->object = object;
    merging->outcome->first_forwarder = merging->out->forwarder_count;
    buffer_clear(&merging->faults);
    buffer_clear(&merging->warnings);
    for (size_t i = 0; i < object->spec.server_count; i++)
        merge_server(merging, &object->spec.servers[i]);
    if (is_main)
        merge_main(merging, &object->spec);
    merging->outcome->fault_text = text_or_null(merging, &merging->faults);
    merging->outcome->warning_text = text_or_null(merging, &merging->warnings);
}

static enum corefile_log_level log_level_of(struct text level)
{
    if (text_is(level, "Debug"))
        return COREFILE_LOG_DEBUG;
    return text_is(level, "Trace") ? COREFILE_LOG_TRACE : COREFILE_LOG_NORMAL;
}

void dns_merge(struct arena *arena, const struct merge_settings *settings,
               const struct merge_object *objects, size_t count, struct merged *out)
{
    must(count > 0);
    CLEANUP(dns_owners) struct dns_owners *owners = dns_owners_new();
    struct merging merging = {
        .arena = arena,
        .settings = settings,
        .owners = owners,
        .out = out,
        .cache = &objects[0].spec.cache,
    };
    *out = (struct merged){.outcomes = arena_new_array(arena, struct merge_outcome, count)};
    out->input = (struct corefile_input){
        .layout = settings->layout,
        .port = settings->port,
        .cluster_domain = settings->context.cluster_domain,
        .metrics_address = settings->metrics_address,
        .log_level = log_level_of(objects[0].spec.log_level),
        .cache = cache_of(&merging, &no_cache),
    };
    for (size_t i = 0; i < count; i++) {
        merging.outcome = &out->outcomes[i];
        merge_object(&merging, &objects[i], i == 0);
    }
    buffer_done(&merging.faults);
    buffer_done(&merging.warnings);
    out->input.entries = merging.entries;
    out->input.entry_count = merging.entry_count;
}

struct merge_settings merge_settings_of(const struct clusterdns_settings *settings,
                                        enum corefile_layout layout, bool has_cluster)
{
    const char *metrics = layout == COREFILE_OPENSHIFT ? "127.0.0.1:9153" : ":9153";
    const char *domain = has_cluster ? "cluster.local" : "";
    return (struct merge_settings){
        .layout = layout,
        .port = (uint16_t)settings->dns_port,
        .metrics_address = text_of(settings->metrics_address ? settings->metrics_address : metrics),
        .context = {.cluster_domain =
                        text_of(settings->cluster_domain ? settings->cluster_domain : domain)},
    };
}
