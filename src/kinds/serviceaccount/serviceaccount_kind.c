#include "kinds/serviceaccount/serviceaccount_kind.h"

#include "base/labels.h"
#include "kinds/tree_body.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    tree_pack(out, value_at(object, "metadata.annotations", NULL));
}

struct text serviceaccount_annotations(struct text spec)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    return unpack_text(&in);
}

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
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
