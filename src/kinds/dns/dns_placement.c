#include "kinds/dns/dns_body.h"

// nodePlacement, as far as an API server refuses a Pod for it (core/v1 PodSpec). OpenShift's schema
// says nothing of it.

static void refuse(struct dns_faults *faults, const char *path, const char *text)
{
    dns_add_fault(faults, REASON_INVALID_OPTION, path, "%s", text);
}

static void check_selector(const struct value *selector, struct dns_faults *faults)
{
    value_each (label, selector)
        if (!kind_is_label_key(label->key) || !kind_is_label_value(value_text(label)))
            refuse(faults,
                   arena_printf(faults->arena, "spec.nodePlacement.nodeSelector.%.*s",
                                TEXT_ARGS(label->key)),
                   "must be a label: its key an optional DNS name and /, then at most 63 letters, "
                   "digits, - _ or ., its value at most 63 of these");
}

static bool has_seconds(const struct value *toleration)
{
    const struct value *seconds = value_at(toleration, "tolerationSeconds", NULL);
    return seconds && seconds->type == VALUE_INT;
}

static const char *toleration_fault(const struct value *toleration)
{
    struct text key = value_text_at(toleration, "key");
    struct text value = value_text_at(toleration, "value");
    bool is_any_value = text_is(value_text_at(toleration, "operator"), "Exists");
    if (key.len && !kind_is_label_key(key))
        return "has a key that no taint can have";
    if (!key.len && !is_any_value)
        return "must have the operator Exists, as it has no key";
    if (is_any_value && value.len)
        return "must have no value with the operator Exists";
    if (!kind_is_label_value(value))
        return "has a value that no taint can have";
    if (has_seconds(toleration) && !text_is(value_text_at(toleration, "effect"), "NoExecute"))
        return "must have the effect NoExecute with tolerationSeconds";
    return NULL;
}

const struct dns_fault *dns_check_placement(const struct dns_spec *spec, struct dns_faults *faults)
{
    size_t before = faults->count;
    size_t at = 0;
    check_selector(spec->node_selector, faults);
    value_each (toleration, spec->tolerations) {
        const char *fault = toleration_fault(toleration);
        if (fault)
            refuse(faults, arena_printf(faults->arena, "spec.nodePlacement.tolerations[%zu]", at),
                   fault);
        at++;
    }
    return dns_first_error(faults, before);
}
