#include "kinds/daemonset/daemonset_kind.h"

#include "kinds/group.h"
#include "kinds/text_list.h"

#define TEMPLATE "spec.template"

static void pack_labels(const struct value *labels, struct pack_writer *out)
{
    pack_number(out, value_count(labels));
    value_each (item, labels) {
        pack_text(out, item->key);
        pack_text(out, value_text(item));
    }
}

static void pack_config_maps(const struct value *volumes, struct pack_writer *out)
{
    value_each (item, volumes)
        text_list_add(out, value_text_at(item, "configMap.name"));
    text_list_end(out);
}

static void pack_json(const struct value *value, struct pack_writer *out)
{
    AUTO_BUFFER json = {0};
    if (value)
        value_write_json(&json, value);
    pack_text(out, value ? buffer_text(&json) : (struct text){0});
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *containers = value_list_at(object, TEMPLATE ".spec.containers");
    pack_text(out, value_text_at(containers ? containers->first : NULL, "image"));
    pack_text(out,
              value_text_at(object, TEMPLATE ".metadata.annotations[" DNS_GROUP "/config-id]"));
    pack_json(value_list_at(object, TEMPLATE ".spec.tolerations"), out);
    pack_labels(value_at(object, TEMPLATE ".spec.nodeSelector", NULL), out);
    pack_config_maps(value_list_at(object, TEMPLATE ".spec.volumes"), out);
    pack_signed(out, value_int_at(object, "status.desiredNumberScheduled", 0));
    pack_signed(out, value_int_at(object, "status.updatedNumberScheduled", 0));
    pack_signed(out, value_int_at(object, "status.numberAvailable", 0));
}

static void unpack_labels(struct arena *arena, struct pack_reader *in, struct daemonset *out)
{
    out->node_selector_count = unpack_number(in);
    struct daemonset_label *labels =
        arena_new_array(arena, struct daemonset_label, out->node_selector_count + 1);
    for (size_t i = 0; i < out->node_selector_count; i++) {
        labels[i].key = unpack_text(in);
        labels[i].value = unpack_text(in);
    }
    out->node_selector = labels;
}

void daemonset_unpack(struct arena *arena, struct text spec, struct daemonset *out)
{
    struct pack_reader in = pack_open(spec);
    out->image = unpack_text(&in);
    out->config_id = unpack_text(&in);
    out->tolerations = unpack_text(&in);
    unpack_labels(arena, &in, out);
    out->config_maps = text_list_unpack(arena, &in, &out->config_map_count);
    out->desired = unpack_signed(&in);
    out->updated = unpack_signed(&in);
    out->available = unpack_signed(&in);
}

const struct kind daemonset_kind = {
    .group = "apps",
    .version = "v1",
    .name = "DaemonSet",
    .plural = "daemonsets",
    .singular = "daemonset",
    .is_namespaced = true,
    .is_foreign = true,
    .has_their_status = true,
    .doc = "A Pod on each node.",
    .pack_spec = pack_spec,
};
