#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

bool external_dns_pinned_read(struct arena *arena, struct text json,
                              struct external_dns_pinned *out)
{
    struct error err;
    const struct value *map = value_read_json(arena, json, &value_reply_limits, &err);
    struct external_dns_pinned read = {
        .owner_id = value_text_at(map, "txt-owner-id"),
        .txt_prefix = value_text_at(map, "txt-prefix"),
        .annotation_prefix = value_text_at(map, "annotation-prefix"),
    };
    if (!read.owner_id.len || !read.txt_prefix.at || !read.annotation_prefix.len)
        return false;
    *out = read;
    return true;
}

const char *external_dns_pinned_write(struct arena *arena, const struct external_dns_pinned *pinned)
{
    AUTO_BUFFER json = {0};
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("txt-owner-id"), value_make_text(arena, pinned->owner_id));
    struct text prefix = pinned->txt_prefix.at ? pinned->txt_prefix : TEXT("");
    value_set(map, TEXT("txt-prefix"), value_make_text(arena, prefix));
    value_set(map, TEXT("annotation-prefix"), value_make_text(arena, pinned->annotation_prefix));
    value_write_json(&json, map);
    return arena_copy(arena, json.at, json.len);
}
