#include "kinds/estate/estate_kind.h"

#include "base/labels.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *data = value_find(object, "data");
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "spec.address"));
    pack_number(out, value_count(data));
    value_each (item, data) {
        pack_text(out, item->key);
        pack_text(out, item->type == VALUE_TEXT ? item->text : (struct text){0});
    }
}

void estate_unpack(struct arena *arena, struct text spec, struct estate *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct estate){.address = unpack_text(&in), .text_count = unpack_number(&in)};
    out->texts = arena_new_array(arena, struct estate_text, out->text_count + 1);
    for (size_t i = 0; i < out->text_count; i++) {
        out->texts[i].key = unpack_text(&in);
        out->texts[i].value = unpack_text(&in);
    }
}

#define ESTATE_KIND(name_, singular_, plural_)                                                     \
    {                                                                                              \
        .group = ESTATE_GROUP, .version = "v1", .name = (name_), .plural = (plural_),              \
        .singular = (singular_), .is_namespaced = true, .is_foreign = true,                        \
        .pack_spec = pack_spec, .keeps_labels = true,                                              \
    }

const struct kind guest_kind = ESTATE_KIND("Guest", "guest", "guests");
const struct kind house_kind = ESTATE_KIND("House", "house", "houses");
const struct kind notice_kind = ESTATE_KIND("Notice", "notice", "notices");
