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
