#include "kinds/configmap/configmap_kind.h"

const struct kind config_map_kind = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "Text under names.",
};
