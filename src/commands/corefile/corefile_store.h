#pragma once

#include "commands/option.h"
#include "dns/corefile/corefile.h"

// The Corefile of the configured store (configured_store.h): what is under the key Corefile in the
// ConfigMap kube-system/coredns or, where there is none, openshift-dns/dns-default. In a cluster
// that is two requests at most; in a folder all manifests are looked through. Read once, and
// nothing is written. Needs the options of the store and --timeout.

#define COREFILE_STORE_TIMEOUT                                                                     \
    TIMEOUT_OPTION("10s", "How long a cluster may take to hand out its Corefile.")

// out->path is for people: "ConfigMap kube-system/coredns". False if the cluster has none.
bool corefile_store_read(const struct invocation *invocation, struct corefile_file *out,
                         struct error *err);
