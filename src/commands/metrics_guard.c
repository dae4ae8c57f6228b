#include "commands/metrics_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands/manifest.h"
#include "io/address.h"
#include "io/x509.h"
#include "store/cluster/bearers.h"

enum {
    HOUR_S = 3600,
    LIFE_S = 10 * 365 * 24 * HOUR_S, // longer than any process runs
    HOST_OCTETS_MAX = 320,
    HOSTS_MAX = 4,
};

const struct option metrics_guard_option = {
    .name = "metrics-secure",
    .type = OPTION_FLAG,
    .doc = "Serve /metrics over TLS, to accounts of the cluster that may get the non-resource URL "
           "/metrics.",
};

struct metrics_guard {
    struct world world;
    struct bearers *bearers;
};

bool metrics_guard_check(const struct invocation *invocation, bool is_cluster, bool *is_wanted,
                         struct error *err)
{
    *is_wanted = option_flag(invocation, metrics_guard_option.name);
    if (*is_wanted && !is_cluster)
        return error_set(err, FAULT_SPEC, "",
                         "--metrics-secure needs a cluster: a folder has no accounts");
    return true;
}

struct metrics_guard *metrics_guard_new(const struct world *world, struct api *api)
{
    struct metrics_guard *guard = mem_new_of(struct metrics_guard);
    guard->world = *world;
    guard->bearers = bearers_new(world, api, "/metrics");
    return guard;
}

void metrics_guard_free(struct metrics_guard *guard)
{
    if (!guard)
        return;
    bearers_free(guard->bearers);
    free(guard);
}

static void handle_reply(void *asker, enum bearer_result result)
{
    static const enum probes_result results[] = {
        [BEARER_ALLOWED] = PROBES_ALLOWED,
        [BEARER_UNKNOWN] = PROBES_UNKNOWN,
        [BEARER_FORBIDDEN] = PROBES_FORBIDDEN,
        [BEARER_UNSURE] = PROBES_UNSURE,
    };
    probes_judged(asker, results[result]);
}

void metrics_guard_judge(struct metrics_guard *guard, struct text token, const char *peer,
                         void *asker)
{
    struct bearer bearer = {.token = token};
    // What is no address shares the limits of one that is unspecified.
    address_read(peer, bearer.source);
    bearers_ask(guard->bearers, &bearer, handle_reply, asker);
}

void metrics_guard_forget(struct metrics_guard *guard, const void *asker)
{
    bearers_forget(guard->bearers, asker);
}

// ---- the certificate ----------------------------------------------------------------------------

static bool is_wildcard(const char *address)
{
    return !*address || !strcmp(address, "0.0.0.0") || !strcmp(address, "::");
}

static bool make_pair(struct x509_pair *leaf, const struct world *world, const char *const *hosts,
                      size_t host_count, struct error *err)
{
    struct x509_pair ca = {0};
    int64_t now_s = loop_unix_ms(world->loop) / 1000;
    const struct x509_leaf options = {
        .common_name = MANIFEST_METRICS_SERVICE,
        .hosts = hosts,
        .host_count = host_count,
        .from_s = now_s - HOUR_S,
        .until_s = now_s + LIFE_S,
    };
    bool is_made = x509_make_ca(&ca, world->random, MANIFEST_METRICS_SERVICE "-ca", options.from_s,
                                options.until_s, err) &&
                   x509_make_leaf(leaf, world->random, &ca, &options, err);
    x509_pair_done(&ca);
    return is_made;
}

bool metrics_guard_certify(const struct metrics_guard *guard, struct probes *frontend,
                           const char *namespace_, const char *address, struct error *err)
{
    char service[HOST_OCTETS_MAX];
    char full[HOST_OCTETS_MAX];
    const char *hosts[HOSTS_MAX] = {service, full, "localhost", address};
    struct x509_pair leaf = {0};
    snprintf(service, sizeof service, "%s.%s.svc", MANIFEST_METRICS_SERVICE, namespace_);
    snprintf(full, sizeof full, "%s.%s.svc.cluster.local", MANIFEST_METRICS_SERVICE, namespace_);
    bool is_served =
        make_pair(&leaf, &guard->world, hosts, HOSTS_MAX - is_wildcard(address), err) &&
        probes_set_certificate(frontend, text_of(leaf.certificate_pem), leaf.key_pem, err);
    x509_pair_done(&leaf);
    return is_served;
}
