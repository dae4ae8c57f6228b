#include "kinds/namespace/namespace_kind.h"

#include "base/labels.h"

const struct kind namespace_kind = {
    .group = "",
    .version = "v1",
    .name = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .is_namespaced = false,
    .is_foreign = true,
    .doc = "A namespace; its labels are what selectors look at.",
    .pack_spec = labels_pack,
    .keeps_labels = true,
};
