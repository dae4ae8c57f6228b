#include "kinds/servicemonitor/servicemonitor_kind.h"

#include "base/labels.h"
#include "kinds/tree_body.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    tree_pack(out, value_find(object, "spec"));
}

struct text servicemonitor_unpack(struct text body)
{
    struct pack_reader in = pack_open(body);
    labels_skip(&in);
    return unpack_text(&in);
}

const struct kind servicemonitor_kind = {
    .group = "monitoring.coreos.com",
    .version = "v1",
    .name = "ServiceMonitor",
    .plural = "servicemonitors",
    .singular = "servicemonitor",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .doc = "Services that Prometheus scrapes.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
