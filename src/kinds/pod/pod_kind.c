#include "kinds/pod/pod_kind.h"

#include "base/labels.h"
#include "kinds/condition.h"
#include "kinds/group.h"
#include "kinds/pod_spec.h"

// ---- packing ------------------------------------------------------------------------------------

// Statuses are sorted by name, so that of the first container need not be the first.
static const struct value *first_container_status(const struct value *object)
{
    struct text name = value_text_at(pod_spec_container(value_find(object, "spec"), NULL), "name");
    value_each (status, value_list_at(object, "status.containerStatuses"))
        if (name.at && text_equal(value_text_at(status, "name"), name))
            return status;
    return NULL;
}

static void pack_end(struct pack_writer *out, const struct value *terminated)
{
    bool is_known = terminated && terminated->type == VALUE_MAP;
    pack_number(out, is_known);
    if (!is_known)
        return;
    pack_signed(out, value_int_at(terminated, "exitCode", 0));
    pack_signed(out, status_time_at(terminated, "finishedAt"));
    pack_text(out, value_text_at(terminated, "reason"));
    pack_text(out, value_text_at(terminated, "message"));
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *status = first_container_status(object);
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "status.podIP"));
    pack_text(out, value_text_at(object, "status.phase"));
    pack_text(out, value_text_at(object, "spec.nodeName"));
    pack_number(out, status_has_condition(object, "Ready"));
    pack_text(out, value_text_at(object, "metadata.annotations[" CONFIG_ID_ANNOTATION "]"));
    pack_end(out, value_at(status, "state.terminated", NULL));
    pack_end(out, value_at(status, "lastState.terminated", NULL));
}

// ---- unpacking ----------------------------------------------------------------------------------

static struct pod_end unpack_end(struct pack_reader *in)
{
    struct pod_end end = {.is_known = unpack_number(in)};
    if (!end.is_known)
        return end;
    end.exit_code = unpack_signed(in);
    end.finished_s = unpack_signed(in);
    end.reason = unpack_text(in);
    end.message = unpack_text(in);
    return end;
}

void pod_unpack(struct text spec, struct pod *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct pod){.ip = unpack_text(&in)};
    out->phase = unpack_text(&in);
    out->node = unpack_text(&in);
    out->is_ready = unpack_number(&in);
    out->config_id = unpack_text(&in);
    out->end = unpack_end(&in);
    out->last_end = unpack_end(&in);
}

const struct kind pod_kind = {
    .group = "",
    .version = "v1",
    .name = "Pod",
    .plural = "pods",
    .singular = "pod",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "Containers that run together on a node.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
