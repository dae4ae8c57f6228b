#include "base/kind.h"
#include "base/value.h"

static const char *const right_when_ready[] = {"Ready=True", NULL};

const struct value *kind_find_condition(const struct value *status, struct text type)
{
    const struct value *conditions = value_find(status, "conditions");
    value_each (item, conditions && conditions->type == VALUE_LIST ? conditions : NULL)
        if (text_equal(value_text(value_find(item, "type")), type))
            return item;
    return NULL;
}

const struct value *kind_find_reporting(const struct kind *kind, const struct value *status,
                                        bool *is_right)
{
    const char *const *wanted = kind->right_when ? kind->right_when : right_when_ready;
    const struct value *found = NULL;
    *is_right = true;
    for (size_t i = 0; *is_right && wanted[i]; i++) {
        struct text type;
        struct text state = text_of(wanted[i]);
        text_cut(&state, '=', &type);
        bool is_barred = text_ends(type, "!");
        type.len -= is_barred;
        const struct value *here = kind_find_condition(status, type);
        bool has_state = here && text_equal(value_text_at(here, "status"), state);
        *is_right = has_state != is_barred;
        found = is_barred && *is_right ? found : here;
    }
    return found;
}
