#include "kinds/namespace/namespace_kind.h"

// Labels as (1, key, value), ended by 0.
static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *labels = value_at(object, "metadata.labels", NULL);
    value_each (item, labels && labels->type == VALUE_MAP ? labels : NULL) {
        pack_number(out, 1);
        pack_text(out, item->key);
        pack_text(out, value_text(item));
    }
    pack_number(out, 0);
}

const struct kind namespace_kind = {
    .group = "",
    .version = "v1",
    .name = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .is_namespaced = false,
    .is_foreign = true,
    .doc = "A namespace; its labels are what selectors look at.",
    .pack_spec = pack_spec,
};
