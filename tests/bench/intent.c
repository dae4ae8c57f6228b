// What a decision on a DNSPublication of many names costs in one process, once all of it stands:
// what concerns it found in the shared model, addresses, comparing each DNSEndpoint, the status.
//
//     intent ENTRIES CLUSTERS ROUNDS [local]
//
// Each cluster has one address for all services; the logical cloud lists a record, and with `local`
// each cluster lists another one, so that there are CLUSTERS + 1 DNSEndpoints for each entry.
// Prints the medians of the rounds in microseconds of CPU: "endpoints=N resolve=U decide=U".

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controllers/intent/resolve.h"
#include "controllers/intent/test_site.h"

enum { ROUNDS_MAX = 1000 };

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "intent: %s\n", what);
    exit(1);
}

// ---- the project --------------------------------------------------------------------------------

static void put_records(void)
{
    static const char *const names[] = {"public", "site"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        put(&dnsupdaterecord_kind, names[i],
            "'spec':{'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':'192.0.2.53',"
            "'rfc2136-zone':'example.org','rfc2136-insecure':true,'domain-filter':'example.org'}}");
}

static void put_clusters(size_t count, bool is_local)
{
    AUTO_BUFFER references = {0};
    const char *list = ",{'name':'dns-update-record-list','kv':[{'a':'site'}]}";
    for (size_t i = 0; i < count; i++) {
        put(&edgecluster_kind, arena_printf(arena, "vendor.c%zu", i),
            arena_printf(arena,
                         "'spec':{'provider':'vendor','cluster':'c%zu','kvPairs':[{'name':'a','kv':"
                         "[{'dnsPublicAddress':'198.51.100.%zu'},{'dnsLocalAddress':'10.0.0.%zu'}]}"
                         "%s]}",
                         i, i + 1, i + 1, is_local ? list : ""));
        buffer_printf(&references, "%s{'name':'r%zu','clusterProvider':'vendor','cluster':'c%zu'}",
                      i ? "," : "", i, i);
    }
    put(&logicalcloud_kind, "cloud",
        arena_printf(arena,
                     "'spec':{'clusterReferences':[%s],'kvPairs':[{'name':"
                     "'dns-update-record-list','kv':[{'a':'public'}]}]}",
                     references.at));
}

static void put_entries(size_t count)
{
    AUTO_BUFFER inbound = {0};
    for (size_t i = 0; i < count; i++)
        buffer_printf(&inbound,
                      "%s{'name':'in-%zu','app':'front','appLabel':'a=b','serviceName':'web-%zu',"
                      "'port':443,'protocol':'TCP','externalName':'www-%zu.example.org',"
                      "'externalSupport':true}",
                      i ? "," : "", i, i, i);
    put(&trafficgroupintent_kind, "traffic",
        arena_printf(arena,
                     "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig',"
                     "'inbound':[%s]}",
                     inbound.at));
    put(&dnspublication_kind, "dig",
        "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig','logicalCloud':"
        "'cloud','desired':'Instantiated'}");
}

// ---- measuring ----------------------------------------------------------------------------------

static int64_t resolve_once(void)
{
    struct resolved resolved;
    CLEANUP(arena) struct arena *used = arena_new();
    struct model_reader reader = {.model = site.model, .arena = used};
    int64_t began_us = cpu_us();
    resolve_publication(&reader, at_site(&dnspublication_kind, "dig")->object, &resolved);
    return cpu_us() - began_us;
}

static int64_t decide_once(void)
{
    CLEANUP(arena) struct arena *used = arena_new();
    struct decision decision = {0};
    struct input_objects inputs[PUBLICATION_INPUTS] = {0};
    inputs[PUBLICATION_ENDPOINTS].objects = list_endpoints(&inputs[PUBLICATION_ENDPOINTS].count);
    inputs[PUBLICATION_ENDPOINTS].is_synced = true;
    const struct snapshot snapshot = {
        .arena = used,
        .namespace_ = TEXT("shop"),
        .name = TEXT("dig"),
        .subject = at_site(&dnspublication_kind, "dig")->object,
        .inputs = inputs,
        .now_ms = site.now_ms,
        .is_leading = true,
    };
    int64_t began_us = cpu_us();
    publication_decide(&snapshot, site.model, &decision);
    int64_t took_us = cpu_us() - began_us;
    if (decision.object_count)
        fail("the names are not settled");
    return took_us;
}

static int compare_us(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static long long median_us(int64_t (*once)(void), size_t rounds)
{
    static int64_t took[ROUNDS_MAX];
    for (size_t i = 0; i < rounds; i++)
        took[i] = once();
    qsort(took, rounds, sizeof *took, compare_us);
    return took[rounds / 2];
}

int main(int count, char **words)
{
    size_t entries = count > 3 ? strtoul(words[1], NULL, 10) : 0;
    size_t clusters = count > 3 ? strtoul(words[2], NULL, 10) : 0;
    size_t rounds = count > 3 ? strtoul(words[3], NULL, 10) : 0;
    bool is_local = count > 4 && !strcmp(words[4], "local");
    if (!entries || !clusters || clusters > 250 || !rounds || rounds > ROUNDS_MAX)
        fail("usage: intent ENTRIES CLUSTERS ROUNDS [local]");
    void *state = NULL;
    open_site(&state);
    put_records();
    put_clusters(clusters, is_local);
    put_entries(entries);
    reconcile_site("dig");
    size_t endpoints;
    list_endpoints(&endpoints);
    long long resolve_us = median_us(resolve_once, rounds);
    printf("endpoints=%zu resolve=%lld decide=%lld\n", endpoints, resolve_us,
           median_us(decide_once, rounds));
    close_site(&state);
    return 0;
}
