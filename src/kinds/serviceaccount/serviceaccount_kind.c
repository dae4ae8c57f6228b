#include "kinds/serviceaccount/serviceaccount_kind.h"

#include "base/labels.h"

const struct kind serviceaccount_kind = {
    .group = "",
    .version = "v1",
    .name = "ServiceAccount",
    .plural = "serviceaccounts",
    .singular = "serviceaccount",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .doc = "Whom pods act as.",
    .pack_spec = labels_pack,
    .keeps_labels = true,
};
