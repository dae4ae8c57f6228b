#include "kinds/role/role_kind.h"

#include "base/labels.h"
#include "kinds/tree_body.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    tree_pack(out, value_find(object, "rules"));
}

struct text role_rules(struct text spec)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    return unpack_text(&in);
}

const struct kind role_kind = {
    .group = "rbac.authorization.k8s.io",
    .version = "v1",
    .name = "Role",
    .plural = "roles",
    .singular = "role",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .doc = "What its bearers may do in its namespace.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
