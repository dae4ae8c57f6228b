#include "kinds/node/node_kind.h"

#include "base/labels.h"
#include "kinds/condition.h"

// ---- packing ------------------------------------------------------------------------------------

static void pack_taints(struct pack_writer *out, const struct value *object)
{
    value_each (taint, value_list_at(object, "spec.taints")) {
        pack_number(out, 1);
        pack_text(out, value_text_at(taint, "key"));
        pack_text(out, value_text_at(taint, "value"));
        pack_text(out, value_text_at(taint, "effect"));
    }
    pack_number(out, 0);
}

static void pack_addresses(struct pack_writer *out, const struct value *object)
{
    const struct value *list = value_list_at(object, "status.addresses");
    pack_number(out, value_count(list));
    value_each (address, list) {
        pack_text(out, value_text_at(address, "type"));
        pack_text(out, value_text_at(address, "address"));
    }
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_number(out, status_has_condition(object, "Ready"));
    pack_number(out, value_bool_at(object, "spec.unschedulable", false));
    pack_taints(out, object);
    pack_addresses(out, object);
}

// ---- unpacking ----------------------------------------------------------------------------------

static struct node_taint unpack_taint(struct pack_reader *in)
{
    struct node_taint taint = {.key = unpack_text(in)};
    taint.value = unpack_text(in);
    taint.effect = unpack_text(in);
    return taint;
}

static const struct node_taint *unpack_taints(struct arena *arena, struct pack_reader *in,
                                              size_t *count)
{
    struct pack_reader counting = *in;
    for (*count = 0; unpack_number(&counting); ++*count)
        unpack_taint(&counting);
    struct node_taint *taints = arena_new_array(arena, struct node_taint, *count + 1);
    for (size_t i = 0; unpack_number(in); i++)
        taints[i] = unpack_taint(in);
    return taints;
}

static const struct node_address *unpack_addresses(struct arena *arena, struct pack_reader *in,
                                                   size_t *count)
{
    *count = unpack_number(in);
    struct node_address *addresses = arena_new_array(arena, struct node_address, *count + 1);
    for (size_t i = 0; i < *count; i++) {
        addresses[i].type = unpack_text(in);
        addresses[i].address = unpack_text(in);
    }
    return addresses;
}

void node_unpack(struct arena *arena, struct text spec, struct node *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct node){.is_ready = unpack_number(&in)};
    out->is_unschedulable = unpack_number(&in);
    out->taints = unpack_taints(arena, &in, &out->taint_count);
    out->addresses = unpack_addresses(arena, &in, &out->address_count);
}

bool node_has_labels(struct text spec, const struct text_pair *labels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct text value = labels_find(spec, labels[i].key);
        if (!value.at || !text_equal(value, labels[i].value))
            return false;
    }
    return true;
}

const struct kind node_kind = {
    .group = "",
    .version = "v1",
    .name = "Node",
    .plural = "nodes",
    .singular = "node",
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "A machine that pods run on.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
