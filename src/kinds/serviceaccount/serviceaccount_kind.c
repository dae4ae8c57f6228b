#include "kinds/serviceaccount/serviceaccount_kind.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    (void)object;
    (void)out;
}

const struct kind serviceaccount_kind = {
    .group = "",
    .version = "v1",
    .name = "ServiceAccount",
    .plural = "serviceaccounts",
    .singular = "serviceaccount",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "Who a Pod is to the API server.",
    .pack_spec = pack_spec,
};
