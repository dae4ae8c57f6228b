#pragma once

// For tests of this folder: clusters as they usually are. Comes behind cmocka.h.

#include "controllers/clusterdns/test_cluster.h"

#define ONE_ZONE "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]"
#define OTHER_ZONE "'servers':[" SERVER("'b.example'", "'192.0.2.2'") "]"

static const char kubeadm[] = ".:53 {\n    errors\n    health {\n       lameduck 5s\n    }\n"
                              "    ready\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n"
                              "       pods insecure\n       fallthrough in-addr.arpa ip6.arpa\n"
                              "    }\n    prometheus :9153\n"
                              "    forward . /etc/resolv.conf { # the node's\n"
                              "       max_concurrent 1000\n    }\n    cache 30\n    loop\n"
                              "    reload\n    loadbalance\n}\n";

static inline void use_kubeadm(void)
{
    put_text_map("kube-system", "coredns", "Corefile", kubeadm);
    put(&deployment_kind, "kube-system", "coredns", "",
        "'spec':{'replicas':2,'template':{'spec':{'serviceAccountName':'coredns','affinity':{},"
        "'containers':[{'name':'sidecar'},{'name':'coredns','image':'registry/coredns:v1.11.1',"
        "'env':[{'name':'A'}],'livenessProbe':{},'ports':[{'containerPort':53,'hostPort':53}]}],"
        "'volumes':[{'name':'c','configMap':{'name':'coredns','items':[]}},{'name':'x','projected':"
        "{'sources':[{'configMap':{'name':'coredns'}},{'configMap':{'name':'zones'}}]}}]}}},"
        "'status':{'updatedReplicas':2,'availableReplicas':2}");
    put(&service_kind, "kube-system", "kube-dns", "", "'spec':{'clusterIP':'10.96.0.10'}");
}

static inline void pods_answer(const char *id)
{
    set_answer(0, "10.0.0.1:53", id);
    set_answer(1, "10.0.0.2:53", id);
}

static inline void put_kube_dns_pods(void)
{
    put_pod(false, "coredns-a", "10.0.0.1");
    put_pod(false, "coredns-b", "10.0.0.2");
}

// The main object is deleted, and has an end.
static inline void end_main(void)
{
    value_put_text(arena, find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree,
                   "metadata.deletionTimestamp", "2025-12-30T11:00:00Z");
    settle(DNS_MAIN_NAME);
    must(!find_stored(&dns_kind, "", DNS_MAIN_NAME));
}

// All Pods of kube-dns run what is wanted.
static inline void converge(void)
{
    settle(DNS_MAIN_NAME);
    pods_answer(config_id());
    settle(DNS_MAIN_NAME);
}

// An own CoreDNS whose Pod runs the first config.
static inline const char *run_own(void)
{
    cluster.settings.image = "registry/coredns:v1.12.4";
    cluster.settings.preflight = "auto";
    cluster.settings.cluster_ip = "172.30.0.10";
    put_pod(true, "dns-a", "10.0.0.1");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    set_answer(0, "10.0.0.1:5353", config_id());
    struct stored *daemonset = find_stored(&daemonset_kind, "openshift-dns", "dns-default");
    value_set(daemonset->tree, TEXT("status"),
              quote(arena, "{'desiredNumberScheduled':1,'updatedNumberScheduled':1,"
                           "'numberAvailable':1}"));
    settle(DNS_MAIN_NAME);
    must(!strcmp(now("Converged"), "True/Converged"));
    return data_of("openshift-dns", "dns-default", "Corefile");
}

static inline struct stored *preflight_pod(void)
{
    return find_stored(&pod_kind, "openshift-dns",
                       arena_printf(arena, "dns-default-preflight-%.8s", config_id()));
}

static inline void report_of_pod(const char *status)
{
    struct stored *pod = preflight_pod();
    must(pod);
    value_set(pod->tree, TEXT("status"), quote(arena, status));
    touch(pod->tree);
}
