#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/section.h"
#include "store/cluster/kubeconfig.h"

// What a cluster and a user of a kubeconfig say, checked. Files that they name must be readable.

bool kubeconfig_read_cluster(struct kube_access *access, const struct section *cluster,
                             struct error *err);
bool kubeconfig_read_user(struct kube_access *access, const struct section *user,
                          struct error *err);
