#include "dns/corefile/address.h"
#include "dns/corefile/setup.h"

// The plugin `kubernetes` and those that need it in their block.

enum { TTL_MAX_S = 3600, TLS_FILES = 3 };

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

static bool check_not_negative(struct setup *setup, const struct text *arguments, size_t count)
{
    int64_t number = 0;
    (void)count;
    if (!go_int(setup, arguments[0], &number))
        return false;
    return number >= 0 || setup_fail_at(setup, "negative", "must be >= 0");
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
    {.name = "multicluster", .form = OPTION_ANY, .since = {1, 12, 2}},
    {.name = "startup_timeout",
     .form = OPTION_ALL,
     .min = 1,
     .check = check_startup_timeout,
     .since = {1, 12, 3}},
    {.name = "apiserver_qps", .form = OPTION_ALL, .min = 1, .max = 1, .since = {1, 14, 0}},
    {.name = "apiserver_burst",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_not_negative,
     .since = {1, 14, 0}},
    {.name = "apiserver_max_inflight",
     .form = OPTION_ALL,
     .min = 1,
     .max = 1,
     .check = check_not_negative,
     .since = {1, 14, 0}},
};

// Below in-addr.arpa or ip6.arpa; these two themselves count as zones like any other.
static bool is_reverse(struct arena *arena, struct text zone)
{
    struct text name = corefile_zone_name(arena, zone, false);
    return text_ends(name, ".in-addr.arpa.") || text_ends(name, ".ip6.arpa.");
}

static bool has_forward_zone(struct arena *arena, const struct text *zones, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct corefile_address address;
        if (!corefile_address_read(arena, zones[i], &address) &&
            !is_reverse(arena, address.zones[0]))
            return true;
    }
    return false;
}

static bool has_option(const struct setup *setup, size_t from, const char *name)
{
    const struct corefile *corefile = setup->linter->corefile;
    for (size_t i = from; i < setup->next; i++)
        if (text_is(corefile_text(corefile, setup->tokens[i]), name))
            return true;
    return false;
}

static bool check_kubernetes(struct setup *setup)
{
    while (setup_next(setup)) {
        size_t count;
        if (!setup_is_first(setup))
            return false;
        struct text *zones = setup_arguments(setup, &count);
        const struct text *served = count ? zones : setup->block->keys;
        if (!has_forward_zone(setup->linter->arena, served,
                              count ? count : setup->block->key_count))
            return setup_fail(setup, "kubernetes-zones", "non-reverse zone name must be used");
        size_t first = setup->next;
        if (!setup_read_options(setup, kubernetes_options, COUNT_OF(kubernetes_options)))
            return false;
        if (has_option(setup, first, "namespaces") && has_option(setup, first, "namespace_labels"))
            return setup_fail_at(setup, "kubernetes-namespaces",
                                 "namespaces and namespace_labels cannot both be set");
        if (has_option(setup, first, "zonal") && has_option(setup, first, "noendpoints"))
            return setup_fail_at(setup, "kubernetes-zonal",
                                 "zonal requires the endpoint cache; remove noendpoints");
    }
    return true;
}

const struct checked_plugin kubernetes_plugins[] = {{"kubernetes", check_kubernetes}, {NULL, NULL}};
