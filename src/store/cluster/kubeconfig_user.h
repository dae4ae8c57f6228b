#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "store/cluster/kubeconfig.h"
#include "store/cluster/kubeconfig_section.h"

// What a cluster and a user of a kubeconfig say, checked. Files that they name must be readable.

bool kubeconfig_read_cluster(struct kube_access *access, const struct kubeconfig_section *cluster,
                             struct error *err);
bool kubeconfig_read_user(struct kube_access *access, const struct kubeconfig_section *user,
                          struct error *err);
