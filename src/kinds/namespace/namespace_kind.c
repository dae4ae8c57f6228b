#include "kinds/namespace/namespace_kind.h"

#include "base/labels.h"
#include "kinds/group.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    text_map_pack_of(out, value_at(object, "metadata.annotations", NULL), DNS_GROUP);
}

const struct text_pair *namespace_annotations(struct arena *arena, struct text spec, size_t *count)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    return text_map_unpack(arena, &in, count);
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
    .keeps_labels = true,
};
