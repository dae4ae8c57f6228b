#include "kinds/pod_spec.h"

const struct value *pod_spec_container(const struct value *spec, const char *name)
{
    const struct value *list = value_list_at(spec, "containers");
    value_each (container, name ? list : NULL)
        if (text_is(value_text_at(container, "name"), name))
            return container;
    return list ? list->first : NULL;
}

struct text pod_spec_image(const struct value *spec, const char *name)
{
    return value_text_at(pod_spec_container(spec, name), "image");
}

// core/v1 Toleration: an operator that is absent is Equal, a text that is absent is empty.
static const struct toleration_field {
    const char *name;
    const char *fallback;
} toleration_fields[] = {
    {"key", ""},
    {"operator", "Equal"},
    {"value", ""},
    {"effect", ""},
};

static void write_toleration(struct buffer *out, const struct value *toleration)
{
    const char *before = "{";
    for (size_t i = 0; i < COUNT_OF(toleration_fields); i++) {
        const struct toleration_field *field = &toleration_fields[i];
        struct text value = value_text_at(toleration, field->name);
        if (!value.len || text_is(value, field->fallback))
            continue;
        buffer_printf(out, "%s\"%s\":", before, field->name);
        value_write_json_text(out, value);
        before = ",";
    }
    const struct value *seconds = value_find(toleration, "tolerationSeconds");
    if (seconds && seconds->type == VALUE_INT) {
        buffer_printf(out, "%s\"tolerationSeconds\":%lld", before, (long long)seconds->integer);
        before = ",";
    }
    buffer_add_text(out, *before == '{' ? "{}" : "}");
}

void tolerations_write(struct buffer *out, const struct value *list)
{
    const char *before = "";
    buffer_add_char(out, '[');
    value_each (toleration, list && list->type == VALUE_LIST ? list : NULL) {
        buffer_add_text(out, before);
        write_toleration(out, toleration);
        before = ",";
    }
    buffer_add_char(out, ']');
}

void int_or_text_pack(struct pack_writer *out, const struct value *value)
{
    AUTO_BUFFER number = {0};
    if (value && value->type == VALUE_INT)
        buffer_printf(&number, "%lld", (long long)value->integer);
    pack_text(out, number.len ? buffer_text(&number) : value_text(value));
}
