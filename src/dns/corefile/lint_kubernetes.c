#include <stdlib.h>

#include "dns/corefile/address.h"
#include "dns/corefile/served_zone.h"
#include "dns/corefile/setup.h"

// The plugin `kubernetes`, those that need it in their block, and `etcd`.

enum { TTL_MAX_S = 3600, TLS_FILES = 3 };

static const struct coredns_version with_kubernetes_required = {1, 11, 0}; // by k8s_external

// ---- kubernetes ---------------------------------------------------------------------------------

static bool check_pods(struct setup *setup, const struct text *arguments, size_t count)
{
    static const char *const modes[] = {"disabled", "insecure", "verified"};
    (void)count;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (text_is(arguments[0], modes[i]))
            return true;
    return setup_fail(setup, "pods",
                      "wrong value for pods: %.*s,  must be one of: disabled, verified, insecure",
                      TEXT_ARGS(arguments[0]));
}

static bool check_ttl(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ttl = 0;
    (void)count;
    if (!go_int(setup, arguments[0], &ttl))
        return false;
    return (ttl >= 0 && ttl <= TTL_MAX_S) ||
           setup_fail_at(setup, "ttl", "ttl must be in range [0, %d]: %lld", TTL_MAX_S,
                         (long long)ttl);
}

static bool check_ignore(struct setup *setup, const struct text *arguments, size_t count)
{
    return !count || text_is(arguments[0], "empty_service") ||
           setup_fail(setup, "ignore", "unable to parse ignore value: '%.*s'",
                      TEXT_ARGS(arguments[0]));
}

static bool check_startup_timeout(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t ns;
    (void)count;
    const char *fault = go_duration_error(setup->linter->arena, arguments[0], &ns);
    return !fault || setup_fail(setup, "duration", "failed to parse startup_timeout: %.*s, %s",
                                TEXT_ARGS(arguments[0]), fault);
}

static bool fail_limit(struct setup *setup, const char *name, struct text text, const char *fault)
{
    return setup_fail_at(setup, "number", "invalid %s %s: %s", name,
                         go_quote(setup->linter->arena, text), fault);
}

static bool check_limit(struct setup *setup, const char *name, struct text text)
{
    int64_t number = 0;
    const char *fault = go_int_error(setup->linter->arena, text, &number);
    if (fault)
        return fail_limit(setup, name, text, fault);
    return number >= 0 || setup_fail_at(setup, "negative", "%s must be >= 0", name);
}

static bool check_burst(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return check_limit(setup, "apiserver_burst", arguments[0]);
}

static bool check_max_inflight(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return check_limit(setup, "apiserver_max_inflight", arguments[0]);
}

static bool check_qps(struct setup *setup, const struct text *arguments, size_t count)
{
    double number = 0;
    (void)count;
    const char *fault = go_float_error(setup->linter->arena, arguments[0], &number);
    if (fault)
        return fail_limit(setup, "apiserver_qps", arguments[0], fault);
    return !(number < 0) || setup_fail_at(setup, "negative", "apiserver_qps must be >= 0");
}

// Zones as the plugin keeps them.
struct zones {
    struct text *names;
    size_t count;
};

// Of an address with several zones all, or the first alone. Without those that are none.
static struct zones normalize_zones(const struct linter *linter, const struct text *words,
                                    size_t count, bool has_all)
{
    struct zones zones = {0};
    size_t capacity = 0;
    struct text *names = NULL;
    for (size_t i = 0; i < count; i++) {
        struct corefile_address address;
        if (corefile_address_read_as(linter->arena, words[i], linter->options->version, &address))
            continue;
        size_t taken = has_all ? address.zone_count : 1;
        mem_reserve(&names, &capacity, zones.count + taken);
        for (size_t at = 0; at < taken; at++)
            names[zones.count++] = corefile_zone_name(linter->arena, address.zones[at], false);
    }
    zones.names = arena_new_array(linter->arena, struct text, zones.count + 1);
    for (size_t i = 0; i < zones.count; i++)
        zones.names[i] = names[i];
    free(names);
    return zones;
}

static bool read_multicluster(struct setup *setup, const struct text *arguments, size_t count)
{
    struct zones *multicluster = setup->own;
    *multicluster = normalize_zones(setup->linter, arguments, count, true);
    return true;
}

static const struct option kubernetes_options[] = {
    {.name = "endpoint_pod_names", .form = OPTION_NONE},
    {.name = "pods", .form = OPTION_ALL, .min = 1, .max = 1, .check = check_pods},
    {.name = "namespaces", .form = OPTION_ALL, .min = 1},
    {.name = "endpoint", .form = OPTION_ALL, .min = 1},
    {.name = "tls", .form = OPTION_ALL, .min = TLS_FILES, .max = TLS_FILES},
    {.name = "labels", .form = OPTION_ALL, .min = 1},
    {.name = "namespace_labels", .form = OPTION_ALL, .min = 1},
    {.name = "fallthrough", .form = OPTION_ANY},
    {.name = "ttl", .form = OPTION_ALL, .min = 1, .check = check_ttl},
    {.name = "noendpoints", .form = OPTION_NONE},
    {.name = "zonal", .form = OPTION_NONE, .since = {1, 14, 7}},
    {.name = "ignore", .form = OPTION_ALL, .check = check_ignore},
    {.name = "kubeconfig", .form = OPTION_ALL, .min = 1, .max = 2},
    {.name = "multicluster", .form = OPTION_ALL, .check = read_multicluster, .since = {1, 12, 2}},
    {.name = "startup_timeout",
     .form = OPTION_ALL,
     .min = 1,
     .check = check_startup_timeout,
     .since = {1, 12, 3}},
    {.name = "apiserver_qps",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_qps,
     .since = {1, 14, 0}},
    {.name = "apiserver_burst",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_burst,
     .since = {1, 14, 0}},
    {.name = "apiserver_max_inflight",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_max_inflight,
     .since = {1, 14, 0}},
};

// Below in-addr.arpa or ip6.arpa; these two themselves count as zones like any other.
static bool is_reverse(struct text zone)
{
    return text_ends(zone, ".in-addr.arpa.") || text_ends(zone, ".ip6.arpa.");
}

static bool has_forward_zone(const struct zones *zones)
{
    for (size_t i = 0; i < zones->count; i++)
        if (!is_reverse(zones->names[i]))
            return true;
    return false;
}

static bool has_zone(const struct zones *zones, struct text name)
{
    for (size_t i = 0; i < zones->count; i++)
        if (text_equal(zones->names[i], name))
            return true;
    return false;
}

static bool fail_multicluster(struct setup *setup, const struct zones *zones, struct text name)
{
    AUTO_BUFFER list = {0};
    for (size_t i = 0; i < zones->count; i++)
        buffer_printf(&list, "%s%.*s", i ? " " : "", TEXT_ARGS(zones->names[i]));
    return setup_fail_at(setup, "kubernetes-multicluster",
                         "is not authoritative for the multicluster zone %.*s (authoritative "
                         "zones: [%.*s])",
                         TEXT_ARGS(name), TEXT_ARGS(buffer_text(&list)));
}

// What options must not be to one another.
static bool check_kubernetes_options(struct setup *setup, const struct zones *zones,
                                     const struct zones *multicluster)
{
    if (setup_has_option(setup, "namespaces") && setup_has_option(setup, "namespace_labels"))
        return setup_fail_at(setup, "kubernetes-namespaces",
                             "namespaces and namespace_labels cannot both be set");
    for (size_t i = 0; i < multicluster->count; i++)
        if (!has_zone(zones, multicluster->names[i]))
            return fail_multicluster(setup, zones, multicluster->names[i]);
    return !setup_has_option(setup, "zonal") || !setup_has_option(setup, "noendpoints") ||
           setup_fail_at(setup, "kubernetes-zonal",
                         "zonal requires the endpoint cache; remove noendpoints");
}

static bool check_kubernetes(struct setup *setup)
{
    struct zones *multicluster = arena_new_of(setup->linter->arena, struct zones);
    setup->own = multicluster;
    while (setup_next(setup)) {
        size_t count;
        if (!setup_is_first(setup))
            return false;
        struct text *words = setup_arguments(setup, &count);
        struct zones zones = count ? normalize_zones(setup->linter, words, count, true)
                                   : normalize_zones(setup->linter, setup->block->keys,
                                                     setup->block->key_count, false);
        if (!has_forward_zone(&zones))
            return setup_fail(setup, "kubernetes-zones", "non-reverse zone name must be used");
        if (!setup_read_options(setup, kubernetes_options, COUNT_OF(kubernetes_options)) ||
            !check_kubernetes_options(setup, &zones, multicluster))
            return false;
    }
    return true;
}

// ---- k8s_external and autopath ------------------------------------------------------------------

static bool has_directive(const struct setup *setup, const char *name)
{
    return corefile_find_directive(setup->linter->corefile, setup->block, name) != NULL;
}

static const struct option external_options[] = {
    {.name = "ttl", .form = OPTION_ALL, .min = 1, .check = check_ttl},
    {.name = "apex", .form = OPTION_ALL, .min = 1},
    {.name = "headless", .form = OPTION_BARE},
    {.name = "fallthrough", .form = OPTION_ANY, .since = {1, 11, 0}},
};

static bool check_external(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        setup_arguments(setup, &count);
        if (!setup_read_options(setup, external_options, COUNT_OF(external_options)))
            return false;
    }
    return true;
}

static bool check_external_start(struct setup *setup)
{
    if (has_directive(setup, "kubernetes") || setup_is_before(setup, with_kubernetes_required))
        return true;
    setup_next(setup);
    setup_fail(setup, "no-kubernetes", "kubernetes plugin not loaded");
    setup_hint(setup, "write `kubernetes` into the same server block");
    return false;
}

// [ZONES] RESOLV-CONF|@PLUGIN: a plugin that is not there is passed over in silence.
static bool check_autopath(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        struct text *arguments = setup_arguments(setup, &count);
        if (!count)
            return setup_fail(setup, "resolv-conf", "no resolv-conf specified");
        struct text source = arguments[count - 1];
        if (text_is(source, "@kubernetes") && !has_directive(setup, "kubernetes"))
            setup_warn(setup, "no-kubernetes", "write `kubernetes` into the same server block",
                       "autopath has no effect, as the server block has no plugin kubernetes");
    }
    return true;
}

// ---- etcd ---------------------------------------------------------------------------------------

static bool check_tls_files(struct setup *setup, const struct text *files, size_t count)
{
    (void)files;
    return count <= TLS_FILES ||
           setup_fail(setup, "tls", "maximum of three arguments allowed for TLS config, found %zu",
                      count);
}

static bool check_credentials(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)arguments;
    return count == 2 || setup_fail_at(setup, "credentials",
                                       "credentials requires 2 arguments, username and password");
}

// "30" is as good as "30s", and nothing as 0.
static const char *lease_fault(struct arena *arena, struct text text)
{
    uint64_t seconds;
    int64_t ns = 0;
    if (!text.len)
        return NULL;
    if (!go_uint_error(arena, text, 64, &seconds))
        text = text_of(arena_printf(arena, "%.*ss", TEXT_ARGS(text)));
    if (go_duration_error(arena, text, &ns))
        return "invalid TTL format, use format like '30', '30s', '5m', '1h', or '2h30m'";
    if (ns < 0)
        return "TTL must be non-negative";
    return (double)ns / 1e9 > UINT32_MAX ? "TTL too large, maximum is 4294967295 seconds" : NULL;
}

static bool check_lease(struct setup *setup, const char *name, struct text text)
{
    const char *fault = lease_fault(setup->linter->arena, text_trim(text));
    return !fault || setup_fail_at(setup, "lease-ttl", "invalid %s value: %s", name, fault);
}

static bool check_min_lease(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return check_lease(setup, "min-lease-ttl", arguments[0]);
}

static bool check_max_lease(struct setup *setup, const struct text *arguments, size_t count)
{
    (void)count;
    return check_lease(setup, "max-lease-ttl", arguments[0]);
}

static const struct option etcd_options[] = {
    {.name = "stubzones", .form = OPTION_BARE},
    {.name = "fallthrough", .form = OPTION_ANY},
    {.name = "debug", .form = OPTION_BARE},
    {.name = "path", .form = OPTION_ONE},
    {.name = "endpoint", .form = OPTION_ALL, .min = 1},
    {.name = "upstream", .form = OPTION_ANY},
    {.name = "tls", .form = OPTION_ALL, .check = check_tls_files},
    {.name = "credentials", .form = OPTION_ALL, .min = 1, .check = check_credentials},
    {.name = "min-lease-ttl", .form = OPTION_ONE, .check = check_min_lease, .since = {1, 12, 4}},
    {.name = "max-lease-ttl", .form = OPTION_ONE, .check = check_max_lease, .since = {1, 12, 4}},
};

// Of several ones in a block only the first counts.
static bool check_etcd(struct setup *setup)
{
    size_t count;
    setup_next(setup);
    setup_arguments(setup, &count);
    return setup_read_options(setup, etcd_options, COUNT_OF(etcd_options));
}

const struct checked_plugin kubernetes_plugins[] = {
    {.name = "kubernetes", .check = check_kubernetes},
    {.name = "k8s_external", .check = check_external, .check_start = check_external_start},
    {.name = "autopath", .check = check_autopath},
    {.name = "etcd", .check = check_etcd},
    {0},
};
