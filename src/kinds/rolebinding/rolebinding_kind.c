#include "kinds/rolebinding/rolebinding_kind.h"

#include "base/labels.h"
#include "kinds/tree_body.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    tree_pack(out, value_find(object, "roleRef"));
    tree_pack(out, value_find(object, "subjects"));
}

void rolebinding_unpack(struct text spec, struct rolebinding *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    out->role = unpack_text(&in);
    out->subjects = unpack_text(&in);
}

const struct kind rolebinding_kind = {
    .group = "rbac.authorization.k8s.io",
    .version = "v1",
    .name = "RoleBinding",
    .plural = "rolebindings",
    .singular = "rolebinding",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .doc = "Who bears a role in its namespace.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
