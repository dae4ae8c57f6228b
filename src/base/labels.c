#include "base/labels.h"

static const struct value *labels_of(const struct value *object)
{
    const struct value *labels = value_at(object, "metadata.labels", NULL);
    return labels && labels->type == VALUE_MAP ? labels : NULL;
}

void labels_pack(const struct value *object, struct pack_writer *out)
{
    value_each (item, labels_of(object)) {
        pack_number(out, 1);
        pack_text(out, item->key);
        pack_text(out, value_text(item));
    }
    pack_number(out, 0);
}

void labels_skip(struct pack_reader *reader)
{
    while (unpack_number(reader)) {
        unpack_text(reader);
        unpack_text(reader);
    }
}

struct text labels_find(struct text body, struct text key)
{
    struct pack_reader reader = pack_open(body);
    while (unpack_number(&reader)) {
        bool is_it = text_equal(unpack_text(&reader), key);
        struct text value = unpack_text(&reader);
        if (is_it)
            return value;
    }
    return (struct text){0};
}

static struct text find_packed(const void *body, struct text key)
{
    return labels_find(*(const struct text *)body, key);
}

static struct text find_value(const void *object, struct text key)
{
    const struct value *labels = labels_of(object);
    return labels ? value_text(value_find_text(labels, key)) : (struct text){0};
}

static bool match(const char *selector, struct text (*find)(const void *context, struct text key),
                  const void *context)
{
    struct text rest = text_of(selector);
    struct text term;
    while (text_cut(&rest, ',', &term)) {
        struct text key;
        struct text wanted = term;
        bool has_value = text_cut(&wanted, '=', &key) && wanted.at;
        struct text value = find(context, key);
        if (!value.at || (has_value && !text_equal(value, wanted)))
            return false;
    }
    return true;
}

bool labels_match(const char *selector, struct text body)
{
    return match(selector, find_packed, &body);
}

bool labels_match_object(const char *selector, const struct value *object)
{
    return match(selector, find_value, object);
}
