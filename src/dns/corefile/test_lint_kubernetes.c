#include "dns/corefile/test_lint.h"

static void kubernetes_serves_at_least_one_zone_of_names(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "kubernetes cluster.local in-addr.arpa ip6.arpa {\npods insecure\nttl 30\n}", ""},
        {NULL, "kubernetes in-addr.arpa ip6.arpa", ""},
        {NULL, "kubernetes 10.in-addr.arpa",
         "plugin/kubernetes: non-reverse zone name must be used"},
        {NULL, "kubernetes a..b", "plugin/kubernetes: non-reverse zone name must be used"},
        {NULL, "kubernetes a.example\nkubernetes b.example", "plugin/kubernetes: " ONCE},
    };
    CHECK_LINES(rows);
}

static void options_of_kubernetes_have_their_arguments_and_releases(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "pods all",
         "wrong value for pods: all,  must be one of: disabled, verified, insecure"},
        {NULL, "pods", AT("3") WRONG_COUNT "'pods'"},
        {NULL, "ttl +30", ""},
        {NULL, "ttl 3601", AT("3") "ttl must be in range [0, 3600]: 3601"},
        {NULL, "upstream", AT("3") "unknown property 'upstream'"},
        {NULL, "namespaces a\nnamespace_labels b",
         AT("5") "namespaces and namespace_labels cannot both be set"},
        {NULL, "namespaces namespace_labels", ""},
        {NULL, "ignore all", "unable to parse ignore value: 'all'"},
        {NULL, "kubeconfig a b c", AT("3") WRONG_COUNT "'c'"},
        {NULL, "tls a b", AT("3") WRONG_COUNT "'b'"},
        {NULL, "startup_timeout 5",
         "failed to parse startup_timeout: 5, time: missing unit in duration \"5\""},
        {"1.12.2", "startup_timeout 5s", AT("3") "unknown property 'startup_timeout'"},
        {NULL, "multicluster a.example", ""},
        {NULL, "multicluster B.example",
         AT("4") "is not authoritative for the multicluster zone b.example. (authoritative zones: "
                 "[a.example. 0.10.in-addr.arpa. 1.10.in-addr.arpa.])"},
        {"1.12.1", "multicluster b.example", AT("3") "unknown property 'multicluster'"},
        {NULL, "zonal\nnoendpoints",
         AT("5") "zonal requires the endpoint cache; remove noendpoints"},
        {"1.14.6", "zonal", AT("3") "unknown property 'zonal'"},
        {NULL, "apiserver_qps 1e2", ""},
        {NULL, "apiserver_qps 1_000.5", ""},
        {NULL, "apiserver_qps x",
         AT("3") "invalid apiserver_qps \"x\": strconv.ParseFloat: parsing \"x\": invalid syntax"},
        {NULL, "apiserver_qps 1e39",
         AT("3") "invalid apiserver_qps \"1e39\": strconv.ParseFloat: parsing \"1e39\": value out "
                 "of range"},
        {NULL, "apiserver_qps -1", AT("3") "apiserver_qps must be >= 0"},
        {NULL, "apiserver_burst -1", AT("3") "apiserver_burst must be >= 0"},
        {NULL, "apiserver_max_inflight 1.5",
         AT("3") "invalid apiserver_max_inflight \"1.5\": strconv.Atoi: parsing \"1.5\": invalid "
                 "syntax"},
        {"1.13.2", "apiserver_burst 1", AT("3") "unknown property 'apiserver_burst'"},
    };
    CHECK_OPTIONS("kubernetes a.example 10.0.0.0/15", rows);
}

static void k8s_external_needs_kubernetes_beside_it(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "k8s_external a.example", "plugin/k8s_external: kubernetes plugin not loaded"},
        {"1.10.1", "k8s_external a.example", ""},
        {NULL, "k8s_external a.example\nkubernetes cluster.local", ""},
    };
    CHECK_LINES(heads);
    const struct row rows[] = {
        {"1.10.1", "ttl 30\napex dns\nheadless", ""},
        {"1.10.1", "ttl", AT("3") WRONG_COUNT "'ttl'"},
        {"1.10.1", "ttl x", "strconv.Atoi: parsing \"x\": invalid syntax"},
        {"1.10.1", "ttl 3601", AT("3") "ttl must be in range [0, 3600]: 3601"},
        {"1.10.1", "apex", AT("3") WRONG_COUNT "'apex'"},
        {"1.10.1", "fallthrough", AT("3") "unknown property 'fallthrough'"},
    };
    CHECK_OPTIONS("k8s_external a.example", rows);
}

static void what_servers_say_when_they_start_comes_last(void **state)
{
    (void)state;
    assert_string_equal(lint(NULL, ". {\nk8s_external a\nwhoami x\n}\n. {\n}\n"),
                        "plugin/whoami: " AT("3") WRONG_COUNT
                        "'x'\n"
                        "cannot serve dns://.:53 - it is already defined\n"
                        "plugin/k8s_external: kubernetes plugin not loaded");
}

static void autopath_has_a_source(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "autopath", "plugin/autopath: no resolv-conf specified"},
        {NULL, "autopath a.example /etc/resolv.conf", ""},
        {NULL, "autopath @kubernetes", "(no-kubernetes)"},
        {NULL, "autopath @kubernetes\nkubernetes cluster.local", ""},
    };
    CHECK_LINES(rows);
}

static void etcd_has_endpoints_and_leases(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL,
         "path /skydns\nendpoint http://192.0.2.1:2379\ntls cert.pem key.pem ca.pem\n"
         "credentials user password\nmin-lease-ttl 30\nmax-lease-ttl 24h\nfallthrough\nstubzones",
         ""},
        {NULL, "path", AT("3") WRONG_COUNT "'path'"},
        {NULL, "endpoint", AT("3") WRONG_COUNT "'endpoint'"},
        {NULL, "tls a b c d", "maximum of three arguments allowed for TLS config, found 4"},
        {NULL, "credentials", AT("3") WRONG_COUNT "'credentials'"},
        {NULL, "credentials user",
         AT("3") "credentials requires 2 arguments, username and password"},
        {NULL, "min-lease-ttl \"\"", ""},
        {NULL, "min-lease-ttl 1x",
         AT("3") "invalid min-lease-ttl value: invalid TTL format, use format like '30', '30s', "
                 "'5m', '1h', or '2h30m'"},
        {NULL, "max-lease-ttl -1s",
         AT("3") "invalid max-lease-ttl value: TTL must be non-negative"},
        {NULL, "max-lease-ttl 4294967296",
         AT("3") "invalid max-lease-ttl value: TTL too large, maximum is 4294967295 seconds"},
        {"1.12.3", "min-lease-ttl 30", AT("3") "unknown property 'min-lease-ttl'"},
        {NULL, "nothing", AT("3") "unknown property 'nothing'"},
    };
    CHECK_OPTIONS("etcd a.example", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(kubernetes_serves_at_least_one_zone_of_names),
        UNIT(options_of_kubernetes_have_their_arguments_and_releases),
        UNIT(k8s_external_needs_kubernetes_beside_it),
        UNIT(what_servers_say_when_they_start_comes_last),
        UNIT(autopath_has_a_source),
        UNIT(etcd_has_endpoints_and_leases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
