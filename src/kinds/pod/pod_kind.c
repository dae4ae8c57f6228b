#include "kinds/pod/pod_kind.h"

#include "base/labels.h"

static bool is_ready(const struct value *object)
{
    value_each (item, value_list_at(object, "status.conditions"))
        if (text_is(value_text_at(item, "type"), "Ready"))
            return text_is(value_text_at(item, "status"), "True");
    return false;
}

static const struct value *termination_of(const struct value *object)
{
    const struct value *statuses = value_list_at(object, "status.containerStatuses");
    const struct value *first = statuses ? statuses->first : NULL;
    const struct value *now = value_at(first, "state.terminated", NULL);
    return now ? now : value_at(first, "lastState.terminated", NULL);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *termination = termination_of(object);
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "status.podIP"));
    pack_text(out, value_text_at(object, "status.phase"));
    pack_text(out, value_text_at(object, "spec.nodeName"));
    pack_number(out, is_ready(object));
    pack_number(out, termination != NULL);
    pack_signed(out, value_int_at(termination, "exitCode", 0));
    pack_text(out, value_text_at(termination, "message"));
}

void pod_unpack(struct text spec, struct pod *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    out->pod_ip = unpack_text(&in);
    out->phase = unpack_text(&in);
    out->node_name = unpack_text(&in);
    out->is_ready = unpack_number(&in);
    out->is_terminated = unpack_number(&in);
    out->exit_code = unpack_signed(&in);
    out->message = unpack_text(&in);
}

const struct kind pod_kind = {
    .group = "",
    .version = "v1",
    .name = "Pod",
    .plural = "pods",
    .singular = "pod",
    .is_namespaced = true,
    .is_foreign = true,
    .has_their_status = true,
    .keeps_labels = true,
    .doc = "Containers that run together.",
    .pack_spec = pack_spec,
};
