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

void tree_pack(struct pack_writer *out, const struct value *tree)
{
    AUTO_BUFFER json = {0};
    if (tree)
        value_write_json(&json, tree);
    pack_text(out, tree ? buffer_text(&json) : (struct text){0});
}
